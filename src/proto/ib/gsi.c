/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * QP1, the general service interface (IBTA 13.5.1). No queue pair stands
 * behind it: a MAD is one datagram of fixed size, and one user per adapter
 * takes them all, so the machine has only a bounded queue of what is to leave
 * and the checks of what has come.
 *
 * MADs are sent one by one, outside of the trains: they are rare, and a
 * full train must not hold up the answer that a connection waits for.
 */
#include "proto/ib/port.h"

#include "util/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GSI_QUEUE 256u /* MADs that wait; power of two */
#define GSI_ROUND 64u  /* sent per ibp_transmit() */
#define GSI_PACKET (WIRE_BTH_LEN + WIRE_DETH_LEN + GSI_MAD_BYTES + WIRE_ICRC_LEN)
#define PKEY_INDEX_BITS 0x7fffu

/* The kernel's rule for datagram QPs, with QPN 1. */
#define GSI_SPORT (0xc000u + (0x61c88647u >> 18))
_Static_assert(GSI_SPORT == 55410, "the port that rdma_rxe sends MADs from");

struct ibp_gsi_entry {
	struct ibp_path path;
	uint8_t mad[GSI_MAD_BYTES];
};

static size_t build(const struct ibp_port *port, const struct ibp_gsi_entry *e,
		    uint8_t buf[GSI_PACKET])
{
	const struct wire_ib_packet p = {
		.opcode = WIRE_UD_SEND_ONLY, .psn = port->gsi.psn, .pkey = IBP_PKEY,
		.dest_qpn = GSI_QPN, .src_qpn = GSI_QPN, .qkey = GSI_QKEY,
		.ack_req = true, .payload_len = GSI_MAD_BYTES,
	};
	size_t n = wire_ib_build(buf, &p);
	uint16_t sport = port->link->ops->source_port(port->link, &e->path.flow);

	memcpy(buf + n, e->mad, GSI_MAD_BYTES);
	n += GSI_MAD_BYTES;
	wire_icrc_fill(&e->path.icrc, sport, port->link->port, 0, true, buf, n);
	return n + WIRE_ICRC_LEN;
}

/* False when the socket is full. */
static bool send_oldest(struct ibp_port *port)
{
	struct ibp_gsi *g = &port->gsi;
	const struct ibp_gsi_entry *e = &g->queue[g->head % GSI_QUEUE];
	struct eng_dev *dev = port->dev;
	uint8_t buf[GSI_PACKET];
	size_t n = build(port, e, buf);
	int r = port->link->ops->send(port->link, &e->path.flow, buf, n, n);

	eng_dev_held(dev);
	if (r == -EAGAIN)
		return false;
	if (r < 0)
		ibp_count(port, ENG_C_tx_faults);
	g->head++;
	g->psn = psn_add(g->psn, 1);
	dev->counters[ENG_C_tx_pkts]++;
	dev->counters[ENG_C_tx_bytes] += n;
	return true;
}

void ibp_gsi_run(struct ibp_port *port)
{
	for (uint32_t n = 0; n < GSI_ROUND && ibp_gsi_waits(port); n++) {
		if (!send_oldest(port)) {
			port->blocked = true;
			return;
		}
		port->sent++;
	}
}

int ibp_gsi_send(struct eng_dev *dev, const struct eng_av *av, const uint8_t mad[GSI_MAD_BYTES])
{
	struct ibp_port *port = dev->port;
	struct ibp_gsi *g = &port->gsi;
	struct ibp_gsi_entry *e;
	struct ibp_path path;

	if (ibp_path_set(port, &path, av, GSI_SPORT) < 0)
		return -EINVAL;
	if (!g->queue)
		g->queue = ut_calloc(GSI_QUEUE, sizeof(*g->queue));
	if (!g->queue)
		return -EAGAIN;
	/* Who closes ten thousand connections has more to say than fits. */
	if (g->tail - g->head == GSI_QUEUE && !send_oldest(port))
		return -EAGAIN;
	e = &g->queue[g->tail++ % GSI_QUEUE];
	e->path = path;
	memcpy(e->mad, mad, GSI_MAD_BYTES);
	return 0;
}

void ibp_gsi_fini(struct ibp_port *port)
{
	free(port->gsi.queue);
	port->gsi = (struct ibp_gsi){ 0 };
}

static bool acceptable(struct ibp_port *port, const struct wire_ib_packet *p)
{
	if (!port->cfg.gsi || p->opcode != WIRE_UD_SEND_ONLY)
		ibp_count(port, ENG_C_rx_no_qp);
	else if (p->payload_len != GSI_MAD_BYTES)
		ibp_count(port, ENG_C_rx_short);
	else if ((p->pkey & PKEY_INDEX_BITS) != (IBP_PKEY & PKEY_INDEX_BITS))
		ibp_count(port, ENG_C_rx_bad_pkey);
	else if (p->qkey != GSI_QKEY)
		ibp_count(port, ENG_C_rx_bad_qkey);
	else
		return true;
	return false;
}

void ibp_gsi_receive(struct ibp_port *port, const struct wire_ib_packet *p,
		     const struct link_rx *rx)
{
	struct gsi_rx g = { .mad = p->payload, .pkey = p->pkey, .traffic_class = rx->tos,
			    .raw = rx };

	if (!acceptable(port, p) || !ibp_icrc_matches(port, NULL, rx))
		return;
	memcpy(g.src, rx->src, 16);
	memcpy(g.dst, rx->dst, 16);
	/* The user may end QPs: what came for them before is placed first. */
	ibp_place_settle(port);
	port->cfg.gsi->received(port->dev, &g, port->now);
}
