/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The transport's side of a queue pair's life: its transitions, where attributes become a path and timers, and its end. */
#ifndef PROTO_IB_QP_H
#define PROTO_IB_QP_H

#include "engine/why.h"
#include "proto/ib/port.h"

/* Finds a connected queue pair by both numbers: a QPN may belong to another queue pair by now. NULL: there is none. */
struct ibp_qp *ibp_qp_to(struct eng_dev *dev, uint32_t qpn, uint32_t peer);
/* Stops timers and takes the queue pair off all lists. */
void ibp_qp_stop(struct ibp_qp *q);
/* The queue pair fails: logs the sentence, changes state, raises the event (raise); the receive in
 * work ends with an error, the other requests are flushed. */
void ibp_qp_error(struct ibp_qp *q, enum eng_verdict v, enum ibv_qp_state next, bool raise,
		  struct eng_why *why);
/* The same for a fault of the requester: a receive in work is flushed. */
void ibp_send_error(struct ibp_qp *q, enum eng_verdict v, enum ibv_qp_state next,
		    struct eng_why *why);
/* The attributes of the path have changed: makes it anew. */
void ibp_qp_renew_path(struct ibp_qp *q);
/* Ends a taken receive with an error, if there is one. */
void ibp_recv_end(struct ibp_qp *q, enum eng_verdict v);

#endif
