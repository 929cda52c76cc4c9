/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Small Reads and Writes between processes of one host, made by the requester alone (link/shown.h).
 * They have no PSN and no packet, so they are begun only while nothing of their queue is under
 * way: what was posted before them has been executed, and what comes after them starts later. What
 * the tables do not grant changes nothing and goes as a packet, so that every refusal, event and
 * sentence is the responder's.
 *
 * A responder shows a key and its queue pair when a packet has used them with success, which also
 * spares the tables what nobody uses from afar, and hides them before they change.
 */
#include "proto/ib/port.h"

#include "engine/mkey.h"

#define SERVED (IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE)

/* --- showing --- */

static bool may_show(const struct ibp_qp *q, const struct eng_mkey *mk, uint32_t key)
{
	return q->cls == WIRE_CLASS_RC && q->port->near.rx && mk->key == key &&
	       mk->kind == ENG_MR && !mk->pages && !mk->null &&
	       eng_qp_state(q->qp) == IBV_QPS_RTS;
}

static void show_key(struct link_shown *s, const struct eng_mkey *mk)
{
	struct link_shown_key *k = &s->keys[(mk->key >> 8) % LINK_SHOWN];

	if (atomic_load_explicit(&k->key, memory_order_relaxed))
		return;
	k->access = mk->access;
	k->pd = (uintptr_t)mk->pd;
	k->iova = mk->iova;
	k->length = mk->length;
	k->addr = mk->addr;
	atomic_store_explicit(&k->key, mk->key, memory_order_release);
}

static void show_qp(struct link_shown *s, const struct ibp_qp *q)
{
	const struct eng_qp *qp = q->qp;
	struct link_shown_qp *e = &s->qps[qp->qpn % LINK_SHOWN];

	if (atomic_load_explicit(&e->qpn, memory_order_relaxed))
		return;
	e->peer = qp->attr.dest_qp_num;
	memcpy(e->addr, q->path.flow.dst, sizeof(e->addr));
	e->access = qp->attr.qp_access_flags & SERVED;
	if (!qp->attr.max_dest_rd_atomic)
		e->access &= ~(unsigned)IBV_ACCESS_REMOTE_READ;
	e->pd = (uintptr_t)q->resp.pd;
	atomic_store_explicit(&e->qpn, qp->qpn, memory_order_release);
}

void ibp_show(struct ibp_qp *q, const struct eng_mkey *mk, uint32_t key)
{
	struct link_shown *s = q->port->link->shown;

	if (!s || !may_show(q, mk, key))
		return;
	show_key(s, mk);
	show_qp(s, q);
}

void ibp_recall(struct eng_dev *dev, uint32_t index)
{
	struct ibp_port *port = dev->port;
	struct link_shown *s = port->link->shown;
	struct link_shown_key *k = &s->keys[index % LINK_SHOWN];
	struct link_shown_qp *e = &s->qps[index % LINK_SHOWN];
	bool shown = false;

	if (atomic_load_explicit(&k->key, memory_order_relaxed) >> 8 == index) {
		atomic_store_explicit(&k->key, 0, memory_order_relaxed);
		shown = true;
	}
	if (atomic_load_explicit(&e->qpn, memory_order_relaxed) == index) {
		atomic_store_explicit(&e->qpn, 0, memory_order_relaxed);
		shown = true;
	}
	if (shown)
		link_near(port->link)->see_off(port->link);
}

/* --- visiting --- */

static bool grants_qp(const struct ibp_qp *q, const struct link_shown *s, unsigned need,
		      uint64_t *ret_pd)
{
	uint32_t qpn = q->qp->attr.dest_qp_num;
	const struct link_shown_qp *e = &s->qps[qpn % LINK_SHOWN];

	if (atomic_load_explicit(&e->qpn, memory_order_acquire) != qpn)
		return false;
	*ret_pd = e->pd;
	return e->peer == q->qp->qpn && (e->access & need) &&
	       !memcmp(e->addr, q->path.flow.src, sizeof(e->addr));
}

static bool grants(const struct ibp_qp *q, const struct link_shown *s, const struct eng_swqe *w,
		   unsigned need, uint64_t *ret_addr)
{
	const struct link_shown_key *k = &s->keys[(w->rkey >> 8) % LINK_SHOWN];
	uint64_t pd, off = w->remote_addr;

	if (!grants_qp(q, s, need, &pd) ||
	    atomic_load_explicit(&k->key, memory_order_acquire) != w->rkey)
		return false;
	off -= k->iova;
	*ret_addr = k->addr + off;
	return k->pd == pd && (k->access & need) && w->remote_addr >= k->iova &&
	       off <= k->length && w->length <= k->length - off;
}

/* Our end: one piece, or two with the last bytes for themselves. 0: not so simple. */
static int our_end(struct ibp_qp *q, struct eng_swqe *w, bool write, struct iovec iov[2])
{
	int n;

	if (w->flags & IBV_SEND_INLINE) {
		iov[0] = (struct iovec){ eng_swqe_inline(w), w->length };
		n = 1;
	} else {
		n = eng_sge_iov(q->qp->pd, w->sge, w->num_sge, 0, w->length, !write, iov, 1);
	}
	return n == 1 ? ut_stage_tail(iov, 1) : 0;
}

static bool moved(struct ibp_qp *q, const struct eng_swqe *w, struct iovec iov[2], int n,
		  bool write)
{
	unsigned need = write ? IBV_ACCESS_REMOTE_WRITE : IBV_ACCESS_REMOTE_READ;
	struct link *l = q->port->link;
	const struct link_near_ops *near = link_near(l);
	const struct link_shown *s;
	struct link_visit visit;
	uint64_t addr;
	bool done;

	s = near->enter(l, &q->path.flow, q->qp->attr.dest_qp_num, &visit);
	if (!s)
		return false;
	done = grants(q, s, w, need, &addr) &&
	       near->reach_in(&visit, addr, iov, n, write) == (ssize_t)w->length;
	near->leave(l);
	return done;
}

static bool is_small(const struct eng_swqe *w)
{
	return (w->opcode == IBV_WR_RDMA_WRITE || w->opcode == IBV_WR_RDMA_READ) && w->length &&
	       w->length <= IBP_VISIT_MOST && !w->started && !w->verdict;
}

/* Nothing is under way, and nothing is in the way. */
static bool is_alone(const struct ibp_qp *q)
{
	const struct ibp_req *r = &q->req;

	return r->near && q->cls == WIRE_CLASS_RC && eng_qp_state(q->qp) == IBV_QPS_RTS &&
	       r->psn_una == r->psn_next && r->psn_send == r->psn_next && !r->pkt && !r->halted &&
	       !r->rnr_wait && !r->recovering && !r->plain;
}

bool ibp_visit(struct ibp_qp *q, struct eng_swqe *w)
{
	bool write = w->opcode == IBV_WR_RDMA_WRITE;
	struct eng_dev *dev = q->port->dev;
	struct iovec iov[2];
	int n;

	if (!is_small(w) || !q->port->link->shown || !is_alone(q) ||
	    (!write && !q->qp->attr.max_rd_atomic))
		return false;
	n = our_end(q, w, write, iov);
	if (!n || !moved(q, w, iov, n, write))
		return false;
	eng_dev_held(dev);
	dev->counters[ENG_C_local_visits]++;
	q->port->sent++;
	q->req.cur++;
	eng_send_done(q->qp, ENG_OK);
	return true;
}

bool ibp_visit_posted(struct eng_qp *qp)
{
	struct ibp_qp *q = ibp_qp(qp);
	uint32_t tail = atomic_load_explicit(&qp->sq.tail, memory_order_acquire);

	while (q->req.cur != tail)
		if (!ibp_visit(q, eng_ring_at(&qp->sq, q->req.cur)))
			return false;
	return eng_qp_state(qp) == IBV_QPS_RTS;
}
