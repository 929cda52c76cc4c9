/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dtl.h"

#include <string.h>

#if DTL_V2 && !defined(__KERNEL__)
#include <dat2/dat_ib_extensions.h>
#endif

#define CONN_QLEN 8

static int make_evds(struct dtl_end *e, const struct dtl_end_wish *wish)
{
	DAT_CNO_HANDLE cno = wish->cno;

	return dtl_check(dat_evd_create(e->ia->ia, wish->recvs + 1, cno, DAT_EVD_DTO_FLAG,
					&e->recv), "dat_evd_create (receives)") ||
	       dtl_check(dat_evd_create(e->ia->ia, wish->requests + 1, cno,
					DAT_EVD_DTO_FLAG | DAT_EVD_RMR_BIND_FLAG, &e->request),
			 "dat_evd_create (requests)") ||
	       dtl_check(dat_evd_create(e->ia->ia, CONN_QLEN, DAT_HANDLE_NULL,
					DAT_EVD_CONNECTION_FLAG, &e->conn),
			 "dat_evd_create (connections)") ? -1 : 0;
}

static DAT_EP_ATTR attributes(const struct dtl_ia *ia, const struct dtl_end_wish *wish)
{
	int reads = wish->reads ? wish->reads : 4;
	DAT_EP_ATTR a;

	memset(&a, 0, sizeof(a));
	a.max_recv_dtos = wish->recvs;
	a.max_request_dtos = wish->requests;
	a.max_recv_iov = wish->iov;
	a.max_request_iov = wish->iov;
#if DTL_V2 && !defined(__KERNEL__)
	if (wish->datagrams) {	/* the provider's sizes, and no RDMA */
		a.service_type = (DAT_SERVICE_TYPE)DAT_IB_SERVICE_TYPE_UD;
		return a;
	}
#endif
	a.service_type = DAT_SERVICE_TYPE_RC;
	a.max_message_size = ia->attr.max_message_size;
	a.max_rdma_size = ia->attr.max_rdma_size;
	a.qos = DAT_QOS_BEST_EFFORT;
	a.recv_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
	a.request_completion_flags = DAT_COMPLETION_DEFAULT_FLAG;
	a.max_rdma_read_in = reads < ia->attr.max_rdma_read_per_ep_in ?
			     reads : ia->attr.max_rdma_read_per_ep_in;
	a.max_rdma_read_out = reads < ia->attr.max_rdma_read_per_ep_out ?
			      reads : ia->attr.max_rdma_read_per_ep_out;
	a.max_rdma_read_iov = wish->iov < ia->attr.max_iov_segments_per_rdma_read ?
			      wish->iov : ia->attr.max_iov_segments_per_rdma_read;
	a.max_rdma_write_iov = wish->iov;
	return a;
}

int dtl_end_make(struct dtl_end *e, struct dtl_ia *ia, const struct dtl_end_wish *wish)
{
	DAT_EP_ATTR attr = attributes(ia, wish);
	DAT_RETURN r;

	*e = (struct dtl_end){ .ia = ia, .how = wish->how, .cno = wish->cno,
				.qos = wish->qos };
	if (make_evds(e, wish) != 0) {
		dtl_end_drop(e);
		return -1;
	}
	if (wish->srq != DAT_HANDLE_NULL)
		r = dat_ep_create_with_srq(ia->ia, ia->pz, e->recv, e->request, e->conn, wish->srq,
					   &attr, &e->ep);
	else
		r = dat_ep_create(ia->ia, ia->pz, e->recv, e->request, e->conn, &attr, &e->ep);
	if (dtl_check(r, "dat_ep_create") == 0)
		return 0;
	e->ep = DAT_HANDLE_NULL;
	dtl_end_drop(e);
	return -1;
}

int dtl_disconnect(struct dtl_end *e)
{
	if (!e->connected)
		return 0;
	e->connected = false;
	if (dtl_check(dat_ep_disconnect(e->ep, DAT_CLOSE_GRACEFUL_FLAG), "dat_ep_disconnect") != 0)
		return -1;
	/* Whichever end disconnects first, one such event ends the connection. */
	return dtl_disconnected(e);
}

int dtl_disconnected(struct dtl_end *e)
{
	DAT_EVENT ev;
	int r;

	e->connected = false;
	r = dtl_next(DTL_WAIT, DAT_HANDLE_NULL, e->conn, DTL_TIMEOUT_MS, &ev);
	if (r > 0)
		dtl_complain("the disconnect caused no event within the timeout");
	if (r == 0 && ev.event_number != DAT_CONNECTION_EVENT_DISCONNECTED &&
	    ev.event_number != DAT_CONNECTION_EVENT_BROKEN) {
		dtl_complain("a disconnect caused the event %s", dtl_event_name(ev.event_number));
		return -1;
	}
	return r == 0 ? 0 : -1;
}

int dtl_end_drop(struct dtl_end *e)
{
	DAT_EVD_HANDLE evds[3] = { e->recv, e->request, e->conn };
	int i, bad = dtl_disconnect(e);

	if (e->ep != DAT_HANDLE_NULL)
		bad |= dtl_check(dat_ep_free(e->ep), "dat_ep_free");
	for (i = 0; i < 3; i++)
		if (evds[i] != DAT_HANDLE_NULL)
			bad |= dtl_check(dat_evd_free(evds[i]), "dat_evd_free");
	memset(e, 0, sizeof(*e));
	return bad;
}

int dtl_ask(struct dtl_end *e, const struct sockaddr_storage *to, DAT_CONN_QUAL qual,
	    const void *data, int size)
{
	return dtl_check(dat_ep_connect(e->ep, (DAT_IA_ADDRESS_PTR)(uintptr_t)to, qual,
					DTL_TIMEOUT_MS / 2 * 1000, size,
					(DAT_PVOID)(uintptr_t)data, e->qos,
					DAT_CONNECT_DEFAULT_FLAG), "dat_ep_connect");
}

int dtl_connect(struct dtl_end *e, const struct sockaddr_storage *to, DAT_CONN_QUAL qual,
		const void *data, int size, DAT_EVENT *ret)
{
	int r;

	if (dtl_ask(e, to, qual, data, size) != 0)
		return -1;
	r = dtl_next(DTL_WAIT, DAT_HANDLE_NULL, e->conn, DTL_TIMEOUT_MS, ret);
	if (r > 0)
		dtl_complain("the connection request got no answer and did not time out");
	if (r == 0)
		e->connected = ret->event_number == DAT_CONNECTION_EVENT_ESTABLISHED;
	return r == 0 ? 0 : -1;
}

int dtl_accept(struct dtl_end *e, DAT_CR_HANDLE cr, const void *data, int size)
{
	return dtl_check(dat_cr_accept(cr, e->ep, size, (DAT_PVOID)(uintptr_t)data),
			 "dat_cr_accept");
}

int dtl_established(struct dtl_end *e, DAT_EVENT *ret)
{
	DAT_EVENT ev;
	int r = dtl_next(DTL_WAIT, DAT_HANDLE_NULL, e->conn, DTL_TIMEOUT_MS, &ev);

	if (r > 0)
		dtl_complain("the connection was not established in time");
	if (r != 0)
		return -1;
	if (ret)
		*ret = ev;
	e->connected = ev.event_number == DAT_CONNECTION_EVENT_ESTABLISHED;
	if (!e->connected)
		dtl_complain("the connection was not established: %s", dtl_event_name(ev.event_number));
	return e->connected ? 0 : -1;
}

int dtl_post_recv(struct dtl_end *e, DAT_LMR_TRIPLET *segs, int n, uint64_t cookie)
{
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	return dtl_check(dat_ep_post_recv(e->ep, n, segs, c, DAT_COMPLETION_DEFAULT_FLAG),
			 "dat_ep_post_recv");
}

int dtl_post_send(struct dtl_end *e, DAT_LMR_TRIPLET *segs, int n, uint64_t cookie)
{
	DAT_DTO_COOKIE c = { .as_64 = cookie };

	return dtl_check(dat_ep_post_send(e->ep, n, segs, c, DAT_COMPLETION_DEFAULT_FLAG),
			 "dat_ep_post_send");
}
