/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The port while its network interface changes. In a network
 * namespace of our own with one dummy interface (or one end of a veth), so only for adapters that
 * exist per interface:
 *
 *      +-- namespace -------------------------+
 *      |  cfdev0  192.0.2.1/24                |
 *      +--------------------------------------+
 */
#include "conf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Its adapter of the kind that is tested: CONFORM_DEVICE's, or RoCE. */
static struct ibv_context *open_on_cfdev(void)
{
	const char *like = getenv("CONFORM_DEVICE");
	struct ibv_device **list;
	struct ibv_context *ctx = NULL;
	char want[64];
	int n = 0;

	if (!like || !strrchr(like, '_'))
		like = "dpl_roce_lo";
	snprintf(want, sizeof(want), "%.*s_cfdev0", (int)(strrchr(like, '_') - like), like);
	list = ibv_get_device_list(&n);
	for (int i = 0; i < n; i++)
		if (!strcmp(ibv_get_device_name(list[i]), want))
			ctx = ibv_open_device(list[i]);
	if (list)
		ibv_free_device_list(list);
	if (!ctx)
		cf_skip("no adapter belongs to the interface");
	cf_keep((cf_undo)ibv_close_device, ctx, "ibv_close_device");
	return ctx;
}

/* An adapter at work notices by itself; one that is only open should as well. */
static void at_work(struct ibv_context *ctx)
{
	struct ibv_pd *pd = cf_pd(ctx);
	struct ibv_cq *cq = cf_cq(ctx, 4, NULL);

	cf_qp(pd, &(struct ibv_qp_init_attr){ .qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq,
					      .cap = { 1, 1, 1, 1, 0 } });
}

static struct ibv_port_attr port_of(struct ibv_context *ctx)
{
	struct ibv_port_attr p;

	CF_OK(ibv_query_port(ctx, 1, &p));
	return p;
}

/* Index of ::ffff:a.b.c.d, or -1. */
static int find_gid(struct ibv_context *ctx, const uint8_t v4[4])
{
	struct ibv_gid_entry e;

	for (int i = 0; i < port_of(ctx).gid_tbl_len; i++)
		if (!ibv_query_gid_ex(ctx, 1, i, &e, 0) && !memcmp(e.gid.raw + 12, v4, 4) &&
		    e.gid.raw[10] == 0xff && e.gid_type == IBV_GID_TYPE_ROCE_V2)
			return i;
	return -1;
}

static void await_gid(struct ibv_context *ctx, const uint8_t v4[4], bool there)
{
	struct ibv_async_event e;

	while ((find_gid(ctx, v4) >= 0) != there) {
		if (!cf_readable(ctx->async_fd, CF_WAIT_MS))
			CF_DIE("no GID_CHANGE");
		CF_OK(ibv_get_async_event(ctx, &e));
		ibv_ack_async_event(&e);
		CF_EQ(e.event_type, IBV_EVENT_GID_CHANGE);
		CF_EQ(e.element.port_num, 1);
	}
}

static void gid_table_of(bool working)
{
	static const uint8_t first[4] = { 192, 0, 2, 1 }, second[4] = { 192, 0, 2, 2 };
	struct ibv_context *ctx;
	int i1, i2;

	cf_netns();
	ctx = open_on_cfdev();
	if (working)
		at_work(ctx);
	i1 = find_gid(ctx, first);
	CF_TRUE(i1 >= 0);
	CF_EQ(find_gid(ctx, second), -1);
	CF_OK(cf_ip("address add 192.0.2.2/24 dev cfdev0"));
	await_gid(ctx, second, true);
	i2 = find_gid(ctx, second);
	CF_EQ(find_gid(ctx, first), i1);
	CF_OK(cf_ip("address add 192.0.2.3/24 dev cfdev0"));
	await_gid(ctx, (const uint8_t[4]){ 192, 0, 2, 3 }, true);
	CF_OK(cf_ip("address del 192.0.2.3/24 dev cfdev0"));
	await_gid(ctx, (const uint8_t[4]){ 192, 0, 2, 3 }, false);
	CF_EQ(find_gid(ctx, second), i2); /* the index stays */
	CF_OK(cf_ip("address del 192.0.2.2/24 dev cfdev0"));
	await_gid(ctx, second, false);
	CF_EQ(find_gid(ctx, first), i1);
}

static void gid_table(void)
{
	gid_table_of(true);
}

static void gid_table_idle(void)
{
	gid_table_of(false);
}

static void await_port(struct ibv_context *ctx, enum ibv_event_type want)
{
	struct ibv_async_event e;

	do {
		if (!cf_readable(ctx->async_fd, CF_WAIT_MS))
			CF_DIE("no \"%s\"", ibv_event_type_str(want));
		CF_OK(ibv_get_async_event(ctx, &e));
		ibv_ack_async_event(&e);
	} while (e.event_type != want);
	CF_EQ(e.element.port_num, 1);
}

static void link_state_of(bool working)
{
	struct ibv_context *ctx;

	cf_netns();
	ctx = open_on_cfdev();
	if (working)
		at_work(ctx);
	CF_EQ(port_of(ctx).state, IBV_PORT_ACTIVE);
	CF_EQ(port_of(ctx).phys_state, 5);
	CF_OK(cf_ip("link set cfdev0 down"));
	await_port(ctx, IBV_EVENT_PORT_ERR);
	CF_EQ(port_of(ctx).state, IBV_PORT_DOWN);
	CF_OK(cf_ip("link set cfdev0 up"));
	await_port(ctx, IBV_EVENT_PORT_ACTIVE);
	CF_EQ(port_of(ctx).state, IBV_PORT_ACTIVE);
}

static void link_state(void)
{
	link_state_of(true);
}

static void link_state_idle(void)
{
	link_state_of(false);
}

/* A path MTU needs its payload, the longest headers (IPv6 is counted by the kernel as well) and
 * the ICRC: 4096 from an interface MTU of 4096 + the overhead the kernel reserves, and so on. */
static void mtu_steps(void)
{
	struct ibv_context *ctx;
	enum ibv_mtu last = 0, now;
	char cmd[64];

	cf_netns();
	ctx = open_on_cfdev();
	for (int m = 600; m <= 4400; m += 4) {
		snprintf(cmd, sizeof(cmd), "link set cfdev0 mtu %d", m);
		CF_OK(cf_ip(cmd));
		now = port_of(ctx).active_mtu;
		CF_TRUE(now >= last);
		/* IPv4 20, UDP 8, BTH 12, RETH 16, ImmDt 4, ICRC 4 must fit beside the payload. */
		if ((128 << now) + 64 > m)
			CF_DIE("interface MTU %d, active MTU %d", m, 128 << now);
		if (now < IBV_MTU_4096 && (128 << (now + 1)) + 112 < m)
			CF_DIE("interface MTU %d, active MTU only %d", m, 128 << now);
		last = now;
		if (m == 700)
			m = 1064;
		else if (m == 1172)
			m = 2084;
		else if (m == 2196)
			m = 4128;
	}
	CF_EQ(last, IBV_MTU_4096);
}

const struct cf_check cf_checks[] = {
	{ "93", "addresses come and go: GID_CHANGE, indices stay", CF_GID, gid_table },
	{ "93", "the same on an adapter that is only open", CF_GID, gid_table_idle },
	{ "93", "the link goes down and up", 0, link_state },
	{ "93", "the link of an adapter that is only open", 0, link_state_idle },
	{ "94", "active MTU follows the interface", 0, mtu_steps },
	{ 0 },
};
