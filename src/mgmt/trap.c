/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "mgmt/trap.h"

#include "mgmt/carry.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "wire/cm_fields.h"

/* Severity and producer of each kind (14.2.5.1, table 131). */
static const struct kind {
	uint16_t trap;
	uint8_t type;		/* 1 urgent, 2 security, 4 informational */
} kinds[] = {
	{ FAB_TRAP_LINK_STATE, 1 }, { FAB_TRAP_INTEGRITY, 1 }, { FAB_TRAP_OVERRUN, 1 }, { FAB_TRAP_WATCHDOG, 1 },
	{ FAB_TRAP_LOCAL_CHANGES, 4 }, { FAB_TRAP_SYSTEM_GUID, 4 }, { FAB_TRAP_M_KEY, 2 }, { FAB_TRAP_P_KEY, 2 },
	{ FAB_TRAP_Q_KEY, 2 }, { FAB_TRAP_SWITCH_P_KEY, 2 },
};
#define N_KINDS (sizeof(kinds) / sizeof(kinds[0]))

/* Without a repress a notice is repeated so often; then the SM is taken to be gone. */
#define REPEATS_MAX 32

struct notice {
	struct fab_timer timer;		/* the next repetition */
	struct fab_port *port;		/* the end port that sends; NULL: no notice of this kind waits */
	uint64_t tid;			/* 0: not sent yet */
	uint8_t bytes[WIRE_NOTICE_LEN];
	uint8_t repeats;
	bool again;			/* another event came since it was sent */
};

struct fab_traps {
	struct notice v[N_KINDS];
	uint32_t sent;			/* for transaction IDs */
	uint16_t count;
};

static struct fab_traps *traps_of(struct fab_node *n)
{
	struct fab_traps *t = n->traps;
	unsigned i;

	if (t)
		return t;
	t = ut_zalloc(sizeof(*t));
	for (i = 0; t && i < N_KINDS; i++)
		if (ut_heap_reserve(&n->fabric->timers) < 0) {
			while (i--)
				ut_heap_unreserve(&n->fabric->timers);
			free(t);
			return NULL;
		}
	n->traps = t;
	return t;
}

void fab_traps_free(struct fab_node *n)
{
	unsigned i;

	if (!n->traps)
		return;
	for (i = 0; i < N_KINDS; i++) {
		fab_timer_clear(n->fabric, &n->traps->v[i].timer);
		ut_heap_unreserve(&n->fabric->timers);
	}
	free(n->traps);
	n->traps = NULL;
}

static uint64_t subnet_timeout_ns(const struct fab_port *p)
{
	return 4096ull << wire_get_PORT_INFO_subnet_timeout(p->info);
}

static void fill_mad(const struct fab_port *p, const struct notice *n, struct mad *m)
{
	memset(m, 0, sizeof(*m));
	m->dlid = (uint16_t)wire_get_PORT_INFO_sm_lid(p->info);
	m->sl = (uint8_t)wire_get_PORT_INFO_sm_sl(p->info);
	m->slid = fab_port_lid(p);
	m->pkey = 0xffff;
	wire_set_MAD_base_version(m->bytes, 1);
	wire_set_MAD_mgmt_class(m->bytes, MAD_CLASS_SMP);
	wire_set_MAD_class_version(m->bytes, 1);
	wire_set_MAD_method(m->bytes, MAD_TRAP);
	wire_set_MAD_tid(m->bytes, n->tid);
	wire_set_MAD_attr_id(m->bytes, WIRE_SMP_ATTR_NOTICE);
	wire_set_SMP_m_key(m->bytes, wire_get_PORT_INFO_m_key(p->info));
	memcpy(m->bytes + WIRE_SMP_DATA, n->bytes, WIRE_NOTICE_LEN);
}

/* A port without LID or SM keeps the notice until fab_trap_resume(). */
static void send(struct notice *n)
{
	struct fab_port *p = n->port;
	struct fab *f = p->node->fabric;
	struct mad m;

	if (!fab_port_lid(p) || !wire_get_PORT_INFO_sm_lid(p->info) || fab_port_state(p) < FAB_INIT)
		return;
	if (n->repeats++ >= REPEATS_MAX) {
		n->port = NULL;
		return;
	}
	if (!n->tid)
		n->tid = (uint64_t)p->node->index << 32 | ++p->node->traps->sent;
	n->again = false;
	wire_set_NOTICE_issuer_lid(n->bytes, fab_port_lid(p));
	fill_mad(p, n, &m);
	fab_timer_set(f, &n->timer, f->now + subnet_timeout_ns(p));
	fab_send(p, &m);
}

static void due(struct fab *f, struct fab_timer *t)
{
	send(ut_container(t, struct notice, timer));
}

/* Returns the notice of this kind with its head filled, or NULL if traps are off or memory is out. */
static struct notice *prepare(struct fab_port *p, unsigned trap)
{
	struct fab_node *node = p->node;
	struct fab_traps *t;
	struct notice *n;
	unsigned i;

	if (!(wire_get_PORT_INFO_capability_mask(p->info) & FAB_CAP_TRAP))
		return NULL;
	t = traps_of(node);
	for (i = 0; i < N_KINDS && kinds[i].trap != trap; i++)
		;
	if (!t || i == N_KINDS)
		return NULL;
	n = &t->v[i];
	n->timer.due = due;
	memset(n->bytes, 0, sizeof(n->bytes));
	wire_set_NOTICE_is_generic(n->bytes, 1);
	wire_set_NOTICE_type(n->bytes, kinds[i].type);
	wire_set_NOTICE_producer(n->bytes, node->type);
	wire_set_NOTICE_trap(n->bytes, trap);
	wire_set_NOTICE_count(n->bytes, 0);
	return n;
}

static void enqueue(struct notice *n, struct fab_port *p)
{
	if (n->port && n->tid) {
		n->again = true;	/* the SM has not answered yet; it sees the newest details then */
		return;
	}
	n->port = p;
	n->tid = 0;
	n->repeats = 0;
	send(n);
}

static uint8_t *details(struct notice *n)
{
	return n->bytes + WIRE_NOTICE_details_OFFSET;
}

void fab_trap_link_state(struct fab_node *sw)
{
	struct notice *n = prepare(&sw->ports[0], FAB_TRAP_LINK_STATE);

	if (!n)
		return;
	wire_put16(details(n), fab_port_lid(&sw->ports[0]));
	enqueue(n, &sw->ports[0]);
}

void fab_trap_threshold(struct fab_port *p, unsigned trap)
{
	struct fab_port *base = fab_port_base(p);
	struct notice *n = prepare(base, trap);

	if (!n)
		return;
	wire_put16(details(n) + 2, fab_port_lid(base));
	details(n)[4] = p->num;
	enqueue(n, base);
}

void fab_trap_local(struct fab_port *p, unsigned flags)
{
	struct fab_port *base = fab_port_base(p);
	struct notice *n = prepare(base, FAB_TRAP_LOCAL_CHANGES);

	if (!n)
		return;
	wire_put16(details(n) + 2, fab_port_lid(base));
	details(n)[5] = flags != 0;
	wire_put32(details(n) + 6, (uint32_t)wire_get_PORT_INFO_capability_mask(base->info));
	wire_put16(details(n) + 10, (uint16_t)flags);
	wire_put16(details(n) + 12, (uint16_t)wire_get_PORT_INFO_capability_mask2(base->info));
	enqueue(n, base);
}

void fab_trap_system_guid(struct fab_node *node)
{
	struct fab_port *base = &node->ports[node->type == FAB_SWITCH ? 0 : 1];
	struct notice *n = prepare(base, FAB_TRAP_SYSTEM_GUID);

	if (!n)
		return;
	wire_put16(details(n) + 2, fab_port_lid(base));
	wire_put64(details(n) + 6, node->system_guid);
	enqueue(n, base);
}

void fab_trap_m_key(struct fab_port *p, const struct mad *m)
{
	struct fab_port *base = fab_port_base(p);
	struct notice *n = prepare(base, FAB_TRAP_M_KEY);
	uint8_t *d;
	unsigned hops;

	if (!n)
		return;
	d = details(n);
	wire_put16(d + 2, m->slid);
	d[6] = (uint8_t)wire_get_MAD_method(m->bytes);
	wire_put16(d + 8, (uint16_t)wire_get_MAD_attr_id(m->bytes));
	wire_put32(d + 10, (uint32_t)wire_get_MAD_attr_mod(m->bytes));
	wire_put64(d + 14, wire_get_SMP_m_key(m->bytes));
	if (wire_get_MAD_mgmt_class(m->bytes) == MAD_CLASS_SMP_DR) {
		hops = (unsigned)wire_get_SMP_hop_count(m->bytes);
		wire_put16(d + 4, (uint16_t)wire_get_SMP_dr_slid(m->bytes));
		/* DRNotice, DRPathTruncated, DRHopCount; 30 bytes of the return path. */
		d[23] = (uint8_t)(0x80 | (hops > 30 ? 0x40 : 0) | (hops & 0x3f));
		memcpy(d + 24, m->bytes + WIRE_SMP_RETURN_PATH + 1, 30);
	}
	enqueue(n, base);
}

void fab_trap_key(struct fab_port *p, unsigned trap, const struct mad *m)
{
	struct fab_port *base = fab_port_base(p);
	struct notice *n = prepare(base, trap);
	uint8_t *d;

	if (!n)
		return;
	d = details(n);
	wire_put16(d + 2, m->slid);
	wire_put16(d + 4, m->dlid);
	wire_put32(d + 6, trap == FAB_TRAP_P_KEY ? m->pkey : m->qkey);
	wire_put32(d + 10, (uint32_t)m->sl << 28 | (m->sqpn & 0xffffff));
	wire_put32(d + 14, m->dqpn & 0xffffff);
	if (m->has_grh)
		memcpy(d + 18, m->grh + 8, 32);
	enqueue(n, base);
}

/* 14.2.5.1: DataValid tells which fields are filled: LID1, LID2, P_Key, SL, the switch's LID and port. */
void fab_trap_switch_p_key(struct fab_port *p, uint16_t slid, uint16_t dlid, unsigned sl, uint16_t pkey)
{
	struct fab_port *base = fab_port_base(p);
	struct notice *n = prepare(base, FAB_TRAP_SWITCH_P_KEY);
	uint8_t *d;

	if (!n)
		return;
	d = details(n);
	wire_put16(d, 0x0f);
	wire_put16(d + 2, slid);
	wire_put16(d + 4, dlid);
	wire_put16(d + 6, pkey);
	wire_put32(d + 8, (uint32_t)sl << 28);
	wire_put16(d + 48, fab_port_lid(base));
	d[50] = p->num;
	enqueue(n, base);
}

void fab_trap_repress(struct fab_port *p, const struct mad *m)
{
	struct fab_node *node = p->node;
	uint64_t tid = wire_get_MAD_tid(m->bytes);
	struct notice *n;
	unsigned i;

	for (i = 0; node->traps && i < N_KINDS; i++) {
		n = &node->traps->v[i];
		if (!n->port || !n->tid || n->tid != tid)
			continue;
		fab_timer_clear(node->fabric, &n->timer);
		n->tid = 0;
		n->repeats = 0;
		if (n->again)
			send(n);
		else
			n->port = NULL;
		return;
	}
}

void fab_trap_resume(struct fab_port *p)
{
	struct fab_traps *t = p->node->traps;
	unsigned i;

	for (i = 0; t && i < N_KINDS; i++)
		if (t->v[i].port == p && !ut_timer_queued(&t->v[i].timer.at))
			send(&t->v[i]);
}
