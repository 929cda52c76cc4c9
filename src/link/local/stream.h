/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A stream as the user of the lower one: its life, and what its own user is told. */
#ifndef LINK_LOCAL_STREAM_H
#define LINK_LOCAL_STREAM_H

#include "link/local/place.h"

/* A stream without a lower one, for local_stream_put(); or NULL. */
struct local_stream *local_stream_new(struct local_place *p);
void local_stream_put(struct local_stream *s, struct link_stream *lower, bool open);
void local_stream_close(struct local_stream *s, bool abort);
/* Streams that had no user and have one now. */
void local_stream_find_users(struct local_place *p);
/* poll() looks after it without an event. */
void local_stream_todo(struct local_stream *s);
int local_stream_run(struct ut_list *todo);
/* The end has come; it is told in its turn, or at once. */
void local_stream_over(struct local_stream *s, int error);
void local_stream_tell_closed(struct local_stream *s, int error);
/* Frees what is over. No callback on the stack names it any more. */
void local_stream_reap(struct local_place *p);

#endif
