/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Byte streams within one host: a decorator of a place of streams (link/stream.h) that lets two
 * processes of one user exchange the bytes of a connection through a pair of rings in shared memory
 * (host/shm/pipe.h). The lower stream stays what it was for everything else: FIN and RST, from the peer
 * process or from the kernel when that process dies, mean what they meant, behind all that lies in the
 * ring. What is not within one host, or not agreed, is forwarded to the lower place unchanged.
 *
 * Parts: stream.c is the user of the lower streams; agree.c decides wire or shared memory, over the
 * rendezvous connections; stream.c moves the bytes; wakefd.c wakes; streams.c is the table of slots.
 *
 * Who writes what: everything runs under the progress lock of the adapter that owns the place. Two
 * words are read and written without it, as sleep() may be called from any thread: `sleeping` and the
 * number of streams in shared memory. Between the processes, each end writes one segment and only that:
 * the bytes it sends, the position of their end, how far it has read the other end's, whether it sleeps,
 * and `open`, which the active end sets once to choose shared memory. Positions of the peer process are
 * read once and checked.
 *
 * In which order: a byte is written before the position that covers it (release, acquire). The peer's
 * end of stream comes by the lower stream and is told after all bytes that its ring held then, and, as
 * every end, after all other streams have been looked at.
 *
 * Why no wake-up is lost: a byte on the lower stream is a wake-up and says only "look", and so does a write to the place's
 * wake fd, of which each sleep says whether it takes it (wakefd.h). A stream that is
 * not in the poll set sleeps: its end stores `asleep`, makes a full fence, and looks at the ring once
 * more; the peer stores a position, makes a full fence, and looks at `asleep`. One of the two sees the
 * other, so either the sleeper finds the bytes or the peer process sends the wake-up; each sleep has a
 * number, and one wake-up is sent for it. Streams of the poll set do not sleep while the owner polls. An
 * owner that goes to sleep says so first (sleep()), and the poll() that follows, for which a wake fd is made
 * readable if it would not come otherwise, puts every stream of the poll set to sleep (local_stream_settle()).
 * A wake-up for which the socket has no room is not lost either: wake-ups that the peer has not read yet
 * fill it, or writable() tells when to send it again.
 */
#ifndef LINK_LOCAL_STREAMS_H
#define LINK_LOCAL_STREAMS_H

#include "link/stream.h"

/* Which streams may leave the wire once their users ask for it (link_streams_ops.local). */
enum local_how {
	LOCAL_CONNECTED = 1,   /* those that connect() and listen() made */
	LOCAL_HANDED_OVER = 2, /* and those that adopt() made */
	LOCAL_SELF = 4         /* also within one process: for tests */
};

/* Wraps `lower`, which has no streams yet and belongs to the new place. Returns 0 or -errno: lower
 * stays the caller's. */
int local_streams_open(struct link_streams *lower, unsigned how, struct link_streams **ret);

#endif
