/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The server's end of a test over ulp/listen.h: a listener at the loopback address, and its requests. */
#ifndef TESTS_ULP_LISTENS_H
#define TESTS_ULP_LISTENS_H

#include "ends.h"

#include "ulp/listen.h"

/* Listens at a free port of e->family and tells the client. */
struct ulp_listener *ends_listen(struct ends *e, unsigned space);
/* Waits for a request. */
void ends_next_request(struct ulp_listener *l, struct ulp_request *ret);

#endif
