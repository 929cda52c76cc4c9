/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "support/crafted.h"

#include "support/check.h"
#include "util/clock.h"

#define MEMORY (1u << 20)

static void collect(void *arg)
{
	struct crafted *c = arg;
	struct link_rx rx[16];
	int n;

	while ((n = c->link->ops->recv(c->link, rx, 16)) > 0)
		for (int i = 0; i < n; i++) {
			struct crafted_rx *x = &c->v[c->n++];

			CHECK(c->n < CRAFTED_MAX && rx[i].len <= sizeof(x->bytes));
			memcpy(x->bytes, rx[i].data, rx[i].len);
			x->len = rx[i].len;
			x->at = c->w.now;
			x->tos = rx[i].tos;
			x->ttl = rx[i].ttl;
			x->sport = rx[i].sport;
			CHECK(wire_ib_parse(x->bytes, x->len, &x->p) == WIRE_OK);
		}
}

static void check_arrived(const struct crafted_rx *x, const struct crafted *c)
{
	struct wire_icrc_memo memo = { 0 };
	struct wire_icrc_flow back;
	uint16_t id = 0;

	wire_icrc_flow_v4(&back, c->e.h->addr + 12, c->addr + 12);
	CHECK(wire_icrc_check(&back, &memo, x->sport, 4791, x->bytes, x->len, &id) == WIRE_OK);
	CHECK(x->p.tver == 0 && x->p.pkey == 0xffff);
}

static struct crafted *open_with(const struct sim_qp_options *o, const struct gsi_user *gsi)
{
	static const uint8_t addr[16] = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 99 };
	static const struct sim_qp_options none;
	struct crafted *c = calloc(1, sizeof(*c));

	CHECK(c);
	c->v = calloc(CRAFTED_MAX, sizeof(*c->v));
	CHECK(c->v);
	if (!o)
		o = &none;
	sim_world_open(&c->w, &(struct sim_options){ .seed = 3, .hosts = 1, .gsi = gsi });
	memcpy(c->addr, addr, 16);
	CHECK(sim_link_open(c->w.net, c->addr, &c->link) == 0);
	sim_end_create(&c->e, &c->w.host[0], o);
	sim_end_memory(&c->e, MEMORY);
	sim_end_aim(&c->e, c->addr, CRAFTED_QPN, HOST_PSN, CRAFTED_PSN, o);
	wire_icrc_flow_v4(&c->flow, c->addr + 12, c->e.h->addr + 12);
	c->epsn = CRAFTED_PSN;
	c->w.each_round = collect;
	c->w.each_round_arg = c;
	return c;
}

struct crafted *crafted_open(const struct sim_qp_options *o)
{
	return open_with(o, NULL);
}

struct crafted *crafted_open_gsi(const struct gsi_user *gsi)
{
	return open_with(NULL, gsi);
}

void crafted_close(struct crafted *c)
{
	c->w.each_round = NULL;
	sim_end_close(&c->e);
	c->link->ops->close(c->link);
	sim_world_close(&c->w);
	free(c->v);
	free(c);
}

static void forget_spoils(struct crafted *c)
{
	c->flip_icrc = 0;
	c->cut = c->pad = c->opcode = 0;
	c->tos = 0;
	c->id = 0;
	c->from = NULL;
	c->delayed = false;
}

void crafted_tx(struct crafted *c, struct wire_ib_packet p, const void *data, uint32_t len)
{
	struct ut_flow f = { .sport = c->sport ? c->sport : 0xc123, .ttl = 64, .tos = c->tos };
	struct wire_icrc_flow other, *flow = &c->flow;
	uint8_t buf[8192];
	bool delayed = c->delayed;
	size_t n;

	memcpy(f.src, c->from ? c->from : c->addr, 16);
	memcpy(f.dst, c->e.h->addr, 16);
	if (c->from) {
		wire_icrc_flow_v4(&other, c->from + 12, c->e.h->addr + 12);
		flow = &other;
	}
	p.dest_qpn = p.dest_qpn ? p.dest_qpn : c->e.qp->qpn;
	p.pkey = p.pkey ? p.pkey : 0xffff;
	p.pad = c->pad ? (uint8_t)(c->pad - 1) : (uint8_t)(-len & 3);
	n = wire_ib_build(buf, &p);
	CHECK(n > 0 && n + len + 8 < sizeof(buf));
	if (len)
		memcpy(buf + n, data, len);
	memset(buf + n + len, 0, 4);
	n += len + p.pad;
	if (c->opcode)
		buf[0] = (uint8_t)(c->opcode - 1);
	wire_icrc_fill(flow, f.sport, 4791, c->id, true, buf, n);
	buf[n] ^= (uint8_t)c->flip_icrc;
	n += 4 - (size_t)c->cut;
	CHECK(c->link->ops->send(c->link, &f, 0, buf, n, n) == 0);
	forget_spoils(c);
	if (!delayed)
		crafted_run(c, 2 * SIM_DELAY);
}

static bool never(void *arg)
{
	return false;
}

void crafted_run(struct crafted *c, uint64_t ns)
{
	uint64_t end = c->w.now + ns;

	sim_run(&c->w, ns, never, NULL);
	if (c->w.now < end)
		c->w.now = end;
	sim_round(&c->w);
}

const struct crafted_rx *crafted_next(struct crafted *c)
{
	const struct crafted_rx *x;

	if (c->seen == c->n)
		return NULL;
	x = &c->v[c->seen++];
	check_arrived(x, c);
	return x;
}

const struct crafted_rx *crafted_want(struct crafted *c, uint8_t opcode, uint32_t psn)
{
	const struct crafted_rx *x = crafted_next(c);

	CHECK_MSG(x, "nothing came, not opcode %02x psn %06x", opcode, psn);
	CHECK_MSG(x->p.opcode == opcode && x->p.psn == psn,
		  "came opcode %02x psn %06x syndrome %02x, not %02x psn %06x", x->p.opcode,
		  x->p.psn, x->p.syndrome, opcode, psn);
	return x;
}

void crafted_want_aeth(struct crafted *c, uint8_t syndrome, uint32_t psn, uint32_t msn)
{
	const struct crafted_rx *x = crafted_want(c, WIRE_RC_ACKNOWLEDGE, psn);

	CHECK_MSG(x->p.syndrome == syndrome && x->p.msn == msn,
		  "syndrome %02x msn %u, not %02x msn %u", x->p.syndrome, x->p.msn, syndrome, msn);
}

void crafted_want_nothing(struct crafted *c)
{
	const struct crafted_rx *x = crafted_next(c);

	CHECK_MSG(!x, "came opcode %02x psn %06x syndrome %02x", x->p.opcode, x->p.psn,
		  x->p.syndrome);
}

uint64_t crafted_counter(const struct crafted *c, enum eng_counter k)
{
	eng_dev_held(&c->e.h->dev); /* one thread */
	return sim_counter(c->e.h, k);
}

enum ibv_qp_state crafted_state(const struct crafted *c)
{
	return eng_qp_state(c->e.qp);
}
