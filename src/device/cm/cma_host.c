/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Adapters are opened when the RDMA CM first asks, and stay open: an identifier may be bound to any of them,
 * and their number is that of the interfaces. The list is made again only after the kernel has reported
 * a change, so that a connect costs no dump.
 *
 * Address changes are found under locks that the RDMA CM may take in the other order, so they are noted here,
 * and the background thread reports them to the RDMA CM when it holds no lock.
 */
#include "device/cm/cma_host.h"

#include "cm/cma.h"
#include "device/adapter.h"
#include "device/cm/addr.h"
#include "device/devices.h"
#include "device/process.h"
#include "device/progress/thread.h"
#include "engine/event.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/rng.h"
#include "util/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>


/* An adapter that was opened; never freed, or identifiers would point to freed memory. */
struct known {
	struct ut_list node;
	struct dev_adapter *a;
};

/* What the RDMA CM is to be told. */
struct note {
	struct ut_list node;
	enum { ADDRESS, PORT_GONE, PATH, NAME, GROUP } what;
	struct dev_adapter *a;
	uint8_t addr[16];
	uint64_t ticket;
	int status;
	struct cm_path path;
	struct cm_group group;
};

static struct ut_mutex list_lock = UT_MUTEX_INIT;
static struct ut_list known UT_GUARDED_BY(list_lock) = UT_LIST_INIT(known);
static struct dev_adapter **listed UT_GUARDED_BY(list_lock); /* in listing order */
static int n_listed UT_GUARDED_BY(list_lock);
static int changes UT_GUARDED_BY(list_lock) = -1; /* netlink */
static bool scanned UT_GUARDED_BY(list_lock);

static struct ut_mutex undelivered_lock = UT_MUTEX_INIT;
static struct ut_list undelivered UT_GUARDED_BY(undelivered_lock) = UT_LIST_INIT(undelivered);
atomic_bool dev_cm_noted;

static struct ut_mutex make_lock = UT_MUTEX_INIT;
static struct cma *_Atomic the_cma; /* made under make_lock */

/* --- the list --- */

static struct dev_adapter *find(const struct dev_info *info) UT_REQUIRES(list_lock)
{
	struct known *k;

	ut_list_each(k, &known, node)
		if (k->a->info.ifindex == info->ifindex &&
		    strcmp(k->a->info.name, info->name) == 0)
			return k->a;
	return NULL;
}

/* The addresses it has already count as come: a listener on any address waits for them. */
static void welcome(struct dev_adapter *a)
{
	ut_lock(&a->dev.lock);
	a->for_cm = true;
	for (int i = 0; i < a->n_addrs; i++)
		dev_cm_note(a, a->addrs[i].addr);
	eng_dev_unlock(&a->dev);
}

static struct dev_adapter *open_one(const struct dev_info *info) UT_REQUIRES(list_lock)
{
	struct known *k = ut_zalloc(sizeof(*k));
	struct eng_ctx *ctx;
	int r = k ? dev_open(info, &ctx) : -ENOMEM;

	if (r < 0) {
		ut_warn("%s: cannot open the adapter (%s): rdma_cm does not use it; raise the limits on descriptors and "
			"memory", info->name, strerror(-r));
		free(k);
		return NULL;
	}
	k->a = dev_adapter_of(ctx->dev);
	ut_list_add_tail(&known, &k->node);
	if (scanned)
		welcome(k->a);
	ut_lock(&k->a->dev.lock);
	k->a->for_cm = true;
	eng_dev_unlock(&k->a->dev);
	return k->a;
}

static void refresh_known(void) UT_REQUIRES(list_lock)
{
	struct known *k;

	/* Under the process lock, or an old dump could overtake a new one. */
	ut_lock(&dev_process_lock);
	ut_list_each(k, &known, node)
		k->a->kind->refresh(k->a);
	ut_unlock(&dev_process_lock);
}

static int scan(void) UT_REQUIRES(list_lock)
{
	struct dev_adapter **v;
	struct dev_info *infos;
	int n = dev_list(&infos), count = 0;

	if (n < 0)
		return n;
	v = ut_calloc((size_t)n + 1, sizeof(struct dev_adapter *));
	if (!v) {
		free(infos);
		return -ENOMEM;
	}
	for (int i = 0; i < n; i++) {
		struct dev_adapter *a = find(&infos[i]);

		if (!a)
			a = open_one(&infos[i]);
		if (a)
			v[count++] = a;
	}
	free(infos);
	free(listed);
	listed = v;
	n_listed = count;
	scanned = true;
	return 0;
}

/* The list as the kernel has it now. */
static int update(void) UT_REQUIRES(list_lock)
{
	bool changed;

	if (changes < 0)
		changes = dev_nl_listen();
	/* Without that descriptor the list is made again each time. */
	changed = changes < 0 || dev_nl_drain(changes);
	if (scanned && !changed)
		return 0;
	if (scanned)
		refresh_known();
	return scan();
}

static int host_ports(struct cm_port **v, int max)
{
	int r, n;

	ut_lock(&list_lock);
	r = update();
	n = r < 0 && !scanned ? r : n_listed;
	for (int i = 0; i < n && i < max; i++)
		v[i] = &listed[i]->cm;
	ut_unlock(&list_lock);
	return n;
}

int dev_cm_lo_addrs(struct link_end *v, int max)
{
	int n = 0;

	ut_lock(&list_lock);
	update(); /* in a process that begins with this call no adapter is open yet */
	for (int i = 0; i < n_listed; i++) {
		if (!dev_is_lo(listed[i]))
			continue;
		n = dev_cm_addrs(&listed[i]->cm, v, max);
		break;
	}
	ut_unlock(&list_lock);
	return n;
}

/* --- one adapter --- */

static int host_attach(struct cm_port *p)
{
	struct dev_adapter *a = dev_adapter_of_cm(p);
	int r;

	if (dev_is_foreign(&a->dev))
		return -EIO;
	ut_lock(&a->dev.lock);
	r = dev_kind_attach(&a->dev);
	if (r == 0)
		a->kind->announce(a);
	eng_dev_unlock(&a->dev);
	if (r < 0)
		ut_info("%s: cannot attach the adapter (%s): it takes no connections, the next call tries again",
			a->info.name, strerror(-r));
	return r;
}

static int host_path(struct cm_port *p, const struct link_end *src, const struct link_end *dst,
		     int timeout_ms, uint64_t ticket, struct cm_path *ret)
{
	struct dev_adapter *a = dev_adapter_of_cm(p);

	return a->kind->path(a, src, dst, timeout_ms, ticket, ret);
}

static int host_join(struct cm_port *p, const struct cm_group *want, uint64_t ticket, struct cm_group *ret)
{
	struct dev_adapter *a = dev_adapter_of_cm(p);

	return a->kind->group_join(a, want, ticket, ret);
}

static void host_leave(struct cm_port *p, const struct cm_group *g)
{
	struct dev_adapter *a = dev_adapter_of_cm(p);

	a->kind->group_leave(a, g);
}

/* An adapter that knows the way itself, before the host's routes. */
static int host_route(const struct link_end *dst, struct link_end *src)
{
	int r = -ENETUNREACH;

	ut_lock(&list_lock);
	update(); /* in a process that begins with this call no adapter is open yet */
	for (int i = 0; i < n_listed && r == -ENETUNREACH; i++)
		r = listed[i]->kind->route(listed[i], dst, src);
	ut_unlock(&list_lock);
	return r == -ENETUNREACH ? dev_cm_route(dst, src) : r;
}

static int host_name(struct cm_port *p, const uint8_t addr[16], int timeout_ms, uint64_t ticket)
{
	int r = -EHOSTUNREACH;

	ut_lock(&list_lock);
	update();
	for (int i = 0; i < n_listed && r != -EINPROGRESS; i++)
		if (!p || p == &listed[i]->cm)
			r = listed[i]->kind->ask_addr(listed[i], addr, timeout_ms, ticket);
	ut_unlock(&list_lock);
	return r;
}

static void host_to_gid(struct cm_port *p, const uint8_t addr[16], uint8_t ret[16])
{
	struct dev_adapter *a = dev_adapter_of_cm(p);

	if (!a->kind->gid_of(a, addr, ret))
		memcpy(ret, addr, 16);
}

static void host_from_gid(const uint8_t gid[16], uint8_t ret[16])
{
	bool found = false;

	ut_lock(&list_lock);
	update(); /* in a process that begins with this call no adapter is open yet */
	for (int i = 0; i < n_listed && !found; i++)
		found = listed[i]->kind->addr_of(listed[i], gid, ret);
	ut_unlock(&list_lock);
	if (!found)
		memmove(ret, gid, 16);
}

static const struct cma_host host = {
	.ports = host_ports,
	.attach = host_attach,
	.has_addr = dev_cm_has_addr,
	.addrs = dev_cm_addrs,
	.route = host_route,
	.path = host_path,
	.join = host_join,
	.leave = host_leave,
	.name = host_name,
	.to_gid = host_to_gid,
	.from_gid = host_from_gid,
};

struct cma *cma_get(void)
{
	struct cma *c = atomic_load_explicit(&the_cma, memory_order_acquire);

	if (c)
		return c;
	dev_process_watch_forks();
	ut_lock(&make_lock);
	c = atomic_load(&the_cma);
	if (!c) {
		c = cma_new(&host, ut_rng_seed());
		atomic_store_explicit(&the_cma, c, memory_order_release);
	}
	ut_unlock(&make_lock);
	return c;
}

void dev_cm_show(const struct eng_show_who *who, FILE *out)
{
	struct cma *c = atomic_load_explicit(&the_cma, memory_order_acquire);

	if (c)
		cma_show(c, who, out);
}

/* --- changes --- */

void dev_cm_look(void)
{
	if (atomic_load_explicit(&the_cma, memory_order_acquire))
		atomic_store(&dev_cm_noted, true);
}

static void add_note(const struct note *what)
{
	struct note *n = ut_malloc(sizeof(*n));

	if (!n) {
		ut_error("%s: cannot note a change of addresses (no memory): connection identifiers are not told of it; "
			 "raise the limit on memory", what->a->info.name);
		return;
	}
	*n = *what;
	ut_lock(&undelivered_lock);
	ut_list_add_tail(&undelivered, &n->node);
	ut_unlock(&undelivered_lock);
	atomic_store(&dev_cm_noted, true);
	/* The caller may be a thread of the application. */
	dev_thread_wake_by(ut_now());
}

void dev_cm_note(struct dev_adapter *a, const uint8_t addr[16])
{
	struct note n = { .what = addr ? ADDRESS : PORT_GONE, .a = a };

	eng_dev_held(&a->dev);
	if (!a->for_cm)
		return;
	if (addr)
		memcpy(n.addr, addr, sizeof(n.addr));
	add_note(&n);
}

void dev_cm_note_path(struct dev_adapter *a, uint64_t ticket, int status, const struct cm_path *path)
{
	struct note n = { .what = PATH, .a = a, .ticket = ticket, .status = status };

	if (status == 0)
		n.path = *path;
	add_note(&n);
}

void dev_cm_note_name(struct dev_adapter *a, uint64_t ticket, int status, const uint8_t addr[16])
{
	struct note n = { .what = NAME, .a = a, .ticket = ticket, .status = status };

	if (status == 0)
		memcpy(n.addr, addr, sizeof(n.addr));
	add_note(&n);
}

void dev_cm_note_group(struct dev_adapter *a, uint64_t ticket, int status, const struct cm_group *g)
{
	struct note n = { .what = GROUP, .a = a, .ticket = ticket, .status = status };

	if (status == 0)
		n.group = *g;
	add_note(&n);
}

static struct note *take_note(void)
{
	struct ut_list *n;

	ut_lock(&undelivered_lock);
	n = ut_list_pop(&undelivered);
	ut_unlock(&undelivered_lock);
	return n ? ut_container(n, struct note, node) : NULL;
}

static void deliver(struct cma *c, const struct note *n)
{
	switch (n->what) {
	case ADDRESS:
		cma_addr_changed(c, &n->a->cm, n->addr);
		break;
	case PORT_GONE:
		cma_port_gone(c, &n->a->cm);
		break;
	case PATH:
		cma_path_answer(c, n->ticket, n->status, &n->path);
		break;
	case NAME:
		cma_name_answer(c, n->ticket, n->status, n->addr);
		break;
	case GROUP:
		if (!cma_group_answer(c, n->ticket, n->status, &n->group) && n->status == 0)
			n->a->kind->group_leave(n->a, &n->group);
		break;
	}
}

void dev_cm_deliver(void)
{
	struct cma *c = atomic_load_explicit(&the_cma, memory_order_acquire);
	struct note *n;

	if (!c || !atomic_exchange(&dev_cm_noted, false))
		return;
	ut_lock(&list_lock);
	/* A program that never asked for adapters has no identifier on them. */
	if (scanned)
		update();
	ut_unlock(&list_lock);
	while ((n = take_note())) {
		deliver(c, n);
		free(n);
	}
}

/* Memory of the parent's lists stays where it is: other threads may have been in them. */
void dev_cm_forget(void) UT_NO_TSA
{
	/* Reachable, so that no checker reports it as lost. */
	static struct {
		struct cma *c;
		struct dev_adapter **listed;
		struct ut_list *known;
	} volatile last __attribute__((unused));
	struct cma *c = atomic_exchange(&the_cma, NULL);

	if (c)
		cma_forget(c);
	last.c = c;
	last.listed = listed;
	last.known = known.next;
	ut_mutex_init(&list_lock);
	ut_mutex_init(&undelivered_lock);
	ut_mutex_init(&make_lock);
	ut_list_init(&known);
	ut_list_init(&undelivered);
	listed = NULL;
	n_listed = 0;
	scanned = false;
	atomic_store(&dev_cm_noted, false);
	if (changes >= 0)
		ut_close(changes);
	changes = -1;
}
