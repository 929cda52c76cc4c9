/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What waits in a socket's queue for its program: a message that has come, or a work that has ended. Both have the place in the queue
 * within themselves, so that neither is lost for want of memory.
 */
#ifndef ULP_RDS_ARRIVAL_H
#define ULP_RDS_ARRIVAL_H

#include "util/list.h"

struct rds_job;
struct rds_message;

/* One of the two, in which this is. */
struct rds_arrival {
	struct ut_list node;
	struct rds_message *m;
	struct rds_job *job;
};

#endif
