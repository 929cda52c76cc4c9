/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Congestion notification of RoCEv2 (annex A17.9.3): a receiver of marked packets tells the sender, at
 * most once per interval and queue pair; the sender then shrinks its window, at most once per interval. The
 * window, unlike the rate of DCQCN, already recovers by itself (requester.h).
 */
#ifndef PROTO_IB_ECN_H
#define PROTO_IB_ECN_H

#include "link/link.h"

#include <stdbool.h>

struct ibp_qp;

/* Returns true if a router on the way has marked the packet (RFC 3168). The traffic class of an InfiniBand link's GRH
 * has no such bits. */
static inline bool ibp_ecn_is_marked(const struct link_rx *rx)
{
	return (rx->tos & 3) == 3 && !rx->lids;
}

/* To be called for a packet with the congestion mark. */
void ibp_ecn_marked(struct ibp_qp *q);
/* To be called for a congestion notification packet. */
void ibp_cnp_receive(struct ibp_qp *q);

#endif
