/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/mpa/ep.h"

#include "cm/mpa/halfopen.h"
#include "cm/mpa/passive.h"
#include "cm/mpa/stream.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/log.h"

#include <stdlib.h>
#include <string.h>

static const char *const state_name[MPA_STATES] = {
	"fresh", "listening", "connecting", "waiting for the reply", "waiting for its way",
	"waiting for the request",
	"waiting for its turn", "waiting for its user", "accepting", "rejecting",
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
	cm_why(e->ep.port, &e->ep.local, &e->ep.remote, "%s: %s", state_name[e->state],
	       what ? what : "?");
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
