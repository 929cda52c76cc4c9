/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Streams that leave the epoll set for a while. The kernel tells the nested sets of each segment that comes, inside the send()
 * of an end on the same machine and before the receiver may read it. While an application thread polls
 * (link_streams_ops.sleep), no thread waits for that, so streams in steady use are muted: out of the epoll set. A muted stream
 * is in the poll set, and nothing is wanted of it but bytes. All return before a thread sleeps, and when the epoll set alone is
 * asked for a while; one returns that leaves the poll set, or of which something else is wanted. A stream that cannot return for
 * want of memory is late: a timer tries again.
 */
#ifndef LINK_TCP_MUTE_H
#define LINK_TCP_MUTE_H

#include "link/tcp/place.h"

#define TCP_STEADY 64 /* reads that found something, until a stream is muted: that and its return cost as much as three */

void tcp_mute_init(struct tcp_place *p);
void tcp_mute_fini(struct tcp_place *p);
/* Mutes a stream in steady use, if an application thread polls. */
void tcp_mute(struct tcp_stream *s);
/* The stream gave bytes. */
static inline void tcp_used(struct tcp_stream *s)
{
	if (++s->reads >= TCP_STEADY)
		tcp_mute(s);
}
/* Returns the stream to the epoll set, if it is muted. */
void tcp_return(struct tcp_stream *s);
static inline void tcp_unmute(struct tcp_stream *s)
{
	if (atomic_load_explicit(&s->muted, memory_order_relaxed))
		tcp_return(s);
}
/* The stream is muted no longer, and stays out of the epoll set. */
void tcp_end_muted(struct tcp_stream *s);
static inline void tcp_mute_end(struct tcp_stream *s)
{
	if (atomic_load_explicit(&s->muted, memory_order_relaxed))
		tcp_end_muted(s);
}
/* The timer has fired. */
void tcp_mute_again(struct tcp_place *p);
void tcp_return_all(struct tcp_place *p);
static inline void tcp_unmute_all(struct tcp_place *p)
{
	bool any;

	ut_lock(&p->muting);
	any = !ut_list_empty(&p->muted);
	ut_unlock(&p->muting);
	if (any)
		tcp_return_all(p);
}

/* An application thread polls from here on, or the descriptor shows everything. */
static inline void tcp_mute_allow(struct tcp_place *p, bool polls)
{
	ut_lock(&p->muting);
	p->app_polls = polls;
	ut_unlock(&p->muting);
	if (!polls)
		tcp_unmute_all(p);
}

#endif
