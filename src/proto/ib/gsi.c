/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/ib/gsi.h"

#include "proto/ib/port.h"
#include "proto/ib/ud.h"
#include "util/alloc.h"
#include "util/log.h"
#include "wire/cm_fields.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define GSI_QUEUE 256u /* MADs that wait; power of two */
#define GSI_ROUND 64u  /* sent per ibp_transmit() */
#define GSI_PACKET (WIRE_BTH_LEN + WIRE_DETH_LEN + WIRE_MAD_BYTES + WIRE_ICRC_LEN)

_Static_assert(WIRE_QPN_GSI == ENG_GSI_QPN && WIRE_QKEY_GSI == ENG_GSI_QKEY &&
	       WIRE_MAD_BYTES == ENG_GSI_BYTES && WIRE_PKEY_DEFAULT == ENG_PKEY_DEFAULT, "two names of the same");

/* Returns true if a manager can be asked for it: service IDs that begin with 2 are the operating
 * system's own (IBTA annex A3). */
#define GSI_SERVICE 0x02646170706c6501ull

struct ibp_gsi_entry {
	struct ibp_path path;
	uint8_t mad[WIRE_MAD_BYTES];
};

static size_t build(const struct ibp_port *port, const struct ibp_gsi_entry *e,
		    uint8_t buf[GSI_PACKET])
{
	const struct wire_ib_packet p = {
		.opcode = WIRE_UD_SEND_ONLY, .psn = port->gsi.psn, .pkey = eng_port_pkey(port->dev, 0),
		.dest_qpn = WIRE_QPN_GSI, .src_qpn = WIRE_QPN_GSI, .qkey = WIRE_QKEY_GSI,
		.ack_req = true, .payload_len = WIRE_MAD_BYTES,
	};
	size_t n = wire_ib_build(buf, &p);
	uint16_t sport = port->link->ops->source_port(port->link, &e->path.flow);

	memcpy(buf + n, e->mad, WIRE_MAD_BYTES);
	n += WIRE_MAD_BYTES;
	wire_icrc_fill(&e->path.icrc, sport, port->link->port, 0, true, buf, n);
	return n + WIRE_ICRC_LEN;
}

/* Sends one MAD. Returns false if the socket is full. */
static bool send_oldest(struct ibp_port *port)
{
	struct ibp_gsi *g = &port->gsi;
	const struct ibp_gsi_entry *e = &g->queue[g->head % GSI_QUEUE];
	struct eng_dev *dev = port->dev;
	uint8_t buf[GSI_PACKET];
	size_t n = build(port, e, buf);
	int r = port->link->ops->send(port->link, &e->path.flow, WIRE_QPN_GSI, buf, n, n);

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
	for (uint32_t n = 0; n < GSI_ROUND && ibp_gsi_waits(&port->gsi); n++) {
		if (!send_oldest(port)) {
			port->blocked = true;
			return;
		}
		port->sent++;
	}
}

int ibp_gsi_send(struct eng_dev *dev, const struct eng_av *av, const uint8_t mad[WIRE_MAD_BYTES])
{
	struct ibp_port *port = dev->proto_port;
	struct ibp_gsi *g = &port->gsi;
	struct ibp_gsi_entry *e;
	struct ibp_path path;

	if (ibp_path_set(port, &path, av, ibp_datagram_sport(WIRE_QPN_GSI)) < 0)
		return -EINVAL;
	if (!g->queue)
		g->queue = ut_calloc(GSI_QUEUE, sizeof(*g->queue));
	if (!g->queue)
		return -EAGAIN;
	/* A program that closes ten thousand connections queues more MADs than fit. */
	if (g->tail - g->head == GSI_QUEUE && !send_oldest(port))
		return -EAGAIN;
	e = &g->queue[g->tail++ % GSI_QUEUE];
	e->path = path;
	memcpy(e->mad, mad, WIRE_MAD_BYTES);
	return 0;
}

void ibp_gsi_fini(struct ibp_port *port)
{
	free(port->gsi.queue);
	port->gsi = (struct ibp_gsi){ 0 };
}

/* --- QP1 of the application --- */

/* Returns the valid GID of the least address above `after` (NULL: of all). Claims in this order, so
 * two processes that want the same addresses do not each get some of them. */
static const uint8_t *next_addr(struct ibp_port *port, const uint8_t *after)
{
	const uint8_t *best = NULL;

	for (uint32_t i = 0; i < ENG_GIDS_MAX; i++) {
		const struct eng_gid *g = &port->dev->port.gids[i];

		if (g->valid && (!after || memcmp(g->gid.raw, after, 16) > 0) &&
		    (!best || memcmp(g->gid.raw, best, 16) < 0))
			best = g->gid.raw;
	}
	return best;
}

void ibp_gsi_unclaim(struct ibp_port *port)
{
	const uint8_t *addr = NULL;

	while ((addr = next_addr(port, addr)))
		port->link->ops->unclaim(port->link, addr, GSI_SERVICE);
}

int ibp_gsi_claim(struct ibp_port *port)
{
	const uint8_t *addr = NULL;
	int r, got = 0;

	while ((addr = next_addr(port, addr))) {
		r = port->link->ops->claim(port->link, addr, GSI_SERVICE);
		got += r == 0;
		/* Some addresses may not be bound, because another process has their UDP port. */
		if (r == 0 || r == -EADDRNOTAVAIL)
			continue;
		ibp_gsi_unclaim(port);
		if (r != -EADDRINUSE)
			return r;
		ut_error("%s: queue pair 1 is in use by another process: it cannot be created here (EBUSY); "
			 "end that process", port->dev->name);
		return -EBUSY;
	}
	return got ? 0 : -EADDRNOTAVAIL;
}

void ibp_gsi_addr(struct eng_dev *dev, const uint8_t addr[16], bool here)
{
	struct ibp_port *port = dev->proto_port;
	int r = 0;

	eng_dev_held(dev);
	if (!eng_qp_find(dev, WIRE_QPN_GSI))
		return;
	if (here)
		r = port->link->ops->claim(port->link, addr, GSI_SERVICE);
	else
		port->link->ops->unclaim(port->link, addr, GSI_SERVICE);
	if (r < 0)
		ut_warn("%s: cannot claim queue pair 1 at a new address (%s): it receives nothing there; end "
			"the process that has it there",
			dev->name, strerror(-r));
}

static bool receives(const struct eng_qp *qp)
{
	enum ibv_qp_state st = eng_qp_state(qp);

	return st == IBV_QPS_RTR || st == IBV_QPS_RTS || st == IBV_QPS_SQD || st == IBV_QPS_SQE;
}

static void to_application(struct ibp_port *port, const struct wire_ib_packet *p,
		     const struct link_rx *rx)
{
	struct eng_qp *qp = eng_qp_find(port->dev, WIRE_QPN_GSI);

	if (qp && receives(qp))
		ibp_ud_receive(ibp_qp(qp), p, rx);
	else if (qp || !port->link->ops->pass_on(port->link, rx, GSI_SERVICE))
		ibp_count(port, ENG_C_rx_no_qp);
}

/* --- receiving --- */

static bool acceptable(struct ibp_port *port, const struct wire_ib_packet *p)
{
	if (p->opcode != WIRE_UD_SEND_ONLY)
		ibp_count(port, ENG_C_rx_no_qp);
	else if (p->payload_len != WIRE_MAD_BYTES)
		ibp_count(port, ENG_C_rx_short);
	else if (!eng_port_admits_pkey(port->dev, p->pkey))
		ibp_count(port, ENG_C_rx_bad_pkey);
	else if (p->qkey != WIRE_QKEY_GSI)
		ibp_count(port, ENG_C_rx_bad_qkey);
	else
		return true;
	return false;
}

void ibp_gsi_receive(struct ibp_port *port, const struct wire_ib_packet *p,
		     const struct link_rx *rx)
{
	const struct gsi_user *user = port->cfg.gsi;
	struct gsi_rx g = { .mad = p->payload, .pkey = p->pkey, .traffic_class = rx->tos,
			    .raw = rx };

	if (!acceptable(port, p) || !ibp_icrc_matches(port, NULL, rx))
		return;
	/* The manager may end queue pairs: payload that came for them before is placed first. */
	ibp_place_settle(port);
	if (!user || wire_get_MAD_mgmt_class(p->payload) != user->mgmt_class) {
		to_application(port, p, rx);
		return;
	}
	memcpy(g.src, rx->src, 16);
	memcpy(g.dst, rx->dst, 16);
	user->received(port->dev, &g, port->now);
}
