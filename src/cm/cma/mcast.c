/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Multicast. On Ethernet the group's address is its GID (IPv4 mapped), there is no subnet administrator to
 * ask, and a member is a host whose stack has joined. On InfiniBand the host joins the group that the address
 * stands for (cma_host.join), which the subnet administrator answers later. The link is held in the group for as
 * long as the identifier is a member, with or without a QP that is attached; both are counted
 * (engine/mcast.h). A send-only member does not make the host listen. UD only: on an adapter without UD an
 * identifier that could ask does not come to be.
 */
#include "cm/cma/mcast.h"

#include "cm/cma.h"
#include "cm/cma/change.h"
#include "cm/cma/event.h"
#include "cm/cma/id.h"
#include "engine/gid.h"
#include "engine/mcast.h"
#include "util/alloc.h"
#include "util/ip.h"

#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>

#define HOPS_IPV6 1 /* as the kernel's: 64 for IPv4, 1 for IPv6 */
#define MLID 0xc000

static void describe(struct cma_id *id, const struct cma_mc *mc, struct cma_event *e)
	UT_REQUIRES(id->port->dev->lock);
static void describe(struct cma_id *id, const struct cma_mc *mc, struct cma_event *e)
{
	struct cm_options opt = cma_opt(id);
	union ibv_gid sgid;
	int at;

	memcpy(sgid.raw, id->local.addr, sizeof(sgid.raw));
	at = eng_gid_find(id->port->dev, &sgid);
	e->ud = true;
	e->qpn = CMA_QPN_MULTICAST;
	e->qkey = id->ps == CM_PS_IPOIB ? CMA_QKEY_IPOIB : CMA_QKEY;
	e->context = mc->context;
	e->ah = (struct ibv_ah_attr){
		.grh = {
			.dgid = mc->mgid,
			.sgid_index = (uint8_t)(at < 0 ? 0 : at),
			.hop_limit = ut_ip_is_v4(mc->group.addr) ? CMA_HOP_LIMIT : HOPS_IPV6,
			.traffic_class = opt.tos > 0 ? (uint8_t)opt.tos : 0,
		},
		.dlid = MLID,
		.is_global = 1,
		.port_num = ENG_PORT_NUM,
	};
}

static void describe_record(struct cma_id *id, const struct cma_mc *mc, struct cma_event *e)
{
	const struct cm_group *g = &mc->record;

	(void)id;
	e->ud = true;
	e->qpn = CMA_QPN_MULTICAST;
	e->qkey = g->qkey;
	e->context = mc->context;
	e->ah = (struct ibv_ah_attr){
		.grh = { .dgid = g->mgid, .flow_label = g->flow_label, .hop_limit = g->hop_limit,
			 .traffic_class = g->traffic_class },
		.dlid = g->mlid, .sl = g->sl, .is_global = 1, .port_num = ENG_PORT_NUM,
	};
}

/* The group is known, or why not: makes the event of it. */
static void finish(struct cma_id *id, struct cma_mc *mc, int status, const struct cm_group *g)
{
	struct cma_qev *q = mc->answer;
	int r = status;

	mc->answer = NULL;
	if (g) {
		mc->record = *g;
		mc->mgid = g->mgid;
		mc->member = true;
	}
	ut_lock(&id->port->dev->lock);
	if (r == 0 && !mc->send_only)
		r = eng_mcast_hold(id->port->dev, &mc->mgid);
	mc->held = r == 0 && !mc->send_only;
	if (g)
		describe_record(id, mc, &q->e);
	else
		describe(id, mc, &q->e);
	eng_dev_unlock(id->port->dev);
	q->mc = mc;
	q->e.type = r < 0 ? RDMA_CM_EVENT_MULTICAST_ERROR : RDMA_CM_EVENT_MULTICAST_JOIN;
	q->e.status = r;
	ut_lock(&id->c->lock);
	cma_queue(id->c, q);
	ut_unlock(&id->c->lock);
}

static void join(struct cma_id *id, struct cma_mc *mc, struct cma_qev *q)
{
	struct cm_group want = { .ps = id->ps, .send_only = mc->send_only }, got;
	int r;

	memcpy(want.addr, mc->mgid.raw, sizeof(want.addr));
	mc->answer = q;
	ut_list_add_tail(&id->mcs, &mc->node);
	ut_lock(&id->c->lock);
	mc->ticket = ++id->c->tickets;
	ut_unlock(&id->c->lock);
	r = id->c->host->join(id->port, &want, mc->ticket, &got);
	if (r == -EINPROGRESS)
		return;
	finish(id, mc, r == -EOPNOTSUPP ? 0 : r, r == 0 ? &got : NULL);
}

static struct cma_mc *find_ticket(struct cma_id *id, uint64_t ticket)
{
	struct cma_mc *mc;

	ut_list_each(mc, &id->mcs, node)
		if (mc->answer && mc->ticket == ticket)
			return mc;
	return NULL;
}

bool cma_group_answer(struct cma *c, uint64_t ticket, int status, const struct cm_group *g)
{
	bool found = false;
	struct cma_id **v;
	size_t n;

	if (cma_foreign(c))
		return false;
	v = cma_hold_all(c, &n);
	for (size_t i = 0; i < n; i++) {
		struct cma_mc *mc;

		ut_lock(&v[i]->call);
		mc = find_ticket(v[i], ticket);
		if (mc)
			finish(v[i], mc, status, status ? NULL : g);
		ut_unlock(&v[i]->call);
		found |= mc != NULL;
		cma_id_put(v[i]);
	}
	free(v);
	return found;
}

static int join_call(struct cma_id *id, const struct sockaddr *group, bool send_only,
		     void *context)
{
	struct cma_qev *q;
	struct cma_addr a;
	struct cma_mc *mc;
	int r = cma_addr_read(group, &a);

	if (r == 0)
		r = cma_may(id, CMA_DO_JOIN);
	if (r == 0 && (!id->port || id->qp_type != IBV_QPT_UD))
		r = -EINVAL;
	if (r < 0)
		return r;
	mc = ut_zalloc(sizeof(*mc));
	q = cma_qev_new(id, 0, 0);
	if (!mc || !q) {
		free(mc);
		free(q);
		return -ENOMEM;
	}
	mc->group = a.end;
	memcpy(mc->mgid.raw, a.end.addr, sizeof(mc->mgid.raw));
	/* "Any" group has the GID zero, whatever the family. */
	if (ut_ip_is_any(a.end.addr))
		memset(mc->mgid.raw, 0, sizeof(mc->mgid.raw));
	mc->context = context;
	mc->send_only = send_only;
	join(id, mc, q);
	return 0;
}

int cma_join(struct cma_id *id, const struct sockaddr *group, bool send_only, void *context)
{
	if (!cma_enter(id))
		return -EIO;
	return cma_leave_call(id, join_call(id, group, send_only, context));
}

static void leave(struct cma_id *id, struct cma_mc *mc)
{
	struct ut_list events = UT_LIST_INIT(events);
	struct ut_list *n;

	ut_list_del(&mc->node);
	ut_lock(&id->c->lock);
	cma_unqueue(id->c, id, mc, &events);
	ut_unlock(&id->c->lock);
	while ((n = ut_list_pop(&events)))
		free(ut_container(n, struct cma_qev, node));
	free(mc->answer);
	if (mc->held) {
		ut_lock(&id->port->dev->lock);
		eng_mcast_release(id->port->dev, &mc->mgid);
		eng_dev_unlock(id->port->dev);
	}
	if (mc->member)
		id->c->host->leave(id->port, &mc->record);
	free(mc);
}

void cma_leave_all(struct cma_id *id)
{
	struct cma_mc *mc, *tmp;

	ut_list_each_safe(mc, tmp, &id->mcs, node)
		leave(id, mc);
}

static int leave_call(struct cma_id *id, const struct sockaddr *group)
{
	struct cma_mc *mc;
	struct cma_addr a;
	int r = cma_addr_read(group, &a);

	if (r < 0)
		return r;
	ut_list_each(mc, &id->mcs, node) {
		if (!ut_ip_same(mc->group.addr, a.end.addr))
			continue;
		leave(id, mc);
		return 0;
	}
	return -EADDRNOTAVAIL;
}

int cma_leave(struct cma_id *id, const struct sockaddr *group)
{
	if (!cma_enter(id))
		return -EIO;
	return cma_leave_call(id, leave_call(id, group));
}
