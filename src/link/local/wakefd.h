/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The wake fd of a place: an eventfd that peer processes write in place of a byte on the lower stream, which costs the host's
 * TCP stack three times as much.
 *
 * A wake fd does not say for which stream it was written, so the owner looks at all streams that sleep by it: at most
 * LOCAL_WAKE_FD_MOST;
 * those that go to sleep behind them are woken by a byte, and the kernel says which they are. The sleeper allows its wake fd
 * (SHM_PIPE_WAKE_FD in `asleep`), the peer process may take either: a peer that has no descriptor left for a wake fd sends the byte.
 *
 * The wake fd is an edge-triggered member of the place's epoll set, and is not read behind a sleep: each write shows once there,
 * whatever was written before. So its owner follows one rule. Whenever a thread may have taken that event, be it poll() or the
 * owner's sleep on the set (link_streams.woken), all streams that sleep by the wake fd end their sleeps before the next sleep on the
 * set: they take a new number (host/shm/pipe.h) and look at the pipe again. It does not suffice to look whether bytes have come:
 *
 *   peer process                          owner
 *   stores a tail
 *                                         sees the bytes in a poll, consumes them
 *                                         sleeps under number n; the pipe is empty
 *   reads n, notes that it has woken n
 *   writes the wake fd
 *                                         the event ends the sleep on the set; the pipe is empty
 *                                         sleeps again, still under n: no other write comes for n
 *
 * A member that is level-triggered would show the write again to the poll() behind the sleep, which ends the sleeps then. A wake fd
 * that is full takes no write and shows no event: the peer process sends the byte (local_wakefd_write()).
 *
 * The wake fd comes with the segment in the agreement. Of the streams of one place only the first keeps the peer's descriptor:
 * the segment names the wake fd by a random number, which counts together with the process at the other end of the rendezvous,
 * so that no process takes the place of another one's wake fd.
 */
#ifndef LINK_LOCAL_WAKEFD_H
#define LINK_LOCAL_WAKEFD_H

#include "link/local/place.h"

#define LOCAL_WAKE_FD_MOST 16u

/* A peer process's wake fd. */
struct local_wakefd {
	struct ut_list node; /* place->peer_wake_fds */
	uint64_t id;
	int pid, fd;
	unsigned streams;
};

/* --- our wake fd --- */
/* Without a descriptor for it the place has no wake fd, and bytes wake its streams. */
void local_wakefd_open(struct local_place *p);
void local_wakefd_fini(struct local_place *p);
/* In a child of fork(). */
void local_wakefd_forget(struct local_place *p);
/* The stream goes to sleep. Returns SHM_PIPE_WAKE_FD if the wake fd ends its sleep, else 0. */
unsigned local_wakefd_attend(struct local_stream *s);
/* The stream does not sleep any more, or is closed. */
void local_wakefd_leave(struct local_shm *n);
/* Returns true if the stream sleeps by the wake fd. */
static inline bool local_wakefd_is_attended(const struct local_shm *n)
{
	return !ut_list_empty(&n->wake_fd_node);
}
/* Takes a write that has come and not ended a sleep, if one has: as local_wakefd_taken(). */
void local_wakefd_take(struct local_place *p);
/* A write has ended a thread's sleep on the descriptor, or may have: all streams that sleep by the wake fd are awake, in the poll
 * set. Called in poll(), or before it, so that those are looked at once more before the owner sleeps (local_stream_settle()). */
void local_wakefd_taken(struct local_place *p);

/* --- the peer's --- */
/* The peer's segment is mapped, and this came with it over `rendezvous`; -1: nothing did. The descriptor is taken. */
void local_wakefd_keep(struct local_stream *s, int fd, int rendezvous);
/* Ends what local_wakefd_keep() began. */
void local_wakefd_drop(struct local_shm *n);
/* Returns false if there is no wake fd, or it took no write. */
bool local_wakefd_write(struct local_shm *n);

#endif
