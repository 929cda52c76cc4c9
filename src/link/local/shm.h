/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The bytes of streams that have left the wire, and which of those streams are polled. */
#ifndef LINK_LOCAL_SHM_H
#define LINK_LOCAL_SHM_H

#include "link/local/place.h"

#define LOCAL_SHM_MSS 65536 /* no segment cuts an FPDU */

/* As the slots of link_streams_ops, for a stream whose way is SHM. */
ssize_t local_shm_send(struct local_stream *s, const void *data, size_t len);
size_t local_shm_room(struct local_stream *s);
uint8_t *local_shm_reserve(struct local_stream *s, size_t len);
void local_shm_commit(struct local_stream *s, size_t len);
bool local_shm_drained(struct local_stream *s);

/* The stream has left the wire; it joins the poll set. */
void local_shm_begin(struct local_stream *s);
/* What its user was shown before is shown once more. */
void local_shm_again(struct local_stream *s);
/* Tells its user of bytes, of room that is waited for, and of the end. Returns how many things happened. */
int local_shm_serve(struct local_stream *s);
/* The lower stream has brought wake-ups; has room for one; or has ended. */
void local_shm_woken(struct local_stream *s);
void local_shm_writable(struct local_stream *s);
void local_shm_fin(struct local_stream *s, int error);

/* --- the poll set --- */
void local_shm_poll_remove(struct local_stream *s);
/* Looks at some of the streams that are polled, in turns; or at all. Returns how many things happened. */
int local_shm_look(struct local_place *p, bool all);
/* If the owner sleeps, so do they from now on. */
void local_shm_settle(struct local_place *p);
static inline bool local_shm_sleeping(const struct local_place *p)
{
	return atomic_load(&p->sleeping);
}

#endif
