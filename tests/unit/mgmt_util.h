/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared by the tests of the fabric model: small fabrics, SMPs and GMPs, and what came for programs. */
#ifndef TESTS_UNIT_MGMT_UTIL_H
#define TESTS_UNIT_MGMT_UTIL_H

#include "mgmt/carry.h"
#include "mgmt/fabric.h"
#include "mgmt/port.h"
#include "support/check.h"
#include "util/clock.h"
#include "wire/cm_fields.h"
#include "wire/pma_fields.h"

#define GOT_MAX 64

/* What the model gave to programs. */
struct world {
	struct fab *f;
	struct mad got[GOT_MAX];
	struct fab_port *at[GOT_MAX];
	unsigned n;
	unsigned what;		/* FAB_CHANGED_* of all ports */
	struct mad left;	/* over a trunk */
	struct fab_port *left_by;
};

static void world_deliver(void *ctx, struct fab_port *port, const struct mad *m)
{
	struct world *w = ctx;

	CHECK(w->n < GOT_MAX);
	w->got[w->n] = *m;
	w->at[w->n++] = port;
}

static void world_changed(void *ctx, struct fab_port *port, unsigned what)
{
	((struct world *)ctx)->what |= what;
}

static void world_depart(void *ctx, struct fab_port *port, const struct mad *m)
{
	struct world *w = ctx;

	w->left = *m;
	w->left_by = port;
}

static const struct fab_ops world_ops = {
	.deliver = world_deliver, .changed = world_changed, .depart = world_depart,
};

static inline void world_init(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->f = fab_new(&world_ops, w, 1);
	CHECK(w->f);
}

static inline struct fab_node *world_node(struct world *w, const char *name, enum fab_node_type type, unsigned ports)
{
	struct fab_node_spec spec = { .name = name, .type = type, .n_ports = ports };
	struct fab_node *n;

	CHECK(fab_node_add(w->f, &spec, &n) == 0);
	return n;
}

/* SMP that leaves along `path` of `hops` ports: attribute and modifier of a Get. */
static inline struct mad smp_directed(unsigned attr, uint32_t mod, unsigned hops, const uint8_t *path)
{
	struct mad m = { .slid = 0xffff, .dlid = 0xffff };

	wire_set_MAD_base_version(m.bytes, 1);
	wire_set_MAD_mgmt_class(m.bytes, MAD_CLASS_SMP_DR);
	wire_set_MAD_class_version(m.bytes, 1);
	wire_set_MAD_method(m.bytes, MAD_GET);
	wire_set_MAD_tid(m.bytes, 0x1234);
	wire_set_MAD_attr_id(m.bytes, attr);
	wire_set_MAD_attr_mod(m.bytes, mod);
	wire_set_SMP_hop_count(m.bytes, hops);
	wire_set_SMP_dr_slid(m.bytes, 0xffff);
	wire_set_SMP_dr_dlid(m.bytes, 0xffff);
	if (hops)
		memcpy(m.bytes + WIRE_SMP_INITIAL_PATH + 1, path, hops);
	return m;
}

static inline struct mad smp_by_lid(unsigned attr, uint32_t mod, uint16_t dlid)
{
	struct mad m = smp_directed(attr, mod, 0, NULL);

	wire_set_MAD_mgmt_class(m.bytes, MAD_CLASS_SMP);
	memset(m.bytes + 32, 0, 4);
	m.dlid = dlid;
	return m;
}

static inline struct mad gmp_perf(unsigned attr, unsigned port, uint16_t dlid)
{
	struct mad m = { .dlid = dlid, .sqpn = 1, .dqpn = 1, .qkey = MAD_QKEY_GSI, .pkey = 0xffff };

	wire_set_MAD_base_version(m.bytes, 1);
	wire_set_MAD_mgmt_class(m.bytes, MAD_CLASS_PERF);
	wire_set_MAD_class_version(m.bytes, 1);
	wire_set_MAD_method(m.bytes, MAD_GET);
	wire_set_MAD_attr_id(m.bytes, attr);
	m.bytes[MAD_DATA + 1] = (uint8_t)port;
	return m;
}

/* Sends, and returns the only MAD that came back to the sender. */
static inline struct mad ask(struct world *w, struct fab_port *from, const struct mad *m)
{
	w->n = 0;
	fab_send(from, m);
	CHECK_MSG(w->n == 1 && w->at[0] == from, "%u MADs came", w->n);
	return w->got[0];
}

static inline unsigned status_of(const struct mad *m)
{
	return (unsigned)(wire_get_MAD_mgmt_class(m->bytes) == MAD_CLASS_SMP_DR ? wire_get_SMP_status(m->bytes)
									       : wire_get_MAD_status(m->bytes));
}

/* Nothing comes back. */
static inline void ask_nobody(struct world *w, struct fab_port *from, const struct mad *m)
{
	w->n = 0;
	fab_send(from, m);
	CHECK_MSG(w->n == 0, "%u MADs came", w->n);
}

/* SubnSet(PortInfo) of what the port has, changed by `set`, directly in the node. */
static inline struct mad set_port_info(struct world *w, struct fab_port *from, struct mad get,
				       void (*set)(uint8_t *info, uint64_t v), uint64_t v)
{
	struct mad m = ask(w, from, &get), out = get;

	memcpy(out.bytes + WIRE_SMP_DATA, m.bytes + WIRE_SMP_DATA, 64);
	wire_set_PORT_INFO_port_state(out.bytes + WIRE_SMP_DATA, 0);
	wire_set_PORT_INFO_phys_state(out.bytes + WIRE_SMP_DATA, 0);
	wire_set_MAD_method(out.bytes, MAD_SET);
	set(out.bytes + WIRE_SMP_DATA, v);
	return ask(w, from, &out);
}

#endif
