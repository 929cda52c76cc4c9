/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Placement of received payload. Packets of one message usually arrive behind
 * one another in one receive buffer, so their payloads go into application
 * memory with a single scattering call, which drops the headers between them
 * into a sink. Packets inside a message wait here; the last one of a message
 * takes all along, so that what follows it (completion, acknowledgement) finds
 * the data in place. Nothing waits longer than one ibp_receive() call.
 */
#include "proto/ib/port.h"

#include <errno.h>

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
	       off - w->end <= sizeof(w->sink) && w->n < IBP_PLACE_IOV - 48;
}

/* What waits goes into memory. 0 or -EFAULT. */
static int run(struct ibp_port *port)
{
	struct ibp_placing *w = &port->placing;
	size_t len = w->end - w->start;
	ssize_t r;

	if (!w->q)
		return 0;
	r = ut_stage_scatter(port->link->rx_stage, w->start, w->iov, w->n);
	w->q = NULL;
	w->n = 0;
	return r == (ssize_t)len ? 0 : -EFAULT;
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
		ibp_resp_fatal(q, q->resp.message == IBP_SEND ? ENG_V_LOC_FAULT : ENG_V_RX_FAULT,
			       psn_add(q->resp.epsn, IBP_PSN_MASK));
}

/* A message that has lost a part must not end as if it were whole, and a QP that
 * failed over its other direction has nothing more to receive. */
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
	struct ibp_placing *w = &q->port->placing;

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
	w->end = off + len;
	w->q = q;
	w->request = request;
	return last ? run(q->port) : 0;
}
