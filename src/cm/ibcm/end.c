/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How it ends: DREQ and DREP, REJ, destroy. And a message that may come at any
 * time: MRA.
 *
 * A DREQ is told to the user at once, and answered when the user disconnects or destroys its end, as
 * the Linux kernel does: DISCONNECTED at the initiator says that the peer has dealt with its own end.
 * An end whose user has asked for the end already, or is gone, answers at once. A process that dies
 * before it answers is disconnected by others (watch.c), or its port is found closed.
 */
#include "cm/ibcm/end.h"

#include "cm/ibcm/active.h"
#include "cm/ibcm/bind.h"
#include "cm/ibcm/msg.h"
#include "cm/ibcm/passive.h"
#include "cm/ibcm/watch.h"

#include <errno.h>

#define LAST_COPIES 2 /* of each last message, when the process ends: at 1 % loss all three go in one case of a million */

/* --- DREQ, DREP --- */

void ibcm_hang_up(struct ibcm_ep *e)
{
	uint8_t *m = ibcm_ep_mad(e, WIRE_CM_ATTR_DREQ);

	wire_set_CM_DREQ_remote_qpn(m, e->remote_qpn);
	ibcm_ask(e, IBCM_DREQ_SENT, IBCM_TIMEOUT, IBCM_RETRIES);
}

static void answer_dreq(struct ibcm_ep *e)
{
	ibcm_send_plain(e, WIRE_CM_ATTR_DREP);
	ibcm_timewait(e);
	e->drep_sent = true;
}

int ibcm_disconnect(struct cm_ep *ep)
{
	struct ibcm_ep *e = ibcm_of(ep);

	switch (e->state) {
	case IBCM_ESTAB:
	case IBCM_LAP_SENT:
	case IBCM_REP_SENT: /* the peer may be connected already: only a DREQ reaches it then */
		ibcm_hang_up(e);
		return 0;
	case IBCM_DREQ_RCVD:
		answer_dreq(e);
		return 0;
	case IBCM_DREQ_SENT:
	case IBCM_TIMEWAIT:
		return 0;
	default:
		return -EINVAL;
	}
}

static bool names_our_qp(const struct ibcm_ep *e, const struct gsi_rx *rx)
{
	return wire_get_CM_DREQ_remote_qpn(ibcm_msg(rx)) == e->local_qpn;
}

static void disconnected(struct ibcm_ep *e)
{
	ibcm_timewait(e);
	ibcm_raise(e, CM_EV_DISCONNECTED, 0);
}

void ibcm_got_dreq(struct ibcm_ep *e, const struct gsi_rx *rx)
{
	if (!names_our_qp(e, rx))
		return;
	e->tid = wire_get_MAD_tid(rx->mad); /* the answer carries it */
	if (e->state == IBCM_DREQ_SENT) {
		answer_dreq(e);
	} else {
		ibcm_enter(e, IBCM_DREQ_RCVD);
		/* The peer's QP is free for another connection. */
		ut_list_del(&e->key[IBCM_BY_QPN].node);
	}
	ibcm_raise(e, CM_EV_DISCONNECTED, 0);
}

/*
 * A DREQ proves that the peer was connected, so the RTU is lost or late. The user learns of
 * the connection before it learns of its end, for the peer may have sent data.
 */
void ibcm_dreq_before_rtu(struct ibcm_ep *e, const struct gsi_rx *rx)
{
	struct ibcm *cm = e->cm;
	uint32_t id = e->local_id;

	if (!names_our_qp(e, rx))
		return;
	ibcm_estab(e);
	ibcm_raise(e, CM_EV_ESTABLISHED, 0);
	e = ut_idtab_get(&cm->ids, id);
	if (e && (ibcm_is_connected(e) || e->state == IBCM_DREQ_SENT))
		ibcm_got_dreq(e, rx);
}

void ibcm_dup_dreq(struct ibcm_ep *e, const struct gsi_rx *rx)
{
	ibcm_send_plain(e, WIRE_CM_ATTR_DREP);
}

void ibcm_got_drep(struct ibcm_ep *e, const struct gsi_rx *rx)
{
	disconnected(e);
}

/* --- REJ --- */

static void raise_rej(struct ibcm_ep *e, const struct gsi_rx *rx)
{
	const uint8_t *m = ibcm_msg(rx);

	ibcm_raise_data(e, CM_EV_REJECTED, (int)wire_get_CM_REJ_reason(m),
			wire_get_CM_REJ_private_data(m), WIRE_CM_REJ_PRIVATE);
}

void ibcm_rejected(struct ibcm_ep *e, const struct gsi_rx *rx)
{
	unsigned reason = (unsigned)wire_get_CM_REJ_reason(ibcm_msg(rx));

	if (e->state == IBCM_REQ_SENT &&
	    (reason == CM_REJ_INVALID_SERVICE_ID || reason == CM_REJ_STALE) && ibcm_retry(e))
		return;
	if (e->active) {
		ibcm_enter(e, IBCM_OVER);
		ibcm_ep_forget(e);
	} else {
		/* A late copy of its REQ must not look like a new one; it gets no answer. */
		e->has_mad = false;
		ibcm_answered(e);
	}
	raise_rej(e, rx);
}

/* The peer gave up a connection that stands for us: it never heard our RTU. */
void ibcm_rej_connected(struct ibcm_ep *e, const struct gsi_rx *rx)
{
	disconnected(e);
}

/* --- MRA --- */

void ibcm_got_mra(struct ibcm_ep *e, const struct gsi_rx *rx)
{
	const uint8_t *m = ibcm_msg(rx);
	unsigned wanted = e->state == IBCM_REQ_SENT ? 0 : e->state == IBCM_LAP_SENT ? 2 : 1;
	unsigned code = (unsigned)wire_get_CM_MRA_service_timeout(m);

	if (wire_get_CM_MRA_message(m) != wanted)
		return;
	/*
	 * It lives and asks for time. We go on asking, slowly and without counting: whether
	 * it still lives is seen by that.
	 */
	e->mra_until = e->cm->now + ibcm_ns(code < IBCM_MRA_SERVICE ? code : IBCM_MRA_SERVICE);
	e->tries = 0;
	ibcm_arm(e, ibcm_ns(IBCM_TIMEOUT));
}

/* A duplicate of something answered: the same answer. */
void ibcm_again(struct ibcm_ep *e, const struct gsi_rx *rx)
{
	ibcm_send_kept(e);
}

/* --- destroy --- */

static void say_goodbye(struct ibcm_ep *e)
{
	switch (e->state) {
	case IBCM_REQ_SENT:
		ibcm_build_rej(e, 0, CM_REJ_TIMEOUT, NULL, 0);
		ibcm_send_kept(e);
		ibcm_enter(e, IBCM_OVER);
		break;
	case IBCM_REP_RCVD:
	case IBCM_REQ_RCVD:
	case IBCM_SIDR_RCVD:
		ibcm_reject(&e->ep, CM_REJ_CONSUMER, NULL, 0);
		break;
	case IBCM_REP_SENT:
	case IBCM_ESTAB:
	case IBCM_LAP_SENT:
		ibcm_hang_up(e);
		break;
	case IBCM_DREQ_RCVD:
		answer_dreq(e);
		break;
	default:
		break;
	}
}

/*
 * The last message of an endpoint, once more: if the network loses the only copy, the peer repeats its
 * request for a minute to a port that has no process. Nothing is lost within a host.
 */
static void send_last_again(struct ibcm_ep *e)
{
	if (e->cm->cfg.carrier->same_host(e->cm->dev, e->ep.remote.addr))
		return;
	if (e->state == IBCM_TIMEWAIT && e->drep_sent)
		ibcm_send_plain(e, WIRE_CM_ATTR_DREP);
	else if (e->state == IBCM_DREQ_SENT || e->state == IBCM_ANSWERED)
		ibcm_send_kept(e);
}

void ibcm_leave(struct cm_port *p)
{
	struct ibcm *cm = p->manager;
	struct ibcm_ep *e;

	ut_list_each(e, &cm->eps, all)
		say_goodbye(e);
	for (int i = 0; i < LAST_COPIES; i++)
		ut_list_each(e, &cm->eps, all)
			send_last_again(e);
}

static bool wanted_after(const struct ibcm_ep *e)
{
	return (e->state == IBCM_DREQ_SENT || e->state == IBCM_TIMEWAIT ||
		e->state == IBCM_ANSWERED) && e->cm->n_gone < IBCM_GONE_MAX;
}

void ibcm_destroy(struct cm_ep *ep)
{
	struct ibcm_ep *e = ibcm_of(ep);

	e->tell = false;
	say_goodbye(e);
	if (!wanted_after(e)) {
		ibcm_ep_free(e);
		return;
	}
	ibcm_unbind(e);
	e->gone = true;
	e->cm->n_gone++;
}
