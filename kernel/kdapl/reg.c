// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kdapl/reg.h"

#include "kdapl/conn.h"
#include "kdapl/post.h"
#include "kdapl/sp.h"

#include <linux/completion.h>
#include <linux/random.h>
#include <linux/slab.h>

enum { QLEN = 16, CONNECT_MS = 30000 };

struct kdp_reg {
	struct kdp_evd *done, *conn; /* completions; connection events and requests */
	struct kdp_sp *psp;
	struct kdp_ep *ep[2];        /* the one that connects and posts, the one that accepts */
	struct completion up;        /* the first is CONNECTED, or never will be */
	bool ok;
	u8 token[16];                /* of the request that is accepted: strangers may connect to the port too */
};

/* The waiter of one registration, which the cookie names. */
struct waiter {
	struct completion done;
	DAT_DTO_COMPLETION_STATUS status;
};

static void on_done(DAT_PVOID data, const DAT_EVENT *ev, DAT_BOOLEAN more)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *d = &ev->event_data.dto_completion_event_data;
	struct waiter *w = d->user_cookie.as_ptr;

	w->status = d->status;
	complete(&w->done);
}

static bool is_own(const struct kdp_reg *r, DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM p;

	return !kdp_cr_query(cr, DAT_CR_FIELD_ALL, &p) && p.private_data_size >= (DAT_COUNT)sizeof(r->token) &&
	       !memcmp(p.private_data, r->token, sizeof(r->token));
}

static void on_conn(DAT_PVOID data, const DAT_EVENT *ev, DAT_BOOLEAN more)
{
	struct kdp_reg *r = data;

	if (ev->event_number == DAT_CONNECTION_REQUEST_EVENT) {
		DAT_CR_HANDLE cr = ev->event_data.cr_arrival_event_data.cr_handle;

		if (!is_own(r, cr) || kdp_cr_accept(cr, (DAT_EP_HANDLE)r->ep[1], 0, NULL))
			kdp_cr_reject(cr, 0, NULL);
		return;
	}
	if (ev->event_data.connect_event_data.ep_handle != (DAT_EP_HANDLE)r->ep[0])
		return;
	r->ok = ev->event_number == DAT_CONNECTION_EVENT_ESTABLISHED;
	complete_all(&r->up);
}

static void end(struct kdp_reg *r)
{
	int i;

	if (r->psp)
		kdp_obj_end(&r->psp->obj, false);
	for (i = 0; i < 2; i++)
		if (r->ep[i])
			kdp_obj_end(&r->ep[i]->obj, false);
	if (r->conn)
		kdp_obj_end(&r->conn->obj, false);
	if (r->done)
		kdp_obj_end(&r->done->obj, false);
	kfree(r);
}

static DAT_RETURN make_parts(struct kdp_ia *ia, struct kdp_pz *pz, struct kdp_reg *r)
{
	const DAT_UPCALL_OBJECT done = { r, on_done }, conn = { r, on_conn };
	struct kdp_parts p = { .pz = pz };
	DAT_EP_ATTR attr = kdp_ia_limits(ia);
	DAT_RETURN ret;
	int i;

	attr.max_recv_dtos = attr.max_request_dtos = QLEN;
	attr.max_recv_iov = attr.max_request_iov = attr.max_rdma_read_iov = attr.max_rdma_write_iov = 1;
	attr.max_rdma_read_in = attr.max_rdma_read_out = 1;
	r->done = kdp_evd_make(ia, 2 * QLEN, DAT_UPCALL_SINGLE_INSTANCE, &done, DAT_EVD_DTO_FLAG, true);
	r->conn = kdp_evd_make(ia, QLEN, DAT_UPCALL_SINGLE_INSTANCE, &conn,
			       DAT_EVD_CONNECTION_FLAG | DAT_EVD_CR_FLAG, true);
	if (!r->done || !r->conn)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	p.recv = p.request = r->done;
	p.connect = r->conn;
	for (i = 0; i < 2; i++) {
		ret = kdp_ep_make(ia, &p, NULL, &attr, true, &r->ep[i]);
		if (ret)
			return ret;
		/* not a use that the consumer sees: the zone ends these endpoints itself */
		atomic_dec(&pz->obj.uses);
	}
	return kdp_psp_make(ia, r->conn, true, &r->psp);
}

/* Connects to itself by the first address that works. */
static DAT_RETURN connect(struct kdp_ia *ia, struct kdp_reg *r)
{
	DAT_RETURN ret;

	ret = kdp_ep_connect((DAT_EP_HANDLE)r->ep[0], (DAT_IA_ADDRESS_PTR)&ia->addr, r->psp->qual,
			     CONNECT_MS * 1000u, sizeof(r->token), r->token, DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
	if (ret)
		return ret;
	wait_for_completion(&r->up);
	kdp_obj_end(&r->psp->obj, false);
	r->psp = NULL;
	return r->ok ? DAT_SUCCESS : DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
}

static DAT_RETURN begin(struct kdp_pz *pz)
{
	struct kdp_ia *ia = pz->obj.ia;
	struct kdp_reg *r;
	DAT_RETURN ret;

	if (!ia->addr.ss_family)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_DEVICE);
	r = kzalloc(sizeof(*r), GFP_KERNEL);
	if (!r)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	init_completion(&r->up);
	get_random_bytes(r->token, sizeof(r->token));
	ret = make_parts(ia, pz, r);
	if (!ret)
		ret = connect(ia, r);
	if (ret) {
		atomic_add(2, &pz->obj.uses);
		if (!r->ep[0])
			atomic_dec(&pz->obj.uses);
		if (!r->ep[1])
			atomic_dec(&pz->obj.uses);
		end(r);
		return ret;
	}
	pz->reg = r;
	return DAT_SUCCESS;
}

static DAT_RETURN run(struct kdp_pz *pz, struct kdp_lmr *l)
{
	struct waiter w = { .status = DAT_DTO_ERR_FLUSHED };
	DAT_DTO_COOKIE cookie = { .as_ptr = &w };
	DAT_RETURN ret;

	init_completion(&w.done);
	l->pending = 1;
	kdp_use(&l->obj);
	ret = kdp_post_lmr(pz->reg->ep[0], DPR_OP_FMR, l, cookie, DAT_COMPLETION_DEFAULT_FLAG, 9);
	if (ret) {
		kdp_lmr_done(l, true, false);
		return ret;
	}
	wait_for_completion(&w.done);
	return w.status == DAT_DTO_SUCCESS ? DAT_SUCCESS
					   : DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY_REGION);
}

DAT_RETURN kdp_reg_run(struct kdp_pz *pz, struct kdp_lmr *l)
{
	DAT_RETURN ret = DAT_SUCCESS;

	mutex_lock(&pz->reg_lock);
	/* a connection that broke is made anew */
	if (pz->reg && READ_ONCE(pz->reg->ep[0]->state) != DAT_EP_STATE_CONNECTED) {
		atomic_add(2, &pz->obj.uses);
		end(pz->reg);
		pz->reg = NULL;
	}
	if (!pz->reg)
		ret = begin(pz);
	if (!ret)
		ret = run(pz, l);
	mutex_unlock(&pz->reg_lock);
	return ret;
}

/* The device may leave during a registration: its endpoints are detached before the zone, which ends the wait. */
void kdp_reg_end(struct kdp_pz *pz)
{
	mutex_lock(&pz->reg_lock);
	if (pz->reg) {
		atomic_add(2, &pz->obj.uses);
		end(pz->reg);
		pz->reg = NULL;
	}
	mutex_unlock(&pz->reg_lock);
}
