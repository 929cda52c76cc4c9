/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Visits between the processes of near.h, see host/shm/export.h. The way into another's memory is its
 * own descriptor of /proc/self/mem, passed with READY: it is bound to the address space, so that it
 * reaches nothing any more after an exec or under the same process number, and needs no leave to
 * trace (sibling user namespaces, Yama, seccomp). It copies by way of a page of the kernel, so long
 * pieces go by process_vm_* where that is allowed; as this knows a process by its number alone, its
 * word of life (host/liveness.h) says before each piece that it is still the one, or the descriptor does.
 */
#include "host/shm/access.h"

#include "host/shm/handshake.h"

#include "host/shm/channel.h"
#include "util/syscall.h"
#include "host/shm/area.h"
#include "util/clock.h"
#include "util/heap.h"
#include "util/log.h"

#include <fcntl.h>
#include <string.h>
#include <poll.h>
#include <sched.h>

#define LOOKS_YIELD 64u /* looks at a visitor before sleeping in between */
#define WAIT_NS 50000l
#define WAITS_ALIVE 20u  /* naps between looks whether it lives */

int shm_access_memory(struct shm_chan *ch)
{
	/* Whose death is not noticed must not come: one could wait for it for ever. */
	if (!ch->direct || ch->life[0].fd >= 0 || ut_refused(EMFILE))
		return -1;
	return open("/proc/self/mem", O_RDWR | O_CLOEXEC);
}

bool shm_access_memory_is(int fd, uint64_t at, uint64_t token)
{
	uint64_t word = ~token;

	return UT_SYS(SYS_pread64, fd, &word, sizeof(word), (long)at) == sizeof(word) &&
	       word == token;
}

bool shm_access_probe(int pid, uint64_t at, uint64_t token)
{
	uint64_t word = ~token;
	struct iovec to = { &word, sizeof(word) };
	struct iovec from = { (void *)(uintptr_t)at, sizeof(word) };

	return UT_SYS(SYS_process_vm_readv, pid, &to, 1L, &from, 1L, 0) == sizeof(word) && word == token;
}

/* --- direct access to a peer --- */

const struct shm_export *shm_access_begin(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn,
					struct shm_access *ret)
{
	struct shm_chan *ch = shm_chan_of(c);
	struct shm_peer_tx *t = shm_peer_open(ch, f->dst, shm_peer_slot(qpn));

	if (!t || t->memory < 0 || memcmp(t->local_addr, f->src, 16))
		return NULL;
	/* Who has taken something out of our ring got our page before: it sees the visit. */
	if (!t->seen && !(t->seen = shm_taken(&t->ring) > 0))
		return NULL;
	ch->access++;
	atomic_store(&ch->page->access, (uint64_t)t->ring.page->id << 32 | ch->access);
	if (atomic_load_explicit(&t->ring.consumer->gone, memory_order_acquire)) {
		shm_access_end(c);
		return NULL;
	}
	ret->fd = t->memory;
	ret->most = t->pid ? SHM_ACCESS_MOST : SHM_ACCESS_FD_MOST;
	ret->to = t;
	return &t->ring.page->export;
}

/* Behind its number is still the program that told it. */
static bool is_same(const struct shm_peer_tx *t)
{
	switch (host_life(&t->ring.page->life)) {
	case HOST_LIFE_HERE: return true;
	case HOST_LIFE_GONE: return false;
	default: return shm_access_memory_is(t->memory, t->probe, t->token);
	}
}

static ssize_t reach_by_number(struct shm_peer_tx *t, uint64_t addr, const struct iovec *iov, int n,
			       size_t len, bool write)
{
	struct iovec there = { (void *)(uintptr_t)addr, len };
	long r;

	if (!is_same(t))
		return -ESRCH;
	r = UT_SYS(write ? SYS_process_vm_writev : SYS_process_vm_readv, t->pid, iov, (long)n,
		     &there, 1L, 0L);
	/* A filter or a rule that came later: not again. */
	if (r == -EPERM || r == -ENOSYS || r == -ESRCH)
		t->pid = 0;
	return r;
}

ssize_t shm_access_copy(const struct shm_access *v, uint64_t addr, const struct iovec *iov,
			  int n, bool write)
{
	struct shm_peer_tx *t = v->to;
	size_t len = 0;

	for (int i = 0; i < n; i++)
		len += iov[i].iov_len;
	if (t->pid && len > SHM_ACCESS_FD_BEST)
		return reach_by_number(t, addr, iov, n, len, write);
	if (n == 1)
		return UT_SYS(write ? SYS_pwrite64 : SYS_pread64, v->fd, iov->iov_base,
				iov->iov_len, (long)addr);
	return UT_SYS(write ? SYS_pwritev : SYS_preadv, v->fd, iov, (long)n, (long)addr, 0L);
}

void shm_access_end(struct shm_channel *c)
{
	atomic_store_explicit(&shm_chan_of(c)->page->access, 0, memory_order_release);
}

/* --- memory that is exported --- */

uint8_t *shm_access_attached(const struct shm_access *v, uint32_t id, uint64_t off, uint64_t len)
{
	const struct shm_peer_tx *t = v->to;

	for (unsigned i = 0; i < SHM_PEER_AREAS && id; i++)
		if (t->areas[i].id == id)
			return off <= t->areas[i].length && len <= t->areas[i].length - off
				       ? t->areas[i].base + off : NULL;
	return NULL;
}

void shm_access_attach(struct shm_peer_tx *t, uint32_t id, int fd)
{
	struct shm_attached *a = &t->areas[t->n_areas % SHM_PEER_AREAS];

	if (!id)
		return;
	t->ch->base.n_attached -= a->base != NULL;
	shm_area_unmap(a->base, a->length);
	a->base = shm_area_map(fd, &a->length);
	a->id = a->base ? id : 0;
	t->n_areas += a->base != NULL;
	t->ch->base.n_attached += a->base != NULL;
}

void shm_access_detach(struct shm_peer_tx *t)
{
	for (unsigned i = 0; i < SHM_PEER_AREAS; i++) {
		t->ch->base.n_attached -= t->areas[i].base != NULL;
		shm_area_unmap(t->areas[i].base, t->areas[i].length);
	}
	memset(t->areas, 0, sizeof(t->areas));
}

void shm_export_area(struct shm_channel *c, const struct shm_message *m, uint32_t id)
{
	struct shm_peer_rx *r = m->from;
	int fd;

	for (unsigned i = 0; i < SHM_PEER_AREAS && i < r->n_exported; i++)
		if (r->exported[(r->n_exported - 1 - i) % SHM_PEER_AREAS] == id)
			return;
	fd = shm_area_fd(id);
	if (fd >= 0 && shm_handshake_export(shm_chan_of(c), r, id, fd) == 0)
		r->exported[r->n_exported++ % SHM_PEER_AREAS] = id;
	ut_close_fd(&fd);
}

/* --- direct access of peers to us --- */

static bool is_dead(const struct shm_peer_rx *r)
{
	struct pollfd v = { r->peer.fd, POLLIN, 0 };

	return poll(&v, 1, 0) > 0;
}

/* Its processor may have been taken away in the middle, and it may have been stopped there. */
static void wait_out(const struct shm_peer_rx *r, uint64_t visit)
{
	const _Atomic uint64_t *now = &r->page->access;
	const struct timespec nap = { 0, WAIT_NS };

	for (unsigned n = 0; atomic_load_explicit(now, memory_order_acquire) == visit; n++) {
		if (n < LOOKS_YIELD) {
			sched_yield();
			continue;
		}
		if (n % WAITS_ALIVE == 0 && is_dead(r))
			return;
		if (n == 20000)
			ut_warn("a peer process of this host has stopped in the middle of a Read or Write "
				"here: deregistration of the memory waits for it; continue or end that "
				"process");
		UT_SYS(SYS_nanosleep, &nap, NULL);
	}
}

void shm_export_quiesce_one(struct shm_chan *ch, const struct shm_peer_rx *r)
{
	uint64_t visit;

	if (!r->page)
		return;
	visit = atomic_load_explicit(&r->page->access, memory_order_acquire);
	if (visit && visit >> 32 == ch->page->id)
		wait_out(r, visit);
}

void shm_export_quiesce(struct shm_channel *c)
{
	struct shm_chan *ch = shm_chan_of(c);
	struct shm_peer_rx *r;

	atomic_thread_fence(memory_order_seq_cst);
	ut_list_each(r, &ch->rx, node)
		shm_export_quiesce_one(ch, r);
}

void shm_chan_forget(struct shm_channel *c)
{
	struct shm_chan *chan = shm_chan_of(c);
	struct shm_peer_tx *t;

	ut_list_each(t, &chan->tx, node)
		ut_close_fd(&t->memory);
	ut_close(chan->page_fd);
}
