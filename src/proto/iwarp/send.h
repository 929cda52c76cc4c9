/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The requests of this end: the ready-to-receive message and the send queue. */
#ifndef PROTO_IWARP_SEND_H
#define PROTO_IWARP_SEND_H

#include "proto/iwarp/port.h"

void iwp_sq_run(struct iwp_qp *q, uint32_t budget);
/* Completes the entries that have been sent, in order. */
void iwp_sq_collect(struct iwp_qp *q);
/* The same, and then ends the queue pair if an entry has a verdict or a completion queue overran. */
void iwp_sq_complete(struct iwp_qp *q);
bool iwp_sq_waits(const struct iwp_qp *q);

/* Adds the ready-to-receive message to the chunk in work. */
void iwp_send_ready(struct iwp_qp *q);
/* Sends the ready-to-receive message now, if it is due. */
void iwp_say_ready(struct iwp_qp *q);

#endif
