/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Requests of programs to the carrier, answered at once. */
#ifndef ULP_RDS_SERVE_H
#define ULP_RDS_SERVE_H

#include "ulp/rds/node.h"

/* Takes the connections of programs from the listener, which becomes the node's. Returns 0 or a negative errno. */
int rds_serve(struct rds_node *n, int listener);

#endif
