/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The active side: REQ out, REP in, the user moves its QP, RTU out.
 *
 * "Starting PSN" of a message is where the *other* end's send queue starts, so
 * each end sends its receive PSN and takes the peer's as its send PSN.
 */
#include "cm/ibcm/active.h"

#include "cm/ibcm/alternate.h"
#include "cm/ibcm/msg.h"
#include "cm/ibcm/bind.h"
#include "cm/ibcm/sidr.h"
#include "cm/ibcm/watch.h"

#include <errno.h>
#include <string.h>

static uint8_t rd_limit(uint8_t asked, int device)
{
	return asked != CM_RD_MAX ? asked : (uint8_t)(device < 255 ? device : 255);
}

/* Transport service types of table 106; the extended ones have a field of their own. */
static void put_transport(uint8_t *m, enum ibv_qp_type type)
{
	wire_set_CM_REQ_transport(m, type == IBV_QPT_RC ? 0 : type == IBV_QPT_UC ? 1 : 3);
	wire_set_CM_REQ_ext_transport(m, type == IBV_QPT_XRC_SEND ? 1 : 0);
}

static void put_path(const struct ibcm_ep *e, uint8_t *m)
{
	unsigned delay = e->cm->dev->attr.orig_attr.local_ca_ack_delay;
	const struct ibcm_carrier *c = e->cm->cfg.carrier;
	const struct cm_path *path = &e->ep.path;
	uint8_t gid[16] = { 0 };

	wire_set_CM_REQ_pkey(m, path->pkey);
	wire_set_CM_REQ_path_mtu(m, e->mtu);
	wire_set_CM_REQ_local_lid(m, path->slid);
	wire_set_CM_REQ_remote_lid(m, path->dlid);
	wire_set_CM_REQ_sl(m, path->sl);
	wire_set_CM_REQ_rate(m, path->rate);
	/* Of an address that has gone: none; the peer refuses the request. */
	c->gid(e->cm->dev, e->ep.local.addr, gid);
	wire_set_CM_REQ_local_gid(m, gid);
	c->gid(e->cm->dev, e->ep.remote.addr, gid);
	wire_set_CM_REQ_remote_gid(m, gid);
	wire_set_CM_REQ_flow_label(m, e->flow_label);
	wire_set_CM_REQ_tclass(m, e->tclass);
	wire_set_CM_REQ_hop_limit(m, path->hop_limit);
	wire_set_CM_REQ_ack_timeout(m, ibcm_ack_timeout(delay, e->ack_timeout - 1u));
	ibcm_alternate_put(e, m);
}

/* The path's, within what the port can do. */
static uint8_t path_mtu(const struct ibcm *cm, const struct cm_path *path)
{
	uint8_t most = (uint8_t)ibcm_mtu(cm->cfg.mtu_max);

	return path->mtu_code >= IBV_MTU_256 && path->mtu_code < most ? path->mtu_code : most;
}

static void put_qp(const struct ibcm_ep *e, uint8_t *m, const struct cm_param *p)
{
	wire_set_CM_REQ_local_qpn(m, e->local_qpn);
	wire_set_CM_REQ_init_depth(m, e->init_depth);
	put_transport(m, e->qp_type);
	wire_set_CM_REQ_e2e_flow(m, p->flow_control);
	wire_set_CM_REQ_start_psn(m, e->rq_psn);
	/* An XRC initiator receives nothing. */
	if (e->qp_type == IBV_QPT_XRC_SEND)
		return;
	wire_set_CM_REQ_resp_res(m, e->resp_res);
	wire_set_CM_REQ_retry_count(m, e->retry);
	wire_set_CM_REQ_rnr_retry(m, p->rnr_retry_count);
	wire_set_CM_REQ_srq(m, p->srq);
}

static void build_req(struct ibcm_ep *e, const struct cm_param *p)
{
	uint8_t *m = ibcm_ep_mad(e, WIRE_CM_ATTR_REQ), *data = m + 140;

	wire_set_CM_REQ_local_comm_id(m, e->local_id);
	wire_set_MAD_attr_mod(e->mad, p->ece.options);
	wire_set_CM_REQ_vendor_id(m, p->ece.vendor_id);
	wire_set_CM_REQ_service_id(m, e->dest_service);
	wire_set_CM_REQ_local_ca_guid(m, e->cm->cfg.ca_guid);
	put_qp(e, m, p);
	wire_set_CM_REQ_remote_cm_timeout(m, IBCM_TIMEOUT);
	wire_set_CM_REQ_local_cm_timeout(m, IBCM_TIMEOUT);
	wire_set_CM_REQ_max_cm_retries(m, IBCM_RETRIES);
	put_path(e, m);
	if (ibcm_header(e->dest_service)) {
		ibcm_ip_build(data, &e->ep.local, &e->ep.remote);
		data += IBCM_IP_HEADER;
	}
	if (p->private_len)
		memcpy(data, p->private_data, p->private_len);
}

static void take_param(struct ibcm_ep *e, const struct cm_param *p)
{
	const struct ibv_device_attr *a = &e->cm->dev->attr.orig_attr;

	e->qp_type = (uint8_t)p->qp_type;
	e->local_qpn = p->qpn & 0xffffff;
	e->resp_res = rd_limit(p->responder_resources, a->max_qp_rd_atom);
	e->init_depth = rd_limit(p->initiator_depth, a->max_qp_init_rd_atom);
	e->retry = p->retry_count & 7;
	e->rnr_retry = p->rnr_retry_count & 7;
	e->mtu = path_mtu(e->cm, &e->ep.path);
	e->flow_label = 1 + ut_rng_below(&e->cm->rng, 0xfffff);
	e->ack_timeout = e->ep.opt.ack_timeout & 31 ? e->ep.opt.ack_timeout & 31 : IBCM_LIFE + 1;
}

static bool sound(const struct ibcm_ep *e, const struct cm_param *p)
{
	unsigned room = p->qp_type == IBV_QPT_UD ? WIRE_CM_SIDR_REQ_PRIVATE : WIRE_CM_REQ_PRIVATE;

	room -= ibcm_header(e->dest_service);
	return p->private_len <= room && (1u << p->qp_type & e->ep.port->ops->qp_types) &&
	       p->qp_type != IBV_QPT_XRC_RECV;
}

void ibcm_request(struct ibcm_ep *e, enum ibcm_state state)
{
	e->same_host = e->cm->cfg.carrier->same_host(e->cm->dev, e->ep.remote.addr);
	ibcm_ask(e, state, IBCM_TIMEOUT, IBCM_RETRIES + (e->same_host ? IBCM_DRAWS : 0));
}

int ibcm_connect(struct cm_ep *ep, const struct link_end *remote, const struct cm_param *param)
{
	struct ibcm_ep *e = ibcm_of(ep);
	int r;

	if (e->state != IBCM_IDLE || e->local_id)
		return -EINVAL;
	e->dest_service = ep->service;
	if (ibcm_is_ip(ep->service))
		e->dest_service = (ep->service & ~0xffffull) | remote->port;
	if (!sound(e, param))
		return -EINVAL;
	r = ibcm_ep_number(e);
	if (r)
		return r;
	ep->remote = *remote;
	e->active = true;
	e->tid = ut_rng_u64(&e->cm->rng);
	e->tclass = ep->opt.tos > 0 ? (uint8_t)ep->opt.tos : 0;
	take_param(e, param);
	if (param->qp_type == IBV_QPT_UD)
		return ibcm_sidr_connect(e, param);
	build_req(e, param);
	ibcm_request(e, IBCM_REQ_SENT);
	return 0;
}

/* There is, or was a moment ago, a connection to that address. */
static bool is_met(const struct ibcm_ep *e)
{
	const struct ibcm_ep *o;

	ut_list_each(o, &e->cm->eps, all)
		if ((ibcm_is_connected(o) || o->state == IBCM_TIMEWAIT || o->state == IBCM_DREQ_SENT ||
		     o->state == IBCM_DREQ_RCVD) && !memcmp(o->ep.remote.addr, e->ep.remote.addr, 16))
			return true;
	return false;
}

/*
 * Servers that have just agreed with their client over an earlier connection on
 * connecting once more (perftest does) bind and listen while the request is on its way:
 * with adapters that need milliseconds to make a QP the server is first, with us the
 * client may be. So "no listener" is believed after the eighth time, 0.13 s later. And a
 * peer that refuses because of a stale connection ends that connection: the same request is
 * accepted a moment later. Copies of a refusal that is being waited out are ignored. All this is for
 * processes of this host, and for a host to which there is a connection; another one is believed at once.
 */
bool ibcm_retry(struct ibcm_ep *e)
{
	if (e->knocking)
		return true;
	if (!e->same_host && !is_met(e))
		return false;
	if (e->refused_tries == IBCM_REFUSED_TRIES)
		return false;
	e->knocking = true;
	ibcm_arm(e, IBCM_REFUSED_NS << e->refused_tries++);
	return true;
}

static void read_rep(struct ibcm_ep *e, const uint8_t *m, struct cm_param *p)
{
	bool xrc = e->qp_type == IBV_QPT_XRC_SEND;
	unsigned delay = (unsigned)wire_get_CM_REP_target_ack_delay(m);

	e->remote_id = (uint32_t)wire_get_CM_REP_local_comm_id(m);
	e->remote_guid = wire_get_CM_REP_local_ca_guid(m);
	/* An XRC target says its number in the place of the EE context. */
	e->remote_qpn = (uint32_t)(xrc ? wire_get_CM_REP_local_eecn(m)
				       : wire_get_CM_REP_local_qpn(m));
	e->sq_psn = (uint32_t)wire_get_CM_REP_start_psn(m);
	e->init_depth = (uint8_t)wire_get_CM_REP_resp_res(m);
	e->resp_res = (uint8_t)wire_get_CM_REP_init_depth(m);
	e->rnr_retry = (uint8_t)wire_get_CM_REP_rnr_retry(m);
	e->ack_timeout = ibcm_ack_timeout(delay, e->ack_timeout - 1u);
	ibcm_alternate_answered(e, m);
	*p = (struct cm_param){
		.private_data = wire_get_CM_REP_private_data(m), .private_len = WIRE_CM_REP_PRIVATE,
		.responder_resources = e->resp_res, .initiator_depth = e->init_depth,
		.rnr_retry_count = e->rnr_retry, .retry_count = e->retry,
		.flow_control = wire_get_CM_REP_e2e_flow(m), .srq = wire_get_CM_REP_srq(m),
		.qp_type = e->qp_type, .qpn = e->remote_qpn,
		.ece.vendor_id = (uint32_t)(wire_get_CM_REP_vendor_id_h(m) << 16 |
			wire_get_CM_REP_vendor_id_m(m) << 8 | wire_get_CM_REP_vendor_id_l(m)),
	};
}

void ibcm_got_rep(struct ibcm_ep *e, const struct gsi_rx *rx)
{
	struct cm_event ev = { .type = CM_EV_RESPONSE };

	read_rep(e, ibcm_msg(rx), &ev.param);
	ev.param.ece.options = (uint32_t)wire_get_MAD_attr_mod(rx->mad);
	e->ece = ev.param.ece;
	ev.remote_qpn = e->remote_qpn;
	ibcm_key_add(e, IBCM_BY_QPN, rx->src, e->remote_guid, e->remote_qpn);
	ibcm_enter(e, IBCM_REP_RCVD);
	ibcm_raise_event(e, &ev);
}

int ibcm_establish(struct cm_ep *ep)
{
	struct ibcm_ep *e = ibcm_of(ep);

	if (e->state != IBCM_REP_RCVD)
		return -EINVAL;
	ibcm_estab(e);
	ibcm_send_plain(e, WIRE_CM_ATTR_RTU);
	ibcm_raise_later(e, CM_EV_ESTABLISHED);
	return 0;
}

/* Our user is still at it. */
void ibcm_dup_rep_early(struct ibcm_ep *e, const struct gsi_rx *rx)
{
	ibcm_send_mra(e, 1);
}

void ibcm_dup_rep(struct ibcm_ep *e, const struct gsi_rx *rx)
{
	if (e->active)
		ibcm_send_plain(e, WIRE_CM_ATTR_RTU);
}

void ibcm_dead_rep(struct ibcm_ep *e, const struct gsi_rx *rx)
{
	ibcm_reply_rej(e->cm, rx, 1, CM_REJ_INVALID_COMM_ID);
}
