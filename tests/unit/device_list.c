/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The list of adapters against /sys/class/net, and its filters. */
#include "device/devices.h"
#include "device/kind/kind.h"
#include "device/netlink.h"
#include "device/port.h"
#include "support/check.h"

#include <dirent.h>
#include <net/if.h>
#include <string.h>

static long read_number(const char *ifname, const char *file)
{
	char path[300];
	long v = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/sys/class/net/%s/%s", ifname, file);
	f = fopen(path, "r");
	if (!f)
		return -1;
	if (fscanf(f, "%li", &v) != 1)
		v = -1;
	fclose(f);
	return v;
}

static const struct dev_nl_link *by_name(const struct dev_nl_link *v, int n, const char *name)
{
	for (int i = 0; i < n; i++)
		if (strcmp(v[i].name, name) == 0)
			return &v[i];
	return NULL;
}

static void links_match_sysfs(void)
{
	struct dev_nl_link *v = NULL;
	int n = dev_nl_links(&v), seen = 0;
	DIR *d = opendir("/sys/class/net");
	struct dirent *e;

	CHECK(n >= 1);
	if (!d) {
		printf("note: no /sys/class/net to compare with\n");
		free(v);
		return;
	}
	while ((e = readdir(d))) {
		const struct dev_nl_link *l;

		if (e->d_name[0] == '.' || read_number(e->d_name, "ifindex") < 0)
			continue;
		l = by_name(v, n, e->d_name);
		/* sysfs may show another namespace's interfaces. */
		if (if_nametoindex(e->d_name) != (unsigned)read_number(e->d_name, "ifindex"))
			continue;
		CHECK(l);
		CHECK(l->ifindex == (uint32_t)read_number(e->d_name, "ifindex"));
		CHECK(l->mtu == (uint32_t)read_number(e->d_name, "mtu"));
		CHECK(l->up == !!(read_number(e->d_name, "flags") & IFF_UP));
		seen++;
	}
	closedir(d);
	CHECK(seen <= n);
	free(v);
}

static int list_with(const char *kinds, const char *names, struct dev_info **ret)
{
	int n;

	*ret = NULL;
	kinds ? setenv("DAPPLE_ADAPTER", kinds, 1) : unsetenv("DAPPLE_ADAPTER");
	names ? setenv("DAPPLE_DEVICES", names, 1) : unsetenv("DAPPLE_DEVICES");
	n = dev_list(ret);
	unsetenv("DAPPLE_ADAPTER");
	unsetenv("DAPPLE_DEVICES");
	return n;
}

static void list_and_filters(void)
{
	struct dev_info *all, *some;
	int n = list_with(NULL, NULL, &all);

	if (n == 0)
		SKIP("lo is down here");
	/* Each interface twice: first all of one kind, then all of the other. */
	CHECK(n > 0 && n % 2 == 0);
	CHECK(strcmp(all[0].name, "dpl_roce_lo") == 0);
	CHECK(strcmp(all[n / 2].name, "dpl_iw_lo") == 0);
	CHECK(all[0].guid == 0x00da00fffe000001ull && all[n / 2].guid == 0x00da00ffff000001ull);
	CHECK(all[0].loopback && all[n / 2].loopback && all[0].image_guid == all[n / 2].image_guid);
	for (int i = 0; i < n; i++) {
		const char *prefix = i < n / 2 ? "dpl_roce_" : "dpl_iw_";

		CHECK(strncmp(all[i].name, prefix, strlen(prefix)) == 0);
		CHECK(strcmp(all[i].name + strlen(prefix), all[i].ifname) == 0);
		CHECK(all[i].kind == (i < n / 2 ? DEV_ROCE : DEV_IWARP));
		CHECK(all[i].ifindex == if_nametoindex(all[i].ifname));
		CHECK(memcmp(all[i].mac, (const uint8_t[6]){ 0 }, 6));
		for (int k = 0; k < i; k++)
			CHECK(all[k].index != all[i].index && all[k].guid != all[i].guid);
	}
	CHECK(list_with("roce,roce", NULL, &some) == n / 2);
	free(some);
	CHECK(list_with("iw", NULL, &some) == n / 2 && some[0].kind == DEV_IWARP);
	free(some);
	CHECK(list_with("iwarp,roce,iw", NULL, &some) == n && some[0].kind == DEV_IWARP);
	CHECK(strcmp(some[n / 2].name, "dpl_roce_lo") == 0);
	free(some);
	CHECK(list_with("rocee", NULL, &some) == 0);
	free(some);
	CHECK(list_with("roce,nonsense", NULL, &some) == 0);
	free(some);
	CHECK(list_with(NULL, "x,dpl_roce_lo,", &some) == 1);
	CHECK(strcmp(some[0].name, "dpl_roce_lo") == 0);
	free(some);
	CHECK(list_with(NULL, "dpl_roce_l", &some) == 0);
	free(some);
	free(all);
}

static void port_of_lo(void)
{
	const struct dev_info lo = { .kind = DEV_IWARP, .ifname = "lo", .ifindex = if_nametoindex("lo") };
	struct ibv_port_attr p;

	CHECK(dev_port_query(if_nametoindex("lo"), &p) == 0);
	CHECK(p.state == IBV_PORT_ACTIVE && p.phys_state == 5);
	CHECK(p.active_mtu <= p.max_mtu && p.link_layer == IBV_LINK_LAYER_ETHERNET);
	CHECK(p.pkey_tbl_len == 1 && p.gid_tbl_len >= 16);
	/* What processes of one host reach: 4X EDR; over the wire path: 4X FDR10. */
	CHECK(p.active_width == 2 && p.active_speed == 32 && dev_rate_code(&p) == IBV_RATE_100_GBPS);
	CHECK(setenv("DAPPLE_LOCAL", "off", 1) == 0);
	CHECK(dev_port_query(if_nametoindex("lo"), &p) == 0);
	CHECK(p.active_width == 2 && p.active_speed == 8 && dev_rate_code(&p) == IBV_RATE_40_GBPS);
	CHECK(unsetenv("DAPPLE_LOCAL") == 0);
	CHECK(dev_kind_find(DEV_IWARP)->query_port(&lo, &p) == 0);
	CHECK(p.pkey_tbl_len == 0 && p.gid_tbl_len == 1 && p.lid == 0 && p.max_mtu == p.active_mtu);
	/* No such interface: down, not an error. */
	CHECK(dev_port_query(0x7ffffff0, &p) == 0 && p.state == IBV_PORT_DOWN);
}

int main(void)
{
	links_match_sysfs();
	list_and_filters();
	port_of_lo();
	return 0;
}
