/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "record.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "capture/pcapng.h"
#include "run.h"
#include "wire/ib_link.h"
#include "wire/ib_opcode.h"
#include "wire/icrc.h"

#define TRANSPORT (WIRE_BTH_LEN + WIRE_DETH_LEN + MAD_LEN + 4) /* BTH to ICRC */
#define VCRC_LEN 2
#define PACKET_MAX (WIRE_LINK_HDRS_MAX + TRANSPORT + VCRC_LEN)

/* Interfaces of the file that stand for the ports of a node; 0: none yet, else its number + 1. */
struct numbers {
	uint32_t *of_port;
};

struct record {
	FILE *file;
	const char *name;
	struct pcapng out;
	struct numbers *nodes;		/* by index */
	uint32_t n_nodes;
	uint64_t packets;
	bool is_dirty, has_failed;
};

struct record *record_open(FILE *file, const char *name)
{
	struct record *r = calloc(1, sizeof(*r));

	if (!r) {
		fclose(file);
		return NULL;
	}
	r->file = file;
	r->name = name;
	pcapng_begin(&r->out, file, "dapple fabric");
	r->is_dirty = true;
	return r;
}

void record_close(struct record *r)
{
	uint32_t i;

	if (!r)
		return;
	record_settle(r);
	for (i = 0; i < r->n_nodes; i++)
		free(r->nodes[i].of_port);
	free(r->nodes);
	fclose(r->file);
	free(r);
}

static bool make_room(struct record *r, uint32_t index)
{
	uint32_t n = index < 64 ? 64 : index * 2;
	struct numbers *more;

	if (index < r->n_nodes)
		return true;
	more = realloc(r->nodes, n * sizeof(*more));
	if (!more)
		return false;
	memset(more + r->n_nodes, 0, (n - r->n_nodes) * sizeof(*more));
	r->nodes = more;
	r->n_nodes = n;
	return true;
}

/* Returns the number of the port's interface + 1, or 0 without memory. */
static uint32_t interface_of(struct record *r, const struct fab_port *p)
{
	const struct fab_node *n = p->node;
	struct numbers *v;
	char name[FAB_NAME_MAX + 8];

	if (!make_room(r, n->index))
		return 0;
	v = &r->nodes[n->index];
	if (!v->of_port)
		v->of_port = calloc(n->n_ports + 1u, sizeof(*v->of_port));
	if (!v->of_port)
		return 0;
	if (!v->of_port[p->num]) {
		snprintf(name, sizeof(name), "%s/%u", n->name, p->num);
		v->of_port[p->num] = pcapng_interface(&r->out, PCAPNG_ERF, name, NULL) + 1;
	}
	return v->of_port[p->num];
}

static void put_transport(const struct mad *m, uint8_t *ib)
{
	memset(ib, 0, WIRE_BTH_LEN + WIRE_DETH_LEN);
	wire_set_BTH_opcode(ib, WIRE_UD_SEND_ONLY);
	wire_set_BTH_migreq(ib, 1);
	wire_set_BTH_pkey(ib, m->dqpn ? m->pkey : 0xffff);
	wire_set_BTH_dest_qpn(ib, m->dqpn & 0xffffff);
	ib += WIRE_BTH_LEN;
	wire_set_DETH_qkey(ib, m->dqpn ? m->qkey : 0);
	wire_set_DETH_src_qpn(ib, m->sqpn & 0xffffff);
	memcpy(ib + WIRE_DETH_LEN, m->bytes, MAD_LEN);
}

/* Returns the length of the packet with its VCRC, 0: it has none of that form. */
static size_t build(const struct mad *m, uint8_t packet[PACKET_MAX])
{
	struct wire_link_packet p = {
		.lrh = { .dlid = m->dlid, .slid = m->slid, .vl = m->dqpn ? 0 : 15, .sl = m->sl & 15, .lnh = WIRE_LNH_LOCAL },
		.ib_len = TRANSPORT,
	};
	size_t head;

	if (m->has_grh && wire_grh_get(m->grh, sizeof(m->grh), &p.grh) == 0)
		p.lrh.lnh = WIRE_LNH_GLOBAL;
	head = wire_link_build(packet, WIRE_LINK_HDRS_MAX, &p);
	if (!head)
		return 0;
	put_transport(m, packet + head);
	wire_icrc_link_fill(packet, head + TRANSPORT - 4);
	wire_vcrc_fill(packet, head + TRANSPORT);
	return head + TRANSPORT + VCRC_LEN;
}

static void write_packet(struct record *r, const struct fab_port *out, const uint8_t *packet, size_t len)
{
	uint32_t number = interface_of(r, out);
	struct timespec now;

	if (!number)
		return;
	clock_gettime(CLOCK_REALTIME, &now);
	pcapng_packet(&r->out, number - 1, PCAPNG_ERF, (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec, true, packet,
		      (uint32_t)len, (uint32_t)len, NULL);
	r->packets++;
	r->is_dirty = true;
}

void record_crossed(struct record *r, const struct fab_port *out, const struct mad *m)
{
	uint8_t packet[PACKET_MAX];
	size_t len = r->has_failed ? 0 : build(m, packet);

	if (len)
		write_packet(r, out, packet, len);
}

void record_passed(struct record *r, const struct fab_port *out, const uint8_t *bytes, size_t len)
{
	uint8_t packet[WIRE_LINK_PACKET_MAX + VCRC_LEN];

	if (r->has_failed || len > WIRE_LINK_PACKET_MAX)
		return;
	memcpy(packet, bytes, len);
	wire_vcrc_fill(packet, len);
	write_packet(r, out, packet, len + VCRC_LEN);
}

void record_settle(struct record *r)
{
	if (!r || !r->is_dirty || r->has_failed)
		return;
	pcapng_flush(&r->out);
	r->is_dirty = false;
	r->has_failed = r->out.error != 0;
	if (r->has_failed)
		run_say("the capture \"%s\" cannot be written (%s): nothing more is recorded; make room, and start the fabric "
			"again", r->name, strerror(r->out.error));
}

void record_print(const struct record *r, FILE *to)
{
	fprintf(to, "capture: %" PRIu64 " packets in %s%s\n", r->packets, r->name, r->has_failed ? ", ended by an error" : "");
}
