/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The calls that programs make by the tables of a context: post, poll, arm. */
#include "check.h"

#include <errno.h>
#include <string.h>

#define CONTEXTS 64
#define REMEMBERED 1024 /* look-ups of queue pairs by number */
#define GRH_OCTETS 40   /* ibv_post_recv(3): at the beginning of each datagram that is received */

/* The original operations of each context. */
static struct original {
	struct ibv_context *ctx;
	struct ibv_context_ops ops;
	struct ibv_qp *(*create_qp_ex)(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *a);
	struct ibv_cq_ex *(*create_cq_ex)(struct ibv_context *ctx, struct ibv_cq_init_attr_ex *a);
	struct ibv_srq *(*create_srq_ex)(struct ibv_context *ctx, struct ibv_srq_init_attr_ex *a);
	struct ibv_mr *(*alloc_null_mr)(struct ibv_pd *pd);
	struct ibv_mr *(*reg_dm_mr)(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset, size_t length, unsigned int access);
	struct ibv_pd *(*alloc_parent_domain)(struct ibv_context *ctx, struct ibv_parent_domain_init_attr *a);
} originals[CONTEXTS];

static struct original *original_of(struct ibv_context *ctx)
{
	for (int i = 0; i < CONTEXTS; i++)
		if (originals[i].ctx == ctx)
			return &originals[i];
	return NULL;
}

/* --- a request's memory; check_lock held --- */

static void check_piece(const struct check_qp *q, const struct ibv_sge *s, bool write, const struct check_site *site, const char *what)
{
	struct check_record *r = s->length ? check_region_of(s->lkey) : NULL;

	if (!s->length)
		return;
	if (!r) {
		check_report(CHECK_KEY, site, "%s names lkey 0x%08x, which is that of no registered region", what, s->lkey);
		return;
	}
	if (r->mr.pd != q->pd && q->pd && !q->thread_domain)
		check_report(CHECK_DOMAIN, site, "%s of queue pair 0x%06x names a region of another protection domain", what, q->qpn);
	if (write && !(r->mr.access & IBV_ACCESS_LOCAL_WRITE))
		check_report(CHECK_NOT_WRITABLE, site, "%s names a region without IBV_ACCESS_LOCAL_WRITE", what);
	if (!r->mr.plain)
		return;
	if (s->addr < r->mr.addr || s->addr + s->length > r->mr.addr + r->mr.length)
		check_report(CHECK_BOUNDS, site, "%s names %u octets, of which some are outside the region of %llu octets", what, s->length,
			     (unsigned long long)r->mr.length);
	else if (r->mr.stale)
		check_report(CHECK_STALE, site, "%s names a region that was registered before its memory was freed", what);
}

static void count_pieces(const struct check_request *w, int by)
{
	for (unsigned i = 0; i < w->n; i++) {
		struct check_record *r = check_region_of(w->piece[i].lkey);

		if (r && (by > 0 || r->mr.in_flight))
			r->mr.in_flight += (unsigned)by;
	}
}

void check_queue_drop(struct check_queue *q)
{
	for (struct check_request *w; (w = check_queue_head(q)); check_queue_pop(q))
		count_pieces(w, -1);
}

void check_queue_stop(struct check_queue *q)
{
	for (unsigned i = 0; i < q->n; i++) {
		count_pieces(check_queue_at(q, i), -1);
		check_queue_at(q, i)->n = 0;
	}
}

static void keep_pieces(struct check_request *w, const struct ibv_sge *list, int n)
{
	w->n = (uint8_t)(n < 0 ? 0 : n > PIECES ? PIECES : n);
	if (w->n)
		memcpy(w->piece, list, w->n * sizeof(*list));
}

/* True if the source may be read: every piece is memory of this process in a region that has it. */
static bool is_readable(const struct check_request *w)
{
	for (unsigned i = 0; i < w->n; i++) {
		struct check_record *r = check_region_of(w->piece[i].lkey);
		const struct ibv_sge *s = &w->piece[i];

		if (!r || !r->mr.plain || r->mr.stale || s->addr < r->mr.addr || s->addr + s->length > r->mr.addr + r->mr.length)
			return false;
	}
	return w->n;
}

/* --- sends --- */

static bool is_sent(uint8_t opcode)
{
	return opcode == IBV_WR_SEND || opcode == IBV_WR_SEND_WITH_IMM || opcode == IBV_WR_RDMA_WRITE ||
	       opcode == IBV_WR_RDMA_WRITE_WITH_IMM || opcode == IBV_WR_SEND_WITH_INV;
}

static bool is_answered(uint8_t opcode)
{
	return opcode == IBV_WR_RDMA_READ || opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

static uint64_t length_of(const struct ibv_sge *list, int pieces)
{
	uint64_t n = 0;

	for (int i = 0; i < pieces; i++)
		n += list[i].length;
	return n;
}

/* What can be told before the call. */
static void look_at_send(struct check_qp *q, const struct ibv_send_wr *wr, const struct check_site *site)
{
	bool atomic = wr->opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr->opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;

	if (wr->num_sge > 0 && (unsigned)wr->num_sge > q->cap.max_send_sge)
		check_report(CHECK_PIECES, site, "a request has %d pieces, and queue pair 0x%06x takes %u", wr->num_sge, q->qpn,
			     q->cap.max_send_sge);
	if ((wr->send_flags & IBV_SEND_INLINE) && length_of(wr->sg_list, wr->num_sge) > q->cap.max_inline_data)
		check_report(CHECK_INLINE, site, "a request has %llu octets inline, and queue pair 0x%06x takes %u",
			     (unsigned long long)length_of(wr->sg_list, wr->num_sge), q->qpn, q->cap.max_inline_data);
	if (atomic && (wr->wr.atomic.remote_addr & 7 || (wr->num_sge == 1 && wr->sg_list[0].length != 8)))
		check_report(CHECK_ATOMIC, site, "an atomic is for address 0x%llx and %u octets", (unsigned long long)wr->wr.atomic.remote_addr,
			     wr->num_sge ? wr->sg_list[0].length : 0);
	if (atomic)
		check_device_atomic(site);
	if (is_answered((uint8_t)wr->opcode) && q->no_depth)
		check_report(CHECK_NO_DEPTH, site, "a Read or atomic is posted to queue pair 0x%06x with a max_rd_atomic of 0", q->qpn);
	for (int i = 0; i < wr->num_sge && !(wr->send_flags & IBV_SEND_INLINE); i++)
		check_piece(q, &wr->sg_list[i], is_answered((uint8_t)wr->opcode), site, "a request");
	if (q->failed && ++q->after_error == 2)
		check_report(CHECK_AFTER_ERROR, site, "a second request is posted to queue pair 0x%06x after a completion with an error was "
			     "read", q->qpn);
}

static bool is_signaled(const struct check_qp *q, const struct ibv_send_wr *wr)
{
	return q->sq_sig_all || wr->send_flags & IBV_SEND_SIGNALED;
}

/* More requests than entries: a mistake if the adapter takes them all. */
struct overrun {
	unsigned due, cqe;
};

static void may_overrun(struct ibv_cq *cq, struct overrun *over)
{
	struct check_record *r = check_find(CQ, cq);

	if (r && ++r->cq.due > r->cq.cqe && !over->due)
		*over = (struct overrun){ r->cq.due, r->cq.cqe };
}

static void report_overrun(const struct overrun *over, const struct check_site *site)
{
	if (over->due)
		check_report(CHECK_CQ_SMALL, site, "this makes %u requests that may complete into a completion queue of %u entries before it is "
			     "polled", over->due, over->cqe);
}

static bool all_unsignaled(struct check_queue *q)
{
	for (unsigned i = 0; i < q->n; i++)
		if (check_queue_at(q, i)->signaled)
			return false;
	return q->n;
}

static void report_unsignaled(const struct check_qp *q, const struct check_site *site)
{
	check_report(CHECK_NEVER_SIGNALED, site, "the send queue of queue pair 0x%06x is full of %u requests that are not signaled, and "
		     "nothing will free it", q->qpn, q->send.n);
}

/* Adapters that free a queue by completions alone, as most do, would refuse this request. */
static void look_at_unsignaled(struct check_qp *q, const struct check_site *site)
{
	if (q->send.n <= q->cap.max_send_wr || !all_unsignaled(&q->send))
		return;
	report_unsignaled(q, site);
	count_pieces(check_queue_head(&q->send), -1);
	check_queue_pop(&q->send);
}

static void sent(struct check_qp *q, const struct ibv_send_wr *wr, const struct check_site *site, struct overrun *over)
{
	struct check_request *w = check_queue_put(&q->send);
	struct check_record *cq = check_find(CQ, q->send_cq);

	w->wr_id = wr->wr_id;
	w->opcode = (uint8_t)wr->opcode;
	w->signaled = is_signaled(q, wr);
	check_keep_site(w, site);
	if (!(wr->send_flags & IBV_SEND_INLINE))
		keep_pieces(w, wr->sg_list, wr->num_sge);
	count_pieces(w, 1);
	w->hashed = is_sent(w->opcode) && wr->num_sge <= PIECES && is_readable(w);
	if (w->hashed)
		w->hash = check_hash(w);
	if (w->signaled && cq)
		cq->cq.signaled = true;
	if (w->signaled)
		may_overrun(q->send_cq, over);
	else
		look_at_unsignaled(q, site);
}

enum ibv_qp_state check_state_of(struct ibv_qp *qp)
{
	static int (*query)(struct ibv_qp *qp, struct ibv_qp_attr *a, int mask, struct ibv_qp_init_attr *i);
	struct ibv_qp_init_attr i;
	struct ibv_qp_attr a;

	if (!query)
		*(void **)&query = check_real("libibverbs.so.1", "ibv_query_qp");
	return query && query(qp, &a, IBV_QP_STATE, &i) == 0 ? a.qp_state : IBV_QPS_UNKNOWN;
}

/* A refused request: why, if it is one of the usual mistakes. */
static void refused(struct ibv_qp *qp, int r, bool send, const struct check_site *site)
{
	enum ibv_qp_state state = r == EINVAL ? check_state_of(qp) : IBV_QPS_UNKNOWN;
	struct check_record *rec;

	ut_lock(&check_lock);
	rec = check_find(QP, qp);
	if (rec && send && r == ENOMEM && all_unsignaled(&rec->qp.send))
		report_unsignaled(&rec->qp, site);
	if (rec && !send && r == EINVAL && rec->qp.srq)
		check_report(CHECK_RECV_ON_SRQ, site, "a receive is posted to queue pair 0x%06x, which has a shared receive queue",
			     rec->qp.qpn);
	else if (rec && ((send && state < IBV_QPS_RTS) || state == IBV_QPS_RESET))
		check_report(CHECK_BEFORE_READY, site, "a %s is posted to queue pair 0x%06x, which is not ready (state %d)",
			     send ? "request" : "receive", rec->qp.qpn, (int)state);
	ut_unlock(&check_lock);
}

static bool enter(struct ibv_qp *qp, const struct check_site *site)
{
	struct check_record *r = check_find(QP, qp);

	if (!r)
		return false;
	if (r->pid != check_pid)
		check_report(CHECK_CHILD, site, "a queue pair of the parent process is used in a child of fork()");
	if (r->qp.busy++ && r->qp.thread_domain)
		check_report(CHECK_RACE, site, "two threads post to queue pair 0x%06x of a thread domain at one time", r->qp.qpn);
	return true;
}

static void leave(struct ibv_qp *qp)
{
	struct check_record *r = check_find(QP, qp);

	if (r)
		r->qp.busy--;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	struct original *o = original_of(qp->context);
	struct overrun over = { 0, 0 };
	struct check_record *r;
	struct check_site site;
	int err;

	CHECK_HERE(&site);
	ut_lock(&check_lock);
	if (enter(qp, &site)) {
		r = check_find(QP, qp);
		/* Before the call: a completion may be polled by another thread before it returns. */
		for (struct ibv_send_wr *w = wr; w; w = w->next) {
			look_at_send(&r->qp, w, &site);
			sent(&r->qp, w, &site, &over);
		}
	}
	ut_unlock(&check_lock);
	err = o->ops.post_send(qp, wr, bad);
	ut_lock(&check_lock);
	leave(qp);
	r = check_find(QP, qp);
	/* What was not taken is taken back, the newest first. */
	for (struct ibv_send_wr *w = err ? *bad : NULL; r && w && r->qp.send.n; w = w->next) {
		struct check_request *q = check_queue_at(&r->qp.send, r->qp.send.n - 1);
		struct check_record *cq = check_find(CQ, r->qp.send_cq);

		count_pieces(q, -1);
		if (q->signaled && cq && cq->cq.due)
			cq->cq.due--;
		r->qp.send.n--;
	}
	ut_unlock(&check_lock);
	if (err)
		refused(qp, err, true, &site);
	else
		report_overrun(&over, &site);
	return err;
}

/* --- receives --- */

static void received(struct check_queue *q, const struct ibv_recv_wr *wr, const struct check_site *site)
{
	struct check_request *w = check_queue_put(q);

	w->wr_id = wr->wr_id;
	w->signaled = true;
	check_keep_site(w, site);
	keep_pieces(w, wr->sg_list, wr->num_sge);
	count_pieces(w, 1);
}

static void take_back(struct check_queue *q, struct ibv_recv_wr *from, struct ibv_cq *in)
{
	struct check_record *cq = in ? check_find(CQ, in) : NULL;

	for (struct ibv_recv_wr *w = from; w && q->n; w = w->next) {
		count_pieces(check_queue_at(q, q->n - 1), -1);
		q->n--;
		if (cq && cq->cq.due)
			cq->cq.due--;
	}
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct original *o = original_of(qp->context);
	struct overrun over = { 0, 0 };
	struct check_record *r;
	struct check_site site;
	int err;

	CHECK_HERE(&site);
	ut_lock(&check_lock);
	if (enter(qp, &site)) {
		r = check_find(QP, qp);
		if (r->qp.accepted && !r->qp.received)
			check_report(CHECK_LATE_RECEIVE, &site, "the first receive of queue pair 0x%06x is posted after rdma_accept()", r->qp.qpn);
		r->qp.received = true;
		for (struct ibv_recv_wr *w = wr; w; w = w->next) {
			if (w->num_sge > 0 && (unsigned)w->num_sge > r->qp.cap.max_recv_sge && !r->qp.srq)
				check_report(CHECK_PIECES, &site, "a receive has %d pieces, and queue pair 0x%06x takes %u", w->num_sge, r->qp.qpn,
					     r->qp.cap.max_recv_sge);
			for (int i = 0; i < w->num_sge; i++)
				check_piece(&r->qp, &w->sg_list[i], true, &site, "a receive");
			if (r->qp.type == IBV_QPT_UD && !r->qp.srq && length_of(w->sg_list, w->num_sge) < GRH_OCTETS)
				check_report(CHECK_GRH_ROOM, &site, "a receive of queue pair 0x%06x, which is of type UD, has %llu octets",
					     r->qp.qpn, (unsigned long long)length_of(w->sg_list, w->num_sge));
			received(&r->qp.recv, w, &site);
			may_overrun(r->qp.recv_cq, &over);
		}
	}
	ut_unlock(&check_lock);
	err = o->ops.post_recv(qp, wr, bad);
	ut_lock(&check_lock);
	leave(qp);
	r = check_find(QP, qp);
	if (err && r)
		take_back(&r->qp.recv, *bad, r->qp.recv_cq);
	ut_unlock(&check_lock);
	if (err)
		refused(qp, err, false, &site);
	else
		report_overrun(&over, &site);
	return err;
}

static int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	struct original *o = original_of(srq->context);
	struct check_qp any = { .pd = NULL };
	struct check_record *r;
	struct check_site site;
	int err;

	CHECK_HERE(&site);
	ut_lock(&check_lock);
	r = check_find(SRQ, srq);
	for (struct ibv_recv_wr *w = wr; r && w; w = w->next) {
		for (int i = 0; i < w->num_sge; i++)
			check_piece(&any, &w->sg_list[i], true, &site, "a receive");
		received(&r->srq, w, &site);
	}
	ut_unlock(&check_lock);
	err = o->ops.post_srq_recv(srq, wr, bad);
	ut_lock(&check_lock);
	r = check_find(SRQ, srq);
	if (err && r)
		take_back(&r->srq, *bad, NULL);
	ut_unlock(&check_lock);
	return err;
}

/* --- completions; check_lock held --- */

static bool meet(const struct ibv_sge *a, const struct ibv_sge *b)
{
	return a->addr < b->addr + b->length && b->addr < a->addr + a->length;
}

/* True if a receive of the queue pair names octets of the request: then the peer may have changed them. */
static bool is_received_into(const struct check_request *w, struct check_queue *recv)
{
	for (unsigned k = 0; k < w->n; k++) {
		for (unsigned i = 0; i < LATELY; i++)
			if (meet(&w->piece[k], &recv->lately[i]))
				return true;
		for (unsigned i = 0; i < recv->n; i++)
			for (unsigned p = 0; p < check_queue_at(recv, i)->n; p++)
				if (meet(&w->piece[k], &check_queue_at(recv, i)->piece[p]))
					return true;
	}
	return false;
}

static void ended(struct check_request *w, struct check_queue *recv)
{
	struct check_site site;

	count_pieces(w, -1);
	if (!w->hashed || !is_readable(w) || check_hash(w) == w->hash || is_received_into(w, recv))
		return;
	check_site_of(&site, w);
	check_report(CHECK_SOURCE_CHANGED, &site, "the %u octets of the request that is posted here had changed when its completion was read",
		     w->piece[0].length);
}

static struct check_qp *qp_of(struct ibv_context *ctx, uint32_t qpn);

static void end_send(struct check_qp *q, const struct ibv_wc *wc)
{
	struct check_request *w;
	struct check_site site;
	unsigned i = 0;

	/* In order: a success is that of the first signaled request, whatever wr_ids the program gives. */
	while (i < q->send.n && (wc->status == IBV_WC_SUCCESS ? !check_queue_at(&q->send, i)->signaled :
							       check_queue_at(&q->send, i)->wr_id != wc->wr_id))
		i++;
	if (i == q->send.n)
		return;
	w = check_queue_at(&q->send, i);
	if (wc->status == IBV_WC_RNR_RETRY_EXC_ERR) {
		check_site_of(&site, w);
		check_report(CHECK_NO_RECEIVE, &site, "the peer of queue pair 0x%06x has no receive for the message that is posted here", q->qpn);
	}
	/* Those before it are complete as well. */
	for (; i + 1 > 0 && q->send.n; i--) {
		ended(check_queue_head(&q->send), &q->recv);
		check_queue_pop(&q->send);
		if (i == 0)
			break;
	}
}

static void end_recv(struct check_queue *q, const struct ibv_wc *wc)
{
	unsigned i = 0;

	while (i < q->n && check_queue_at(q, i)->wr_id != wc->wr_id)
		i++;
	if (i == q->n)
		return;
	count_pieces(check_queue_at(q, i), -1);
	q->lately[q->next++ % LATELY] = check_queue_at(q, i)->piece[0];
	check_queue_remove(q, i);
}

/* The opcode of a completion with an error says nothing. */
static bool is_receive(struct check_qp *q, struct ibv_cq *cq, const struct ibv_wc *wc)
{
	struct check_request *w;

	if (wc->status == IBV_WC_SUCCESS)
		return wc->opcode & IBV_WC_RECV;
	if (q->send_cq != q->recv_cq)
		return cq == q->recv_cq;
	w = check_queue_head(&q->send);
	return !w || w->wr_id != wc->wr_id;
}

static void completed(struct ibv_cq *cq, const struct ibv_wc *wc)
{
	struct check_qp *q = qp_of(cq->context, wc->qp_num);
	struct check_record *srq;

	if (!q || q->extended)
		return;
	if (wc->status != IBV_WC_SUCCESS)
		q->failed = true;
	if (!is_receive(q, cq, wc)) {
		end_send(q, wc);
		return;
	}
	srq = q->srq ? check_find(SRQ, q->srq) : NULL;
	if (srq)
		end_recv(&srq->srq, wc);
	else
		end_recv(&q->recv, wc);
}

struct by_number {
	struct ibv_context *ctx;
	uint32_t qpn;
	struct check_record *found;
};

static bool has_number(struct check_record *r, void *arg)
{
	struct by_number *n = arg;

	if (r->qp.qpn == n->qpn && ((struct ibv_qp *)r->ptr)->context == n->ctx)
		n->found = r;
	return !n->found;
}

static struct check_qp *qp_of(struct ibv_context *ctx, uint32_t qpn)
{
	static void *last[REMEMBERED];
	void **at = &last[qpn % REMEMBERED];
	struct check_record *r = *at ? check_find(QP, *at) : NULL;
	struct by_number n = { ctx, qpn, NULL };

	if (r && r->qp.qpn == qpn && ((struct ibv_qp *)r->ptr)->context == ctx)
		return &r->qp;
	check_each(QP, has_number, &n);
	*at = n.found ? n.found->ptr : NULL;
	return n.found ? &n.found->qp : NULL;
}

static int poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc)
{
	struct original *o = original_of(cq->context);
	int got = o->ops.poll_cq(cq, n, wc);
	struct check_record *r;

	ut_lock(&check_lock);
	r = check_find(CQ, cq);
	if (r) {
		r->cq.polled = true;
		r->cq.polled_since = true;
	}
	for (int i = 0; i < got; i++) {
		if (r && r->cq.due)
			r->cq.due--;
		completed(cq, &wc[i]);
	}
	ut_unlock(&check_lock);
	return got;
}

struct of_queue {
	const struct ibv_cq *cq;
	bool due;
};

static bool may_complete(struct check_record *r, void *arg)
{
	struct of_queue *c = arg;

	if (r->qp.ready && r->pid == check_pid)
		c->due |= (r->qp.send_cq == c->cq && r->qp.send.n) || (r->qp.recv_cq == c->cq && (r->qp.recv.n || r->qp.srq));
	return !c->due;
}

static int req_notify_cq(struct ibv_cq *cq, int solicited)
{
	struct original *o = original_of(cq->context);
	struct of_queue c = { cq, false };
	struct check_record *r;
	struct check_site site;

	CHECK_HERE(&site);
	ut_lock(&check_lock);
	check_each(QP, may_complete, &c);
	r = check_find(CQ, cq);
	if (r && !r->cq.channel)
		check_report(CHECK_NO_CHANNEL, &site, "a completion queue without a channel is armed: its event comes nowhere");
	if (r) {
		r->cq.armed = true;
		r->cq.polled_since = false;
		r->cq.due_at_arm = c.due;
	}
	ut_unlock(&check_lock);
	return o->ops.req_notify_cq(cq, solicited);
}

/* --- creation by the table --- */

static struct ibv_qp *create_qp_ex(struct ibv_context *ctx, struct ibv_qp_init_attr_ex *a)
{
	struct ibv_qp_init_attr asked = *(const struct ibv_qp_init_attr *)a;
	struct check_site site;
	struct ibv_qp *qp;

	check_here(&site);
	check_device_qp(&asked, &site);
	qp = original_of(ctx)->create_qp_ex(ctx, a);
	if (!qp)
		return NULL;
	ut_lock(&check_lock);
	check_qp_made(qp, (struct ibv_qp_init_attr *)a, a->comp_mask & IBV_QP_INIT_ATTR_PD ? a->pd : NULL, &site,
		      a->comp_mask & IBV_QP_INIT_ATTR_SEND_OPS_FLAGS);
	ut_unlock(&check_lock);
	return qp;
}

static struct ibv_cq_ex *create_cq_ex(struct ibv_context *ctx, struct ibv_cq_init_attr_ex *a)
{
	struct ibv_cq_ex *cq = original_of(ctx)->create_cq_ex(ctx, a);
	struct check_record *r;
	struct check_site site;

	if (!cq)
		return NULL;
	check_here(&site);
	ut_lock(&check_lock);
	r = check_add(CQ, ibv_cq_ex_to_cq(cq), &site);
	r->cq.cqe = UINT32_MAX; /* it may be polled by calls that are not watched */
	r->cq.polled = true;
	r->cq.channel = a->channel;
	ut_unlock(&check_lock);
	return cq;
}

void check_srq_made(struct ibv_srq *srq, uint32_t size)
{
	struct check_site site;

	if (!srq)
		return;
	check_here(&site);
	ut_lock(&check_lock);
	check_queue_size(&check_add(SRQ, srq, &site)->srq, size);
	ut_unlock(&check_lock);
}

static struct ibv_srq *create_srq_ex(struct ibv_context *ctx, struct ibv_srq_init_attr_ex *a)
{
	struct ibv_srq *srq = original_of(ctx)->create_srq_ex(ctx, a);
	struct check_site site;

	check_here(&site);
	check_device_srq(&site);
	check_srq_made(srq, a->attr.max_wr);
	return srq;
}

/* A region whose keys are checked, and its addresses not. */
static void add_special(struct ibv_mr *mr)
{
	struct check_record *r;
	struct check_site site;

	check_here(&site);
	ut_lock(&check_lock);
	r = check_add(REGION, mr, &site);
	r->mr = (struct check_region){ .pd = mr->pd, .lkey = mr->lkey, .access = IBV_ACCESS_LOCAL_WRITE };
	ut_unlock(&check_lock);
}

static struct ibv_mr *alloc_null_mr(struct ibv_pd *pd)
{
	struct ibv_mr *mr = original_of(pd->context)->alloc_null_mr(pd);

	if (mr)
		add_special(mr);
	return mr;
}

static struct ibv_mr *reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t offset, size_t length, unsigned int access)
{
	struct ibv_mr *mr = original_of(pd->context)->reg_dm_mr(pd, dm, offset, length, access);

	if (mr)
		add_special(mr);
	return mr;
}

static struct ibv_pd *alloc_parent_domain(struct ibv_context *ctx, struct ibv_parent_domain_init_attr *a)
{
	struct ibv_pd *pd = original_of(ctx)->alloc_parent_domain(ctx, a);
	struct check_record *r;
	struct check_site site;

	if (!pd)
		return NULL;
	check_here(&site);
	ut_lock(&check_lock);
	r = check_add(DOMAIN, pd, &site);
	r->domain = a->td ? OF_THREAD : PARENT;
	ut_unlock(&check_lock);
	return pd;
}

void check_qp_made(struct ibv_qp *qp, const struct ibv_qp_init_attr *a, struct ibv_pd *pd, const struct check_site *site,
		   bool extended)
{
	struct check_record *r = check_add(QP, qp, site), *domain = check_find(DOMAIN, pd);

	r->qp = (struct check_qp){ .pd = domain && domain->domain != PLAIN ? NULL : pd, .send_cq = a->send_cq, .recv_cq = a->recv_cq,
				   .srq = a->srq, .cap = a->cap, .qpn = qp->qp_num, .type = (uint8_t)qp->qp_type, .sq_sig_all = a->sq_sig_all,
				   .thread_domain = domain && domain->domain == OF_THREAD, .extended = extended };
	check_queue_size(&r->qp.send, a->cap.max_send_wr);
	check_queue_size(&r->qp.recv, a->cap.max_recv_wr);
}

/* --- contexts --- */

static void patch_more(struct original *o, struct ibv_context *ctx)
{
	struct verbs_context *v = verbs_get_ctx(ctx);

	if (!v)
		return;
#define PATCH(name) \
	if (v->name) { \
		o->name = v->name; \
		v->name = name; \
	}
	PATCH(create_qp_ex)
	PATCH(create_cq_ex)
	PATCH(create_srq_ex)
	PATCH(alloc_null_mr)
	PATCH(reg_dm_mr)
	PATCH(alloc_parent_domain)
#undef PATCH
}

void check_context(struct ibv_context *ctx)
{
	struct original *o;

	ut_lock(&check_lock);
	o = original_of(ctx) ? NULL : original_of(NULL);
	if (o) {
		o->ops = ctx->ops;
		ctx->ops.post_send = post_send;
		ctx->ops.post_recv = post_recv;
		ctx->ops.post_srq_recv = post_srq_recv;
		ctx->ops.poll_cq = poll_cq;
		ctx->ops.req_notify_cq = req_notify_cq;
		patch_more(o, ctx);
		o->ctx = ctx;
	}
	ut_unlock(&check_lock);
}

void check_forget_context(struct ibv_context *ctx)
{
	struct original *o;

	ut_lock(&check_lock);
	o = original_of(ctx);
	if (o)
		*o = (struct original){ 0 };
	ut_unlock(&check_lock);
}
