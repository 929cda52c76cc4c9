/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A stream that the application's own socket made goes through the same handshake as any other, in an
 * endpoint that no CM user ever sees, or straight to its QP when the application has negotiated itself.
 */
#include "cm/mpa/adopt.h"

#include "cm/mpa/ep.h"
#include "cm/mpa/passive.h"
#include "util/alloc.h"

#include <errno.h>
#include <string.h>

static void wishes(struct mpa_ep *e, const struct proto_stream_params *p)
{
	const struct mpa_config *cfg = &e->m->cfg;

	e->wish = (struct mpa_wish){
		.rev = (uint8_t)cfg->revision, .crc = p->crc, .markers = p->markers_rx,
		.rtr = (uint8_t)cfg->rtr, .rd_max = cfg->rd_max,
		.ird = p->ird < cfg->rd_max ? p->ird : cfg->rd_max,
		.ord = p->ord < cfg->rd_max ? p->ord : cfg->rd_max,
	};
}

static int prepare(struct mpa_ep *e, const struct cm_param *param, bool initiator)
{
	/* A responder does not know yet which form its Reply will have. */
	if (param->private_len > mpa_frame_room(!initiator || e->wish.rev >= 2))
		return -EINVAL;
	if (initiator)
		mpa_terms_request(&e->wish, &e->out);
	return mpa_stream_keep(e, param->private_data, param->private_len);
}

static void begin(struct mpa_ep *e, struct link_stream *s, bool initiator)
{
	mpa_stream_take(e, s);
	if (!initiator) {
		mpa_ep_state(e, MPA_WAIT_REQUEST);
		mpa_timer_start(e, MPA_REQUEST_WAIT_S);
		return;
	}
	mpa_ep_state(e, MPA_WAIT_REPLY);
	mpa_timer_start(e, MPA_REPLY_WAIT_S);
	if (mpa_stream_send(e) < 0) {
		mpa_drop_stream(e, true);
		mpa_end_later(e, CM_EV_ERROR, -ECONNRESET);
	}
}

static int negotiate(struct mpa *m, struct eng_qp *qp, struct link_stream *s, bool initiator,
		     const struct proto_stream_params *params, const struct cm_param *param,
		     mpa_done_fn *done, void *arg)
{
	static const struct cm_param nothing;
	struct mpa_ep *e = mpa_ep_new(m);
	int r;

	if (!e)
		return -ENOMEM;
	e->qpn = qp->qpn;
	wishes(e, params);
	r = prepare(e, param ? param : &nothing, initiator);
	if (r < 0) {
		mpa_ep_free(e);
		return r;
	}
	e->done = done;
	e->done_arg = arg;
	begin(e, s, initiator);
	return 0;
}

static int negotiated(struct mpa *m, struct eng_qp *qp, struct link_stream *s,
		      const struct proto_stream_params *params, mpa_done_fn *done, void *arg)
{
	int r = m->cfg.proto->attach(qp, s, params, NULL, NULL);

	if (r == 0)
		done(arg, 0, NULL);
	return r;
}

int mpa_adopt(struct cm_port *p, struct eng_qp *qp, struct link_stream *s,
	      enum mpa_adopt_role role, const struct proto_stream_params *params,
	      const struct cm_param *param, mpa_done_fn *done, void *arg)
{
	struct mpa *m = mpa_of(p);
	struct eng_qp *same;
	int r = mpa_qp_usable(m->dev, qp->qpn, &same);

	if (r == 0 && role == MPA_ADOPT_NEGOTIATED)
		r = negotiated(m, qp, s, params, done, arg);
	else if (r == 0)
		r = negotiate(m, qp, s, role == MPA_ADOPT_INITIATOR, params, param, done, arg);
	if (r < 0)
		m->cfg.streams->ops->close(s, true);
	return r;
}

/* The Reply has to wait for room, the Request's bytes go away now. */
static int keep_request(struct mpa_ep *e, const struct cm_param *p)
{
	e->kept = ut_malloc(p->private_len ? p->private_len : 1);
	if (!e->kept)
		return -ENOMEM;
	memcpy(e->kept, p->private_data, p->private_len);
	e->peer.data = e->kept;
	return 0;
}

/* The responder's answer is known beforehand. */
void mpa_adopt_request(struct mpa_ep *e)
{
	struct cm_param p = mpa_peer_param(e, &e->peer);
	int r;

	mpa_terms_accept(&e->wish, &e->peer, &e->out, &e->terms);
	e->out.data = e->data;
	e->out.len = e->data_len;
	mpa_timer_stop(e);
	mpa_ep_state(e, MPA_WAIT_USER);
	r = mpa_passive_reply(e);
	if (r == 0 && e->state == MPA_ESTABLISHED) {
		mpa_tell(e, CM_EV_ESTABLISHED, 0, &p);
		return;
	}
	if (r == 0)
		r = keep_request(e, &p);
	if (r < 0) {
		mpa_drop_stream(e, true);
		mpa_end(e, CM_EV_ERROR, r);
	}
}
