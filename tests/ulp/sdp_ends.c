/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "sdp_ends.h"

struct sdp_conf conf;
char why[ULP_WHY_MAX];

struct sdp_conn *sdp_ends_serve(struct ends *e)
{
	struct ulp_listener *l = ends_listen(e, SDP_PORT_SPACE);
	struct ulp_request q;
	struct sdp_conn *c;

	ends_next_request(l, &q);
	c = sdp_accept(q.id, q.data, q.len, &conf, SDP_ENDS_MS, why);
	ulp_listener_close(l);
	return c;
}

struct sdp_conn *sdp_ends_serve_good(struct ends *e)
{
	struct sdp_conn *c = sdp_ends_serve(e);

	CHECK_MSG(c, "%s", why);
	return c;
}

struct sdp_conn *sdp_ends_dial(struct ends *e)
{
	struct sdp_conn *c;
	int err;

	CHECK(read(e->in, &e->addr, sizeof(e->addr)) == sizeof(e->addr));
	c = sdp_connect(NULL, (struct sockaddr *)&e->addr, &conf, SDP_ENDS_MS, &err, why);
	CHECK_MSG(c, "%s", why);
	return c;
}

void sdp_ends_wait_for(struct sdp_conn *c)
{
	struct pollfd p[SDP_CONN_FDS];
	int ms = sdp_conn_wait(c);

	sdp_conn_fds(c, p);
	CHECK(poll(p, SDP_CONN_FDS, ms < 0 || ms > SDP_ENDS_MS ? SDP_ENDS_MS : ms) > 0 || ms >= 0);
}
