/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "plan.h"

#include <stdio.h>

#include "six.h"

#define SYNC_BYTES 64

const char *const dtt_type_names[] = { "SR", "RR", "RW" };
const char *const dtt_side_names[] = { "client", "server" };

static const char *op_fault(const struct dtt_op *op, const struct dtl_ia *ia)
{
	uint64_t bytes = dtt_op_bytes(op);

	if (op->side > DTT_SERVER || op->type > DTT_RW)
		return "an operation is none of client/server SR, RR, RW";
	if (op->segments < 1 || op->segments > DTT_SEGMENTS_MAX)
		return "an operation has no segment, or too many";
	if (op->type != DTT_RR && (int)op->segments > ia->attr.max_iov_segments_per_dto)
		return "an operation has more segments than the IA takes";
	if (op->late && op->type != DTT_SR)
		return "-f is for SR operations only";
	if (bytes > (op->type == DTT_SR ? (uint64_t)ia->attr.max_message_size :
		     (uint64_t)ia->attr.max_rdma_size))
		return "an operation is longer than the IA takes";
	return NULL;
}

const char *dtt_plan_fault(const struct dtt_plan *plan, const struct dtl_ia *ia)
{
	uint64_t total = 0;
	int sends[2] = { 0, 0 };
	const char *fault;
	uint32_t i;

	if (plan->kind == 'Q')
		return NULL;
	if (plan->n_ops < 1 || plan->n_ops > DTT_OPS_MAX)
		return "the number of operations is out of range";
	if (plan->iterations < 1)
		return "the number of iterations is 0";
	if (plan->threads < 1 || plan->threads > DTT_LANES_MAX || plan->ends < 1 ||
	    plan->ends > DTT_LANES_MAX || plan->threads * plan->ends > DTT_LANES_MAX)
		return "the number of threads or endpoints is out of range";
	for (i = 0; i < plan->n_ops; i++) {
		fault = op_fault(&plan->ops[i], ia);
		if (fault)
			return fault;
		total += 2 * dtt_op_bytes(&plan->ops[i]);
		sends[plan->ops[i].side] += plan->ops[i].type == DTT_SR;
	}
	if (total > DTT_LANE_BYTES_MAX)
		return "the operations need more than 256 MB per endpoint";
	if (plan->kind == 'T' && (!sends[DTT_CLIENT] || !sends[DTT_SERVER]))
		return "at least one client SR and one server SR are needed";
	return plan->six ? six_fault(plan) : NULL;
}

void dtt_plan_add_syncs(struct dtt_plan *plan)
{
	static const enum dtt_side order[] = { DTT_SERVER, DTT_CLIENT, DTT_SERVER };
	int i;

	for (i = 0; i < 3; i++) {
		printf("NOTE: Adding OP \"%s SR\" - for validation\n", dtt_side_names[order[i]]);
		plan->ops[plan->n_ops++] = (struct dtt_op){ .side = order[i], .type = DTT_SR,
			.size = SYNC_BYTES, .segments = 1 };
	}
}

void dtt_plan_print(const struct dtt_plan *plan)
{
	uint32_t i;

	for (i = 0; i < plan->n_ops; i++) {
		const struct dtt_op *op = &plan->ops[i];

		printf("OP %u: %s %s %u x %u%s\n", i, dtt_side_names[op->side],
		       dtt_type_names[op->type], op->segments, op->size, op->late ? " -f" : "");
	}
}
