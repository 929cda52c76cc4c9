/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/cm/conn.h"

#include "dat/provider/cm/active.h"
#include "dat/provider/ep/ep.h"
#include "dat/provider/ia/counters.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/obj.h"

#include <stdlib.h>

struct dpr_conn *dpr_conn_new(struct dpr_ia *ia, bool active)
{
	struct dpr_conn *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	atomic_store(&c->refs, 1);
	c->ia = ia;
	c->active = active;
	ut_mutex_init(&c->lock);
	ut_list_init(&c->of_ep);
	dpr_timer_init(&c->timer, dpr_conn_timeout);
	return c;
}

void dpr_conn_hold(struct dpr_conn *c)
{
	atomic_fetch_add(&c->refs, 1);
}

/* For the id and the timer, which have no reference: the last one may be gone. */
bool dpr_conn_hold_alive(struct dpr_conn *c)
{
	uint32_t n = atomic_load(&c->refs);

	while (n)
		if (atomic_compare_exchange_weak(&c->refs, &n, n + 1))
			return true;
	return false;
}

/* rdma_destroy_id waits for acknowledgements of events, the timer for its handler. */
void dpr_conn_put(struct dpr_conn *c)
{
	if (atomic_fetch_sub(&c->refs, 1) != 1)
		return;
	dpr_timer_cancel(&c->timer);
	if (c->id)
		rdma_destroy_id(c->id);
	dpr_conn_leave(c);
	ut_mutex_fini(&c->lock);
	free(c);
}

struct dpr_ep *dpr_conn_ep(struct dpr_conn *c)
{
	struct dpr_ep *ep;

	ut_lock(&c->lock);
	ep = c->ep;
	if (ep)
		dpr_obj_hold(&ep->obj);
	ut_unlock(&c->lock);
	return ep;
}

void dpr_conn_join(struct dpr_conn *c, struct dpr_ep *ep)
{
	dpr_obj_hold(&ep->obj);
	ut_lock(&c->lock);
	c->ep = ep;
	ut_unlock(&c->lock);
}

void dpr_conn_leave(struct dpr_conn *c)
{
	struct dpr_ep *ep;

	ut_lock(&c->lock);
	ep = c->ep;
	c->ep = NULL;
	ut_unlock(&c->lock);
	if (ep)
		dpr_obj_put(&ep->obj);
}

void dpr_conn_disconnect(struct dpr_conn *c)
{
	bool first = !atomic_exchange(&c->over, true);

	if (c->id && !rdma_disconnect(c->id) && first)
		dpr_count(&c->ia->counters[DCNT_IA_CM_DREQ_TX], 1);
}

struct dpr_ep *dpr_conn_lock_ep(struct dpr_conn *c)
{
	struct dpr_ep *ep = dpr_conn_ep(c);

	if (!ep)
		return NULL;
	ut_lock(&ep->lock);
	if (ep->conn == c || (c->ud && c->linked))
		return ep;
	ut_unlock(&ep->lock);
	dpr_obj_put(&ep->obj);
	return NULL;
}

void dpr_conn_unlock_ep(struct dpr_ep *ep)
{
	ut_unlock(&ep->lock);
	dpr_obj_put(&ep->obj);
}
