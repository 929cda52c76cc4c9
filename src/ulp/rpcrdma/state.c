/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Why a connection ended, and the memory of each call that may be under way. */
#include "ulp/rpcrdma/state.h"

int rpr_end_rule(struct rpr_conn *c, enum rpr_verdict v)
{
	return ulp_end(&c->rdma, EPROTO, "%s", rpr_rules[v].sentence);
}

uint8_t *rpr_call_memory(const struct rpr_conn *c, unsigned i)
{
	return c->rdma.memory + (size_t)(c->nr_recv + RPR_PLAINS + i) * c->conf.inline_size;
}
