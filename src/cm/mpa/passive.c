/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The responder: a stream comes, its Request is awaited and told, the user's
 * answer becomes the Reply, and the QP gets the stream right behind it.
 *
 * Nothing may follow the Request before the Reply has gone (RFC 5044 7.1.2 rule 3);
 * a peer that cannot wait is cut off, so no byte of it is ever kept here.
 */
#include "cm/mpa/passive.h"

#include "cm/faults.h"
#include "cm/mpa/adopt.h"
#include "cm/mpa/halfopen.h"

#include <errno.h>
#include <string.h>

/* --- listening --- */

static void accepted(struct link_listener *l, struct link_stream *s, uint64_t now)
{
	struct mpa_ep *listener = l->user;
	struct mpa_ep *e = mpa_ep_new(listener->m);

	if (!e) {
		listener->m->cfg.streams->ops->close(s, true);
		return;
	}
	mpa_stream_take(e, s);
	e->ep.service = listener->ep.service;
	e->ep.opt = listener->ep.opt;
	mpa_ep_state(e, MPA_WAIT_REQUEST);
	if (mpa_half_open_add(e, listener) < 0) {
		mpa_ep_destroy(e);
		return;
	}
	mpa_timer_from(e, now, MPA_REQUEST_WAIT_S);
}

static const struct link_listener_user listener_user = { .accepted = accepted };

int mpa_listen(struct cm_ep *ep, int backlog)
{
	struct mpa_ep *e = mpa_ep_of(ep);
	bool again = e->state == MPA_LISTENING;
	int r;

	if (e->state != MPA_FRESH && !again)
		return -EINVAL;
	if (!e->port)
		return -EINVAL;
	e->backlog = backlog > 0 ? (unsigned)backlog : MPA_BACKLOG_MAX;
	if (again) {
		mpa_pending_next(e);
		return 0;
	}
	e->port->user_ops = &listener_user;
	e->port->user = e;
	/* The host's own queue is emptied at once; a short one would only drop SYNs, which
	 * come again after seconds. */
	r = e->m->cfg.streams->ops->listen(e->port, 0);
	if (r == 0)
		mpa_ep_state(e, MPA_LISTENING);
	return r;
}

/* --- the Request --- */

/* An unknown peer went wrong before any user was told of it. */
static void dismiss(struct mpa_ep *e, int status, const char *why)
{
	mpa_say(e, why);
	if (e->done) {
		mpa_drop_stream(e, true);
		mpa_end(e, CM_EV_ERROR, status);
	} else {
		mpa_ep_destroy(e);
	}
}

static void ask_user(struct mpa_ep *e, const struct cm_param *p)
{
	struct mpa_ep *listener = e->listener;

	mpa_timer_stop(e);
	mpa_half_open_del(e);
	mpa_ep_state(e, MPA_WAIT_USER);
	mpa_pending_add(e, listener);
	if (e->ruled_out || mpa_tell(e, CM_EV_REQUEST, 0, p))
		mpa_ep_destroy(e);
}

/* Its place among the half open ones it keeps: they are what has a ceiling. */
static void wait_turn(struct mpa_ep *e, uint64_t now)
{
	if (mpa_stream_keep(e, e->peer.data, e->peer.len) < 0) {
		dismiss(e, -ENOMEM, "no memory for the Request: it is dropped; raise the limit on memory");
		return;
	}
	mpa_ep_state(e, MPA_WAIT_TURN);
	mpa_timer_from(e, now, MPA_TURN_WAIT_S);
}

/*
 * A listener's backlog bounds what its user has not answered. A connection beyond it is not refused,
 * as TCP does not refuse either, but waits; programs listen with a backlog of 3 and
 * expect 50 clients.
 */
static void on_request(struct mpa_ep *e, uint64_t now)
{
	struct cm_param p = mpa_peer_param(e, &e->peer);
	bool full = e->listener->n_pending >= e->listener->backlog;
	const struct link_rule *r = cm_fault(e->m->port, 1u << LINK_ACT_REJECT | 1u << LINK_ACT_SILENCE, e->ep.remote.addr, now);

	/* Half open, until the time for a Request is over. */
	if (r && r->act == LINK_ACT_SILENCE) {
		e->peer.data = NULL; /* goes away with this call */
		e->peer.len = 0;
		return;
	}
	e->ruled_out = r;
	if (full) {
		wait_turn(e, now);
		return;
	}
	e->peer.data = NULL; /* goes away with this call */
	e->peer.len = 0;
	ask_user(e, &p);
}

void mpa_passive_turn(struct mpa_ep *e)
{
	struct mpa_ep *listener = e->listener;
	struct cm_param p;

	if (e->state != MPA_WAIT_TURN || listener->n_pending >= listener->backlog)
		return;
	e->peer.data = e->data;
	e->peer.len = e->data_len;
	p = mpa_peer_param(e, &e->peer);
	e->peer.data = NULL;
	e->peer.len = 0;
	mpa_pending_next(listener); /* there may be room for more */
	ask_user(e, &p);
}

/* What comes later: from a peer that sends out of turn, or whose bytes no longer matter. */
static size_t out_of_turn(struct mpa_ep *e, size_t len)
{
	if (len && e->state == MPA_WAIT_TURN) {
		dismiss(e, -EPROTO, "the peer sent FPDUs before it had a Reply: the request is dropped; "
				    "check the peer's iWARP program");
		return len;
	}
	if (len && e->state == MPA_WAIT_USER) {
		mpa_say(e, "the peer sent FPDUs before it had a Reply: the request is dropped; check the "
			   "peer's iWARP program");
		mpa_drop_stream(e, true);
		e->fin = true;
	}
	/* Behind an accepting Reply that is still being sent the bytes are the QP's. */
	return e->state == MPA_ACCEPTING ? 0 : len;
}

size_t mpa_passive_received(struct mpa_ep *e, const uint8_t *data, size_t len, uint64_t now)
{
	int n;

	if (e->state != MPA_WAIT_REQUEST)
		return out_of_turn(e, len);
	n = mpa_frame_parse(MPA_REQUEST, data, len, &e->peer);
	if (n == 0)
		return 0;
	if (n < 0 || (size_t)n < len) {
		dismiss(e, -EPROTO, n < 0 ? "the peer's first bytes are no MPA Request: the connection is "
					    "dropped; check that the peer is an iWARP program" :
				   "more bytes than its length came with the Request: it is dropped; check "
				   "the peer's iWARP program");
		return len;
	}
	if (e->done)
		mpa_adopt_request(e);
	else
		on_request(e, now);
	return (size_t)n;
}

/* --- the answer --- */

static void wishes(struct mpa_ep *e, const struct cm_param *param)
{
	const struct mpa_config *cfg = &e->m->cfg;

	e->wish = (struct mpa_wish){
		.crc = cfg->crc, .markers = cfg->markers, .rd_max = cfg->rd_max,
		.ird = mpa_depth(param->responder_resources, cfg->rd_max),
		.ord = mpa_depth(param->initiator_depth, cfg->rd_max),
	};
}

static int answer(struct mpa_ep *e, const void *data, uint16_t len)
{
	if (len > mpa_frame_room(e->peer.enhanced))
		return -EINVAL;
	return mpa_stream_keep(e, data, len);
}

/* The whole Reply has left. */
static int finish(struct mpa_ep *e)
{
	bool wait = e->terms.rtr != PROTO_RTR_NONE && !e->done;
	enum mpa_state before = e->state;
	struct eng_qp *qp;
	int r = mpa_qp_usable(e->m->dev, e->qpn, &qp);

	if (r < 0)
		return r;
	mpa_timer_stop(e);
	if (wait)
		mpa_timer_start(e, MPA_RTR_WAIT_S);
	/* Before the protocol may say that it ended. */
	mpa_ep_state(e, wait ? MPA_WAIT_RTR : MPA_ESTABLISHED);
	r = mpa_attach(e, qp);
	if (r < 0) {
		mpa_timer_stop(e);
		mpa_ep_state(e, before);
	} else if (!wait) {
		mpa_ready_later(e);
	}
	return r;
}

int mpa_accept(struct cm_ep *ep, const struct cm_param *param)
{
	struct mpa_ep *e = mpa_ep_of(ep);
	struct eng_qp *qp;
	int r;

	if (e->state != MPA_WAIT_USER || !mpa_type_ok(param))
		return -EINVAL;
	if (e->fin)
		return -ECONNRESET;
	r = mpa_qp_usable(e->m->dev, param->qpn, &qp);
	if (r < 0)
		return r;
	wishes(e, param);
	mpa_terms_accept(&e->wish, &e->peer, &e->out, &e->terms);
	r = answer(e, param->private_data, param->private_len);
	if (r < 0)
		return r;
	e->qpn = param->qpn;
	return mpa_passive_reply(e);
}

/* The rest of the Reply may have to wait for room. */
int mpa_passive_reply(struct mpa_ep *e)
{
	int r;

	mpa_stream_local(e, false);
	r = mpa_stream_send(e);
	if (r == 0 && !e->whole) {
		mpa_pending_del(e);
		mpa_ep_state(e, MPA_ACCEPTING);
		mpa_timer_start(e, MPA_REPLY_WAIT_S);
		return 0;
	}
	if (r == 0)
		r = finish(e);
	if (r < 0) { /* half a Reply, or one without a QP behind it: nothing can follow */
		mpa_drop_stream(e, true);
		e->fin = true;
		return r;
	}
	mpa_pending_del(e);
	return 0;
}

static void reject_over(struct mpa_ep *e, bool abort)
{
	mpa_drop_stream(e, abort);
	mpa_ep_state(e, MPA_OVER);
	mpa_timer_stop(e);
	if (e->flushing)
		mpa_ep_free(e);
}

/*
 * siw that sees the end of the stream and a Reply at once reports the end and forgets the Reply
 * with the reason in it. The rejected end closes (RFC 5044 7.1.2), and has a moment for that.
 */
static void reject_linger(struct mpa_ep *e)
{
	mpa_timer_start_ns(e, MPA_REJECT_LINGER_NS);
}

int mpa_reject(struct cm_ep *ep, enum cm_reject reason, const void *data, uint16_t len)
{
	struct mpa_ep *e = mpa_ep_of(ep);
	int r;

	(void)reason; /* MPA carries none */
	if (e->state != MPA_WAIT_USER)
		return -EINVAL;
	wishes(e, &(struct cm_param){ .qp_type = IBV_QPT_RC });
	mpa_terms_reject(&e->wish, &e->peer, &e->out);
	r = answer(e, data, len);
	if (r < 0)
		return r;
	mpa_pending_del(e);
	mpa_ep_state(e, MPA_REJECTING);
	if (!e->fin)
		r = mpa_stream_send(e);
	if (r < 0 || e->fin)
		reject_over(e, r < 0);
	else if (e->whole)
		reject_linger(e);
	else
		mpa_timer_start(e, MPA_FLUSH_WAIT_S);
	return 0;
}

void mpa_passive_sent(struct mpa_ep *e, int error)
{
	if (e->state == MPA_REJECTING) {
		if (error == 0)
			reject_linger(e);
		else
			reject_over(e, true);
		return;
	}
	if (error == 0)
		error = finish(e);
	if (error == 0)
		return;
	mpa_drop_stream(e, true);
	mpa_end(e, CM_EV_ERROR, error);
}

/* --- other ends --- */

void mpa_passive_closed(struct mpa_ep *e, int error)
{
	switch (e->state) {
	case MPA_WAIT_USER: /* accept() will say it */
		mpa_drop_stream(e, true);
		e->fin = true;
		break;
	case MPA_WAIT_REQUEST:
		dismiss(e, -ECONNRESET, "the peer closed before its Request was whole: it is dropped; see "
					"the peer's own message");
		break;
	case MPA_WAIT_TURN:
		dismiss(e, -ECONNRESET, "the peer closed before the backlog had room: its request is "
					"dropped; listen with a longer backlog");
		break;
	case MPA_REJECTING:
		reject_over(e, !e->whole);
		break;
	case MPA_ACCEPTING:
		mpa_passive_sent(e, error ? -error : -ECONNRESET);
		break;
	default:
		break;
	}
}

static void no_rtr(struct mpa_ep *e)
{
	struct eng_qp *qp = e->qp;

	mpa_say(e, "the announced ready-to-receive message did not come: the connection ends; set "
		   "DAPPLE_MPA=nortr at the peer");
	e->said = true;
	mpa_detach(e);
	if (qp)
		e->m->cfg.proto->disconnect(qp);
	mpa_end(e, CM_EV_UNREACHABLE, -ETIMEDOUT);
}

void mpa_passive_expired(struct mpa_ep *e)
{
	switch (e->state) {
	case MPA_WAIT_REQUEST:
		dismiss(e, -ETIMEDOUT, "the Request did not come within 5 s: the connection is dropped; "
				       "check that the peer is an iWARP program");
		break;
	case MPA_WAIT_TURN:
		dismiss(e, -ETIMEDOUT, "the backlog had no room within 60 s: the request is dropped; listen "
				       "with a longer backlog, or accept faster");
		break;
	case MPA_REJECTING:
		reject_over(e, !e->whole);
		break;
	case MPA_ACCEPTING:
		mpa_passive_sent(e, -ETIMEDOUT);
		break;
	case MPA_WAIT_RTR:
		no_rtr(e);
		break;
	default:
		break;
	}
}
