/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A pair of byte streams between two processes, in shared memory: what a TCP connection within one host is
 * without the kernel.
 *
 * Who writes what. Each end has one segment that it alone writes: the bytes it sends, then the tail (how many
 * they are), the head (how many of the peer's it has consumed), and `asleep`. Nothing that is read from the peer's
 * segment is trusted: positions are read once and checked, and whatever a position says, the bytes it names lie in
 * the ring.
 *
 * No wake-up is lost: an end sets `asleep`, then reads the peer's positions once more. The peer stores a position,
 * then reads `asleep`. With a full fence between the two on each side, at least one of them sees the other's
 * store. The caller wakes a sleeper; each sleep has a number of its own, so that it is woken once. A sleep says by what: the
 * caller's usual way, or also a wake fd (link/local/wakefd.h).
 *
 * The byte of a position lies at its distance from `base`, which the writer moves up to the tail when all has been
 * consumed. So a pipe that is emptied now and then stays in its first pages, whatever goes through it, and a
 * thousand of them in the caches. The reader has consumed all while a base moves, so it reads by none.
 */
#ifndef HOST_SHM_PIPE_H
#define HOST_SHM_PIPE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHM_PIPE_MAGIC 0x444c5049u
#define SHM_PIPE_BYTES (256u << 10) /* of one direction; a power of two */

/* What a sleeper waits for: bytes, or room for them; and that its wake fd ends the sleep. */
enum { SHM_PIPE_NEWS = 1, SHM_PIPE_ROOM = 2, SHM_PIPE_WAKE_FD = 4 };

/* One end's segment, in front of its ring. */
struct shm_end {
	uint32_t magic, layout, bytes; /* host/layout.h */
	uint64_t wake_fd; /* which one this end has; 0: none */
	_Alignas(64) _Atomic uint64_t tail; /* bytes ever written */
	_Atomic uint64_t base; /* the position of the ring's first byte */
	_Alignas(64) _Atomic uint64_t head; /* bytes of the peer's ever consumed */
	_Alignas(64) _Atomic uint32_t asleep; /* 0, or number << 3 and SHM_PIPE_* */
	_Atomic uint32_t open; /* this end has chosen the pipe; for the room above */
};

struct shm_pipe {
	struct shm_end *own;
	const struct shm_end *peer;
	uint8_t *out;
	const uint8_t *in;
	uint64_t tail, head, base; /* what our segment says */
	uint64_t look;       /* the tail from which on the base may move again */
	uint64_t peer_head;  /* as last seen */
	uint32_t sleeps, rung;
};

/* Makes our segment. Returns a descriptor, to be passed and then closed, or -errno. */
int shm_pipe_make(struct shm_pipe *p);
/* Maps the peer's segment. Returns 0, or -EPROTO if it is none. The descriptor stays the caller's. */
int shm_pipe_join(struct shm_pipe *p, int fd);
void shm_pipe_fini(struct shm_pipe *p);

/* --- out --- */
/* Returns the bytes that may be written at shm_pipe_at(), in one piece; `enough`: the peer's head is read only for fewer. */
size_t shm_pipe_room(struct shm_pipe *p, size_t enough);
/* Called before bytes are written behind the last that were committed. */
void shm_pipe_begin(struct shm_pipe *p);
static inline uint8_t *shm_pipe_at(const struct shm_pipe *p)
{
	return p->out + ((p->tail - p->base) & (SHM_PIPE_BYTES - 1));
}
/* Passes n bytes to the peer. Returns 0, or what its sleep says (SHM_PIPE_*): wake it. */
unsigned shm_pipe_commit(struct shm_pipe *p, size_t n);

/* --- in --- */
/* Returns the end of what has come, as a position; p->head is where it begins. */
static inline uint64_t shm_pipe_end(const struct shm_pipe *p)
{
	return atomic_load_explicit(&p->peer->tail, memory_order_acquire);
}
/* Returns true if [p->head, end) is possible: not more than the ring has. */
static inline bool shm_pipe_sane(const struct shm_pipe *p, uint64_t end)
{
	return end - p->head <= SHM_PIPE_BYTES;
}
/* Returns where the bytes at p->head lie. Called after shm_pipe_end() has shown that there are some. */
static inline size_t shm_pipe_offset(const struct shm_pipe *p)
{
	uint64_t base = atomic_load_explicit(&p->peer->base, memory_order_relaxed);

	return (p->head - base) & (SHM_PIPE_BYTES - 1);
}
static inline const uint8_t *shm_pipe_in(const struct shm_pipe *p)
{
	return p->in + shm_pipe_offset(p);
}
/* Gives the room of n bytes back to the peer. Returns as shm_pipe_commit(), if it waits for that. */
unsigned shm_pipe_consume(struct shm_pipe *p, size_t n);

/* --- sleeping --- */
/* what: SHM_PIPE_*. The caller reads the positions once more before it sleeps. */
void shm_pipe_sleep(struct shm_pipe *p, unsigned what);
void shm_pipe_wake(struct shm_pipe *p);
static inline bool shm_pipe_sleeps(const struct shm_pipe *p)
{
	return atomic_load_explicit(&p->own->asleep, memory_order_relaxed);
}

#endif
