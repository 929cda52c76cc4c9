/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The passive side: REQ in, checked and handed up; REP out, RTU in.
 *
 * A communication ID and a QPN are unique in their channel adapter, which its
 * GUID names. But loopback adapters of all hosts share one GUID, and so may
 * adapters of two users of one host; so the address counts as part of each
 * name, which also keeps strangers away from connections of others.
 */
#include "cm/ibcm/passive.h"

#include "cm/faults.h"
#include "cm/ibcm/alternate.h"
#include "cm/ibcm/bind.h"
#include "cm/ibcm/end.h"
#include "cm/ibcm/msg.h"
#include "cm/ibcm/sidr.h"
#include "cm/ibcm/watch.h"
#include "cm/why.h"

#include <errno.h>
#include <string.h>

/* What is wrong with a REQ, as a reject reason; 0 = nothing. */
static unsigned fault(const struct ibcm *cm, const struct gsi_rx *rx, const uint8_t *m,
		      uint16_t *ret_port)
{
	unsigned type = (unsigned)wire_get_CM_REQ_transport(m);
	unsigned ext = (unsigned)wire_get_CM_REQ_ext_transport(m);
	unsigned mtu = (unsigned)wire_get_CM_REQ_path_mtu(m);

	if (type == 2 || (type == 3 && ext != 1))
		return CM_REJ_INVALID_TRANSPORT;
	if (!ibcm_is_gid_of(cm, wire_get_CM_REQ_local_gid(m), rx->src) ||
	    !ibcm_is_gid_of(cm, wire_get_CM_REQ_remote_gid(m), rx->dst))
		return CM_REJ_INVALID_GID;
	if (mtu < IBV_MTU_256 || mtu > ibcm_mtu(cm->cfg.mtu_max))
		return CM_REJ_INVALID_MTU;
	if (!wire_get_CM_REQ_local_comm_id(m))
		return CM_REJ_INVALID_COMM_ID;
	if (wire_get_CM_REQ_local_qpn(m) < 2)
		return CM_REJ_CONSUMER;
	if (ibcm_is_ip(wire_get_CM_REQ_service_id(m)) &&
	    !ibcm_ip_check(wire_get_CM_REQ_service_id(m), wire_get_CM_REQ_private_data(m), rx, ret_port))
		return CM_REJ_CONSUMER;
	return 0;
}

static enum ibv_qp_type qp_type(const uint8_t *m)
{
	switch (wire_get_CM_REQ_transport(m)) {
	case 0:
		return IBV_QPT_RC;
	case 1:
		return IBV_QPT_UC;
	default:
		return IBV_QPT_XRC_RECV;
	}
}

/* Within what is sensible to repeat at: 0.3 s to 17 s. */
static uint8_t sane_timeout(unsigned code)
{
	return (uint8_t)(code < 16 ? 16 : code > 22 ? 22 : code);
}

/* The peer's path, seen from here. */
static struct cm_path read_path(const uint8_t *m)
{
	return (struct cm_path){
		.slid = (uint16_t)wire_get_CM_REQ_remote_lid(m),
		.dlid = (uint16_t)wire_get_CM_REQ_local_lid(m),
		.pkey = (uint16_t)wire_get_CM_REQ_pkey(m),
		.sl = (uint8_t)wire_get_CM_REQ_sl(m),
		.mtu_code = (uint8_t)wire_get_CM_REQ_path_mtu(m),
		.rate = (uint8_t)wire_get_CM_REQ_rate(m),
		.traffic_class = (uint8_t)wire_get_CM_REQ_tclass(m),
		.hop_limit = (uint8_t)wire_get_CM_REQ_hop_limit(m),
		.flow_label = (uint32_t)wire_get_CM_REQ_flow_label(m),
	};
}

static void read_req(struct ibcm_ep *e, const uint8_t *m)
{
	e->remote_id = (uint32_t)wire_get_CM_REQ_local_comm_id(m);
	e->remote_guid = wire_get_CM_REQ_local_ca_guid(m);
	e->remote_qpn = (uint32_t)wire_get_CM_REQ_local_qpn(m);
	e->init_depth = (uint8_t)wire_get_CM_REQ_resp_res(m);
	e->resp_res = (uint8_t)wire_get_CM_REQ_init_depth(m);
	e->sq_psn = (uint32_t)wire_get_CM_REQ_start_psn(m);
	e->retry = (uint8_t)wire_get_CM_REQ_retry_count(m);
	e->rnr_retry = (uint8_t)wire_get_CM_REQ_rnr_retry(m);
	e->ep.path = read_path(m);
	e->mtu = e->ep.path.mtu_code;
	e->flow_label = e->ep.path.flow_label;
	e->tclass = e->ep.path.traffic_class;
	e->ack_timeout = (uint8_t)wire_get_CM_REQ_ack_timeout(m);
	e->full = sane_timeout((unsigned)wire_get_CM_REQ_local_cm_timeout(m));
	e->max_tries = (uint8_t)wire_get_CM_REQ_max_cm_retries(m);
	e->qp_type = (uint8_t)qp_type(m);
	ibcm_alternate_read(e, m);
}

static void fill_event(const struct ibcm_ep *e, const struct gsi_rx *rx, struct cm_event *ev)
{
	const uint8_t *m = ibcm_msg(rx), *data = wire_get_CM_REQ_private_data(m);
	unsigned skip = ibcm_header(e->ep.service);

	ev->remote_qpn = e->remote_qpn;
	ev->param = (struct cm_param){
		.private_data = data + skip, .private_len = (uint16_t)(WIRE_CM_REQ_PRIVATE - skip),
		.responder_resources = e->resp_res, .initiator_depth = e->init_depth,
		.retry_count = e->retry, .rnr_retry_count = e->rnr_retry,
		.flow_control = wire_get_CM_REQ_e2e_flow(m), .srq = wire_get_CM_REQ_srq(m),
		.qp_type = e->qp_type, .qpn = e->remote_qpn,
		.ece = { (uint32_t)wire_get_CM_REQ_vendor_id(m),
			 (uint32_t)wire_get_MAD_attr_mod(rx->mad) },
	};
}

/* A new endpoint under a listener, if both have room. */
struct ibcm_ep *ibcm_child(struct ibcm_ep *listener, const struct gsi_rx *rx, uint16_t port)
{
	struct ibcm_ep *e;

	if (listener->unanswered >= listener->backlog)
		return NULL;
	e = ibcm_ep_new(listener->cm);
	if (!e)
		return NULL;
	e->ep.local = listener->ep.local;
	e->ep.service = listener->ep.service;
	e->ep.opt = listener->ep.opt;
	memcpy(e->ep.remote.addr, rx->src, 16);
	e->ep.remote.scope = listener->ep.local.scope;
	e->ep.remote.port = port;
	e->tid = wire_get_MAD_tid(rx->mad);
	if (!ibcm_half_open(e) || ibcm_ep_number(e)) {
		ibcm_ep_free(e);
		return NULL;
	}
	e->listener = listener;
	ut_list_add_tail(&listener->children, &e->sibling);
	listener->unanswered++;
	return e;
}

/* The user takes it, or it is refused. */
void ibcm_offer(struct ibcm_ep *e, struct cm_event *ev)
{
	ev->type = CM_EV_REQUEST;
	ev->listener = &e->listener->ep;
	if (ibcm_raise_event(e, ev) == 0)
		return;
	ibcm_reject(&e->ep, CM_REJ_CONSUMER, NULL, 0);
	ibcm_destroy(&e->ep);
}

static void request(struct ibcm_ep *listener, const struct gsi_rx *rx, uint16_t port)
{
	const uint8_t *m = ibcm_msg(rx);
	struct ibcm_ep *e = ibcm_child(listener, rx, port);
	struct cm_event ev = { 0 };
	uint8_t answer_in;

	/* In silence: it asks again, and until then there may be room. */
	if (!e)
		return;
	read_req(e, m);
	if (e->ep.opt.tos >= 0)
		e->tclass = (uint8_t)e->ep.opt.tos;
	ibcm_key_add(e, IBCM_BY_COMM, rx->src, e->remote_guid, e->remote_id);
	ibcm_key_add(e, IBCM_BY_QPN, rx->src, e->remote_guid, e->remote_qpn);
	e->state = IBCM_REQ_RCVD;
	/* The peer expects our answer in that time; half of it may pass in silence. */
	answer_in = sane_timeout((unsigned)wire_get_CM_REQ_remote_cm_timeout(m));
	ibcm_arm(e, ibcm_ns(answer_in) / 2);
	fill_event(e, rx, &ev);
	e->ece = ev.param.ece;
	ibcm_offer(e, &ev);
}

/*
 * Another REQ from a QP that has a connection here: the peer has forgotten that
 * one (IBTA 12.9.8.3.1). The new request must wait until the old one is gone.
 */
static bool stale(struct ibcm *cm, const struct gsi_rx *rx, const uint8_t *m)
{
	struct ibcm_ep *e = ibcm_key_find(cm, IBCM_BY_QPN, rx->src,
					  wire_get_CM_REQ_local_ca_guid(m),
					  (uint32_t)wire_get_CM_REQ_local_qpn(m), NULL);

	if (!e)
		return false;
	ibcm_reply_rej(cm, rx, 0, CM_REJ_STALE);
	if (ibcm_is_connected(e) || e->state == IBCM_REP_SENT) {
		ibcm_ep_mad(e, WIRE_CM_ATTR_DREQ);
		wire_set_CM_DREQ_remote_qpn(e->mad + WIRE_MAD_LEN, e->remote_qpn);
		ibcm_send_kept(e);
		cm_why(cm->port, &e->ep.local, &e->ep.remote,
		       "the peer asks for a new connection of the same QP: disconnected; none is needed if "
		       "its program was started again");
		ibcm_timewait(e);
		ibcm_raise(e, CM_EV_DISCONNECTED, 0);
	}
	return true;
}

/* Without a listener the request is rejected: the active side repeats it several times. */
static void say_refused(struct ibcm *cm, const struct gsi_rx *rx, unsigned reason)
{
	struct link_end local = { 0 }, remote = { 0 };

	if (reason == CM_REJ_INVALID_SERVICE_ID)
		return;
	memcpy(local.addr, rx->dst, 16);
	memcpy(remote.addr, rx->src, 16);
	local.port = (uint16_t)wire_get_CM_REQ_service_id(ibcm_msg(rx));
	cm_why(cm->port, &local, &remote, "a request was refused (reason %u): the peer gets a REJ; see IBTA table 107", reason);
}

/*
 * Both ends at one address: the member that gets the REQ may be that of its sender, or a third one. Its own connections
 * to this address say nothing of a REQ that it passes on: of programs that name QPs which they do not have (cmtime), both ends
 * use the same numbers.
 */
static bool is_own_address(const struct gsi_rx *rx)
{
	return !memcmp(rx->src, rx->dst, sizeof(rx->src));
}

bool ibcm_is_ruled_out(struct ibcm *cm, const struct gsi_rx *rx, unsigned *ret_reason)
{
	const struct link_rule *r = cm_fault(cm->port, 1u << LINK_ACT_REJECT | 1u << LINK_ACT_SILENCE, rx->src, cm->now);

	*ret_reason = r && r->act == LINK_ACT_REJECT ? (unsigned)r->value : 0;
	return r;
}

void ibcm_got_req(struct ibcm *cm, const struct gsi_rx *rx)
{
	const uint8_t *m = ibcm_msg(rx);
	struct ibcm_ep *listener;
	uint16_t port = 0;
	unsigned reason;
	bool passed, own = is_own_address(rx);

	if (!own && stale(cm, rx, m))
		return;
	listener = ibcm_listener(cm, rx, wire_get_CM_REQ_service_id(m), &passed);
	if (passed || (own && listener && stale(cm, rx, m)))
		return;
	reason = listener ? fault(cm, rx, m, &port) : CM_REJ_INVALID_SERVICE_ID;
	if (!reason && ibcm_is_ruled_out(cm, rx, &reason) && !reason)
		return;
	if (!reason) {
		request(listener, rx, port);
		return;
	}
	say_refused(cm, rx, reason);
	ibcm_reply_rej(cm, rx, 0, reason);
}

/* --- duplicates of a REQ --- */

void ibcm_dup_req_slow(struct ibcm_ep *e, const struct gsi_rx *rx)
{
	ibcm_send_mra(e, 0);
}

void ibcm_dup_req_stale(struct ibcm_ep *e, const struct gsi_rx *rx)
{
	ibcm_reply_rej(e->cm, rx, 0, CM_REJ_STALE);
}

/* --- the user's answer --- */

static uint8_t rd_limit(uint8_t asked, uint8_t peer, int device)
{
	if (asked != CM_RD_MAX)
		return asked;
	return peer < device ? peer : (uint8_t)device;
}

static void put_rep_qp(const struct ibcm_ep *e, uint8_t *m, const struct cm_param *p)
{
	if (e->qp_type == IBV_QPT_XRC_RECV) {
		wire_set_CM_REP_srq(m, 1);
		wire_set_CM_REP_local_eecn(m, e->local_qpn);
		return;
	}
	wire_set_CM_REP_init_depth(m, e->init_depth);
	wire_set_CM_REP_e2e_flow(m, p->flow_control);
	wire_set_CM_REP_srq(m, p->srq);
	wire_set_CM_REP_local_qpn(m, e->local_qpn);
}

static void build_rep(struct ibcm_ep *e, const struct cm_param *p)
{
	uint8_t *m = ibcm_ep_mad(e, WIRE_CM_ATTR_REP);

	wire_set_MAD_attr_mod(e->mad, p->ece.options);
	wire_set_CM_REP_vendor_id_h(m, p->ece.vendor_id >> 16);
	wire_set_CM_REP_vendor_id_m(m, p->ece.vendor_id >> 8);
	wire_set_CM_REP_vendor_id_l(m, p->ece.vendor_id);
	wire_set_CM_REP_start_psn(m, e->rq_psn);
	wire_set_CM_REP_resp_res(m, e->resp_res);
	wire_set_CM_REP_target_ack_delay(m, e->cm->dev->attr.orig_attr.local_ca_ack_delay);
	wire_set_CM_REP_failover(m, e->failover);
	wire_set_CM_REP_rnr_retry(m, p->rnr_retry_count);
	wire_set_CM_REP_local_ca_guid(m, e->cm->cfg.ca_guid);
	put_rep_qp(e, m, p);
	if (p->private_len)
		memcpy((uint8_t *)wire_get_CM_REP_private_data(m), p->private_data, p->private_len);
}

int ibcm_accept(struct cm_ep *ep, const struct cm_param *p)
{
	struct ibcm_ep *e = ibcm_of(ep);
	const struct ibv_device_attr *a = &e->cm->dev->attr.orig_attr;

	if (e->state == IBCM_SIDR_RCVD)
		return ibcm_sidr_answer(e, 0, p);
	if (e->state != IBCM_REQ_RCVD || p->private_len > WIRE_CM_REP_PRIVATE)
		return -EINVAL;
	e->local_qpn = p->qpn & 0xffffff;
	e->resp_res = rd_limit(p->responder_resources, e->resp_res, a->max_qp_rd_atom);
	e->init_depth = rd_limit(p->initiator_depth, e->init_depth, a->max_qp_init_rd_atom);
	build_rep(e, p);
	ibcm_ask(e, IBCM_REP_SENT, e->full, e->max_tries);
	return 0;
}

int ibcm_reject(struct cm_ep *ep, enum cm_reject reason, const void *data, uint16_t len)
{
	struct ibcm_ep *e = ibcm_of(ep);
	struct cm_param p = { .private_data = data, .private_len = len };

	if (e->state == IBCM_SIDR_RCVD)
		return ibcm_sidr_answer(e, 2, &p);
	if (len > WIRE_CM_REJ_PRIVATE)
		return -EINVAL;
	if (e->state != IBCM_REQ_RCVD && e->state != IBCM_REP_RCVD)
		return -EINVAL;
	ibcm_build_rej(e, e->state == IBCM_REP_RCVD, reason, data, len);
	ibcm_send_kept(e);
	ibcm_answered(e);
	return 0;
}

/* --- RTU, or what stands for it --- */

void ibcm_got_rtu(struct ibcm_ep *e, const struct gsi_rx *rx)
{
	ibcm_estab(e);
	ibcm_raise_data(e, CM_EV_ESTABLISHED, 0, wire_get_CM_RTU_private_data(ibcm_msg(rx)),
			WIRE_CM_RTU_PRIVATE);
}

int ibcm_notify(struct cm_ep *ep, enum ibv_event_type event)
{
	struct ibcm_ep *e = ibcm_of(ep);

	if (event == IBV_EVENT_PATH_MIG)
		return ibcm_alternate_migrated(e);
	if (event != IBV_EVENT_COMM_EST)
		return -EINVAL;
	if (ibcm_is_connected(e))
		return -EISCONN;
	if (e->state != IBCM_REP_SENT)
		return -EINVAL;
	ibcm_estab(e);
	ibcm_raise_later(e, CM_EV_ESTABLISHED);
	return 0;
}
