/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Datagrams in flight are timers in one heap. Datagrams that are due are handed over in the order
 * of (time, order of sending), so that a run does not depend on how the heap happens to lie when
 * two deadlines are equal.
 *
 * A coalesced receive is imitated as well: neighbours of one train that arrive one after another
 * get seg 0, 1, 2 ..., a gap starts at 0 again, as the kernel's receive offload does with their
 * identifications.
 */
#include "support/simnet.h"

#include "util/alloc.h"
#include "util/heap.h"
#include "util/ip.h"
#include "util/list.h"
#include "util/rng.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SIM_TRAIN_BYTES 65507u /* the largest UDP payload over IPv4 */
#define SIM_PORT 4791u         /* the port in the headers of the wire */
#define SIM_STAGE (512u << 10)
#define SIM_SLACK 64u          /* a hook may lengthen a datagram by so much */

struct sim_addr {
	struct ut_list node;
	uint8_t addr[16];
	uint32_t ifindex;
};

struct sim_claim {
	struct ut_list node;
	uint8_t addr[16];
	uint64_t service;
};

struct sim_link {
	struct link base;
	struct sim_net *net;
	struct ut_list node;       /* in net->links */
	struct ut_list addrs, groups, claims;
	struct ut_list rx, errs;   /* of sim_wire, oldest first */
	uint32_t rx_used;
	uint16_t lid;              /* 0: not of InfiniBand */
	uint8_t lmc;
	bool blocked;
	struct ut_stage stage;
};

/* A datagram, or with error != 0 a report on its way back. */
struct sim_wire {
	struct ut_timer due;
	struct ut_list node;
	uint64_t order;            /* of creation; breaks ties */
	uint64_t train;            /* one number per send() */
	struct sim_packet p;
	int error;
	uint8_t bytes[];
};

struct sim_net {
	struct sim_config cfg;
	struct ut_rng rng;
	struct ut_heap heap;
	struct ut_list links;
	uint64_t now, nr, order, train;
	sim_hook *hook;
	void *hook_arg;
	struct sim_stats stats;
};

static struct sim_link *sim_of(const struct link *l)
{
	return ut_container((struct link *)l, struct sim_link, base);
}

static bool chance(struct sim_net *net, unsigned per_mille)
{
	return per_mille && ut_rng_below(&net->rng, 1000) < per_mille;
}

static struct sim_addr *addr_find(struct ut_list *list, const uint8_t addr[16])
{
	struct sim_addr *a;

	ut_list_each(a, list, node)
		if (!memcmp(a->addr, addr, 16))
			return a;
	return NULL;
}

static int addr_add(struct ut_list *list, const uint8_t addr[16], uint32_t ifindex)
{
	struct sim_addr *a;

	if (addr_find(list, addr))
		return 0;
	a = ut_zalloc(sizeof(*a));
	if (!a)
		return -ENOMEM;
	memcpy(a->addr, addr, 16);
	a->ifindex = ifindex;
	ut_list_add_tail(list, &a->node);
	return 0;
}

static void addr_drop(struct ut_list *list, const uint8_t addr[16])
{
	struct sim_addr *a = addr_find(list, addr);

	if (a) {
		ut_list_del(&a->node);
		free(a);
	}
}

static void wire_free(struct sim_net *net, struct sim_wire *w)
{
	ut_timer_clear(&net->heap, &w->due);
	ut_heap_unreserve(&net->heap);
	ut_list_del(&w->node);
	free(w);
}

static struct sim_wire *wire_new(struct sim_net *net, const struct sim_packet *p)
{
	struct sim_wire *w = ut_zalloc(sizeof(*w) + p->len + SIM_SLACK);

	if (!w)
		return NULL;
	if (ut_heap_reserve(&net->heap) < 0) {
		free(w);
		return NULL;
	}
	ut_list_init(&w->node);
	w->p = *p;
	w->p.data = w->bytes;
	w->p.cap = p->len + SIM_SLACK;
	w->order = net->order++;
	w->train = net->train;
	memcpy(w->bytes, p->data, p->len);
	return w;
}

/* One copy leaves; the rates decide how it fares. */
static void wire_launch(struct sim_net *net, struct sim_wire *w)
{
	const struct link_fault_rates *r = &net->cfg.rates;

	if (chance(net, r->loss)) {
		net->stats.lost++;
		wire_free(net, w);
		return;
	}
	if (w->p.len && chance(net, r->corrupt)) {
		net->stats.damaged++;
		w->bytes[ut_rng_below(&net->rng, w->p.len)] ^=
			(uint8_t)(1u << ut_rng_below(&net->rng, 8));
	}
	if (chance(net, r->reorder)) {
		net->stats.delayed++;
		w->p.delay += 1000 + ut_rng_below(&net->rng, 4) * (w->p.delay + 1000);
	}
	if (net->cfg.jitter)
		w->p.delay += ut_rng_u64(&net->rng) % (net->cfg.jitter + 1);
	ut_timer_set(&net->heap, &w->due, net->now + w->p.delay);
}

static int launch_copies(struct sim_net *net, struct sim_packet *p, int copies)
{
	struct sim_wire *w;

	if (copies == 1 && chance(net, net->cfg.rates.dup)) {
		net->stats.doubled++;
		copies = 2;
	}
	if (copies == 0)
		net->stats.lost++;
	for (; copies > 0; copies--) {
		w = wire_new(net, p);
		if (!w)
			return -ENOMEM;
		wire_launch(net, w);
	}
	return 0;
}

/* The hook gets a private copy that it may change, whatever memory the sender used. */
static int send_one(struct sim_link *from, struct sim_link *to, struct sim_packet p)
{
	struct sim_net *net = from->net;
	uint8_t *copy;
	int n = 1, r;

	p.nr = net->nr++;
	p.from = &from->base;
	p.to = &to->base;
	p.delay = net->cfg.delay;
	net->stats.sent++;
	if (!net->hook)
		return launch_copies(net, &p, 1);
	copy = ut_zalloc(p.len + SIM_SLACK);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, p.data, p.len);
	p.data = copy;
	p.cap = p.len + SIM_SLACK;
	n = net->hook(net->hook_arg, &p);
	if (p.len > p.cap)
		p.len = p.cap;
	p.data = copy;
	r = launch_copies(net, &p, n < 0 ? 0 : n);
	free(copy);
	return r;
}

static void send_refusal(struct sim_link *from, struct sim_packet p)
{
	struct sim_wire *w;

	from->net->stats.unreachable++;
	if (!from->net->cfg.refuse)
		return;
	p.len = 0;
	p.to = &from->base;
	w = wire_new(from->net, &p);
	if (!w)
		return;
	w->error = ECONNREFUSED;
	ut_timer_set(&from->net->heap, &w->due, from->net->now + 2 * from->net->cfg.delay);
}

static bool has_lid(const struct sim_link *s, uint16_t lid)
{
	return s->lid && lid >> s->lmc == s->lid >> s->lmc;
}

/* A group by its GID on either kind of link: a multicast LID leads to all that may have members. */
static bool is_at(struct sim_link *to, const struct ut_flow *f, bool group)
{
	if (group)
		return addr_find(&to->groups, f->dst);
	return f->lids ? has_lid(to, f->dlid) : addr_find(&to->addrs, f->dst) != NULL;
}

/* To every link that listens at the destination. */
static int send_packet(struct sim_link *from, struct sim_packet *p)
{
	bool group = (!p->flow.lids || p->flow.grh) && ut_ip_is_group(p->flow.dst);
	struct sim_link *to;
	bool found = false;
	int r = 0;

	ut_list_each(to, &from->net->links, node) {
		if (!is_at(to, &p->flow, group))
			continue;
		found = true;
		if (send_one(from, to, *p) < 0)
			r = -ENOMEM;
		if (!group)
			break;
	}
	if (!found && !group)
		send_refusal(from, *p);
	return r;
}

static int sim_send(struct link *l, const struct ut_flow *f, uint32_t qpn,
		      const uint8_t *data, size_t len,
		    size_t seg)
{
	struct sim_link *s = sim_of(l);
	struct sim_packet p = { .flow = *f };
	size_t off = 0;
	int r = 0;

	if (!seg || !len || len > l->train_bytes || (len + seg - 1) / seg > l->train_packets)
		return -EMSGSIZE;
	if (f->lids ? !has_lid(s, f->slid) : !addr_find(&s->addrs, f->src))
		return -EADDRNOTAVAIL;
	if (s->blocked)
		return -EAGAIN;
	s->net->train++;
	for (; off < len; off += seg, p.id++) {
		p.data = (uint8_t *)data + off;
		p.len = (uint32_t)(len - off < seg ? len - off : seg);
		if (send_packet(s, &p) < 0)
			r = -ENOMEM;
	}
	return r;
}

static enum link_sender sim_sender(struct link *l, const struct link_rx *rx)
{
	return LINK_SENDER_UNKNOWN;
}

static uint16_t sim_source_port(struct link *l, const struct ut_flow *f)
{
	return f->sport;
}

static void fill_rx(struct link_rx *rx, const struct sim_wire *w)
{
	*rx = (struct link_rx){ .data = rx->data, .off = rx->off, .len = w->p.len, .seg = rx->seg };
	rx->sport = w->p.flow.sport;
	rx->tos = w->p.flow.tos;
	rx->ttl = w->p.flow.ttl;
	rx->lids = w->p.flow.lids;
	rx->grh = w->p.flow.grh;
	rx->sl = w->p.flow.sl;
	rx->slid = w->p.flow.slid;
	rx->dlid = w->p.flow.dlid;
	rx->flow_label = rx->grh ? w->p.flow.scope : 0;
	memcpy(rx->src, w->p.flow.src, 16);
	memcpy(rx->dst, w->p.flow.dst, 16);
}

static int sim_recv(struct link *l, struct link_rx *v, int max)
{
	struct sim_link *s = sim_of(l);
	struct sim_wire *w;
	uint64_t train = 0;
	uint32_t id = 0;
	size_t off = 0;
	int n = 0;

	while (n < max && (w = ut_list_first(&s->rx, struct sim_wire, node))) {
		if (off + w->p.len > s->stage.size)
			break;
		memcpy(s->stage.base + off, w->bytes, w->p.len);
		v[n].data = s->stage.base + off;
		v[n].off = off;
		fill_rx(&v[n], w);
		v[n].seg = n && w->train == train && w->p.id == id + 1 ? v[n - 1].seg + 1 : 0;
		train = w->train;
		id = w->p.id;
		off += (w->p.len + 63u) & ~63u;
		s->rx_used -= w->p.len;
		wire_free(s->net, w);
		n++;
	}
	return n;
}

static int sim_error(struct link *l, struct link_err *ret)
{
	struct sim_link *s = sim_of(l);
	struct sim_wire *w = ut_list_first(&s->errs, struct sim_wire, node);

	if (!w)
		return 0;
	memcpy(ret->dst, w->p.flow.dst, 16);
	ret->error = w->error;
	wire_free(s->net, w);
	return 1;
}

static int sim_add_addr(struct link *l, const uint8_t addr[16], uint32_t scope)
{
	struct sim_link *s = sim_of(l), *o;

	ut_list_each(o, &s->net->links, node)
		if (o != s && addr_find(&o->addrs, addr))
			return -EADDRINUSE;
	return addr_add(&s->addrs, addr, scope);
}

static void sim_del_addr(struct link *l, const uint8_t addr[16])
{
	addr_drop(&sim_of(l)->addrs, addr);
}

static int sim_join(struct link *l, const uint8_t group[16], uint32_t ifindex)
{
	return ut_ip_is_group(group) ? addr_add(&sim_of(l)->groups, group, ifindex) : -EINVAL;
}

static void sim_leave(struct link *l, const uint8_t group[16], uint32_t ifindex)
{
	addr_drop(&sim_of(l)->groups, group);
}

static struct sim_claim *claim_find(struct sim_link *s, const uint8_t addr[16], uint64_t service)
{
	struct sim_claim *c;

	ut_list_each(c, &s->claims, node)
		if (c->service == service && !memcmp(c->addr, addr, 16))
			return c;
	return NULL;
}

/* A host is one process: no other process could have claimed it. */
static int sim_claim(struct link *l, const uint8_t addr[16], uint64_t service)
{
	struct sim_link *s = sim_of(l);
	struct sim_claim *c;

	if (!addr_find(&s->addrs, addr))
		return -EADDRNOTAVAIL;
	if (claim_find(s, addr, service))
		return -EADDRINUSE;
	c = ut_zalloc(sizeof(*c));
	if (!c)
		return -ENOMEM;
	memcpy(c->addr, addr, 16);
	c->service = service;
	ut_list_add_tail(&s->claims, &c->node);
	return 0;
}

static void claim_drop(struct sim_claim *c)
{
	ut_list_del(&c->node);
	free(c);
}

static void sim_unclaim(struct link *l, const uint8_t addr[16], uint64_t service)
{
	struct sim_claim *c = claim_find(sim_of(l), addr, service);

	if (c)
		claim_drop(c);
}

static int sim_pass_on(struct link *l, const struct link_rx *rx, uint64_t service)
{
	return 0;
}

static void sim_sleep(struct link *l, bool on, bool look)
{
}

static void sim_entrust(struct link *l, int fd)
{
}

static const void *sim_dead_peer(struct link *l, uint8_t ret_addr[16], size_t *ret_len)
{
	return NULL;
}

static int sim_fd(struct link *l)
{
	return -1;
}

static void wires_drop(struct sim_net *net, struct ut_list *list)
{
	struct sim_wire *w;

	while ((w = ut_list_first(list, struct sim_wire, node)))
		wire_free(net, w);
}

static void addrs_drop(struct ut_list *list)
{
	struct sim_addr *a;

	while ((a = ut_list_first(list, struct sim_addr, node)))
		addr_drop(list, a->addr);
}

/* Datagrams to this link are lost with it; those that it sent still arrive. */
static void forget(struct sim_net *net, const struct link *l)
{
	uint32_t i = 1;

	while (i <= net->heap.n) {
		struct sim_wire *w = ut_container(net->heap.v[i], struct sim_wire, due);

		if (w->p.from == l)
			w->p.from = NULL;
		if (w->p.to != l) {
			i++;
			continue;
		}
		wire_free(net, w);
		i = 1; /* the heap was rearranged */
	}
}

static void sim_close(struct link *l)
{
	struct sim_link *s = sim_of(l);
	struct sim_claim *c;

	while ((c = ut_list_first(&s->claims, struct sim_claim, node)))
		claim_drop(c);
	wires_drop(s->net, &s->rx);
	wires_drop(s->net, &s->errs);
	forget(s->net, l);
	addrs_drop(&s->addrs);
	addrs_drop(&s->groups);
	ut_list_del(&s->node);
	ut_stage_fini(&s->stage);
	free(s);
}

static const struct link_ops sim_ops = {
	.send = sim_send,
	.send_after = link_default_send_after,
	.source_port = sim_source_port,
	.sender = sim_sender,
	.recv = sim_recv,
	.take = link_default_take,
	.error = sim_error,
	.add_addr = sim_add_addr,
	.del_addr = sim_del_addr,
	.join = sim_join,
	.leave = sim_leave,
	.claim = sim_claim,
	.unclaim = sim_unclaim,
	.pass_on = sim_pass_on,
	.entrust = sim_entrust,
	.dead_peer = sim_dead_peer,
	.ends = link_default_ends,
	.count = link_default_count,
	.fd = sim_fd,
	.sleep = sim_sleep,
	.attend = link_default_attend,
	.forked = link_default_forked,
	.close = sim_close,
};

int sim_link_open(struct sim_net *net, const uint8_t addr[16], struct link **ret)
{
	struct sim_link *s = ut_zalloc(sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->net = net;
	s->stage = (struct ut_stage)UT_STAGE_INIT;
	ut_list_init(&s->addrs);
	ut_list_init(&s->groups);
	ut_list_init(&s->claims);
	ut_list_init(&s->rx);
	ut_list_init(&s->errs);
	ut_list_init(&s->node);
	s->base.ops = &sim_ops;
	s->base.rx_stage = &s->stage;
	s->base.train_bytes = SIM_TRAIN_BYTES;
	s->base.train_packets = net->cfg.train_packets;
	s->base.rx_window = net->cfg.rx_bytes / 2;
	s->base.port = SIM_PORT;
	s->base.qpn_mask = 0xffffff;
	r = ut_stage_init(&s->stage, SIM_STAGE);
	if (r == 0)
		r = sim_add_addr(&s->base, addr, 0);
	if (r < 0) {
		sim_close(&s->base);
		return r;
	}
	ut_list_add_tail(&net->links, &s->node);
	*ret = &s->base;
	return 0;
}

void sim_link_lids(struct link *l, uint16_t lid, uint8_t lmc)
{
	sim_of(l)->lid = lid;
	sim_of(l)->lmc = lmc;
}

void sim_link_block(struct link *l, bool blocked)
{
	sim_of(l)->blocked = blocked;
}

bool sim_link_ready(const struct link *l)
{
	return !ut_list_empty(&sim_of(l)->rx);
}

int sim_net_open(const struct sim_config *cfg, struct sim_net **ret)
{
	struct sim_net *net = ut_zalloc(sizeof(*net));

	if (!net)
		return -ENOMEM;
	net->cfg = *cfg;
	if (!net->cfg.rx_bytes)
		net->cfg.rx_bytes = 1u << 20;
	if (!net->cfg.train_packets)
		net->cfg.train_packets = 64;
	net->rng.state = cfg->rates.seed;
	ut_list_init(&net->links);
	*ret = net;
	return 0;
}

void sim_net_close(struct sim_net *net)
{
	if (!net)
		return;
	while (net->heap.n)
		wire_free(net, ut_container(net->heap.v[1], struct sim_wire, due));
	ut_heap_fini(&net->heap);
	free(net);
}

void sim_net_hook(struct sim_net *net, sim_hook *hook, void *arg)
{
	net->hook = hook;
	net->hook_arg = arg;
}

/* The random sequence goes on: the seed is the net's, set once. */
void sim_net_rates(struct sim_net *net, const struct link_fault_rates *rates)
{
	net->cfg.rates = *rates;
}

static void arrive(struct sim_net *net, struct sim_wire *w)
{
	struct sim_link *to = sim_of(w->p.to);

	if (w->error) {
		ut_list_add_tail(&to->errs, &w->node);
	} else if (to->rx_used + w->p.len > net->cfg.rx_bytes) {
		net->stats.overflowed++;
		wire_free(net, w);
	} else {
		net->stats.arrived++;
		to->rx_used += w->p.len;
		ut_list_add_tail(&to->rx, &w->node);
	}
}

/* Keeps the due list in the order of (time, order of sending). */
static void insert_due(struct ut_list *due, struct sim_wire *w)
{
	struct ut_list *at = due->prev;

	while (at != due) {
		struct sim_wire *o = ut_container(at, struct sim_wire, node);

		if (o->due.at < w->due.at || (o->due.at == w->due.at && o->order < w->order))
			break;
		at = at->prev;
	}
	ut_list_add_tail(at->next, &w->node);
}

int sim_net_deliver(struct sim_net *net, uint64_t now)
{
	struct ut_list due = UT_LIST_INIT(due), *n;
	struct ut_timer *t;
	int count = 0;

	if (now > net->now)
		net->now = now;
	while ((t = ut_heap_expired(&net->heap, net->now)))
		insert_due(&due, ut_container(t, struct sim_wire, due));
	while ((n = ut_list_pop(&due))) {
		arrive(net, ut_container(n, struct sim_wire, node));
		count++;
	}
	return count;
}

uint64_t sim_net_next(const struct sim_net *net)
{
	return ut_heap_next(&net->heap);
}

void sim_net_stats(const struct sim_net *net, struct sim_stats *ret)
{
	*ret = net->stats;
}
