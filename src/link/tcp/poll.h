/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The choice of streams to look at, and the descriptor that the owner sleeps on. */
#ifndef LINK_TCP_POLL_H
#define LINK_TCP_POLL_H

#include "link/tcp/place.h"

/* link_streams_ops. */
int tcp_poll(struct link_streams *l, uint64_t now);
int tcp_peek(struct link_streams *l);
bool tcp_is_quiet(struct link_streams *l);
uint64_t tcp_deadline(struct link_streams *l);
int tcp_fd(struct link_streams *l);
void tcp_sleep(struct link_streams *l, bool on, bool look);
int tcp_watch(struct link_streams *l, struct link_watch *w);
void tcp_unwatch(struct link_streams *l, struct link_watch *w);

/* Makes the set agree with what is wanted of the stream. */
void tcp_watch_stream(struct tcp_stream *s);
/* 0 or -errno. */
int tcp_watch_listener(struct tcp_place *p, struct tcp_listener *l);
/* Takes fd out of the set. */
void tcp_unwatch_fd(struct tcp_place *p, int fd);
/* The stream joins, or leaves, those that are read in each call. */
void tcp_poll_add(struct tcp_stream *s);
void tcp_poll_remove(struct tcp_stream *s);
/* The next poll() serves the stream without an event. */
void tcp_todo(struct tcp_stream *s);

#endif
