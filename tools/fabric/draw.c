/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "draw.h"

#include <stdlib.h>
#include <string.h>

#include "mgmt/topology.h"
#include "show.h"
#include "text.h"

#define BOX_W 120
#define BOX_H 36
#define GAP_X 24
#define GAP_Y 90
#define MARGIN 20

struct place {
	const struct fab_node *node;
	unsigned row, column;
};

struct drawing {
	const struct fab *fabric;
	struct place *v;	/* in the fabric's order */
	unsigned n, rows, columns;
	unsigned *in_row;	/* places of each row */
	unsigned last_index;
	unsigned *of_index;	/* node's index -> place */
};

static struct place *place_of(const struct drawing *d, const struct fab_node *n)
{
	return &d->v[d->of_index[n->index]];
}

/* Row 0: nodes that are no switches, and switches when there are no others. Breadth first from there. */
static void rank(struct drawing *d)
{
	unsigned *queue = calloc(d->n ? d->n : 1, sizeof(*queue)), head = 0, tail = 0, i, k;

	if (!queue)
		return;
	for (i = 0; i < d->n; i++) {
		d->v[i].row = d->v[i].node->type == FAB_SWITCH ? UINT32_MAX : 0;
		if (d->v[i].row == 0)
			queue[tail++] = i;
	}
	while (head < tail || tail < d->n) {
		if (head == tail) {	/* a part of the fabric without end nodes */
			for (i = 0; d->v[i].row != UINT32_MAX; i++)
				;
			d->v[i].row = 0;
			queue[tail++] = i;
		}
		i = queue[head++];
		for (k = 1; k <= d->v[i].node->n_ports; k++) {
			const struct fab_port *peer = d->v[i].node->ports[k].peer;
			struct place *p = peer ? place_of(d, peer->node) : NULL;

			if (p && p->row == UINT32_MAX) {
				p->row = d->v[i].row + 1;
				queue[tail++] = (unsigned)(p - d->v);
			}
		}
	}
	free(queue);
}

static void spread_rows(struct drawing *d)
{
	unsigned i;

	for (i = 0; i < d->n; i++)
		if (d->v[i].row + 1 > d->rows)
			d->rows = d->v[i].row + 1;
	d->in_row = calloc(d->rows ? d->rows : 1, sizeof(*d->in_row));
	for (i = 0; d->in_row && i < d->n; i++) {
		d->v[i].column = d->in_row[d->v[i].row]++;
		if (d->v[i].column + 1 > d->columns)
			d->columns = d->v[i].column + 1;
	}
}

static bool begin(struct drawing *d, const struct fab *f)
{
	const struct fab_node *n;
	unsigned i = 0;

	*d = (struct drawing){ .fabric = f, .n = f->n_nodes };
	d->v = calloc(d->n ? d->n : 1, sizeof(*d->v));
	d->of_index = calloc(f->next_index + 1u, sizeof(*d->of_index));
	if (!d->v || !d->of_index)
		return false;
	ut_list_each(n, &f->nodes, link) {
		d->of_index[n->index] = i;
		d->v[i++].node = n;
	}
	rank(d);
	spread_rows(d);
	return d->in_row != NULL;
}

static void end(struct drawing *d)
{
	free(d->v);
	free(d->of_index);
	free(d->in_row);
}

/* What an operator looks for: everything but traffic that a port has counted. */
static uint64_t errors_of(const struct fab_port *p)
{
	static const uint8_t errors[] = {
		FAB_C_SYMBOL_ERROR, FAB_C_LINK_RECOVERY, FAB_C_RCV_ERRORS, FAB_C_XMIT_DISCARDS, FAB_C_RCV_SWITCH_RELAY,
		FAB_C_XMIT_CONSTRAINT, FAB_C_RCV_CONSTRAINT, FAB_C_LOCAL_INTEGRITY, FAB_C_OVERRUN,
	};
	uint64_t sum = 0;
	unsigned i;

	for (i = 0; i < sizeof(errors); i++)
		sum += p->count.c[errors[i]];
	return sum;
}

static const char *rate_of(const struct fab_port *p)
{
	return fab_port_state(p) == FAB_DOWN ? "" : fab_topology_rate(p);
}

/* --- text --- */

static void text_links(const struct fab_node *n, FILE *out)
{
	unsigned i, listed = 0;

	for (i = 1; i <= n->n_ports; i++) {
		const struct fab_port *p = &n->ports[i];

		if (!p->is_trunk && !p->peer)
			continue;
		fprintf(out, "%s%u%s", listed++ ? ", " : "  ", i,
			fab_port_state(p) == FAB_ACTIVE ? "--" : fab_port_state(p) == FAB_DOWN ? "x " : "..");
		if (p->is_trunk)
			fprintf(out, "trunk %u", p->trunk);
		else
			fprintf(out, "%s/%u", p->peer->node->name, p->peer->num);
		fprintf(out, " %s", rate_of(p));
		if (errors_of(p))
			fprintf(out, " !%llu", (unsigned long long)errors_of(p));
	}
	fputc('\n', out);
}

void draw_text(const struct fab *f, FILE *out)
{
	struct drawing d;
	unsigned row, i;

	if (begin(&d, f))
		for (row = d.rows; row-- > 0;) {
			for (i = 0; i < d.n; i++) {
				const struct fab_node *n = d.v[i].node;

				if (d.v[i].row != row)
					continue;
				fprintf(out, "%*s[%s] lid %u", 2 * (int)(d.rows - 1 - row), "", n->name,
					fab_port_lid(&n->ports[n->type != FAB_SWITCH]));
				text_links(n, out);
			}
			if (row)
				fprintf(out, "%*s|\n", 2 * (int)(d.rows - 1 - row), "");
		}
	fprintf(out, "\n-- active   .. not active yet   x  down   !N errors counted at the port\n");
	end(&d);
}

/* --- SVG --- */

static unsigned left(const struct drawing *d, const struct place *p)
{
	unsigned all = d->columns * (BOX_W + GAP_X), own = d->in_row[p->row] * (BOX_W + GAP_X);

	return MARGIN + (all - own) / 2 + p->column * (BOX_W + GAP_X);
}

static unsigned top(const struct drawing *d, const struct place *p)
{
	return MARGIN + (d->rows - 1 - p->row) * (BOX_H + GAP_Y);
}

static const char *colour(const struct fab_port *p)
{
	if (p->fault.errors_ppm || (p->peer && p->peer->fault.errors_ppm))
		return "#d60";
	return fab_port_state(p) == FAB_ACTIVE ? "#284" : fab_port_state(p) == FAB_DOWN ? "#c22" : "#999";
}

/* Links between the same nodes stand beside each other: how many of lower number the port has. */
static unsigned beside(const struct fab_port *p)
{
	unsigned i, n = 0;

	for (i = 1; i < p->num; i++)
		n += p->node->ports[i].peer && p->node->ports[i].peer->node == p->peer->node;
	return n;
}

static void svg_link(const struct drawing *d, const struct fab_port *p, FILE *out)
{
	const struct place *a = place_of(d, p->node), *b = place_of(d, p->peer->node);
	unsigned rate = fab_port_rate(p), shift = 6 * (beside(p) % 8);

	fprintf(out, "<line x1=\"%u\" y1=\"%u\" x2=\"%u\" y2=\"%u\" stroke=\"%s\" stroke-width=\"%s\"><title>",
		left(d, a) + BOX_W / 2 + shift, top(d, a) + BOX_H / 2, left(d, b) + BOX_W / 2 + shift, top(d, b) + BOX_H / 2,
		colour(p), rate >= 2000 ? "4" : rate >= 500 ? "3" : "2");
	text_xml(out, p->node->name, FAB_NAME_MAX);
	fprintf(out, "/%u - ", p->num);
	text_xml(out, p->peer->node->name, FAB_NAME_MAX);
	fprintf(out, "/%u %s %s, errors %llu and %llu</title></line>\n", p->peer->num, show_state(p), rate_of(p),
		(unsigned long long)errors_of(p), (unsigned long long)errors_of(p->peer));
}

static void svg_node(const struct drawing *d, const struct place *p, FILE *out)
{
	const struct fab_node *n = p->node;
	const struct fab_port *base = &n->ports[n->type != FAB_SWITCH];

	fprintf(out, "<rect x=\"%u\" y=\"%u\" width=\"%d\" height=\"%d\" rx=\"%d\" fill=\"%s\" stroke=\"#333\"/>\n",
		left(d, p), top(d, p), BOX_W, BOX_H, n->type == FAB_SWITCH ? 2 : 12,
		n->type == FAB_SWITCH ? "#dde6f4" : "#f6f2e4");
	fprintf(out, "<text x=\"%u\" y=\"%u\">", left(d, p) + BOX_W / 2, top(d, p) + 15);
	text_xml(out, n->name, 18);
	fprintf(out, "</text><text x=\"%u\" y=\"%u\" fill=\"#666\">LID %u%s</text>\n", left(d, p) + BOX_W / 2,
		top(d, p) + 30, fab_port_lid(base),
		wire_get_PORT_INFO_capability_mask(base->info) & FAB_CAP_SM ? ", SM" : "");
}

static void svg_links(const struct drawing *d, FILE *out)
{
	unsigned i, k;

	for (i = 0; i < d->n; i++)
		for (k = 1; k <= d->v[i].node->n_ports; k++) {
			const struct fab_port *p = &d->v[i].node->ports[k];

			if (p->peer && (p->node->index < p->peer->node->index ||
					(p->node == p->peer->node && p->num < p->peer->num)))
				svg_link(d, p, out);
		}
}

void draw_svg(const struct fab *f, FILE *out)
{
	struct drawing d;
	unsigned i;

	if (begin(&d, f)) {
		fprintf(out, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" font-family=\"sans-serif\" "
			"font-size=\"11\" text-anchor=\"middle\">\n", 2 * MARGIN + d.columns * (BOX_W + GAP_X),
			2 * MARGIN + d.rows * (BOX_H + GAP_Y) - GAP_Y);
		svg_links(&d, out);
		for (i = 0; i < d.n; i++)
			svg_node(&d, &d.v[i], out);
		fprintf(out, "</svg>\n");
	}
	end(&d);
}
