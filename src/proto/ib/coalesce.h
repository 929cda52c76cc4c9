/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Coalescing: a few short messages behind many unacknowledged ones wait until more of their kind can share a train with
 * them, or until the acknowledgement of those before them comes.
 * The judgement alone is made here: device/progress/deferred.c asks for it, at a post and in a round, and the
 * round then sends the messages or leaves them in their queues.
 */
#ifndef PROTO_IB_COALESCE_H
#define PROTO_IB_COALESCE_H

#include <stdbool.h>

#define IBP_COALESCE_FLIGHT 16 /* unacknowledged packets of a queue pair before messages that wait, unless a batch is posted */

struct eng_dev;
struct eng_qp;
struct ibp_port;

/* Returns true if all messages that wait to be sent may coalesce. batch: the application posts many
 * and polls soon, so that no unacknowledged packets are needed. */
bool ibp_may_coalesce(struct eng_dev *dev, bool batch);
/* The same for requests that were posted to one queue pair since ibp_may_coalesce() returned true. */
bool ibp_coalesce_more(struct eng_qp *qp);
/* Forgets what ibp_may_coalesce() has found: queue pairs with waiting messages are judged anew. */
void ibp_coalesce_end(struct ibp_port *port);

#endif
