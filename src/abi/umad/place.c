/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "abi/umad/place.h"

#include "abi/umad/refuse.h"
#include "device/port.h"
#include "device/why.h"
#include "util/alloc.h"
#include "util/log.h"
#include "util/sys.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A fabric process that has stopped must not stop its visitors for good. */
#define ANSWER_MS 5000

static void say(const char *why)
{
	ut_warn("%s", why);
	dev_why_keep(UT_SAY_FAILURE, why);
}

/* Returns a socket or a negative errno, -ENODEV without a word if the environment names no node. */
static int attach(unsigned port, struct att_welcome *ret)
{
	char why[ATT_WHY_MAX];
	struct att_place where;
	int r = att_place_of_env(&where, why);

	if (!r)
		return -ENODEV;
	if (r > 0)
		r = att_connect(&where, port, ret, why);
	if (r < 0)
		say(why);
	return r;
}

static int read_ports(int fd, struct umad_node *ret)
{
	struct att_msg m;
	int r;

	for (ret->n = 0; ret->n < ret->node.ports; ret->n++) {
		do
			r = att_wait(fd, &m, ANSWER_MS);
		while (r == 1 && m.type != ATT_PORT);
		if (r != 1)
			return r ? r : -EIO;
		ret->ports[ret->n] = m.u.port;
	}
	return 0;
}

int umad_node_ask(struct umad_node *ret)
{
	int fd, r;

	memset(ret, 0, sizeof(*ret));
	fd = attach(0, &ret->node);
	if (fd < 0)
		return fd;
	ret->ports = ut_calloc(ret->node.ports ? ret->node.ports : 1u, sizeof(*ret->ports));
	r = ret->ports ? read_ports(fd, ret) : -ENOMEM;
	ut_close(fd);
	if (r)
		umad_node_free(ret);
	return r;
}

void umad_node_free(struct umad_node *n)
{
	free(n->ports);
	n->ports = NULL;
	n->n = 0;
}

bool umad_place_info(struct dev_info *ret)
{
	struct att_welcome node;
	int fd = attach(0, &node);

	if (fd < 0)
		return false;
	ut_close(fd);
	memset(ret, 0, sizeof(*ret));
	snprintf(ret->name, sizeof(ret->name), DEV_NODE_NAME);
	ret->kind = DEV_IB;
	ret->node_type = node.node_type == 2 ? IBV_NODE_SWITCH : node.node_type == 3 ? IBV_NODE_ROUTER : IBV_NODE_CA;
	ret->guid = node.node_guid;
	ret->image_guid = node.image_guid;
	return true;
}

int umad_place_attach(unsigned port)
{
	struct att_welcome node;
	int fd = attach(port, &node);

	if (fd == -EINVAL)
		return umad_refuse(UMAD_R_PORT);
	return fd < 0 ? umad_refuse(UMAD_R_FABRIC) : fd;
}

int umad_place_issm(unsigned port, char *path, int max)
{
	char answer[ATT_PATH_MAX];
	int fd = umad_place_attach(port), r;

	if (fd < 0)
		return fd;
	r = att_ask_file(fd, ATT_ISSM, answer);
	ut_close(fd);
	if (r)
		return umad_refuse(UMAD_R_BUSY);
	if (max <= 0 || strlen(answer) >= (size_t)max)
		return umad_refuse(UMAD_R_LONG);
	memcpy(path, answer, strlen(answer) + 1);
	return 0;
}

static uint16_t *copy_pkeys(const struct att_port *p)
{
	unsigned n = p->pkeys_n ? p->pkeys_n : 1;
	uint16_t *v = ut_calloc(n, sizeof(*v));

	if (v)
		memcpy(v, p->pkeys, p->pkeys_n * sizeof(*v));
	return v;
}

/* The code of verbs: extended speeds lie above the others. */
static uint8_t active_speed(const struct att_port *p)
{
	return p->speed_ext_active ? (uint8_t)(p->speed_ext_active << 4) : p->speed_active;
}

int umad_port_fill(const struct att_port *p, umad_port_t *ret)
{
	memset(ret, 0, sizeof(*ret));
	snprintf(ret->ca_name, sizeof(ret->ca_name), DEV_NODE_NAME);
	ret->portnum = p->number;
	ret->base_lid = p->lid;
	ret->lmc = p->lmc;
	ret->sm_lid = p->sm_lid;
	ret->sm_sl = p->sm_sl;
	ret->state = p->state;
	ret->phys_state = p->phys_state;
	ret->rate = dev_rate_x10(p->width_active, active_speed(p)) / 10;
	ret->capmask = htobe32(p->cap_mask);
	ret->gid_prefix = htobe64(p->gid_prefix);
	ret->port_guid = htobe64(p->guid);
	snprintf(ret->link_layer, sizeof(ret->link_layer), "InfiniBand");
	ret->pkeys = copy_pkeys(p);
	ret->pkeys_size = p->pkeys_n ? p->pkeys_n : 1u;
	return ret->pkeys ? 0 : -ENOMEM;
}
