/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Congestion notification of RoCEv2 (annex A17.9.3), and of switches (annex A10): a receiver of marked packets tells the sender, at
 * most once per interval and queue pair; the sender then shrinks its window, at most once per interval. The
 * window, unlike the rate of DCQCN, already recovers by itself (requester.h).
 */
#ifndef PROTO_IB_ECN_H
#define PROTO_IB_ECN_H

#include "link/link.h"
#include "wire/ib_fields.h"

#include <stdbool.h>

struct ibp_qp;

/* Returns true if a router on the way has marked the packet (RFC 3168), or a switch of an InfiniBand link (A10: FECN),
 * whose traffic class has no such bits. The packet has a BTH. */
static inline bool ibp_ecn_is_marked(const struct link_rx *rx)
{
	return rx->lids ? wire_get_BTH_fecn(rx->data) : (rx->tos & 3) == 3;
}

/* To be called for a packet with the congestion mark. */
void ibp_ecn_marked(struct ibp_qp *q);
/* To be called for a congestion notification packet. */
void ibp_cnp_receive(struct ibp_qp *q);

#endif
