/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */

#include "host/shm/pipe.h"

#include "host/shm/segment.h"

#include <errno.h>

#define WARM 4096u /* bytes between two looks whether a pipe is empty */
#define KINDS 3u /* bits of `asleep` that say what for */

_Static_assert((SHM_PIPE_BYTES & (SHM_PIPE_BYTES - 1)) == 0, "positions are masked");
_Static_assert(sizeof(struct shm_end) <= 4096, "in front of the ring is one page");

int shm_pipe_make(struct shm_pipe *p)
{
	void *base;
	int fd = shm_ring_make("dapple-pipe", SHM_PIPE_BYTES, &base);

	if (fd < 0)
		return fd;
	p->own = base;
	p->out = (uint8_t *)base + shm_ring_head();
	p->own->magic = SHM_PIPE_MAGIC;
	p->own->bytes = SHM_PIPE_BYTES;
	return fd;
}

int shm_pipe_join(struct shm_pipe *p, int fd)
{
	const struct shm_end *end = shm_ring_map(fd, SHM_PIPE_BYTES);

	if (!end)
		return -EPROTO;
	if (end->magic != SHM_PIPE_MAGIC || end->bytes != SHM_PIPE_BYTES) {
		shm_ring_unmap(end, SHM_PIPE_BYTES);
		return -EPROTO;
	}
	p->peer = end;
	p->in = (const uint8_t *)end + shm_ring_head();
	return 0;
}

void shm_pipe_fini(struct shm_pipe *p)
{
	shm_ring_unmap(p->own, SHM_PIPE_BYTES);
	shm_ring_unmap(p->peer, SHM_PIPE_BYTES);
	*p = (struct shm_pipe){ 0 };
}

/* A head ahead of the tail or behind the last one is not valid: it frees no room. */
static void look_at_head(struct shm_pipe *p)
{
	uint64_t head = atomic_load_explicit(&p->peer->head, memory_order_acquire);

	if (head - p->peer_head <= p->tail - p->peer_head)
		p->peer_head = head;
}

static size_t room_of(const struct shm_pipe *p)
{
	return (size_t)(SHM_PIPE_BYTES - (p->tail - p->peer_head));
}

size_t shm_pipe_room(struct shm_pipe *p, size_t enough)
{
	if (room_of(p) < enough)
		look_at_head(p);
	return room_of(p);
}

void shm_pipe_begin(struct shm_pipe *p)
{
	if (p->tail < p->look)
		return;
	p->look = p->tail + WARM;
	look_at_head(p);
	if (p->peer_head != p->tail)
		return;
	p->base = p->tail;
	atomic_store_explicit(&p->own->base, p->base, memory_order_relaxed);
}

/* A position of ours has moved. */
static bool must_wake(struct shm_pipe *p, unsigned what)
{
	uint32_t asleep;

	atomic_thread_fence(memory_order_seq_cst);
	asleep = atomic_load_explicit(&p->peer->asleep, memory_order_relaxed);
	if (!(asleep & what) || asleep == p->rung)
		return false;
	p->rung = asleep;
	return true;
}

bool shm_pipe_commit(struct shm_pipe *p, size_t n)
{
	p->tail += n;
	atomic_store_explicit(&p->own->tail, p->tail, memory_order_release);
	return must_wake(p, SHM_PIPE_NEWS);
}

bool shm_pipe_consume(struct shm_pipe *p, size_t n)
{
	p->head += n;
	atomic_store_explicit(&p->own->head, p->head, memory_order_release);
	return must_wake(p, SHM_PIPE_ROOM);
}

void shm_pipe_sleep(struct shm_pipe *p, unsigned what)
{
	/* Not 0, and never the number before. */
	p->sleeps = p->sleeps == UINT32_MAX / (KINDS + 1) ? 1 : p->sleeps + 1;
	atomic_store_explicit(&p->own->asleep, p->sleeps * (KINDS + 1) | what,
			      memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
}

void shm_pipe_wake(struct shm_pipe *p)
{
	atomic_store_explicit(&p->own->asleep, 0, memory_order_relaxed);
}
