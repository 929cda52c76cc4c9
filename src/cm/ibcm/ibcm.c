/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A port of this manager: life, timers, ICMP reports, and the table of messages by state. */
#include "cm/ibcm/ibcm.h"

#include "cm/ibcm/active.h"
#include "cm/ibcm/alternate.h"
#include "cm/ibcm/bind.h"
#include "cm/ibcm/end.h"
#include "cm/ibcm/ep.h"
#include "cm/ibcm/msg.h"
#include "cm/ibcm/passive.h"
#include "cm/ibcm/qp_attr.h"
#include "cm/ibcm/sidr.h"
#include "cm/ibcm/watch.h"
#include "util/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SPACE(ps) (1u << ((ps) >> 1 & 31)) /* cm_space_bit() as a constant */

static const struct cm_ops ops = {
	.name = "ibcm",
	.confirms = true,
	.timewait = true,
	.moves_qp = false,
	.qp_types = 1u << IBV_QPT_RC | 1u << IBV_QPT_UC | 1u << IBV_QPT_UD |
		    1u << IBV_QPT_XRC_SEND | 1u << IBV_QPT_XRC_RECV,
	.spaces = SPACE(CM_PS_SDP) | SPACE(CM_PS_TCP) | SPACE(CM_PS_UDP) | SPACE(CM_PS_IB) | SPACE(CM_PS_IPOIB),
	.bind = ibcm_bind,
	.listen = ibcm_listen,
	.create = ibcm_create,
	.connect = ibcm_connect,
	.accept = ibcm_accept,
	.reject = ibcm_reject,
	.establish = ibcm_establish,
	.notify = ibcm_notify,
	.load_path = ibcm_load_path,
	.disconnect = ibcm_disconnect,
	.qp_attr = ibcm_qp_attr,
	.destroy = ibcm_destroy,
};

static void fini(struct ibcm *cm)
{
	for (unsigned t = 0; t < IBCM_TABLES; t++)
		free(cm->bucket[t]);
	ut_idtab_fini(&cm->ids);
	ut_heap_fini(&cm->heap);
	free(cm);
}

int ibcm_init(struct cm_port *ret, struct eng_dev *dev, const struct ibcm_config *cfg)
{
	struct ibcm *cm = ut_zalloc(sizeof(*cm));

	if (!cm)
		return -ENOMEM;
	cm->port = ret;
	cm->dev = dev;
	cm->cfg = *cfg;
	cm->rng.state = cfg->seed;
	cm->salt = ut_rng_u64(&cm->rng);
	ut_list_init(&cm->eps);
	ut_list_init(&cm->fresh);
	cm->timing.due = UT_NEVER;
	ut_list_init(&cm->asking);
	if (ibcm_tables_init(cm)) {
		fini(cm);
		return -ENOMEM;
	}
	ret->ops = &ops;
	ret->dev = dev;
	ret->manager = cm;
	return 0;
}

void ibcm_fini(struct cm_port *p)
{
	struct ibcm *cm = p->manager;
	struct ibcm_ep *e, *next;

	if (!cm)
		return;
	ibcm_leave(p);
	ut_list_each_safe(e, next, &cm->eps, all)
		ibcm_ep_free(e);
	fini(cm);
	p->manager = NULL;
}

/* --- timers --- */

static void give_up(struct ibcm_ep *e, enum cm_event_type type, int status)
{
	/* A peer that still counts on the connection learns of its end. */
	if (e->state == IBCM_REQ_SENT || e->state == IBCM_REP_SENT) {
		ibcm_build_rej(e, e->state == IBCM_REP_SENT, CM_REJ_TIMEOUT, NULL, 0);
		ibcm_send_kept(e);
	}
	if (e->state == IBCM_LAP_SENT) {
		ibcm_alternate_failed(e, status);
		return;
	}
	if (e->state == IBCM_DREQ_SENT) {
		ibcm_timewait(e);
		ibcm_raise(e, CM_EV_DISCONNECTED, status == -ETIMEDOUT ? status : 0);
		return;
	}
	if (e->gone) {
		ibcm_ep_free(e);
		return;
	}
	ibcm_ep_over(e);
	ibcm_raise(e, type, status);
}

/*
 * A request names no process and meets any of those on the address, maybe one that is stopped;
 * each repetition draws anew, so the first few come soon.
 */
static unsigned doublings(const struct ibcm_ep *e)
{
	bool anybody = e->state == IBCM_REQ_SENT || e->state == IBCM_SIDR_SENT;
	unsigned n = anybody ? e->tries > IBCM_DRAWS ? e->tries - IBCM_DRAWS : 0u : e->tries;

	/* Six are beyond any full timeout that counts here. */
	return n < 6 ? n : 6;
}

static void repeat(struct ibcm_ep *e)
{
	uint64_t full = ibcm_ns(e->full), wait = full;

	if (e->knocking) {
		e->knocking = false;
		wait = ibcm_asks_stranger(e) ? full : IBCM_FIRST_NS;
		/* A new request, not a copy of the refused one. */
		e->tid = ut_rng_u64(&e->cm->rng);
		wire_set_MAD_tid(e->mad, e->tid);
	} else if (e->cm->now >= e->mra_until) {
		if (e->tries == e->max_tries) {
			give_up(e, CM_EV_UNREACHABLE, -ETIMEDOUT);
			return;
		}
		e->tries++;
		wait = ibcm_asks_stranger(e) ? full : IBCM_FIRST_NS << doublings(e);
	}
	ibcm_send_kept(e);
	ibcm_arm(e, wait < full ? wait : full);
}

static void fired(struct ibcm_ep *e)
{
	switch (e->state) {
	case IBCM_REQ_SENT:
	case IBCM_REP_SENT:
	case IBCM_LAP_SENT:
	case IBCM_DREQ_SENT:
	case IBCM_SIDR_SENT:
		repeat(e);
		break;
	case IBCM_REQ_RCVD:
		ibcm_send_mra(e, 0);
		break;
	case IBCM_ESTAB:
		ibcm_watch(e);
		break;
	case IBCM_TIMEWAIT:
		if (e->gone) {
			ibcm_ep_free(e);
			break;
		}
		ibcm_ep_over(e);
		ibcm_raise(e, CM_EV_TIMEWAIT_EXIT, 0);
		break;
	case IBCM_ANSWERED:
		ibcm_ep_over(e);
		break;
	default:
		break;
	}
}

int ibcm_run(struct cm_port *p, uint64_t now)
{
	struct ibcm *cm = p->manager;
	struct ut_timer *t;
	int n;

	if (cm->timing.due > now)
		return 0;
	ibcm_begin(cm, now);
	n = ibcm_settle(cm);
	while ((t = ut_heap_expired(&cm->heap, now))) {
		fired(ut_container(t, struct ibcm_ep, timer));
		n++;
	}
	n += ibcm_settle(cm);
	ibcm_end(cm);
	return n;
}

void ibcm_unreachable(struct cm_port *p, const uint8_t dst[16], int error, uint64_t now)
{
	struct ibcm *cm = p->manager;
	struct ibcm_ep *e, *next;
	struct ut_list hit;
	struct ut_list *n;
	bool refused = error == ECONNREFUSED;

	if (error == EMSGSIZE)
		return; /* not about a MAD */
	ibcm_begin(cm, now);
	ibcm_settle(cm);
	ut_list_init(&hit);
	ut_list_each_safe(e, next, &cm->asking, asking) {
		if (memcmp(e->ep.remote.addr, dst, 16))
			continue;
		ut_list_del(&e->asking);
		ut_list_add_tail(&hit, &e->asking);
	}
	/* Up-calls may destroy any of them, which takes them off. */
	while ((n = ut_list_pop(&hit))) {
		e = ut_container(n, struct ibcm_ep, asking);
		if (refused && (e->state == IBCM_REQ_SENT || e->state == IBCM_SIDR_SENT))
			give_up(e, CM_EV_REJECTED, CM_REJ_INVALID_SERVICE_ID);
		else
			give_up(e, CM_EV_UNREACHABLE, -error);
	}
	if (refused)
		ibcm_watch_refused(cm, dst);
	else if (error == EHOSTUNREACH || error == EHOSTDOWN || error == ENETUNREACH)
		ibcm_watch_unreached(cm, dst);
	ibcm_settle(cm);
	ibcm_end(cm);
}

/* --- messages by state --- */

/*
 * What a message does in each state (IBTA 12.9.5 to 12.9.7, drawn). An empty
 * place: the message is dropped. A message without an endpoint is answered
 * where silence would keep the sender asking: DREQ by DREP, REP by REJ, LAP by APR.
 */

/* The order of the attribute IDs, 0x10 ... */
enum { REQ, MRA, REJ, REP, RTU, DREQ, DREP, SIDR_REQ, SIDR_REP, LAP, APR, MESSAGES };

/* A REQ or SIDR_REQ here is a duplicate of the one that made the endpoint. */
static ibcm_handler *const table[IBCM_STATES][MESSAGES] = {
	[IBCM_REQ_SENT]  = { [MRA] = ibcm_got_mra,        [REJ] = ibcm_rejected,
			     [REP] = ibcm_got_rep },
	[IBCM_REP_RCVD]  = { [REJ] = ibcm_rejected,       [REP] = ibcm_dup_rep_early,
			     /* DREQ: it asks again until our user has established */ },
	[IBCM_REQ_RCVD]  = { [REQ] = ibcm_dup_req_slow,   [REJ] = ibcm_rejected },
	[IBCM_REP_SENT]  = { [REQ] = ibcm_again,          [MRA] = ibcm_got_mra,
			     [REJ] = ibcm_rejected,       [RTU] = ibcm_got_rtu,
			     [DREQ] = ibcm_dreq_before_rtu },
	[IBCM_ESTAB]     = { [REJ] = ibcm_rej_connected,  [REP] = ibcm_dup_rep,
			     [DREQ] = ibcm_got_dreq,      [DREP] = ibcm_got_stranger,
			     [LAP] = ibcm_got_lap },
	[IBCM_LAP_SENT]  = { [MRA] = ibcm_got_mra,        [REJ] = ibcm_rej_connected,
			     [REP] = ibcm_dup_rep,        [DREQ] = ibcm_got_dreq,
			     [DREP] = ibcm_got_stranger,  [LAP] = ibcm_got_lap,
			     [APR] = ibcm_got_apr },
	[IBCM_DREQ_SENT] = { [REQ] = ibcm_dup_req_stale,  [REJ] = ibcm_rej_connected,
			     [DREQ] = ibcm_got_dreq,      [DREP] = ibcm_got_drep },
	[IBCM_DREQ_RCVD] = { /* DREQ: it asks again until our user has answered */ },
	[IBCM_TIMEWAIT]  = { [REQ] = ibcm_dup_req_stale,  [REP] = ibcm_dead_rep,
			     [DREQ] = ibcm_dup_dreq },
	[IBCM_SIDR_SENT] = { [SIDR_REP] = ibcm_got_sidr_rep },
	[IBCM_ANSWERED]  = { [REQ] = ibcm_again,          [REP] = ibcm_again,
			     [SIDR_REQ] = ibcm_again },
};

/* --- whom it is for --- */

static struct ibcm_ep *by_ids(struct ibcm *cm, const struct gsi_rx *rx)
{
	const uint8_t *m = ibcm_msg(rx);
	struct ibcm_ep *e = ut_idtab_get(&cm->ids, (uint32_t)wire_get_CM_RTU_remote_comm_id(m));

	if (!e || memcmp(e->ep.remote.addr, rx->src, 16) || memcmp(e->ep.local.addr, rx->dst, 16))
		return NULL;
	/* Until the REP we do not know the peer's ID. */
	if (e->state != IBCM_REQ_SENT &&
	    e->remote_id != (uint32_t)wire_get_CM_RTU_local_comm_id(m))
		return NULL;
	return e->qp_type == IBV_QPT_UD ? NULL : e;
}

/* In REQ_SENT a DREQ or LAP names a connection that is not yet. */
static struct ibcm_ep *connected(struct ibcm *cm, const struct gsi_rx *rx)
{
	struct ibcm_ep *e = by_ids(cm, rx);

	return e && e->state != IBCM_REQ_SENT ? e : NULL;
}

static struct ibcm_ep *by_req(struct ibcm *cm, const struct gsi_rx *rx)
{
	const uint8_t *m = ibcm_msg(rx);

	return ibcm_key_find(cm, IBCM_BY_COMM, rx->src, wire_get_CM_REQ_local_ca_guid(m),
			     (uint32_t)wire_get_CM_REQ_local_comm_id(m), NULL);
}

/* Not a repetition: the peer uses an ID for something new. */
static bool other_req(const struct ibcm_ep *e, const struct gsi_rx *rx)
{
	const uint8_t *m = ibcm_msg(rx);

	return e->tid != wire_get_MAD_tid(rx->mad) ||
	       e->remote_qpn != (uint32_t)wire_get_CM_REQ_local_qpn(m);
}

/*
 * An ID that is in use names no second connection (IBTA table 107, reason 30); one whose REQ we
 * have refused is free again, for all that we still answer to repetitions.
 */
static bool id_taken(struct ibcm_ep **e, struct ibcm *cm, const struct gsi_rx *rx)
{
	if (!*e || !other_req(*e, rx))
		return false;
	if ((*e)->state == IBCM_ANSWERED) {
		ibcm_ep_over(*e);
		*e = NULL;
		return false;
	}
	ibcm_reply_rej(cm, rx, 0, CM_REJ_DUPLICATE_COMM_ID);
	return true;
}

/* A peer that gave up its REQ does not know our ID: it names itself by its GUID. */
static struct ibcm_ep *by_rej(struct ibcm *cm, const struct gsi_rx *rx)
{
	const uint8_t *m = ibcm_msg(rx);

	if (wire_get_CM_REJ_remote_comm_id(m))
		return by_ids(cm, rx);
	if (wire_get_CM_REJ_reason(m) != CM_REJ_TIMEOUT || wire_get_CM_REJ_info_len(m) < 8)
		return NULL;
	return ibcm_key_find(cm, IBCM_BY_COMM, rx->src, wire_get64(wire_get_CM_REJ_info(m)),
			     (uint32_t)wire_get_CM_REJ_local_comm_id(m), NULL);
}

static struct ibcm_ep *by_sidr_req(struct ibcm *cm, const struct gsi_rx *rx)
{
	uint32_t id = (uint32_t)wire_get_CM_SIDR_REQ_request_id(ibcm_msg(rx));

	return ibcm_key_find(cm, IBCM_BY_COMM, rx->src, 0, id, NULL);
}

static struct ibcm_ep *by_sidr_rep(struct ibcm *cm, const struct gsi_rx *rx)
{
	uint32_t id = (uint32_t)wire_get_CM_SIDR_REP_request_id(ibcm_msg(rx));
	struct ibcm_ep *e = ut_idtab_get(&cm->ids, id);

	return e && !memcmp(e->ep.remote.addr, rx->src, 16) ? e : NULL;
}

/* --- and when there is none --- */

static void no_rep(struct ibcm *cm, const struct gsi_rx *rx)
{
	ibcm_reply_rej(cm, rx, 1, CM_REJ_INVALID_COMM_ID);
}

static void no_dreq(struct ibcm *cm, const struct gsi_rx *rx)
{
	ibcm_reply_ids(cm, rx, WIRE_CM_ATTR_DREP);
}

static void no_lap(struct ibcm *cm, const struct gsi_rx *rx)
{
	ibcm_reply_apr(cm, rx, CM_APR_INVALID_COMM_ID);
}

static void nothing(struct ibcm *cm, const struct gsi_rx *rx)
{
}

static const struct {
	struct ibcm_ep *(*find)(struct ibcm *cm, const struct gsi_rx *rx);
	void (*unknown)(struct ibcm *cm, const struct gsi_rx *rx);
} messages[MESSAGES] = {
	[REQ]      = { by_req,      ibcm_got_req },
	[MRA]      = { by_ids,      nothing },
	[REJ]      = { by_rej,      nothing },
	[REP]      = { by_ids,      no_rep },
	[RTU]      = { by_ids,      nothing },
	[DREQ]     = { connected,   no_dreq },
	[DREP]     = { connected,   nothing },
	[SIDR_REQ] = { by_sidr_req, ibcm_got_sidr_req },
	[SIDR_REP] = { by_sidr_rep, nothing },
	[LAP]      = { connected,   no_lap },
	[APR]      = { connected,   nothing },
};

static void dispatch(struct ibcm *cm, const struct gsi_rx *rx, unsigned k)
{
	struct ibcm_ep *e = messages[k].find(cm, rx);

	if (k == REQ && id_taken(&e, cm, rx))
		return;
	if (!e)
		messages[k].unknown(cm, rx);
	else if (table[e->state][k])
		table[e->state][k](e, rx);
}

void ibcm_receive(struct cm_port *p, const struct gsi_rx *rx, uint64_t now)
{
	struct ibcm *cm = p->manager;
	unsigned attr = (unsigned)wire_get_MAD_attr_id(rx->mad);

	if (wire_get_MAD_base_version(rx->mad) != WIRE_MAD_BASE_VERSION ||
	    wire_get_MAD_mgmt_class(rx->mad) != WIRE_MAD_CLASS_CM ||
	    wire_get_MAD_r(rx->mad) || wire_get_MAD_method(rx->mad) != WIRE_MAD_METHOD_SEND ||
	    attr < WIRE_CM_ATTR_REQ || attr > WIRE_CM_ATTR_APR)
		return;
	ibcm_begin(cm, now);
	ibcm_settle(cm);
	if (wire_get_MAD_class_version(rx->mad) == WIRE_CM_CLASS_VERSION)
		dispatch(cm, rx, attr - WIRE_CM_ATTR_REQ);
	else if (attr == WIRE_CM_ATTR_REQ)
		ibcm_reply_rej(cm, rx, 0, CM_REJ_CLASS_VERSION);
	ibcm_settle(cm);
	ibcm_end(cm);
}
