/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What opens a part of a buffer to the peer for one call: a memory window of type 2, or a registration. */
#ifndef ULP_RPCRDMA_WINDOW_H
#define ULP_RPCRDMA_WINDOW_H

#include "ulp/rpcrdma/state.h"

struct rpr_window {
	struct ibv_mw *mw;
	struct ibv_mr *mr;     /* in its place */
	uint32_t key;
	bool open;
};

/* Opens [at, at + len) of a buffer for Reads or Writes of the peer; a bind is added to the job. Returns 0 or a negative
 * errno. */
int rpr_window_open(struct rpr_conn *c, struct rpr_window *w, struct rpr_job *job, struct rpr_buf *buf,
		    const uint8_t *at, uint32_t len, unsigned access);
/* Closes it; an invalidate is added to the job, unless the peer has invalidated the key. */
int rpr_window_close(struct rpr_window *w, struct rpr_job *job, const struct rpr_received *m);
void rpr_window_fini(struct rpr_window *w);

/* True if the adapter has windows of type 2. */
bool rpr_windows_are_there(struct ibv_context *context);

#endif
