/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "proto/ib/place.h"

#include "proto/ib/responder.h"
#include "proto/ib/responses.h"
#include "proto/ib/uc.h"
#include "util/reach.h"

#include <errno.h>

/* Bytes from which on plain stores pay. */
#define IBP_PUT_BYTES 8192u
#define IBP_KEEP_BYTES 16384u
#define IBP_KEEP_SHORTS 8u

int ibp_scatter(struct ut_stage *st, size_t off, struct iovec *iov, int n, uint32_t len, bool last)
{
	if (!len)
		return 0;
	if (last)
		n = ut_stage_tail(iov, n);
	return ut_stage_scatter(st, off, iov, n) == (ssize_t)len ? 0 : -EFAULT;
}

static bool follows(const struct ibp_placing *w, const struct ibp_qp *q, bool request, size_t off)
{
	return w->q == q && w->request == request && off >= w->end &&
	       off - w->end <= sizeof(w->sink) && w->n < IBP_PLACE_IOV - 48 &&
	       w->n_from < IBP_PLACE_FROM;
}

/* Lists the destinations alone, adjoining ones in one piece, except the last piece: its bytes come
 * last. */
static int destinations(const struct ibp_placing *w, struct iovec *to)
{
	int n = 0;

	for (int i = 0; i < w->n; i++) {
		const struct iovec *v = &w->iov[i];

		if (v->iov_base == w->sink)
			continue;
		if (n && i < w->n - 1 &&
		    (uint8_t *)to[n - 1].iov_base + to[n - 1].iov_len == v->iov_base)
			to[n - 1].iov_len += v->iov_len;
		else
			to[n++] = *v;
	}
	return n;
}

/* The payload that waits is that of the train that the link has kept, all of it. */
static bool whole(const struct ibp_placing *w, const struct link *l)
{
	size_t end = l->kept_off + l->kept_len;

	return l->kept_len && w->start >= l->kept_off && w->start - l->kept_off <= sizeof(w->sink) &&
	       w->end <= end && end - w->end <= sizeof(w->sink);
}

/* Places from the link's own buffers, headers included, which is quickest. Returns false if that is
 * not possible. */
static bool take(struct ibp_placing *w, struct link *l)
{
	struct iovec iov[IBP_PLACE_IOV + 2];
	int n = 1;

	if (!whole(w, l))
		return false;
	iov[0] = (struct iovec){ w->sink, w->start - l->kept_off };
	memcpy(&iov[1], w->iov, (size_t)w->n * sizeof(*iov));
	n += w->n;
	iov[n++] = (struct iovec){ w->sink, l->kept_off + l->kept_len - w->end };
	return l->ops->take(l, iov, n) == 0;
}

/* Places whole packets: the scattering read of a stage begins inside a page for each and takes half
 * as long again as this call, which does not say why it failed. */
static bool put(const struct ibp_placing *w, size_t len)
{
	struct iovec to[IBP_PLACE_IOV];

	return len >= IBP_PUT_BYTES &&
	       ut_reach_put(w->from, w->n_from, to, destinations(w, to)) == 0;
}

/* By plain stores, in a thread of the application; the headers go to the sink. */
static bool store(struct ibp_placing *w, struct ut_stage *st)
{
	struct iovec to[IBP_PLACE_IOV];

	if (!st->pages_checked_at || !ut_stage_may_store(st, to, destinations(w, to)))
		return false;
	ut_stage_store(st->base + w->start, w->iov, w->n);
	return true;
}

void ibp_place_drop(struct ibp_port *port)
{
	port->placing.q = NULL;
	port->placing.n = port->placing.n_from = 0;
}

/* Long trains follow one another, with the first packet of each message between them, which is
 * longer than the next and travels alone. A thread that may store does not ask the kernel. */
static void expect(struct ibp_placing *w, struct link *l, size_t len)
{
	if (len >= IBP_KEEP_BYTES)
		w->trains_awaited = IBP_KEEP_SHORTS;
	else if (w->trains_awaited)
		w->trains_awaited--;
	l->keep = w->trains_awaited && !l->rx_stage->pages_checked_at;
}

/* Places the payload that waits. Returns 0 or -EFAULT. */
static int run(struct ibp_port *port)
{
	struct ibp_placing *w = &port->placing;
	size_t len = w->end - w->start;
	struct link *l = port->link;
	bool good = true;

	if (!w->q)
		return 0;
	expect(w, l, len);
	if (!store(w, l->rx_stage) && !take(w, l) && !put(w, len))
		good = ut_stage_scatter(l->rx_stage, w->start, w->iov, w->n) == (ssize_t)len;
	ibp_place_drop(port);
	return good ? 0 : -EFAULT;
}

void ibp_place_settle(struct ibp_port *port)
{
	struct ibp_qp *q = port->placing.q;
	bool request = port->placing.request;

	if (run(port) == 0)
		return;
	/* The packet at fault is inside the message in work, whose request or
	 * receive is what fails. */
	if (!request)
		ibp_req_fail_head(q, ENG_V_LOC_FAULT);
	else if (q->cls == WIRE_CLASS_UC)
		ibp_uc_fault(q);
	else
		ibp_resp_fatal(q, q->recv.message == IBP_SEND ? ENG_V_LOC_FAULT : ENG_V_RX_FAULT,
			       psn_add(q->conn.resp.epsn, IBP_PSN_MASK));
}

/* A message that has lost a part must not complete as if it were whole, and a queue pair that
 * failed as a requester receives nothing more. */
static int make_room(struct ibp_qp *q, bool request)
{
	struct ibp_placing *w = &q->port->placing;

	if (w->q == q && w->request == request)
		return run(q->port);
	ibp_place_settle(q->port);
	return eng_qp_state(q->qp) == IBV_QPS_ERR ? -EFAULT : 0;
}

int ibp_place(struct ibp_qp *q, bool request, size_t off, struct iovec *iov, int n, uint32_t len,
	      bool last)
{
	struct ut_stage *st = q->port->link->rx_stage;
	struct ibp_placing *w = &q->port->placing;

	/* A small message of its own, behind which no payload waits. */
	if (last && len && request && !w->q && st->pages_checked_at)
		return ut_stage_scatter_user(st, off, iov, ut_stage_tail(iov, n)) == (ssize_t)len ? 0 : -EFAULT;
	if (w->q && !follows(w, q, request, off) && make_room(q, request) < 0)
		return -EFAULT;
	if (!len)
		return last ? run(q->port) : 0;
	if (!w->q) {
		w->start = off;
	} else if (off > w->end) {
		w->iov[w->n++] = (struct iovec){ w->sink, off - w->end };
	}
	if (last)
		n = ut_stage_tail(iov, n);
	memcpy(&w->iov[w->n], iov, (size_t)n * sizeof(*iov));
	w->n += n;
	w->from[w->n_from++] =
		(struct iovec){ st->base + off, len };
	w->end = off + len;
	w->q = q;
	w->request = request;
	return last ? run(q->port) : 0;
}
