/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "host/shm/access.h"

#include "host/liveness.h"
#include "host/shm/area.h"
#include "host/shm/channel.h"
#include "host/shm/grant.h"
#include "host/shm/handshake.h"
#include "util/clock.h"
#include "util/heap.h"
#include "util/log.h"
#include "util/syscall.h"

#include <fcntl.h>
#include <string.h>
#include <poll.h>
#include <sched.h>

#define LOOKS_YIELD 64u /* looks at the access of a peer before sleeping in between */
#define WAIT_NS 50000l
#define WAITS_ALIVE 20u  /* waits between looks whether the peer process lives */

int shm_access_memory(struct shm_chan *ch)
{
	/* Without pidfds the death of a peer during its access would go unnoticed, and quiesce() wait for ever. */
	if (!ch->direct || ch->life[0].fd >= 0 || ut_fault_errno(EMFILE))
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
	/* A peer that has consumed a record of our ring has our process page, and sees the access. */
	if (!t->seen && !(t->seen = shm_taken(&t->ring) > 0))
		return NULL;
	ret->grant = (struct shm_grant){
		.word = &ch->page->access, .tables = &t->ring.page->export, .exporter = t->ring.page->id, .epoch = c->epoch,
		.fenced = t->ring.fenced_by_peer && atomic_load_explicit(&t->ring.page->export.fences, memory_order_relaxed),
	};
	shm_grant_announce(c, &ret->grant);
	/* Before the tables: the next access finds each revocation behind it. */
	ret->grant.revoked = atomic_load(&ret->grant.tables->revoked);
	if (atomic_load(&t->ring.consumer->gone)) {
		shm_access_end(c);
		return NULL;
	}
	ret->fd = t->memory;
	ret->most = t->pid ? SHM_ACCESS_MOST : SHM_ACCESS_FD_MOST;
	ret->to = t;
	return ret->grant.tables;
}

/* Returns true if the process number still stands for the program that stated it. */
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
	/* Not permitted any more (a filter, a rule), or dead: not tried again. */
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

/* --- attached areas --- */

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
	shm_channel_end_lanes(&t->ch->base);
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

/* The peer's thread may have been preempted, or stopped, during its access. */
static void wait_out(const struct shm_peer_rx *r, uint64_t access_word)
{
	const _Atomic uint64_t *now = &r->page->access;
	const struct timespec interval = { 0, WAIT_NS };

	for (unsigned n = 0; atomic_load_explicit(now, memory_order_acquire) == access_word; n++) {
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
		UT_SYS(SYS_nanosleep, &interval, NULL);
	}
}

void shm_export_end_grants(struct shm_channel *c)
{
	struct shm_export *s = c->export;

	if (!s)
		return;
	atomic_store(&s->revoked, atomic_load_explicit(&s->revoked, memory_order_relaxed) + 1);
	atomic_thread_fence(memory_order_seq_cst);
	if (atomic_load_explicit(&s->fences, memory_order_relaxed))
		ut_barrier_host();
}

static void quiesce_one(struct shm_chan *ch, const struct shm_peer_rx *r)
{
	uint64_t access_word;

	if (!r->page)
		return;
	access_word = atomic_load_explicit(&r->page->access, memory_order_acquire);
	if (access_word && access_word >> 32 == ch->page->id)
		wait_out(r, access_word);
}

void shm_export_quiesce_one(struct shm_chan *ch, const struct shm_peer_rx *r)
{
	if (!r->page)
		return;
	shm_export_end_grants(&ch->base);
	quiesce_one(ch, r);
}

void shm_export_quiesce(struct shm_channel *c)
{
	struct shm_chan *ch = shm_chan_of(c);
	struct shm_peer_rx *r;

	atomic_thread_fence(memory_order_seq_cst);
	ut_list_each(r, &ch->rx, node)
		quiesce_one(ch, r);
}

void shm_chan_forget(struct shm_channel *c)
{
	struct shm_chan *chan = shm_chan_of(c);
	struct shm_peer_tx *t;

	ut_list_each(t, &chan->tx, node)
		ut_close_fd(&t->memory);
	ut_close(chan->page_fd);
}
