/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/node.h"

#include "ulp/rds/choose.h"
#include "ulp/rds/job.h"
#include "ulp/rds/keep.h"
#include "ulp/rds/region.h"
#include "ulp/rds/rdma.h"
#include "ulp/rds/say.h"
#include "ulp/rds/store.h"

#include <arpa/inet.h>
#include <errno.h>
#include <linux/rds.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

#define FIRST_PORT 2                    /* 0 is that of pings, 1 that of probes */
#define PONGS_MOST 1024                 /* messages that wait: further pings get no answer */

/* --- addresses --- */

bool rds_same_addr(const struct rsp_addr *a, const struct rsp_addr *b)
{
	return a->family == b->family && a->scope == b->scope && !memcmp(a->addr, b->addr, sizeof(a->addr));
}

int rds_addr_order(const struct rsp_addr *a, const struct rsp_addr *b)
{
	struct rsp_addr x = *a, y = *b;

	rsp_addr_map(&x);
	rsp_addr_map(&y);
	return memcmp(x.addr, y.addr, sizeof(x.addr));
}

const char *rds_addr_text(char to[RDS_ADDR_TEXT], const struct rsp_addr *a)
{
	return inet_ntop(a->family, a->addr, to, RDS_ADDR_TEXT) ? to : "?";
}

struct rds_sock *rds_node_find(struct rds_node *n, const struct rsp_addr *addr)
{
	struct rds_sock *s;

	ut_list_each(s, &n->socks, node_entry)
		if (s->bound.family && s->bound.port == addr->port && rds_same_addr(&s->bound, addr))
			return s;
	return NULL;
}

/* A port that no socket has at this address. Returns false if there is none. */
static bool choose_port(struct rds_node *n, struct rsp_addr *addr)
{
	uint16_t from = 0;

	if (getrandom(&from, sizeof(from), GRND_NONBLOCK) != sizeof(from))
		from = (uint16_t)getpid();
	for (uint32_t i = 0; i <= UINT16_MAX; i++) {
		uint16_t port = (uint16_t)(from + i);

		addr->port = htons(port);
		if (port >= FIRST_PORT && !rds_node_find(n, addr))
			return true;
	}
	return false;
}

int rds_node_bind(struct rds_node *n, struct rds_sock *s, struct rsp_addr *addr)
{
	int r = s->bound.family ? -EINVAL : rds_listener_open(n, addr);

	if (!r && s->transport == RDS_TRANS_IB)
		r = rds_listener_want_rdma(n, addr);
	if (r)
		return r;
	if (addr->port ? rds_node_find(n, addr) != NULL : !choose_port(n, addr))
		return -EADDRINUSE;
	s->bound = *addr;
	return 0;
}

/* --- connections --- */

struct rds_conn *rds_node_find_conn(struct rds_node *n, const struct rsp_addr *local, const struct rsp_addr *peer,
				    const struct rds_transport *via)
{
	struct rds_conn *c;

	ut_list_each(c, &n->conns, node_entry)
		if (c->via == via && rds_same_addr(&c->local, local) && rds_same_addr(&c->peer, peer))
			return c;
	return NULL;
}

static struct rds_conn *add_conn(struct rds_node *n, const struct rsp_addr *local, const struct rsp_addr *peer,
				 const struct rds_transport *via, struct rds_map *map)
{
	struct rds_conn *c = via->make();

	if (!c)
		return NULL;
	c->via = via;
	c->node = n;
	c->local = *local;
	c->peer = *peer;
	c->local.port = c->peer.port = 0;
	c->peer_map = map;
	rds_flow_init(&c->flow);
	ut_list_add_tail(&n->conns, &c->node_entry);
	n->nr_conns++;
	return c;
}

struct rds_conn *rds_node_conn(struct rds_node *n, const struct rsp_addr *local, const struct rsp_addr *peer,
			       const struct rds_transport *via)
{
	struct rds_conn *c = rds_node_find_conn(n, local, peer, via);
	struct rds_map *map;
	char text[RDS_ADDR_TEXT];

	if (c)
		return c;
	map = n->nr_conns < RDS_CONNS_MAX ? rds_map_make(n->maps, peer) : NULL;
	if (!map && !n->has_refused)
		rds_say("RDS peer %s: the carrier has %u connections: there is none to this one; end programs that use RDS, or "
			"use another user", rds_addr_text(text, peer), n->nr_conns);
	n->has_refused |= !map; /* each of its messages comes here */
	c = map ? add_conn(n, local, peer, via, map) : NULL;
	if (!c)
		errno = map ? ENOMEM : ENOBUFS;
	return c && rds_keep_conn_open(c) ? c : NULL;
}

struct rds_conn *rds_node_take_conn(struct rds_node *n, const struct rds_transport *via, const struct rds_conn_state *state, int row)
{
	struct rds_map *map = rds_map_make(n->maps, &state->peer);
	struct rds_conn *c = map ? add_conn(n, &state->local, &state->peer, via, map) : NULL;

	if (!c)
		return NULL;
	c->row = row;
	c->arrival = state->arrival;
	c->has_stood = state->has_stood;
	c->flow.next_rx = state->next_rx;
	c->flow.peer_generation = state->peer_generation;
	return c;
}

static struct rds_sock *sender(struct rds_node *n, uint64_t id)
{
	struct rds_sock *s;

	ut_list_each(s, &n->socks, node_entry)
		if (s->id == id)
			return s;
	return NULL;
}

/* --- works --- */

/*
 * As in Linux: an adapter's failure is told to programs that want to know of each end (RDS_RDMA_NOTIFY_ME); one that wants to know of failures
 * (RDS_RECVERR) learns with the message that it is dropped.
 */
void rds_node_worked(struct rds_node *n, struct rds_job *j, int status)
{
	struct rds_sock *s = sender(n, j->sender);
	bool notify = j->work.flags & RDS_RDMA_NOTIFY_ME || (j->recverr && status == RDS_RDMA_DROPPED);

	if (j->told || (status && status != RDS_RDMA_DROPPED && status != RDS_RDMA_CANCELED && !notify))
		return;
	j->work.status = status;
	j->notify = notify;
	if (s && (notify || (!status && rds_work_in(&j->work))))
		rds_sock_worked(s, j);
	j->told = true; /* for the next owner: behind what it is told of */
	if (!s)
		return;
	s->sent_bytes -= j->work.bytes;
	rds_sock_flow(s);
}

static void message_ends(struct rds_node *n, const struct rds_message *m, int status)
{
	struct rds_sock *s = sender(n, m->sender);

	for (int i = 0; i < RDS_WORK_MAX; i++) {
		if (m->works[i] && status) /* the adapter tells of success */
			rds_node_worked(n, m->works[i], status);
		rds_job_put(m->works[i]);
	}
	if (!s)
		return;
	s->sent_bytes -= m->len;
	rds_sock_flow(s);
}

void rds_node_done(void *arg, const struct rds_message *m)
{
	message_ends(arg, m, RDS_RDMA_SUCCESS);
}

void rds_node_cancelled(void *arg, const struct rds_message *m)
{
	message_ends(arg, m, RDS_RDMA_CANCELED);
}

void rds_node_dropped(void *arg, const struct rds_message *m)
{
	message_ends(arg, m, RDS_RDMA_DROPPED);
}

int rds_node_may_work(struct rds_node *n, const struct rds_sock *s, const struct rsp_addr *to)
{
	bool is_rdma = s->transport == RDS_TRANS_IB ||
		       (s->transport == (int)RDS_TRANS_NONE && rds_listener_prefers_rdma(n, &s->bound));

	return is_rdma && !rds_listener_find(n, to) ? 0 : -EOPNOTSUPP;
}

/* --- messages --- */

/* Gives a message to the socket that it is for. c, h: its connection and header; `by`: or its sender, of this carrier. Returns false if that one's queue is full. */
static bool deliver(struct rds_node *n, struct rds_conn *c, const struct rds_sock *by, const struct rsp_addr *local, const struct rsp_addr *peer,
		    const struct rds_header *h, struct rds_message *m)
{
	struct rds_news news = { 0 };
	struct rsp_addr to = *local, from = *peer;
	struct rds_sock *s;

	to.port = htons(m->dport);
	from.port = htons(m->sport);
	s = rds_node_find(n, &to);
	if (s && h)
		news = (struct rds_news){ h->cookie, h->uses_region && rds_region_used(&s->regions, h->key) ? h->key : 0 };
	if (s) {
		rds_keep_come(s, c, &from, &news, m);
		if (by) /* before the message is given and freed, which the next owner does not see */
			rds_keep_took(by, m->record);
		return rds_sock_deliver(s, m);
	}
	if (c)
		rds_keep_conn(c);
	n->counters.recv_drop_no_sock++;
	rds_message_free(m);
	return true;
}

static void deliver_here(struct rds_node *n, struct rds_sock *s, const struct rsp_addr *to, struct rds_message *m)
{
	bool is_ping = m->dport == WIRE_RDS_PING_PORT;

	rds_node_done(n, m);
	m->sender = 0;
	if (!is_ping) {
		deliver(n, NULL, s, to, &s->bound, NULL, m);
		return;
	}
	m->len = 0;
	m->dport = m->sport;
	m->sport = WIRE_RDS_PING_PORT;
	deliver(n, NULL, s, &s->bound, to, NULL, m);
}

int rds_node_send(struct rds_node *n, struct rds_sock *s, const struct rsp_addr *to, struct rds_message *m)
{
	struct rds_conn *c;

	bool only_rdma = m->works[0] || m->works[1] || m->cookie;

	n->counters.send_queued++;
	if (only_rdma && rds_node_may_work(n, s, to)) {
		rds_node_cancelled(n, m);
		rds_message_free(m);
		return -EOPNOTSUPP;
	}
	if (rds_listener_find(n, to)) {
		deliver_here(n, s, to, m);
		return 0;
	}
	c = only_rdma ? rds_node_conn(n, &s->bound, to, &rds_rdma) : rds_choose(n, s, to);
	if (!c && errno == ENOMEM) {
		n->counters.send_queued--;
		return -ENOMEM;
	}
	if (!c) {
		rds_node_cancelled(n, m);
		rds_message_free(m);
		return -ENOBUFS;
	}
	m->either = s->transport == (int)RDS_TRANS_NONE && !only_rdma;
	rds_flow_queue(&c->flow, m);
	rds_keep_queued(c, m);
	c->via->kick(c);
	return 0;
}

static bool goes_to(const struct rds_message *m, const void *key)
{
	const struct rsp_addr *to = key;

	return m->dport == ntohs(to->port);
}

void rds_node_cancel(struct rds_node *n, struct rds_sock *s, const struct rsp_addr *to)
{
	struct rds_conn *c;

	ut_list_each(c, &n->conns, node_entry)
		if (!to || rds_same_addr(&c->peer, to))
			rds_flow_cancel(&c->flow, s->id, to ? goes_to : NULL, to, c->out.begun && !c->out.is_map, rds_node_cancelled,
					n);
}

/* The answer has the memory of the ping. Returns false if there is none. */
static bool answer_ping(struct rds_conn *c, const struct rds_header *h, struct rds_message *m)
{
	c->node->counters.recv_ping++;
	if (h->sport == WIRE_RDS_PING_PORT || c->flow.nr >= PONGS_MOST)
		return false;
	m->len = 0;
	m->sport = WIRE_RDS_PING_PORT;
	m->dport = h->sport;
	m->paths = h->sport == WIRE_RDS_PROBE_PORT;
	c->node->counters.send_pong++;
	rds_flow_queue(&c->flow, m);
	rds_keep_queued(c, m);
	c->via->kick(c);
	return true;
}

bool rds_node_arrived(struct rds_conn *c, const struct rds_header *h, struct rds_message *m)
{
	bool is_pong = h->sport == WIRE_RDS_PING_PORT && h->dport == WIRE_RDS_PROBE_PORT, is_used = false;

	if (!rds_flow_arrived(&c->flow, h->sequence, h->retransmitted))
		c->node->counters.recv_drop_old_seq++;
	else if (h->dport == WIRE_RDS_PING_PORT)
		is_used = answer_ping(c, h, m);
	else if (!is_pong)
		return deliver(c->node, c, NULL, &c->local, &c->peer, h, m);
	rds_keep_conn(c);
	if (!is_used)
		rds_message_free(m);
	return true;
}

/* --- congestion --- */

static void tell_freed(struct rds_node *n, uint64_t freed)
{
	struct rds_sock *s;

	rds_maps_changed(n->maps);
	ut_list_each(s, &n->socks, node_entry)
		if (freed)
			rds_sock_updated(s, freed);
}

void rds_node_map(struct rds_conn *c, const struct rds_header *h, const uint8_t map[WIRE_RDS_MAP_LEN])
{
	c->node->counters.cong_update_received++;
	rds_flow_peer(&c->flow, h->generation);
	tell_freed(c->node, rds_map_get(c->peer_map, map));
}

void rds_node_congested(struct rds_node *n, const struct rsp_addr *addr, bool congested)
{
	struct rds_listener *h = rds_listener_find(n, addr);
	struct rds_conn *c;

	if (!h || !rds_map_set(h->map, ntohs(addr->port), congested))
		return;
	tell_freed(n, congested ? 0 : 1ull << ntohs(addr->port) % 64);
	ut_list_each(c, &n->conns, node_entry) {
		if (!rds_same_addr(&c->local, addr))
			continue;
		c->map_due = true;
		c->via->kick(c);
	}
}

void rds_node_resume(struct rds_node *n)
{
	struct rds_conn *c;

	ut_list_each(c, &n->conns, node_entry)
		if (c->paused)
			c->via->resume(c);
}

/* --- the whole --- */

int rds_node_make_maps(struct rds_node *n, int fd)
{
	n->maps_fd = fd < 0 ? memfd_create("rds-maps", MFD_CLOEXEC | MFD_ALLOW_SEALING) : fd;
	if (n->maps_fd < 0 || (fd < 0 && ftruncate(n->maps_fd, sizeof(*n->maps))))
		return -errno;
	n->maps = mmap(NULL, sizeof(*n->maps), PROT_READ | PROT_WRITE, MAP_SHARED, n->maps_fd, 0);
	if (n->maps == MAP_FAILED)
		return -errno;
	while (!n->maps->generation)
		if (getrandom(&n->maps->generation, sizeof(n->maps->generation), 0) < 0)
			return -errno;
	n->generation = n->maps->generation;
	return 0;
}

int rds_node_init(struct rds_node *n)
{
	ut_list_init(&n->socks);
	ut_list_init(&n->conns);
	ut_list_init(&n->listeners);
	return rds_loop_init(&n->loop);
}

bool rds_node_has_socks(const struct rds_node *n)
{
	return !ut_list_empty(&n->socks);
}

bool rds_node_has_messages(const struct rds_node *n)
{
	struct rds_conn *c;

	ut_list_each(c, &n->conns, node_entry)
		if (c->flow.nr)
			return true;
	return false;
}

void rds_node_leave(struct rds_node *n)
{
	struct rds_conn *c;

	ut_list_each(c, &n->conns, node_entry)
		c->via->leave(c);
}
