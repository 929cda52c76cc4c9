/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connection management of one connection: addresses, Hello and HelloAck, the end. */
#ifndef ULP_SDP_CM_H
#define ULP_SDP_CM_H

#include "ulp/sdp/state.h"

/* Finds the way to a server. Returns 0 or a negative errno with a sentence, as the others. */
int sdp_cm_resolve(struct sdp_conn *c, const struct sockaddr *from, const struct sockaddr *to, int timeout_ms);
/* Sends the Hello of a connection whose queue pair and receives are ready, and waits until it stands. */
int sdp_cm_connect(struct sdp_conn *c, int timeout_ms);
/* Takes over the identifier of a request, and its Hello. */
int sdp_cm_adopt(struct sdp_conn *c, struct rdma_cm_id *id, const void *data, size_t len);
/* Sends the HelloAck and waits until the connection stands. */
int sdp_cm_accept(struct sdp_conn *c, int timeout_ms);

#endif
