/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rpcrdma/cm.h"

#include <errno.h>

#define DEPTH_MAX 16           /* Reads outstanding in either direction */

/* What both ends say decides the thresholds: what one sends, the other one must take. */
static void take_private(struct rpr_conn *c, const void *data, size_t len)
{
	rpr_private_get(&c->peer, data, len);
	c->send_max = c->peer.receive_size < c->conf.inline_size ? c->peer.receive_size : c->conf.inline_size;
}

static int take_event(struct ulp_conn *u, const struct rdma_cm_event *ev)
{
	struct rpr_conn *c = (struct rpr_conn *)u;

	if (ulp_is_step(ev))
		return 0;
	switch (ev->event) {
	case RDMA_CM_EVENT_ESTABLISHED:
		if (c->client)
			take_private(c, ev->param.conn.private_data, ev->param.conn.private_data_len);
		c->established = true;
		return 0;
	case RDMA_CM_EVENT_DISCONNECTED:
		return ulp_end(&c->rdma, ECONNRESET, "the peer has disconnected");
	default:
		return ulp_unexpected(u, ev, EHOSTUNREACH);
	}
}

int rpr_cm_resolve(struct rpr_conn *c, const struct sockaddr *to, int timeout_ms)
{
	int r;

	c->rdma.take_event = take_event;
	r = ulp_open(&c->rdma);
	if (r)
		return r;
	if (rdma_create_id(c->rdma.events, &c->rdma.id, c, RDMA_PS_TCP))
		return ulp_end(&c->rdma, errno, "no connection identifier can be made (%s)", strerror(errno));
	return ulp_resolve(&c->rdma, to, timeout_ms);
}

static uint8_t depth(int max)
{
	return (uint8_t)(max < DEPTH_MAX ? max : DEPTH_MAX);
}

/* What this end says of itself. The param points to `data`. */
static struct rdma_conn_param param(const struct rpr_conn *c, uint8_t data[RPR_RpcRdmaPrivate_LEN])
{
	struct rpr_private ours = { c->conf.inline_size, c->conf.inline_size,
				    c->conf.remote_inv && (c->server || c->windows) };
	struct rdma_conn_param p = { .private_data = data, .private_data_len = RPR_RpcRdmaPrivate_LEN,
				     .responder_resources = DEPTH_MAX, .initiator_depth = DEPTH_MAX,
				     .retry_count = 7, .rnr_retry_count = 7 };
	struct ibv_device_attr attr;

	if (!ibv_query_device(c->rdma.id->verbs, &attr)) {
		p.responder_resources = depth(attr.max_qp_rd_atom);
		p.initiator_depth = depth(attr.max_qp_init_rd_atom);
	}
	rpr_private_put(data, &ours);
	return p;
}

int rpr_cm_connect(struct rpr_conn *c, int timeout_ms)
{
	uint8_t data[RPR_RpcRdmaPrivate_LEN];
	struct rdma_conn_param p = param(c, data);

	if (rdma_connect(c->rdma.id, &p))
		return ulp_end(&c->rdma, errno, "the connection cannot be requested (%s)", strerror(errno));
	return ulp_await(&c->rdma, RDMA_CM_EVENT_ESTABLISHED, timeout_ms);
}

int rpr_cm_adopt(struct rpr_conn *c, struct rdma_cm_id *id, const void *data, size_t len)
{
	c->rdma.take_event = take_event;
	take_private(c, data, len);
	return ulp_adopt(&c->rdma, id);
}

int rpr_cm_accept(struct rpr_conn *c, int timeout_ms)
{
	uint8_t data[RPR_RpcRdmaPrivate_LEN];
	struct rdma_conn_param p = param(c, data);

	if (rdma_accept(c->rdma.id, &p))
		return ulp_end(&c->rdma, errno, "the connection cannot be accepted (%s)", strerror(errno));
	return ulp_await(&c->rdma, RDMA_CM_EVENT_ESTABLISHED, timeout_ms);
}
