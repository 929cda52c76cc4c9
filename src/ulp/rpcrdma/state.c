/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Why a connection ended, and the memory of each call that may be under way. */
#include "ulp/rpcrdma/state.h"

#include <stdarg.h>
#include <stdio.h>

int rpr_end(struct rpr_conn *c, int err, const char *fmt, ...)
{
	va_list ap;

	if (!c->error) {
		c->error = err ? err : EIO;
		va_start(ap, fmt);
		vsnprintf(c->why, sizeof(c->why), fmt, ap);
		va_end(ap);
	}
	return -c->error;
}

int rpr_end_rule(struct rpr_conn *c, enum rpr_verdict v)
{
	return rpr_end(c, EPROTO, "%s", rpr_rules[v].sentence);
}

uint8_t *rpr_call_memory(const struct rpr_conn *c, unsigned i)
{
	return c->memory + (size_t)(c->nr_recv + RPR_PLAINS + i) * c->conf.inline_size;
}
