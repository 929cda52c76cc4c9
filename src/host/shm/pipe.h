/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A pair of byte streams between two processes, in shared memory: what a TCP connection within one
 * host is without the kernel. Each end has one segment that only it writes: the bytes it sends, how
 * many they are, how many of the other's it has consumed, and whether it sleeps. Nothing that is
 * read from the other's is trusted: positions are read once and checked, and what a position
 * promises is there whatever it says, since the ring is.
 *
 * Sleeping: an end says so in `asleep`, then looks once more whether there are news. The other
 * changes a position, then looks at `asleep`. With a full fence between on both sides one of them
 * sees the other. How a sleeper is woken is not this file's business; each sleep has a number of
 * its own, so that one is rung for once.
 *
 * Where the byte of a position lies, its writer says: counted from `base`, which it moves up to the tail
 * when all has been consumed. So a pipe that is emptied now and then lives in its first pages, whatever
 * goes through it, and a thousand of them in the caches. Nobody reads by a base while it moves.
 */
#ifndef HOST_SHM_PIPE_H
#define HOST_SHM_PIPE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define SHM_PIPE_MAGIC 0x444c5049u
#define SHM_PIPE_BYTES (256u << 10) /* of one direction; a power of two */

enum { SHM_PIPE_NEWS = 1, SHM_PIPE_ROOM = 2 }; /* what a sleeper waits for */

/* One end's segment, in front of its ring. */
struct shm_end {
	uint32_t magic, bytes;
	_Alignas(64) _Atomic uint64_t tail; /* bytes ever written */
	_Atomic uint64_t base; /* the position of the ring's first byte */
	_Alignas(64) _Atomic uint64_t head; /* bytes of the other's ever consumed */
	_Alignas(64) _Atomic uint32_t asleep; /* 0, or number << 2 and what for */
	_Atomic uint32_t open; /* this end has chosen the pipe; asked for by its owner */
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

/* Our segment: a descriptor to pass on and then to close, or -errno. */
int shm_pipe_make(struct shm_pipe *p);
/* The other's: 0, or -EPROTO if it is none. The descriptor stays the caller's. */
int shm_pipe_join(struct shm_pipe *p, int fd);
void shm_pipe_fini(struct shm_pipe *p);

/* --- out --- */
/* Bytes that may be written at shm_pipe_at(), in one piece; `enough`: the other is not asked for more. */
size_t shm_pipe_room(struct shm_pipe *p, size_t enough);
/* Before something is written, behind the last that was committed. */
void shm_pipe_begin(struct shm_pipe *p);
static inline uint8_t *shm_pipe_at(const struct shm_pipe *p)
{
	return p->out + ((p->tail - p->base) & (SHM_PIPE_BYTES - 1));
}
/* They are the other's now. True: it sleeps, wake it. */
bool shm_pipe_commit(struct shm_pipe *p, size_t n);

/* --- in --- */
/* The end of what has come, as a position; p->head is where it begins. */
static inline uint64_t shm_pipe_end(const struct shm_pipe *p)
{
	return atomic_load_explicit(&p->peer->tail, memory_order_acquire);
}
/* [p->head, end) can be: there are not more than the ring has. */
static inline bool shm_pipe_sane(const struct shm_pipe *p, uint64_t end)
{
	return end - p->head <= SHM_PIPE_BYTES;
}
/* Where they lie, for who has seen by shm_pipe_end() that there are some. */
static inline size_t shm_pipe_offset(const struct shm_pipe *p)
{
	uint64_t base = atomic_load_explicit(&p->peer->base, memory_order_relaxed);

	return (p->head - base) & (SHM_PIPE_BYTES - 1);
}
static inline const uint8_t *shm_pipe_in(const struct shm_pipe *p)
{
	return p->in + shm_pipe_offset(p);
}
/* Its room is the other's again. True: it sleeps and waits for that, wake it. */
bool shm_pipe_consume(struct shm_pipe *p, size_t n);

/* --- sleeping --- */
/* Look for news afterwards, before you sleep. */
void shm_pipe_sleep(struct shm_pipe *p, unsigned what);
void shm_pipe_wake(struct shm_pipe *p);
static inline bool shm_pipe_sleeps(const struct shm_pipe *p)
{
	return atomic_load_explicit(&p->own->asleep, memory_order_relaxed);
}

#endif
