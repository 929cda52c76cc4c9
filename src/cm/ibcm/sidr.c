/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Service ID resolution (IBTA 12.11): one question, one answer, by which a UD
 * QP learns number and Q_Key of a service. No connection is left behind.
 */
#include "cm/ibcm/sidr.h"

#include "cm/ibcm/active.h"
#include "cm/ibcm/bind.h"
#include "cm/ibcm/msg.h"
#include "cm/ibcm/passive.h"
#include "engine/gid.h"

#include <errno.h>
#include <string.h>

enum { SIDR_OK = 0, SIDR_UNSUPPORTED = 1, SIDR_REJECT = 2 };

int ibcm_sidr_connect(struct ibcm_ep *e, const struct cm_param *p)
{
	uint8_t *m = ibcm_mad(e->mad, WIRE_CM_ATTR_SIDR_REQ, e->tid), *data = m + 16;

	e->has_mad = true;
	e->qkey = p->qkey ? p->qkey : IBCM_UD_QKEY;
	wire_set_CM_SIDR_REQ_request_id(m, e->local_id);
	wire_set_CM_SIDR_REQ_pkey(m, e->ep.path.pkey);
	wire_set_CM_SIDR_REQ_service_id(m, e->dest_service);
	if (ibcm_header(e->dest_service)) {
		ibcm_ip_build(data, &e->ep.local, &e->ep.remote);
		data += IBCM_IP_HEADER;
	}
	if (p->private_len)
		memcpy(data, p->private_data, p->private_len);
	ibcm_request(e, IBCM_SIDR_SENT);
	return 0;
}

static void fill_ah(struct ibcm_ep *e, struct ibv_ah_attr *ah)
{
	*ah = (struct ibv_ah_attr){ .port_num = ENG_PORT_NUM };
	e->cm->cfg.carrier->way(e->cm->dev, e->ep.local.addr, e->ep.remote.addr, false, ah);
	ah->sl = e->ep.path.sl;
	ah->grh.hop_limit = IBCM_HOPS;
	ah->grh.traffic_class = e->tclass;
}

void ibcm_got_sidr_rep(struct ibcm_ep *e, const struct gsi_rx *rx)
{
	const uint8_t *m = ibcm_msg(rx);
	unsigned status = (unsigned)wire_get_CM_SIDR_REP_status(m);
	struct cm_event ev = {
		.type = status ? CM_EV_UNREACHABLE : CM_EV_ESTABLISHED, .status = (int)status,
		.remote_qpn = (uint32_t)wire_get_CM_SIDR_REP_qpn(m),
		.qkey = (uint32_t)wire_get_CM_SIDR_REP_qkey(m),
		.param = { .private_data = wire_get_CM_SIDR_REP_private_data(m),
			   .private_len = WIRE_CM_SIDR_REP_PRIVATE, .qp_type = IBV_QPT_UD,
			   .qpn = (uint32_t)wire_get_CM_SIDR_REP_qpn(m),
			   .qkey = (uint32_t)wire_get_CM_SIDR_REP_qkey(m),
			   .ece.options = (uint32_t)wire_get_MAD_attr_mod(rx->mad),
			   .ece.vendor_id = (uint32_t)(wire_get_CM_SIDR_REP_vendor_id_h(m) << 8 |
						       wire_get_CM_SIDR_REP_vendor_id_l(m)) },
	};

	if (wire_get_CM_SIDR_REP_service_id(m) != e->dest_service)
		return;
	if (status == SIDR_UNSUPPORTED && ibcm_retry(e))
		return;
	e->remote_qpn = ev.remote_qpn;
	e->qkey = ev.qkey;
	fill_ah(e, &ev.ah);
	ibcm_enter(e, IBCM_OVER);
	ibcm_ep_forget(e);
	ibcm_raise_event(e, &ev);
}

/* --- the other side --- */

static void refuse(struct ibcm *cm, const struct gsi_rx *rx, unsigned status)
{
	uint8_t mad[WIRE_MAD_BYTES];
	uint8_t *m = ibcm_mad(mad, WIRE_CM_ATTR_SIDR_REP, wire_get_MAD_tid(rx->mad));

	wire_set_CM_SIDR_REP_request_id(m, wire_get_CM_SIDR_REQ_request_id(ibcm_msg(rx)));
	wire_set_CM_SIDR_REP_service_id(m, wire_get_CM_SIDR_REQ_service_id(ibcm_msg(rx)));
	wire_set_CM_SIDR_REP_status(m, status);
	ibcm_reply(cm, rx, mad);
}

static void request(struct ibcm_ep *listener, const struct gsi_rx *rx, uint16_t port)
{
	const uint8_t *m = ibcm_msg(rx), *data = wire_get_CM_SIDR_REQ_private_data(m);
	unsigned skip = ibcm_header(listener->ep.service);
	struct ibcm_ep *e = ibcm_child(listener, rx, port);
	struct cm_event ev = { .param = { .private_data = data + skip, .qp_type = IBV_QPT_UD,
					  .private_len = (uint16_t)(WIRE_CM_SIDR_REQ_PRIVATE -
								    skip) } };

	if (!e)
		return; /* it asks again */
	e->qp_type = IBV_QPT_UD;
	e->remote_id = (uint32_t)wire_get_CM_SIDR_REQ_request_id(m);
	e->tclass = e->ep.opt.tos > 0 ? (uint8_t)e->ep.opt.tos : rx->traffic_class;
	ibcm_key_add(e, IBCM_BY_COMM, rx->src, 0, e->remote_id);
	e->state = IBCM_SIDR_RCVD;
	fill_ah(e, &ev.ah);
	ibcm_offer(e, &ev);
}

void ibcm_got_sidr_req(struct ibcm *cm, const struct gsi_rx *rx)
{
	const uint8_t *m = ibcm_msg(rx);
	uint64_t service = wire_get_CM_SIDR_REQ_service_id(m);
	struct ibcm_ep *listener;
	uint16_t port = 0;
	unsigned reason;
	bool passed;

	listener = ibcm_listener(cm, rx, service, &passed);
	if (passed)
		return;
	if (listener && ibcm_is_ruled_out(cm, rx, &reason)) {
		if (reason)
			refuse(cm, rx, SIDR_REJECT);
		return;
	}
	if (!listener)
		refuse(cm, rx, SIDR_UNSUPPORTED);
	else if (ibcm_is_ip(service) &&
		 !ibcm_ip_check(service, wire_get_CM_SIDR_REQ_private_data(m), rx, &port))
		refuse(cm, rx, SIDR_REJECT);
	else
		request(listener, rx, port);
}

int ibcm_sidr_answer(struct ibcm_ep *e, unsigned status, const struct cm_param *p)
{
	uint8_t *m;

	if (p->private_len > WIRE_CM_SIDR_REP_PRIVATE)
		return -EINVAL;
	m = ibcm_mad(e->mad, WIRE_CM_ATTR_SIDR_REP, e->tid);
	e->has_mad = true;
	wire_set_CM_SIDR_REP_request_id(m, e->remote_id);
	wire_set_CM_SIDR_REP_status(m, status);
	wire_set_CM_SIDR_REP_service_id(m, e->ep.service);
	if (status == SIDR_OK) {
		e->qkey = p->qkey ? p->qkey : IBCM_UD_QKEY;
		e->local_qpn = p->qpn & 0xffffff;
		wire_set_CM_SIDR_REP_qpn(m, e->local_qpn);
		wire_set_CM_SIDR_REP_qkey(m, e->qkey);
		wire_set_MAD_attr_mod(e->mad, p->ece.options);
		wire_set_CM_SIDR_REP_vendor_id_h(m, p->ece.vendor_id >> 8);
		wire_set_CM_SIDR_REP_vendor_id_l(m, p->ece.vendor_id);
	}
	if (p->private_len)
		memcpy((uint8_t *)wire_get_CM_SIDR_REP_private_data(m), p->private_data,
		       p->private_len);
	ibcm_send_kept(e);
	ibcm_answered(e);
	return 0;
}
