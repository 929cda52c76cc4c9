/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Requests to the carrier of this user. It is found by an abstract name, `dapple-rds/UID`, which is the lock too: the
 * program that binds it listens there on the carrier's behalf and starts it; another one that comes meanwhile waits in the
 * backlog. The kernel tells whose the listener is, and a name that another user has taken is refused.
 */
#ifndef ULP_RDS_PRELOAD_ASK_H
#define ULP_RDS_PRELOAD_ASK_H

#include "ulp/rds/record.h"

/*
 * Sends a request, with a descriptor unless it is -1, and waits for the answer; its descriptor goes to *ret_fd unless that
 * is NULL. Returns the answer's error, or a negative errno of its own: no carrier runs, or this process lacks memory or a
 * descriptor; the same request may be made again.
 */
int rds_ask(struct rds_request *q, int fd, struct rds_answer *ret, int *ret_fd);

#endif
