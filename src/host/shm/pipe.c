/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "host/shm/pipe.h"

#include "host/layout.h"
#include "host/shm/segment.h"
#include "util/filesize.h"
#include "util/pages.h"
#include "util/syscall.h"

#include <errno.h>
#include <sys/mman.h>

#define WARM 4096u /* bytes between two looks whether a pipe is empty */
#define KINDS 7u /* SHM_PIPE_*, all of them, in `asleep` */

_Static_assert((SHM_PIPE_BYTES & (SHM_PIPE_BYTES - 1)) == 0, "positions are masked");
_Static_assert(sizeof(struct shm_end) <= 4096, "in front of the ring is one page");

/* --- the segment: one page (struct shm_end), then the ring --- */

static size_t head_size(void)
{
	return (size_t)sysconf(_SC_PAGESIZE);
}

/* The ring is mapped once more behind its end, so that what begins in it never has to be cut there. */
static void *map(int fd, int prot)
{
	size_t head = head_size(), size = head + 2 * SHM_PIPE_BYTES;
	uint8_t *p = ut_map(NULL, size, prot, MAP_SHARED, fd, 0);
	int keep;

	if (p == MAP_FAILED)
		return NULL;
	if (ut_map(p + head + SHM_PIPE_BYTES, SHM_PIPE_BYTES, prot, MAP_SHARED | MAP_FIXED, fd,
		   head) != MAP_FAILED && ut_advise(p, size, MADV_DONTFORK) == 0)
		return p;
	keep = errno;
	ut_unmap(p, size);
	errno = keep;
	return NULL;
}

static void unmap(const struct shm_end *end)
{
	if (end)
		ut_unmap((void *)end, head_size() + 2 * SHM_PIPE_BYTES);
}

int shm_pipe_make(struct shm_pipe *p)
{
	int fd = ut_fault_errno(EMFILE) ? -EMFILE : ut_memfd("dapple-pipe", head_size() + SHM_PIPE_BYTES), r;
	void *base;

	if (fd < 0)
		return fd;
	base = map(fd, PROT_READ | PROT_WRITE);
	if (!base || fcntl(fd, F_ADD_SEALS, SHM_SEALS) < 0) {
		r = -errno;
		unmap(base);
		ut_close_fd(&fd);
		return r;
	}
	p->own = base;
	p->out = (uint8_t *)base + head_size();
	p->own->magic = SHM_PIPE_MAGIC;
	p->own->layout = host_layout;
	p->own->bytes = SHM_PIPE_BYTES;
	return fd;
}

int shm_pipe_join(struct shm_pipe *p, int fd)
{
	const struct shm_end *end = NULL;

	if (shm_seg_size(fd) == (off_t)(head_size() + SHM_PIPE_BYTES))
		end = map(fd, PROT_READ);
	if (!end)
		return -EPROTO;
	if (end->magic != SHM_PIPE_MAGIC || end->layout != host_layout || end->bytes != SHM_PIPE_BYTES) {
		unmap(end);
		return -EPROTO;
	}
	p->peer = end;
	p->in = (const uint8_t *)end + head_size();
	return 0;
}

void shm_pipe_fini(struct shm_pipe *p)
{
	unmap(p->own);
	unmap(p->peer);
	*p = (struct shm_pipe){ 0 };
}

/* --- positions --- */

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
static unsigned must_wake(struct shm_pipe *p, unsigned what)
{
	uint32_t asleep;

	atomic_thread_fence(memory_order_seq_cst);
	asleep = atomic_load_explicit(&p->peer->asleep, memory_order_relaxed);
	if (!(asleep & what) || asleep == p->rung)
		return 0;
	p->rung = asleep;
	return asleep & KINDS;
}

unsigned shm_pipe_commit(struct shm_pipe *p, size_t n)
{
	p->tail += n;
	atomic_store_explicit(&p->own->tail, p->tail, memory_order_release);
	return must_wake(p, SHM_PIPE_NEWS);
}

unsigned shm_pipe_consume(struct shm_pipe *p, size_t n)
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
