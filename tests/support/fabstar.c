/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "support/fabstar.h"

#include "mgmt/port.h"
#include "mgmt/switch.h"
#include "support/check.h"

#include <stdio.h>
#include <string.h>

struct fab_port *fabstar_port(const struct fabstar *s, int i)
{
	return fab_node_port(s->host[i], 1);
}

void fabstar_activate(struct fab_port *p)
{
	wire_set_PORT_INFO_port_state(p->info, FAB_ACTIVE);
	wire_set_PORT_INFO_neighbor_mtu(p->info, 4);
}

void fabstar_route(struct fabstar *s, unsigned lmc)
{
	uint8_t block[FAB_LFT_BLOCK];

	memset(block, FAB_PORT_NONE, sizeof(block));
	for (int i = 0; i < FABSTAR_HOSTS; i++)
		for (unsigned k = 0; k < 1u << lmc; k++)
			block[fabstar_lid(i) + k] = (uint8_t)(i + 1);
	wire_set_SWITCH_INFO_linear_top(s->sw->sw->info, FAB_LFT_BLOCK - 1);
	CHECK(fab_switch_lft_set(s->sw->sw, 0, block) == 0);
	fab_touch(s->f);
}

void fabstar_make(struct fabstar *s, unsigned lmc)
{
	struct fab_node_spec spec = { .name = "sw", .type = FAB_SWITCH, .n_ports = 8 };
	char name[8];

	s->f = fab_new(NULL, NULL, 1);
	CHECK(s->f && fab_node_add(s->f, &spec, &s->sw) == 0);
	for (int i = 0; i < FABSTAR_HOSTS; i++) {
		struct fab_port *p, *far = fab_node_port(s->sw, (unsigned)i + 1);

		snprintf(name, sizeof(name), "h%d", i);
		spec = (struct fab_node_spec){ .name = name, .type = FAB_CA, .n_ports = 1 };
		CHECK(fab_node_add(s->f, &spec, &s->host[i]) == 0);
		p = fabstar_port(s, i);
		CHECK(fab_link(far, p) == 0);
		fabstar_activate(far);
		fabstar_activate(p);
		wire_set_PORT_INFO_lid(p->info, fabstar_lid(i));
		wire_set_PORT_INFO_lmc(p->info, lmc);
	}
	fabstar_route(s, lmc);
}
