/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/sdp/conn.h"

#include "ulp/sdp/arrive.h"
#include "ulp/sdp/cm.h"
#include "ulp/sdp/qp.h"
#include "ulp/sdp/sink.h"
#include "ulp/sdp/source.h"
#include "ulp/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define POLL_BATCH 32

const struct sdp_conf sdp_conf_default = {
	.receive_size = 32768, .receive_max = 65536, .depth = 64, .advertise = 65536, .advert_ms = 1000, .keepalive_s = 7200,
};

/* --- making --- */

static bool conf_is_sane(const struct sdp_conf *f)
{
	return f->receive_size >= 1024 && f->receive_size <= 1 << 20 && f->receive_max <= 1 << 20 && f->depth >= 8 && f->depth <= SDP_DEPTH_MAX;
}

static struct sdp_conn *create(const struct sdp_conf *conf, char *why)
{
	struct sdp_conn *c = conf_is_sane(conf) ? calloc(1, sizeof(*c)) : NULL;

	if (c)
		c->items = calloc(conf->depth + 1u, sizeof(*c->items));
	if (c && c->items) {
		c->conf = *conf;
		c->spoken = ulp_now_ms();
		return c;
	}
	free(c);
	snprintf(why, ULP_WHY_MAX, "the configuration of the connection is invalid, or there is no memory");
	return NULL;
}

static int prepare(struct sdp_conn *c)
{
	int r = ulp_make_queues(&c->rdma, 2u * c->conf.depth + 3);

	if (!r)
		r = ulp_make_memory(&c->rdma, 2 * (size_t)c->conf.depth * (c->conf.receive_size + SDP_APART));
	return r ? r : sdp_qp_make(c);
}

static struct sdp_conn *give_up(struct sdp_conn *c, int *ret_err, char *why)
{
	snprintf(why, ULP_WHY_MAX, "%s", c->rdma.why);
	*ret_err = c->rdma.error;
	sdp_conn_close(c);
	return NULL;
}

struct sdp_conn *sdp_connect(const struct sockaddr *from, const struct sockaddr *to, const struct sdp_conf *conf,
			     int timeout_ms, int *ret_err, char why[ULP_WHY_MAX])
{
	struct sdp_conn *c = create(conf, why);

	*ret_err = ENOMEM;
	if (c && (sdp_cm_resolve(c, from, to, timeout_ms) || prepare(c) || sdp_cm_connect(c, timeout_ms)))
		return give_up(c, ret_err, why);
	return c;
}

struct sdp_conn *sdp_accept(struct rdma_cm_id *id, const void *data, size_t len, const struct sdp_conf *conf,
			    int timeout_ms, char why[ULP_WHY_MAX])
{
	struct sdp_conn *c = create(conf, why);
	int err;

	if (!c) {
		rdma_reject(id, NULL, 0);
		rdma_destroy_id(id);
		return NULL;
	}
	if (sdp_cm_adopt(c, id, data, len) || prepare(c) || sdp_cm_accept(c, timeout_ms))
		return give_up(c, &err, why);
	return c;
}

void sdp_conn_close(struct sdp_conn *c)
{
	if (c->standing == SDP_ESTABLISHED || c->standing == SDP_LEAVING)
		sdp_abort(c);
	ulp_destroy_qp(&c->rdma);
	sdp_stage_close(&c->source.stage);
	sdp_stage_close(&c->sink.stage);
	sdp_longer_close(&c->longer);
	ulp_destroy(&c->rdma);
	free(c->items);
	free(c);
}

/* --- progress --- */

void sdp_conn_fds(const struct sdp_conn *c, struct pollfd fds[SDP_CONN_FDS])
{
	fds[0] = (struct pollfd){ .fd = c->rdma.channel->fd, .events = POLLIN };
	fds[1] = (struct pollfd){ .fd = c->rdma.events->fd, .events = POLLIN };
}

int sdp_conn_wait(const struct sdp_conn *c)
{
	int64_t due[] = { sdp_source_due(c), c->end_until, c->suspend.until,
			  c->conf.keepalive_s ? c->spoken + c->conf.keepalive_s * (int64_t)1000 : 0 };
	int64_t now = ulp_now_ms(), first = 0;

	for (size_t i = 0; i < sizeof(due) / sizeof(due[0]); i++)
		if (due[i] && (!first || due[i] < first))
			first = due[i];
	return !first ? -1 : first > now ? (int)(first - now) : 0;
}

int sdp_conn_sleep(const struct sdp_conn *c)
{
	struct pollfd p[SDP_CONN_FDS];

	sdp_conn_fds(c, p);
	return ulp_poll(&c->rdma, p, SDP_CONN_FDS, sdp_conn_wait(c));
}

static int complete(struct sdp_conn *c, const struct ibv_wc *wc)
{
	uint32_t i = (uint32_t)wc->wr_id;

	if (wc->status) {
		/* A request that was under way when the connection ended. */
		if (wc->status == IBV_WC_WR_FLUSH_ERR)
			return 0;
		return ulp_end(&c->rdma, ECONNRESET, "a work request failed (%s)", ibv_wc_status_str(wc->status));
	}
	switch ((enum sdp_work)(wc->wr_id >> 32)) {
	case SDP_WORK_RECEIVE:
		return sdp_arrive(c, i, wc->byte_len);
	case SDP_WORK_READ:
		return sdp_sink_read_done(c);
	case SDP_WORK_WRITE:
		sdp_source_write_done(c);
		return 0;
	case SDP_WORK_MESSAGE:
		c->under_way -= i;
		c->sink.answering = false;
		return 0;
	default:
		return 0;
	}
}

/* Returns 1 if something has completed, 0, or a negative errno. */
static int poll_queue(struct sdp_conn *c)
{
	struct ibv_wc wc[POLL_BATCH];
	int n, r = 0, any = 0;

	while (!r && (n = ibv_poll_cq(c->rdma.cq, POLL_BATCH, wc)) > 0) {
		any = 1;
		for (int i = 0; i < n && !r; i++)
			r = complete(c, &wc[i]);
	}
	return r ? r : any;
}

/* Armed before the last look, so that no completion is slept over. */
static int drain(struct sdp_conn *c)
{
	struct ibv_cq *cq;
	void *context;
	int r = poll_queue(c);
	unsigned events = 0;

	while (!ibv_get_cq_event(c->rdma.channel, &cq, &context))
		events++;
	if (events)
		ibv_ack_cq_events(c->rdma.cq, events);
	if (r >= 0 && ibv_req_notify_cq(c->rdma.cq, 0))
		return ulp_end(&c->rdma, errno, "the completion queue cannot be armed (%s)", strerror(errno));
	if (r >= 0)
		r = poll_queue(c);
	return r < 0 ? r : 0;
}

static int send_owed(struct sdp_conn *c)
{
	struct sdp_msg m;
	int r;

	if (!c->hurry && sdp_sink_may_answer_later(c))
		return 0;
	c->hurry = false;
	while (c->nr_owed && sdp_may_post(c, SDP_FOR_CONTROL)) {
		m = (struct sdp_msg){ .mid = c->owed[0].mid, .number = c->owed[0].number };
		c->nr_owed--;
		memmove(c->owed, c->owed + 1, c->nr_owed * sizeof(c->owed[0]));
		r = sdp_post(c, &m);
		if (r)
			return r;
	}
	return 0;
}

static int send_end(struct sdp_conn *c)
{
	struct sdp_msg m = { .mid = WIRE_SDP_DISCONN };

	if (c->out_end != SDP_OUT_END_WANTED || c->suspend.state || sdp_source_is_busy(c) || !sdp_may_post(c, SDP_FOR_CONTROL))
		return 0;
	c->out_end = SDP_OUT_END_SENT;
	return sdp_post(c, &m);
}

static int send_update(struct sdp_conn *c)
{
	struct sdp_msg m = { .mid = WIRE_SDP_DATA };

	if (!sdp_flow_owes_update(&c->flow) || !sdp_may_post(c, SDP_FOR_UPDATE) || sdp_both_ended(c))
		return 0;
	c->counts.updates++;
	return sdp_post(c, &m);
}

/* The end that had sent DisConn first disconnects; the other one waits for it, within bounds. */
static int finish(struct sdp_conn *c)
{
	int64_t now;

	if (c->out_end != SDP_OUT_END_SENT || !(sdp_end_is_here(c) || c->goes) || c->under_way || sdp_is_disconnected(c))
		return 0;
	now = ulp_now_ms();
	if (!c->end_until || (c->goes && !sdp_has_left(c)))
		c->end_until = now + (c->in_end == SDP_IN_END_CAME_LAST || c->goes ? 0 : SDP_END_MS);
	if (now < c->end_until)
		return 0;
	rdma_disconnect(c->rdma.id);
	c->standing = SDP_LEAVING;
	c->end_until = now + SDP_END_MS;
	return 0;
}

static int keep_alive(struct sdp_conn *c)
{
	struct ibv_send_wr wr = { .wr_id = sdp_work_id(SDP_WORK_KEEPALIVE, 0), .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	int64_t now = ulp_now_ms();
	int r;

	c->spoken = c->has_spoken ? now : c->spoken;
	c->has_spoken = false;
	if (!c->conf.keepalive_s || now < c->spoken + c->conf.keepalive_s * (int64_t)1000)
		return 0;
	c->spoken = now;
	r = ibv_post_send(c->rdma.id->qp, &wr, &bad);
	return r ? ulp_end(&c->rdma, r, "a look for the peer cannot be posted (%s)", strerror(r)) : 0;
}

/* The message that is due in a state of the suspension. */
static int send_due(struct sdp_conn *c)
{
	static int (*const going_on[])(struct sdp_conn *) = {
		sdp_sink_progress, send_owed, sdp_source_progress, sdp_longer_progress, send_end, send_update, finish, NULL,
	}, (*const wanted[])(struct sdp_conn *) = {
		sdp_sink_progress, send_owed, sdp_source_progress, send_update, sdp_suspend_progress, NULL,
	}, (*const asked[])(struct sdp_conn *) = {
		sdp_sink_progress, send_owed, send_update, sdp_suspend_progress, NULL,
	}, (*const quiet[])(struct sdp_conn *) = { sdp_sink_progress, sdp_suspend_progress, NULL };
	static int (*const *const steps[])(struct sdp_conn *) = {
		[SDP_GOES_ON] = going_on, [SDP_SUSPEND_WANTED] = wanted, [SDP_SUSPEND_SENT] = asked, [SDP_SUSPEND_ASKED] = asked,
		[SDP_SUSPEND_ANSWERED] = quiet, [SDP_MOVED] = quiet,
	};
	enum sdp_suspension state = c->suspend.state;
	int r = 0;

	for (size_t i = 0; steps[state][i] && !r; i++)
		r = steps[state][i](c);
	return r;
}

int sdp_conn_poll(struct sdp_conn *c)
{
	int any = c->rdma.error ? -c->rdma.error : poll_queue(c), r = 0;

	if (any > 0 || (!any && c->touched && !sdp_is_disconnected(c))) {
		c->touched = false;
		r = send_due(c);
	}
	return r ? r : any;
}

int sdp_conn_progress(struct sdp_conn *c)
{
	int r = c->rdma.error ? -c->rdma.error : ulp_take_events(&c->rdma);

	/* What came before the end of the connection is in the completion queue. */
	if (!r)
		r = drain(c);
	if (!r && sdp_is_disconnected(c) && !sdp_is_over(c))
		r = sdp_suspend_disconnected(c);
	if (r || sdp_is_disconnected(c))
		return r;
	c->hurry = true;
	r = send_due(c);
	return r ? r : keep_alive(c);
}

const char *sdp_conn_why(const struct sdp_conn *c)
{
	return c->rdma.why;
}

int sdp_conn_failed(const struct sdp_conn *c)
{
	return c->rdma.error;
}

void sdp_conn_names(const struct sdp_conn *c, struct sockaddr_storage *ret_local, struct sockaddr_storage *ret_peer)
{
	*ret_local = c->local;
	*ret_peer = c->peer;
}

/* --- the program's octets --- */

uint8_t *sdp_send_room(struct sdp_conn *c, bool large, size_t *ret_len)
{
	uint8_t *room;

	/* Answers that are owed go first. */
	c->hurry = c->nr_owed != 0;
	c->touched |= c->hurry;
	if (c->out_end || sdp_is_disconnected(c) || c->suspend.state || c->nr_owed || !sdp_may_post(c, SDP_FOR_DATA))
		return NULL;
	room = large && c->conf.advertise ? sdp_source_room(c, ret_len) : NULL;
	if (room)
		return room;
	if (sdp_source_is_busy(c))
		return NULL;
	*ret_len = c->send_max - WIRE_SDP_BSDH_LEN;
	return sdp_next_message(c) + WIRE_SDP_BSDH_LEN;
}

int sdp_send(struct sdp_conn *c, const uint8_t *room, size_t len, bool oob)
{
	struct sdp_msg m = { .mid = WIRE_SDP_DATA, .oob_pres = oob, .oob_pend = oob, .payload_len = (uint32_t)len };

	if (sdp_source_is_room(c, room))
		return sdp_source_send(c, (uint32_t)len);
	c->counts.data++;
	c->counts.sent += len;
	sdp_longer_sent(c, (uint32_t)len);
	sdp_out_data(&c->out);
	return sdp_post(c, &m);
}

bool sdp_send_may_begin(const struct sdp_conn *c)
{
	return !c->out_end && !sdp_is_disconnected(c) && !c->suspend.state && !c->nr_owed && sdp_source_may_begin(c);
}

bool sdp_send_is_local(const struct sdp_conn *c)
{
	return sdp_source_is_local(c);
}

bool sdp_send_from(struct sdp_conn *c, const uint8_t *at, uint32_t len, const struct ibv_mr *mr)
{
	if (!len || !sdp_send_may_begin(c))
		return false;
	sdp_source_begin(c, at, len, mr);
	return true;
}

void sdp_send_stop(struct sdp_conn *c)
{
	c->source.stop = c->source.direct;
	c->touched |= c->source.stop;
}

uint32_t sdp_send_gone(const struct sdp_conn *c)
{
	return c->source.gone;
}

bool sdp_conn_takes_writes(const struct sdp_conn *c)
{
	return c->out.nr != 0;
}

bool sdp_send_is_busy(const struct sdp_conn *c)
{
	return sdp_source_is_busy(c);
}

uint32_t sdp_conn_fetches(const struct sdp_conn *c)
{
	return c->sink.reading ? c->sink.reads : 0;
}

void sdp_send_end(struct sdp_conn *c)
{
	if (c->out_end == SDP_OUT_OPEN)
		c->out_end = SDP_OUT_END_WANTED;
	c->touched = true;
}

const uint8_t *sdp_received(const struct sdp_conn *c, size_t *ret_len, bool *ret_oob)
{
	const struct sdp_item *item = &c->items[c->item_first];

	if (!c->nr_items)
		return NULL;
	*ret_len = item->len;
	*ret_oob = item->oob;
	return item->at;
}

void sdp_received_take(struct sdp_conn *c, size_t len)
{
	struct sdp_item *item = &c->items[c->item_first];

	item->at += len;
	item->len -= (uint32_t)len;
	if (item->len)
		return;
	c->touched = true;
	c->item_first = (c->item_first + 1) % (c->conf.depth + 1u);
	c->nr_items--;
	if (item->receive >= 0)
		sdp_post_receive(c, (uint32_t)item->receive);
	else if (item->receive == SDP_IN_STAGE)
		sdp_sink_taken(c);
}

void sdp_want(struct sdp_conn *c, uint8_t *at, uint32_t len, const struct ibv_mr *mr)
{
	c->wants = c->touched = true;
	if (!c->in_end && !sdp_is_disconnected(c) && !c->suspend.own)
		c->want = (struct sdp_want){ .at = at, .len = len, .mr = mr };
}

void sdp_want_reads(struct sdp_conn *c, uint8_t *at, uint32_t len, const struct ibv_mr *mr)
{
	sdp_want(c, at, len, mr);
	c->want.quiet = true;
}

bool sdp_is_wanting(const struct sdp_conn *c)
{
	return c->want.at != NULL;
}

void sdp_want_no_more(struct sdp_conn *c)
{
	c->want.back = c->want.at != NULL;
	c->touched |= c->want.back;
}

struct ibv_pd *sdp_conn_domain(const struct sdp_conn *c)
{
	return c->rdma.pd;
}

bool sdp_received_end(const struct sdp_conn *c)
{
	return c->in_end && !c->nr_items;
}

/* --- the end --- */

bool sdp_is_over(const struct sdp_conn *c)
{
	return sdp_is_disconnected(c) && c->out_end == SDP_OUT_END_SENT && (sdp_end_is_here(c) || (c->goes && sdp_has_left(c))) &&
	       c->suspend.state != SDP_SUSPEND_ANSWERED;
}

void sdp_leave(struct sdp_conn *c)
{
	c->goes = true;
	sdp_send_end(c);
}

void sdp_abort(struct sdp_conn *c)
{
	struct sdp_msg m = { .mid = WIRE_SDP_ABORT_CONN };

	if (sdp_is_disconnected(c))
		return;
	if (c->out_end != SDP_OUT_END_SENT && sdp_may_post(c, SDP_FOR_CONTROL))
		sdp_post(c, &m);
	if (c->rdma.id)
		rdma_disconnect(c->rdma.id);
	ulp_end(&c->rdma, ECONNABORTED, "the program ends the connection before its octets are taken");
	sdp_disconnected(c);
}

const struct sdp_counts *sdp_conn_counts(const struct sdp_conn *c)
{
	return &c->counts;
}
