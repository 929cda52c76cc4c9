/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Counters of ports and the agent that shows them (IBTA 16): widths, all ports, clearing, samples, lanes. */
#include "mgmt_util.h"

#include "mgmt/pma.h"

struct pair {
	struct world w;
	struct fab_node *a, *b;
	struct fab_port *from;
};

/* Two CAs back to back, active. b has two ports. */
static void pair_init(struct pair *p)
{
	unsigned i;

	world_init(&p->w);
	p->a = world_node(&p->w, "a", FAB_CA, 1);
	p->b = world_node(&p->w, "b", FAB_CA, 2);
	CHECK(fab_link(&p->a->ports[1], &p->b->ports[1]) == 0);
	p->from = &p->a->ports[1];
	wire_set_PORT_INFO_lid(p->from->info, 1);
	wire_set_PORT_INFO_lid(p->b->ports[1].info, 2);
	for (i = 0; i < 2; i++) {
		struct fab_port *end = i ? p->from : p->from->peer;

		CHECK(fab_port_advance(end, FAB_ARMED) && fab_port_advance(end, FAB_ACTIVE));
	}
}

static const uint8_t *get(struct pair *p, struct mad *r, unsigned attr, unsigned port, unsigned status)
{
	struct mad m = gmp_perf(attr, port, 2);

	*r = ask(&p->w, p->from, &m);
	CHECK_MSG(status_of(r) == status, "attribute 0x%x: status 0x%x", attr, status_of(r));
	return r->bytes + MAD_DATA;
}

static void test_class(void)
{
	struct pair p;
	struct mad r;
	const uint8_t *d;

	pair_init(&p);
	d = get(&p, &r, WIRE_PMA_ATTR_CLASS_PORT_INFO, 0, 0);
	CHECK(wire_get_CLASS_PORT_INFO_base_version(d) == 1 && wire_get_CLASS_PORT_INFO_resp_time(d) == 0x12);
	CHECK(wire_get_CLASS_PORT_INFO_capability_mask(d) & 0x100);
	get(&p, &r, WIRE_PMA_ATTR_COUNTERS, 3, MAD_BAD_FIELD);
	get(&p, &r, 0x0099, 1, MAD_BAD_ATTRIBUTE);
	fab_free(p.w.f);
}

static void test_counters(void)
{
	struct pair p;
	struct mad m, r;
	const uint8_t *d;
	uint64_t *c;

	pair_init(&p);
	c = p.b->ports[1].count.c;
	/* The request that asks is counted in the answer; the answer is not. */
	d = get(&p, &r, WIRE_PMA_ATTR_COUNTERS, 1, 0);
	CHECK(wire_get_PORT_COUNTERS_rcv_pkts(d) == 1 && wire_get_PORT_COUNTERS_rcv_data(d) == 72 &&
	      wire_get_PORT_COUNTERS_xmit_pkts(d) == 0);
	/* Port 0 of a CA: the port that is asked. */
	c[FAB_C_SYMBOL_ERROR] = 5;
	d = get(&p, &r, WIRE_PMA_ATTR_COUNTERS, 0, 0);
	CHECK(wire_get_MAD_status(r.bytes) == MAD_OK && wire_get_PORT_COUNTERS_symbol_error(d) == 5);
	/* Fields stick at their maximum, each at its own. */
	c[FAB_C_SYMBOL_ERROR] = 70000;
	c[FAB_C_LINK_DOWNED] = 300;
	c[FAB_C_LOCAL_INTEGRITY] = 20;
	c[FAB_C_OVERRUN] = 3;
	c[FAB_C_XMIT_DATA] = 5ull << 32;
	c[FAB_C_XMIT_WAIT] = 9;
	d = get(&p, &r, WIRE_PMA_ATTR_COUNTERS, 1, 0);
	CHECK(wire_get_PORT_COUNTERS_symbol_error(d) == 0xffff && wire_get_PORT_COUNTERS_link_downed(d) == 0xff);
	CHECK(wire_get_PORT_COUNTERS_local_integrity(d) == 15 && wire_get_PORT_COUNTERS_overrun(d) == 3);
	CHECK(wire_get_PORT_COUNTERS_xmit_data(d) == 0xffffffff && wire_get_PORT_COUNTERS_xmit_wait(d) == 9);
	d = get(&p, &r, WIRE_PMA_ATTR_COUNTERS_EXT, 1, 0);
	CHECK(wire_get_PORT_COUNTERS_EXT_xmit_data(d) == (5ull << 32) + 72);
	/* Set clears what is selected, in this attribute alone; CounterSelect2 has the wait. */
	m = gmp_perf(WIRE_PMA_ATTR_COUNTERS, 1, 2);
	wire_set_MAD_method(m.bytes, MAD_SET);
	wire_set_PORT_COUNTERS_counter_select(m.bytes + MAD_DATA, 1 << 0 | 1 << 12);
	wire_set_PORT_COUNTERS_counter_select2(m.bytes + MAD_DATA, 1);
	r = ask(&p.w, p.from, &m);
	d = r.bytes + MAD_DATA;
	CHECK(wire_get_PORT_COUNTERS_symbol_error(d) == 0 && wire_get_PORT_COUNTERS_xmit_wait(d) == 0 &&
	      wire_get_PORT_COUNTERS_link_downed(d) == 0xff && wire_get_PORT_COUNTERS_xmit_data(d) == 0);
	d = get(&p, &r, WIRE_PMA_ATTR_COUNTERS_EXT, 1, 0);
	CHECK(wire_get_PORT_COUNTERS_EXT_xmit_data(d) > 5ull << 32);
	/* A Set may also set. */
	wire_set_PORT_COUNTERS_symbol_error(m.bytes + MAD_DATA, 77);
	r = ask(&p.w, p.from, &m);
	c[FAB_C_SYMBOL_ERROR]++;
	d = get(&p, &r, WIRE_PMA_ATTR_COUNTERS, 1, 0);
	CHECK(wire_get_PORT_COUNTERS_symbol_error(d) == 78);
	/* All ports: the sum. */
	p.b->ports[2].count.c[FAB_C_SYMBOL_ERROR] = 5;
	d = get(&p, &r, WIRE_PMA_ATTR_COUNTERS, 0xff, 0);
	CHECK(wire_get_PORT_COUNTERS_symbol_error(d) == 83);
	fab_free(p.w.f);
}

static void test_details(void)
{
	static const uint16_t zeros[] = {
		WIRE_PMA_ATTR_OP_RCV, WIRE_PMA_ATTR_FLOW_CTL, WIRE_PMA_ATTR_VL_FLOW_CTL_ERRORS, WIRE_PMA_ATTR_VL_XMIT_WAIT,
		WIRE_PMA_ATTR_SW_VL_CONGESTION, WIRE_PMA_ATTR_RCV_CONGESTION, WIRE_PMA_ATTR_SL_RCV_FECN,
		WIRE_PMA_ATTR_SL_RCV_BECN, WIRE_PMA_ATTR_XMIT_CONGESTION, WIRE_PMA_ATTR_VL_CONGESTION,
		WIRE_PMA_ATTR_EXT_SPEEDS, WIRE_PMA_ATTR_XMIT_DISCARDS, WIRE_PMA_ATTR_RCV_ERRORS,
	};
	struct pair p;
	struct mad m, r;
	const uint8_t *d;
	unsigned i, k;

	pair_init(&p);
	for (i = 0; i < sizeof(zeros) / sizeof(zeros[0]); i++) {
		d = get(&p, &r, zeros[i], 1, 0);
		for (k = 4; k < 192; k++)
			CHECK_MSG(d[k] == 0, "attribute 0x%x, byte %u", zeros[i], k);
	}
	m = gmp_perf(WIRE_PMA_ATTR_CLASS_PORT_INFO, 0, 2);
	m.sl = 5;
	r = ask(&p.w, p.from, &m);
	d = get(&p, &r, WIRE_PMA_ATTR_RCV_DATA_SL, 1, 0);
	CHECK(wire_get32(d + 4 + 4 * 5) == 72 && wire_get32(d + 4) > 72);
	d = get(&p, &r, WIRE_PMA_ATTR_XMIT_DATA_SL, 1, 0);
	CHECK(wire_get32(d + 4 + 4 * 5) == 72);
	d = get(&p, &r, WIRE_PMA_ATTR_VL_OP_PACKETS, 1, 0);
	k = wire_get16(d + 4);
	CHECK(k > 3);
	d = get(&p, &r, WIRE_PMA_ATTR_VL_OP_DATA, 1, 0);
	CHECK(wire_get32(d + 4) == (k + 1) * 72);
	/* Selected levels alone are cleared. */
	m = gmp_perf(WIRE_PMA_ATTR_RCV_DATA_SL, 1, 2);
	wire_set_MAD_method(m.bytes, MAD_SET);
	wire_set_PMA_SELECT_counter_select(m.bytes + MAD_DATA, 1 << 5);
	r = ask(&p.w, p.from, &m);
	d = r.bytes + MAD_DATA;
	CHECK(wire_get32(d + 4 + 4 * 5) == 0 && wire_get32(d + 4) > 72);
	p.b->ports[1].count.c[FAB_C_LOOPING] = 4;
	d = get(&p, &r, WIRE_PMA_ATTR_RCV_ERRORS, 1, 0);
	CHECK(wire_get_PORT_RCV_ERRORS_looping(d) == 4);
	fab_free(p.w.f);
}

static void test_samples(void)
{
	struct pair p;
	struct mad m, r;
	const uint8_t *d;
	uint8_t *c;

	pair_init(&p);
	m = gmp_perf(WIRE_PMA_ATTR_SAMPLES_CONTROL, 1, 2);
	wire_set_MAD_method(m.bytes, MAD_SET);
	c = m.bytes + MAD_DATA;
	wire_set_PORT_SAMPLES_CONTROL_start(c, 10);
	wire_set_PORT_SAMPLES_CONTROL_interval(c, 100);
	wire_set_PORT_SAMPLES_CONTROL_tag(c, 0xbeef);
	wire_put16(c + WIRE_PORT_SAMPLES_CONTROL_select0_OFFSET, 4);	/* PortRcvPkts */
	r = ask(&p.w, p.from, &m);
	CHECK(wire_get_PORT_SAMPLES_CONTROL_status(r.bytes + MAD_DATA) == 1);
	fab_run(p.w.f, 10 * UT_MS);
	d = get(&p, &r, WIRE_PMA_ATTR_SAMPLES_RESULT, 0, 0);
	CHECK(wire_get_PORT_SAMPLES_RESULT_status(d) == 2 && wire_get_PORT_SAMPLES_RESULT_tag(d) == 0xbeef);
	/* A Set while samples are taken is ignored. */
	r = ask(&p.w, p.from, &m);
	fab_run(p.w.f, 110 * UT_MS);
	d = get(&p, &r, WIRE_PMA_ATTR_SAMPLES_RESULT, 0, 0);
	CHECK(wire_get_PORT_SAMPLES_RESULT_status(d) == 0 && wire_get32(d + 4) == 2);
	CHECK(fab_next(p.w.f) == UT_NEVER);
	fab_free(p.w.f);
}

int main(void)
{
	test_class();
	test_counters();
	test_details();
	test_samples();
	return 0;
}
