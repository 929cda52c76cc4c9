/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Agents of a port: which registrations are refused, and which agent gets a MAD. */
#include "mgmt/agents.h"

#include "support/cases.h"
#include "support/check.h"
#include "wire/cm_fields.h"
#include "wire/rmpp_fields.h"

#include <stdlib.h>

static struct agents t;
static struct agents_port port, other;

static void begin(void)
{
	agents_init(&t);
	agents_port_init(&port);
	agents_port_init(&other);
}

static struct agents_agent agent(unsigned mgmt_class, unsigned version, uint32_t oui, uint64_t methods)
{
	return (struct agents_agent){
		.mgmt_class = (uint8_t)mgmt_class, .class_version = (uint8_t)version, .oui = oui, .methods = { methods },
		.qpn = mgmt_class != 1 && mgmt_class != 0x81,
	};
}

/* ib_register_mad_agent() of the kernel; 0: accepted. */
static void registrations(void)
{
	static const struct {
		unsigned mgmt_class, version, oui, methods, qpn, rmpp;
		int err;
	} rows[] = {
		{ 0x01, 1, 0, 6, 0, 0, 0 },
		{ 0x81, 1, 0, 6, 0, 0, 0 },
		{ 0x01, 1, 0, 6, 1, 0, -EINVAL },
		{ 0x03, 2, 0, 6, 0, 0, -EINVAL },
		{ 0x03, 2, 0, 6, 1, 1, 0 },
		{ 0x03, 2, 0, 6, 1, 2, -EINVAL },
		{ 0x04, 1, 0, 0, 1, 1, -EINVAL },
		{ 0x04, 1, 0, 0, 1, 0, 0 },
		{ 0x04, 8, 0, 0, 1, 0, -EINVAL },
		{ 0x50, 1, 0, 0, 1, 0, -EINVAL },
		{ 0x82, 1, 0, 0, 1, 0, -EINVAL },
		{ 0x32, 1, 0, 2, 1, 0, -EINVAL },
		{ 0x32, 1, 0x001405, 2, 1, 1, 0 },
		{ 0x0a, 1, 0, 2, 1, 0, 0 },
		{ 0x00, 0, 0, 0, 1, 0, 0 },
		{ 0x00, 0, 0, 2, 1, 0, -EINVAL },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		struct agents_agent a = agent(rows[i].mgmt_class, rows[i].version, rows[i].oui, rows[i].methods);

		begin();
		a.qpn = (uint8_t)rows[i].qpn;
		a.rmpp_version = (uint8_t)rows[i].rmpp;
		CHECK_MSG(agents_add(&t, &port, &a) == rows[i].err, "row %zu", i);
		CHECK(!rows[i].err == !!a.tid_high);
		agents_remove(&t, &a);
		CHECK(!port.n);
		agents_fini(&t);
	}
}

static void conflicts(void)
{
	struct agents_agent a = agent(0x32, 1, 0x001405, 2), b = agent(0x32, 1, 0x001405, 4),
			    c = agent(0x32, 1, 0x001405, 6), d = agent(0x32, 1, 0x123456, 6),
			    e = agent(0x32, 2, 0x001405, 6), f = agent(0x32, 1, 0x001405, 0);

	begin();
	CHECK(!agents_add(&t, &port, &a) && !agents_add(&t, &port, &b));
	CHECK(agents_add(&t, &port, &c) == -EINVAL);
	CHECK(!agents_add(&t, &other, &c));
	CHECK(!agents_add(&t, &port, &d) && !agents_add(&t, &port, &e) && !agents_add(&t, &port, &f));
	agents_remove(&t, &c);
	agents_remove(&t, &a);
	agents_remove(&t, &b);
	CHECK(!agents_add(&t, &port, &c) && port.n == 4);
	agents_remove(&t, &c);
	agents_remove(&t, &d);
	agents_remove(&t, &e);
	agents_remove(&t, &f);
	agents_fini(&t);
}

static uint8_t *mad(unsigned mgmt_class, unsigned version, unsigned method, uint64_t tid)
{
	static uint8_t m[AGENTS_MAD_LENGTH];

	memset(m, 0, sizeof(m));
	wire_set_MAD_base_version(m, 1);
	wire_set_MAD_mgmt_class(m, mgmt_class);
	wire_set_MAD_class_version(m, version);
	wire_set_MAD_r(m, method >> 7);
	wire_set_MAD_method(m, method & 0x7f);
	wire_set_MAD_tid(m, tid);
	wire_set_RMPP_vendor_oui(m, 0x001405);
	return m;
}

static void requests(void)
{
	struct agents_agent a = agent(0x32, 1, 0x001405, 1 << 1), b = agent(3, 2, 0, 1ull << 0x12), *to;
	uint8_t *m;

	begin();
	CHECK(!agents_add(&t, &port, &a) && !agents_add(&t, &port, &b));
	CHECK(agents_route(&t, &port, 1, mad(0x32, 1, 1, 5), &to) == AGENTS_TAKEN && to == &a);
	CHECK(agents_route(&t, &port, 1, mad(3, 2, 0x12, 5), &to) == AGENTS_TAKEN && to == &b);
	/* another method, version, OUI, port: Get and Set are answered, others are dropped */
	m = mad(0x32, 1, 2, 5);
	CHECK(agents_route(&t, &port, 1, m, &to) == AGENTS_ANSWER);
	CHECK(wire_get_MAD_r(m) && wire_get_MAD_method(m) == 1 && wire_get_MAD_status(m) == 0x000c);
	CHECK(wire_get_MAD_tid(m) == 5);
	CHECK(agents_route(&t, &port, 1, mad(0x32, 1, 3, 5), &to) == AGENTS_DROPPED);
	CHECK(agents_route(&t, &port, 1, mad(0x32, 2, 1, 5), &to) == AGENTS_ANSWER);
	CHECK(agents_route(&t, &other, 1, mad(0x32, 1, 1, 5), &to) == AGENTS_ANSWER);
	m = mad(0x32, 1, 1, 5);
	wire_set_RMPP_vendor_oui(m, 0x123456);
	CHECK(agents_route(&t, &port, 1, m, &to) == AGENTS_ANSWER);
	/* directed route: D marks the answer */
	m = mad(0x81, 1, 1, 5);
	CHECK(agents_route(&t, &port, 0, m, &to) == AGENTS_ANSWER && wire_get_MAD_status(m) == 0x800c);
	/* the wrong QP, or base version: no answer either */
	CHECK(agents_route(&t, &port, 0, mad(0x32, 1, 1, 5), &to) == AGENTS_DROPPED);
	CHECK(agents_route(&t, &port, 1, mad(1, 1, 1, 5), &to) == AGENTS_DROPPED);
	CHECK(agents_route(&t, &port, 7, mad(0x32, 1, 1, 5), &to) == AGENTS_DROPPED);
	m = mad(0x32, 1, 1, 5);
	wire_set_MAD_base_version(m, 0x80);
	CHECK(agents_route(&t, &port, 1, m, &to) == AGENTS_DROPPED);
	CHECK(port.delivered == 2 && port.answered == 4 && port.dropped == 5);
	agents_remove(&t, &a);
	agents_remove(&t, &b);
	agents_fini(&t);
}

static void responses(void)
{
	struct agents_agent a = agent(4, 1, 0, 0), b = agent(4, 1, 0, 0), sm = agent(1, 1, 0, 0xa6), *to;
	uint8_t *m;

	begin();
	CHECK(!agents_add(&t, &port, &a) && !agents_add(&t, &port, &b) && !agents_add(&t, &port, &sm));
	m = mad(4, 1, 1, 0x1122334455667788ull);
	CHECK(agents_may_send(&b, m) && wire_get_MAD_tid(m) == ((uint64_t)b.tid_high << 32 | 0x55667788u));
	wire_set_MAD_r(m, 1);
	CHECK(agents_route(&t, &port, 1, m, &to) == AGENTS_TAKEN && to == &b);
	CHECK(agents_route(&t, &other, 1, m, &to) == AGENTS_DROPPED);
	/* a response keeps its transaction ID */
	m = mad(4, 1, 0x81, 99);
	CHECK(agents_may_send(&b, m) && wire_get_MAD_tid(m) == 99);
	CHECK(agents_route(&t, &port, 1, m, &to) == AGENTS_DROPPED);
	/* TrapRepress is one; a trap is none */
	m = mad(1, 1, 7, (uint64_t)sm.tid_high << 32);
	CHECK(agents_route(&t, &port, 0, m, &to) == AGENTS_TAKEN && to == &sm);
	CHECK(agents_route(&t, &port, 0, mad(1, 1, 5, 1), &to) == AGENTS_TAKEN && to == &sm);
	/* a GMP may not leave by QP0, nor an SMP by QP1 */
	CHECK(!agents_may_send(&sm, mad(4, 1, 1, 1)) && !agents_may_send(&a, mad(0x81, 1, 1, 1)));
	m = mad(4, 1, 0x81, (uint64_t)b.tid_high << 32);
	agents_remove(&t, &b);
	CHECK(agents_route(&t, &port, 1, m, &to) == AGENTS_DROPPED);
	agents_remove(&t, &a);
	agents_remove(&t, &sm);
	agents_fini(&t);
}

static const struct test_case cases[] = {
	{ "-", "registrations", registrations },
	{ "-", "conflicts", conflicts },
	{ "-", "requests", requests },
	{ "-", "responses", responses },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}
