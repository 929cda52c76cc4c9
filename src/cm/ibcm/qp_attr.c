/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The attributes that bring a QP of an endpoint's user to INIT, RTR and RTS, as
 * the Linux kernel gives them: INIT is known from the start, RTR once the peer's
 * REQ or REP has told its QP, RTS at the same time.
 */
#include "cm/ibcm/qp_attr.h"

#include "cm/ibcm/alternate.h"
#include "engine/gid.h"

#include <errno.h>
#include <string.h>

static bool is_ud(const struct ibcm_ep *e)
{
	uint64_t space = e->ep.service >> 16;

	if (e->qp_type)
		return e->qp_type == IBV_QPT_UD;
	return space == CM_PS_UDP || space == CM_PS_IPOIB;
}

/* What ends an endpoint ends its claim on a QP too. */
static bool knows_peer(const struct ibcm_ep *e)
{
	return e->state == IBCM_REP_RCVD || e->state == IBCM_REQ_RCVD ||
	       e->state == IBCM_REP_SENT || ibcm_is_connected(e);
}

static int to_init(const struct ibcm_ep *e, struct ibv_qp_attr *a)
{
	int index = e->ep.path.pkey ? eng_port_pkey_index(e->cm->dev, e->ep.path.pkey) : 0;

	a->pkey_index = index < 0 ? 0 : (uint16_t)index;
	a->port_num = ENG_PORT_NUM;
	if (is_ud(e)) {
		a->qkey = e->qkey ? e->qkey : IBCM_UD_QKEY;
		return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
	}
	/* No remote access before there is a peer. */
	a->qp_access_flags = 0;
	if (knows_peer(e) || e->state == IBCM_REQ_SENT) {
		a->qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
		if (e->resp_res)
			a->qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
	}
	return IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
}

static int fill_av(const struct ibcm_ep *e, struct ibv_ah_attr *ah)
{
	int r = e->cm->cfg.carrier->way(e->cm->dev, e->ep.local.addr, e->ep.remote.addr, false, ah);

	if (r < 0)
		return r;
	/* LIDs that are not the ports' (any more) give way to those that the addresses stand for. */
	if (e->ep.path.dlid == CM_LID_PERMISSIVE ||
	    e->cm->cfg.carrier->along(e->cm->dev, e->ep.local.addr, e->ep.remote.addr, &e->ep.path, ah) < 0)
		ah->sl = e->ep.path.sl;
	ah->grh.flow_label = e->flow_label;
	ah->grh.hop_limit = IBCM_HOPS;
	ah->grh.traffic_class = e->tclass;
	return 0;
}

/* The peer's word does not raise what the device can do. */
static uint8_t at_most(uint8_t wanted, int device)
{
	return wanted < device ? wanted : (uint8_t)device;
}

static int to_rtr(const struct ibcm_ep *e, struct ibv_qp_attr *a, int *mask)
{
	const struct ibv_device_attr *d = &e->cm->dev->attr.orig_attr;
	int r = fill_av(e, &a->ah_attr);

	if (r)
		return r;
	a->path_mtu = e->mtu;
	a->dest_qp_num = e->remote_qpn;
	a->rq_psn = e->rq_psn;
	*mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (e->qp_type == IBV_QPT_RC || e->qp_type == IBV_QPT_XRC_RECV) {
		a->max_dest_rd_atomic = at_most(e->resp_res, d->max_qp_rd_atom);
		a->min_rnr_timer = e->ep.opt.min_rnr_timer;
		*mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	}
	if (e->ep.alternate.dlid && ibcm_alternate_attr(e, &e->ep.alternate, e->alt_timeout, a) == 0)
		*mask |= IBV_QP_ALT_PATH;
	return 0;
}

static int to_rts(const struct ibcm_ep *e, struct ibv_qp_attr *a)
{
	const struct ibv_device_attr *d = &e->cm->dev->attr.orig_attr;
	int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;

	a->sq_psn = e->sq_psn;
	if (e->qp_type == IBV_QPT_RC || e->qp_type == IBV_QPT_XRC_SEND) {
		a->retry_cnt = e->retry;
		a->rnr_retry = e->rnr_retry;
		a->max_rd_atomic = at_most(e->init_depth, d->max_qp_init_rd_atom);
		mask |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	}
	if (e->qp_type != IBV_QPT_UC) {
		a->timeout = e->ep.opt.ack_timeout ? e->ep.opt.ack_timeout : e->ack_timeout;
		mask |= IBV_QP_TIMEOUT;
	}
	if (e->ep.alternate.dlid) {
		a->path_mig_state = IBV_MIG_REARM;
		mask |= IBV_QP_PATH_MIG_STATE;
	}
	return mask;
}

/* A datagram QP needs nothing from a peer. */
static int datagram(struct ibv_qp_attr *a)
{
	if (a->qp_state == IBV_QPS_RTR)
		return IBV_QP_STATE;
	a->sq_psn = 0;
	return IBV_QP_STATE | IBV_QP_SQ_PSN;
}

int ibcm_qp_attr(struct cm_ep *ep, struct ibv_qp_attr *a, int *mask)
{
	struct ibcm_ep *e = ibcm_of(ep);

	if (a->qp_state == IBV_QPS_INIT) {
		*mask = to_init(e, a);
		return 0;
	}
	if (a->qp_state != IBV_QPS_RTR && a->qp_state != IBV_QPS_RTS)
		return -EINVAL;
	if (is_ud(e)) {
		*mask = datagram(a);
		return 0;
	}
	if (!knows_peer(e))
		return -EINVAL;
	if (a->qp_state == IBV_QPS_RTR)
		return to_rtr(e, a, mask);
	*mask = to_rts(e, a);
	return 0;
}
