/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "mgmt/fabric.h"

#include "mgmt/pma.h"
#include "mgmt/port.h"
#include "mgmt/switch.h"
#include "mgmt/table.h"
#include "mgmt/trap.h"
#include "util/alloc.h"

#include <ctype.h>

/* OUI of GUIDs that are made here: locally administered, so that no vendor's can be met. */
#define GUID_BASE 0x0200da0000000000u
#define GUID_TRIES 16

static const struct fab_ops no_ops;

struct fab *fab_new(const struct fab_ops *ops, void *ctx, uint64_t seed)
{
	struct fab *f = ut_zalloc(sizeof(*f));

	if (!f)
		return NULL;
	f->ops = ops ? ops : &no_ops;
	f->ctx = ctx;
	f->rng.state = seed;
	f->generation = 1;
	ut_list_init(&f->nodes);
	f->by_name = fab_table_new();
	f->by_guid = fab_table_new();
	if (f->by_name && f->by_guid)
		return f;
	fab_free(f);
	return NULL;
}

void fab_free(struct fab *f)
{
	struct fab_node *n, *tmp;

	if (!f)
		return;
	f->ops = &no_ops;
	ut_list_each_safe(n, tmp, &f->nodes, link)
		fab_node_remove(n);
	fab_table_free(f->by_name);
	fab_table_free(f->by_guid);
	ut_heap_fini(&f->timers);
	free(f);
}

void fab_timer_set(struct fab *f, struct fab_timer *t, uint64_t at)
{
	ut_timer_set(&f->timers, &t->at, at);
}

void fab_timer_clear(struct fab *f, struct fab_timer *t)
{
	ut_timer_clear(&f->timers, &t->at);
}

void fab_run(struct fab *f, uint64_t now)
{
	struct ut_timer *t;

	f->now = now;
	while ((t = ut_heap_expired(&f->timers, now))) {
		struct fab_timer *due = ut_container(t, struct fab_timer, at);

		due->due(f, due);
	}
}

uint64_t fab_next(const struct fab *f)
{
	return ut_heap_next(&f->timers);
}

void fab_touch(struct fab *f)
{
	f->generation++;
}

void fab_changed(struct fab_port *p, unsigned what)
{
	struct fab *f = p->node->fabric;

	f->generation++;
	if (f->ops->changed && fab_port_is_end(p))
		f->ops->changed(f->ctx, p, what);
}

/* --- nodes --- */

static bool is_name(const char *s)
{
	size_t n = strlen(s);

	if (n == 0 || n > FAB_NAME_MAX)
		return false;
	for (; *s; s++)
		if (!isprint((unsigned char)*s) || *s == '"')
			return false;
	return true;
}

static unsigned first_port(const struct fab_node *n)
{
	return n->type == FAB_SWITCH ? 0 : 1;
}

/* Made of the name, so that a fabric that is made again, or edited, has the same GUIDs. Eight bits are for ports. */
static uint64_t free_guid(const struct fab_node *n)
{
	uint64_t hash = fab_table_hash(n->name), guid = 0;
	unsigned i;

	for (i = 0; i < GUID_TRIES; i++) {
		guid = GUID_BASE | (uint64_t)((uint32_t)(hash >> 32 ^ hash) + i) << 8;
		if (!fab_table_get(n->fabric->by_guid, guid) && !fab_table_get(n->fabric->by_guid, guid + 1))
			break;
	}
	return guid;
}

/* The port GUID of a switch is that of its node (14.2.5.3). */
static void give_guids(struct fab_node *n, const struct fab_node_spec *spec)
{
	uint64_t port = spec->port_guid;
	unsigned i;

	n->guid = spec->guid ? spec->guid : free_guid(n);
	n->system_guid = spec->system_guid ? spec->system_guid : n->guid;
	if (n->type == FAB_SWITCH)
		port = n->guid;
	else if (!port)
		port = n->guid + 1;
	for (i = first_port(n); i <= n->n_ports; i++)
		n->ports[i].guid = n->type == FAB_SWITCH ? port : port + i - 1;
}

static void forget_guids(struct fab_node *n)
{
	unsigned i;

	fab_table_del(n->fabric->by_guid, n->guid, n);
	for (i = first_port(n); i <= n->n_ports; i++)
		fab_table_del(n->fabric->by_guid, n->ports[i].guid, n);
	fab_table_del(n->fabric->by_name, fab_table_hash(n->name), n);
}

static int publish_guids(struct fab_node *n)
{
	unsigned i;
	int r;

	r = fab_table_add(n->fabric->by_name, fab_table_hash(n->name), n);
	if (r == 0)
		r = fab_table_add(n->fabric->by_guid, n->guid, n);
	for (i = first_port(n); r == 0 && i <= n->n_ports; i++)
		r = fab_table_add(n->fabric->by_guid, n->ports[i].guid, n);
	if (r < 0)
		forget_guids(n);
	return r;
}

static void put_description(struct fab_node *n, const char *text)
{
	memset(n->description, 0, sizeof(n->description));
	memcpy(n->description, text, strnlen(text, sizeof(n->description)));
}

/* Room in the heap for the leases of those ports that have an M_Key. */
static int reserve_leases(struct fab_node *n)
{
	unsigned i, last = n->type == FAB_SWITCH ? 0 : n->n_ports;

	for (i = first_port(n); i <= last; i++)
		if (ut_heap_reserve(&n->fabric->timers) < 0) {
			while (i-- > first_port(n))
				ut_heap_unreserve(&n->fabric->timers);
			return -ENOMEM;
		}
	return 0;
}

static void release_leases(struct fab_node *n)
{
	unsigned i, last = n->type == FAB_SWITCH ? 0 : n->n_ports;

	for (i = first_port(n); i <= last; i++) {
		fab_timer_clear(n->fabric, &n->ports[i].lease);
		ut_heap_unreserve(&n->fabric->timers);
	}
}

static struct fab_node *node_new(struct fab *f, const struct fab_node_spec *spec)
{
	struct fab_node *n = ut_zalloc(sizeof(*n));

	if (!n)
		return NULL;
	n->fabric = f;
	n->type = (uint8_t)spec->type;
	n->n_ports = (uint8_t)spec->n_ports;
	n->index = ++f->next_index;
	n->vendor = spec->vendor ? spec->vendor : 0x00da00;
	n->device = spec->device ? spec->device : spec->type;
	n->revision = spec->revision;
	memcpy(n->name, spec->name, strlen(spec->name));
	put_description(n, spec->description ? spec->description : spec->name);
	n->ports = ut_calloc(spec->n_ports + 1u, sizeof(*n->ports));
	if (n->type == FAB_SWITCH)
		n->sw = fab_switch_new();
	if (n->ports && (n->sw || n->type != FAB_SWITCH))
		return n;
	free(n->ports);
	fab_switch_free(n->sw);
	free(n);
	return NULL;
}

int fab_node_add(struct fab *f, const struct fab_node_spec *spec, struct fab_node **ret)
{
	struct fab_node *n;
	unsigned i;
	int r;

	if (!is_name(spec->name) || spec->n_ports < 1 || spec->n_ports > FAB_PORTS_MAX || spec->type < FAB_CA ||
	    spec->type > FAB_ROUTER)
		return -EINVAL;
	if (f->n_nodes >= FAB_NODES_MAX)
		return -ENOSPC;
	n = node_new(f, spec);
	if (!n)
		return -ENOMEM;
	for (i = 0; i <= n->n_ports; i++)
		n->ports[i].node = n;
	give_guids(n, spec);
	r = publish_guids(n);
	if (r == 0) {
		r = reserve_leases(n);
		if (r < 0)
			forget_guids(n);
	}
	if (r < 0) {
		fab_switch_free(n->sw);
		free(n->ports);
		free(n);
		return r;
	}
	for (i = first_port(n); i <= n->n_ports; i++)
		fab_port_init(&n->ports[i], n, i);
	ut_list_add_tail(&f->nodes, &n->link);
	f->n_nodes++;
	fab_touch(f);
	*ret = n;
	return 0;
}

void fab_node_remove(struct fab_node *n)
{
	struct fab *f = n->fabric;
	unsigned i;

	for (i = 1; i <= n->n_ports; i++)
		fab_unlink(&n->ports[i]);
	release_leases(n);
	fab_traps_free(n);
	for (i = 0; i <= n->n_ports; i++)
		fab_port_fini(&n->ports[i]);
	forget_guids(n);
	ut_list_del(&n->link);
	f->n_nodes--;
	fab_touch(f);
	fab_switch_free(n->sw);
	free(n->ports);
	free(n);
}

struct fab_node *fab_node_by_guid(const struct fab *f, uint64_t guid)
{
	return fab_table_get(f->by_guid, guid);
}

/* "0x..." or ibnetdiscover's "H-...": 16 digits behind a letter. Returns 0 if it is neither. */
static uint64_t guid_of_name(const char *name)
{
	char *end;
	uint64_t guid;

	if (name[0] && name[1] == '-' && strchr("HSR", name[0]))
		name += 2;
	else if (name[0] != '0' || (name[1] | 0x20) != 'x')
		return 0;
	guid = strtoull(name, &end, 16);
	return *end ? 0 : guid;
}

struct fab_node *fab_node_by_name(const struct fab *f, const char *name)
{
	struct fab_node *n = fab_table_get(f->by_name, fab_table_hash(name));
	uint64_t guid;

	if (n && strcmp(n->name, name) == 0)
		return n;
	guid = guid_of_name(name);
	return guid ? fab_node_by_guid(f, guid) : NULL;
}

struct fab_port *fab_node_port(const struct fab_node *n, unsigned num)
{
	return num <= n->n_ports && num >= first_port(n) ? &n->ports[num] : NULL;
}

struct fab_port *fab_port_by_guid(const struct fab *f, uint64_t guid)
{
	struct fab_node *n = fab_node_by_guid(f, guid);
	unsigned i;

	if (!n)
		return NULL;
	if (n->type == FAB_SWITCH)
		return n->guid == guid ? &n->ports[0] : NULL;
	for (i = 1; i <= n->n_ports; i++)
		if (n->ports[i].guid == guid)
			return &n->ports[i];
	return NULL;
}

int fab_port_set_guid(struct fab_port *p, uint64_t guid)
{
	struct fab_table *t = p->node->fabric->by_guid;
	int r;

	if (guid == p->guid)
		return 0;
	r = fab_table_add(t, guid, p->node);
	if (r < 0)
		return r;
	if (p->guid != p->node->guid)
		fab_table_del(t, p->guid, p->node);
	p->guid = guid;
	fab_changed(p, FAB_CHANGED_GIDS);
	return 0;
}

void fab_node_describe(struct fab_node *n, const char *text)
{
	uint8_t before[WIRE_NODE_DESC_LEN];

	memcpy(before, n->description, sizeof(before));
	put_description(n, text);
	if (memcmp(before, n->description, sizeof(before)) != 0)
		fab_trap_local(&n->ports[first_port(n)], FAB_LOCAL_DESCRIPTION);
}

void fab_node_set_image(struct fab_node *n, uint64_t system_guid)
{
	if (n->system_guid == system_guid)
		return;
	n->system_guid = system_guid;
	fab_trap_system_guid(n);
}

/* --- links --- */

int fab_link(struct fab_port *a, struct fab_port *b)
{
	if (a == b || a->num == 0 || b->num == 0)
		return -EINVAL;
	if (a->peer || b->peer || a->is_trunk || b->is_trunk)
		return -EBUSY;
	a->peer = b;
	b->peer = a;
	fab_touch(a->node->fabric);
	fab_port_train(a);
	return 0;
}

void fab_unlink(struct fab_port *p)
{
	struct fab_port *peer = p->peer;

	if (!peer && !p->is_trunk)
		return;
	p->peer = NULL;
	p->is_trunk = p->is_cut = false;
	fab_touch(p->node->fabric);
	if (peer) {
		peer->peer = NULL;
		peer->is_cut = false;
		fab_port_train(peer);
	}
	fab_port_train(p);
}

/* --- what programs see --- */

bool fab_port_is_end(const struct fab_port *p)
{
	return p->node->type != FAB_SWITCH || p->num == 0;
}

struct fab_port *fab_port_base(struct fab_port *p)
{
	return fab_port_is_end(p) ? p : &p->node->ports[0];
}

unsigned fab_port_n_guids(const struct fab_port *p)
{
	return (unsigned)wire_get_PORT_INFO_guid_cap(p->info);
}

uint64_t fab_port_guid(const struct fab_port *p, unsigned index)
{
	if (index == 0)
		return p->guid;
	return p->guids && index < fab_port_n_guids(p) ? p->guids[index] : 0;
}

unsigned fab_port_n_pkeys(const struct fab_port *p)
{
	return fab_port_is_end(p) ? FAB_PKEYS_CA : FAB_PKEYS_SWITCH;
}

uint16_t fab_port_pkey(const struct fab_port *p, unsigned index)
{
	if (p->pkeys)
		return index < p->pkeys->n ? p->pkeys->key[index] : 0;
	return index == 0 && fab_port_is_end(p) ? 0xffff : 0;
}

unsigned fab_port_rate(const struct fab_port *p)
{
	static const uint16_t plain[] = { [FAB_SDR] = 25, [FAB_DDR] = 50, [FAB_QDR] = 100 };
	static const uint16_t ext[] = { [FAB_FDR] = 140, [FAB_EDR] = 250, [FAB_HDR] = 500, [FAB_NDR] = 1000 };
	static const uint8_t lanes[] = { [FAB_1X] = 1, [FAB_4X] = 4, [FAB_8X] = 8, [FAB_12X] = 12, [FAB_2X] = 2 };
	unsigned w = (unsigned)wire_get_PORT_INFO_width_active(p->info);
	unsigned s = (unsigned)wire_get_PORT_INFO_speed_active(p->info);
	unsigned e = (unsigned)wire_get_PORT_INFO_ext_speed_active(p->info);

	if (fab_port_state(p) == FAB_DOWN || w > FAB_2X || s > FAB_QDR || e > FAB_NDR)
		return 0;
	return lanes[w] * (e ? ext[e] : plain[s]);
}

void fab_port_set_capabilities(struct fab_port *p, uint32_t set, uint32_t clear)
{
	uint32_t before = (uint32_t)wire_get_PORT_INFO_capability_mask(p->info);
	uint32_t now = (before & ~clear) | set;

	if (now == before)
		return;
	wire_set_PORT_INFO_capability_mask(p->info, now);
	fab_changed(p, FAB_CHANGED_INFO);
	fab_trap_local(p, 0);
}

void fab_port_set_is_sm(struct fab_port *p, bool is_sm)
{
	fab_port_set_capabilities(p, is_sm ? FAB_CAP_SM : 0, is_sm ? 0 : FAB_CAP_SM);
}
