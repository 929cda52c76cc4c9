/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoints: an identifier with its address, route and queue pair in one call. */
#include "abi/rdmacm/rcm.h"
#include "abi/rdmacm/addr.h"
#include "abi/rdmacm/id.h"
#include "abi/rdmacm/wait.h"

#include "util/alloc.h"

#include <rdma/rdma_verbs.h>

static int make_passive(struct rcm_id *id, const struct rdma_addrinfo *res, struct ibv_pd *pd,
			const struct ibv_qp_init_attr *attr)
{
	int rc = rcm_bind(id, res->ai_src_addr);

	if (rc || !attr)
		return rc;
	id->ep_attr = ut_malloc(sizeof(*attr));
	if (!id->ep_attr)
		return -ENOMEM;
	*id->ep_attr = *attr;
	id->ep_attr->qp_type = (enum ibv_qp_type)res->ai_qp_type;
	id->ep_pd = pd;
	return 0;
}

/* Path records of rdma_getaddrinfo() or of the program's own. */
static int take_route(struct rcm_id *id, const struct rdma_addrinfo *res)
{
	int rc = cma_option(id->cma, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, res->ai_route, res->ai_route_len);

	return rc ? rc : rcm_complete(id, RDMA_CM_EVENT_ROUTE_RESOLVED);
}

static int make_active(struct rcm_id *id, const struct rdma_addrinfo *res, struct ibv_pd *pd,
		       struct ibv_qp_init_attr *attr)
{
	int rc = rcm_resolve_addr(id, res->ai_src_len ? res->ai_src_addr : NULL,
				  res->ai_dst_addr, RCM_RESOLVE_MS);

	if (!rc)
		rc = res->ai_route_len ? take_route(id, res) : rcm_resolve_route(id, RCM_RESOLVE_MS);
	if (rc || !attr)
		return rc;
	attr->qp_type = (enum ibv_qp_type)res->ai_qp_type;
	return rdma_create_qp(&id->pub, pd, attr) ? -errno : 0;
}

static int create_ep(const struct rdma_addrinfo *res, struct ibv_pd *pd,
		     struct ibv_qp_init_attr *attr, struct rcm_id **ret)
{
	int rc = rcm_id_create(NULL, NULL, (enum rdma_port_space)res->ai_port_space,
			       (enum ibv_qp_type)res->ai_qp_type, ret);

	if (rc)
		return rc;
	if (res->ai_flags & RAI_PASSIVE)
		rc = make_passive(*ret, res, pd, attr);
	else
		rc = make_active(*ret, res, pd, attr);
	if (rc)
		rdma_destroy_ep(&(*ret)->pub);
	return rc;
}

UT_EXPORT int rdma_create_ep(struct rdma_cm_id **ret, struct rdma_addrinfo *res,
			     struct ibv_pd *pd, struct ibv_qp_init_attr *qp_init_attr)
{
	struct rcm_id *id;
	int rc;

	if (!ret || !res)
		return rcm_result(-EINVAL);
	rc = create_ep(res, pd, qp_init_attr, &id);
	if (!rc)
		*ret = &id->pub;
	return rcm_result(rc);
}

UT_EXPORT void rdma_destroy_ep(struct rdma_cm_id *id)
{
	if (!id)
		return;
	if (id->qp)
		rdma_destroy_qp(id);
	if (id->srq)
		rdma_destroy_srq(id);
	rdma_destroy_id(id);
}

static int give_qp(const struct rcm_id *listener, struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr;

	if (!listener->ep_attr)
		return 0;
	attr = *listener->ep_attr;
	return rdma_create_qp(id, listener->ep_pd, &attr) ? -errno : 0;
}

static int get_request(struct rcm_id *listener, struct rdma_cm_id **ret)
{
	struct rcm_event *e;
	struct rdma_cm_id *id;
	int rc;

	if (!listener->own)
		return -EINVAL;
	rcm_forget_event(listener);
	rc = rcm_event_get(listener->own, &e);
	if (rc)
		return rc;
	if (e->pub.event != RDMA_CM_EVENT_CONNECT_REQUEST || e->pub.status) {
		rc = e->pub.status < 0 ? e->pub.status : -EINVAL;
		rdma_ack_cm_event(&e->pub);
		return rc;
	}
	id = e->pub.id;
	id->event = &e->pub;
	rc = give_qp(listener, id);
	if (rc) {
		rdma_reject(id, NULL, 0);
		rdma_destroy_ep(id);
		return rc;
	}
	*ret = id;
	return 0;
}

UT_EXPORT int rdma_get_request(struct rdma_cm_id *listen, struct rdma_cm_id **id)
{
	return rcm_result(listen && id ? get_request(rcm_of(listen, rcm_id), id) : -EINVAL);
}
