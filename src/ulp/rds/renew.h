/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The owner's eye on its standby: one that has ended is replaced, at most once a second. */
#ifndef ULP_RDS_RENEW_H
#define ULP_RDS_RENEW_H

#include "ulp/rds/node.h"

void rds_renew_begin(struct rds_node *n);

#endif
