/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/sdp/suspend.h"

#include "ulp/clock.h"
#include "ulp/sdp/arrive.h"
#include "ulp/sdp/cm.h"
#include "ulp/sdp/qp.h"
#include "ulp/sdp/sink.h"
#include "ulp/sdp/source.h"

#include <errno.h>
#include <netinet/in.h>

#define RESUME_MS 10000
#define SERVICE(port) ((uint64_t)SDP_PORT_SPACE << 16 | (port)) /* annex A4: service IDs of SDP have the port */

/* --- the end that moves --- */

void sdp_suspend(struct sdp_conn *c, uint16_t port)
{
	if (c->suspend.own || sdp_is_disconnected(c) || sdp_both_ended(c))
		return;
	c->suspend.own = SERVICE(port);
	/* While the peer moves the stream, this end follows first. */
	if (c->suspend.state == SDP_GOES_ON)
		c->suspend.state = SDP_SUSPEND_WANTED;
	c->want.back = c->want.at != NULL;
	c->touched = true;
}

bool sdp_is_moved(const struct sdp_conn *c)
{
	return c->suspend.state == SDP_MOVED && sdp_is_disconnected(c);
}

/* No work of this end is under way at the peer's memory, and no answer is owed. */
static bool is_quiet(const struct sdp_conn *c)
{
	return !c->sink.reading && !c->nr_owed && !c->source.writing && sdp_may_post(c, SDP_FOR_CONTROL);
}

bool sdp_suspend_is_next(const struct sdp_conn *c)
{
	return c->suspend.state == SDP_SUSPEND_WANTED && !sdp_source_is_busy(c);
}

static int ask(struct sdp_conn *c)
{
	struct sdp_msg m = { .mid = WIRE_SDP_SUSP_COMM, .service = c->suspend.own };

	if (!is_quiet(c) || sdp_source_is_busy(c) || c->want.at)
		return 0;
	c->suspend.state = SDP_SUSPEND_SENT;
	c->suspend.crossed = false;
	c->suspend.until = ulp_now_ms() + SDP_END_MS;
	sdp_sink_void(c);
	sdp_out_begin(&c->out);
	return sdp_post(c, &m);
}

int sdp_suspend_answered(struct sdp_conn *c)
{
	if (c->suspend.state != SDP_SUSPEND_SENT)
		return sdp_fail_rule(c, SDP_NOT_SUSPENDED);
	c->suspend.state = SDP_MOVED;
	c->suspend.until = 0;
	rdma_disconnect(c->rdma.id);
	return 0;
}

/* --- its peer --- */

int sdp_suspend_asked(struct sdp_conn *c, uint64_t service)
{
	if (c->suspend.state > SDP_SUSPEND_SENT || c->suspend.crossed)
		return sdp_fail_rule(c, SDP_SUSPENDED);
	if (service <= SERVICE(0) || service > SERVICE(UINT16_MAX))
		return sdp_fail_rule(c, SDP_BAD_SERVICE);
	if (sdp_has_left(c))
		return 0;
	c->suspend.crossed = c->suspend.state == SDP_SUSPEND_SENT && c->active;
	if (c->suspend.crossed)
		return 0;
	c->suspend.state = SDP_SUSPEND_ASKED;
	c->suspend.service = service;
	c->suspend.until = c->end_until = 0;
	sdp_source_void(c);
	sdp_in_begin(&c->in);
	return 0;
}

static int answer(struct sdp_conn *c)
{
	struct sdp_msg m = { .mid = WIRE_SDP_SUSP_COMM_ACK };

	if (!is_quiet(c) || c->sink.nr)
		return 0;
	c->suspend.state = SDP_SUSPEND_ANSWERED;
	c->suspend.until = ulp_now_ms() + SDP_END_MS;
	return sdp_post(c, &m);
}

/* Regions and the queue are of the adapter, and stay. */
static int find_way(struct sdp_conn *c, struct rdma_cm_id *before)
{
	struct sockaddr_storage from = c->local, to = c->peer;
	int r;

	((struct sockaddr_in *)&from)->sin_port = 0; /* the same place with IPv6 */
	((struct sockaddr_in *)&to)->sin_port = htons((uint16_t)c->suspend.service);
	c->rdma.id = NULL;
	r = sdp_cm_resolve(c, (struct sockaddr *)&from, (struct sockaddr *)&to, RESUME_MS);
	if (!r && c->rdma.id->verbs != before->verbs)
		return ulp_end(&c->rdma, EHOSTUNREACH, "the way to where the peer moves the connection is by another adapter");
	return r;
}

static int move(struct sdp_conn *c)
{
	struct rdma_cm_id *before = c->rdma.id;
	int r = find_way(c, before);

	sdp_qp_leave(c, before);
	sdp_longer_begin(&c->longer);
	c->suspend.state = c->suspend.own ? SDP_SUSPEND_WANTED : SDP_GOES_ON;
	c->suspend.until = c->end_until = 0;
	sdp_end_again(c);
	if (!r)
		r = sdp_qp_make(c);
	return r ? r : sdp_cm_connect(c, RESUME_MS);
}

/* --- both --- */

int sdp_suspend_progress(struct sdp_conn *c)
{
	switch (c->suspend.state) {
	case SDP_SUSPEND_WANTED:
		return ask(c);
	case SDP_SUSPEND_ASKED:
		return answer(c);
	case SDP_SUSPEND_SENT:
	case SDP_SUSPEND_ANSWERED:
		if (ulp_now_ms() >= c->suspend.until)
			return ulp_end(&c->rdma, ETIMEDOUT, "the peer does not go on with the move of the connection");
		return 0;
	default:
		return 0;
	}
}

int sdp_suspend_disconnected(struct sdp_conn *c)
{
	if (c->suspend.state == SDP_MOVED)
		return 0;
	if (c->suspend.state != SDP_SUSPEND_ANSWERED)
		return ulp_end(&c->rdma, ECONNRESET, "the peer has disconnected");
	c->counts.moves++;
	return move(c);
}
