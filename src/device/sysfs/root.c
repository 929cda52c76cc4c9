/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The tree has all adapters, whatever the environment of this process says: it is shared by all processes of the
 * user. A view has those that the environment offers. */
#include "device/sysfs/root.h"

#include "device/devices.h"
#include "device/gids.h"
#include "device/kind/kind.h"
#include "device/port.h"
#include "device/sysfs/node.h"
#include "device/sysfs/tree.h"
#include "device/version.h"
#include "util/alloc.h"
#include "util/lock.h"
#include "util/log.h"
#include "util/rundir.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One device with all objects that its description refers to. */
struct one {
	struct dev_tree_port port;
	struct dev_tree_gid gids[DEV_ADDRS_MAX];
	struct dev_nl_addr addrs[DEV_ADDRS_MAX];
	char rate[48];
};

static const uint16_t pkeys[] = { ENG_PKEY_DEFAULT };
static struct ut_mutex lock = UT_MUTEX_INIT;

static const char *speed_name(uint8_t speed)
{
	switch (speed) {
	case 1: return "SDR";
	case 2: return "DDR";
	case 4: return "QDR";
	case 8: return "FDR10";
	case 16: return "FDR";
	case 32: return "EDR";
	case 64: return "HDR";
	default: return "NDR";
	}
}

static unsigned describe_gids(struct one *o, const struct dev_info *d)
{
	const struct dev_kind_row *kind = dev_kind_find(d->kind);
	bool ip = kind->gid_type == IBV_GID_TYPE_ROCE_V2;
	struct dev_nl_addr gids[DEV_ADDRS_MAX];
	int n = ip ? dev_addrs_now(d, o->addrs) : 0;

	n = kind->gids(d, o->addrs, n > 0 ? n : 0, gids);
	for (int i = 0; i < n; i++) {
		memcpy(o->gids[i].raw, gids[i].addr, sizeof(o->gids[i].raw));
		o->gids[i].type = ip ? "RoCE v2" : "IB/RoCE v1";
		o->gids[i].ndev = ip ? d->ifname : NULL;
	}
	return (unsigned)n;
}

static void describe_port(struct one *o, const struct dev_info *d)
{
	struct ibv_port_attr p;
	unsigned n = describe_gids(o, d), x10;

	if (dev_kind_find(d->kind)->query_port(d, &p) < 0)
		p = (struct ibv_port_attr){ .state = IBV_PORT_DOWN, .active_width = 1,
					    .active_speed = 1, .phys_state = 3 };
	x10 = dev_rate_x10(p.active_width, p.active_speed);
	snprintf(o->rate, sizeof(o->rate), x10 % 10 ? "%u.%u Gb/sec (%uX %s)" : "%u%.0u Gb/sec (%uX %s)",
		 x10 / 10, x10 % 10, p.active_width == 2 ? 4 : 1, speed_name(p.active_speed));
	o->port = (struct dev_tree_port){
		.state = p.state == IBV_PORT_ACTIVE ? "4: ACTIVE" : "1: DOWN",
		.phys_state = p.phys_state == 5 ? "5: LinkUp"
						: p.phys_state == 2 ? "2: Polling" : "3: Disabled",
		.rate = o->rate,
		.link_layer = "Ethernet",
		.cap_mask = p.port_cap_flags,
		.gids = o->gids,
		.ngids = n,
		.pkeys = pkeys,
		.npkeys = p.pkey_tbl_len,
		.counted = true,
	};
}

static void describe(struct dev_tree_entry *e, struct one *o, const struct dev_info *d)
{
	describe_port(o, d);
	*e = (struct dev_tree_entry){
		.name = d->name,
		.index = d->index,
		.node_type = d->node_type == IBV_NODE_RNIC ? "4: RNIC" : "1: CA",
		.node_guid = d->guid,
		.sys_image_guid = d->image_guid,
		.node_desc = d->name,
		.fw_ver = dev_version(),
		/* Collectors want both: procfs of Go before 0.12 drops all devices where one lacks them. */
		.hca_type = "dapple",
		.board_id = d->node_type == IBV_NODE_RNIC ? "dapple-iwarp" : "dapple-roce",
		.ndev = d->ifname[0] ? d->ifname : NULL,
		.ports = &o->port,
		.nports = 1,
	};
}

static int update(const char *root, const char *whole, int (*list)(struct dev_info **ret))
{
	struct dev_info *devs = NULL;
	int n = list(&devs), r = -ENOMEM;
	struct dev_tree_entry *entries;
	struct one *ones;

	if (n < 0)
		return n;
	entries = ut_calloc((size_t)n + 1, sizeof(*entries));
	ones = ut_calloc((size_t)n + 1, sizeof(*ones));
	if (entries && ones) {
		for (int i = 0; i < n; i++)
			describe(&entries[i], &ones[i], &devs[i]);
		r = dev_tree_update(root, whole, entries, (unsigned)n);
	}
	free(ones);
	free(entries);
	free(devs);
	return r;
}

/* Writes the whole tree, and then the view if there is one. `path` becomes the root of what the program reads. */
static int update_all(char path[UT_RUNDIR_MAX])
{
	char whole[UT_RUNDIR_MAX], view[UT_VIEW_MAX];
	int r = update(path, path, dev_list_all);

	ut_rundir_view(view);
	if (r < 0 || !*view)
		return r;
	strcpy(whole, path);
	if (strlen(path) + strlen(view) >= UT_RUNDIR_MAX)
		return -ENAMETOOLONG;
	strcat(path, view);
	return update(path, whole, dev_list);
}

/* The tree of a node of a fabric stands for that of the network namespace, where its adapter is offered. Returns false if there
 * is none. */
static bool node_root(char root[ATT_PATH_MAX])
{
	char path[ATT_PATH_MAX], why[ATT_WHY_MAX];
	int r = dev_list_has_node() ? dev_node_tree(path, why) : 0;

	if (r < 0)
		ut_warn("%s", why);
	if (r > 0)
		memcpy(root, path, ATT_PATH_MAX);
	return r > 0;
}

const char *dev_tree_root(void)
{
	static char root[ATT_PATH_MAX > UT_RUNDIR_MAX ? ATT_PATH_MAX : UT_RUNDIR_MAX];
	char path[UT_RUNDIR_MAX], why[256] = "";
	const char *ret = NULL;
	int r;

	ut_lock(&lock);
	if (node_root(root)) {
		ut_unlock(&lock);
		return root;
	}
	r = ut_rundir_net(path, sizeof(path), why, sizeof(why));
	if (r < 0) {
		ut_warn("cannot use the runtime directory (%s): programs find no adapters below "
			"/sys/class/infiniband; set DAPPLE_RUNTIME_DIR to a directory of your own", why[0] ? why : strerror(-r));
	} else if ((r = update_all(path)) < 0) {
		ut_warn("cannot write the device tree %s (%s): programs find no adapters below "
			"/sys/class/infiniband; make room there, or remove the directory", path,
			strerror(-r));
	} else {
		memcpy(root, path, sizeof(path));
		ret = root;
	}
	ut_unlock(&lock);
	return ret;
}
