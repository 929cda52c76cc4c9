/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Legal transitions of a queue pair (IBTA 11.2.5.2), and legal values of its attributes. */
#ifndef ENGINE_QP_ATTR_H
#define ENGINE_QP_ATTR_H

#include "engine/qp.h"
#include "engine/refuse.h"

/* The attribute bits that every adapter knows. */
#define ENG_QP_STANDARD 0x1fffff

/* Returns the mask without the bits that have no meaning for the type: programs may pass the mask of an RC
 * queue pair. */
int eng_qp_drop_bits(enum ibv_qp_type type, int mask);
/* Returns the required and the optional bits (without STATE), or false: there is no such transition. */
bool eng_qp_transition(const struct eng_qp *qp, enum ibv_qp_state from, enum ibv_qp_state to,
		       int *ret_required, int *ret_optional);
/* Checks the values of the attributes in the mask. Returns ENG_ACCEPTED or the reason. Called with
 * dev->lock held. */
enum eng_refusal eng_qp_check_values(const struct eng_qp *qp, const struct ibv_qp_attr *attr, int mask,
				     enum ibv_qp_state to);

/* The same two for connections that are streams. */
bool eng_qp_stream_transition(enum ibv_qp_state from, enum ibv_qp_state to);
enum eng_refusal eng_qp_check_stream_values(const struct eng_qp *qp, const struct ibv_qp_attr *attr, int mask);

#endif
