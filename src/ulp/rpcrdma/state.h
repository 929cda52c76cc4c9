/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The state of a connection, for the files of this room. */
#ifndef ULP_RPCRDMA_STATE_H
#define ULP_RPCRDMA_STATE_H

#include "ulp/rpcrdma/conn.h"
#include "ulp/rpcrdma/header.h"
#include "ulp/rpcrdma/job.h"
#include "ulp/rpcrdma/layout.h"
#include "ulp/rpcrdma/nfs.h"
#include "ulp/rpcrdma/private.h"

#define RPR_BACK_CREDITS 16   /* receives for the backward direction, and most calls in it */
#define RPR_PLAINS 32         /* messages of the backward direction and errors that are under way */
#define RPR_SQ_DEPTH 256

/* A message that is a Send alone. */
struct rpr_plain {
	struct rpr_conn *conn;
	struct rpr_job job;
	uint8_t *data;
	struct rpr_plain *next;
};

/* A received message: its header, and the bytes behind. */
struct rpr_received {
	const uint8_t *body;
	size_t len;
	bool invalidated;
	uint32_t key;
};

struct rpr_client;
struct rpr_server;

struct rpr_conn {
	struct ulp_conn rdma;         /* its memory: receives, then Sends, each of conf.inline_size */
	struct rpr_conf conf;
	const struct rpr_ops *ops;
	void *user;
	struct rpr_private peer;
	uint32_t send_max;            /* longest inline message that the peer takes */
	bool established, windows;
	unsigned nr_recv, nr_call;    /* receives; call or reply messages */
	struct rpr_plain plain[RPR_PLAINS];
	struct rpr_plain *plain_free;
	struct rpr_sendq sendq;
	struct rpr_bufs bufs;
	unsigned back_out;            /* calls of the backward direction without a reply */
	struct rpr_client *client;    /* one of these two */
	struct rpr_server *server;
	struct rpr_header header;     /* of the message that is being looked at */
	struct rpr_counts counts;
};

/* Ends it because of a rule that the peer broke. */
int rpr_end_rule(struct rpr_conn *c, enum rpr_verdict v);

/* The memory of call or reply message i. */
uint8_t *rpr_call_memory(const struct rpr_conn *c, unsigned i);

#endif
