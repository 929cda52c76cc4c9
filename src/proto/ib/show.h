/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The probes of packets (util/probe.h). Arguments are read only when a tracer is there. */
#ifndef PROTO_IB_SHOW_H
#define PROTO_IB_SHOW_H

#include "proto/ib/port.h"
#include "util/probe.h"

/* The last argument of the probe "transmit"; iWARP: 0 TCP, 1 shared memory. */
#define IBP_BY_WIRE 0
#define IBP_BY_RING 1
#define IBP_BY_ACCESS 2

static inline void ibp_show_sent(const struct ibp_qp *q, uint32_t bytes, const int way)
{
	(void)q, (void)bytes, (void)way;
	UT_PROBE4(transmit, q->qp->qpn, q->qp->attr.dest_qp_num, bytes, way);
}

static inline void ibp_show_received(const struct ibp_qp *q, uint8_t opcode, uint32_t bytes)
{
	(void)q, (void)opcode, (void)bytes;
	UT_PROBE3(receive, q->qp->qpn, opcode, bytes);
}

#endif
