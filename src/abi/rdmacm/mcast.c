/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Multicast groups. The manager is given the address of our record as the
 * context of a join; what it gives back is looked up and not trusted, since a
 * group may have been left while its event was on the way.
 */
#include "abi/rdmacm/mcast.h"

#include "abi/rdmacm/addr.h"
#include "abi/rdmacm/wait.h"
#include "util/alloc.h"

#include <infiniband/ib.h>
#include <stdlib.h>
#include <string.h>

struct rcm_group *rcm_group_hold(struct rcm_id *id, const void *context)
{
	struct rcm_group *g, *found = NULL;

	ut_lock(&id->lock);
	ut_list_each(g, &id->groups, node)
		if (g == context) {
			g->delivered++;
			found = g;
		}
	ut_unlock(&id->lock);
	return found;
}

int rcm_group_joined(struct rcm_id *id, struct rcm_group *g, const struct ibv_ah_attr *ah)
{
	int rc;

	g->mgid = ah->grh.dgid;
	g->mlid = ah->dlid;
	if (!id->pub.qp || g->send_only)
		return 0;
	rc = -ibv_attach_mcast(id->pub.qp, &g->mgid, g->mlid);
	g->attached = !rc;
	return rc;
}

void rcm_groups_forget(struct rcm_id *id)
{
	struct ut_list *n;

	ut_lock(&id->lock);
	while ((n = ut_list_pop(&id->groups)))
		free(ut_container(n, struct rcm_group, node));
	ut_unlock(&id->lock);
}

static struct rcm_group *add(struct rcm_id *id, const struct sockaddr *addr, bool send_only,
			     void *context)
{
	struct rcm_group *g = ut_zalloc(sizeof(*g));

	if (!g)
		return NULL;
	memcpy(&g->addr, addr, rcm_addr_len(addr));
	g->send_only = send_only;
	g->context = context;
	ut_lock(&id->lock);
	ut_list_add_tail(&id->groups, &g->node);
	ut_unlock(&id->lock);
	return g;
}

static void drop(struct rcm_id *id, struct rcm_group *g)
{
	ut_lock(&id->lock);
	ut_list_del(&g->node);
	ut_unlock(&id->lock);
	free(g);
}

static int join(struct rcm_id *id, const struct sockaddr *addr, bool send_only, void *context)
{
	struct rcm_group *g;
	int rc;

	if (!addr || !rcm_addr_len(addr))
		return -EINVAL;
	g = add(id, addr, send_only, context);
	if (!g)
		return -ENOMEM;
	rc = cma_join(id->cma, addr, send_only, g);
	if (rc) {
		drop(id, g);
		return rc;
	}
	return rcm_complete(id, RDMA_CM_EVENT_MULTICAST_JOIN);
}

UT_EXPORT int rdma_join_multicast(struct rdma_cm_id *id, struct sockaddr *addr, void *context)
{
	return rcm_result(id ? join(rcm_of(id, rcm_id), addr, false, context) : -EINVAL);
}

UT_EXPORT int rdma_join_multicast_ex(struct rdma_cm_id *id, struct rdma_cm_join_mc_attr_ex *attr,
				     void *context)
{
	const uint32_t need = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;

	if (!id || !attr || attr->comp_mask != need)
		return rcm_result(-EINVAL);
	if (attr->join_flags >= RDMA_MC_JOIN_FLAG_RESERVED)
		return rcm_result(-EINVAL);
	return rcm_result(join(rcm_of(id, rcm_id), attr->addr,
			       attr->join_flags == RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, context));
}

static bool same(const struct rcm_group *g, const struct sockaddr *addr)
{
	return g->addr.ss_family == addr->sa_family && !memcmp(&g->addr, addr, rcm_addr_len(addr));
}

/* Off the list, so that no more events find it. */
static struct rcm_group *take(struct rcm_id *id, const struct sockaddr *addr)
{
	struct rcm_group *g, *found = NULL;

	ut_lock(&id->lock);
	ut_list_each(g, &id->groups, node)
		if (same(g, addr)) {
			found = g;
			ut_list_del(&g->node);
			break;
		}
	ut_unlock(&id->lock);
	return found;
}

static void await_acks(struct rcm_id *id, const struct rcm_group *g)
{
	ut_lock(&id->lock);
	while (g->acked != g->delivered)
		ut_cond_wait(&id->acks, &id->lock, UINT64_MAX);
	ut_unlock(&id->lock);
}

static int leave(struct rcm_id *id, const struct sockaddr *addr)
{
	struct rcm_group *g;
	int rc;

	if (!addr || !rcm_addr_len(addr))
		return -EINVAL;
	g = take(id, addr);
	if (!g)
		return -EADDRNOTAVAIL;
	if (g->attached && id->pub.qp)
		ibv_detach_mcast(id->pub.qp, &g->mgid, g->mlid);
	rc = cma_leave(id->cma, addr);
	/* The event of the join is a synchronous identifier's own to acknowledge. */
	if (id->own)
		rcm_forget_event(id);
	await_acks(id, g);
	free(g);
	return rc;
}

UT_EXPORT int rdma_leave_multicast(struct rdma_cm_id *id, struct sockaddr *addr)
{
	return rcm_result(id ? leave(rcm_of(id, rcm_id), addr) : -EINVAL);
}
