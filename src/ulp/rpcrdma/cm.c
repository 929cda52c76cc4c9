/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rpcrdma/cm.h"

#include <errno.h>
#include <fcntl.h>
#include <time.h>

#define DEPTH_MAX 16           /* Reads outstanding in either direction */

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* The status of an event is a negative errno, except that of a rejection, which is a reason. */
static int event_errno(const struct rdma_cm_event *ev)
{
	int given = ev->status < 0 ? -ev->status : 0;

	switch (ev->event) {
	case RDMA_CM_EVENT_REJECTED:
		return ECONNREFUSED;
	case RDMA_CM_EVENT_UNREACHABLE:
		return given ? given : ETIMEDOUT;
	case RDMA_CM_EVENT_DISCONNECTED:
		return ECONNRESET;
	default:
		return given ? given : EHOSTUNREACH;
	}
}

/* What both ends say decides the thresholds: what one sends, the other one must take. */
static void take_private(struct rpr_conn *c, const void *data, size_t len)
{
	rpr_private_get(&c->peer, data, len);
	c->send_max = c->peer.receive_size < c->conf.inline_size ? c->peer.receive_size : c->conf.inline_size;
}

static int take_event(struct rpr_conn *c, const struct rdma_cm_event *ev)
{
	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return 0;
	case RDMA_CM_EVENT_ESTABLISHED:
		if (c->client)
			take_private(c, ev->param.conn.private_data, ev->param.conn.private_data_len);
		c->established = true;
		return 0;
	case RDMA_CM_EVENT_DISCONNECTED:
		return rpr_end(c, ECONNRESET, "the peer has disconnected");
	case RDMA_CM_EVENT_REJECTED:
		return rpr_end(c, ECONNREFUSED, "the peer rejects the connection (reason %d)", ev->status);
	default:
		return rpr_end(c, event_errno(ev), "%s (%s)", rdma_event_str(ev->event), strerror(event_errno(ev)));
	}
}

/* Takes one event. Returns the event, or a negative errno; -EAGAIN: there is none. */
static int next_event(struct rpr_conn *c)
{
	struct rdma_cm_event *ev;
	int r, kind;

	if (rdma_get_cm_event(c->events, &ev))
		return errno == EAGAIN || errno == EINTR ? -EAGAIN
			: rpr_end(c, errno, "events of the connection cannot be read (%s)", strerror(errno));
	kind = (int)ev->event;
	r = take_event(c, ev);
	rdma_ack_cm_event(ev);
	return r ? r : kind;
}

static int await(struct rpr_conn *c, enum rdma_cm_event_type wanted, int timeout_ms)
{
	int64_t end = now_ms() + timeout_ms;
	struct pollfd p = { c->events->fd, POLLIN, 0 };
	int64_t left;
	int r;

	while ((r = next_event(c)) != (int)wanted) {
		if (r != -EAGAIN && r < 0)
			return r;
		if (r >= 0)
			continue;
		left = end - now_ms();
		if (left <= 0)
			return rpr_end(c, ETIMEDOUT, "the peer does not answer");
		if (poll(&p, 1, (int)left) < 0 && errno != EINTR)
			return rpr_end(c, errno, "poll fails (%s)", strerror(errno));
	}
	return 0;
}

static int open_channel(struct rpr_conn *c)
{
	c->events = rdma_create_event_channel();
	if (!c->events)
		return rpr_end(c, errno, "there is no RDMA connection manager (%s)", strerror(errno));
	if (fcntl(c->events->fd, F_SETFL, fcntl(c->events->fd, F_GETFL) | O_NONBLOCK))
		return rpr_end(c, errno, "the event channel cannot be set up (%s)", strerror(errno));
	return 0;
}

int rpr_cm_resolve(struct rpr_conn *c, const struct sockaddr *to, int timeout_ms)
{
	int r = open_channel(c);

	if (r)
		return r;
	if (rdma_create_id(c->events, &c->id, c, RDMA_PS_TCP))
		return rpr_end(c, errno, "no connection identifier can be made (%s)", strerror(errno));
	if (rdma_resolve_addr(c->id, NULL, (struct sockaddr *)(uintptr_t)to, timeout_ms))
		return rpr_end(c, errno, "the address is not resolved (%s)", strerror(errno));
	r = await(c, RDMA_CM_EVENT_ADDR_RESOLVED, timeout_ms);
	if (r)
		return r;
	if (rdma_resolve_route(c->id, timeout_ms))
		return rpr_end(c, errno, "the route is not resolved (%s)", strerror(errno));
	return await(c, RDMA_CM_EVENT_ROUTE_RESOLVED, timeout_ms);
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

	if (!ibv_query_device(c->id->verbs, &attr)) {
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

	if (rdma_connect(c->id, &p))
		return rpr_end(c, errno, "the connection cannot be requested (%s)", strerror(errno));
	return await(c, RDMA_CM_EVENT_ESTABLISHED, timeout_ms);
}

int rpr_cm_adopt(struct rpr_conn *c, struct rdma_cm_id *id, const void *data, size_t len)
{
	int r;

	c->id = id;
	take_private(c, data, len);
	r = open_channel(c);
	if (r)
		return r;
	if (rdma_migrate_id(id, c->events))
		return rpr_end(c, errno, "the request cannot be moved to a channel of its own (%s)", strerror(errno));
	id->context = c;
	return 0;
}

int rpr_cm_accept(struct rpr_conn *c, int timeout_ms)
{
	uint8_t data[RPR_RpcRdmaPrivate_LEN];
	struct rdma_conn_param p = param(c, data);

	if (rdma_accept(c->id, &p))
		return rpr_end(c, errno, "the connection cannot be accepted (%s)", strerror(errno));
	return await(c, RDMA_CM_EVENT_ESTABLISHED, timeout_ms);
}

int rpr_cm_progress(struct rpr_conn *c)
{
	int r;

	while ((r = next_event(c)) >= 0)
		;
	return r == -EAGAIN ? 0 : r;
}
