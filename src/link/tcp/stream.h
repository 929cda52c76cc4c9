/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The life of a stream: connect, taking over an established socket, close and what follows it. */
#ifndef LINK_TCP_STREAM_H
#define LINK_TCP_STREAM_H

#include "link/tcp/place.h"

/* link_streams_ops. */
int tcp_connect(struct link_streams *l, struct link_listener *from, const struct link_end *local,
		const struct link_end *remote, int tos, struct link_stream **ret);
int tcp_adopt(struct link_streams *l, int fd, struct link_stream **ret);
void tcp_close(struct link_stream *l, bool abort);

/* A stream in this state, told nothing yet; takes fd on success. 0 or -ENOMEM. */
int tcp_stream_new(struct tcp_place *p, int fd, enum tcp_state state, struct tcp_stream **ret);
/* The connect that was under way has ended. */
void tcp_connect_over(struct tcp_stream *s);
/* A closed stream may have bytes to throw away. */
void tcp_drain(struct tcp_stream *s);
/* Those that have drained long enough are over; all: every one. */
void tcp_drain_expired(struct tcp_place *p, bool all);
/* Frees what is over. No event and no caller names it any more. */
void tcp_reap(struct tcp_place *p);

#endif
