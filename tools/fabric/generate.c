/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "generate.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define SWITCH_PORTS_MIN 36u

static const char *name_prefix = "";

void generate_prefix(const char *prefix)
{
	name_prefix = prefix;
}

static int add(struct fab *f, const char *name, enum fab_node_type type, unsigned ports, struct fab_node **ret)
{
	char full[FAB_NAME_MAX + 1];
	struct fab_node_spec spec = { .name = full, .type = type, .n_ports = ports };

	snprintf(full, sizeof(full), "%.31s%.31s", name_prefix, name);
	return fab_node_add(f, &spec, ret);
}

static int add_switch(struct fab *f, const char *name, unsigned ports, struct fab_node **ret)
{
	return add(f, name, FAB_SWITCH, ports > SWITCH_PORTS_MIN ? ports : SWITCH_PORTS_MIN, ret);
}

/* The next end node, at this port of a switch. */
static int add_end(struct fab *f, unsigned number, struct fab_node *sw, unsigned port)
{
	struct fab_node *n;
	char name[16];
	int r;

	snprintf(name, sizeof(name), "n%u", number);
	r = add(f, name, FAB_CA, 1, &n);
	return r < 0 ? r : fab_link(&n->ports[1], &sw->ports[port]);
}

int generate_nodes(struct fab *f, unsigned nodes)
{
	struct fab_node *sw;
	unsigned i;
	int r;

	if (nodes > FAB_PORTS_MAX)
		return generate_tree(f, (nodes + 31) / 32, 32, 1, 4);
	/* A few ports are free: for node add, and trunks. */
	r = add_switch(f, "s1", nodes, &sw);
	for (i = 1; r == 0 && i <= nodes; i++)
		r = add_end(f, i, sw, i);
	return r;
}

struct tree {
	unsigned leaves, down, spines, links;
	struct fab_node **spine;
};

static int add_leaf(struct fab *f, const struct tree *t, unsigned leaf)
{
	struct fab_node *sw;
	unsigned i, k;
	char name[16];
	int r;

	snprintf(name, sizeof(name), "leaf%u", leaf + 1);
	r = add_switch(f, name, t->down + t->spines * t->links, &sw);
	for (i = 1; r == 0 && i <= t->down; i++)
		r = add_end(f, leaf * t->down + i, sw, i);
	for (i = 0; r == 0 && i < t->spines; i++)
		for (k = 0; r == 0 && k < t->links; k++)
			r = fab_link(&sw->ports[t->down + i * t->links + k + 1],
				     &t->spine[i]->ports[leaf * t->links + k + 1]);
	return r;
}

int generate_tree(struct fab *f, unsigned leaves, unsigned down, unsigned spines, unsigned links)
{
	struct tree t = { .leaves = leaves, .down = down, .spines = spines, .links = links };
	unsigned i;
	char name[16];
	int r = 0;

	if (down + spines * links > FAB_PORTS_MAX || leaves * links > FAB_PORTS_MAX ||
	    leaves * down > GENERATE_NODES_MAX)
		return -EINVAL;
	t.spine = calloc(spines ? spines : 1, sizeof(*t.spine));
	if (!t.spine)
		return -ENOMEM;
	for (i = 0; r == 0 && i < spines; i++) {
		snprintf(name, sizeof(name), "spine%u", i + 1);
		r = add_switch(f, name, leaves * links, &t.spine[i]);
	}
	for (i = 0; r == 0 && i < leaves; i++)
		r = add_leaf(f, &t, i);
	free(t.spine);
	return r;
}

/* Ports of a torus switch: 1 and 2 to the neighbours in the first dimension, 3 and 4, 5 and 6; nodes behind them. */
static int link_dimension(struct fab_node **sw, const unsigned size[3], const unsigned at[3], unsigned dim)
{
	unsigned to[3] = { at[0], at[1], at[2] };
	struct fab_node *a = sw[(at[2] * size[1] + at[1]) * size[0] + at[0]], *b;

	/* Of two switches in a row the second has no further neighbour: one link joins them. */
	if (size[dim] == 1 || (size[dim] == 2 && at[dim] == 1))
		return 0;
	to[dim] = (at[dim] + 1) % size[dim];
	b = sw[(to[2] * size[1] + to[1]) * size[0] + to[0]];
	return fab_link(&a->ports[2 * dim + 1], &b->ports[2 * dim + 2]);
}

static int link_torus(struct fab_node **sw, const unsigned size[3])
{
	unsigned at[3], dim;
	int r = 0;

	for (at[2] = 0; at[2] < size[2]; at[2]++)
		for (at[1] = 0; at[1] < size[1]; at[1]++)
			for (at[0] = 0; at[0] < size[0]; at[0]++)
				for (dim = 0; r == 0 && dim < 3; dim++)
					r = link_dimension(sw, size, at, dim);
	return r;
}

int generate_torus(struct fab *f, const unsigned size[3], unsigned nodes)
{
	unsigned all = size[0] * size[1] * size[2], i, k;
	struct fab_node **sw;
	char name[48];
	int r = 0;

	if (6 + nodes > FAB_PORTS_MAX || all * nodes > GENERATE_NODES_MAX)
		return -EINVAL;
	sw = calloc(all, sizeof(*sw));
	if (!sw)
		return -ENOMEM;
	for (i = 0; r == 0 && i < all; i++) {
		snprintf(name, sizeof(name), "t%u-%u-%u", i % size[0], i / size[0] % size[1], i / size[0] / size[1]);
		r = add_switch(f, name, 6 + nodes, &sw[i]);
		for (k = 1; r == 0 && k <= nodes; k++)
			r = add_end(f, i * nodes + k, sw[i], 6 + k);
	}
	if (r == 0)
		r = link_torus(sw, size);
	free(sw);
	return r;
}
