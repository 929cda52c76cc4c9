/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The verbs objects of a stream (no DAT endpoint): completion queue and channel, queue pair, registered buffers. */
#ifndef ULP_RSOCKET_EP_H
#define ULP_RSOCKET_EP_H

#include "ulp/rsocket/sock.h"

/* Creates the endpoint and posts its receives. On error rs_ep_free() releases what was made. */
int rs_ep_create(struct rs_sock *s);
void rs_ep_free(struct rs_sock *s);
/* Creates a completion queue of `entries` with a channel that never blocks. */
int rs_ep_cq(struct rdma_cm_id *id, unsigned entries, struct ibv_comp_channel **ret_comp,
	     struct ibv_cq **ret_cq);

#endif
