/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The queue pair of a connection, and its receives. */
#ifndef ULP_SDP_QP_H
#define ULP_SDP_QP_H

#include "ulp/sdp/state.h"

/* Makes that of the connection's identifier, and posts the receives that hold no octets. Returns 0 or a negative errno. */
int sdp_qp_make(struct sdp_conn *c);
/* Destroys that of an identifier before, and the identifier. Numbers, credits and messages begin anew. */
void sdp_qp_leave(struct sdp_conn *c, struct rdma_cm_id *id);

#endif
