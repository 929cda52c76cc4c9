/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * From the manager's event to the program's: the structure is filled, and what
 * the library does on its own happens here, in the thread that asked for the
 * event: a response moves the queue pair and confirms, an end of the connection
 * puts it in error, a joined group is attached.
 */
#include "abi/rdmacm/event.h"

#include "abi/rdmacm/addr.h"
#include "abi/rdmacm/chan.h"
#include "abi/rdmacm/id.h"
#include "abi/rdmacm/mcast.h"
#include "abi/rdmacm/qp.h"

static const void *data_of(const struct cm_param *p)
{
	return p->private_len ? p->private_data : NULL;
}

static uint8_t length_of(const struct cm_param *p)
{
	return (uint8_t)(p->private_len < UINT8_MAX ? p->private_len : UINT8_MAX);
}

static void fill_conn(struct rcm_event *e)
{
	const struct cm_param *p = &e->ev.param;

	e->pub.param.conn = (struct rdma_conn_param){
		.private_data = data_of(p),
		.private_data_len = length_of(p),
		.responder_resources = p->responder_resources,
		.initiator_depth = p->initiator_depth,
		.flow_control = p->flow_control,
		.retry_count = p->retry_count,
		.rnr_retry_count = p->rnr_retry_count,
		.srq = p->srq,
		.qp_num = p->qpn,
	};
}

static void fill_ud(struct rcm_event *e)
{
	const struct cm_param *p = &e->ev.param;

	e->pub.param.ud = (struct rdma_ud_param){
		.private_data = data_of(p),
		.private_data_len = length_of(p),
		.ah_attr = e->ev.ah,
		.qp_num = e->ev.qpn,
		.qkey = e->ev.qkey,
	};
}

static void fail(struct rcm_event *e, enum rdma_cm_event_type type, int rc)
{
	e->pub.event = type;
	e->pub.status = rc;
}

/* The new identifier of a request. One that cannot be shown is refused. */
static bool on_request(struct rcm_event *e)
{
	struct rcm_id *id = rcm_of(e->pub.id, rcm_id);
	int rc;

	id->responder = e->ev.param.responder_resources;
	id->initiator = e->ev.param.initiator_depth;
	rc = rcm_refresh(id);
	if (!rc && e->counted->own)
		rc = rcm_id_migrate(id, NULL);
	if (!rc)
		return true;
	rcm_id_silence(id);
	rcm_id_free(id);
	return false;
}

/* The peer accepted. Without a queue pair of the identifier's the program confirms. */
static void on_response(struct rcm_event *e)
{
	struct rcm_id *id = e->counted;
	int rc;

	if (!id->pub.qp)
		return;
	rc = rcm_qp_connect(id, RDMA_MAX_RESP_RES, RDMA_MAX_INIT_DEPTH);
	if (!rc)
		rc = cma_establish(id->cma);
	if (!rc) {
		id->connected = true;
		e->pub.event = RDMA_CM_EVENT_ESTABLISHED;
		return;
	}
	id->given_up = true;
	rcm_qp_fail(id);
	cma_reject(id->cma, CM_REJ_CONSUMER, NULL, 0);
	fail(e, RDMA_CM_EVENT_CONNECT_ERROR, rc);
}

static void on_established(struct rcm_event *e)
{
	struct rcm_id *id = e->counted;

	id->connected = true;
	/* Over a stream the source port is chosen by connecting. */
	if (!rdma_get_src_port(&id->pub))
		rcm_refresh(id);
}

static bool on_group(struct rcm_event *e)
{
	int rc;

	e->group = rcm_group_hold(e->counted, e->ev.context);
	if (!e->group)
		return false;
	fill_ud(e);
	e->pub.param.ud.private_data = e->group->context;
	e->pub.param.ud.private_data_len = 0;
	if (e->ev.type != RDMA_CM_EVENT_MULTICAST_JOIN || e->ev.status)
		return true;
	rc = rcm_group_joined(e->counted, e->group, &e->ev.ah);
	if (rc)
		fail(e, RDMA_CM_EVENT_MULTICAST_ERROR, rc);
	return true;
}

static void on_resolved(struct rcm_event *e, enum rdma_cm_event_type failure)
{
	int rc = e->ev.status ? 0 : rcm_refresh(e->counted);

	if (rc)
		fail(e, failure, rc);
}

/* Ends of a connection. */
static bool on_end(struct rcm_event *e)
{
	struct rcm_id *id = e->counted;

	if (id->given_up && e->ev.type != RDMA_CM_EVENT_CONNECT_ERROR)
		return false;
	if (e->ev.type == RDMA_CM_EVENT_DISCONNECTED)
		id->disconnected = true;
	if (e->ev.type == RDMA_CM_EVENT_REJECTED || e->ev.type == RDMA_CM_EVENT_DISCONNECTED)
		rcm_qp_fail(id);
	return true;
}

bool rcm_event_fill(struct rcm_event *e)
{
	e->pub.event = (enum rdma_cm_event_type)e->ev.type;
	e->pub.status = e->ev.status;
	if (e->ev.ud)
		fill_ud(e);
	else
		fill_conn(e);
	switch (e->ev.type) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		on_resolved(e, RDMA_CM_EVENT_ADDR_ERROR);
		return true;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		on_resolved(e, RDMA_CM_EVENT_ROUTE_ERROR);
		return true;
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		return on_request(e);
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		on_response(e);
		return true;
	case RDMA_CM_EVENT_ESTABLISHED:
		on_established(e);
		return true;
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		return on_end(e);
	case RDMA_CM_EVENT_MULTICAST_JOIN:
	case RDMA_CM_EVENT_MULTICAST_ERROR:
		return on_group(e);
	default:
		return true;
	}
}
