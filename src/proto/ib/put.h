/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Messages that leave through the shm channel without a packet in between: straight into the lane to the peer where there is one, else in
 * steps. An observer of the channel sees those that it watches.
 */
#ifndef PROTO_IB_PUT_H
#define PROTO_IB_PUT_H

#include "host/shm/lane.h"
#include "proto/ib/port.h"

struct eng_swqe;

struct ibp_leaving {
	struct ibp_header header;
	const void *data;   /* the payload, if plain loads from it are safe; else NULL: the pieces of w */
	struct eng_swqe *w;
	uint32_t bytes;     /* of payload */
	bool more, quiet;   /* as in struct shm_reservation */
	uint64_t end;       /* set by the next two: its end in the ring */
};

/* Return false if nothing has left. ibp_put_otherwise(): no lane leads to the peer. */
bool ibp_put(struct ibp_qp *q, struct ibp_leaving *m);
bool ibp_put_otherwise(struct ibp_qp *q, struct ibp_leaving *m);
/* Sends the plain acknowledgement up to this PSN. Returns false if nothing has left. */
bool ibp_put_ack(struct ibp_qp *q, uint32_t psn);

/* Returns true if the lane leads to the process of this QPN from now on. */
bool ibp_find_lane(struct ibp_qp *q, uint32_t qpn);
static inline bool ibp_has_lane(struct ibp_qp *q, uint32_t qpn)
{
	return shm_lane_leads(q->port->chan, &q->conn.lane) || ibp_find_lane(q, qpn);
}

#endif
