/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* How far a subnet manager has brought the fabric: ports with a link, their states, and their LIDs. */
#ifndef FABRIC_SUBNET_H
#define FABRIC_SUBNET_H

#include <stdbool.h>

#include "mgmt/fabric.h"

struct subnet {
	unsigned linked;	/* ports that have a trained link */
	unsigned active;	/* those of them that are ACTIVE */
	unsigned without_lid;	/* end ports with a link, and switches with one, that have no LID */
	unsigned apart;		/* linked ports that no path joins to the node of the subnet manager; not in the others */
};

/* Counts. sm: node of the subnet manager; NULL: all ports are counted and none is apart. */
void subnet_count(const struct fab *f, const struct fab_node *sm, struct subnet *ret);

/* True if every linked port is ACTIVE and every end port has its LID. */
static inline bool subnet_is_up(const struct subnet *s)
{
	return s->active && s->active == s->linked && !s->without_lid;
}

#endif
