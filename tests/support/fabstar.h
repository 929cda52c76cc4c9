/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The model of a fabric: three channel adapters, h0 to h2, at a switch, whose tables stand as a subnet manager writes them. */
#ifndef TESTS_SUPPORT_FABSTAR_H
#define TESTS_SUPPORT_FABSTAR_H

#include "mgmt/fabric.h"

#include <stdint.h>

#define FABSTAR_HOSTS 3

struct fabstar {
	struct fab *f;
	struct fab_node *sw, *host[FABSTAR_HOSTS];
};

/* All ports are ACTIVE; host i has port i + 1 of the switch and 2^lmc LIDs from fabstar_lid(i) on. Ends the test if there is
 * no memory. */
void fabstar_make(struct fabstar *s, unsigned lmc);
/* The parts of it that a subnet manager repeats: a port becomes ACTIVE; the switch gets its forwarding table. */
void fabstar_activate(struct fab_port *p);
void fabstar_route(struct fabstar *s, unsigned lmc);

static inline uint16_t fabstar_lid(int i)
{
	return (uint16_t)(8 * (i + 1));
}

struct fab_port *fabstar_port(const struct fabstar *s, int i);

#endif
