/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Coalescing: a few short messages behind many unanswered ones wait until more of their kind can share a
 * train with them, or until what answers those comes, which it does anyway.
 */
#ifndef PROTO_IB_COALESCE_H
#define PROTO_IB_COALESCE_H

#include <stdbool.h>

struct eng_dev;
struct eng_qp;
struct ibp_port;

/* Returns true if all that waits to be sent are such messages. batch: the application is posting many
 * and polls soon, so nothing unanswered is asked for. */
bool ibp_may_coalesce(struct eng_dev *dev, bool batch);
/* The same for what was posted to one queue pair since ibp_may_coalesce() returned true. */
bool ibp_coalesce_more(struct eng_qp *qp);
/* Those that wait are looked at anew. */
void ibp_coalesce_end(struct ibp_port *port);

#endif
