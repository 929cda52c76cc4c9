/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * UD, both directions (IBTA 9.8.3, annex A17.4.5). A datagram is one packet; the first 40 bytes of its
 * receive buffer are the GRH, or for IPv4 twenty bytes and the IPv4 header, whose checksum must be right
 * since ibv_init_ah_from_wc() tells the two apart by it.
 */
#ifndef PROTO_IB_UD_H
#define PROTO_IB_UD_H

#include <stdbool.h>
#include <stdint.h>

struct ibp_qp;
struct link_rx;
struct wire_ib_packet;

/* Sends at most `budget` datagrams. */
void ibp_ud_run(struct ibp_qp *q, uint32_t budget);
/* Sends those that need no round: messages within the host. Returns true if nothing is left. */
bool ibp_ud_post(struct ibp_qp *q);
void ibp_ud_receive(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx);

#endif
