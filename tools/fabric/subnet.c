/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "subnet.h"

#include <stdlib.h>

/* Nodes that links join to the first one, by index. Returns NULL without memory. */
static bool *reach(const struct fab *f, const struct fab_node *from)
{
	bool *seen = calloc(f->next_index + 1u, sizeof(*seen));
	const struct fab_node **queue = calloc(f->n_nodes, sizeof(*queue));
	unsigned head = 0, tail = 0, i;

	if (!seen || !queue) {
		free(queue);
		free(seen);
		return NULL;
	}
	seen[from->index] = true;
	queue[tail++] = from;
	while (head < tail) {
		const struct fab_node *n = queue[head++];

		/* Of the subnet manager's adapter its port alone. */
		for (i = 1; i <= (n->type == FAB_SWITCH ? n->n_ports : n == from); i++) {
			const struct fab_port *peer = n->ports[i].peer;

			if (!peer || fab_port_state(&n->ports[i]) < FAB_INIT || seen[peer->node->index])
				continue;
			seen[peer->node->index] = true;
			queue[tail++] = peer->node;
		}
	}
	free(queue);
	return seen;
}

/* Adapters do not forward: one is joined to the subnet by a switch, or by the port of the subnet manager itself. */
static bool is_joined(const struct fab_port *p, const struct fab_node *sm, const bool *seen)
{
	const struct fab_port *peer = p->peer;

	if (!seen || p->node->type == FAB_SWITCH)
		return !seen || seen[p->node->index];
	if (peer && peer->node->type == FAB_SWITCH)
		return seen[peer->node->index];
	return (p->node == sm && p->num == 1) || (peer && peer->node == sm && peer->num == 1);
}

static void count_node(const struct fab_node *n, const struct fab_node *sm, const bool *seen, struct subnet *ret)
{
	bool linked = false;
	unsigned i;

	for (i = 1; i <= n->n_ports; i++) {
		const struct fab_port *p = &n->ports[i];

		if (fab_port_state(p) < FAB_INIT)
			continue;
		if (!is_joined(p, sm, seen)) {
			ret->apart++;
			continue;
		}
		linked = true;
		ret->linked++;
		ret->active += fab_port_state(p) == FAB_ACTIVE;
		ret->without_lid += n->type != FAB_SWITCH && !fab_port_lid(p);
	}
	if (linked && n->type == FAB_SWITCH)
		ret->without_lid += !fab_port_lid(&n->ports[0]);
}

void subnet_count(const struct fab *f, const struct fab_node *sm, struct subnet *ret)
{
	bool *seen = sm ? reach(f, sm) : NULL;
	const struct fab_node *n;

	*ret = (struct subnet){ 0 };
	ut_list_each(n, &f->nodes, link)
		count_node(n, sm, seen, ret);
	free(seen);
}
