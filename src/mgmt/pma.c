/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "mgmt/pma.h"

#include "mgmt/switch.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "wire/cm_fields.h"
#include "wire/pma_fields.h"

/* ClassPortInfo.CapabilityMask (16.1.3.1): AllPortSelect, IsExtendedWidthSupported, PortCountersXmitWait. */
#define CAP_ALL_PORTS 0x0100u
#define CAP_EXT_WIDTH 0x0200u
#define CAP_XMIT_WAIT 0x1000u
#define RESP_TIME 0x12u
#define ALL_PORTS 0xffu

/* --- counting --- */

static uint32_t stick32(uint32_t have, uint64_t more)
{
	return more > UINT32_MAX - have ? UINT32_MAX : have + (uint32_t)more;
}

static uint16_t stick16(uint16_t have, uint64_t more)
{
	return more > (uint64_t)(UINT16_MAX - have) ? UINT16_MAX : (uint16_t)(have + more);
}

/* NULL without memory: then these counters stay 0. */
static struct fab_lanes *lanes_made(struct fab_port *p)
{
	if (!p->count.lanes)
		p->count.lanes = ut_zalloc(sizeof(*p->count.lanes));
	return p->count.lanes;
}

void fab_count_xmit(struct fab_port *p, const struct fab_load *l)
{
	uint64_t *c = p->count.c;
	struct fab_lanes *v;

	c[FAB_C_XMIT_DATA] += l->words;
	c[FAB_C_XMIT_PKTS] += l->packets;
	c[l->is_mcast ? FAB_C_MCAST_XMIT : FAB_C_UCAST_XMIT] += l->packets;
	v = l->vl == 15 ? NULL : lanes_made(p);
	if (v)
		v->xmit_data_sl[l->sl & 15] = stick32(v->xmit_data_sl[l->sl & 15], l->words);
}

void fab_count_rcv(struct fab_port *p, const struct fab_load *l)
{
	uint64_t *c = p->count.c;
	unsigned vl = l->vl & 15, sl = l->sl & 15;
	struct fab_lanes *v;

	c[FAB_C_RCV_DATA] += l->words;
	c[FAB_C_RCV_PKTS] += l->packets;
	c[l->is_mcast ? FAB_C_MCAST_RCV : FAB_C_UCAST_RCV] += l->packets;
	if (vl == 15) {
		p->count.vl15_pkts = stick16(p->count.vl15_pkts, l->packets);
		p->count.vl15_data = stick32(p->count.vl15_data, l->words);
		return;
	}
	v = lanes_made(p);
	if (!v)
		return;
	v->vl_pkts[vl] = stick16(v->vl_pkts[vl], l->packets);
	v->vl_data[vl] = stick32(v->vl_data[vl], l->words);
	v->rcv_data_sl[sl] = stick32(v->rcv_data_sl[sl], l->words);
}

void fab_count_congestion(struct fab_port *p, unsigned vl)
{
	struct fab_lanes *v = lanes_made(p);

	if (v)
		v->vl_congested[vl] = stick16(v->vl_congested[vl], 1);
}

void fab_count_notified(struct fab_port *p, unsigned sl, bool fecn, bool becn)
{
	struct fab_lanes *v = fecn || becn ? lanes_made(p) : NULL;

	if (!v)
		return;
	v->rcv_fecn_sl[sl] = stick32(v->rcv_fecn_sl[sl], fecn);
	v->rcv_becn_sl[sl] = stick32(v->rcv_becn_sl[sl], becn);
}

void fab_count_wait(struct fab_port *p, uint64_t before_ns, uint64_t after_ns)
{
	p->count.c[FAB_C_XMIT_WAIT] += after_ns / FAB_TICK_NS - before_ns / FAB_TICK_NS;
}

void fab_count_lane_wait(struct fab_port *p, unsigned vl, uint64_t before_ns, uint64_t after_ns)
{
	uint64_t ticks = after_ns / FAB_TICK_NS - before_ns / FAB_TICK_NS;
	struct fab_lanes *v = ticks ? lanes_made(p) : NULL;

	if (v)
		v->vl_wait[vl] = stick16(v->vl_wait[vl], ticks);
}

/* VLs that can carry data, by the code of OperationalVLs (14.2.5.6). */
unsigned fab_port_data_vls(const struct fab_port *p)
{
	static const uint8_t n[] = { 1, 1, 2, 4, 8, 15 };
	unsigned code = (unsigned)wire_get_PORT_INFO_oper_vls(p->info);

	return n[code < sizeof(n) ? code : 0];
}

unsigned fab_port_vl(const struct fab_port *out, unsigned in, unsigned sl)
{
	const uint8_t *map = out->sl_to_vl;

	if (!map)
		return sl % fab_port_data_vls(out);
	map += 8 * (out->node->type == FAB_SWITCH ? in : 0);
	return map[sl / 2] >> (sl & 1 ? 0 : 4) & 15;
}

/* --- attributes: one row for each field that shows a counter --- */

struct row {
	uint16_t attr;
	uint8_t byte, bit, width;	/* in the attribute */
	uint8_t counter;		/* FAB_NR_COUNTERS: always 0 */
	uint8_t select;			/* bit of CounterSelect; 16 and more: of CounterSelect2 */
	uint8_t base;			/* which base the field is the distance from */
};

#define ROW(attr, header, field, bit, width, counter, select, base) \
	{ WIRE_PMA_ATTR_##attr, WIRE_##header##_##field##_OFFSET, bit, width, counter, select, base }
#define BASIC(field, bit, width, counter, select) ROW(COUNTERS, PORT_COUNTERS, field, bit, width, counter, select, 0)
#define EXT(field, counter, select) ROW(COUNTERS_EXT, PORT_COUNTERS_EXT, field, 0, 64, counter, select, 1)
#define DETAIL(attr, header, field, counter, select) ROW(attr, header, field, 0, 16, counter, select, 0)

static const struct row rows[] = {
	/* 16.1.3.5, table 220 */
	BASIC(symbol_error, 0, 16, FAB_C_SYMBOL_ERROR, 0),
	BASIC(link_recovery, 0, 8, FAB_C_LINK_RECOVERY, 1),
	BASIC(link_downed, 0, 8, FAB_C_LINK_DOWNED, 2),
	BASIC(rcv_errors, 0, 16, FAB_C_RCV_ERRORS, 3),
	BASIC(rcv_remote_phys, 0, 16, FAB_C_RCV_REMOTE_PHYS, 4),
	BASIC(rcv_switch_relay, 0, 16, FAB_C_RCV_SWITCH_RELAY, 5),
	BASIC(xmit_discards, 0, 16, FAB_C_XMIT_DISCARDS, 6),
	BASIC(xmit_constraint, 0, 8, FAB_C_XMIT_CONSTRAINT, 7),
	BASIC(rcv_constraint, 0, 8, FAB_C_RCV_CONSTRAINT, 8),
	BASIC(local_integrity, 0, 4, FAB_C_LOCAL_INTEGRITY, 9),
	BASIC(overrun, 4, 4, FAB_C_OVERRUN, 10),
	BASIC(vl15_dropped, 0, 16, FAB_C_VL15_DROPPED, 11),
	BASIC(xmit_data, 0, 32, FAB_C_XMIT_DATA, 12),
	BASIC(rcv_data, 0, 32, FAB_C_RCV_DATA, 13),
	BASIC(xmit_pkts, 0, 32, FAB_C_XMIT_PKTS, 14),
	BASIC(rcv_pkts, 0, 32, FAB_C_RCV_PKTS, 15),
	BASIC(xmit_wait, 0, 32, FAB_C_XMIT_WAIT, 16),
	/* 16.1.4.11, table 236 */
	EXT(xmit_data, FAB_C_XMIT_DATA, 0),
	EXT(rcv_data, FAB_C_RCV_DATA, 1),
	EXT(xmit_pkts, FAB_C_XMIT_PKTS, 2),
	EXT(rcv_pkts, FAB_C_RCV_PKTS, 3),
	EXT(ucast_xmit, FAB_C_UCAST_XMIT, 4),
	EXT(ucast_rcv, FAB_C_UCAST_RCV, 5),
	EXT(mcast_xmit, FAB_C_MCAST_XMIT, 6),
	EXT(mcast_rcv, FAB_C_MCAST_RCV, 7),
	/* 16.1.4.1 and 16.1.4.2 */
	DETAIL(RCV_ERRORS, PORT_RCV_ERRORS, local_physical, FAB_C_LOCAL_PHYSICAL, 0),
	DETAIL(RCV_ERRORS, PORT_RCV_ERRORS, malformed, FAB_C_MALFORMED, 1),
	DETAIL(RCV_ERRORS, PORT_RCV_ERRORS, buffer_overrun, FAB_C_BUFFER_OVERRUN, 2),
	DETAIL(RCV_ERRORS, PORT_RCV_ERRORS, dlid_mapping, FAB_C_DLID_MAPPING, 3),
	DETAIL(RCV_ERRORS, PORT_RCV_ERRORS, vl_mapping, FAB_C_VL_MAPPING, 4),
	DETAIL(RCV_ERRORS, PORT_RCV_ERRORS, looping, FAB_C_LOOPING, 5),
	DETAIL(XMIT_DISCARDS, PORT_XMIT_DISCARDS, inactive, FAB_C_INACTIVE_DISCARD, 0),
	DETAIL(XMIT_DISCARDS, PORT_XMIT_DISCARDS, neighbor_mtu, FAB_C_MTU_DISCARD, 1),
	DETAIL(XMIT_DISCARDS, PORT_XMIT_DISCARDS, sw_lifetime, FAB_C_SW_LIFETIME, 2),
	DETAIL(XMIT_DISCARDS, PORT_XMIT_DISCARDS, sw_hoq, FAB_C_HOQ_DISCARD, 3),
};
#define N_ROWS (sizeof(rows) / sizeof(rows[0]))

static uint64_t field_max(unsigned width)
{
	return width == 64 ? UINT64_MAX : (1ull << width) - 1;
}

static uint64_t distance(const struct fab_port *p, const struct row *r)
{
	uint64_t base = p->count.base ? p->count.base[r->counter][r->base] : 0;

	return p->count.c[r->counter] - base;
}

/* All ports: the sum, which sticks at the field's maximum; extended counters wrap (16.1.4.11). */
static uint64_t value(const struct fab_node *n, unsigned select, const struct row *r)
{
	uint64_t sum = 0;
	unsigned i;

	if (select != ALL_PORTS)
		sum = distance(&n->ports[select], r);
	else
		for (i = n->type == FAB_SWITCH ? 0 : 1; i <= n->n_ports; i++)
			sum += distance(&n->ports[i], r);
	return sum > field_max(r->width) ? field_max(r->width) : sum;
}

static void show_rows(const struct fab_node *n, unsigned attr, unsigned select, uint8_t *data)
{
	unsigned i;

	for (i = 0; i < N_ROWS; i++)
		if (rows[i].attr == attr)
			wire_set_bits(data, rows[i].byte * 8u + rows[i].bit, rows[i].width,
				      value(n, select, &rows[i]));
}

/* The field gets this value from now on. Returns false without memory. */
static bool rebase(struct fab_port *p, const struct row *r, uint64_t to)
{
	if (!p->count.base) {
		p->count.base = ut_calloc(FAB_NR_COUNTERS, sizeof(*p->count.base));
		if (!p->count.base)
			return false;
	}
	p->count.base[r->counter][r->base] = p->count.c[r->counter] - to;
	return true;
}

static unsigned selected(unsigned attr, const uint8_t *data)
{
	unsigned mask = (unsigned)wire_get_PMA_SELECT_counter_select(data);

	/* CounterSelect2 of PortCounters has PortXmitWait as its first bit. */
	if (attr == WIRE_PMA_ATTR_COUNTERS)
		mask |= (unsigned)(wire_get_PORT_COUNTERS_counter_select2(data) & 1) << 16;
	return mask;
}

static bool set_rows(struct fab_node *n, unsigned attr, unsigned select, const uint8_t *data)
{
	unsigned i, k, mask = selected(attr, data);
	unsigned first = select == ALL_PORTS ? n->type != FAB_SWITCH : select;
	unsigned last = select == ALL_PORTS ? n->n_ports : select;

	for (i = 0; i < N_ROWS; i++) {
		const struct row *r = &rows[i];

		if (r->attr != attr || !(mask >> r->select & 1))
			continue;
		for (k = first; k <= last; k++)
			if (!rebase(&n->ports[k], r, wire_get_bits(data, r->byte * 8u + r->bit, r->width)))
				return false;
	}
	return true;
}

/* --- attributes with one value for each lane or level (16.1.4.4 to 16.1.4.10, A10) --- */

static const struct lanes {
	uint16_t attr;
	uint8_t width;		/* of one value, bits */
	uint16_t at;		/* of the values in struct fab_lanes */
	uint8_t size;		/* of a value there, bytes; 0: all are 0 */
} lanes[] = {
	{ WIRE_PMA_ATTR_OP_RCV, 32, 0, 0 },
	{ WIRE_PMA_ATTR_FLOW_CTL, 32, 0, 0 },
	{ WIRE_PMA_ATTR_VL_OP_PACKETS, 16, offsetof(struct fab_lanes, vl_pkts), 2 },
	{ WIRE_PMA_ATTR_VL_OP_DATA, 32, offsetof(struct fab_lanes, vl_data), 4 },
	{ WIRE_PMA_ATTR_VL_FLOW_CTL_ERRORS, 2, 0, 0 },
	{ WIRE_PMA_ATTR_VL_XMIT_WAIT, 16, offsetof(struct fab_lanes, vl_wait), 2 },
	{ WIRE_PMA_ATTR_SW_VL_CONGESTION, 16, offsetof(struct fab_lanes, vl_congested), 2 },
	{ WIRE_PMA_ATTR_RCV_CONGESTION, 32, 0, 0 },
	{ WIRE_PMA_ATTR_SL_RCV_FECN, 32, offsetof(struct fab_lanes, rcv_fecn_sl), 4 },
	{ WIRE_PMA_ATTR_SL_RCV_BECN, 32, offsetof(struct fab_lanes, rcv_becn_sl), 4 },
	{ WIRE_PMA_ATTR_XMIT_CONGESTION, 32, 0, 0 },
	{ WIRE_PMA_ATTR_VL_CONGESTION, 16, 0, 0 },
	{ WIRE_PMA_ATTR_XMIT_DATA_SL, 32, offsetof(struct fab_lanes, xmit_data_sl), 4 },
	{ WIRE_PMA_ATTR_RCV_DATA_SL, 32, offsetof(struct fab_lanes, rcv_data_sl), 4 },
	{ WIRE_PMA_ATTR_EXT_SPEEDS, 16, 0, 0 },
};

static const struct lanes *lanes_of(unsigned attr)
{
	unsigned i;

	for (i = 0; i < sizeof(lanes) / sizeof(lanes[0]); i++)
		if (lanes[i].attr == attr)
			return &lanes[i];
	return NULL;
}

static uint64_t lane(const struct fab_port *p, const struct lanes *l, unsigned i)
{
	const uint8_t *at = (const uint8_t *)p->count.lanes + l->at + i * l->size;
	uint32_t v32;
	uint16_t v16;

	if (i == 15 && l->attr == WIRE_PMA_ATTR_VL_OP_PACKETS)
		return p->count.vl15_pkts;
	if (i == 15 && l->attr == WIRE_PMA_ATTR_VL_OP_DATA)
		return p->count.vl15_data;
	if (!p->count.lanes)
		return 0;
	if (l->size == 2) {
		memcpy(&v16, at, 2);
		return v16;
	}
	memcpy(&v32, at, 4);
	return v32;
}

static void clear_lane(struct fab_port *p, const struct lanes *l, unsigned i)
{
	if (i == 15 && l->attr == WIRE_PMA_ATTR_VL_OP_PACKETS)
		p->count.vl15_pkts = 0;
	else if (i == 15 && l->attr == WIRE_PMA_ATTR_VL_OP_DATA)
		p->count.vl15_data = 0;
	else if (p->count.lanes)
		memset((uint8_t *)p->count.lanes + l->at + i * l->size, 0, l->size);
}

static void show_lanes(const struct fab_node *n, const struct lanes *l, unsigned select, uint8_t *data)
{
	unsigned i, k, first = select == ALL_PORTS ? n->type != FAB_SWITCH : select;
	unsigned last = select == ALL_PORTS ? n->n_ports : select;
	uint64_t sum;

	memset(data + WIRE_PMA_SELECT_LEN, 0, MAD_LEN - MAD_DATA - WIRE_PMA_SELECT_LEN);
	if (!l->size)
		return;
	for (i = 0; i < 16; i++) {
		for (sum = 0, k = first; k <= last; k++)
			sum += lane(&n->ports[k], l, i);
		if (sum > field_max(l->width))
			sum = field_max(l->width);
		wire_set_bits(data, 8 * WIRE_PMA_SELECT_LEN + i * l->width, l->width, sum);
	}
}

static void clear_lanes(struct fab_node *n, const struct lanes *l, unsigned select, unsigned mask)
{
	unsigned i, k, first = select == ALL_PORTS ? n->type != FAB_SWITCH : select;
	unsigned last = select == ALL_PORTS ? n->n_ports : select;

	for (k = first; l->size && k <= last; k++)
		for (i = 0; i < 16; i++)
			if (mask >> i & 1)
				clear_lane(&n->ports[k], l, i);
}

/* --- samples (16.1.3.2 to 16.1.3.4) --- */

#define N_SAMPLES 15u
#define SAMPLE_TICK_CODE 0x10u

/* CounterSelect values (table 219). */
static const uint8_t sample_counters[] = {
	[1] = FAB_C_XMIT_DATA, [2] = FAB_C_RCV_DATA, [3] = FAB_C_XMIT_PKTS, [4] = FAB_C_RCV_PKTS, [5] = FAB_C_XMIT_WAIT,
};

enum { SAMPLE_DONE, SAMPLE_WAITS, SAMPLE_RUNS };

struct fab_samples {
	struct fab_timer timer;
	struct fab_port *port;
	uint8_t control[WIRE_PORT_SAMPLES_CONTROL_LEN];
	uint8_t state;
	uint64_t values[N_SAMPLES];	/* at the begin; the differences once done */
};

static unsigned sample_select(const struct fab_samples *s, unsigned i)
{
	return wire_get16(s->control + WIRE_PORT_SAMPLES_CONTROL_select0_OFFSET + 2 * i);
}

static uint64_t sample_now(const struct fab_samples *s, unsigned i)
{
	unsigned select = i < 11 ? sample_select(s, i) : 0;

	if (!select || select >= sizeof(sample_counters))
		return 0;
	return s->port->count.c[sample_counters[select]];
}

static void sample_step(struct fab *f, struct fab_timer *t)
{
	struct fab_samples *s = ut_container(t, struct fab_samples, timer);
	uint64_t interval = wire_get_PORT_SAMPLES_CONTROL_interval(s->control) * FAB_TICK_NS;
	unsigned i;

	for (i = 0; i < N_SAMPLES; i++)
		s->values[i] = sample_now(s, i) - (s->state == SAMPLE_RUNS ? s->values[i] : 0);
	if (s->state == SAMPLE_WAITS) {
		s->state = SAMPLE_RUNS;
		fab_timer_set(f, t, f->now + interval);
	} else {
		s->state = SAMPLE_DONE;
	}
}

static struct fab_samples *samples_of(struct fab_port *p)
{
	struct fab *f = p->node->fabric;
	struct fab_samples *s = p->samples;

	if (s)
		return s;
	s = ut_zalloc(sizeof(*s));
	if (!s || ut_heap_reserve(&f->timers) < 0) {
		free(s);
		return NULL;
	}
	s->timer.due = sample_step;
	s->port = p;
	p->samples = s;
	return s;
}

static void show_control(struct fab_port *p, uint8_t *data)
{
	uint8_t select = data[1];

	memset(data, 0, WIRE_PORT_SAMPLES_CONTROL_LEN);
	if (p->samples)
		memcpy(data, p->samples->control, WIRE_PORT_SAMPLES_CONTROL_LEN);
	data[1] = select;
	wire_set_PORT_SAMPLES_CONTROL_tick(data, SAMPLE_TICK_CODE);
	wire_set_PORT_SAMPLES_CONTROL_counter_width(data, 4);	/* 32 bits */
	wire_set_PORT_SAMPLES_CONTROL_mask0(data, 2);		/* counter 0 takes all five selections */
	wire_set_PORT_SAMPLES_CONTROL_mask1_9(data, 0x2492492);
	wire_set_PORT_SAMPLES_CONTROL_mechanisms(data, 1);
	wire_set_PORT_SAMPLES_CONTROL_status(data, p->samples ? p->samples->state : SAMPLE_DONE);
	wire_set_PORT_SAMPLES_CONTROL_option_mask(data, 0x3);	/* data, packets: see CAP_* */
}

/* A Set while samples are taken is ignored (16.1.3.3). */
static bool set_control(struct fab_port *p, const uint8_t *data)
{
	struct fab *f = p->node->fabric;
	struct fab_samples *s = samples_of(p);

	if (!s)
		return false;
	if (s->state != SAMPLE_DONE)
		return true;
	memcpy(s->control, data, sizeof(s->control));
	s->state = SAMPLE_WAITS;
	fab_timer_set(f, &s->timer, f->now + wire_get_PORT_SAMPLES_CONTROL_start(data) * FAB_TICK_NS);
	return true;
}

static void show_result(const struct fab_port *p, uint8_t *data, bool is_ext)
{
	const struct fab_samples *s = p->samples;
	unsigned i;

	memset(data, 0, MAD_LEN - MAD_DATA);
	if (!s)
		return;
	wire_set_PORT_SAMPLES_RESULT_tag(data, wire_get_PORT_SAMPLES_CONTROL_tag(s->control));
	wire_set_PORT_SAMPLES_RESULT_status(data, s->state);
	for (i = 0; i < N_SAMPLES && s->state == SAMPLE_DONE; i++)
		if (is_ext)
			wire_put64(data + 8 + 8 * i, s->values[i]);
		else
			wire_put32(data + 4 + 4 * i,
				   s->values[i] > UINT32_MAX ? UINT32_MAX : (uint32_t)s->values[i]);
}

void fab_pma_fini(struct fab_port *p)
{
	if (!p->samples)
		return;
	fab_timer_clear(p->node->fabric, &p->samples->timer);
	ut_heap_unreserve(&p->node->fabric->timers);
	free(p->samples);
	p->samples = NULL;
}

/* --- the agent --- */

static void show_class(uint8_t *data)
{
	memset(data, 0, MAD_LEN - MAD_DATA);
	wire_set_CLASS_PORT_INFO_base_version(data, 1);
	wire_set_CLASS_PORT_INFO_class_version(data, 1);
	wire_set_CLASS_PORT_INFO_capability_mask(data, CAP_ALL_PORTS | CAP_EXT_WIDTH | CAP_XMIT_WAIT);
	wire_set_CLASS_PORT_INFO_resp_time(data, RESP_TIME);
}

/* CAs have no port 0: of them it is the port by which the request came, as Linux' mlx5 has it. perfquery asks so without
 * a port. */
static unsigned selected_port(const struct fab_port *p, const uint8_t *data)
{
	return data[1] || p->node->type == FAB_SWITCH ? data[1] : p->num;
}

/* PortSelect: a port of the node, or all of them. */
static bool is_port(const struct fab_node *n, unsigned select, bool may_be_all)
{
	if (select == ALL_PORTS)
		return may_be_all;
	return select <= n->n_ports && (select || n->type == FAB_SWITCH);
}

static bool has_rows(unsigned attr)
{
	unsigned i;

	for (i = 0; i < N_ROWS; i++)
		if (rows[i].attr == attr)
			return true;
	return false;
}

static uint16_t counters(struct fab_port *p, unsigned attr, bool is_set, uint8_t *data)
{
	const struct lanes *l = lanes_of(attr);
	unsigned select = selected_port(p, data);
	struct fab_node *n = p->node;

	if (!l && !has_rows(attr))
		return MAD_BAD_ATTRIBUTE;
	if (!is_port(n, select, true))
		return MAD_BAD_FIELD;
	if (is_set && l)
		clear_lanes(n, l, select, (unsigned)wire_get_PMA_SELECT_counter_select(data));
	else if (is_set && !set_rows(n, attr, select, data))
		return MAD_BUSY;
	if (l)
		show_lanes(n, l, select, data);
	else
		show_rows(n, attr, select, data);
	return MAD_OK;
}

static uint16_t samples(struct fab_port *p, bool is_set, uint8_t *data)
{
	unsigned select = selected_port(p, data);

	if (!is_port(p->node, select, false))
		return MAD_BAD_FIELD;
	if (is_set && !set_control(&p->node->ports[select], data))
		return MAD_BUSY;
	show_control(&p->node->ports[select], data);
	return MAD_OK;
}

/* The result has no PortSelect: it is that of the samples set last at the node (16.1.3.4). */
static struct fab_port *sampled(struct fab_port *p)
{
	struct fab_node *n = p->node;
	struct fab_port *found = p;
	unsigned i;

	for (i = 0; i <= n->n_ports; i++)
		if (n->ports[i].samples && (!found->samples || n->ports[i].samples->state != SAMPLE_DONE))
			found = &n->ports[i];
	return found;
}

static uint16_t attribute(struct fab_port *p, unsigned attr, bool is_set, uint8_t *data)
{
	switch (attr) {
	case WIRE_PMA_ATTR_CLASS_PORT_INFO:
		show_class(data);
		return MAD_OK;
	case WIRE_PMA_ATTR_SAMPLES_CONTROL:
		return samples(p, is_set, data);
	case WIRE_PMA_ATTR_SAMPLES_RESULT:
	case WIRE_PMA_ATTR_SAMPLES_RESULT_EXT:
		if (is_set)
			return MAD_BAD_ATTRIBUTE;
		show_result(sampled(p), data, attr == WIRE_PMA_ATTR_SAMPLES_RESULT_EXT);
		return MAD_OK;
	default:
		return counters(p, attr, is_set, data);
	}
}

bool fab_pma_answer(struct fab_port *p, struct mad *m)
{
	unsigned method = (unsigned)wire_get_MAD_method(m->bytes);
	uint16_t status;

	if (mad_is_response(m))
		return false;
	if (wire_get_MAD_base_version(m->bytes) != 1 || wire_get_MAD_class_version(m->bytes) != 1)
		status = MAD_BAD_VERSION;
	else if (method != MAD_GET && method != MAD_SET)
		status = MAD_BAD_METHOD;
	else
		status = attribute(p, (unsigned)wire_get_MAD_attr_id(m->bytes), method == MAD_SET,
				   m->bytes + MAD_DATA);
	mad_answer(m, status);
	return true;
}
