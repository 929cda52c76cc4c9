/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Exported calls of libibverbs: objects are made, used and destroyed. */
#include "check.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define VERBS "libibverbs.so.1"

/* The original of the function that this line stands in; without one the call fails as that of a missing device does. */
#define REAL(type, name, ...) \
	static type (*real)(__VA_ARGS__); \
	if (!real) \
		*(void **)&real = check_real(VERBS, name)

#undef ibv_reg_mr
#undef ibv_reg_mr_iova

/* --- making and ending, the usual way --- */

/* Destroying an object waits for the acknowledgements of its asynchronous events. */
static void look_at_async(enum object kind, const void *ptr)
{
	unsigned left = check_async(kind, ptr, 0);
	struct check_site site;

	if (!left)
		return;
	check_here(&site);
	check_report(CHECK_ASYNC_EVENTS, &site, "a %s is destroyed before %u of its asynchronous events were acknowledged: this call waits "
		     "for that", check_object_names[kind], left);
}

static void add(enum object kind, void *ptr)
{
	struct check_site site;

	if (!ptr)
		return;
	check_here(&site);
	ut_lock(&check_lock);
	check_add(kind, ptr, &site);
	ut_unlock(&check_lock);
}

/* Returns true if the call must not be made. */
static bool is_gone(enum object kind, void *ptr)
{
	struct check_site site;

	check_here(&site);
	return check_is_gone(kind, ptr, &site);
}

static int ended(enum object kind, void *ptr, int r)
{
	struct check_site site;

	check_here(&site);
	if (r == EBUSY)
		check_report(CHECK_BUSY, &site, "a %s is to be destroyed while other objects use it: the call fails with EBUSY",
			     check_object_names[kind]);
	if (r == 0) {
		ut_lock(&check_lock);
		check_drop(kind, ptr);
		ut_unlock(&check_lock);
	}
	return r;
}

/* --- devices --- */

EXPORT struct ibv_context *ibv_open_device(struct ibv_device *device)
{
	struct ibv_context *ctx;

	REAL(struct ibv_context *, "ibv_open_device", struct ibv_device *);
	ctx = real ? real(device) : NULL;
	if (ctx) {
		check_context(ctx);
		add(CONTEXT, ctx);
	}
	return ctx;
}

EXPORT int ibv_fork_init(void)
{
	REAL(int, "ibv_fork_init", void);
	check_fork_safe = true;
	return real ? real() : ENOSYS;
}

/* A program that asks knows what it does. */
EXPORT enum ibv_fork_status ibv_is_fork_initialized(void)
{
	REAL(enum ibv_fork_status, "ibv_is_fork_initialized", void);
	check_fork_safe = true;
	return real ? real() : IBV_FORK_DISABLED;
}

static void count_async(const struct ibv_async_event *e, int by)
{
	switch (e->event_type) {
	case IBV_EVENT_CQ_ERR:
		check_async(CQ, e->element.cq, by);
		break;
	case IBV_EVENT_QP_FATAL: case IBV_EVENT_QP_REQ_ERR: case IBV_EVENT_QP_ACCESS_ERR: case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED: case IBV_EVENT_PATH_MIG: case IBV_EVENT_PATH_MIG_ERR: case IBV_EVENT_QP_LAST_WQE_REACHED:
		check_async(QP, e->element.qp, by);
		break;
	case IBV_EVENT_SRQ_ERR: case IBV_EVENT_SRQ_LIMIT_REACHED:
		check_async(SRQ, e->element.srq, by);
		break;
	default: /* of a port or the device */
		break;
	}
}

EXPORT int ibv_get_async_event(struct ibv_context *ctx, struct ibv_async_event *e)
{
	int r;

	REAL(int, "ibv_get_async_event", struct ibv_context *, struct ibv_async_event *);
	r = real(ctx, e);
	if (r == 0)
		count_async(e, 1);
	return r;
}

EXPORT void ibv_ack_async_event(struct ibv_async_event *e)
{
	REAL(void, "ibv_ack_async_event", struct ibv_async_event *);
	count_async(e, -1);
	real(e);
}

EXPORT int ibv_close_device(struct ibv_context *ctx)
{
	int r;

	REAL(int, "ibv_close_device", struct ibv_context *);
	if (is_gone(CONTEXT, ctx))
		return EINVAL;
	r = ended(CONTEXT, ctx, real(ctx));
	if (r == 0)
		check_forget_context(ctx);
	return r;
}

/* --- domains and regions --- */

EXPORT struct ibv_pd *ibv_alloc_pd(struct ibv_context *ctx)
{
	struct ibv_pd *pd;

	REAL(struct ibv_pd *, "ibv_alloc_pd", struct ibv_context *);
	check_context(ctx);
	pd = real(ctx);
	add(DOMAIN, pd);
	return pd;
}

EXPORT int ibv_dealloc_pd(struct ibv_pd *pd)
{
	REAL(int, "ibv_dealloc_pd", struct ibv_pd *);
	if (is_gone(DOMAIN, pd))
		return EINVAL;
	return ended(DOMAIN, pd, real(pd));
}

struct overlap {
	uint64_t addr, length;
	struct check_record *found;
};

static bool is_overlapped(struct check_record *r, void *arg)
{
	struct overlap *o = arg;

	if (r->mr.plain && r->mr.stale && r->pid == check_pid && o->addr < r->mr.addr + r->mr.length && r->mr.addr < o->addr + o->length)
		o->found = r;
	return !o->found;
}

static void add_region(struct ibv_mr *mr, void *addr, size_t length, uint64_t iova, unsigned access)
{
	struct overlap o = { (uintptr_t)addr, length, NULL };
	struct check_record *r;
	struct check_site site;

	check_here(&site);
	if ((access & (IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC)) && !(access & IBV_ACCESS_LOCAL_WRITE))
		check_report(CHECK_REG_RIGHTS, &site, "a region is registered for remote writes or atomics without IBV_ACCESS_LOCAL_WRITE");
	if (!mr)
		return;
	ut_lock(&check_lock);
	check_each(REGION, is_overlapped, &o);
	if (o.found)
		check_report(CHECK_OVERLAP, &site, "a region is registered over one of %llu octets that is left from freed memory",
			     (unsigned long long)o.found->mr.length);
	r = check_add(REGION, mr, &site);
	if ((uintptr_t)addr < check_low)
		check_low = (uintptr_t)addr;
	if ((uintptr_t)addr + length > check_high)
		check_high = (uintptr_t)addr + length;
	r->mr = (struct check_region){ .pd = mr->pd, .addr = iova, .length = length, .lkey = mr->lkey, .access = access,
				       .plain = iova == (uintptr_t)addr && length < UINT64_MAX / 2 /* implicit ODP */ };
	ut_unlock(&check_lock);
	if (access & IBV_ACCESS_REMOTE_WRITE)
		check_spin_begin();
}

EXPORT struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct ibv_mr *mr;

	REAL(struct ibv_mr *, "ibv_reg_mr", struct ibv_pd *, void *, size_t, int);
	mr = real(pd, addr, length, access);
	add_region(mr, addr, length, (uintptr_t)addr, (unsigned)access);
	return mr;
}

EXPORT struct ibv_mr *ibv_reg_mr_iova(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, int access)
{
	struct ibv_mr *mr;

	REAL(struct ibv_mr *, "ibv_reg_mr_iova", struct ibv_pd *, void *, size_t, uint64_t, int);
	mr = real(pd, addr, length, iova, access);
	add_region(mr, addr, length, iova, (unsigned)access);
	return mr;
}

EXPORT struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *addr, size_t length, uint64_t iova, unsigned int access)
{
	struct ibv_mr *mr;

	REAL(struct ibv_mr *, "ibv_reg_mr_iova2", struct ibv_pd *, void *, size_t, uint64_t, unsigned int);
	mr = real(pd, addr, length, iova, access);
	add_region(mr, addr, length, iova, access);
	return mr;
}

EXPORT int ibv_rereg_mr(struct ibv_mr *mr, int flags, struct ibv_pd *pd, void *addr, size_t length, int access)
{
	struct check_record *r;
	int err;

	REAL(int, "ibv_rereg_mr", struct ibv_mr *, int, struct ibv_pd *, void *, size_t, int);
	err = real(mr, flags, pd, addr, length, access);
	ut_lock(&check_lock);
	r = err == 0 ? check_find(REGION, mr) : NULL;
	if (r) {
		r->mr.lkey = mr->lkey;
		r->mr.pd = mr->pd;
		if (flags & IBV_REREG_MR_CHANGE_TRANSLATION) {
			r->mr.addr = (uintptr_t)addr;
			r->mr.length = length;
			r->mr.stale = false;
		}
		if (flags & IBV_REREG_MR_CHANGE_ACCESS)
			r->mr.access = (unsigned)access;
	}
	ut_unlock(&check_lock);
	return err;
}

EXPORT int ibv_dereg_mr(struct ibv_mr *mr)
{
	struct check_record *r;
	struct check_site site;
	unsigned in_flight;

	REAL(int, "ibv_dereg_mr", struct ibv_mr *);
	check_here(&site);
	if (check_is_gone(REGION, mr, &site))
		return EINVAL;
	ut_lock(&check_lock);
	r = check_find(REGION, mr);
	in_flight = r ? r->mr.in_flight : 0;
	ut_unlock(&check_lock);
	if (in_flight)
		check_report(CHECK_DEREGISTERED, &site, "a region of %zu octets is deregistered while %u pieces of requests that were not completed "
			     "name it", mr->length, in_flight);
	return ended(REGION, mr, real(mr));
}

/* --- completion queues and their events --- */

EXPORT struct ibv_comp_channel *ibv_create_comp_channel(struct ibv_context *ctx)
{
	struct ibv_comp_channel *ch;

	REAL(struct ibv_comp_channel *, "ibv_create_comp_channel", struct ibv_context *);
	check_context(ctx);
	ch = real(ctx);
	add(CHANNEL, ch);
	return ch;
}

EXPORT int ibv_destroy_comp_channel(struct ibv_comp_channel *ch)
{
	REAL(int, "ibv_destroy_comp_channel", struct ibv_comp_channel *);
	if (is_gone(CHANNEL, ch))
		return EINVAL;
	return ended(CHANNEL, ch, real(ch));
}

EXPORT struct ibv_cq *ibv_create_cq(struct ibv_context *ctx, int cqe, void *user, struct ibv_comp_channel *channel, int vector)
{
	struct check_record *r;
	struct check_site site;
	struct ibv_cq *cq;

	REAL(struct ibv_cq *, "ibv_create_cq", struct ibv_context *, int, void *, struct ibv_comp_channel *, int);
	check_context(ctx);
	check_here(&site);
	check_device_cq((uint32_t)cqe, &site);
	cq = real(ctx, cqe, user, channel, vector);
	if (!cq)
		return NULL;
	ut_lock(&check_lock);
	r = check_add(CQ, cq, &site);
	/* As the program asked: other adapters give no more. */
	r->cq = (struct check_cq){ .cqe = (unsigned)cqe, .channel = channel };
	ut_unlock(&check_lock);
	return cq;
}

EXPORT int ibv_resize_cq(struct ibv_cq *cq, int cqe)
{
	struct check_record *r;
	int err;

	REAL(int, "ibv_resize_cq", struct ibv_cq *, int);
	err = real(cq, cqe);
	ut_lock(&check_lock);
	r = err == 0 ? check_find(CQ, cq) : NULL;
	if (r)
		r->cq.cqe = (unsigned)cqe;
	ut_unlock(&check_lock);
	return err;
}

EXPORT int ibv_destroy_cq(struct ibv_cq *cq)
{
	struct check_record *r;
	struct check_site site, made = { .n = 0 };
	unsigned owed = 0;
	bool unread = false;

	REAL(int, "ibv_destroy_cq", struct ibv_cq *);
	check_here(&site);
	if (check_is_gone(CQ, cq, &site))
		return EINVAL;
	ut_lock(&check_lock);
	r = check_find(CQ, cq);
	if (r) {
		owed = pthread_equal(r->taker, pthread_self()) ? r->cq.events - r->cq.acknowledged : 0;
		unread = r->cq.signaled && !r->cq.polled;
		made = r->made;
	}
	ut_unlock(&check_lock);
	if (owed && owed < UINT32_MAX / 2)
		check_report(CHECK_CQ_EVENTS, &site, "a completion queue is destroyed before %u of its events were acknowledged: this call waits for "
			     "that", owed);
	if (unread)
		check_report(CHECK_NOT_POLLED, &made, "a completion queue that is made here is never polled, although signaled requests complete "
			     "into it");
	look_at_async(CQ, cq);
	return ended(CQ, cq, real(cq));
}

struct of_channel {
	struct ibv_comp_channel *channel;
	unsigned n, armed, unpolled;
};

static bool look_at_cq(struct check_record *r, void *arg)
{
	struct of_channel *c = arg;

	if (r->cq.channel != c->channel)
		return true;
	c->n++;
	c->armed += r->cq.armed;
	c->unpolled += r->cq.armed && !r->cq.polled_since && r->cq.due_at_arm;
	return true;
}

EXPORT int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **user)
{
	struct of_channel c = { .channel = channel };
	struct check_record *r;
	struct check_site site;
	bool waits;
	int err;

	REAL(int, "ibv_get_cq_event", struct ibv_comp_channel *, struct ibv_cq **, void **);
	CHECK_HERE(&site);
	ut_lock(&check_lock);
	check_each(CQ, look_at_cq, &c);
	ut_unlock(&check_lock);
	/* A program that does not wait here may look for events at any time. */
	waits = !(fcntl(channel->fd, F_GETFL) & O_NONBLOCK);
	if (waits && c.n && !c.armed)
		check_report(CHECK_UNARMED, &site, "a thread waits for an event of a channel, and no completion queue on it is armed");
	else if (waits && c.unpolled)
		check_report(CHECK_NO_POLL, &site, "a thread waits for an event, and the queue was not polled after it had been armed with requests "
			     "in flight");
	err = real(channel, cq, user);
	ut_lock(&check_lock);
	r = err == 0 ? check_find(CQ, *cq) : NULL;
	if (r) {
		r->cq.armed = false;
		r->cq.events++;
		r->taker = pthread_self();
	}
	ut_unlock(&check_lock);
	return err;
}

EXPORT void ibv_ack_cq_events(struct ibv_cq *cq, unsigned int n)
{
	struct check_record *r;
	struct check_site site;
	bool many;

	REAL(void, "ibv_ack_cq_events", struct ibv_cq *, unsigned int);
	CHECK_HERE(&site);
	ut_lock(&check_lock);
	r = check_find(CQ, cq);
	if (r)
		r->cq.acknowledged += n;
	many = r && r->cq.acknowledged > r->cq.events;
	ut_unlock(&check_lock);
	if (many)
		check_report(CHECK_ACK_TOO_MANY, &site, "more events of a completion queue are acknowledged than were got");
	real(cq, n);
}

/* --- shared receive queues, queue pairs, address handles --- */

EXPORT struct ibv_srq *ibv_create_srq(struct ibv_pd *pd, struct ibv_srq_init_attr *a)
{
	struct check_site site;
	struct ibv_srq *srq;

	REAL(struct ibv_srq *, "ibv_create_srq", struct ibv_pd *, struct ibv_srq_init_attr *);
	check_here(&site);
	check_device_srq(&site);
	srq = real(pd, a);
	check_srq_made(srq, a->attr.max_wr);
	return srq;
}

EXPORT int ibv_destroy_srq(struct ibv_srq *srq)
{
	struct check_record *r;
	int err;

	REAL(int, "ibv_destroy_srq", struct ibv_srq *);
	if (is_gone(SRQ, srq))
		return EINVAL;
	look_at_async(SRQ, srq);
	err = real(srq);
	ut_lock(&check_lock);
	r = err == 0 ? check_find(SRQ, srq) : NULL;
	if (r)
		check_queue_drop(&r->srq);
	ut_unlock(&check_lock);
	return ended(SRQ, srq, err);
}

EXPORT struct ibv_qp *ibv_create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *a)
{
	struct check_site site;
	struct ibv_qp *qp;

	REAL(struct ibv_qp *, "ibv_create_qp", struct ibv_pd *, struct ibv_qp_init_attr *);
	check_here(&site);
	check_device_qp(a, &site);
	qp = real(pd, a);
	if (!qp)
		return NULL;
	ut_lock(&check_lock);
	check_qp_made(qp, a, pd, &site, false);
	ut_unlock(&check_lock);
	return qp;
}

/* RESET and destruction leave no completions, those that were not read included; check_lock held. */
static void drop_requests(struct check_record *r)
{
	struct check_record *cq = check_find(CQ, r->qp.recv_cq);

	if (cq)
		cq->cq.due -= cq->cq.due < r->qp.recv.n ? cq->cq.due : r->qp.recv.n;
	cq = check_find(CQ, r->qp.send_cq);
	for (unsigned i = 0; cq && i < r->qp.send.n; i++)
		if (check_queue_at(&r->qp.send, i)->signaled && cq->cq.due)
			cq->cq.due--;
	check_queue_drop(&r->qp.send);
	check_queue_drop(&r->qp.recv);
}

EXPORT int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *a, int mask)
{
	struct check_record *r;
	struct check_site site;
	int err;

	REAL(int, "ibv_modify_qp", struct ibv_qp *, struct ibv_qp_attr *, int);
	/* librdmacm moves queue pairs for the program. */
	if (!check_is_library(__builtin_return_address(0))) {
		check_here(&site);
		check_transition(qp, a, mask, check_state_of(qp), &site);
	}
	err = real(qp, a, mask);
	ut_lock(&check_lock);
	r = err == 0 && mask & IBV_QP_STATE ? check_find(QP, qp) : NULL;
	if (r)
		r->qp.ready = a->qp_state >= IBV_QPS_RTR;
	if (r && a->qp_state == IBV_QPS_ERR) {
		check_queue_stop(&r->qp.send);
		check_queue_stop(&r->qp.recv);
	}
	r = err == 0 && mask & IBV_QP_MAX_QP_RD_ATOMIC ? check_find(QP, qp) : NULL;
	if (r)
		r->qp.no_depth = a->max_rd_atomic == 0;
	r = err == 0 && mask & IBV_QP_STATE && a->qp_state == IBV_QPS_RESET ? check_find(QP, qp) : NULL;
	if (r) {
		drop_requests(r);
		r->qp.failed = false;
		r->qp.after_error = 0;
	}
	ut_unlock(&check_lock);
	return err;
}

EXPORT int ibv_destroy_qp(struct ibv_qp *qp)
{
	struct check_record *r;
	int err;

	REAL(int, "ibv_destroy_qp", struct ibv_qp *);
	if (is_gone(QP, qp))
		return EINVAL;
	look_at_async(QP, qp);
	err = real(qp);
	ut_lock(&check_lock);
	r = err == 0 ? check_find(QP, qp) : NULL;
	if (r)
		drop_requests(r);
	ut_unlock(&check_lock);
	return ended(QP, qp, err);
}

EXPORT struct ibv_ah *ibv_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *a)
{
	struct ibv_ah *ah;

	REAL(struct ibv_ah *, "ibv_create_ah", struct ibv_pd *, struct ibv_ah_attr *);
	ah = real(pd, a);
	add(AH, ah);
	return ah;
}

EXPORT int ibv_destroy_ah(struct ibv_ah *ah)
{
	REAL(int, "ibv_destroy_ah", struct ibv_ah *);
	if (is_gone(AH, ah))
		return EINVAL;
	return ended(AH, ah, real(ah));
}
