/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A work of a message, in the carrier: with memory of its own, from which the adapter sends and to which it receives. The message has it,
 * the queue of an adapter while it is under way there, and the socket's queue with its end; the last of them frees it.
 */
#ifndef ULP_RDS_JOB_H
#define ULP_RDS_JOB_H

#include "ulp/rds/arrival.h"
#include "ulp/rds/work.h"

#include <stdatomic.h>

struct ibv_mr;
struct ibv_pd;

struct rds_job {
	/* What the next owner reads (ulp/rds/keep.h). */
	_Atomic uint32_t kept;          /* enum rds_kept; all else here is written before */
	uint32_t number;                /* of the record that tells of its end; 0: not tried yet */
	uint64_t arrival;               /* of its end */
	struct rds_work work;
	uint64_t sender;                /* number of the socket */
	bool recverr;                   /* RDS_RECVERR, as it was at the send */
	bool notify;                    /* the program is told of its end, beside what it has read */
	bool posted;                    /* never again: the peer's memory has seen it, or may have */
	bool told;                      /* its end is known to the socket, or need not be */

	struct rds_arrival queued;
	unsigned uses;
	struct ibv_mr *mr;
	struct rds_piece pieces[];      /* behind them the memory */
};

/*
 * Makes a job from a record, whose memfd has its pieces and octets at this place; *at moves behind them. Returns NULL and errno: ENOMEM, or
 * another one if the record is not good.
 */
struct rds_job *rds_job_new(const struct rds_work *w, int fd, uint64_t *at);
/* Its octets: work.bytes of them. */
uint8_t *rds_job_memory(struct rds_job *j);
/* Registers its memory, once. Returns 0 or a negative errno. */
int rds_job_register(struct rds_job *j, struct ibv_pd *pd);
void rds_job_use(struct rds_job *j);
/* NULL: does nothing. */
void rds_job_put(struct rds_job *j);
/* A memfd with the pieces and the octets that have come for them. Returns it or a negative errno. */
int rds_job_result(struct rds_job *j);

#endif
