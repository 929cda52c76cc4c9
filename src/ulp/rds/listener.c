/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/listener.h"

#include "ulp/listen.h"
#include "ulp/rds/node.h"
#include "ulp/rds/rdma.h"
#include "ulp/rds/say.h"
#include "ulp/rds/standby.h"
#include "ulp/rds/tcp.h"

#include <errno.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

struct rds_listener *rds_listener_find(struct rds_node *n, const struct rsp_addr *addr)
{
	struct rds_listener *h;

	ut_list_each(h, &n->listeners, node_entry)
		if (rds_same_addr(&h->addr, addr))
			return h;
	return NULL;
}

/* --- RDMA --- */

static bool is_loopback(const struct rsp_addr *a)
{
	return a->family == AF_INET ? a->addr[0] == 127 : IN6_IS_ADDR_LOOPBACK((const struct in6_addr *)(const void *)a->addr);
}

static void rdma_ready(struct rds_watch *w, uint32_t events)
{
	struct rds_listener *h = ut_container(w, struct rds_listener, rdma_watch);

	rds_rdma_accept(h->node, h->rdma, &h->addr);
}

/* Returns 0, also without an adapter or its port, or a negative errno for want of memory. */
static int open_rdma(struct rds_listener *h)
{
	int has = h->rdma ? 0 : rds_rdma_has(&h->addr), e;
	char text[RDS_ADDR_TEXT];

	if (has <= 0)
		return has;
	h->rdma = rds_rdma_listen(&h->addr);
	if (!h->rdma) {
		if (rds_may_retry(-errno))
			return -errno;
		rds_say("RDS address %s: RDMA port %u cannot be had (%s): its sockets use TCP; end what has the port, and bind again",
			rds_addr_text(text, &h->addr), h->addr.family == AF_INET6 ? WIRE_RDS_TCP_PORT : WIRE_RDS_RDMA_PORT,
			strerror(errno));
		return 0;
	}
	h->rdma_watch = (struct rds_watch){ ulp_listener_fd(h->rdma), EPOLLIN, rdma_ready };
	e = rds_watch_add(&h->node->loop, &h->rdma_watch);
	if (!e)
		return 0;
	ulp_listener_close(h->rdma);
	h->rdma = NULL;
	h->rdma_watch.fd = -1;
	return e;
}

int rds_listener_want_rdma(struct rds_node *n, const struct rsp_addr *addr)
{
	struct rds_listener *h = rds_listener_find(n, addr);
	int e = h ? open_rdma(h) : 0;

	return e ? e : h && h->rdma ? 0 : -ENOPROTOOPT;
}

struct ibv_context *rds_listener_verbs(struct rds_node *n, const struct rsp_addr *addr)
{
	const struct rds_listener *h = rds_listener_find(n, addr);

	return h && h->rdma ? ulp_listener_verbs(h->rdma) : NULL;
}

bool rds_listener_prefers_rdma(struct rds_node *n, const struct rsp_addr *addr)
{
	const struct rds_listener *h = rds_listener_find(n, addr);

	return h && h->rdma && !is_loopback(addr);
}

/* --- the address --- */

static void listener_ready(struct rds_watch *w, uint32_t events)
{
	struct rds_listener *h = ut_container(w, struct rds_listener, watch);

	rds_tcp_accept(h->node, w->fd, &h->addr);
}

/* A peer that is taken over TCP may ask over RDMA, too: that listener is there first. fd: the descriptor, or a negative errno. */
static int open_at(struct rds_listener *h, int fd)
{
	int e;

	h->watch = (struct rds_watch){ fd < 0 ? -1 : fd, EPOLLIN, listener_ready };
	if (fd < 0)
		return fd;
	if (!h->map)
		return -ENOBUFS;
	e = is_loopback(&h->addr) ? 0 : open_rdma(h);
	if (!e)
		e = rds_watch_add(&h->node->loop, &h->watch);
	/* Behind all that may fail: a copy in the standby keeps the port for a moment longer. */
	if (!e)
		e = rds_standby_keep(RDS_STANDBY_LISTENER, 0, &h->addr, fd);
	return e ? e : rds_tcp_listen(fd);
}

/* What peers have sent waits at the descriptor of the owner before, in connections that have not been accepted: the next attempt needs it. */
static void give_up(struct rds_listener *h, bool was_left)
{
	rds_watch_forget(&h->node->loop, &h->rdma_watch);
	if (h->rdma)
		ulp_listener_close(h->rdma);
	if (was_left) {
		rds_watch_forget(&h->node->loop, &h->watch);
		rds_standby_leave(RDS_STANDBY_LISTENER, 0, &h->addr);
	} else {
		rds_standby_keep(RDS_STANDBY_LISTENER, 0, &h->addr, -1);
		rds_watch_close(&h->node->loop, &h->watch);
	}
	free(h);
}

int rds_listener_open(struct rds_node *n, const struct rsp_addr *addr)
{
	struct rds_listener *h = rds_listener_find(n, addr) ? NULL : calloc(1, sizeof(*h));
	char text[RDS_ADDR_TEXT];
	int left, r;

	if (!h)
		return rds_listener_find(n, addr) ? 0 : -ENOMEM;
	*h = (struct rds_listener){ .node = n, .addr = *addr, .map = rds_map_make(n->maps, addr), .rdma_watch.fd = -1 };
	h->addr.port = 0;
	left = rds_standby_take(RDS_STANDBY_LISTENER, 0, &h->addr);
	r = open_at(h, left < 0 ? rds_tcp_bind(&h->addr) : left);
	if (!r) {
		ut_list_add_tail(&n->listeners, &h->node_entry);
		return 0;
	}
	if (r == -EADDRINUSE)
		rds_say("RDS address %s: TCP port %u is taken: no socket can be bound there; use another address, as each user "
			"and Linux's rds_tcp need one of their own", rds_addr_text(text, addr), WIRE_RDS_TCP_PORT);
	give_up(h, left >= 0);
	return r;
}
