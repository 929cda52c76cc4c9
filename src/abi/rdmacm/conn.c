/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Connections: listen, connect, accept, reject, confirm, end. */
#include "abi/rdmacm/rcm.h"
#include "abi/rdmacm/addr.h"
#include "abi/rdmacm/chan.h"
#include "abi/rdmacm/qp.h"
#include "abi/rdmacm/wait.h"

#define RETRY_MAX 7

UT_EXPORT int rdma_listen(struct rdma_cm_id *pub, int backlog)
{
	struct rcm_id *id = rcm_of(pub, rcm_id);
	int rc;

	if (!pub)
		return rcm_result(-EINVAL);
	rc = id->nowhere ? -ENODEV : cma_listen(id->cma, backlog);
	if (!rc && !id->dev)
		rcm_chan_hears(pub->channel, NULL); /* on all adapters */
	return rcm_result(rc ? rc : rcm_refresh(id));
}

/* Depths beyond the device's are the program's mistake; RDMA_MAX_* are not. */
static int check(const struct rcm_id *id, const struct rdma_conn_param *p)
{
	if (!p)
		return rcm_is_ud(id) || id->pub.qp ? 0 : -EINVAL;
	if (p->private_data_len && !p->private_data)
		return -EINVAL;
	if (rcm_is_ud(id))
		return 0;
	if (!id->dev)
		return -EINVAL;
	if (p->responder_resources != RDMA_MAX_RESP_RES &&
	    p->responder_resources > id->dev->max_responder)
		return -EINVAL;
	if (p->initiator_depth != RDMA_MAX_INIT_DEPTH &&
	    p->initiator_depth > id->dev->max_initiator)
		return -EINVAL;
	return 0;
}

static uint8_t least(uint8_t a, uint8_t b)
{
	return a < b ? a : b;
}

/* "As much as possible" of a depth: the device's, or what the request leaves. */
static uint8_t depth(const struct rdma_conn_param *p, uint8_t asked, uint8_t most)
{
	return p && asked != RDMA_MAX_RESP_RES ? asked : most;
}

/* The manager's, which differs among port spaces. */
static uint32_t qkey_of(const struct rcm_id *id)
{
	struct cma_info i;

	if (!rcm_is_ud(id))
		return 0;
	cma_query(id->cma, &i);
	return i.qkey ? i.qkey : RDMA_UDP_QKEY;
}

static struct cm_param make_param(const struct rcm_id *id, const struct rdma_conn_param *p)
{
	const struct ibv_qp *qp = id->pub.qp;

	return (struct cm_param){
		.private_data = p ? p->private_data : NULL,
		.private_len = p ? p->private_data_len : 0,
		.responder_resources = id->responder,
		.initiator_depth = id->initiator,
		.retry_count = p ? least(p->retry_count, RETRY_MAX) : RETRY_MAX,
		.rnr_retry_count = p ? least(p->rnr_retry_count, RETRY_MAX) : RETRY_MAX,
		.flow_control = p ? p->flow_control : true,
		.srq = qp ? qp->srq || id->pub.srq : p && p->srq,
		.qp_type = id->pub.qp_type,
		.qpn = qp ? qp->qp_num : p ? p->qp_num : 0,
		.qkey = qkey_of(id),
		.ece = id->ece,
	};
}

/* A queue pair of the identifier's brings its own options. */
static void take_ece(struct rcm_id *id)
{
	struct ibv_ece ece = { 0 };

	if (!id->pub.qp || ibv_query_ece(id->pub.qp, &ece))
		return;
	id->ece = (struct cm_ece){ ece.vendor_id, ece.options };
}

static int do_connect(struct rcm_id *id, const struct rdma_conn_param *p)
{
	struct cm_param param;
	int rc = check(id, p);

	if (rc)
		return rc;
	if (id->dev) {
		id->responder = depth(p, p ? p->responder_resources : 0, id->dev->max_responder);
		id->initiator = depth(p, p ? p->initiator_depth : 0, id->dev->max_initiator);
	}
	take_ece(id);
	param = make_param(id, p);
	id->qpn = param.qpn;
	rc = cma_connect(id->cma, &param);
	return rc ? rc : rcm_complete(id, RDMA_CM_EVENT_ESTABLISHED);
}

UT_EXPORT int rdma_connect(struct rdma_cm_id *id, struct rdma_conn_param *conn_param)
{
	return rcm_result(id ? do_connect(rcm_of(id, rcm_id), conn_param) : -EINVAL);
}

/* id->responder and id->initiator are the request's until now. */
static int do_accept(struct rcm_id *id, const struct rdma_conn_param *p)
{
	struct cm_param param;
	int rc = check(id, p);

	rcm_id_used(id);
	if (rc)
		return rc;
	if (id->dev && !rcm_is_ud(id)) {
		id->responder = depth(p, p ? p->responder_resources : 0,
				      least(id->responder, id->dev->max_responder));
		id->initiator = depth(p, p ? p->initiator_depth : 0,
				      least(id->initiator, id->dev->max_initiator));
		rc = rcm_qp_connect(id, id->responder, id->initiator);
		if (rc)
			return rc;
	}
	take_ece(id);
	param = make_param(id, p);
	id->qpn = param.qpn;
	rc = cma_accept(id->cma, &param);
	if (rc) {
		if (!rcm_is_ud(id))
			rcm_qp_fail(id);
		return rc;
	}
	if (rcm_is_ud(id)) /* answered, and nothing follows */
		return 0;
	return rcm_complete(id, RDMA_CM_EVENT_ESTABLISHED);
}

UT_EXPORT int rdma_accept(struct rdma_cm_id *id, struct rdma_conn_param *conn_param)
{
	return rcm_result(id ? do_accept(rcm_of(id, rcm_id), conn_param) : -EINVAL);
}

static int do_reject(struct rdma_cm_id *id, enum cm_reject reason, const void *data, uint8_t len)
{
	if (!id || (len && !data))
		return -EINVAL;
	rcm_id_used(rcm_of(id, rcm_id));
	return cma_reject(rcm_of(id, rcm_id)->cma, reason, data, len);
}

UT_EXPORT int rdma_reject(struct rdma_cm_id *id, const void *private_data,
			  uint8_t private_data_len)
{
	return rcm_result(do_reject(id, CM_REJ_CONSUMER, private_data, private_data_len));
}

UT_EXPORT int rdma_reject_ece(struct rdma_cm_id *id, const void *private_data,
			      uint8_t private_data_len)
{
	return rcm_result(do_reject(id, CM_REJ_VENDOR_OPTION, private_data, private_data_len));
}

/* For programs that move a queue pair of their own, after RDMA_CM_EVENT_CONNECT_RESPONSE. */
UT_EXPORT int rdma_establish(struct rdma_cm_id *id)
{
	int rc;

	if (!id || id->qp)
		return rcm_result(-EINVAL);
	rc = cma_establish(rcm_of(id, rcm_id)->cma);
	if (!rc)
		rcm_of(id, rcm_id)->connected = true;
	return rcm_result(rc);
}

UT_EXPORT int rdma_notify(struct rdma_cm_id *id, enum ibv_event_type event)
{
	return rcm_result(id ? cma_notify(rcm_of(id, rcm_id)->cma, event) : -EINVAL);
}

/* Programs disconnect in answer to a disconnect, and may be told of the
 * peer's only afterwards: what is over already is no failure. */
static int do_disconnect(struct rcm_id *id)
{
	int rc = rcm_qp_fail(id);

	if (rc)
		return rc;
	rc = cma_disconnect(id->cma);
	if (rc == -EINVAL && id->connected) {
		if (!id->disconnected)
			rcm_had(id, RDMA_CM_EVENT_DISCONNECTED);
		return 0;
	}
	if (rc || id->disconnected)
		return rc;
	return rcm_complete(id, RDMA_CM_EVENT_DISCONNECTED);
}

UT_EXPORT int rdma_disconnect(struct rdma_cm_id *id)
{
	return rcm_result(id ? do_disconnect(rcm_of(id, rcm_id)) : -EINVAL);
}

UT_EXPORT int rdma_set_local_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	if (!id || id->qp || !ece || !ece->vendor_id || ece->comp_mask)
		return rcm_result(-EINVAL);
	rcm_of(id, rcm_id)->ece = (struct cm_ece){ ece->vendor_id, ece->options };
	return 0;
}

UT_EXPORT int rdma_get_remote_ece(struct rdma_cm_id *id, struct ibv_ece *ece)
{
	struct cma_info i;

	if (!id || id->qp || !ece)
		return rcm_result(-EINVAL);
	cma_query(rcm_of(id, rcm_id)->cma, &i);
	*ece = (struct ibv_ece){ .vendor_id = i.peer_ece.vendor_id,
				 .options = i.peer_ece.options };
	return 0;
}
