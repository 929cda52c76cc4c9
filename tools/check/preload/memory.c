/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory that goes away. The lock is only tried: this thread may hold it, below a signal handler or in a call of ours, and
 * another thread holds it for a moment.
 */
#include "check.h"

#include <dlfcn.h>
#include <malloc.h>
#include <stdlib.h>
#include <sys/mman.h>

static __thread bool inside;

struct going {
	uint64_t from, to;
	uint32_t qpn; /* of the last queue pair that names it */
	bool sent, received, any;
};

static bool overlaps(uint64_t from, uint64_t to, uint64_t addr, uint64_t length)
{
	return from < addr + length && addr < to;
}

/* A piece is reported once: other memory may come to its place. */
static bool queue_names(struct check_queue *q, const struct going *g)
{
	bool found = false;

	for (unsigned i = 0; i < q->n; i++) {
		struct check_request *w = check_queue_at(q, i);

		for (unsigned k = 0; k < w->n; k++)
			if (overlaps(g->from, g->to, w->piece[k].addr, w->piece[k].length)) {
				w->piece[k].length = 0;
				w->hashed = false;
				found = true;
			}
	}
	return found;
}

static bool look_at_qp(struct check_record *r, void *arg)
{
	struct going *g = arg;

	bool sent, received;

	if (r->pid != check_pid || r->qp.failed)
		return true;
	sent = queue_names(&r->qp.send, g);
	received = queue_names(&r->qp.recv, g);
	if (sent || received)
		g->qpn = r->qp.qpn;
	g->sent |= sent;
	g->received |= received;
	return true;
}

static bool look_at_region(struct check_record *r, void *arg)
{
	struct going *g = arg;

	if (!r->mr.plain || r->pid != check_pid || !overlaps(g->from, g->to, r->mr.addr, r->mr.length))
		return true;
	/* Other memory has come to the place of a stale region. */
	g->any |= r->mr.in_flight > 0 && !r->mr.stale;
	r->mr.stale = true;
	return true;
}

static void going(uint64_t from, uint64_t length, const char *call)
{
	struct going g = { .from = from, .to = from + length };
	struct check_site site;

	if (!length || inside || from >= atomic_load_explicit(&check_high, memory_order_relaxed) ||
	    from + length <= atomic_load_explicit(&check_low, memory_order_relaxed) || !ut_trylock(&check_lock))
		return;
	inside = true;
	check_each(REGION, look_at_region, &g);
	if (g.any)
		check_each(QP, look_at_qp, &g);
	ut_unlock(&check_lock);
	if (g.sent || g.received) {
		check_here(&site);
		check_report(CHECK_FREED, &site, "%s takes memory away that a %s of queue pair 0x%06x names which was not completed", call,
			     g.sent ? "request" : "receive", g.qpn);
	}
	inside = false;
}

EXPORT void free(void *p)
{
	static void (*real)(void *);

	if (!p)
		return;
	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "free");
	going((uintptr_t)p, malloc_usable_size(p), "free()");
	real(p);
}

EXPORT void *realloc(void *p, size_t size)
{
	static void *(*real)(void *, size_t);
	size_t before = p ? malloc_usable_size(p) : 0;
	void *to;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "realloc");
	to = real(p, size);
	if (to != p && (to || !size))
		going((uintptr_t)p, before, "realloc()");
	return to;
}

EXPORT int munmap(void *p, size_t length)
{
	static int (*real)(void *, size_t);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "munmap");
	going((uintptr_t)p, length, "munmap()");
	return real(p, length);
}
