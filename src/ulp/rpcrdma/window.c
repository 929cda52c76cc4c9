/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rpcrdma/window.h"

#include <errno.h>

bool rpr_windows_are_there(struct ibv_context *context)
{
	struct ibv_device_attr attr;

	return !ibv_query_device(context, &attr) &&
	       (attr.device_cap_flags & (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B));
}

static int window_bind(struct rpr_conn *c, struct rpr_window *w, struct rpr_job *job, struct rpr_buf *buf,
		const uint8_t *at, uint32_t len, unsigned access)
{
	if (!w->mw) {
		w->mw = ibv_alloc_mw(c->rdma.pd, IBV_MW_TYPE_2);
		if (!w->mw)
			return -errno;
		w->key = w->mw->rkey;
	}
	w->key = ibv_inc_rkey(w->key);
	if (!rpr_job_add(job, (struct rpr_wr){ .opcode = IBV_WR_BIND_MW, .local = (uintptr_t)at, .length = len,
					       .rkey = w->key, .mw = w->mw, .mr = buf->mr, .access = access }))
		return -ENOMEM;
	w->open = true;
	return 0;
}

int rpr_window_open(struct rpr_conn *c, struct rpr_window *w, struct rpr_job *job, struct rpr_buf *buf,
		    const uint8_t *at, uint32_t len, unsigned access)
{
	if (c->windows)
		return window_bind(c, w, job, buf, at, len, access);
	w->mr = ibv_reg_mr(c->rdma.pd, (void *)(uintptr_t)at, len, (int)access | IBV_ACCESS_LOCAL_WRITE);
	if (!w->mr)
		return -errno;
	w->key = w->mr->rkey;
	w->open = true;
	return 0;
}

int rpr_window_close(struct rpr_window *w, struct rpr_job *job, const struct rpr_received *m)
{
	if (!w->open)
		return 0;
	w->open = false;
	if (w->mr) {
		ibv_dereg_mr(w->mr);
		w->mr = NULL;
		return 0;
	}
	if (m->invalidated && m->key == w->key)
		return 0;
	return rpr_job_add(job, (struct rpr_wr){ .opcode = IBV_WR_LOCAL_INV, .rkey = w->key }) ? 0 : -ENOMEM;
}

void rpr_window_fini(struct rpr_window *w)
{
	if (w->mr)
		ibv_dereg_mr(w->mr);
	if (w->mw)
		ibv_dealloc_mw(w->mw);
}
