/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Positions in the scatter list of a call (readv, sendmsg): the stream (stream.c) and datagrams (dgram.c) copy through
 * a cursor between the caller's memory and their rings.
 */
#ifndef ULP_RSOCKET_IOV_H
#define ULP_RSOCKET_IOV_H

#include <sys/uio.h>

struct rs_cursor {
	const struct iovec *iov;
	size_t at;              /* bytes of the first entry that are used */
};

size_t rs_iov_length(const struct iovec *iov, int nr);
/* Both move the cursor by len; the list must hold that many bytes more. */
void rs_cursor_out(struct rs_cursor *cur, void *to, size_t len);
void rs_cursor_in(struct rs_cursor *cur, const void *from, size_t len);

#endif
