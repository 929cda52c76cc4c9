/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The initiator: connect, Request out, Reply in, QP to RTS.
 *
 * A responder that knows only revision 1 closes on the enhanced Request (RFC 6581
 * 10); a stream that ends after our whole Request without one byte of answer
 * is therefore tried again, once, with a plain one.
 */
#include "cm/mpa/active.h"

#include "util/alloc.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void wishes(struct mpa_ep *e, const struct cm_param *param)
{
	const struct mpa_config *cfg = &e->m->cfg;

	e->wish = (struct mpa_wish){
		.rev = (uint8_t)cfg->revision, .crc = cfg->crc, .markers = cfg->markers,
		.rtr = (uint8_t)cfg->rtr, .rd_max = cfg->rd_max,
		.ird = mpa_depth(param->responder_resources, cfg->rd_max),
		.ord = mpa_depth(param->initiator_depth, cfg->rd_max),
	};
}

static int prepare(struct mpa_ep *e, const struct cm_param *param)
{
	struct eng_qp *qp;
	int r;

	if (!mpa_type_ok(param))
		return -EINVAL;
	r = mpa_qp_usable(e->m->dev, param->qpn, &qp);
	if (r < 0)
		return r;
	wishes(e, param);
	if (param->private_len > mpa_frame_room(e->wish.rev >= 2))
		return -EINVAL;
	mpa_terms_request(&e->wish, &e->out);
	e->qpn = param->qpn;
	return mpa_stream_keep(e, param->private_data, param->private_len);
}

static int start(struct mpa_ep *e, const struct link_end *remote)
{
	struct link_streams *streams = e->m->cfg.streams;
	struct link_stream *s;
	int r;

	r = streams->ops->connect(streams, e->port, &e->ep.local, remote, e->ep.opt.tos, &s);
	if (r < 0)
		return r;
	e->port = NULL; /* used up */
	mpa_stream_take(e, s);
	return 0;
}

/* Which event a stream that ended before its time is. */
static enum cm_event_type event_of(int error)
{
	switch (error) {
	case ECONNREFUSED:
	case ECONNRESET:
	case EPIPE:
		return CM_EV_REJECTED;
	case ETIMEDOUT:
	case EHOSTUNREACH:
	case ENETUNREACH:
	case EHOSTDOWN:
		return CM_EV_UNREACHABLE;
	default:
		return CM_EV_ERROR;
	}
}

/* The port that was asked for is used again; an abortive close has set it free. */
static int claim_again(struct mpa_ep *e)
{
	struct link_streams *streams = e->m->cfg.streams;

	if (e->port)
		return 0;
	if (!e->claimed) {
		e->ep.local.port = 0;
		return 0;
	}
	return streams->ops->bind(streams, &e->ep.local, true, e->ep.opt.afonly, &e->port);
}

/*
 * Servers that have just told their client a port (qperf, perftest) listen on it while the
 * connection is on its way: with adapters that need milliseconds to make a QP the server is
 * first, with ours the client may be. So a refusal is believed after some tries only, as by the other
 * manager (ibcm).
 */
static bool retry(struct mpa_ep *e, int error)
{
	if (error != ECONNREFUSED || e->refused_tries == MPA_REFUSED_TRIES || e->done)
		return false;
	mpa_drop_stream(e, true);
	e->retrying = true;
	mpa_timer_start_ns(e, MPA_REFUSED_NS << e->refused_tries++);
	mpa_ep_state(e, MPA_CONNECTING);
	return true;
}

int mpa_connect(struct cm_ep *ep, const struct link_end *remote, const struct cm_param *param)
{
	struct mpa_ep *e = mpa_ep_of(ep);
	int r;

	if (e->state != MPA_FRESH || !remote->port)
		return -EINVAL;
	r = prepare(e, param);
	if (r < 0)
		return r;
	r = start(e, remote);
	/* Some hosts know at once what others learn later: the user is told of both in one way. */
	if (r < 0 && event_of(-r) == CM_EV_ERROR)
		return r;
	e->ep.remote = *remote;
	if (r < 0 && retry(e, -r))
		return 0;
	if (r < 0)
		mpa_end_later(e, event_of(-r), r);
	else
		mpa_ep_state(e, MPA_CONNECTING);
	return 0;
}

void mpa_active_connected(struct mpa_ep *e, uint64_t now)
{
	int r;

	e->ep.local = e->stream->local;
	mpa_ep_state(e, MPA_WAIT_REPLY);
	mpa_timer_from(e, now, MPA_REPLY_WAIT_S);
	r = mpa_stream_send(e);
	if (r < 0)
		mpa_active_sent(e, r);
}

void mpa_active_sent(struct mpa_ep *e, int error)
{
	if (error < 0)
		mpa_say(e, "the Request did not leave whole: the connection is not made; check the route to the peer");
}

static void fail(struct mpa_ep *e, enum cm_event_type type, int status, const char *why)
{
	mpa_say(e, why);
	e->said = true;
	mpa_drop_stream(e, true);
	mpa_end(e, type, status);
}

static void fail_by(struct mpa_ep *e, int error)
{
	const char *cause = strerrordesc_np(error);
	char why[160];

	snprintf(why, sizeof(why), "%s: not connected; check the route, and that the server listens there",
		 cause ? cause : "unknown error");
	fail(e, event_of(error), -error, why);
}

/* --- the Reply --- */

static void rejected(struct mpa_ep *e, const struct mpa_frame *rep)
{
	struct cm_param p = mpa_peer_param(e, rep);

	mpa_drop_stream(e, false);
	mpa_timer_stop(e);
	mpa_ep_state(e, MPA_OVER);
	mpa_tell(e, CM_EV_REJECTED, -ECONNREFUSED, &p);
}

static const char *why_refused(const struct mpa_frame *rep, int code)
{
	if (code != MPA_CODE_IRD)
		return "the Reply takes no ready-to-receive message on offer: not connected; DAPPLE_MPA=nortr asks for "
		       "none";
	if (rep->ird == 0)
		return "the peer serves no Reads (IRD 0 in its Reply), and the ready-to-receive message is a Read: not "
		       "connected; raise responder_resources at the peer";
	return "the peer issues more Reads at a time (ORD in its Reply) than this adapter serves: not connected; lower "
	       "initiator_depth at the peer";
}

/* The QP gets the stream only to send the Terminate that refuses it. */
static void refuse_terms(struct mpa_ep *e, struct eng_qp *qp, const struct mpa_frame *rep, int code)
{
	e->terms.rtr = PROTO_RTR_NONE;
	if (mpa_attach(e, qp) == 0) {
		e->qp = NULL;
		if (!e->done)
			e->m->cfg.proto->disown(qp);
		e->m->cfg.proto->terminate(qp, (uint8_t)code);
	}
	fail(e, CM_EV_ERROR, -EPROTO, why_refused(rep, code));
}

static void agreed(struct mpa_ep *e, struct eng_qp *qp, const struct mpa_frame *rep)
{
	struct cm_param p = mpa_local_param(e);
	int r;

	mpa_timer_stop(e);
	mpa_ep_state(e, MPA_ESTABLISHED); /* before the protocol may say that it ended */
	r = mpa_attach(e, qp);
	if (r < 0) {
		fail(e, CM_EV_ERROR, r, "the QP does not take the stream: not connected; see the sentence "
					"before this one");
		return;
	}
	if (e->done)
		p = mpa_peer_param(e, rep);
	p.private_data = rep->data;
	p.private_len = rep->len;
	mpa_tell(e, CM_EV_ESTABLISHED, 0, &p);
}

/*
 * The QP's first message must be on its way when the user is told of the connection: what the user then
 * does to another connection would otherwise be told first at the peer. So both wait until it is known
 * which way the stream takes.
 */
static bool must_wait(struct mpa_ep *e, const struct mpa_frame *rep)
{
	if (!mpa_stream_local(e, true))
		return false;
	free(e->kept);
	e->kept = ut_malloc(rep->len ? rep->len : 1);
	if (!e->kept) {
		e->m->cfg.streams->ops->hurry(e->stream);
		return false;
	}
	memcpy(e->kept, rep->data, rep->len);
	e->peer = *rep;
	e->peer.data = e->kept;
	mpa_ep_state(e, MPA_WAIT_WAY);
	return true;
}

void mpa_active_decided(struct mpa_ep *e)
{
	struct mpa_frame rep = e->peer;
	uint8_t *kept = e->kept; /* the endpoint may be gone afterwards */
	struct eng_qp *qp;
	int r = mpa_qp_usable(e->m->dev, e->qpn, &qp);

	e->kept = NULL;
	e->peer.data = NULL;
	e->peer.len = 0;
	if (r < 0)
		fail(e, CM_EV_ERROR, r, "the QP was destroyed, or is not in INIT or RTR: not connected; keep "
					"it in INIT until the connection is established");
	else
		agreed(e, qp, &rep);
	free(kept);
}

static void on_reply(struct mpa_ep *e, const struct mpa_frame *rep)
{
	struct eng_qp *qp;
	int code, r;

	if (rep->reject) {
		rejected(e, rep);
		return;
	}
	code = mpa_terms_agree(&e->wish, rep, &e->terms);
	if (code < 0) {
		fail(e, CM_EV_ERROR, code, "the Reply has another revision than the Request: not connected; "
					   "set DAPPLE_MPA=rev1");
		return;
	}
	r = mpa_qp_usable(e->m->dev, e->qpn, &qp);
	if (r < 0)
		fail(e, CM_EV_ERROR, r, "the QP was destroyed, or is not in INIT or RTR: not connected; keep "
					"it in INIT until the connection is established");
	else if (code > 0)
		refuse_terms(e, qp, rep, code);
	else if (!must_wait(e, rep))
		agreed(e, qp, rep);
}

size_t mpa_active_received(struct mpa_ep *e, const uint8_t *data, size_t len, uint64_t now)
{
	struct mpa_frame rep;
	int n;

	if (!len)
		return 0;
	/* A byte that comes by the wire: the peer has chosen it. */
	if (e->state == MPA_WAIT_WAY) {
		mpa_active_decided(e);
		return 0;
	}
	e->heard = true;
	n = e->whole ? mpa_frame_parse(MPA_REPLY, data, len, &rep) : -EPROTO;
	if (n == 0)
		return 0;
	if (n < 0) {
		fail(e, CM_EV_ERROR, -EPROTO, "the peer's first bytes are no MPA Reply: not connected; check "
					      "that an iWARP program listens at that port");
		return len;
	}
	on_reply(e, &rep);
	return (size_t)n;
}

/* --- other ends --- */

static bool fall_back(struct mpa_ep *e, int error)
{
	struct link_end remote = e->ep.remote;

	if (error && error != ECONNRESET && error != EPIPE)
		return false;
	if (e->state != MPA_WAIT_REPLY || !e->whole || e->heard || e->fell_back || e->done ||
	    e->wish.rev < 2)
		return false;
	mpa_say(e, "the peer closed without a Reply: a Request of revision 1 follows; DAPPLE_MPA=rev1 sends "
		   "it at once");
	mpa_timer_stop(e);
	mpa_drop_stream(e, true);
	e->fell_back = true;
	e->wish.rev = 1;
	mpa_terms_request(&e->wish, &e->out);
	e->out.data = e->data;
	e->out.len = e->data_len;
	e->sent = 0;
	e->whole = false;
	if (claim_again(e) < 0 || start(e, &remote) < 0)
		return false;
	mpa_ep_state(e, MPA_CONNECTING);
	return true;
}

void mpa_active_closed(struct mpa_ep *e, int error)
{
	if (fall_back(e, error) || (e->state == MPA_CONNECTING && retry(e, error)))
		return;
	if (!error || error == EPIPE)
		error = ECONNRESET; /* a FIN is no answer */
	fail_by(e, error);
}

static void retry_now(struct mpa_ep *e)
{
	struct link_end remote = e->ep.remote;
	int r = claim_again(e);

	e->retrying = false;
	if (r == 0)
		r = start(e, &remote);
	if (r < 0 && !retry(e, -r))
		fail_by(e, -r);
}

void mpa_active_expired(struct mpa_ep *e)
{
	if (e->retrying) {
		retry_now(e);
		return;
	}
	fail(e, CM_EV_UNREACHABLE, -ETIMEDOUT, "no whole Reply came within 10 s: not connected; check that "
					       "an iWARP program listens there and is not stopped");
}
