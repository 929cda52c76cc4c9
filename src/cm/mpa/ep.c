/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An endpoint: its life, its timer, what its user is told, and its stream: bytes go to the half of the
 * handshake that waits for them, and at the end the stream goes to the queue pair.
 */
#include "cm/mpa/ep.h"

#include "cm/mpa/active.h"
#include "cm/mpa/halfopen.h"
#include "cm/mpa/passive.h"
#include "cm/why.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const char *const state_name[MPA_STATES] = {
	"fresh", "listening", "connecting", "waiting for the Reply", "waiting to leave the wire",
	"waiting for the Request",
	"waiting for the backlog", "waiting for its user", "accepting", "rejecting",
	"waiting for the first frame", "established", "closing", "over",
};

struct mpa_ep *mpa_ep_new(struct mpa *m)
{
	struct mpa_ep *e = ut_zalloc(sizeof(*e));

	if (!e)
		return NULL;
	if (ut_heap_reserve(&m->timers) < 0) {
		free(e);
		return NULL;
	}
	e->m = m;
	e->ep.port = m->port;
	ut_list_init(&e->due);
	ut_list_init(&e->half_open);
	ut_list_init(&e->pending);
	ut_list_init(&e->child);
	ut_list_init(&e->mate);
	ut_list_add_tail(&m->eps, &e->node);
	return e;
}

void mpa_ep_free(struct mpa_ep *e)
{
	mpa_half_open_del(e);
	mpa_pending_del(e);
	ut_list_del(&e->node);
	ut_list_del(&e->due);
	mpa_timer_stop(e);
	ut_heap_unreserve(&e->m->timers);
	free(e->data);
	free(e->kept);
	free(e);
}

/* --- text --- */

void mpa_say(const struct mpa_ep *e, const char *what)
{
	cm_why(e->ep.port, &e->ep.local, &e->ep.remote, "%s (%s)", what ? what : "?",
	       state_name[e->state]);
}

void mpa_ep_state(struct mpa_ep *e, enum mpa_state to)
{
	ut_debug("mpa %p: %s, was %s", (void *)e, state_name[to], state_name[e->state]);
	e->state = to;
}

/* --- timers --- */

void mpa_timer_from(struct mpa_ep *e, uint64_t now, unsigned seconds)
{
	e->wait = 0;
	ut_timer_set(&e->m->timers, &e->timer, now + seconds * UT_S);
}

/* Ops are not told the time: due at once, and mpa_run() sets it right. */
void mpa_timer_start_ns(struct mpa_ep *e, uint64_t ns)
{
	e->wait = ns;
	ut_timer_set(&e->m->timers, &e->timer, 0);
}

void mpa_timer_start(struct mpa_ep *e, unsigned seconds)
{
	mpa_timer_start_ns(e, seconds * UT_S);
}

void mpa_timer_stop(struct mpa_ep *e)
{
	e->wait = 0;
	ut_timer_clear(&e->m->timers, &e->timer);
}

/* --- telling --- */

static uint8_t depth8(uint16_t v)
{
	return v < CM_RD_MAX ? (uint8_t)v : CM_RD_MAX;
}

struct cm_param mpa_local_param(const struct mpa_ep *e)
{
	return (struct cm_param){ .qp_type = IBV_QPT_RC, .qpn = e->qpn,
				  .responder_resources = depth8(e->terms.ird),
				  .initiator_depth = depth8(e->terms.ord) };
}

static uint8_t peer_depth(const struct mpa_ep *e, const struct mpa_frame *f, uint16_t v)
{
	/* Not said, or "do not negotiate": the adapter's limit is the only bound. */
	if (!f->enhanced || v == WIRE_MPA_DEPTH_ANY)
		v = e->m->cfg.rd_max;
	return depth8(v);
}

struct cm_param mpa_peer_param(const struct mpa_ep *e, const struct mpa_frame *f)
{
	return (struct cm_param){ .qp_type = IBV_QPT_RC, .private_data = f->data,
				  .private_len = f->len,
				  .responder_resources = peer_depth(e, f, f->ord),
				  .initiator_depth = peer_depth(e, f, f->ird) };
}

static void tell_adopter(struct mpa_ep *e, enum cm_event_type type, int status,
			 const struct cm_param *p)
{
	mpa_done_fn *done = e->done;
	void *arg = e->done_arg;

	done(arg, type == CM_EV_ESTABLISHED ? 0 : status, p);
	mpa_ep_free(e);
}

int mpa_tell(struct mpa_ep *e, enum cm_event_type type, int status, const struct cm_param *p)
{
	struct cm_event ev = { .type = type, .status = status, .ep = &e->ep, .said = e->said };

	if (e->done) {
		tell_adopter(e, type, status, p);
		return 0;
	}
	if (p)
		ev.param = *p;
	if (type == CM_EV_REQUEST)
		ev.listener = &e->listener->ep;
	return e->m->port->user->event(e->m->port, &ev);
}

void mpa_end(struct mpa_ep *e, enum cm_event_type type, int status)
{
	mpa_timer_stop(e);
	mpa_ep_state(e, MPA_OVER);
	if (e->flushing)
		mpa_ep_free(e);
	else
		mpa_tell(e, type, status, NULL);
}

static void make_due(struct mpa_ep *e)
{
	if (ut_list_empty(&e->due))
		ut_list_add_tail(&e->m->due, &e->due);
}

void mpa_end_later(struct mpa_ep *e, enum cm_event_type type, int status)
{
	mpa_timer_stop(e);
	mpa_ep_state(e, MPA_OVER);
	e->due_end = true;
	e->end = type;
	e->end_status = status;
	make_due(e);
}

void mpa_turn_later(struct mpa_ep *e)
{
	e->due_turn = true;
	make_due(e);
}

void mpa_ready_later(struct mpa_ep *e)
{
	e->due_ready = true;
	make_due(e);
}

/* --- its stream --- */

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

	/* Before it leaves, so that the peer's observer does not have it first. */
	if (e->m->tap && !e->sent)
		e->m->tap->frame(e->m->tap, e->stream, true, frame, (uint32_t)len);
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

/* To an observer: a whole frame, before it is answered. */
static void show(const struct mpa_ep *e, const uint8_t *data, size_t len)
{
	struct mpa_frame f;
	int n = 0;

	if (e->state == MPA_WAIT_REPLY || e->state == MPA_WAIT_REQUEST)
		n = mpa_frame_parse(e->state == MPA_WAIT_REPLY ? MPA_REPLY : MPA_REQUEST, data, len, &f);
	if (n > 0)
		e->m->tap->frame(e->m->tap, e->stream, false, data, (uint32_t)n);
}

static size_t received(struct link_stream *s, const uint8_t *data, size_t off, size_t len,
		       uint64_t now)
{
	struct mpa_ep *e = s->user;

	if (e->m->tap)
		show(e, data, len);
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

/* --- its queue pair --- */

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

/* --- the end --- */

void mpa_drop_stream(struct mpa_ep *e, bool abort)
{
	struct link_stream *s = e->stream;

	e->stream = NULL;
	if (s)
		e->m->cfg.streams->ops->close(s, abort);
}

static void unclaimed_of(struct mpa_ep *l)
{
	struct mpa_ep *e;

	while ((e = ut_list_first(&l->half_open, struct mpa_ep, child)))
		mpa_ep_destroy(e);
	while ((e = ut_list_first(&l->pending, struct mpa_ep, child)))
		mpa_pending_del(e); /* its user's from now on */
}

static void end_qp(struct mpa_ep *e)
{
	struct eng_qp *qp = e->qp;

	mpa_detach(e);
	if (qp)
		e->m->cfg.proto->disconnect(qp);
}

void mpa_ep_destroy(struct mpa_ep *e)
{
	bool unanswered = e->state == MPA_WAIT_USER;

	e->due_turn = e->due_ready = e->due_end = false;
	ut_list_del(&e->due);
	if (unanswered)
		mpa_reject(&e->ep, CM_REJ_CONSUMER, NULL, 0);
	if (unanswered && e->state == MPA_REJECTING && e->whole) {
		mpa_drop_stream(e, false); /* no reason in it that could be lost */
		mpa_ep_state(e, MPA_OVER);
	}
	if (e->state == MPA_REJECTING) {
		e->flushing = true; /* the Reply is still on its way */
		return;
	}
	unclaimed_of(e);
	if (e->port)
		e->m->cfg.streams->ops->unbind(e->port);
	mpa_drop_stream(e, true);
	end_qp(e);
	mpa_ep_free(e);
}
