/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * GIDs follow the addresses of the interface, in a network namespace of our
 * own:
 *
 *     [netns] lo 127.0.0.1, ::1     d0 10.9.0.1, fd09::1, later more
 *                                    |  (veth)
 *                                   d1 no address
 */
#include "device/adapter.h"
#include "device/devices.h"
#include "device/gids.h"
#include "device/port.h"
#include "device/progress/thread.h"
#include "engine/gid.h"
#include "support/check.h"
#include "engine/event.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <poll.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

static int run(const char *cmd)
{
	int r;

	printf("[netns] %s\n", cmd);
	fflush(stdout);
	r = system(cmd);
	return r;
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	if (write(fd, text, strlen(text)) < 0)
		fprintf(stderr, "%s: %s\n", path, strerror(errno));
	close(fd);
}

static void enter_namespace(void)
{
	char map[64];
	unsigned uid = getuid(), gid = getgid();

	if (unshare(CLONE_NEWNET) == 0)
		return;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		SKIP("no network namespace: %s", strerror(errno));
	put("/proc/self/setgroups", "deny");
	snprintf(map, sizeof(map), "0 %u 1", uid);
	put("/proc/self/uid_map", map);
	snprintf(map, sizeof(map), "0 %u 1", gid);
	put("/proc/self/gid_map", map);
}

static struct dev_info *find(struct dev_info *v, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (strcmp(v[i].name, name) == 0)
			return &v[i];
	return NULL;
}

/* Index of an address in the table, or -1. */
static int index_of(struct eng_dev *dev, const char *text)
{
	struct in_addr in;
	union ibv_gid gid = { .raw = { [10] = 0xff, [11] = 0xff } };
	int i;

	if (inet_pton(AF_INET, text, &in) == 1)
		memcpy(gid.raw + 12, &in, 4);
	else
		CHECK(inet_pton(AF_INET6, text, gid.raw) == 1);
	ut_lock(&dev->lock);
	i = eng_gid_find(dev, &gid);
	eng_dev_unlock(dev);
	return i < 0 ? -1 : i;
}

/* Reads events until one of the type has come. */
static void expect_among(struct eng_ctx *ctx, enum ibv_event_type type)
{
	struct pollfd p = { .fd = ctx->async_fd, .events = POLLIN };
	struct eng_event e;

	do {
		CHECK(poll(&p, 1, 30000) == 1);
		CHECK(eng_async_get(ctx, &e) == 0);
	} while (e.type != type);
}

/*
 * Reads events until a GID change has come and the address is there, or gone.
 * The kernel has changes of its own meanwhile (a link-local address that is no
 * longer tentative), so the first event need not be the one caused.
 */
static int await_gid(struct eng_ctx *ctx, const char *text, bool there)
{
	int i;

	do {
		expect_among(ctx, IBV_EVENT_GID_CHANGE);
		i = index_of(ctx->dev, text);
	} while ((i >= 0) != there);
	return i;
}

static void chosen_addresses(void)
{
	struct dev_info lo = { .ifindex = 1, .loopback = true }, none = { .ifindex = 0x7ffffff0 };
	struct dev_nl_addr v[DEV_ADDRS_MAX];

	setenv("DAPPLE_ADDRESS", "127.0.0.2,10.0.0.1,junk,127.8.0.9", 1);
	CHECK(dev_addrs_now(&lo, v) == 2);
	CHECK(v[0].addr[12] == 127 && v[0].addr[15] == 2 && v[0].addr[10] == 0xff);
	CHECK(v[1].addr[13] == 8 && v[1].addr[15] == 9);
	CHECK(dev_addrs_now(&none, v) == 0);
	unsetenv("DAPPLE_ADDRESS");
}

/* The thresholds of rdma_rxe: payload plus 80. */
static void mtu_rule(void)
{
	static const struct {
		uint32_t netdev, active;
		enum ibv_mtu code;
	} row[] = { { 68, 256, IBV_MTU_256 },	 { 336, 256, IBV_MTU_256 },   { 591, 256, IBV_MTU_256 },
		    { 592, 512, IBV_MTU_512 },	 { 1103, 512, IBV_MTU_512 },  { 1104, 1024, IBV_MTU_1024 },
		    { 1500, 1024, IBV_MTU_1024 }, { 2127, 1024, IBV_MTU_1024 }, { 2128, 2048, IBV_MTU_2048 },
		    { 4175, 2048, IBV_MTU_2048 }, { 4176, 4096, IBV_MTU_4096 }, { 9000, 4096, IBV_MTU_4096 } };
	uint32_t d1 = if_nametoindex("d1");
	struct ibv_port_attr p;
	char cmd[64];

	for (size_t i = 0; i < sizeof(row) / sizeof(row[0]); i++) {
		snprintf(cmd, sizeof(cmd), "ip link set d1 mtu %u", row[i].netdev);
		CHECK(run(cmd) == 0);
		CHECK(dev_port_mtu(d1) == row[i].active);
		CHECK(dev_port_query(d1, &p) == 0 && p.active_mtu == row[i].code);
	}
}

static void follow(void)
{
	struct dev_info *v = NULL, *d;
	struct eng_ctx *ctx;
	struct eng_dev *dev;
	int n = dev_list(&v), eight;

	/* lo and d0, of two kinds each. */
	CHECK(n == 4 && strcmp(v[0].name, "dpl_roce_lo") == 0);
	CHECK(find(v, n, "dpl_iw_d0"));
	d = find(v, n, "dpl_roce_d0");
	CHECK(d);
	CHECK(dev_open(d, &ctx) == 0);
	dev = ctx->dev;
	CHECK(!dev_is_foreign(dev) && strcmp(dev_adapter_of(dev)->info.ifname, "d0") == 0);
	/* IPv4, IPv6, link-local. */
	CHECK(index_of(dev, "10.9.0.1") == 0);
	CHECK(index_of(dev, "fd09::1") == 1);
	CHECK(dev_thread_start() == 0);

	CHECK(run("ip addr add 10.9.0.8/32 dev d0") == 0);
	eight = await_gid(ctx, "10.9.0.8", true);
	CHECK(eight > 1);
	CHECK(run("ip addr del 10.9.0.1/32 dev d0") == 0);
	await_gid(ctx, "10.9.0.1", false);
	/* A GID that stays keeps its index; a new one takes the first free index. */
	CHECK(index_of(dev, "fd09::1") == 1);
	CHECK(run("ip link set d0 down") == 0);
	expect_among(ctx, IBV_EVENT_PORT_ERR);
	CHECK(run("ip link set d0 up") == 0);
	expect_among(ctx, IBV_EVENT_PORT_ACTIVE);
	CHECK(run("ip link del d0") == 0);
	expect_among(ctx, IBV_EVENT_DEVICE_FATAL);
	CHECK(index_of(dev, "10.9.0.8") == -1);
	dev_close(ctx);
	free(v);
}

int main(void)
{
	chosen_addresses();
	enter_namespace();
	if (run("ip link set lo up && ip link add d0 type veth peer name d1 && "
		"ip link set d1 addrgenmode none && ip link set d0 addrgenmode none && "
		"ip addr add 10.9.0.1/32 dev d0 && ip addr add fd09::1/64 dev d0 nodad && "
		"ip link set d1 up && ip link set d0 up") != 0)
		SKIP("cannot make a pair of interfaces in a namespace");
	mtu_rule();
	follow();
	return 0;
}
