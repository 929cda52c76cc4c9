/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/ib/put.h"

#include "proto/ib/sent.h"
#include "wire/ib_fields.h"

bool ibp_find_lane(struct ibp_qp *q, uint32_t qpn)
{
	struct shm_channel *chan = q->port->chan;

	return !shm_lane_is_watched(chan, &q->conn.lane) &&
	       chan->ops->lane(chan, &q->conn.path.chan, qpn, &q->conn.lane) &&
	       !shm_lane_is_watched(chan, &q->conn.lane);
}

static bool load_pieces(struct ibp_qp *q, struct eng_swqe *w, uint8_t *to)
{
	struct ibp_shm *shm = &q->port->shm;
	int n = eng_sge_iov(q->qp->pd, w->sge, w->num_sge, 0, w->length, false, shm->iov,
			    IBP_SHM_PIECES);

	return n > 0 && ut_stage_load_user(&shm->stage, to, shm->iov, n) == (ssize_t)w->length;
}

/* Where there is no lane, or with the payload copied by the kernel, or quiet. */
static bool put_in_steps(struct ibp_qp *q, struct ibp_leaving *m)
{
	struct shm_channel *chan = q->port->chan;
	struct shm_reservation place;

	if (chan->ops->reserve(chan, &q->conn.path.chan, m->header.dest_qpn, m->bytes, &place) < 0)
		return false;
	if (m->data)
		memcpy(place.data, m->data, m->bytes);
	else if (m->bytes && !load_pieces(q, m->w, place.data))
		return false;
	ibp_header_put(place.header, m->header);
	place.more = m->more;
	place.quiet = m->quiet;
	chan->ops->commit(chan, &place, m->bytes);
	m->end = place.end;
	return true;
}

static inline bool put_by_lane(struct ibp_qp *q, struct ibp_leaving *m, bool watched)
{
	struct shm_channel *chan = q->port->chan;
	uint64_t skip;
	struct shm_record *at = shm_lane_reserve(&q->conn.lane, m->bytes, &skip);

	if (!at)
		return false;
	ibp_header_put(at->header, m->header);
	if (m->bytes)
		memcpy(at + 1, m->data, m->bytes);
	if (watched)
		chan->ops->watch(chan, &q->conn.path.chan, at->header, (const uint8_t *)(at + 1), m->bytes,
				 shm_lane_follows(&q->conn.lane));
	m->end = shm_lane_commit(chan, &q->conn.lane, at, m->bytes, skip, m->more);
	return true;
}

bool ibp_put_otherwise(struct ibp_qp *q, struct ibp_leaving *m)
{
	bool in_steps = (m->bytes && !m->data) || m->quiet || !shm_lane_is_watched(q->port->chan, &q->conn.lane);

	return in_steps ? put_in_steps(q, m) : put_by_lane(q, m, true);
}

bool ibp_put(struct ibp_qp *q, struct ibp_leaving *m)
{
	if ((m->bytes && !m->data) || m->quiet || !ibp_has_lane(q, m->header.dest_qpn))
		return ibp_put_otherwise(q, m);
	return put_by_lane(q, m, false);
}

bool ibp_put_ack(struct ibp_qp *q, uint32_t psn)
{
	struct ibp_port *port = q->port;
	struct ibp_leaving m = {
		.header = {
			.opcode = WIRE_RC_ACKNOWLEDGE, .unit = (uint8_t)__builtin_ctz(q->conn.resp.mtu),
			.syndrome = WIRE_SYN_ACK, .psn = psn, .dest_qpn = q->qp->attr.dest_qp_num,
			.src_qpn = q->qp->qpn, .length = q->conn.resp.msn,
		},
		.quiet = port->shm.quiet,
	};

	if (q->conn.resp.slow & (IBP_RESP_SERVICE | IBP_RESP_ROUTE | IBP_RESP_MIGRATION))
		return false;
	if (!ibp_put(q, &m))
		return false;
	port->sent++;
	ibp_sent_local(q, WIRE_RC_ACKNOWLEDGE, 0);
	return true;
}
