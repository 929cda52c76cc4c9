/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Work requests that belong together: the segments of a call, a reply behind the data of its chunks. The jobs
 * of a connection are posted one after the other, as far as the send queue has room, and are done when
 * all of their requests have completed.
 */
#ifndef ULP_RPCRDMA_JOB_H
#define ULP_RPCRDMA_JOB_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct rpr_job;

struct rpr_wr {
	enum ibv_wr_opcode opcode;
	uint64_t local;        /* address; of a bind: what it opens */
	uint32_t length, lkey;
	uint64_t remote;
	uint32_t rkey;         /* remote key; of a bind and an invalidate: the window's */
	struct ibv_mw *mw;
	struct ibv_mr *mr;     /* of a bind */
	unsigned access;
};

struct rpr_job {
	struct rpr_wr *wr;     /* nr of room */
	unsigned nr, room, posted, completed;
	bool active;           /* queued, and not done */
	void (*done)(void *owner, struct rpr_job *job);
	void *owner;
	struct rpr_job *next;
};

struct rpr_sendq {
	struct ibv_qp *qp;
	unsigned room;         /* work requests that the send queue still takes */
	struct rpr_job *first, *last;
};

/* Empties a job that is not active. */
void rpr_job_begin(struct rpr_job *j, void (*done)(void *owner, struct rpr_job *job), void *owner);
/* Adds a request. Returns false without memory. */
bool rpr_job_add(struct rpr_job *j, struct rpr_wr wr);
void rpr_job_fini(struct rpr_job *j);

/* Queues a job and posts what fits. Returns 0 or a negative errno: the connection is of no use then. */
int rpr_sendq_add(struct rpr_sendq *q, struct rpr_job *j);
/* Takes a completion; calls done() of its job with the last one. Returns as rpr_sendq_add(). */
int rpr_sendq_completed(struct rpr_sendq *q, const struct ibv_wc *wc);

#endif
