/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/ibcm/alternate.h"

#include "cm/ibcm/msg.h"
#include "cm/ibcm/watch.h"

#include <errno.h>
#include <string.h>

/* Failover Accepted of a REP (IBTA 12.7.31). */
enum { FAILOVER_ACCEPTED, FAILOVER_UNSUPPORTED, FAILOVER_REJECTED };

int ibcm_alternate_attr(const struct ibcm_ep *e, const struct cm_path *path, uint8_t timeout, struct ibv_qp_attr *a)
{
	const struct ibcm_carrier *c = e->cm->cfg.carrier;
	struct ibv_ah_attr ah;
	int r, index;

	eng_dev_held(e->cm->dev);
	r = c->way(e->cm->dev, e->ep.local.addr, e->ep.remote.addr, false, &ah);
	if (r == 0)
		r = c->along(e->cm->dev, e->ep.local.addr, e->ep.remote.addr, path, &ah);
	if (r < 0)
		return r;
	index = e->ep.path.pkey ? eng_port_pkey_index(e->cm->dev, e->ep.path.pkey) : 0;
	ah.grh.flow_label = path->flow_label;
	ah.grh.hop_limit = IBCM_HOPS;
	ah.grh.traffic_class = path->traffic_class;
	a->alt_ah_attr = ah;
	a->alt_port_num = ENG_PORT_NUM;
	a->alt_pkey_index = index < 0 ? 0 : (uint16_t)index;
	a->alt_timeout = timeout;
	return 0;
}

/* What the peer is told of a path that was not loaded. */
static enum cm_apr status_of(int error)
{
	switch (error) {
	case 0:
		return CM_APR_LOADED;
	case -EOPNOTSUPP:
		return CM_APR_UNSUPPORTED;
	case -EALREADY:
		return CM_APR_IS_CURRENT;
	case -EINVAL:
		return CM_APR_INVALID_LID;
	default:
		return CM_APR_REJECTED;
	}
}

static enum cm_apr load(struct ibcm_ep *e, const struct cm_path *path, uint8_t timeout)
{
	struct ibv_qp_attr a = { 0 };
	int r = ibcm_alternate_attr(e, path, timeout, &a);

	if (r < 0)
		return status_of(r);
	r = e->cm->cfg.carrier->load(e->cm->dev, e->local_qpn, e->remote_qpn, &a);
	if (r < 0)
		return r == -EALREADY ? CM_APR_IS_CURRENT : CM_APR_REJECTED;
	e->ep.alternate = *path;
	e->alt_timeout = timeout;
	return CM_APR_LOADED;
}

static uint8_t own_timeout(const struct ibcm_ep *e)
{
	return e->ep.opt.ack_timeout ? e->ep.opt.ack_timeout : e->ack_timeout;
}

/* --- REQ and REP --- */

void ibcm_alternate_put(const struct ibcm_ep *e, uint8_t *m)
{
	const struct cm_path *path = &e->ep.alternate;

	if (!path->dlid)
		return;
	wire_set_CM_REQ_alt_local_lid(m, path->slid);
	wire_set_CM_REQ_alt_remote_lid(m, path->dlid);
	wire_set_CM_REQ_alt_local_gid(m, wire_get_CM_REQ_local_gid(m));
	wire_set_CM_REQ_alt_remote_gid(m, wire_get_CM_REQ_remote_gid(m));
	wire_set_CM_REQ_alt_flow_label(m, path->flow_label);
	wire_set_CM_REQ_alt_rate(m, path->rate);
	wire_set_CM_REQ_alt_tclass(m, path->traffic_class);
	wire_set_CM_REQ_alt_hop_limit(m, path->hop_limit);
	wire_set_CM_REQ_alt_sl(m, path->sl);
	wire_set_CM_REQ_alt_ack_timeout(m, wire_get_CM_REQ_ack_timeout(m));
}

/* The peer's path, seen from here. */
static struct cm_path path_of_req(const uint8_t *m)
{
	return (struct cm_path){
		.slid = (uint16_t)wire_get_CM_REQ_alt_remote_lid(m),
		.dlid = (uint16_t)wire_get_CM_REQ_alt_local_lid(m),
		.pkey = (uint16_t)wire_get_CM_REQ_pkey(m),
		.sl = (uint8_t)wire_get_CM_REQ_alt_sl(m),
		.rate = (uint8_t)wire_get_CM_REQ_alt_rate(m),
		.traffic_class = (uint8_t)wire_get_CM_REQ_alt_tclass(m),
		.hop_limit = (uint8_t)wire_get_CM_REQ_alt_hop_limit(m),
		.flow_label = (uint32_t)wire_get_CM_REQ_alt_flow_label(m),
	};
}

static bool has_alternate(const uint8_t *m)
{
	static const uint8_t none[16];

	return wire_get_CM_REQ_alt_local_lid(m) || memcmp(wire_get_CM_REQ_alt_local_gid(m), none, 16);
}

void ibcm_alternate_read(struct ibcm_ep *e, const uint8_t *m)
{
	struct cm_path path = path_of_req(m);
	struct ibv_qp_attr a = { 0 };
	int r;

	if (!has_alternate(m))
		return;
	r = ibcm_alternate_attr(e, &path, 0, &a);
	if (r == 0 && (!ibcm_is_gid_of(e->cm, wire_get_CM_REQ_alt_local_gid(m), e->ep.remote.addr) ||
		       !ibcm_is_gid_of(e->cm, wire_get_CM_REQ_alt_remote_gid(m), e->ep.local.addr)))
		r = -EINVAL;
	e->failover = r == 0 ? FAILOVER_ACCEPTED : r == -EOPNOTSUPP ? FAILOVER_UNSUPPORTED : FAILOVER_REJECTED;
	if (r < 0)
		return;
	e->ep.alternate = path;
	e->alt_timeout = (uint8_t)wire_get_CM_REQ_alt_ack_timeout(m);
}

void ibcm_alternate_answered(struct ibcm_ep *e, const uint8_t *m)
{
	if (wire_get_CM_REP_failover(m) != FAILOVER_ACCEPTED)
		e->ep.alternate = (struct cm_path){ 0 };
	e->alt_timeout = own_timeout(e);
}

/* --- LAP --- */

static void build_lap(struct ibcm_ep *e, const struct cm_path *path)
{
	uint8_t *m = ibcm_ep_mad(e, WIRE_CM_ATTR_LAP), gid[16] = { 0 };
	const struct ibcm_carrier *c = e->cm->cfg.carrier;

	wire_set_MAD_tid(e->mad, e->lap_tid);
	wire_set_CM_LAP_remote_qpn(m, e->remote_qpn);
	wire_set_CM_LAP_remote_cm_timeout(m, IBCM_TIMEOUT);
	wire_set_CM_LAP_alt_local_lid(m, path->slid);
	wire_set_CM_LAP_alt_remote_lid(m, path->dlid);
	c->gid(e->cm->dev, e->ep.local.addr, gid);
	wire_set_CM_LAP_alt_local_gid(m, gid);
	c->gid(e->cm->dev, e->ep.remote.addr, gid);
	wire_set_CM_LAP_alt_remote_gid(m, gid);
	wire_set_CM_LAP_alt_flow_label(m, path->flow_label);
	wire_set_CM_LAP_alt_tclass(m, path->traffic_class);
	wire_set_CM_LAP_alt_hop_limit(m, path->hop_limit);
	wire_set_CM_LAP_alt_rate(m, path->rate);
	wire_set_CM_LAP_alt_sl(m, path->sl);
	wire_set_CM_LAP_alt_subnet_local(m, 1);
	wire_set_CM_LAP_alt_ack_timeout(m, own_timeout(e));
}

int ibcm_load_path(struct cm_ep *ep, const struct cm_path *path)
{
	struct ibcm_ep *e = ibcm_of(ep);
	struct ibv_qp_attr a = { 0 };
	int r;

	if (e->state == IBCM_LAP_SENT)
		return -EBUSY;
	if (e->state != IBCM_ESTAB)
		return -EINVAL;
	r = ibcm_alternate_attr(e, path, 0, &a);
	if (r < 0)
		return r == -EOPNOTSUPP ? r : -EINVAL;
	e->asked = *path;
	e->lap_tid = ut_rng_u64(&e->cm->rng) | 1;
	build_lap(e, path);
	ibcm_ask(e, IBCM_LAP_SENT, IBCM_TIMEOUT, IBCM_RETRIES);
	return 0;
}

static struct cm_path path_of_lap(const struct ibcm_ep *e, const uint8_t *m)
{
	return (struct cm_path){
		.slid = (uint16_t)wire_get_CM_LAP_alt_remote_lid(m),
		.dlid = (uint16_t)wire_get_CM_LAP_alt_local_lid(m),
		.pkey = e->ep.path.pkey,
		.sl = (uint8_t)wire_get_CM_LAP_alt_sl(m),
		.mtu_code = e->ep.path.mtu_code,
		.rate = (uint8_t)wire_get_CM_LAP_alt_rate(m),
		.traffic_class = (uint8_t)wire_get_CM_LAP_alt_tclass(m),
		.hop_limit = (uint8_t)wire_get_CM_LAP_alt_hop_limit(m),
		.flow_label = (uint32_t)wire_get_CM_LAP_alt_flow_label(m),
	};
}

static enum cm_apr take(struct ibcm_ep *e, const uint8_t *m)
{
	struct cm_path path = path_of_lap(e, m);
	struct ibv_qp_attr a = { 0 };

	if (ibcm_alternate_attr(e, &path, 0, &a) == -EOPNOTSUPP)
		return CM_APR_UNSUPPORTED;
	if ((uint32_t)wire_get_CM_LAP_remote_qpn(m) != e->local_qpn)
		return CM_APR_INVALID_QPN;
	if (!ibcm_is_gid_of(e->cm, wire_get_CM_LAP_alt_local_gid(m), e->ep.remote.addr) ||
	    !ibcm_is_gid_of(e->cm, wire_get_CM_LAP_alt_remote_gid(m), e->ep.local.addr))
		return CM_APR_INVALID_GID;
	if (e->state == IBCM_LAP_SENT && e->active)
		return CM_APR_REJECTED;
	return load(e, &path, (uint8_t)wire_get_CM_LAP_alt_ack_timeout(m));
}

/* Returns the place of a LAP that has come before, or -1. A TID of 0 is as good as any other. */
static int known(const struct ibcm_ep *e, uint64_t tid)
{
	for (unsigned i = 0; i < e->n_laps; i++)
		if (e->laps[i] == tid)
			return (int)i;
	return -1;
}

static void note(struct ibcm_ep *e, uint64_t tid)
{
	memmove(e->laps + 1, e->laps, sizeof(e->laps) - sizeof(e->laps[0]));
	e->laps[0] = tid;
	e->n_laps += e->n_laps < IBCM_LAPS;
}

void ibcm_got_lap(struct ibcm_ep *e, const struct gsi_rx *rx)
{
	uint64_t tid = wire_get_MAD_tid(rx->mad);
	int at = known(e, tid);

	if (at > 0)
		return;
	if (at < 0) {
		e->apr = (uint8_t)take(e, ibcm_msg(rx));
		note(e, tid);
	}
	ibcm_reply_apr(e->cm, rx, e->apr);
}

/* --- APR --- */

void ibcm_alternate_failed(struct ibcm_ep *e, int status)
{
	ibcm_estab_again(e);
	ibcm_raise(e, CM_EV_ALTERNATE, status);
}

void ibcm_got_apr(struct ibcm_ep *e, const struct gsi_rx *rx)
{
	unsigned status = (unsigned)wire_get_CM_APR_status(ibcm_msg(rx));

	if (wire_get_MAD_tid(rx->mad) != e->lap_tid)
		return;
	ibcm_estab_again(e);
	if (status == CM_APR_LOADED)
		status = load(e, &e->asked, own_timeout(e));
	ibcm_raise(e, CM_EV_ALTERNATE, (int)status);
}

int ibcm_alternate_migrated(struct ibcm_ep *e)
{
	if (!ibcm_is_connected(e) || !e->ep.alternate.dlid)
		return -EINVAL;
	e->ep.alternate.mtu_code = e->ep.path.mtu_code;
	e->ep.path = e->ep.alternate;
	e->ep.alternate = (struct cm_path){ 0 };
	e->ack_timeout = e->alt_timeout ? e->alt_timeout : e->ack_timeout;
	return 0;
}
