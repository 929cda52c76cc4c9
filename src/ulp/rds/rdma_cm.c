/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/rdma_cm.h"

#include "ulp/rds/keep.h"
#include "ulp/rds/node.h"
#include "ulp/rds/private.h"
#include "ulp/rds/rdma_queue.h"

#include <arpa/inet.h>
#include <errno.h>
#include <string.h>

#define RESOLVE_MS 5000                 /* RDS_RDMA_RESOLVE_TIMEOUT_MS of Linux */
#define RETRIES 3

/* --- private data --- */

static size_t put_private(const struct rds_rdma *r, uint8_t out[WIRE_RDS_PRIVATE6_LEN], uint32_t credits)
{
	struct rds_private p = { .from = r->c.local, .to = r->c.peer, .credits = credits };

	return rds_private_put(out, &p);
}

static struct rdma_conn_param param(const uint8_t *data, size_t len)
{
	return (struct rdma_conn_param){ .private_data = data, .private_data_len = (uint8_t)len, .responder_resources = RDMA_MAX_RESP_RES,
					 .initiator_depth = RDMA_MAX_INIT_DEPTH, .retry_count = RETRIES, .rnr_retry_count = 7 };
}

/* --- the end that requests --- */

static int request(struct rds_rdma *r)
{
	uint8_t data[WIRE_RDS_PRIVATE6_LEN];
	struct rdma_conn_param p = param(data, put_private(r, data, RDS_RDMA_RECEIVES));
	int e = rds_rdma_make_queues(r);

	if (e)
		return e;
	r->state = RDS_RDMA_CONNECTING;
	return rdma_connect(r->u.id, &p) ? ulp_end(&r->u, errno, "the connection cannot be requested (%s)", strerror(errno)) : 0;
}

/* The address has a device; RDS needs one whose connections are those of InfiniBand. */
static int resolve_route(struct rds_rdma *r)
{
	if (r->u.id->verbs->device->node_type != IBV_NODE_CA)
		return ulp_end(&r->u, EADDRNOTAVAIL, "the address has no channel adapter");
	return rdma_resolve_route(r->u.id, RESOLVE_MS)
		? ulp_end(&r->u, errno, "the route is not resolved (%s)", strerror(errno)) : 0;
}

/* The reply of the peer: its private data say whether it counts credits. */
static int take_reply(struct rds_rdma *r, const struct rdma_cm_event *ev)
{
	const struct rdma_conn_param *p = &ev->param.conn;
	struct rds_private data;
	enum rds_verdict v = rds_private_get(&data, p->private_data, p->private_data ? p->private_data_len : 0, r->c.local.family);

	if (v != RDS_GOOD)
		return rds_rdma_broke_rule(r, v);
	rds_credit_begin(&r->credit, data.credits, true);
	rds_rdma_stand(r);
	return 0;
}

static int established(struct rds_rdma *r, const struct rdma_cm_event *ev)
{
	if (r->active)
		return take_reply(r, ev);
	rds_rdma_stand(r);
	return 0;
}

static int take_event(struct ulp_conn *u, const struct rdma_cm_event *ev)
{
	struct rds_rdma *r = ut_container(u, struct rds_rdma, u);

	switch (ev->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		return resolve_route(r);
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		return request(r);
	case RDMA_CM_EVENT_ESTABLISHED:
		return established(r, ev);
	case RDMA_CM_EVENT_TIMEWAIT_EXIT:
		return 0;
	case RDMA_CM_EVENT_DISCONNECTED:
		return ulp_end(u, ECONNRESET, "the peer has ended it");
	default:
		return ulp_unexpected(u, ev, ENETUNREACH);
	}
}

void rds_rdma_take_events(struct rds_rdma *r)
{
	if (!r->u.error)
		ulp_take_events(&r->u);
	rds_rdma_check(r);
}

int rds_rdma_request(struct rds_rdma *r)
{
	struct rsp_addr peer = r->c.peer;
	struct sockaddr_storage from, to;
	int e;

	r->u = (struct ulp_conn){ .take_event = take_event };
	r->active = true;
	r->state = RDS_RDMA_RESOLVING;
	peer.port = htons(peer.family == AF_INET6 ? WIRE_RDS_TCP_PORT : WIRE_RDS_RDMA_PORT);
	rsp_addr_to(&r->c.local, &from);
	rsp_addr_to(&peer, &to);
	e = ulp_open(&r->u);
	if (e)
		return e;
	if (rdma_create_id(r->u.events, &r->u.id, r, RDMA_PS_TCP))
		return ulp_end(&r->u, errno, "there is no identifier for it (%s)", strerror(errno));
	return rdma_resolve_addr(r->u.id, (struct sockaddr *)&from, (struct sockaddr *)&to, RESOLVE_MS)
		? ulp_end(&r->u, errno, "the address is not resolved (%s)", strerror(errno)) : 0;
}

/* --- the end that is asked --- */

int rds_rdma_admit(struct rds_rdma *r, struct rdma_cm_id *id, const struct rds_private *p)
{
	uint8_t data[WIRE_RDS_PRIVATE6_LEN];
	struct rdma_conn_param answer = param(data, put_private(r, data, p->credits ? RDS_RDMA_RECEIVES : 0));
	int e;

	r->u = (struct ulp_conn){ .take_event = take_event };
	r->active = false;
	r->state = RDS_RDMA_ACCEPTING;
	e = ulp_adopt(&r->u, id);
	if (!e)
		e = rds_rdma_make_queues(r);
	if (e)
		return e;
	rds_credit_begin(&r->credit, p->credits, p->credits);
	rds_keep_conn(&r->c); /* once it is accepted, the peer has a connection */
	return rdma_accept(id, &answer) ? ulp_end(&r->u, errno, "the request cannot be accepted (%s)", strerror(errno)) : 0;
}

void rds_rdma_release(struct rds_rdma *r)
{
	if (r->state == RDS_RDMA_UP)
		rdma_disconnect(r->u.id);
	else if (r->state == RDS_RDMA_ACCEPTING && r->u.id)
		rdma_reject(r->u.id, NULL, 0);
	ulp_destroy_qp(&r->u);
	ulp_destroy(&r->u);
	r->u = (struct ulp_conn){ 0 };
}
