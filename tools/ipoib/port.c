/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "port.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "util/clock.h"
#include "util/sys.h"
#include "wire/field.h"

#define PORT 1
#define AGENT 0
#define CLASS_VERSION 2
#define ANSWER_MS 5000
#define PORT_ACTIVE 4          /* PortInfo, IBTA 14.2.5.6 */
#define PKEY_FULL 0x8000

static void send_mad(void *ctx, const uint8_t mad[MAD_LEN])
{
	struct port *p = ctx;
	struct att_msg m = { .type = ATT_MAD, .u.mad = { .agent = AGENT, .addr = {
		.qpn = 1, .qkey = MAD_QKEY_GSI, .lid = p->now.sm_lid, .sl = p->now.sm_sl } } };

	memcpy(m.u.mad.bytes, mad, MAD_LEN);
	att_send(p->fd, &m, 0); /* one that is lost is repeated */
}

static void path_found(void *ctx, uint64_t ticket, int status, const struct sac_path *path)
{
	struct port *p = ctx;

	p->ops->path(p->ctx, ticket, status, path);
}

static void group_found(void *ctx, uint64_t ticket, int status, const struct sac_group *g)
{
	struct port *p = ctx;

	p->ops->group(p->ctx, ticket, status, g);
}

static void name_found(void *ctx, uint64_t ticket, int status, const struct sac_name *n)
{
	struct port *p = ctx;

	p->ops->name(p->ctx, ticket, status, n);
}

static const struct sac_ops sa_ops = { .send = send_mad, .path = path_found, .group = group_found, .name = name_found };

static void take_port(struct port *p, const struct att_port *now)
{
	p->now = *now;
	wire_put64(p->gid, now->gid_prefix);
	wire_put64(p->gid + 8, now->guid);
}

/* Waits until the agent is registered and the port is known. */
static int begin(struct port *p)
{
	struct att_msg m = { .type = ATT_REGISTER, .u.reg = { .agent = AGENT, .qpn = 1, .mgmt_class = MAD_CLASS_SA,
							       .class_version = CLASS_VERSION } };
	bool is_registered = false;
	int r = att_send(p->fd, &m, ANSWER_MS);

	while (r >= 0 && !(is_registered && p->now.guid)) {
		r = att_wait(p->fd, &m, ANSWER_MS);
		if (r == 0)
			r = -EPIPE;
		if (r == 1 && m.type == ATT_PORT)
			take_port(p, &m.u.port);
		if (r != 1 || m.type != ATT_REGISTERED)
			continue;
		if (m.u.registered.err)
			return m.u.registered.err;
		is_registered = true;
		sac_agent(&p->sa, m.u.registered.tid_high);
	}
	return r < 0 ? r : 0;
}

static int open_names(struct port *p, const struct att_place *where, char why[ATT_WHY_MAX])
{
	const struct fabric_place at = { where->fabric, where->node, PORT };
	char text[FABRIC_WHY_MAX];
	int r = fabric_names_open(&at, &p->names, text);

	if (r < 0)
		snprintf(why, ATT_WHY_MAX, "%s", text);
	return r;
}

static int attach(struct port *p, const struct att_place *where, char why[ATT_WHY_MAX])
{
	struct att_welcome w;
	int r;

	p->fd = att_connect(where, PORT, &w, why);
	if (p->fd < 0)
		return p->fd;
	r = begin(p);
	if (r < 0)
		snprintf(why, ATT_WHY_MAX, "the port of node %s does not answer (%s): it has no IP over InfiniBand; see dapple fabric "
			 "show", where->node, strerror(-r));
	else
		r = open_names(p, where, why);
	if (r < 0)
		ut_close(p->fd);
	return r;
}

int port_open(struct port *p, const struct port_ops *ops, void *ctx, char why[ATT_WHY_MAX])
{
	struct att_place where;
	int r = att_place_of_env(&where, why);

	*p = (struct port){ .ops = ops, .ctx = ctx, .fd = -1 };
	sac_init(&p->sa, &sa_ops, p);
	if (r == 0)
		snprintf(why, ATT_WHY_MAX, "DAPPLE_FABRIC is not set: there is no node that could have IP over InfiniBand; use dapple "
			 "fabric up --ipoib");
	if (r <= 0)
		return r ? r : -EINVAL;
	return attach(p, &where, why);
}

void port_close(struct port *p)
{
	sac_fini(&p->sa);
	fabric_names_close(p->names);
	ut_close(p->fd);
	p->fd = -1;
}

bool port_serve(struct port *p)
{
	struct att_msg m;
	int r;

	while ((r = att_receive(p->fd, &m, true)) == 1) {
		if (m.type == ATT_MAD && m.u.mad.agent == AGENT)
			sac_receive(&p->sa, m.u.mad.bytes, ut_now());
		if (m.type != ATT_PORT)
			continue;
		if (m.u.port.events & ATT_NODE_GONE)
			return false;
		take_port(p, &m.u.port);
		p->ops->changed(p->ctx, m.u.port.events);
	}
	return r == -EAGAIN;
}

bool port_is_active(const struct port *p)
{
	return p->now.state == PORT_ACTIVE && p->now.sm_lid;
}

int port_pkey_index(const struct port *p, uint16_t pkey)
{
	int i;

	for (i = 0; i < p->now.pkeys_n; i++)
		if ((p->now.pkeys[i] | PKEY_FULL) == (pkey | PKEY_FULL) && (p->now.pkeys[i] & ~PKEY_FULL))
			return i;
	return -1;
}

bool port_is_last(const struct port *p, const uint8_t mgid[16], uint32_t qpn)
{
	uint32_t others = 0;

	return fabric_names_members(p->names, mgid, qpn >> PKT_SLOT_SHIFT, &others) == 0 && !others;
}
