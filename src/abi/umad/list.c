/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Adapters and their ports. Names are limited to 19 bytes in these structures;
 * an adapter with a longer one is left out, and the log says so.
 */
#include "abi/umad/list.h"

#include "abi/umad/place.h"
#include "abi/umad/refuse.h"
#include "device/devices.h"
#include "device/port.h"
#include "device/version.h"
#include "engine/event.h"
#include "engine/gid.h"
#include "util/alloc.h"
#include "util/export.h"
#include "util/log.h"

#include <endian.h>
#include <errno.h>
#include <infiniband/umad.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

UT_EXPORT int umad_init(void)
{
	return 0;
}

UT_EXPORT int umad_done(void)
{
	return 0;
}

/* Returns the level, for callers that print by it; this library prints nothing. */
UT_EXPORT int umad_debug(int level)
{
	static int now;

	if (level >= 0)
		now = level;
	return now;
}

static bool fits(const struct dev_info *d)
{
	if (strlen(d->name) < UMAD_CA_NAME_LEN)
		return true;
	ut_warn("%s: libibumad cannot list the adapter (its structures hold names of %d bytes): programs of "
		"libibumad do not find it; give the interface a shorter name",
		d->name, UMAD_CA_NAME_LEN - 1);
	return false;
}

/* The node of a fabric to which this process is attached comes first, whatever other adapters are chosen. */
int umad_list(struct dev_info **ret)
{
	struct dev_info *v, *w;
	int n = dev_list(&v), kept = 0;

	if (n < 0)
		return n;
	w = ut_calloc((size_t)n + 1, sizeof(*w));
	if (!w) {
		free(v);
		return -ENOMEM;
	}
	if (umad_place_info(&w[0]))
		kept++;
	for (int i = 0; i < n; i++)
		if (v[i].kind != DEV_IB && fits(&v[i]))
			w[kept++] = v[i];
	free(v);
	*ret = w;
	return kept;
}

int umad_find(const char *name, struct dev_info *ret)
{
	struct dev_info *v;
	int n = umad_list(&v), rc = -ENODEV;

	if (n < 0)
		return n;
	for (int i = 0; i < n && rc; i++) {
		if (name && strcmp(name, v[i].name))
			continue;
		*ret = v[i];
		rc = 0;
	}
	free(v);
	return rc;
}

UT_EXPORT int umad_get_cas_names(char cas[][UMAD_CA_NAME_LEN], int max)
{
	struct dev_info *v;
	int n = umad_list(&v), i;

	if (n < 0)
		return n;
	for (i = 0; i < n && i < max; i++)
		memcpy(cas[i], v[i].name, UMAD_CA_NAME_LEN);
	free(v);
	return i;
}

static const char *layer_name(uint8_t layer)
{
	return layer == IBV_LINK_LAYER_ETHERNET ? "Ethernet" : "InfiniBand";
}

static void fill_attr(umad_port_t *p, const struct ibv_port_attr *a)
{
	p->base_lid = a->lid;
	p->lmc = a->lmc;
	p->sm_lid = a->sm_lid;
	p->sm_sl = a->sm_sl;
	p->state = a->state;
	p->phys_state = a->phys_state;
	p->rate = dev_rate_x10(a->active_width, a->active_speed) / 10;
	p->capmask = htobe32(a->port_cap_flags);
	snprintf(p->link_layer, sizeof(p->link_layer), "%s", layer_name(a->link_layer));
}

/* Queries an open adapter; opening binds no address and starts no thread. */
static int ask_adapter(const struct dev_info *d, umad_port_t *p)
{
	struct ibv_port_attr attr = { 0 };
	struct eng_gid gid;
	struct eng_ctx *ctx;
	int rc = dev_open(d, &ctx);

	if (rc)
		return rc;
	rc = eng_port_query(ctx->dev, &attr);
	if (!rc) {
		fill_attr(p, &attr);
		if (!eng_gid_get(ctx->dev, 0, &gid) && gid.valid) {
			p->gid_prefix = gid.gid.global.subnet_prefix;
			p->port_guid = gid.gid.global.interface_id;
		}
	}
	dev_close(ctx);
	return rc;
}

static int fill_port(const struct dev_info *d, umad_port_t *p)
{
	int rc;

	memset(p, 0, sizeof(*p));
	memcpy(p->ca_name, d->name, UMAD_CA_NAME_LEN);
	p->portnum = ENG_PORT_NUM;
	rc = ask_adapter(d, p);
	if (rc)
		return rc;
	p->pkeys = ut_calloc(1, sizeof(*p->pkeys));
	if (!p->pkeys)
		return -ENOMEM;
	p->pkeys[0] = ENG_PKEY_DEFAULT;
	p->pkeys_size = 1;
	return 0;
}

/* The first port that is ACTIVE, else the first whose link is up, else the first one (libibumad's order). */
static const struct att_port *usual_port(const struct umad_node *n)
{
	for (unsigned i = 0; i < n->n; i++)
		if (n->ports[i].state == IBV_PORT_ACTIVE)
			return &n->ports[i];
	for (unsigned i = 0; i < n->n; i++)
		if (n->ports[i].phys_state == 5)
			return &n->ports[i];
	return n->n ? &n->ports[0] : NULL;
}

/* Port 0 of a CA is the usual one. */
static const struct att_port *find_port(const struct umad_node *n, int number)
{
	for (unsigned i = 0; i < n->n; i++)
		if (n->ports[i].number == number)
			return &n->ports[i];
	return number ? NULL : usual_port(n);
}

static int fabric_port(int number, umad_port_t *ret)
{
	struct umad_node n;
	const struct att_port *p;
	int r = umad_node_ask(&n);

	if (r)
		return r;
	p = find_port(&n, number);
	r = p ? umad_port_fill(p, ret) : umad_refuse(UMAD_R_PORT);
	umad_node_free(&n);
	return r;
}

int umad_port_number(const char *ca_name, int number)
{
	umad_port_t p;
	int r = umad_get_port(ca_name, number, &p);

	if (r)
		return r;
	r = p.portnum;
	umad_release_port(&p);
	return r;
}

UT_EXPORT int umad_get_port(const char *ca_name, int portnum, umad_port_t *port)
{
	struct dev_info d;
	int rc = umad_find(ca_name, &d);

	if (rc)
		return rc;
	if (d.kind == DEV_IB)
		return fabric_port(portnum, port);
	if (portnum != 0 && portnum != ENG_PORT_NUM)
		return -EINVAL;
	return fill_port(&d, port);
}

UT_EXPORT int umad_release_port(umad_port_t *port)
{
	if (!port)
		return -ENODEV;
	free(port->pkeys);
	port->pkeys = NULL;
	port->pkeys_size = 0;
	return 0;
}

static int add_port(umad_ca_t *ca, const struct att_port *p)
{
	umad_port_t *ret;
	int r;

	if (p->number >= UMAD_CA_MAX_PORTS)
		return 0;
	ret = ut_zalloc(sizeof(*ret));
	r = ret ? umad_port_fill(p, ret) : -ENOMEM;
	if (r)
		free(ret);
	else
		ca->ports[p->number] = ret;
	if (!r && p->number > ca->numports)
		ca->numports = p->number;
	return r;
}

/* The ports of a node of a fabric, as many as the structure holds. */
static int add_ports(umad_ca_t *ca)
{
	struct umad_node n;
	int r = umad_node_ask(&n);

	if (r)
		return r;
	snprintf(ca->hw_ver, sizeof(ca->hw_ver), "%x", n.node.revision);
	for (unsigned i = 0; i < n.n && !r; i++)
		r = add_port(ca, &n.ports[i]);
	umad_node_free(&n);
	if (r)
		umad_release_ca(ca);
	return r;
}

UT_EXPORT int umad_get_ca(const char *ca_name, umad_ca_t *ca)
{
	struct dev_info d;
	int rc = umad_find(ca_name, &d);

	if (rc)
		return rc;
	memset(ca, 0, sizeof(*ca));
	memcpy(ca->ca_name, d.name, UMAD_CA_NAME_LEN);
	ca->node_type = d.node_type;
	snprintf(ca->ca_type, sizeof(ca->ca_type), "dapple");
	snprintf(ca->fw_ver, sizeof(ca->fw_ver), "%s", dev_version());
	ca->node_guid = ca->system_guid = htobe64(d.guid);
	if (d.kind == DEV_IB) {
		ca->system_guid = htobe64(d.image_guid);
		return add_ports(ca);
	}
	ca->numports = 1;
	ca->ports[1] = ut_zalloc(sizeof(*ca->ports[1]));
	if (!ca->ports[1])
		return -ENOMEM;
	rc = fill_port(&d, ca->ports[1]);
	if (rc) {
		free(ca->ports[1]);
		ca->ports[1] = NULL;
	}
	return rc;
}

UT_EXPORT int umad_release_ca(umad_ca_t *ca)
{
	if (!ca)
		return -ENODEV;
	for (int i = 0; i < UMAD_CA_MAX_PORTS; i++) {
		if (!ca->ports[i])
			continue;
		umad_release_port(ca->ports[i]);
		free(ca->ports[i]);
		ca->ports[i] = NULL;
	}
	return 0;
}

/* Entry 0 is that of a switch port, which an adapter does not have. Returns the number of entries
 * or a negative errno. */
UT_EXPORT int umad_get_ca_portguids(const char *ca_name, __be64 *guids, int max)
{
	umad_ca_t ca;
	int rc = umad_get_ca(ca_name, &ca), n = 0;

	if (rc)
		return rc;
	if (guids) {
		if (ca.numports + 1 > max) {
			umad_release_ca(&ca);
			return -ENOMEM;
		}
		for (n = 0; n <= ca.numports; n++)
			guids[n] = ca.ports[n] ? ca.ports[n]->port_guid : htobe64(0);
	}
	umad_release_ca(&ca);
	return n;
}
