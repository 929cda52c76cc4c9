/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The life of a stream: connect, adoption of an established socket, close and what follows it. */
#ifndef LINK_TCP_STREAM_H
#define LINK_TCP_STREAM_H

#include "link/tcp/place.h"

/* link_streams_ops. */
int tcp_connect(struct link_streams *l, struct link_listener *from, const struct link_end *local,
		const struct link_end *remote, int tos, struct link_stream **ret);
int tcp_adopt(struct link_streams *l, int fd, struct link_stream **ret);
void tcp_close(struct link_stream *l, bool abort);

/* Makes a stream in this state, whose user has been told nothing; it owns fd on success. Returns
 * NULL without memory. */
int tcp_stream_new(struct tcp_place *p, int fd, enum tcp_state state, struct tcp_stream **ret);
/* To be called when the connect in progress has ended. */
void tcp_connect_over(struct tcp_stream *s);
/* To be called when a closed stream may have bytes to drop. */
void tcp_drain(struct tcp_stream *s);
/* Ends streams that have drained long enough; all: every one. */
void tcp_drain_expired(struct tcp_place *p, bool all);
/* Frees streams that are over. To be called when no event and no caller names them. */
void tcp_reap(struct tcp_place *p);

#endif
