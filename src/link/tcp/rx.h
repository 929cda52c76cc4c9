/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Receiving. */
#ifndef LINK_TCP_RX_H
#define LINK_TCP_RX_H

#include "link/tcp/place.h"

/* link_streams_ops. */
int tcp_read(struct link_stream *l);
void tcp_pause(struct link_stream *l, bool on);
bool tcp_take(struct link_stream *l, size_t off, const struct iovec *iov, int n, size_t len);

/* Reads what there is of an open stream, a bounded amount. Returns how many things happened. */
int tcp_read_stream(struct tcp_stream *s);
/* Shows the user what it left. */
void tcp_show_rest(struct tcp_stream *s);
/* Calls closed(), once. */
void tcp_tell_closed(struct tcp_stream *s, int error);

#endif
