/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/sysfs/node.h"

#include "device/port.h"
#include "device/sysfs/text.h"
#include "device/sysfs/tree.h"
#include "device/version.h"
#include "util/alloc.h"
#include "util/sys.h"

#include <endian.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* One port with all that its description refers to. */
struct port_text {
	char rate[48];
	struct dev_tree_gid gids[ATT_GUIDS_MAX];
};

static const char *state_name(unsigned state)
{
	static const char *const names[] = { "0: NOP", "1: DOWN", "2: INIT", "3: ARMED", "4: ACTIVE", "5: ACTIVE_DEFER" };

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : names[0];
}

static const char *phys_name(unsigned state)
{
	static const char *const names[] = {
		"0: <unknown>", "1: Sleep", "2: Polling", "3: Disabled", "4: PortConfigurationTraining", "5: LinkUp",
		"6: LinkErrorRecovery",
	};

	return state < sizeof(names) / sizeof(names[0]) ? names[state] : names[0];
}

static unsigned lanes(unsigned width)
{
	return width == 2 ? 4 : width == 4 ? 8 : width == 8 ? 12 : width == 16 ? 2 : 1;
}

/* Extended speeds first, as in the kernel. */
static const char *speed_name(const struct att_port *p)
{
	switch (p->speed_ext_active) {
	case 1: return "FDR";
	case 2: return "EDR";
	case 4: return "HDR";
	case 8: return "NDR";
	}
	return p->speed_active == 2 ? "DDR" : p->speed_active == 4 ? "QDR" : "SDR";
}

static void describe_rate(const struct att_port *p, char rate[48])
{
	uint8_t speed = p->speed_ext_active ? (uint8_t)(p->speed_ext_active << 4) : p->speed_active;
	unsigned x10 = dev_rate_x10(p->width_active, speed);

	snprintf(rate, 48, x10 % 10 ? "%u.%u Gb/sec (%uX %s)" : "%u%.0u Gb/sec (%uX %s)", x10 / 10, x10 % 10,
		 lanes(p->width_active), speed_name(p));
}

static void describe_gids(const struct att_port *p, struct dev_tree_gid *gids)
{
	uint64_t prefix = htobe64(p->gid_prefix);

	for (unsigned i = 0; i < p->guids_n; i++) {
		uint64_t guid = htobe64(p->guids[i]);

		memcpy(gids[i].raw, &prefix, sizeof(prefix));
		memcpy(gids[i].raw + 8, &guid, sizeof(guid));
		gids[i].type = "IB/RoCE v1"; /* the word of the kernel for GIDs of InfiniBand as well */
		gids[i].ndev = NULL;
	}
}

static void describe_port(const struct dev_node_port *from, struct port_text *text, struct dev_tree_port *ret)
{
	const struct att_port *p = &from->port;

	describe_rate(p, text->rate);
	describe_gids(p, text->gids);
	*ret = (struct dev_tree_port){
		.state = state_name(p->state), .phys_state = phys_name(p->phys_state), .rate = text->rate,
		.link_layer = "InfiniBand", .lid = p->lid, .lid_mask_count = p->lmc, .sm_lid = p->sm_lid,
		.sm_sl = p->sm_sl, .cap_mask = p->cap_mask, .gids = text->gids, .ngids = p->guids_n,
		.pkeys = p->pkeys, .npkeys = p->pkeys_n, .issm = from->issm[0] ? from->issm : NULL,
	};
}

static const char *type_name(unsigned node_type)
{
	return node_type == 2 ? "2: switch" : node_type == 3 ? "3: router" : "1: CA";
}

static int write_entry(const char *root, const struct att_welcome *node, const char *file, const struct dev_tree_port *ports,
		       unsigned n)
{
	char desc[sizeof(node->description) + 1] = "", revision[16];
	struct dev_tree_entry e = {
		.name = DEV_NODE_NAME, .node_type = type_name(node->node_type), .node_guid = node->node_guid,
		.sys_image_guid = node->image_guid, .node_desc = desc, .node_desc_file = file[0] ? file : NULL, .fw_ver = dev_version(), .hw_rev = revision,
		.hca_type = "dapple", .is_switch = !node->first_port, .ports = ports, .nports = n,
	};

	memcpy(desc, node->description, sizeof(node->description));
	snprintf(revision, sizeof(revision), "%x", node->revision);
	return dev_tree_update(root, root, &e, 1);
}

int dev_node_write(const char *root, const struct att_welcome *node, const char *desc, const struct dev_node_port *ports,
		   unsigned n)
{
	struct dev_tree_port *v = ut_calloc(n + 1u, sizeof(*v));
	struct port_text *text = ut_calloc(n + 1u, sizeof(*text));
	int r = -ENOMEM;

	if (v && text) {
		for (unsigned i = 0; i < n; i++)
			describe_port(&ports[i], &text[i], &v[i]);
		r = write_entry(root, node, desc, v, n);
	}
	free(text);
	free(v);
	return r;
}

int dev_node_tree(char path[ATT_PATH_MAX], char why[ATT_WHY_MAX])
{
	struct att_welcome node;
	struct att_place where;
	int fd, r = att_place_of_env(&where, why);

	if (r <= 0)
		return r;
	fd = att_connect(&where, 0, &node, why);
	if (fd < 0)
		return fd;
	r = att_ask_file(fd, ATT_VIEW, path);
	ut_close(fd);
	if (!r)
		return 1;
	snprintf(why, ATT_WHY_MAX,
		 "the files of node %s of fabric %s for /sys/class/infiniband cannot be written (%s): programs that look there do "
		 "not find its adapter; make room in the runtime directory, or set DAPPLE_RUNTIME_DIR to one with room",
		 where.node, where.fabric, strerror(-r));
	return r;
}
