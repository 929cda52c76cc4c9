/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A manager that follows the script of a test, in place of cm/cma: operations succeed
 * or fail as told, events come when the test raises them. The library part of
 * librdmacm is tested over it, with real verbs objects.
 */
#ifndef TESTS_ABI_CMA_SCRIPT_H
#define TESTS_ABI_CMA_SCRIPT_H

#include "cm/cma.h"

struct script {
	int next_rc;           /* of the next operation, then 0 again */
	struct cma_info info;  /* cma_query's answer for every identifier */
	int attr_rc[8];        /* of cma_qp_attr, by state */
	struct cm_param param; /* of the last connect or accept */
	int connects, accepts, rejects, establishes, disconnects, leaves, destroyed;
	enum cm_reject reason;
	const void *join_context;
	struct cma_id *arrives; /* a listener: a request comes right behind a look that found nothing */
	_Atomic int held;       /* looks that were to leave a request, and did */
};

extern struct script script;

/* Queues an event of the identifier, as the manager would. */
void script_raise(struct cma_id *id, int type, int status);
void script_raise_full(struct cma_id *id, const struct cma_event *e);
/* A request on a listener; returns the new identifier. */
struct cma_id *script_request(struct cma_id *listener, const struct cm_param *p, bool ud);

#endif
