/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The carrier's work on one request. */
#ifndef ULP_PRELOAD_SERVE_H
#define ULP_PRELOAD_SERVE_H

#include "ulp/preload/request.h"

#include <stdbool.h>

/*
 * Serves one request, answers on sock and closes sock and the descriptors; returns when the listener or
 * connection that came of it has ended.
 */
void rsp_serve(int sock, const struct rsp_request *q, int fds[2]);
/* From now on listeners end, also those that wait; or no longer. */
void rsp_serve_end_listeners(bool end);
/* Returns the number of connections that threads of listeners serve. */
unsigned rsp_serve_accepted(void);

#endif
