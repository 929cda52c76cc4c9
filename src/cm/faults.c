/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/faults.h"

const struct link_rule *cm_fault(struct cm_port *p, uint32_t acts, const uint8_t peer[16], uint64_t now)
{
	struct link_event e = { .op = LINK_OP_CM, .peer = peer, .now = now };

	if (!p->rules)
		return NULL;
	e.adapter = p->dev->name;
	return link_rules_find(p->rules, acts, &e);
}
