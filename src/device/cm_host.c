/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the RDMA CM asks of this host: the adapters with their addresses, and the
 * routing of its kernel. Adapters that were met stay open, since identifiers
 * point at their ports; the list is read again when the kernel says that links or
 * addresses have changed.
 */
#include "cm/cma.h"
#include "device/adapter.h"
#include "device/gids.h"
#include "device/process.h"
#include "device/progress.h"
#include "device/sys.h"
#include "engine/event.h"
#include "util/alloc.h"
#include "util/list.h"
#include "util/log.h"

#include <netinet/in.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

struct opened {
	struct ut_list node;
	struct eng_ctx *ctx;
	bool listed; /* there now, as the environment chooses */
};

static struct ut_mutex lock = { PTHREAD_MUTEX_INITIALIZER };
static struct ut_list all UT_GUARDED_BY(lock) = UT_LIST_INIT(all); /* listing order */
static int news UT_GUARDED_BY(lock) = -1; /* changes of links and addresses */
static bool fresh UT_GUARDED_BY(lock);
static struct cma *the_one UT_GUARDED_BY(lock);

static struct dev_adapter *adapter_of(const struct cm_port *p)
{
	return ut_container((void *)(uintptr_t)p, struct dev_adapter, cm);
}

/* --- adapters --- */

static struct opened *find(const struct dev_info *info) UT_REQUIRES(lock)
{
	struct opened *o;

	ut_list_each(o, &all, node) {
		const struct dev_info *i = dev_info_of(o->ctx->dev);

		if (i->ifindex == info->ifindex && i->kind == info->kind &&
		    !strcmp(i->name, info->name))
			return o;
	}
	return NULL;
}

static struct opened *open_one(const struct dev_info *info)
{
	struct opened *o = ut_zalloc(sizeof(*o));
	int r = o ? dev_open(info, &o->ctx) : -ENOMEM;

	if (r == 0) {
		ut_list_init(&o->node);
		return o;
	}
	ut_warn("%s does not open: %s", info->name, strerror(-r));
	free(o);
	return NULL;
}

/* Links and addresses have changed, or nobody can tell. */
static bool outdated(void) UT_REQUIRES(lock)
{
	if (news < 0) {
		news = dev_nl_listen();
		fresh = false;
	}
	if (news < 0 || dev_nl_drain(news))
		fresh = false;
	return !fresh;
}

static void reread(void) UT_REQUIRES(lock)
{
	struct dev_info *v = NULL;
	int n = dev_list(&v);
	struct opened *o;

	if (n < 0)
		return;
	ut_list_each(o, &all, node)
		o->listed = false;
	for (int i = 0; i < n; i++) {
		o = find(&v[i]);
		if (!o)
			o = open_one(&v[i]);
		if (!o)
			continue;
		/* To the end, one after the other: the order of the list. */
		o->listed = true;
		ut_list_del(&o->node);
		ut_list_add_tail(&all, &o->node);
	}
	free(v);
	fresh = true;
}

static int ports(struct cm_port **v, int max)
{
	struct opened *o;
	int n = 0;

	ut_lock(&lock);
	if (outdated())
		reread();
	ut_list_each(o, &all, node) {
		if (!o->listed)
			continue;
		if (n < max)
			v[n] = &dev_adapter_of(o->ctx->dev)->cm;
		n++;
	}
	ut_unlock(&lock);
	return n;
}

static int attach(struct cm_port *p)
{
	struct dev_adapter *a = adapter_of(p);
	int r;

	ut_lock(&a->dev.lock);
	r = a->kind->cm_attach(a);
	eng_dev_unlock(&a->dev);
	if (r < 0)
		ut_warn("%s makes no connections: %s", a->info.name, strerror(-r));
	return r;
}

static const char *name(struct cm_port *p)
{
	return adapter_of(p)->info.name;
}

/* --- addresses --- */

static bool link_local(const uint8_t addr[16])
{
	return addr[0] == 0xfe && (addr[1] & 0xc0) == 0x80;
}

static bool has_addr(struct cm_port *p, const uint8_t addr[16], uint32_t scope)
{
	struct dev_adapter *a = adapter_of(p);
	bool has;

	if (scope && link_local(addr) && scope != a->info.ifindex)
		return false;
	ut_lock(&a->dev.lock);
	has = !a->gone && dev_addr_has(a, addr);
	eng_dev_unlock(&a->dev);
	return has;
}

static int addrs(struct cm_port *p, struct link_end *v, int max)
{
	struct dev_adapter *a = adapter_of(p);
	int n;

	ut_lock(&a->dev.lock);
	n = a->n_addrs;
	for (int i = 0; i < n && i < max; i++) {
		const struct dev_nl_addr *from = &a->addrs[i];

		v[i] = (struct link_end){ .scope = from->link_local ? a->info.ifindex : 0 };
		memcpy(v[i].addr, from->addr, sizeof(v[i].addr));
	}
	eng_dev_unlock(&a->dev);
	return n;
}

/* --- routing: what would a datagram socket do --- */

static const uint8_t mapped[12] = { [10] = 0xff, [11] = 0xff };

static bool is_v4(const uint8_t addr[16])
{
	return !memcmp(addr, mapped, sizeof(mapped));
}

static bool is_any(const uint8_t addr[16])
{
	static const uint8_t zero[16];

	return is_v4(addr) ? !memcmp(addr + 12, zero, 4) : !memcmp(addr, zero, 16);
}

static socklen_t to_sockaddr(const struct link_end *e, struct sockaddr_storage *ret)
{
	struct sockaddr_in *v4 = (void *)ret;
	struct sockaddr_in6 *v6 = (void *)ret;

	memset(ret, 0, sizeof(*ret));
	if (is_v4(e->addr)) {
		v4->sin_family = AF_INET;
		memcpy(&v4->sin_addr, e->addr + 12, 4);
		return sizeof(*v4);
	}
	v6->sin6_family = AF_INET6;
	memcpy(&v6->sin6_addr, e->addr, 16);
	v6->sin6_scope_id = link_local(e->addr) ? e->scope : 0;
	return sizeof(*v6);
}

static void from_sockaddr(const struct sockaddr_storage *s, struct link_end *ret)
{
	const struct sockaddr_in *v4 = (const void *)s;
	const struct sockaddr_in6 *v6 = (const void *)s;

	if (s->ss_family == AF_INET) {
		memcpy(ret->addr, mapped, sizeof(mapped));
		memcpy(ret->addr + 12, &v4->sin_addr, 4);
		return;
	}
	memcpy(ret->addr, &v6->sin6_addr, 16);
	ret->scope = v6->sin6_scope_id;
}

/* Any port will do for asking; discard's is never contacted. */
static int ask(int fd, const struct link_end *dst, struct link_end *src)
{
	struct sockaddr_storage s;
	socklen_t n = to_sockaddr(src, &s);
	int r = 0;

	if (!is_any(src->addr))
		r = (int)DEV_SYS(SYS_bind, fd, &s, n);
	if (r < 0)
		return r;
	n = to_sockaddr(dst, &s);
	if (s.ss_family == AF_INET)
		((struct sockaddr_in *)(void *)&s)->sin_port = htons(9);
	else
		((struct sockaddr_in6 *)(void *)&s)->sin6_port = htons(9);
	r = (int)DEV_SYS(SYS_connect, fd, &s, n);
	if (r < 0)
		return r;
	n = sizeof(s);
	r = (int)DEV_SYS(SYS_getsockname, fd, &s, &n);
	if (r == 0)
		from_sockaddr(&s, src);
	return r;
}

/* Loopback has addresses that its adapter was told to leave to others
 * (DAPPLE_ADDRESS), and the kernel prefers 127.0.0.1. */
static void prefer_own_loopback(struct link_end *src)
{
	struct opened *o;

	if (!is_v4(src->addr) || src->addr[12] != 127)
		return;
	ut_lock(&lock);
	ut_list_each(o, &all, node) {
		struct cm_port *p = &dev_adapter_of(o->ctx->dev)->cm;
		struct link_end first;

		if (dev_info_of(o->ctx->dev)->guid != DEV_LOOPBACK_GUID)
			continue;
		if (!has_addr(p, src->addr, 0) && addrs(p, &first, 1) > 0 && is_v4(first.addr))
			memcpy(src->addr, first.addr, sizeof(src->addr));
		break;
	}
	ut_unlock(&lock);
}

static int route(const struct link_end *dst, struct link_end *src)
{
	bool given = !is_any(src->addr);
	int fd = (int)DEV_SYS(SYS_socket, is_v4(dst->addr) ? AF_INET : AF_INET6,
			      SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int r;

	if (fd < 0)
		return fd;
	r = ask(fd, dst, src);
	ut_close(fd);
	if (r == 0 && !given)
		prefer_own_loopback(src);
	return r;
}

static void drive(struct cm_port *p)
{
	dev_run(adapter_of(p), DEV_BY_CALL);
}

static const struct cma_host host = {
	.ports = ports,
	.attach = attach,
	.has_addr = has_addr,
	.addrs = addrs,
	.route = route,
	.name = name,
	.drive = drive,
};

/* --- the one of this process --- */

/* Contexts of adapters that the child serves too are not closed: their memory may be pointed
 * at, and what is not in the list is opened anew. */
static void after_fork(void) UT_NO_TSA
{
	ut_mutex_init(&lock);
	ut_list_init(&all);
	ut_close(news);
	news = -1;
	fresh = false;
	if (the_one)
		cma_forget(the_one);
	the_one = NULL;
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, after_fork);
}

struct cma *cma_get(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct cma *c;

	pthread_once(&once, watch_forks);
	ut_lock(&lock);
	if (!the_one)
		the_one = cma_new(&host, ut_rng_seed());
	c = the_one;
	ut_unlock(&lock);
	return c;
}
