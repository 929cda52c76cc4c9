/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A keepalive is an empty Write, which the peer's adapter acknowledges and its program never sees. It
 * is sent inside the program's calls; a program that makes no call could not be informed of a dead
 * peer either, and the adapter probes the connection by itself.
 */
#include "ulp/rsocket/keepalive.h"
#include "ulp/rsocket/cq.h"
#include "ulp/rsocket/post.h"

static uint64_t due(const struct rs_sock *s)
{
	return s->active + (uint64_t)s->o.keep_idle * 1000000;
}

int rs_keep_wait(struct rs_sock *s)
{
	uint64_t now, left;

	if (!s->o.keepalive || s->state != RS_CONNECTED)
		return -1;
	now = rs_now();
	if (due(s) <= now)
		return 0;
	left = (due(s) - now) / 1000 + 1;
	return left < 1 << 30 ? (int)left : 1 << 30;
}

void rs_keep_send(struct rs_sock *s)
{
	int r;

	if (!s->o.keepalive || s->state != RS_CONNECTED || due(s) > rs_now())
		return;
	s->active = rs_now();
	if (!rs_flow_ctrl_take(&s->flow, 1))
		return;
	r = rs_post_write(s, NULL, 0, RS_WR_CTRL, 0, 0, 0);
	if (r)
		rs_end(s, RS_BROKEN, -r);
}
