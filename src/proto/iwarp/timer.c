/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a stream does by the clock. At its beginning: a responder holds back its first FPDU, an
 * initiator repeats its own to a peer that seems not to have seen it; both for the sake of siw,
 * whose QP takes over the socket some time after the Reply has left. At its end: what is queued and the
 * peer's FIN are awaited for a limited time.
 */
#include "proto/iwarp/timer.h"

#include "proto/iwarp/end.h"
#include "proto/iwarp/read.h"
#include "util/clock.h"

#define LEAVE_TIMEOUT (5 * UT_S) /* for what is queued and the peer's FIN */
#define REPLY_LOOK UT_MS
#define REPLY_AFTER (50 * UT_MS) /* a busy guest took 20 to read a Reply */
#define NUDGE_AFTER (10 * UT_MS) /* and four times as long after each */
#define NUDGES 5

void iwp_arm(struct iwp_qp *q, uint64_t delay)
{
	q->delay = delay;
	ut_timer_set(&q->port->timers, &q->timer, q->port->now);
}

/* Something of ours is on its way to the peer, and a Write without octets is no surprise to it. */
static bool takes_nudges(const struct iwp_qp *q)
{
	return q->par.initiator && !q->heard &&
	       (q->par.rtr == PROTO_RTR_WRITE || (q->par.rtr == PROTO_RTR_NONE && q->tx_pos));
}

void iwp_timer_opened(struct iwp_qp *q)
{
	if (takes_nudges(q))
		iwp_arm(q, NUDGE_AFTER);
	else if (!q->par.initiator && q->par.rtr == PROTO_RTR_NONE && q->par.await_first)
		iwp_arm(q, REPLY_LOOK);
}

/* Without a ready-to-receive message the first of the application's may be what is overlooked. */
void iwp_timer_sent(struct iwp_qp *q)
{
	if (q->watched || q->life != IWP_OPEN || q->par.rtr != PROTO_RTR_NONE || !takes_nudges(q))
		return;
	q->watched = true;
	iwp_arm(q, NUDGE_AFTER);
}

/* A queue pair that leaves before its first nudge was due sends it before FIN: siw's kernel may depend on
 * it. */
void iwp_timer_leaving(struct iwp_qp *q)
{
	q->last_nudge = !q->last_nudge && takes_nudges(q) && !q->nudges;
	iwp_arm(q, q->last_nudge ? NUDGE_AFTER : LEAVE_TIMEOUT);
}

/* siw cannot take an FPDU in the flight of the Reply: it must have been acknowledged. */
static void look_at_reply(struct iwp_qp *q)
{
	bool drained = q->port->ops->drained(q->s);

	if (drained && q->reply_drained) {
		q->awaits_first = false;
		iwp_activate(q);
		return;
	}
	q->reply_drained = drained;
	iwp_arm(q, drained ? REPLY_AFTER : REPLY_LOOK);
}

static bool between_messages(const struct iwp_qp *q)
{
	return !q->off && !q->imm_due && !q->rest_len && !iwp_answer_open(q);
}

/*
 * siw overlooks what arrives between its Reply and the moment when the QP has the socket, the
 * ready-to-receive Write and all behind it, or else the first message, until something else
 * arrives; and iw_cm stops the whole kernel if the stream then ends instead. So a peer that
 * agreed to Writes without octets, or to no such message, gets a few of them while it says
 * nothing; to any other peer they mean nothing (RFC 5041 7.1: without octets no tag is looked at).
 */
static void nudge(struct iwp_qp *q)
{
	if (q->heard || q->nudges == NUDGES)
		return;
	q->rtr_due |= between_messages(q);
	iwp_activate(q);
	iwp_arm(q, NUDGE_AFTER << 2 * ++q->nudges);
}

static void nudge_at_end(struct iwp_qp *q)
{
	q->rtr_due = !q->heard && between_messages(q);
	iwp_timer_leaving(q);
	iwp_activate(q);
}

void iwp_timer(struct iwp_qp *q)
{
	if (q->delay) {
		ut_timer_set(&q->port->timers, &q->timer, q->port->now + q->delay);
		q->delay = 0;
		return;
	}
	switch (q->life) {
	case IWP_OPEN:
		if (q->awaits_first)
			look_at_reply(q);
		else if (q->par.initiator)
			nudge(q);
		break;
	case IWP_LEAVING:
		if (q->last_nudge) {
			nudge_at_end(q);
			break;
		}
		/* fall through */
	case IWP_HALF:
		iwp_over(q, ENG_V_STREAM_CLOSED, 0);
		break;
	case IWP_LAST:
		iwp_let_go(q, true);
		break;
	case IWP_IDLE:
		break;
	}
}
