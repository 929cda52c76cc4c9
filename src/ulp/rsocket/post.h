/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Work requests of a stream. All functions return 0 or a negative errno, and are called with c held.
 * The caller has taken the slots of the send queue (flow.h).
 */
#ifndef ULP_RSOCKET_POST_H
#define ULP_RSOCKET_POST_H

#include "ulp/rsocket/sock.h"

/* Work request identifiers: a kind, and for data the bytes of the send ring that it frees. */
#define RS_WR_DATA (1ull << 56)
#define RS_WR_CTRL (2ull << 56)
#define RS_WR_RECV (3ull << 56)
#define RS_WR_KIND (0xffull << 56)

int rs_post_recvs(struct rs_sock *s, const uint32_t *slots, unsigned nr);
int rs_post_write(struct rs_sock *s, struct ibv_sge *sg, int nr, uint64_t wr_id, uint64_t remote,
		  uint32_t key, int flags);
int rs_post_message(struct rs_sock *s, uint32_t msg, uint64_t wr_id);
/* Writes the data, then announces it with the message. */
int rs_post_write_message(struct rs_sock *s, struct ibv_sge *sg, int nr, uint32_t msg,
			  uint64_t wr_id, uint64_t remote, uint32_t key, int flags);

#endif
