/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/ib/qp.h"

#include "engine/complete.h"
#include "engine/gid.h"
#include "engine/qp_state.h"
#include "engine/refuse.h"
#include "engine/show.h"
#include "engine/why.h"
#include "host/shm/lane.h"
#include "proto/ib/coalesce.h"
#include "proto/ib/migrate.h"
#include "proto/ib/requester.h"
#include "proto/ib/responder.h"
#include "proto/ib/responses.h"
#include "proto/ib/route.h"
#include "util/alloc.h"
#include "util/log.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static bool is_without_gid(const struct eng_av *av, int error)
{
	return error == -ENODATA || (av->is_global && av->sgid_index >= ENG_GIDS_MAX);
}

/* error: that of ibp_path_set(). */
static enum eng_refusal ah_fault(struct eng_dev *dev, const struct eng_av *av, int error)
{
	if (ibp_path_lacks_grh(dev->proto_port, av))
		return ENG_R_AH_NO_GRH;
	eng_dev_held(dev);
	if (dev->port.link_layer == IBV_LINK_LAYER_INFINIBAND && !is_without_gid(av, error))
		return ENG_R_AH_LID;
	return error == -ENODATA ? ENG_R_AH_EMPTY : ENG_R_AH_SGID;
}

static int ah_check(struct eng_dev *dev, const struct ibv_ah_attr *attr)
{
	struct eng_av av;
	struct ibp_path path;
	int r;

	if (!eng_port_is(attr->port_num))
		return eng_refuse(dev, ENG_R_AH_PORT);
	eng_av_from_attr(&av, attr);
	r = ibp_path_set(dev->proto_port, &path, &av, 0);
	return r ? eng_refuse(dev, ah_fault(dev, &av, r)) : 0;
}

static int qp_init(struct eng_qp *qp)
{
	struct ibp_qp *q = ibp_qp(qp);
	uint32_t sges = qp->srq ? qp->srq->max_sge : qp->cap.max_recv_sge;
	int r;

	/* An XRC target meets any SRQ of its domain. */
	if (qp->type == IBV_QPT_XRC_RECV || sges == 0)
		sges = (uint32_t)qp->dev->attr.orig_attr.max_sge;
	q->qp = qp;
	q->port = qp->dev->proto_port;
	ut_list_init(&q->active);
	ut_list_init(&q->conn.acks);
	ut_list_init(&q->conn.unarmed);
	q->recv.rwqe = ut_zalloc(sizeof(struct eng_rwqe) + sges * sizeof(struct ibv_sge));
	if (!q->recv.rwqe)
		return eng_refuse(qp->dev, ENG_R_MEMORY);
	r = ut_heap_reserve(&q->port->timers);
	if (r == 0) {
		r = qp->type == IBV_QPT_XRC_RECV ? ibp_forward_new(q) :
		    qp->gsi ? ibp_gsi_claim(q->port) : 0;
		if (r < 0)
			ut_heap_unreserve(&q->port->timers);
	}
	if (r < 0) {
		free(q->recv.rwqe);
		return r;
	}
	q->cls = qp->type == IBV_QPT_UD ? WIRE_CLASS_UD :
		 qp->type == IBV_QPT_UC ? WIRE_CLASS_UC :
		 qp->type == IBV_QPT_RC ? WIRE_CLASS_RC : WIRE_CLASS_XRC;
	q->conn.mtu = 256;
	ibp_req_reset(q);
	ibp_resp_reset(q);
	q->conn.pkey = eng_port_pkey(qp->dev, 0);
	return 0;
}

struct ibp_qp *ibp_qp_to(struct eng_dev *dev, uint32_t qpn, uint32_t peer)
{
	struct eng_qp *qp;

	eng_dev_held(dev);
	qp = eng_qp_find(dev, qpn);
	if (!qp || qp->type == IBV_QPT_UD || eng_qp_state(qp) < IBV_QPS_RTR ||
	    eng_qp_state(qp) == IBV_QPS_ERR || qp->attr.dest_qp_num != peer)
		return NULL;
	return ibp_qp(qp);
}

static bool runs(enum ibv_qp_state s)
{
	return s == IBV_QPS_RTR || s == IBV_QPS_RTS || s == IBV_QPS_SQD || s == IBV_QPS_SQE;
}

static bool within_host(const struct ibp_qp *q)
{
	struct eng_dev *dev = q->port->dev;
	union ibv_gid to;

	eng_dev_held(dev);
	if (q->conn.path.flow.lids)
		return q->conn.path.flow.dlid >> dev->port.lmc == dev->port.lid >> dev->port.lmc;
	memcpy(to.raw, q->conn.path.flow.dst, 16);
	return eng_gid_find(dev, &to) >= 0;
}

/*
 * The last acknowledgement leaves once more, in a packet of its own: if the network loses the only copy, the
 * requester repeats its request to a queue pair that is gone, and fails though the request was executed. A
 * requester without a request in flight drops it. Nothing is lost within a host.
 */
static void acknowledge_again(struct ibp_qp *q)
{
	struct ibp_resp *r = &q->conn.resp;

	if ((q->cls != WIRE_CLASS_RC && q->cls != WIRE_CLASS_XRC) || r->framing != &ibp_frame_wire || !r->msn ||
	    r->ack_due || within_host(q))
		return;
	ibp_train_flush(q->port);
	r->ack_due = true;
	ibp_resp_ack(q);
	ibp_train_flush(q->port);
	r->ack_due = false;
}

/* The peer must not fail because this queue pair ends: executed requests are acknowledged, by the
 * wire if it is not known yet whether there is a local path. */
static void acknowledge_and_stop(struct ibp_qp *q, enum ibv_qp_state from)
{
	bool leaving = q->port->link->leaving;

	if (q->port->awaited == q)
		q->port->awaited = NULL;
	q->port->link->leaving = true;
	if (q->conn.resp.ack_due && q->conn.path.valid)
		ibp_resp_ack(q);
	if (q->conn.path.valid && runs(from))
		acknowledge_again(q);
	ibp_qp_stop(q);
	q->port->link->leaving = leaving;
}

void ibp_leave(struct eng_dev *dev)
{
	struct eng_qp *qp;
	uint32_t pos = 0;

	eng_dev_held(dev);
	while ((qp = ut_idtab_next(&dev->qps, &pos)))
		if (runs(eng_qp_state(qp)) && ibp_qp(qp)->conn.path.valid)
			acknowledge_again(ibp_qp(qp));
}

static void qp_fini(struct eng_qp *qp)
{
	struct ibp_qp *q = ibp_qp(qp);

	acknowledge_and_stop(q, eng_qp_state(qp));
	if (qp->gsi)
		ibp_gsi_unclaim(q->port);
	ut_heap_unreserve(&q->port->timers);
	free(q->recv.rwqe);
	free(q->forward);
	q->recv.rwqe = NULL;
	q->forward = NULL;
}

static int check_mtu(struct eng_qp *qp, const struct ibv_qp_attr *attr)
{
	struct ibp_port *port = qp->dev->proto_port;

	if ((128u << attr->path_mtu) <= port->cfg.mtu_max)
		return 0;
	ut_error("QP 0x%06x: path MTU %u is more than the %u that %s carries: the call fails with EINVAL; "
		 "use the port's active_mtu", qp->qpn, 128u << attr->path_mtu,
		 port->cfg.mtu_max, qp->dev->name);
	return -EINVAL;
}

/* error: that of ibp_path_set(). */
static enum eng_refusal path_fault(struct eng_dev *dev, const struct eng_av *av, int error)
{
	if (ibp_path_lacks_grh(dev->proto_port, av))
		return ENG_R_NO_GRH;
	if (is_without_gid(av, error))
		return ENG_R_QP_SGID;
	eng_dev_held(dev);
	return dev->port.link_layer == IBV_LINK_LAYER_INFINIBAND ? ENG_R_QP_LID : ENG_R_QP_FAMILY;
}

static int qp_check(struct eng_qp *qp, const struct ibv_qp_attr *attr, int mask,
		    enum ibv_qp_state to)
{
	struct eng_av av;
	struct ibp_path path;
	int r;

	(void)to;
	if ((mask & IBV_QP_PATH_MTU) && check_mtu(qp, attr) < 0)
		return eng_refuse_qp(qp, ENG_R_QP_MTU);
	if (mask & IBV_QP_AV) {
		eng_av_from_attr(&av, &attr->ah_attr);
		r = ibp_path_set(qp->dev->proto_port, &path, &av, 0);
		if (r < 0)
			return eng_refuse_qp(qp, path_fault(qp->dev, &av, r));
	}
	if (mask & IBV_QP_ALT_PATH) {
		eng_av_from_attr(&av, &attr->alt_ah_attr);
		r = ibp_path_set(qp->dev->proto_port, &path, &av, 0);
		if (r < 0)
			return eng_refuse_qp(qp, path_fault(qp->dev, &av, r));
	}
	return 0;
}

/* Within a host there are no parallel paths to spread flows over, and only packets of one source
 * port share a train. */
static void choose_port(struct ibp_qp *q)
{
	if (q->conn.path.flow.lids)
		q->conn.sport.known = 0; /* what a packet without ports has */
	else if (within_host(q))
		q->conn.path.flow.sport = IBP_LOCAL_SPORT;
}

/* The path of the attributes, from the port's present addresses. */
static void make_path(struct ibp_qp *q)
{
	struct ibv_qp_attr *a = &q->qp->attr;
	struct eng_av av;

	eng_av_from_attr(&av, &a->ah_attr);
	q->conn.lane = (struct shm_lane){ 0 };
	q->conn.grant = (struct ibp_grant){ 0 };
	if (ibp_path_set(q->port, &q->conn.path, &av,
			 ibp_flow_sport(av.flow_label, q->qp->qpn, a->dest_qp_num)) < 0) {
		q->conn.path.valid = false;
		return;
	}
	choose_port(q);
	ibp_icrc_back(&q->conn.rx_icrc, &q->conn.path.flow);
	memset(q->conn.rx_memo, 0, sizeof(q->conn.rx_memo));
}

static void take_address(struct ibp_qp *q)
{
	ibp_train_flush(q->port); /* its packets keep the old path */
	ibp_sport_reset(&q->conn.sport);
	make_path(q);
}

void ibp_qp_renew_path(struct ibp_qp *q)
{
	take_address(q);
	q->conn.pkey = eng_port_pkey(q->qp->dev, q->qp->attr.pkey_index);
	ibp_route_follow(q);
}

/* The path is made anew from where the queue pair is: a UD queue pair has the path of its last datagram. */
static void follow_port(struct ibp_qp *q)
{
	uint16_t pkey = eng_port_pkey(q->qp->dev, q->qp->attr.pkey_index);
	bool changed = pkey != q->conn.pkey;

	q->conn.pkey = pkey;
	if (q->qp->type == IBV_QPT_UD) {
		q->conn.path.valid = false;
	} else if (eng_qp_state(q->qp) >= IBV_QPS_RTR && eng_qp_state(q->qp) <= IBV_QPS_SQE) {
		make_path(q);
		ibp_route_follow(q);
	}
	if (!changed)
		return;
	eng_dev_held(q->qp->dev);
	/* Neither end relies on the key that the other one has seen. */
	if (q->conn.req.framing == &ibp_frame_shm)
		ibp_route_show_pkey(q);
	eng_dev_revoke(q->qp->dev, q->qp->qpn);
}

void ibp_port_changed(struct eng_dev *dev)
{
	struct ibp_port *port = dev->proto_port;
	struct eng_qp *qp;
	uint32_t pos = 0;

	eng_dev_held(dev);
	ibp_train_flush(port);
	while ((qp = ut_idtab_next(&dev->qps, &pos)))
		follow_port(ibp_qp(qp));
}

static void forget(struct ibp_qp *q, enum ibv_qp_state from)
{
	acknowledge_and_stop(q, from);
	ibp_migration_reset(q);
	ibp_req_reset(q);
	ibp_resp_reset(q);
	q->recv.have_rwqe = false;
	q->conn.path.valid = false;
}

static void enter_error(struct ibp_qp *q, enum ibv_qp_state from)
{
	acknowledge_and_stop(q, from);
	ibp_recv_end(q, ENG_V_FLUSH);
	eng_qp_flush(q->qp);
}

static void qp_moved(struct eng_qp *qp, enum ibv_qp_state from, int mask)
{
	struct ibp_qp *q = ibp_qp(qp);
	enum ibv_qp_state to = eng_qp_state(qp);

	eng_dev_held(qp->dev);
	if (from == IBV_QPS_RTS)
		eng_dev_revoke(qp->dev, qp->qpn); /* the key is exported with the rights it had */
	if (mask & IBV_QP_AV)
		take_address(q);
	if (mask & IBV_QP_PKEY_INDEX)
		q->conn.pkey = eng_port_pkey(qp->dev, qp->attr.pkey_index);
	if (mask & IBV_QP_PATH_MTU)
		q->conn.mtu = 128u << qp->attr.path_mtu;
	if (mask & (IBV_QP_AV | IBV_QP_PKEY_INDEX | IBV_QP_PATH_MTU))
		ibp_route_follow(q);
	if (mask & IBV_QP_PATH_MIG_STATE)
		ibp_migration_modified(q);
	if (to == IBV_QPS_RESET) {
		forget(q, from);
	} else if (to == IBV_QPS_ERR) {
		enter_error(q, from);
	} else if (to == IBV_QPS_SQE) {
		eng_qp_flush(qp);
	} else if (to == IBV_QPS_RTR && from == IBV_QPS_INIT) {
		ibp_resp_reset(q);
	} else if (to == IBV_QPS_RTS) {
		if (from == IBV_QPS_SQE) /* PSNs continue where they were */
			qp->attr.sq_psn = q->conn.req.psn_next;
		if (from == IBV_QPS_RTR || from == IBV_QPS_SQE)
			ibp_req_reset(q);
		ibp_activate(q);
	} else if (to == IBV_QPS_SQD && from != IBV_QPS_SQD) {
		ibp_req_complete(q); /* an idle queue has drained already */
	}
}

static void qp_state(struct eng_qp *qp)
{
	ibp_slow_state(ibp_qp(qp), qp);
}

/* --- what it is doing, for views --- */

/* Of the last datagram: most of those that follow it take the same way. */
static const char *way_of_datagrams(const struct ibp_qp *q)
{
	const struct shm_channel *chan = q->port->chan;

	if (!q->conn.path.valid)
		return "-";
	return shm_lane_leads(chan, &q->conn.lane) || shm_lane_is_watched(chan, &q->conn.lane) ? "ring" : "wire";
}

static const char *way_of(const struct ibp_qp *q)
{
	if (q->qp->type == IBV_QPT_UD)
		return way_of_datagrams(q);
	if (ibp_req_is(&q->conn.req, IBP_REQ_UNCHOSEN) || q->conn.req.framing == NULL)
		return "-";
	return q->conn.req.framing == &ibp_frame_wire ? "wire" : "ring";
}

/* Why not shared memory. */
static const char *reason_of(const struct ibp_qp *q)
{
	const bool ud = q->qp->type == IBV_QPT_UD;
	struct eng_dev *dev = q->port->dev;

	eng_dev_held(dev);
	if (strcmp(way_of(q), "wire") != 0)
		return "-";
	if (!q->port->shm.stage.base)
		return "off";
	if (q->port->wire_only)
		return "fault-rules";
	return eng_gid_find(dev, (const union ibv_gid *)q->conn.path.flow.dst) < 0 ? "other-address" : ud ? "datagrams" : "refused";
}

static const char *waits_of(const struct ibp_qp *q)
{
	const struct ibp_req *r = &q->conn.req;

	return ibp_req_is(r, IBP_REQ_RNR_WAIT) ? "rnr" : ibp_req_is(r, IBP_REQ_RECOVERING) ? "retry" :
	       q->port->blocked && !ut_list_empty(&q->active) ? "socket" :
	       ibp_req_is(r, IBP_REQ_LIMITED) && psn_diff(r->ssn, r->lsn) >= 0 ? "credit" : "-";
}

static void qp_facts(const struct eng_qp *qp, struct eng_qp_facts *ret)
{
	const struct ibp_qp *q = (const struct ibp_qp *)eng_qp_proto(qp);

	ret->way = way_of(q);
	ret->reason = reason_of(q);
	ret->waits = waits_of(q);
	if (q->conn.path.valid && qp->type != IBV_QPT_UD)
		memcpy(ret->peer, q->conn.path.flow.dst, sizeof(ret->peer));
	ret->rq_psn = q->conn.resp.epsn;
	ret->sq_psn = q->conn.req.psn_next;
	if (eng_qp_state(qp) == IBV_QPS_RTS && qp->attr.retry_cnt > q->conn.req.retry_left)
		ret->retries = (unsigned)(qp->attr.retry_cnt - q->conn.req.retry_left);
}

const struct eng_proto_ops ibp_proto_ops = {
	.name = "ib",
	.qp_size = sizeof(struct ibp_qp),
	.qp_prefetch = offsetof(struct ibp_qp, conn.resp.res),
	.qp_types = 1u << IBV_QPT_RC | 1u << IBV_QPT_UC | 1u << IBV_QPT_UD |
		    1u << IBV_QPT_XRC_SEND | 1u << IBV_QPT_XRC_RECV,
	.qp_init = qp_init,
	.qp_fini = qp_fini,
	.qp_check = qp_check,
	.qp_moved = qp_moved,
	.qp_state = qp_state,
	.qp_facts = qp_facts,
	.qp_kick = ibp_kick,
	.ah_check = ah_check,
};

/* --- the end of a queue pair --- */

void ibp_qp_stop(struct ibp_qp *q)
{
	ibp_train_leave(q->port, q);
	ibp_coalesce_end(q->port);
	if (q->port->placing.q == q)
		ibp_place_drop(q->port);
	if (q->forward)
		ibp_forward_stop(q);
	ut_timer_clear(&q->port->timers, &q->conn.req.timer);
	ut_list_del(&q->active);
	ut_list_del(&q->conn.acks);
	ut_list_del(&q->conn.unarmed);
}

void ibp_recv_end(struct ibp_qp *q, enum eng_verdict v)
{
	struct eng_cq *cq = ibp_recv_cq(q);

	if (q->recv.have_rwqe && cq)
		eng_recv_failed(q->qp, cq, q->recv.rwqe->wr_id, v);
	q->recv.have_rwqe = false;
}

static void fail(struct ibp_qp *q, enum eng_verdict v, enum ibv_qp_state next, bool raise,
		 bool sending, struct eng_why *why)
{
	if (q->qp->type != IBV_QPT_UD) {
		memcpy(why->peer.raw, q->conn.path.flow.dst, 16);
		why->peer_qpn = q->qp->attr.dest_qp_num;
	}
	eng_why(q->qp, v, why);
	eng_qp_fail(q->qp, v, next, raise);
	if (next == IBV_QPS_ERR) {
		ibp_qp_stop(q);
		ibp_recv_end(q, sending ? ENG_V_FLUSH : v);
	}
	eng_qp_flush(q->qp);
}

void ibp_qp_error(struct ibp_qp *q, enum eng_verdict v, enum ibv_qp_state next, bool raise,
		  struct eng_why *why)
{
	fail(q, v, next, raise, false, why);
}

void ibp_send_error(struct ibp_qp *q, enum eng_verdict v, enum ibv_qp_state next,
		    struct eng_why *why)
{
	fail(q, v, next, false, true, why);
}
