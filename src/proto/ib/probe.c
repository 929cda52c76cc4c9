/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/ib/probe.h"

#include "engine/why.h"
#include "host/shm/channel.h"
#include "proto/ib/frame_shm.h"
#include "proto/ib/frame_wire.h"
#include "proto/ib/qp.h"
#include "proto/ib/requester.h"
#include "proto/ib/responses.h"
#include "proto/ib/retry.h"

#include <errno.h>

static bool may_ask(const struct ibp_qp *q)
{
	enum ibv_qp_state st = eng_qp_state(q->qp);

	return (st == IBV_QPS_RTS || st == IBV_QPS_SQD) && q->conn.path.valid &&
	       (q->qp->type == IBV_QPT_RC || q->qp->type == IBV_QPT_XRC_SEND);
}

bool ibp_probe_may_ask(const struct ibp_qp *q)
{
	return may_ask(q) && q->conn.req.framing == &ibp_frame_wire;
}

/* An empty message under the PSN before the oldest that is not acknowledged. */
int ibp_probe_ask(struct ibp_qp *q)
{
	struct wire_ib_packet p = {
		.opcode = q->cls | WIRE_MSG_SEND_ONLY, .psn = psn_add(q->conn.req.psn_una, IBP_PSN_MASK),
		.pkey = q->conn.pkey, .migreq = ibp_migreq(q), .dest_qpn = q->qp->attr.dest_qp_num,
		.ack_req = true,
	};
	const struct ibp_framing *f = q->conn.req.framing;
	int max;

	if (!f->begin(q, false, ibp_packet_size(wire_ib_shape(p.opcode), 0), &max))
		return -EAGAIN;
	f->end(q, &p, 0, false);
	return 0;
}

int ibp_probe(struct eng_dev *dev, uint32_t qpn, uint32_t peer, uint64_t since)
{
	struct ibp_qp *q = ibp_qp_to(dev, qpn, peer);

	if (!q)
		return -ENOENT;
	if (q->conn.heard > since)
		return 1;
	if (!may_ask(q))
		return -EOPNOTSUPP;
	/* Outstanding requests are repeated by themselves, and have their own count of retries. */
	return ibp_req_outstanding(q) ? 0 : ibp_probe_ask(q);
}

/* One without outstanding requests stays as it is: so would a queue pair of an adapter. */
static bool waits_for(const struct ibp_qp *q, const struct shm_died *d)
{
	return may_ask(q) && q->conn.req.framing == &ibp_frame_shm && ibp_req_outstanding(q) &&
	       shm_died_had(d, q->conn.path.chan.dst, q->qp->attr.dest_qp_num);
}

/*
 * Another process may have the slot by now, and the peer be a queue pair of that one: requests that were posted before
 * this end knew of the death have gone into the ring of the dead process. They are repeated; a queue pair that the new
 * process does not have lets the retries end.
 */
static void peer_died(struct ibp_qp *q)
{
	struct shm_channel *chan = q->port->chan;

	if (chan->ops->reach(chan, &q->conn.path.chan, q->qp->attr.dest_qp_num) == SHM_REACH_WIRE)
		ibp_req_fail_head(q, ENG_V_UNREACHABLE);
	else
		ibp_req_go_back(q);
}

void ibp_processes_gone(struct ibp_port *port)
{
	struct shm_died d;
	struct eng_qp *qp;
	uint32_t at;

	eng_dev_held(port->dev);
	while (port->chan->ops->next_died(port->chan, &d))
		for (at = 0; (qp = ut_idtab_next(&port->dev->qps, &at));)
			if (qp->type != IBV_QPT_UD && waits_for(ibp_qp(qp), &d))
				peer_died(ibp_qp(qp));
}

void ibp_peer_gone(struct eng_dev *dev, uint32_t qpn, uint32_t peer)
{
	struct eng_why why = { .doing = "a silent connection" };
	struct ibp_qp *q = ibp_qp_to(dev, qpn, peer);

	if (!q)
		return;
	if (ibp_req_outstanding(q))
		ibp_req_fail_head(q, ENG_V_UNREACHABLE);
	else
		ibp_send_error(q, ENG_V_UNREACHABLE, IBV_QPS_ERR, &why);
}
