/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An endpoint as the user of its stream: bytes go to the half of the handshake
 * that waits for them, and at the end the stream goes to the QP.
 */
#include "cm/mpa/stream.h"

#include "cm/mpa/active.h"
#include "cm/mpa/passive.h"
#include "util/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

int mpa_stream_keep(struct mpa_ep *e, const void *data, uint16_t len)
{
	uint8_t *copy = NULL;

	if (len) {
		copy = ut_malloc(len);
		if (!copy)
			return -ENOMEM;
		memcpy(copy, data, len);
	}
	free(e->data);
	e->data = copy;
	e->data_len = len;
	e->out.data = copy;
	e->out.len = len;
	return 0;
}

/* The frame is put together again for each piece: a cut one is rare, a buffer would stay for good. */
int mpa_stream_send(struct mpa_ep *e)
{
	uint8_t frame[WIRE_MPA_FRAME_MAX];
	size_t len = mpa_frame_build(&e->out, frame);

	while (e->sent < len) {
		ssize_t n = e->m->cfg.streams->ops->send(e->stream, frame + e->sent, len - e->sent);

		if (n == -EAGAIN)
			return 0;
		if (n < 0)
			return (int)n;
		e->sent += (uint16_t)n;
	}
	e->whole = true;
	return 0;
}

static bool is_active(const struct mpa_ep *e)
{
	return e->state == MPA_CONNECTING || e->state == MPA_WAIT_REPLY || e->state == MPA_WAIT_WAY;
}

static size_t received(struct link_stream *s, const uint8_t *data, size_t off, size_t len,
		       uint64_t now)
{
	struct mpa_ep *e = s->user;

	return is_active(e) ? mpa_active_received(e, data, len, now)
			    : mpa_passive_received(e, data, len, now);
}

/* The peer may not send before the queue pair has the stream. Bytes that arrive early stay unread: the queue
 * pair reports them. */
static size_t received_shm(struct link_stream *s, const uint8_t *data, size_t len, uint64_t now)
{
	return 0;
}

static void writable(struct link_stream *s, uint64_t now)
{
	struct mpa_ep *e = s->user;
	int r;

	if (e->state == MPA_WAIT_WAY) {
		mpa_active_decided(e);
		return;
	}
	if (e->state != MPA_WAIT_REPLY && e->state != MPA_ACCEPTING && e->state != MPA_REJECTING)
		return;
	if (e->whole)
		return;
	r = mpa_stream_send(e);
	if (r == 0 && !e->whole)
		return;
	if (is_active(e))
		mpa_active_sent(e, r);
	else
		mpa_passive_sent(e, r);
}

static void connected(struct link_stream *s, uint64_t now)
{
	mpa_active_connected(s->user, now);
}

static void closed(struct link_stream *s, int error, uint64_t now)
{
	struct mpa_ep *e = s->user;

	if (is_active(e))
		mpa_active_closed(e, error);
	else
		mpa_passive_closed(e, error);
}

static const struct link_stream_user stream_user = {
	.received = received, .received_shm = received_shm, .writable = writable, .connected = connected, .closed = closed,
};

void mpa_stream_take(struct mpa_ep *e, struct link_stream *s)
{
	e->stream = s;
	e->fin = false;
	e->ep.local = s->local;
	e->ep.remote = s->remote;
	s->user_ops = &stream_user;
	s->user = e;
}

/* Markers say where in a TCP segment an FPDU begins; an end that asks for them wants segments. */
bool mpa_stream_local(struct mpa_ep *e, bool active)
{
	return !e->terms.markers_tx && !e->terms.markers_rx &&
	       e->m->cfg.streams->ops->local(e->stream, active);
}

/* --- the QP --- */

int mpa_qp_usable(struct eng_dev *dev, uint32_t qpn, struct eng_qp **ret)
{
	struct eng_qp *qp = eng_qp_find(dev, qpn);
	enum ibv_qp_state state;

	if (!qp || qp->type != IBV_QPT_RC)
		return -EINVAL;
	state = eng_qp_state(qp);
	if (state != IBV_QPS_INIT && state != IBV_QPS_RTR)
		return -EINVAL;
	*ret = qp;
	return 0;
}

/* Both are called from inside the protocol, so mpa_run() tells later what they report. */
static void qp_ready(void *arg, uint64_t now)
{
	struct mpa_ep *e = arg;

	if (e->state != MPA_WAIT_RTR)
		return;
	mpa_timer_stop(e);
	mpa_ep_state(e, MPA_ESTABLISHED);
	mpa_ready_later(e);
}

static void qp_ended(void *arg, int error, uint64_t now)
{
	struct mpa_ep *e = arg;

	error = error < 0 ? error : -error;
	e->qp = NULL;
	mpa_timer_stop(e);
	if (e->state != MPA_WAIT_RTR)
		mpa_end_later(e, CM_EV_DISCONNECTED, error);
	else if (error == -ETIMEDOUT)
		mpa_end_later(e, CM_EV_UNREACHABLE, error);
	else
		mpa_end_later(e, CM_EV_ERROR, error ? error : -ECONNRESET);
}

static const struct proto_stream_owner owner = { .ready = qp_ready, .ended = qp_ended };

int mpa_attach(struct mpa_ep *e, struct eng_qp *qp)
{
	struct link_stream *s = e->stream;
	int r;

	e->stream = NULL;
	e->qp = qp;
	r = e->m->cfg.proto->attach(qp, s, &e->terms, e->done ? NULL : &owner, e);
	if (e->done)
		e->qp = NULL;
	if (r < 0) {
		e->qp = NULL;
		e->stream = s;
		return r;
	}
	free(e->data); /* an idle connection keeps no more than it needs */
	e->data = NULL;
	e->data_len = 0;
	return 0;
}

void mpa_detach(struct mpa_ep *e)
{
	if (e->qp)
		e->m->cfg.proto->disown(e->qp);
	e->qp = NULL;
}
