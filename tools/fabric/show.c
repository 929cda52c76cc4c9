/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "show.h"

#include <inttypes.h>
#include <string.h>

#include "attachments.h"
#include "draw.h"
#include "mgmt/hop.h"
#include "mgmt/switch.h"
#include "mgmt/topology.h"
#include "util/clock.h"

const char *show_state(const struct fab_port *p)
{
	static const char *const names[] = { "-", "down", "init", "armed", "active" };
	unsigned state = fab_port_state(p);

	return state < 5 ? names[state] : "-";
}

static const char *kind(const struct fab_node *n)
{
	return n->type == FAB_SWITCH ? "switch" : n->type == FAB_ROUTER ? "router" : "node";
}

/* The widest name, for columns. */
static int name_width(const struct fab *f)
{
	const struct fab_node *n;
	int width = 4;

	ut_list_each(n, &f->nodes, link)
		if ((int)strlen(n->name) > width)
			width = (int)strlen(n->name);
	return width;
}

static unsigned count_links(const struct fab_node *n)
{
	unsigned i, links = 0;

	for (i = 1; i <= n->n_ports; i++)
		links += n->ports[i].peer || n->ports[i].is_trunk;
	return links;
}

static void show_nodes(const struct serve *s, FILE *out)
{
	int w = name_width(s->model);
	const struct fab_node *n;

	fprintf(out, "%-*s  %-6s  %5s  %-7s  %5s  %s\n", w, "name", "kind", "lid", "state", "links", "guid");
	ut_list_each(n, &s->model->nodes, link) {
		const struct fab_port *p = &n->ports[n->type != FAB_SWITCH];

		fprintf(out, "%-*s  %-6s  %5u  %-7s  %2u/%-2u  0x%016" PRIx64 "%s\n", w, n->name, kind(n),
			fab_port_lid(p), show_state(p), count_links(n), n->n_ports, n->guid,
			wire_get_PORT_INFO_capability_mask(p->info) & FAB_CAP_SM ? "  subnet manager" : "");
	}
}

static void show_link(const struct fab_port *p, int w, FILE *out)
{
	char far[24];

	fprintf(out, "%-*s  %3u  ", w, p->node->name, p->num);
	if (p->is_trunk) {
		snprintf(far, sizeof(far), "trunk %u", p->trunk);
		fprintf(out, "%-*s  %3s", w, far, "-");
	} else {
		fprintf(out, "%-*s  %3u", w, p->peer->node->name, p->peer->num);
	}
	fprintf(out, "  %-7s  %s%s%s\n", show_state(p), fab_port_state(p) == FAB_DOWN ? "-" : fab_topology_rate(p),
		p->is_cut ? "  cut" : "", p->fault.errors_ppm ? "  errors" : "");
}

/* Each link once: from the node that was made first. */
static bool is_first_end(const struct fab_port *p)
{
	return p->is_trunk || (p->peer && (p->node->index < p->peer->node->index ||
					   (p->node == p->peer->node && p->num < p->peer->num)));
}

static void show_links(const struct serve *s, FILE *out)
{
	int w = name_width(s->model);
	const struct fab_node *n;
	unsigned i;

	fprintf(out, "%-*s  %3s  %-*s  %3s  %-7s  %s\n", w, "node", "", w, "node", "", "state", "rate");
	ut_list_each(n, &s->model->nodes, link)
		for (i = 1; i <= n->n_ports; i++)
			if (is_first_end(&n->ports[i]))
				show_link(&n->ports[i], w, out);
}

static void show_errors(const struct serve *s, FILE *out)
{
	int w = name_width(s->model);
	const struct fab_node *n;
	unsigned i;

	fprintf(out, "%-*s  %4s  %8s  %8s  %6s  %6s  %6s  %8s  %8s\n", w, "node", "port", "sent", "received", "downed",
		"symbol", "errors", "discards", "unrouted");
	ut_list_each(n, &s->model->nodes, link)
		for (i = n->type != FAB_SWITCH; i <= n->n_ports; i++) {
			const uint64_t *c = n->ports[i].count.c;

			if (!c[FAB_C_XMIT_PKTS] && !c[FAB_C_RCV_PKTS] && !c[FAB_C_LINK_DOWNED])
				continue;
			fprintf(out, "%-*s  %4u  %8" PRIu64 "  %8" PRIu64 "  %6" PRIu64 "  %6" PRIu64 "  %6" PRIu64 "  %8"
				PRIu64 "  %8" PRIu64 "\n", w, n->name, i, c[FAB_C_XMIT_PKTS], c[FAB_C_RCV_PKTS],
				c[FAB_C_LINK_DOWNED], c[FAB_C_SYMBOL_ERROR], c[FAB_C_RCV_ERRORS], c[FAB_C_XMIT_DISCARDS],
				c[FAB_C_RCV_SWITCH_RELAY]);
		}
}

/* VLs at which data packets have waited; of a fabric with --hop. */
static void show_queues(const struct serve *s, FILE *out)
{
	int w = name_width(s->model);
	const struct fab_node *n;
	struct hop_lane_view v;
	unsigned i, vl;

	if (!s->is_hopping)
		fprintf(out, "data packets take the shortcut of a resolved route and wait at no port: there are no queues; start the "
			"fabric by dapple fabric up --hop\n");
	else
		fprintf(out, "%-*s  %4s  %2s  %9s  %7s  %9s  %9s  %7s  %8s  %8s  %8s\n", w, "node", "port", "vl", "sent", "waiting", "bytes",
			"most", "credits", "wait us", "fecn", "late");
	ut_list_each(n, &s->model->nodes, link)
		for (i = 1; i <= n->n_ports; i++)
			for (vl = 0; vl < HOP_VLS; vl++)
				if (hop_lane(&n->ports[i], vl, &v))
					fprintf(out, "%-*s  %4u  %2u  %9" PRIu64 "  %7u  %9u  %9u  %7u  %8" PRIu64 "  %8" PRIu64 "  %8"
						PRIu64 "\n", w, n->name, i, vl, v.sent, v.packets, v.bytes, v.most, v.credits,
						(uint64_t)(v.waited_ns / UT_US), v.marked, v.dropped);
}

static void show_summary(const struct serve *s, FILE *out)
{
	struct subnet n;

	subnet_count(s->model, NULL, &n);
	fprintf(out, "fabric %s: %u nodes, %u of %u linked ports active, %u ports without LID, %" PRIu64 " MADs, %" PRIu64
		" dropped\n\n", s->name, s->model->n_nodes, n.active, n.linked, n.without_lid, s->model->mads,
		s->model->dropped + attachments_lost(s->attachments));
	if (s->record)
		record_print(s->record, out);
	if (s->trunks)
		trunk_print(s->trunks, out);
}

int show_execute(struct serve *s, int n, char **words, FILE *out)
{
	const char *what = n > 1 ? words[1] : "";

	if (n > 2)
		return 2;
	if (strcmp(what, "topology") == 0)
		fab_topology_write(s->model, out);
	else if (strcmp(what, "svg") == 0)
		draw_svg(s->model, out);
	else if (strcmp(what, "drawing") == 0)
		draw_text(s->model, out);
	else if (strcmp(what, "nodes") == 0)
		show_nodes(s, out);
	else if (strcmp(what, "links") == 0)
		show_links(s, out);
	else if (strcmp(what, "errors") == 0)
		show_errors(s, out);
	else if (strcmp(what, "queues") == 0)
		show_queues(s, out);
	else if (strcmp(what, "processes") == 0)
		attachments_print(s->attachments, out);
	else if (*what)
		return 2;
	if (*what)
		return 0;
	show_summary(s, out);
	show_nodes(s, out);
	fputc('\n', out);
	show_links(s, out);
	return 0;
}
