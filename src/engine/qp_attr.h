/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Inside the QP files: legality of a transition and of the values it brings. */
#ifndef ENGINE_QP_ATTR_H
#define ENGINE_QP_ATTR_H

#include "engine/qp.h"

/* The attribute bits that every adapter knows. */
#define ENG_QP_STANDARD 0x1fffff

/* Bits that the type has no use for and that are dropped in silence, so that
 * programs may pass the mask of an RC QP. */
int eng_qp_drop_bits(enum ibv_qp_type type, int mask);
/* Required and optional bits (without STATE); false: no such transition. */
bool eng_qp_transition(const struct eng_qp *qp, enum ibv_qp_state from, enum ibv_qp_state to,
		       int *ret_required, int *ret_optional);
/* Values of the attributes in the mask: 0, -EINVAL, -EPERM. dev->lock held. */
int eng_qp_check_values(const struct eng_qp *qp, const struct ibv_qp_attr *attr, int mask,
			enum ibv_qp_state from, enum ibv_qp_state to);

/* The same two for connections that are streams. */
bool eng_qp_stream_transition(enum ibv_qp_state from, enum ibv_qp_state to);
int eng_qp_check_stream_values(const struct eng_qp *qp, const struct ibv_qp_attr *attr, int mask);

#endif
