/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ICRC of a received packet. It covers the identification of the IPv4
 * header, which a socket does not show: wire_icrc_check() finds the one that
 * fits, and that leaves 15 bits of check, too few where the UDP checksum is
 * off. So a connected QP keeps a notion of how its peer numbers packets - from
 * 0 in each train as ours do, or counting as the kernel's rxe does - and a
 * number outside of it is taken for damage. A peer that really changed its
 * way says so again in its next packet, and loses just one.
 */
#include "proto/ib/port.h"

#define ID_STEP 1024   /* packets to other peers of a counting sender in between */
#define ID_JUMPS_MAX 4 /* changes of mind, after which no number surprises */

static uint8_t mode_of(uint16_t id)
{
	return id < IBP_TRAIN_PACKETS ? IBP_ID_TRAIN : IBP_ID_COUNTS;
}

static bool expected(const struct ibp_qp *q, uint16_t id)
{
	/* Kernels skip numbers while a flow is idle, about one per tick. */
	uint64_t room = ID_STEP + (q->port->now - q->id_at) / 1000000u;
	uint16_t ahead = (uint16_t)(id - q->last_id), behind = (uint16_t)(q->last_id - id);

	switch (q->id_mode) {
	case IBP_ID_TRAIN:
		return id < IBP_TRAIN_PACKETS;
	case IBP_ID_COUNTS:
		return ahead <= room || behind <= ID_STEP;
	default:
		return true;
	}
}

static bool believable(struct ibp_qp *q, uint16_t id)
{
	if (!expected(q, id)) {
		if (!q->id_odd) {
			q->id_odd = true;
			return false;
		}
		q->id_mode = ++q->id_jumps < ID_JUMPS_MAX ? mode_of(id) : IBP_ID_ANY;
	} else if (q->id_mode == IBP_ID_UNKNOWN) {
		q->id_mode = mode_of(id);
	}
	q->id_odd = false;
	q->last_id = id;
	q->id_at = q->port->now;
	return true;
}

bool ibp_icrc_good(struct ibp_port *port, struct ibp_qp *q, const struct link_rx *rx)
{
	bool connected = q && q->qp->type != IBV_QPT_UD;
	bool counts = connected && (q->id_mode == IBP_ID_COUNTS || q->id_mode == IBP_ID_ANY);
	uint16_t id = counts ? (uint16_t)(q->last_id + 1) : rx->seg;
	const struct wire_icrc_flow *flow;
	struct wire_icrc_flow local;

	if (connected) {
		flow = &q->rx_icrc;
	} else {
		ibp_icrc_flow(&local, rx->src, rx->dst);
		flow = &local;
	}
	if (!wire_icrc_check(flow, rx->sport, port->link->port, rx->data, rx->len, &id) &&
	    (!connected || flow->v6 || believable(q, id)))
		return true;
	ibp_count(port, ENG_C_rx_icrc_errors);
	return false;
}
