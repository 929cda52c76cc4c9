/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DTT_PLAN_H
#define DTT_PLAN_H

/*
 * The plan of a test: read from the command line by the client, sent to the server, and carried out
 * by both. Every number has a ceiling, because the server accepts it from any client.
 */

#include <stdbool.h>
#include <stdint.h>

#include "common/dtl.h"

#define DTT_OPS_MAX 103			/* 100 of the user, 3 of -V */
#ifdef __KERNEL__
#define DTT_LANES_MAX 64		/* what a kernel stack has room for */
#else
#define DTT_LANES_MAX 1024		/* threads x endpoints */
#endif
#define DTT_SEGMENTS_MAX 64
#define DTT_LANE_BYTES_MAX (256u << 20)

enum dtt_side { DTT_CLIENT, DTT_SERVER };
enum dtt_type { DTT_SR, DTT_RR, DTT_RW };

struct dtt_op {
	enum dtt_side side;
	enum dtt_type type;
	bool late;		/* -f: the send is reaped with the next receive */
	uint32_t size, segments;
};

struct dtt_plan {
	char kind;		/* T, P or Q */
	uint32_t threads, ends, iterations;
	uint32_t window;	/* of P */
	bool verify, rsp;
	bool six, peer_big;	/* not sent: the peer speaks version 6 (six.h); it is big-endian */
	enum dtl_how how;
	uint32_t n_ops;
	struct dtt_op ops[DTT_OPS_MAX];
};

static inline uint64_t dtt_op_bytes(const struct dtt_op *op)
{
	return (uint64_t)op->size * op->segments;
}

extern const char *const dtt_type_names[];	/* "SR", "RR", "RW" */
extern const char *const dtt_side_names[];	/* "client", "server" */

/* Returns NULL if the plan can be carried out over this IA, else the error. */
const char *dtt_plan_fault(const struct dtt_plan *plan, const struct dtl_ia *ia);
/* Appends the three messages by which both ends agree that the buffers may be checked. */
void dtt_plan_add_syncs(struct dtt_plan *plan);
void dtt_plan_print(const struct dtt_plan *plan);

#endif
