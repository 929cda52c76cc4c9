/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rules of faults (link/rules.h) on requests that arrive in order, by whatever framing. */
#ifndef PROTO_IB_FAULTS_H
#define PROTO_IB_FAULTS_H

#include "proto/ib/port.h"

/* Returns ENG_OK, a verdict or IBP_RNR, as ibp_resp_execute() does, if a rule of port->rules wants it, which is not
 * NULL. */
int ibp_fault_request(struct ibp_qp *q, const struct wire_ib_packet *p);

/* Returns the packets that a rule of port->rules, which is not NULL, lets the requester have in flight, or the limit. */
uint32_t ibp_fault_window(struct ibp_qp *q, uint32_t limit);

#endif
