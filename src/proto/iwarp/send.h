/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What this end asks of the peer: the ready-to-receive message and the send queue. */
#ifndef PROTO_IWARP_SEND_H
#define PROTO_IWARP_SEND_H

#include "proto/iwarp/port.h"

void iwp_sq_run(struct iwp_qp *q, uint32_t budget);
/* Completes what has left, in order. */
void iwp_sq_collect(struct iwp_qp *q);
/* The same, and ends the QP over an entry with a verdict or a completion queue that overran. */
void iwp_sq_complete(struct iwp_qp *q);
bool iwp_sq_waits(const struct iwp_qp *q);

/* The ready-to-receive message joins the chunk in work. */
void iwp_send_ready(struct iwp_qp *q);
/* The ready-to-receive message goes now, if it is due. */
void iwp_say_ready(struct iwp_qp *q);

#endif
