/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/info.h"

#include "ulp/rds/rdma.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/rds.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The elements as they are collected. */
struct list {
	uint8_t *at;
	size_t len, room;
	uint32_t each;
	bool failed;
};

static void add(struct list *l, const void *element)
{
	uint8_t *more;

	if (l->len + l->each > l->room) {
		more = realloc(l->at, l->room * 2 + l->each);
		l->failed = l->failed || !more;
		if (!more)
			return;
		l->at = more;
		l->room = l->room * 2 + l->each;
	}
	memcpy(l->at + l->len, element, l->each);
	l->len += l->each;
}

static void counter(struct list *l, const char *name, uint64_t value)
{
	struct rds_info_counter c = { .value = value };

	snprintf((char *)c.name, sizeof(c.name), "%s", name);
	add(l, &c);
}

static void counters(struct rds_node *n, struct list *l)
{
	l->each = sizeof(struct rds_info_counter);
#define ADD_COUNTER(name) counter(l, #name, n->counters.name);
	RDS_COUNTERS(ADD_COUNTER)
#undef ADD_COUNTER
}

/* These structures have IPv4 addresses alone; those of IPv6 are left out, as in Linux. */
static uint32_t v4(const struct rsp_addr *a)
{
	uint32_t v = 0;

	if (a->family == AF_INET)
		memcpy(&v, a->addr, 4);
	return v;
}

static void connections(struct rds_node *n, struct list *l)
{
	struct rds_conn *c;

	l->each = sizeof(struct rds_info_connection);
	ut_list_each(c, &n->conns, node_entry) {
		struct rds_info_connection i = {
			.next_tx_seq = c->flow.next_tx, .next_rx_seq = c->flow.next_rx, .laddr = v4(&c->local),
			.faddr = v4(&c->peer),
			.flags = c->via->is_up(c) ? RDS_INFO_CONNECTION_FLAG_CONNECTED : 0,
		};

		if (c->out.begun && !c->out.is_map)
			i.flags |= RDS_INFO_CONNECTION_FLAG_SENDING;
		snprintf((char *)i.transport, sizeof(i.transport), "%s", c->via->name);
		if (c->local.family == AF_INET)
			add(l, &i);
	}
}

/* Those over RDMA; of one that does not stand the addresses alone, as in Linux. */
static void rdma_connections(struct rds_node *n, struct list *l)
{
	struct rds_conn *c;

	l->each = sizeof(struct rds_info_rdma_connection);
	ut_list_each(c, &n->conns, node_entry) {
		struct rds_info_rdma_connection i = { .src_addr = v4(&c->local), .dst_addr = v4(&c->peer) };

		if (c->via != &rds_rdma || c->local.family != AF_INET)
			continue;
		if (c->via->is_up(c))
			rds_rdma_info(c, &i);
		add(l, &i);
	}
}

static void sockets(struct rds_node *n, struct list *l)
{
	struct rds_sock *s;

	l->each = sizeof(struct rds_info_socket);
	ut_list_each(s, &n->socks, node_entry) {
		struct rds_info_socket i = {
			.sndbuf = (uint32_t)s->sndbuf, .rcvbuf = (uint32_t)s->rcvbuf, .bound_addr = v4(&s->bound),
			.bound_port = s->bound.port, .connected_addr = v4(&s->peer), .connected_port = s->peer.port,
			.inum = s->id,
		};

		if (s->bound.family != AF_INET6)
			add(l, &i);
	}
}

static void message(struct list *l, const struct rsp_addr *local, const struct rsp_addr *peer, const struct rds_message *m)
{
	struct rds_info_message i = { .seq = m->sequence, .len = m->len, .laddr = v4(local), .faddr = v4(peer),
				      .lport = htons(m->sport), .fport = htons(m->dport) };

	if (local->family == AF_INET)
		add(l, &i);
}

/* Those that wait, or those that may have to be sent again. */
static void sent(struct rds_node *n, struct list *l, bool again)
{
	struct rds_conn *c;
	struct rds_message *m;

	l->each = sizeof(struct rds_info_message);
	ut_list_each(c, &n->conns, node_entry)
		ut_list_each(m, again ? &c->flow.unacked : &c->flow.waiting, node)
			message(l, &c->local, &c->peer, m);
}

static void received(struct rds_node *n, struct list *l)
{
	struct rds_sock *s;
	struct rds_arrival *a;

	l->each = sizeof(struct rds_info_message);
	ut_list_each(s, &n->socks, node_entry)
		ut_list_each(a, &s->queue, node)
			if (a->m)
				message(l, &a->m->from, &s->bound, a->m);
}

static bool collect(struct rds_node *n, int option, struct list *l)
{
	switch (option) {
	case RDS_INFO_COUNTERS:
		counters(n, l);
		return true;
	case RDS_INFO_CONNECTIONS:
		connections(n, l);
		return true;
	case RDS_INFO_IB_CONNECTIONS:
		rdma_connections(n, l);
		return true;
	case RDS_INFO_SOCKETS:
		sockets(n, l);
		return true;
	case RDS_INFO_SEND_MESSAGES:
	case RDS_INFO_RETRANS_MESSAGES:
		sent(n, l, option == RDS_INFO_RETRANS_MESSAGES);
		return true;
	case RDS_INFO_RECV_MESSAGES:
		received(n, l);
		return true;
	default:
		return false;
	}
}

int rds_info(struct rds_node *n, int option, uint32_t *ret_each, uint64_t *ret_len)
{
	struct list l = { 0 };
	struct iovec iov;
	int fd;

	if (!collect(n, option, &l))
		return -ENOPROTOOPT;
	iov = (struct iovec){ l.at, l.len };
	fd = l.failed ? -ENOMEM : rds_memfd(&iov, l.len != 0);
	free(l.at);
	*ret_each = l.each;
	*ret_len = l.len;
	return fd;
}
