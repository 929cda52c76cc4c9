/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Data of a stream, in both directions. */
#ifndef ULP_RSOCKET_STREAM_H
#define ULP_RSOCKET_STREAM_H

#include "ulp/rsocket/iov.h"
#include "ulp/rsocket/sock.h"

/* Both return the bytes moved, or a negative errno if there were none. */
ssize_t rs_stream_send(struct rs_sock *s, const struct iovec *iov, int nr, int flags);
ssize_t rs_stream_recv(struct rs_sock *s, const struct iovec *iov, int nr, int flags);
/*
 * Posts a piece whose slots the caller has taken and whose ring bytes it has copied; with `message`
 * it is announced by `msg`. An inline piece is read from inl_data before the return. Called with s
 * held and without c.
 */
int rs_send_piece(struct rs_sock *s, const struct rs_piece *piece, const void *inl_data,
		  uint32_t msg, bool message, uint64_t remote, uint32_t key);
/* Returns 0 if the stream takes data, else the error of a send. Called with c held. */
int rs_send_ready(struct rs_sock *s);

#endif
