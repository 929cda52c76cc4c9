/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The UC responder (IBTA 9.8.2): a message that loses a packet is given up as a whole, silently; the
 * receive it had taken serves the next one. */
#ifndef PROTO_IB_UC_H
#define PROTO_IB_UC_H

struct ibp_qp;
struct link_rx;
struct wire_ib_packet;

void ibp_uc_receive(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx);
/* To be called when payload of a message could not be placed. */
void ibp_uc_fault(struct ibp_qp *q);

#endif
