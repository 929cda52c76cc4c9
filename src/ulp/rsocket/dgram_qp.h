/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The UD queue pairs of a datagram rsocket, one for each local address. Called with c held. */
#ifndef ULP_RSOCKET_DGRAM_QP_H
#define ULP_RSOCKET_DGRAM_QP_H

#include "ulp/rsocket/dgram.h"

/* Finds or creates the queue pair of a local address. Returns 0 or a negative errno. */
int rs_dgram_qp_get(struct rs_sock *s, const struct sockaddr *local, struct rs_dgram_qp **ret);
void rs_dgram_qp_free(struct rs_dgram_qp *qp);
/* Processes all completions: frees send slots, queues received datagrams. */
void rs_dgram_qp_poll(struct rs_dgram_qp *qp);
/* Posts a receive slot. Returns 0 or a negative errno. */
int rs_dgram_qp_recv(struct rs_dgram_qp *qp, uint32_t slot);
uint8_t *rs_dgram_qp_slot(struct rs_dgram_qp *qp, uint32_t slot);
/* Sends one datagram; the queue pair must have a free send slot. Returns 0 or a negative errno. */
int rs_dgram_qp_send(struct rs_dgram_qp *qp, const struct rs_dgram_dest *dest,
		     const struct iovec *iov, size_t len);

#endif
