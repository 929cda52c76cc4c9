/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The bytes of an open stream: receiving and sending. */
#ifndef LINK_TCP_BYTES_H
#define LINK_TCP_BYTES_H

#include "link/stream.h"
#include "link/tcp/place.h"

/* link_streams_ops. */
int tcp_read(struct link_stream *l);
void tcp_pause(struct link_stream *l, bool on);
bool tcp_take(struct link_stream *l, size_t off, const struct iovec *iov, int n, size_t len);

/* Reads an open stream, a bounded amount. Returns the number of events. */
int tcp_read_stream(struct tcp_stream *s);
/* Shows the user again the bytes that it has not consumed. */
void tcp_show_rest(struct tcp_stream *s);
/* Calls the user's closed(), once. */
void tcp_tell_closed(struct tcp_stream *s, int error);

/* --- sending --- */

/* link_streams_ops. */
ssize_t tcp_send(struct link_stream *l, const void *data, size_t len);
size_t tcp_room(struct link_stream *l);
uint32_t tcp_mss(struct link_stream *l);
bool tcp_drained(struct link_stream *l);
void tcp_shutdown(struct link_stream *l);

#endif
