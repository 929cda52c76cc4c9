/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An RDMA operation or atomic of a message, as a program asks for it (RDS_CMSG_RDMA_ARGS, RDS_CMSG_ATOMIC_*) and as the carrier says
 * that it is done. It goes in the head of a record; the pieces of the program's memory, and the octets that go to or come from
 * them, are in the record's memfd.
 */
#ifndef ULP_RDS_WORK_H
#define ULP_RDS_WORK_H

#include <stdbool.h>
#include <stdint.h>

#define RDS_WORK_MAX 2                  /* of a message: the operation, the atomic */
#define RDS_WORK_PIECES 1024            /* of local memory: UIO_MAXIOV of Linux */

enum rds_work_kind { RDS_WORK_NONE, RDS_WORK_READ, RDS_WORK_WRITE, RDS_WORK_FADD, RDS_WORK_CSWP };

/* A piece of a program's memory: struct rds_iovec of Linux. */
struct rds_piece {
	uint64_t addr, bytes;
};

struct rds_work {
	uint16_t kind;
	uint16_t flags;                 /* RDS_RDMA_* of Linux */
	uint32_t key;                   /* of the peer's memory */
	uint64_t remote;
	uint32_t bytes, nr_pieces;
	uint64_t token;                 /* the program's */
	uint64_t operand, swap;         /* FADD: what is added; CSWP: what is compared, and what is stored */
	int32_t status;                 /* done: RDS_RDMA_SUCCESS ... */
	uint32_t pid;                   /* of the program whose memory it is */
};

/* What the record's memfd has of it before it is done, and after. */
static inline uint32_t rds_work_out(const struct rds_work *w)
{
	return w->kind == RDS_WORK_WRITE ? w->bytes : 0;
}

static inline uint32_t rds_work_in(const struct rds_work *w)
{
	return w->kind == RDS_WORK_NONE || w->kind == RDS_WORK_WRITE ? 0 : w->bytes;
}

#endif
