/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The responses that a requester of RC or XRC gets (IBTA 9.7.5.1, 9.7.6): acknowledgements, NAKs and data are matched
 * with the outstanding requests, of whose PSNs psn_una is the oldest without an answer. Requests complete in
 * posting order; those of UC do when the link has their packets.
 */
#ifndef PROTO_IB_RESPONSES_H
#define PROTO_IB_RESPONSES_H

#include "proto/ib/port.h"

/* Takes a response: acknowledgement, NAK, data. */
void ibp_req_receive(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx);
/* Takes an acknowledgement that came with a request (IBP_HEADER_ACKS). */
void ibp_req_acked(struct ibp_qp *q, uint32_t psn, uint32_t msn);

/* Completes requests that are done, in posting order, and raises the event of a queue that has drained. */
void ibp_req_complete(struct ibp_qp *q);
/* The oldest request ends with an error, and the queue pair with it. */
void ibp_req_fail_head(struct ibp_qp *q, enum eng_verdict v);

#endif
