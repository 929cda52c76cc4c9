/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Both directions work alike: a datagram is passed, lost, doubled, damaged or delayed; a delayed
 * one goes on after a few later datagrams of its direction, or after a millisecond of silence, for
 * which a timer is in the descriptor beside the lower link.
 *
 * A train without a fault is passed on whole. A train with one is sent in single packets: their
 * IPv4 identification is then 0 and not their place in the train; a receiver that cannot solve for
 * it sees a bad ICRC, which counts as one more loss.
 *
 * A train that finds the lower link full stays its sender's, who sends it again: the lots of its packets are kept until then,
 * so that a packet counts once. Where a part of it has left, the rest is kept here and goes on its own.
 *
 * A received datagram is copied out of the lower link's stage, since a delayed one outlives it, and
 * handed out in a stage of this link.
 */
#include "link/fault.h"

#include "util/alloc.h"
#include "util/clock.h"
#include "util/fault_calls.h"
#include "util/list.h"
#include "util/rng.h"
#include "util/syscall.h"
#include "wire/ib_fields.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>

#define FAULT_BATCH 64
#define FAULT_HOLD_NS UT_MS
#define FAULT_HOLD_MAX 4  /* later datagrams that overtake a delayed one */
#define FAULT_STAGE (1u << 20)
#define FAULT_TRAIN 128   /* longest train in which single packets have faults */
#define FAULT_REFUSED (2 * FAULT_TRAIN)

/* A datagram that this link has a copy of. */
struct parcel {
	struct ut_list node;
	struct link_rx rx;     /* received */
	struct ut_flow flow; /* to be sent, */
	uint32_t qpn;        /* to the process that has this QPN */
	unsigned after;
	uint64_t due;
	uint32_t len;
	uint8_t bytes[];
};

enum fate { FATE_PASS, FATE_LOSE, FATE_DOUBLE, FATE_HOLD, FATE_DAMAGE };

/* The fate of a packet, and the rule that decides it. */
struct lot {
	enum fate fate;
	const struct link_rule *rule; /* NULL: by chance */
};

/* A packet that the lower link has had no room for. Its BTH and its ICRC tell it from others. */
struct refused {
	uint8_t bth[WIRE_BTH_LEN], icrc[WIRE_ICRC_LEN];
	size_t len;
	struct lot lot;
};

struct fault_link {
	struct link base;
	struct link *lower;
	struct link_fault_rates rates;
	struct link_fault_stats stats;
	struct ut_rng rng;
	struct link_rules *rules; /* NULL: none */
	const char *adapter;
	struct ut_list tx_held, rx_held, rx_ready;
	struct refused refused[FAULT_REFUSED];
	unsigned n_refused;
	struct ut_stage stage;
	uint64_t down_until; /* 0: the port is up */
	int timerfd; /* in the lower link's set; -1 when that has none */
};

static struct fault_link *fault_of(struct link *l)
{
	return ut_container(l, struct fault_link, base);
}

static enum fate fate_of(struct fault_link *f, const struct link_rule *r)
{
	switch (r->act) {
	case LINK_ACT_PORT_DOWN:
	case LINK_ACT_LOSE: f->stats.lost++; return FATE_LOSE;
	case LINK_ACT_DUPLICATE: f->stats.doubled++; return FATE_DOUBLE;
	case LINK_ACT_CORRUPT: f->stats.damaged++; return FATE_DAMAGE;
	default: f->stats.held++; return FATE_HOLD;
	}
}

static struct link_event event_of(const struct fault_link *f, bool out, const uint8_t *peer, const uint8_t *data, size_t len)
{
	return (struct link_event){
		.out = out, .op = link_rules_op(data, len), .peer = peer, .adapter = f->adapter,
		.qpns = { len < WIRE_BTH_LEN ? 0 : (uint32_t)wire_get_BTH_dest_qpn(data) },
		.now = f->timerfd >= 0 ? ut_now() : 0,
	};
}

/* A port that a rule has taken down: nothing passes until its time is over. */
static void port_up(struct fault_link *f)
{
	f->down_until = 0;
	f->rules->port(f->rules->arg, true);
}

static bool is_down(struct fault_link *f)
{
	if (f->down_until && ut_now() >= f->down_until)
		port_up(f);
	return f->down_until;
}

static void port_down(struct fault_link *f, const struct link_rule *r)
{
	if (f->timerfd < 0)
		return;
	f->down_until = ut_now() + r->value;
	f->rules->port(f->rules->arg, false);
}

static enum fate draw_rate(struct fault_link *f)
{
	uint32_t x = ut_rng_below(&f->rng, 1000);
	const struct {
		unsigned rate;
		enum fate fate;
		uint64_t *count;
	} rows[] = {
		{ f->rates.loss, FATE_LOSE, &f->stats.lost },
		{ f->rates.dup, FATE_DOUBLE, &f->stats.doubled },
		{ f->rates.reorder, FATE_HOLD, &f->stats.held },
		{ f->rates.corrupt, FATE_DAMAGE, &f->stats.damaged },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (x < rows[i].rate) {
			++*rows[i].count;
			return rows[i].fate;
		}
		x -= rows[i].rate;
	}
	f->stats.passed++;
	return FATE_PASS;
}

static struct lot draw(struct fault_link *f, bool out, const uint8_t *peer, const uint8_t *data, size_t len)
{
	struct link_event e;
	struct lot lot = { .rule = NULL };

	if (is_down(f)) {
		f->stats.lost++;
		lot.fate = FATE_LOSE;
		return lot;
	}
	if (f->rules && f->rules->acts & LINK_ACTS_PACKET) {
		e = event_of(f, out, peer, data, len);
		lot.rule = link_rules_find(f->rules, LINK_ACTS_PACKET, &e);
	}
	if (lot.rule && lot.rule->act == LINK_ACT_PORT_DOWN)
		port_down(f, lot.rule);
	lot.fate = lot.rule ? fate_of(f, lot.rule) : draw_rate(f);
	return lot;
}

static struct refused refused_of(const uint8_t *data, size_t len)
{
	struct refused r = { .len = len };

	memcpy(r.bth, data, len < sizeof(r.bth) ? len : sizeof(r.bth));
	if (len >= sizeof(r.icrc))
		memcpy(r.icrc, data + len - sizeof(r.icrc), sizeof(r.icrc));
	return r;
}

static void forget(struct fault_link *f, unsigned i)
{
	f->n_refused--;
	memmove(&f->refused[i], &f->refused[i + 1], (f->n_refused - i) * sizeof(f->refused[0]));
}

/* A sender may let some of them fail and never send them again: the oldest one gives its place. */
static void keep_lot(struct fault_link *f, struct lot lot, const uint8_t *data, size_t len)
{
	if (f->n_refused == FAULT_REFUSED)
		forget(f, 0);
	f->refused[f->n_refused] = refused_of(data, len);
	f->refused[f->n_refused++].lot = lot;
}

static bool take_lot(struct fault_link *f, const uint8_t *data, size_t len, struct lot *ret)
{
	struct refused r = refused_of(data, len);

	for (unsigned i = 0; i < f->n_refused; i++) {
		const struct refused *k = &f->refused[i];

		if (k->len != len || memcmp(k->bth, r.bth, sizeof(r.bth)) || memcmp(k->icrc, r.icrc, sizeof(r.icrc)))
			continue;
		*ret = k->lot;
		forget(f, i);
		return true;
	}
	return false;
}

static struct lot draw_out(struct fault_link *f, const struct ut_flow *flow, const uint8_t *data, size_t len)
{
	struct lot lot;

	if (!f->n_refused || !take_lot(f, data, len, &lot))
		lot = draw(f, true, flow->dst, data, len);
	if (f->base.leaving && lot.rule && lot.rule->act == LINK_ACT_DELAY)
		lot.fate = FATE_PASS;
	return lot;
}

static void damage(struct fault_link *f, struct parcel *p, const struct link_rule *r)
{
	if (r && r->chosen_bits) {
		if (r->value >> 8 < p->len)
			p->bytes[r->value >> 8] ^= (uint8_t)r->value;
	} else if (p->len)
		p->bytes[ut_rng_below(&f->rng, p->len)] ^=
			(uint8_t)(1u << ut_rng_below(&f->rng, 8));
}

/* Returns NULL without memory: the datagram counts as lost. */
static struct parcel *parcel_new(struct fault_link *f, const struct link_rule *r, const uint8_t *data, uint32_t len)
{
	struct parcel *p = ut_zalloc(sizeof(*p) + len);

	if (!p)
		return NULL;
	ut_list_init(&p->node);
	memcpy(p->bytes, data, len);
	p->len = len;
	p->after = 1 + ut_rng_below(&f->rng, FAULT_HOLD_MAX);
	p->due = f->timerfd >= 0 ? ut_now() + FAULT_HOLD_NS : UINT64_MAX;
	if (r && r->act == LINK_ACT_DELAY && f->timerfd >= 0) {
		p->after = UINT_MAX;
		p->due += r->value - FAULT_HOLD_NS;
	}
	return p;
}

/* Returns the ns until something is to be done, or 0: nothing is. */
static uint64_t next(const struct fault_link *f)
{
	bool held = !ut_list_empty(&f->tx_held) || !ut_list_empty(&f->rx_held);
	uint64_t now, left;

	if (!ut_list_empty(&f->rx_ready))
		return 1;
	if (!f->down_until)
		return held ? FAULT_HOLD_NS : 0;
	now = ut_now();
	left = f->down_until > now ? f->down_until - now : 1;
	return held && left > FAULT_HOLD_NS ? FAULT_HOLD_NS : left;
}

/* Fires as soon as a delayed datagram may go on, or the port is up again; setting it anew makes it unreadable. */
static void set_timer(struct fault_link *f)
{
	uint64_t ns = f->timerfd < 0 ? 0 : next(f);
	struct itimerspec t = { .it_value = { (time_t)(ns / UT_S), (long)(ns % UT_S) } };

	if (f->timerfd < 0)
		return;
	timerfd_settime(f->timerfd, 0, &t, NULL);
}

static int tx_parcel(struct fault_link *f, struct parcel *p)
{
	return f->lower->ops->send(f->lower, &p->flow, p->qpn, p->bytes, p->len, p->len ? p->len : 1);
}

/* Counts a datagram that passes; with passed = false only time counts. */
static void tx_release(struct fault_link *f, bool passed)
{
	uint64_t now = f->timerfd >= 0 && !ut_list_empty(&f->tx_held) ? ut_now() : 0;
	struct parcel *p, *t;
	bool full = false;

	ut_list_each_safe(p, t, &f->tx_held, node) {
		if (passed && p->after)
			p->after--;
		/* One that the lower link has no room for stays: its sender believes it sent. */
		full = full || ((!p->after || p->due <= now) && tx_parcel(f, p) == -EAGAIN);
		if (full || (p->after && p->due > now))
			continue;
		ut_list_del(&p->node);
		free(p);
	}
}

/* A train that is sent packet by packet. */
struct tx_train {
	const struct ut_flow *flow;
	uint32_t qpn;
	bool gone; /* one of its packets has left, or its fate is decided: the others cannot be refused any more */
	bool full; /* the lower link has no room */
};

static void tx_hold(struct fault_link *f, struct parcel *p, bool waits)
{
	if (waits)
		p->after = 0;
	ut_list_add_tail(&f->tx_held, &p->node);
}

/* Takes the parcel. Returns 0, -EAGAIN: the train is refused, or -errno: the packet is lost. */
static int tx_put(struct fault_link *f, struct tx_train *t, struct parcel *p)
{
	int r = t->full ? -EAGAIN : tx_parcel(f, p);

	t->full = r == -EAGAIN;
	if (t->full && t->gone) {
		tx_hold(f, p, true);
		return 0;
	}
	free(p);
	t->gone |= !t->full;
	if (r == 0)
		tx_release(f, true);
	return r;
}

static int tx_meet(struct fault_link *f, struct tx_train *t, struct lot lot, const uint8_t *data, uint32_t len)
{
	int copies = lot.fate == FATE_LOSE ? 0 : lot.fate == FATE_DOUBLE ? 2 : 1, r = 0;

	t->gone |= !copies || lot.fate == FATE_HOLD;
	for (; copies && r == 0; copies--) {
		struct parcel *p = parcel_new(f, lot.rule, data, len);

		if (!p)
			return 0;
		p->flow = *t->flow;
		p->qpn = t->qpn;
		if (lot.fate == FATE_DAMAGE)
			damage(f, p, lot.rule);
		if (lot.fate == FATE_HOLD)
			tx_hold(f, p, false);
		else
			r = tx_put(f, t, p);
	}
	return r;
}

static int tx_singly(struct fault_link *f, struct tx_train *t, const struct lot *lots, const uint8_t *data, size_t len, size_t seg)
{
	int r = 0;

	for (size_t off = 0; off < len && r == 0; off += seg)
		r = tx_meet(f, t, *lots++, data + off, (uint32_t)(len - off < seg ? len - off : seg));
	return r;
}

/* The owner leaves: the network would still deliver what it delays. */
static void tx_release_all(struct fault_link *f)
{
	struct parcel *p;

	ut_list_each(p, &f->tx_held, node)
		p->after = 0;
	tx_release(f, false);
}

static int fault_send(struct link *l, const struct ut_flow *flow, uint32_t qpn,
		      const uint8_t *data, size_t len, size_t seg)
{
	struct fault_link *f = fault_of(l);
	struct tx_train t = { .flow = flow, .qpn = qpn };
	struct lot lots[FAULT_TRAIN];
	size_t n = seg ? (len + seg - 1) / seg : 0, i;
	bool quiet = true;
	int r;

	if (!n || n > l->train_packets)
		return -EMSGSIZE;
	for (i = 0; i < n; i++) {
		lots[i] = draw_out(f, flow, data + i * seg, i + 1 < n ? seg : len - i * seg);
		quiet = quiet && lots[i].fate == FATE_PASS;
	}
	f->lower->leaving = l->leaving;
	if (l->leaving)
		tx_release_all(f);
	r = quiet ? f->lower->ops->send(f->lower, flow, qpn, data, len, seg) : tx_singly(f, &t, lots, data, len, seg);
	for (i = 0; i < n && r == -EAGAIN; i++)
		keep_lot(f, lots[i], data + i * seg, i + 1 < n ? seg : len - i * seg);
	for (i = 0; i < n && quiet && r == 0; i++)
		tx_release(f, true);
	set_timer(f);
	return r;
}

static enum link_sender fault_sender(struct link *l, const struct link_rx *rx)
{
	struct link *lower = fault_of(l)->lower;

	return lower->ops->sender(lower, rx);
}

static uint16_t fault_source_port(struct link *l, const struct ut_flow *flow)
{
	struct link *lower = fault_of(l)->lower;

	return lower->ops->source_port(lower, flow);
}

static void rx_release(struct fault_link *f, bool passed)
{
	uint64_t now = f->timerfd >= 0 && !ut_list_empty(&f->rx_held) ? ut_now() : 0;
	struct parcel *p, *t;

	ut_list_each_safe(p, t, &f->rx_held, node) {
		if (passed && p->after)
			p->after--;
		if (p->after && p->due > now)
			continue;
		ut_list_del(&p->node);
		ut_list_add_tail(&f->rx_ready, &p->node);
	}
}

static void rx_meet(struct fault_link *f, const struct link_rx *rx)
{
	struct lot lot = draw(f, false, rx->src, rx->data, rx->len);
	enum fate fate = lot.fate;
	int copies = fate == FATE_LOSE ? 0 : fate == FATE_DOUBLE ? 2 : 1;

	for (; copies; copies--) {
		struct parcel *p = parcel_new(f, lot.rule, rx->data, rx->len);

		if (!p)
			return;
		p->rx = *rx;
		if (fate == FATE_DAMAGE)
			damage(f, p, lot.rule);
		ut_list_add_tail(fate == FATE_HOLD ? &f->rx_held : &f->rx_ready, &p->node);
	}
	if (fate != FATE_HOLD && fate != FATE_LOSE)
		rx_release(f, true);
}

static int hand_out(struct fault_link *f, struct link_rx *v, int max)
{
	struct parcel *p;
	size_t off = 0;
	int n = 0;

	while (n < max && (p = ut_list_first(&f->rx_ready, struct parcel, node))) {
		if (off + p->len > f->stage.size)
			break;
		memcpy(f->stage.base + off, p->bytes, p->len);
		v[n] = p->rx;
		v[n].data = f->stage.base + off;
		v[n].off = off;
		off += (p->len + 63u) & ~63u;
		ut_list_del(&p->node);
		free(p);
		n++;
	}
	return n;
}

static int fault_recv(struct link *l, struct link_rx *v, int max)
{
	struct fault_link *f = fault_of(l);
	struct link_rx in[FAULT_BATCH];
	bool idle = ut_list_empty(&f->tx_held) && ut_list_empty(&f->rx_held) &&
		    ut_list_empty(&f->rx_ready) && !f->down_until;
	int n = 0, i;

	is_down(f);
	tx_release(f, false);
	rx_release(f, false);
	if (ut_list_empty(&f->rx_ready))
		n = f->lower->ops->recv(f->lower, in, max < FAULT_BATCH ? max : FAULT_BATCH);
	for (i = 0; i < n; i++)
		rx_meet(f, &in[i]);
	i = hand_out(f, v, max);
	if (n > 0 || !idle)
		set_timer(f);
	return i ? i : n < 0 ? n : 0;
}

static int fault_error(struct link *l, struct link_err *ret)
{
	struct link *lower = fault_of(l)->lower;

	return lower->ops->error(lower, ret);
}

/* The slot may be chosen only now. */
static int fault_add_addr(struct link *l, const uint8_t addr[16], uint32_t scope)
{
	struct link *lower = fault_of(l)->lower;
	int r;

	lower->qpn_given = l->qpn_given;
	r = lower->ops->add_addr(lower, addr, scope);

	l->qpn_fixed = lower->qpn_fixed;
	l->qpn_mask = lower->qpn_mask;
	l->rx_window = lower->rx_window;
	return r;
}

/* A process that leaves takes its addresses away, and sends nothing more. */
static void fault_del_addr(struct link *l, const uint8_t addr[16])
{
	struct link *lower = fault_of(l)->lower;

	tx_release_all(fault_of(l));
	lower->qpn_given = l->qpn_given;
	lower->ops->del_addr(lower, addr);
}

static int fault_join(struct link *l, const uint8_t group[16], uint32_t ifindex)
{
	struct link *lower = fault_of(l)->lower;

	return lower->ops->join(lower, group, ifindex);
}

static void fault_leave(struct link *l, const uint8_t group[16], uint32_t ifindex)
{
	struct link *lower = fault_of(l)->lower;

	lower->ops->leave(lower, group, ifindex);
}

static int fault_claim(struct link *l, const uint8_t addr[16], uint64_t service)
{
	struct link *lower = fault_of(l)->lower;

	return lower->ops->claim(lower, addr, service);
}

static void fault_unclaim(struct link *l, const uint8_t addr[16], uint64_t service)
{
	struct link *lower = fault_of(l)->lower;

	lower->ops->unclaim(lower, addr, service);
}

static int fault_pass_on(struct link *l, const struct link_rx *rx, uint64_t service)
{
	struct link *lower = fault_of(l)->lower;

	return lower->ops->pass_on(lower, rx, service);
}

static void fault_sleep(struct link *l, bool on, bool look)
{
	struct link *lower = fault_of(l)->lower;

	lower->ops->sleep(lower, on, look);
}

static void fault_attend(struct link *l, bool on)
{
	struct link *lower = fault_of(l)->lower;

	lower->ops->attend(lower, on);
}

static void fault_forked(struct link *l)
{
	struct link *lower = fault_of(l)->lower;

	lower->ops->forked(lower);
}

static void fault_entrust(struct link *l, int fd)
{
	struct link *lower = fault_of(l)->lower;

	lower->ops->entrust(lower, fd);
}

static const void *fault_dead_peer(struct link *l, uint8_t ret_addr[16], size_t *ret_len)
{
	struct link *lower = fault_of(l)->lower;

	return lower->ops->dead_peer(lower, ret_addr, ret_len);
}

static int fault_fd(struct link *l)
{
	struct link *lower = fault_of(l)->lower;

	return lower->ops->fd(lower);
}

static void drop_list(struct ut_list *list)
{
	struct parcel *p;

	while ((p = ut_list_first(list, struct parcel, node))) {
		ut_list_del(&p->node);
		free(p);
	}
}

static void fault_free(struct fault_link *f)
{
	drop_list(&f->tx_held);
	drop_list(&f->rx_held);
	drop_list(&f->rx_ready);
	ut_close_fd(&f->timerfd);
	ut_stage_fini(&f->stage);
	free(f);
}

static void fault_close(struct link *l)
{
	struct fault_link *f = fault_of(l);

	f->lower->ops->close(f->lower);
	fault_free(f);
}

static const struct link_ops fault_ops = {
	.send = fault_send,
	.send_after = link_default_send_after,
	.source_port = fault_source_port,
	.sender = fault_sender,
	.recv = fault_recv,
	.take = link_default_take,
	.error = fault_error,
	.add_addr = fault_add_addr,
	.del_addr = fault_del_addr,
	.join = fault_join,
	.leave = fault_leave,
	.claim = fault_claim,
	.unclaim = fault_unclaim,
	.pass_on = fault_pass_on,
	.entrust = fault_entrust,
	.dead_peer = fault_dead_peer,
	.ends = link_default_ends,
	.count = link_default_count,
	.fd = fault_fd,
	.sleep = fault_sleep,
	.attend = fault_attend,
	.forked = fault_forked,
	.close = fault_close,
};

static int open_fds(struct fault_link *f, int lower_fd)
{
	struct epoll_event e = { .events = EPOLLIN };

	f->timerfd = ut_timerfd();
	if (f->timerfd < 0 || ut_epoll_add(lower_fd, f->timerfd, &e) < 0)
		return -errno;
	return 0;
}

int link_fault_open(struct link *lower, const struct link_fault_rates *rates, struct link **ret)
{
	struct fault_link *f = ut_zalloc(sizeof(*f));
	int fd = lower->ops->fd(lower), r;

	if (!f)
		return -ENOMEM;
	f->base = *lower;
	f->base.ops = &fault_ops;
	f->base.rx_stage = &f->stage;
	if (f->base.train_packets > FAULT_TRAIN)
		f->base.train_packets = FAULT_TRAIN;
	f->lower = lower;
	f->rates = *rates;
	f->rng.state = rates->seed;
	f->timerfd = -1;
	ut_list_init(&f->tx_held);
	ut_list_init(&f->rx_held);
	ut_list_init(&f->rx_ready);
	r = ut_stage_init(&f->stage, FAULT_STAGE);
	if (r == 0 && fd >= 0)
		r = open_fds(f, fd);
	if (r < 0) {
		fault_free(f);
		return r;
	}
	*ret = &f->base;
	return 0;
}

void link_fault_rules(struct link *l, struct link_rules *rules, const char *adapter)
{
	struct fault_link *f = fault_of(l);

	if (f->down_until)
		port_up(f);
	f->n_refused = 0; /* their rules go */
	f->rules = rules;
	f->adapter = adapter;
}

void link_fault_stats(struct link *l, struct link_fault_stats *ret)
{
	*ret = fault_of(l)->stats;
}

bool link_fault_is_rates(const char *text)
{
	static const char *const names[] = { "loss=", "dup=", "reorder=", "corrupt=", "seed=" };

	/* "corrupt=1:128 in" is a rule. */
	if (strpbrk(text, " :;\n"))
		return false;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(text, names[i], strlen(names[i])))
			return true;
	return strchr(text, ',');
}

/* Parses one "name=number" in [text, end). */
static int parse_item(const char *text, size_t len, struct link_fault_rates *r)
{
	const struct {
		const char *name;
		unsigned *rate;
	} rows[] = {
		{ "loss=", &r->loss },
		{ "dup=", &r->dup },
		{ "reorder=", &r->reorder },
		{ "corrupt=", &r->corrupt },
		{ "seed=", NULL },
	};
	uint64_t x = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		size_t k = strlen(rows[i].name);

		if (len <= k || strncmp(text, rows[i].name, k))
			continue;
		for (; k < len; k++) {
			unsigned d = (unsigned)(text[k] - '0');

			if (d > 9 || __builtin_mul_overflow(x, 10, &x) ||
			    __builtin_add_overflow(x, d, &x))
				return -EINVAL;
		}
		if (!rows[i].rate)
			r->seed = x;
		else if (x <= 1000)
			*rows[i].rate = (unsigned)x;
		else
			return -EINVAL;
		return 0;
	}
	return -EINVAL;
}

int link_fault_parse(const char *text, struct link_fault_rates *ret)
{
	struct link_fault_rates r = { 0 };

	for (;;) {
		size_t len = strcspn(text, ",");

		if (parse_item(text, len, &r) < 0)
			return -EINVAL;
		if (!text[len])
			break;
		text += len + 1;
	}
	if (r.loss + r.dup + r.reorder + r.corrupt > 1000)
		return -EINVAL;
	*ret = r;
	return 0;
}
