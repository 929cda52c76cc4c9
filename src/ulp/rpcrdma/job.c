/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rpcrdma/job.h"

#include <stdlib.h>

void rpr_job_begin(struct rpr_job *j, void (*done)(void *owner, struct rpr_job *job), void *owner)
{
	j->nr = j->posted = j->completed = 0;
	j->done = done;
	j->owner = owner;
}

bool rpr_job_add(struct rpr_job *j, struct rpr_wr wr)
{
	struct rpr_wr *more;
	unsigned room;

	if (j->nr == j->room) {
		room = j->room ? 2 * j->room : 4;
		more = realloc(j->wr, room * sizeof(*more));
		if (!more)
			return false;
		j->wr = more;
		j->room = room;
	}
	j->wr[j->nr++] = wr;
	return true;
}

void rpr_job_fini(struct rpr_job *j)
{
	free(j->wr);
	j->wr = NULL;
	j->room = 0;
}

static int post(struct rpr_sendq *q, struct rpr_job *j, const struct rpr_wr *w)
{
	struct ibv_sge sge = { w->local, w->length, w->lkey };
	struct ibv_send_wr wr = { .wr_id = (uintptr_t)j, .opcode = w->opcode, .send_flags = IBV_SEND_SIGNALED }, *bad;

	switch (w->opcode) {
	case IBV_WR_BIND_MW:
		wr.bind_mw.mw = w->mw;
		wr.bind_mw.rkey = w->rkey;
		wr.bind_mw.bind_info = (struct ibv_mw_bind_info){ w->mr, w->local, w->length, w->access };
		break;
	case IBV_WR_LOCAL_INV:
		wr.invalidate_rkey = w->rkey;
		break;
	case IBV_WR_SEND_WITH_INV:
		wr.invalidate_rkey = w->rkey;
		wr.sg_list = &sge;
		wr.num_sge = 1;
		break;
	default:
		wr.wr.rdma.remote_addr = w->remote;
		wr.wr.rdma.rkey = w->rkey;
		wr.sg_list = &sge;
		wr.num_sge = w->length != 0;
	}
	return -ibv_post_send(q->qp, &wr, &bad);
}

static int advance(struct rpr_sendq *q)
{
	struct rpr_job *j;
	int r;

	while ((j = q->first)) {
		for (; j->posted < j->nr; j->posted++) {
			if (!q->room)
				return 0;
			r = post(q, j, &j->wr[j->posted]);
			if (r)
				return r;
			q->room--;
		}
		q->first = j->next;
	}
	return 0;
}

int rpr_sendq_add(struct rpr_sendq *q, struct rpr_job *j)
{
	j->active = true;
	j->next = NULL;
	if (q->first)
		q->last->next = j;
	else
		q->first = j;
	q->last = j;
	return advance(q);
}

int rpr_sendq_completed(struct rpr_sendq *q, const struct ibv_wc *wc)
{
	struct rpr_job *j = (struct rpr_job *)(uintptr_t)wc->wr_id;

	q->room++;
	if (++j->completed == j->nr) {
		j->active = false;
		j->done(j->owner, j);
	}
	return advance(q);
}
