/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A stream within one host: its life as the user of the lower stream, the events of its own user,
 * and, once it has left the wire, its bytes and its place in the poll set. */
#ifndef LINK_LOCAL_STREAM_H
#define LINK_LOCAL_STREAM_H

#include "link/local/place.h"

/* Returns a stream without a lower one, for local_stream_put(); or NULL. */
struct local_stream *local_stream_new(struct local_place *p);
void local_stream_put(struct local_stream *s, struct link_stream *lower, bool open);
void local_stream_close(struct local_stream *s, bool abort);
/* Serves streams that had no user and have one now. */
void local_stream_find_users(struct local_place *p);
/* The next poll() serves the stream without an event. */
void local_stream_todo(struct local_stream *s);
int local_stream_run(struct ut_list *todo);
/* The stream has ended; closed() is called in its turn, or at once. */
void local_stream_over(struct local_stream *s, int error);
void local_stream_tell_closed(struct local_stream *s, int error);
/* Frees streams that are over. To be called when no callback on the stack names them. */
void local_stream_reap(struct local_place *p);

/* --- the bytes of a stream that has left the wire --- */

#define LOCAL_SHM_MSS 65536 /* no segment cuts an FPDU */

/* As the slots of link_streams_ops, for a stream whose way is SHM. */
ssize_t local_stream_send(struct local_stream *s, const void *data, size_t len);
size_t local_stream_room(struct local_stream *s);
uint8_t *local_stream_reserve(struct local_stream *s, size_t len);
void local_stream_commit(struct local_stream *s, size_t len);
bool local_stream_drained(struct local_stream *s);

/* The stream has left the wire; it joins the poll set. */
void local_stream_begin(struct local_stream *s);
/* Shows its user again the bytes that were shown before. */
void local_stream_again(struct local_stream *s);
/* Tells its user of bytes, of room that was awaited, and of the end. Returns the number of events. */
int local_stream_serve(struct local_stream *s);
/* It sleeps no more, and is in the poll set. */
void local_stream_stir(struct local_stream *s);
/* Events of the lower stream: wake-ups have come; it has room for one; it has ended. */
void local_stream_woken(struct local_stream *s);
void local_stream_writable(struct local_stream *s);
void local_stream_fin(struct local_stream *s, int error);

/* --- the poll set --- */
void local_stream_poll_remove(struct local_stream *s);
/* Looks at some of the polled streams, in turns; or at all. Returns the number of events. */
int local_stream_look(struct local_place *p, bool all);
/* If the owner sleeps, the polled streams sleep from now on. */
void local_stream_settle(struct local_place *p);
/* Serves the stream that a thread was woken for which has slept on the descriptor, if that was by the wake fd. The others sleep on,
 * until poll() is told of that sleep (link_streams.woken). Returns the number of events, or -EAGAIN. */
int local_stream_serve_woken(struct local_place *p);
static inline bool local_stream_sleeping(const struct local_place *p)
{
	return atomic_load(&p->sleeping);
}

#endif
