/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What the standby does as it becomes the owner: sockets, connections and messages as ulp/rds/keep.h has left them. */
#ifndef ULP_RDS_TAKEOVER_H
#define ULP_RDS_TAKEOVER_H

#include "ulp/rds/node.h"

/*
 * The node is new. Returns 0 or a negative errno: without memory nothing is lost yet, and the process has to end, so that the standby that it has
 * takes over in its place.
 */
int rds_takeover(struct rds_node *n);

#endif
