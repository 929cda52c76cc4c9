/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The two ends of a test of SDP: one accepts a connection, the other makes it. */
#ifndef TESTS_ULP_SDP_ENDS_H
#define TESTS_ULP_SDP_ENDS_H

#include "listens.h"

#include "ulp/sdp/conn.h"

#define SDP_ENDS_MS 60000

/* What both ends begin with, and why the last connection was not made. */
extern struct sdp_conf conf;
extern char why[ULP_WHY_MAX];

/* Listens, tells the client, and accepts; NULL and `why` where the request is refused. */
struct sdp_conn *sdp_ends_serve(struct ends *e);
/* The same; the connection must stand. */
struct sdp_conn *sdp_ends_serve_good(struct ends *e);
struct sdp_conn *sdp_ends_dial(struct ends *e);
/* Sleeps until something comes or is due. */
void sdp_ends_wait_for(struct sdp_conn *c);

#endif
