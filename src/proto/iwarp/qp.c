/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The life of a queue pair: the engine's calls, the stream that it gets and closes, and the events
 * of that stream. The end of a stream is in end.c. */
#include "proto/iwarp/qp.h"

#include "engine/complete.h"
#include "engine/pending.h"
#include "engine/qp_state.h"
#include "engine/refuse.h"
#include "engine/show.h"
#include "proto/iwarp/end.h"
#include "proto/iwarp/port.h"
#include "proto/iwarp/read.h"
#include "proto/iwarp/rx.h"
#include "proto/iwarp/send.h"
#include "util/alloc.h"
#include "util/clock.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static void show_depth(struct iwp_qp *q)
{
	q->qp->attr.max_rd_atomic = (uint8_t)q->par.ord;
	q->qp->attr.max_dest_rd_atomic = (uint8_t)q->par.ird;
}

static int qp_init(struct eng_qp *qp)
{
	uint32_t sges = qp->srq ? qp->srq->max_sge : qp->cap.max_recv_sge;
	struct iwp_qp *q = iwp_of(qp);
	int r;

	q->qp = qp;
	q->port = qp->dev->proto_port;
	ut_list_init(&q->active);
	q->rwqe = ut_zalloc(sizeof(struct eng_rwqe) + sges * sizeof(struct ibv_sge));
	if (!q->rwqe)
		return eng_refuse(qp->dev, ENG_R_MEMORY);
	r = ut_heap_reserve(&q->port->timers);
	if (r < 0)
		free(q->rwqe);
	return r;
}

/* Requests complete no more; TCP still delivers those that completed. */
static void drop(struct iwp_qp *q)
{
	const struct proto_stream_owner *owner = q->owner;

	if (iwp_alive(q) && owner) {
		q->owner = NULL;
		owner->ended(q->owner_arg, 0, q->port->now);
	}
	iwp_forget(q);
	q->have_rwqe = false;
}

static void qp_fini(struct eng_qp *qp)
{
	struct iwp_qp *q = iwp_of(qp);

	drop(q);
	ut_heap_unreserve(&q->port->timers);
	free(q->rwqe);
}

static int qp_check(struct eng_qp *qp, const struct ibv_qp_attr *attr, int mask,
		    enum ibv_qp_state to)
{
	return 0;
}

static void qp_moved(struct eng_qp *qp, enum ibv_qp_state from, int mask)
{
	struct iwp_qp *q = iwp_of(qp);

	switch (eng_qp_state(qp)) {
	case IBV_QPS_RESET:
		drop(q);
		break;
	case IBV_QPS_RTS:
		show_depth(q);
		break;
	case IBV_QPS_ERR:
		iwp_over(q, ENG_V_STREAM_CLOSED, 0);
		eng_qp_flush(qp);
		break;
	case IBV_QPS_SQD:
		if (from != IBV_QPS_SQD)
			iwp_stream_ops.disconnect(qp);
		break;
	default:
		break;
	}
}

static void qp_state(struct eng_qp *qp)
{
}

static void qp_kick(struct eng_qp *qp)
{
	if (eng_qp_state(qp) == IBV_QPS_ERR)
		eng_qp_flush(qp);
	else
		iwp_activate(iwp_of(qp));
}

static int ah_check(struct eng_dev *dev, const struct ibv_ah_attr *attr)
{
	return eng_refuse(dev, ENG_R_AH_LACKS);
}

static void qp_facts(const struct eng_qp *qp, struct eng_qp_facts *ret)
{
	const struct iwp_qp *q = (const struct iwp_qp *)eng_qp_proto(qp);

	if (!q->s)
		return;
	ret->way = q->s->shm ? "pipe" : "wire";
	/* The manager's streams leave TCP if the peer is a process of this user on this host. */
	ret->reason = q->s->shm ? "-" : "no-pipe";
	ret->waits = q->blocked ? "socket" : "-";
	memcpy(ret->peer, q->s->remote.addr, sizeof(ret->peer));
}

const struct eng_proto_ops iwp_proto_ops = {
	.name = "iwarp",
	.qp_size = sizeof(struct iwp_qp),
	.qp_prefetch = offsetof(struct iwp_qp, rd),
	.qp_types = 1u << IBV_QPT_RC,
	.wr_refused = 1u << IBV_WR_SEND_WITH_IMM,
	.streams = true,
	.qp_init = qp_init,
	.qp_fini = qp_fini,
	.qp_facts = qp_facts,
	.qp_check = qp_check,
	.qp_moved = qp_moved,
	.qp_state = qp_state,
	.qp_kick = qp_kick,
	.ah_check = ah_check,
};

/* --- events of the stream --- */

/* The octets that the socket had not taken go first. Returns true if none are left. */
static bool send_rest(struct iwp_qp *q)
{
	ssize_t r;

	while (q->rest_len) {
		r = q->port->ops->send(q->s, q->rest + q->rest_off, q->rest_len);
		if (r <= 0)
			return false;
		q->rest_off += (size_t)r;
		q->rest_len -= (size_t)r;
	}
	free(q->rest);
	q->rest = NULL;
	return true;
}

static void writable(struct link_stream *s, uint64_t now)
{
	struct iwp_qp *q = s->user;

	q->port->now = now;
	if (!send_rest(q))
		return;
	q->blocked = false;
	if (q->life == IWP_LAST) {
		iwp_release(q);
		return;
	}
	iwp_sq_complete(q);
	if (iwp_alive(q))
		iwp_activate(q);
}

static void connected(struct link_stream *s, uint64_t now)
{
}

static void closed(struct link_stream *s, int error, uint64_t now)
{
	struct iwp_qp *q = s->user;

	q->port->now = now;
	if (q->life == IWP_LAST)
		iwp_forget(q);
	else
		iwp_over(q, error ? ENG_V_STREAM_LOST : ENG_V_STREAM_END, error);
}

static const struct link_stream_user stream_user = {
	.received = iwp_received, .received_shm = iwp_received_shm, .writable = writable, .connected = connected, .closed = closed,
};

/* --- proto/stream.h --- */

static int attach(struct eng_qp *qp, struct link_stream *s, const struct proto_stream_params *p,
		  const struct proto_stream_owner *owner, void *arg)
{
	struct iwp_qp *q = iwp_of(qp);
	enum ibv_qp_state st = eng_qp_state(qp);

	if (q->life != IWP_IDLE)
		return -EISCONN;
	if (qp->type != IBV_QPT_RC || (st != IBV_QPS_INIT && st != IBV_QPS_RTR))
		return -EINVAL;
	*q = (struct iwp_qp){
		.qp = qp, .port = q->port, .active = q->active, .timer = q->timer,
		.rwqe = q->rwqe, .s = s, .par = *p, .owner = owner, .owner_arg = arg,
		.life = IWP_OPEN, .cur = qp->sq.head, .send_msn = 1, .read_msn = 1,
		.resp_msn = 1, .rx_msn0 = 1, .rx_msn1 = 1, .rx_msn3 = 1,
		.mulpdu = WIRE_MULPDU_MIN,
	};
	if (q->par.ird > IWP_RD)
		q->par.ird = IWP_RD;
	if (q->par.ord > IWP_RD)
		q->par.ord = IWP_RD;
	ut_list_init(&q->active);
	show_depth(q);
	q->rtr_due = p->initiator && p->rtr != PROTO_RTR_NONE;
	q->awaits_first = !p->initiator && (p->rtr != PROTO_RTR_NONE || p->await_first);
	s->user = q;
	s->user_ops = &stream_user;
	iwp_timer_opened(q);
	eng_qp_move(qp, IBV_QPS_RTS);
	iwp_activate(q);
	iwp_say_ready(q); /* before the program is told of the connection, and acts on it */
	return 0;
}

static void disown(struct eng_qp *qp)
{
	iwp_of(qp)->owner = NULL;
}

static int disconnect(struct eng_qp *qp)
{
	struct iwp_qp *q = iwp_of(qp);

	if (!iwp_alive(q))
		return -ENOTCONN;
	if (q->life != IWP_OPEN)
		return 0;
	iwp_say_ready(q);
	q->life = IWP_LEAVING;
	q->leave_at = atomic_load_explicit(&qp->sq.tail, memory_order_acquire);
	/* A peer that announced a first message must send it before this end may leave, too (RFC
	 * 5044 7.1.2, 4). */
	q->awaits_first = q->awaits_first && q->par.rtr != PROTO_RTR_NONE;
	if (eng_qp_state(qp) == IBV_QPS_RTS)
		eng_qp_move(qp, IBV_QPS_SQD);
	iwp_timer_leaving(q);
	iwp_activate(q);
	eng_dev_mark(qp->dev, qp); /* any thread may call this: it asks for a round of progress */
	return 0;
}

static void terminate(struct eng_qp *qp, uint8_t code)
{
	iwp_fail(iwp_of(qp), code == 6 ? ENG_V_MPA_IRD : code == 7 ? ENG_V_MPA_RTR :
		 ENG_V_MPA_LOCAL, NULL, NULL);
}

const struct proto_stream_ops iwp_stream_ops = {
	.attach = attach, .disown = disown, .disconnect = disconnect, .terminate = terminate,
};

/* --- timers --- */

/*
 * The timer of a stream. At its beginning a responder delays its first FPDU, and an initiator
 * repeats its own to a peer that shows no sign of having seen it: both because siw's queue pair
 * takes over the socket some time after the Reply has left. At its end it bounds the wait for the
 * socket and the peer's FIN.
 */

#define LEAVE_TIMEOUT (5 * UT_S) /* for the octets that are queued, and for the peer's FIN */
#define REPLY_LOOK UT_MS
#define REPLY_AFTER (50 * UT_MS) /* a busy guest took 20 ms to read a Reply */
#define NUDGE_AFTER (10 * UT_MS) /* and four times as long after each nudge */
#define NUDGES 5

void iwp_arm(struct iwp_qp *q, uint64_t delay)
{
	q->delay = delay;
	ut_timer_set(&q->port->timers, &q->timer, q->port->now);
}

/* Octets of this end are on their way to the peer, and an empty Write is no surprise to it. A peer process on a
 * local stream overlooks nothing, and needs none. */
static bool takes_nudges(const struct iwp_qp *q)
{
	return q->par.initiator && !q->heard && !(q->s && q->s->shm) &&
	       (q->par.rtr == PROTO_RTR_WRITE || (q->par.rtr == PROTO_RTR_NONE && q->tx_pos));
}

void iwp_timer_opened(struct iwp_qp *q)
{
	if (takes_nudges(q))
		iwp_arm(q, NUDGE_AFTER);
	else if (!q->par.initiator && q->par.rtr == PROTO_RTR_NONE && q->par.await_first)
		iwp_arm(q, REPLY_LOOK);
}

/* Without a ready-to-receive message the application's first message may be the one that siw
 * overlooks. */
void iwp_timer_sent(struct iwp_qp *q)
{
	if (q->watched || q->life != IWP_OPEN || q->par.rtr != PROTO_RTR_NONE || !takes_nudges(q))
		return;
	q->watched = true;
	iwp_arm(q, NUDGE_AFTER);
}

/* A queue pair that leaves before its first nudge was due sends it before FIN: siw may depend on
 * it. */
void iwp_timer_leaving(struct iwp_qp *q)
{
	q->last_nudge = !q->last_nudge && takes_nudges(q) && !q->nudges;
	iwp_arm(q, q->last_nudge ? NUDGE_AFTER : LEAVE_TIMEOUT);
}

/* siw cannot take an FPDU in the same flight as the Reply: the Reply must have been acknowledged. */
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
 * siw overlooks FPDUs that arrive between its Reply and the moment when its queue pair has the
 * socket - the ready-to-receive Write and all after it, or else the first message - until another
 * FPDU arrives; and iw_cm stops the whole kernel if the stream ends instead. So a peer that agreed
 * to empty Writes, or to no ready-to-receive message, gets a few empty Writes while it is silent;
 * to any other peer they mean nothing (RFC 5041 7.1: an empty segment's tags are not checked).
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
