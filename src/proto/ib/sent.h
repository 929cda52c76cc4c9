/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What counts when a message has gone into the ring of a peer process, or was an access to its memory. Counters of the ports
 * between the two have it too (link/count.h): as packets, LRH to ICRC (IBTA 16.1.3.5).
 */
#ifndef PROTO_IB_SENT_H
#define PROTO_IB_SENT_H

#include "proto/ib/port.h"
#include "proto/ib/show.h"
#include "wire/ib_link.h"
#include "wire/ib_opcode.h"

/* c: where the packets of a message of `len` octets count, the first of which has this opcode; NULL: nowhere. */
static inline void ibp_count_packets(const struct ibp_qp *q, struct link_count *c, uint8_t first, uint32_t len)
{
	uint32_t packets = 1, octets;

	if (__builtin_expect(!c, 1))
		return;
	if (len > q->conn.mtu)
		packets = (len + q->conn.mtu - 1) / q->conn.mtu;
	octets = WIRE_LRH_LEN + (q->conn.path.chan.grh ? WIRE_GRH_LEN : 0) + WIRE_BTH_LEN + WIRE_ICRC_LEN;
	link_count_add(c, packets, ((uint64_t)packets * octets + wire_ib_shape(first)->hdr_len - WIRE_BTH_LEN + len + 3) / 4);
}

/* first: opcode of its first packet; len: octets of payload, those that are only named too. */
static inline void ibp_sent_local(struct ibp_qp *q, uint8_t first, uint32_t len)
{
	struct eng_dev *dev = q->port->dev;

	ibp_show_sent(q, len, IBP_BY_RING);
	eng_dev_held(dev);
	dev->counters[ENG_C_tx_pkts]++;
	dev->counters[ENG_C_tx_bytes] += len;
	dev->counters[ENG_C_local_tx]++;
	ibp_count_packets(q, q->conn.path.there, first, len);
}

#endif
