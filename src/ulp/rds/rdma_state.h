/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The state of a connection over RDMA, and its parts: rdma_cm.c makes connections, rdma_queue.c has their queues, rdma.c
 * what happens when.
 *
 *              begin               route            established
 *        DOWN -------> RESOLVING -------> CONNECTING -------> UP
 *         ^  \-------------------------> ACCEPTING -----------^ |
 *         |            request accepted                         |
 *         +------- the timer `ending`, after ulp_end() ---------+
 *
 * A step that fails says so by ulp_end(), and the connection is destroyed from the loop alone: no callback has its ground
 * taken away.
 */
#ifndef ULP_RDS_RDMA_STATE_H
#define ULP_RDS_RDMA_STATE_H

#include "ulp/conn.h"
#include "ulp/rds/conn.h"
#include "ulp/rds/credit.h"
#include "ulp/rds/loop.h"
#include "ulp/rds/packet.h"

#define RDS_RDMA_SENDS 128
#define RDS_RDMA_RECEIVES 256

enum rds_rdma_state { RDS_RDMA_DOWN, RDS_RDMA_RESOLVING, RDS_RDMA_CONNECTING, RDS_RDMA_ACCEPTING, RDS_RDMA_UP };

struct rds_rdma {
	struct rds_conn c;
	struct ulp_conn u;
	enum rds_rdma_state state;
	bool active;                    /* this end has requested the connection */
	bool broke;                     /* the peer broke a rule: nothing more of it counts */
	bool taken_over;                /* the peer's connection was with the owner before, and it may not know yet that this has ended */
	bool has_said;                  /* a sentence on the peer that is not reached */
	int64_t up_since;
	int64_t down_since;             /* the first attempt that failed; 0: none has */
	struct rds_watch events, completions;
	struct rds_timer retry, limit, ending;
	int retry_ms;
	int64_t not_before;             /* of the next attempt */
	struct rds_credit credit;
	/* Sending. Counts run on; a slot is the count modulo the ring. */
	uint32_t tx_posted, tx_done;
	uint32_t offset;                /* octets of what has begun that are posted */
	unsigned without_ack;           /* messages since one that asked for an acknowledgement */
	struct rds_job *jobs[RDS_RDMA_SENDS]; /* works under way, by their counts */
	/* Receiving: of rx_done receives that have completed, rx_taken are taken; the others wait while the connection is paused. */
	uint32_t rx_done, rx_taken;
	uint32_t rx_len[RDS_RDMA_RECEIVES];
	struct rds_assembly in;
	uint64_t ack, acked;            /* number that came last; that the peer has acknowledged */
	bool ack_due;
};

struct rds_rdma *rds_rdma_of(const struct rds_conn *c);
struct rds_loop *rds_rdma_loop(struct rds_rdma *r);
/* Watches for completions. */
int rds_rdma_watch(struct rds_rdma *r);
/* Has the connection destroyed if a step before has failed. */
void rds_rdma_check(struct rds_rdma *r);
/* The peer broke a rule: says so, and ends the connection. Returns -EPROTO. */
int rds_rdma_broke_rule(struct rds_rdma *r, enum rds_verdict v);
/* A work of a message has failed: says so, and tells its program. */
void rds_rdma_refused(struct rds_rdma *r, struct rds_job *j, enum ibv_wc_status s);
/* The connection stands. */
void rds_rdma_stand(struct rds_rdma *r);

#endif
