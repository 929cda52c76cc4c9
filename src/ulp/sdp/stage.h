/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory of a connection for octets that go by RDMA Read: at the source slots that the program fills and the peer reads, at the sink
 * what has been read and not yet taken. Where the adapter is Dapple's, the source's is memory that a peer of the same host maps: its Read
 * is a copy by loads and stores, without a call of the kernel.
 */
#ifndef ULP_SDP_STAGE_H
#define ULP_SDP_STAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

struct sdp_stage {
	uint8_t *at;            /* NULL: none yet */
	struct ibv_mr *mr;
	uint8_t *memory;
	bool shared;
};

/* Memory of len octets, registered with these rights; with `share` as above, if that is possible. Returns 0 or a negative errno. */
int sdp_stage_open(struct sdp_stage *s, struct ibv_pd *pd, size_t len, int access, bool share);
/* Does nothing if there is none. */
void sdp_stage_close(struct sdp_stage *s);

#endif
