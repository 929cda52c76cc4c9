/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/credit.h"

#define CREDITS_MOST 65535              /* whatever a peer grants */

void rds_credit_begin(struct rds_credit *c, uint32_t from_peer, bool grants)
{
	*c = (struct rds_credit){ .limited = from_peer, .grants = grants,
				  .available = from_peer < CREDITS_MOST ? from_peer : CREDITS_MOST };
}

void rds_credit_add(struct rds_credit *c, uint8_t granted)
{
	c->available = c->available + granted < CREDITS_MOST ? c->available + granted : CREDITS_MOST;
}

bool rds_credit_may_send(const struct rds_credit *c)
{
	return !c->limited || c->available > 1 || (c->available && c->posted);
}

uint8_t rds_credit_spend(struct rds_credit *c)
{
	uint8_t told = c->posted < UINT8_MAX ? (uint8_t)c->posted : UINT8_MAX;

	if (c->limited)
		c->available--;
	c->posted -= told;
	return told;
}

void rds_credit_posted(struct rds_credit *c)
{
	if (c->grants)
		c->posted++;
}

bool rds_credit_is_due(const struct rds_credit *c, uint32_t of)
{
	return c->posted >= of / 4;
}
