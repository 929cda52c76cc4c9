/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a message does in each state (IBTA 12.9.5 to 12.9.7, drawn). An empty
 * place: the message is dropped. A message for nobody is answered where silence
 * would keep the sender asking: DREQ by DREP, REP by REJ.
 */
#include "cm/ibcm/ep.h"

#include <string.h>

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
	[IBCM_DREQ_SENT] = { [REQ] = ibcm_dup_req_stale,  [REJ] = ibcm_rej_connected,
			     [DREQ] = ibcm_got_dreq,      [DREP] = ibcm_got_drep },
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
	[LAP]      = { connected,   nothing },
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
	cm->now = now;
	cm->has_now = true;
	ibcm_settle(cm);
	if (wire_get_MAD_class_version(rx->mad) == WIRE_CM_CLASS_VERSION)
		dispatch(cm, rx, attr - WIRE_CM_ATTR_REQ);
	else if (attr == WIRE_CM_ATTR_REQ)
		ibcm_reply_rej(cm, rx, 0, CM_REJ_CLASS_VERSION);
	ibcm_settle(cm);
	cm->has_now = false;
}
