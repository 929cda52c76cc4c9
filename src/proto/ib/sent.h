/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What counts when a message has gone into the ring of a peer process. */
#ifndef PROTO_IB_SENT_H
#define PROTO_IB_SENT_H

#include "proto/ib/port.h"
#include "proto/ib/route.h"
#include "proto/ib/show.h"

/* first: opcode of its first packet; len: octets of payload, those that are only named too. */
static inline void ibp_sent_local(struct ibp_qp *q, uint8_t first, uint32_t len)
{
	struct eng_dev *dev = q->port->dev;

	ibp_show_sent(q, len, IBP_BY_RING);
	eng_dev_held(dev);
	dev->counters[ENG_C_tx_pkts]++;
	dev->counters[ENG_C_tx_bytes] += len;
	dev->counters[ENG_C_local_tx]++;
	if (__builtin_expect(q->conn.path.chan.lids, 0))
		ibp_route_passed(q, first, len, false);
}

#endif
