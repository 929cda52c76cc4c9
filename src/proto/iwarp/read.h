/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reads and atomics, as requester and as responder. */
#ifndef PROTO_IWARP_READ_H
#define PROTO_IWARP_READ_H

#include "proto/iwarp/port.h"

enum eng_verdict iwp_take_request(struct iwp_qp *q, const struct iwp_rx *rx);
enum eng_verdict iwp_take_atomic(struct iwp_qp *q, const struct iwp_rx *rx);
enum eng_verdict iwp_take_response(struct iwp_qp *q, const struct iwp_rx *rx);
enum eng_verdict iwp_take_atomic_response(struct iwp_qp *q, const struct iwp_rx *rx);
/* Sends answers while there is room. Returns false if the queue pair has failed by one of them. */
bool iwp_answers_run(struct iwp_qp *q, uint32_t budget);
/* Returns true if an answer has begun and not ended. */
static inline bool iwp_answer_open(const struct iwp_qp *q)
{
	return q->an_count && q->an[q->an_head].off;
}
struct iwp_read *iwp_read_new(struct iwp_qp *q, uint32_t index);

#endif
