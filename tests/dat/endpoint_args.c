/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Wrong arguments: each call of endpoints, service points and requests names the wrong one. */
#include "endpoint_lib.h"
#include "support/cases.h"

#include <netinet/in.h>
#include <sys/socket.h>

static struct el t;
static DAT_EP_HANDLE gone; /* freed */
static char words[256];

/* Nothing, freed, and of another kind. */
#define EACH_BAD(h, other, call, want)                                        \
	do {                                                                  \
		DAT_HANDLE bad_handles[] = { DAT_HANDLE_NULL, gone, other };  \
		for (size_t bad_i = 0; bad_i < 3; bad_i++) {                  \
			DAT_HANDLE h = bad_handles[bad_i];                    \
			WANT(call, want);                                     \
		}                                                             \
	} while (0)

static void ep_handles(void)
{
	DAT_EP_STATE s;
	DAT_EP_PARAM p;
	DAT_COUNT n;
	void *addr = t.p.b.attr.ia_address_ptr;

	EACH_BAD(h, t.p.a.pz, dat_ep_free(h), HANDLE(EP));
	EACH_BAD(h, t.p.a.pz, dat_ep_reset(h), HANDLE(EP));
	EACH_BAD(h, t.p.a.pz, dat_ep_query(h, DAT_EP_FIELD_ALL, &p), HANDLE(EP));
	EACH_BAD(h, t.p.a.pz, dat_ep_modify(h, 0, &p), HANDLE(EP));
	EACH_BAD(h, t.p.a.pz, dat_ep_get_status(h, &s, NULL, NULL), HANDLE(EP));
	EACH_BAD(h, t.p.a.pz, dat_ep_recv_query(h, &n, &n), HANDLE(EP));
	EACH_BAD(h, t.p.a.pz, dat_ep_set_watermark(h, 1, 1), HANDLE(EP));
	EACH_BAD(h, t.p.a.pz, dat_ep_disconnect(h, DAT_CLOSE_ABRUPT_FLAG), HANDLE(EP));
	EACH_BAD(h, t.p.a.pz, dat_ep_connect(h, addr, 1, 1, 0, NULL, DAT_QOS_BEST_EFFORT,
					     DAT_CONNECT_DEFAULT_FLAG), HANDLE(EP));
	EACH_BAD(h, t.p.a.pz, dat_ep_common_connect(h, addr, 1, 0, NULL), HANDLE(EP));
	EACH_BAD(h, t.p.a.pz, dat_ep_dup_connect(h, t.p.a.ep, 1, 0, NULL, DAT_QOS_BEST_EFFORT),
		 HANDLE(EP));
	EACH_BAD(h, t.p.a.pz, dat_ep_dup_connect(t.p.a.ep, h, 1, 0, NULL, DAT_QOS_BEST_EFFORT),
		 HANDLE(EP));
}

static void sp_handles(void)
{
	DAT_PSP_PARAM psp;
	DAT_RSP_PARAM rsp;
	DAT_CSP_PARAM csp;
	DAT_CR_PARAM cr;

	EACH_BAD(h, t.p.a.ep, dat_psp_free(h), HANDLE(PSP));
	EACH_BAD(h, t.p.a.ep, dat_rsp_free(h), HANDLE(RSP));
	EACH_BAD(h, t.psp, dat_rsp_free(h), HANDLE(RSP));
	EACH_BAD(h, t.psp, dat_csp_free(h), HANDLE(CSP));
	EACH_BAD(h, t.p.a.ep, dat_psp_query(h, DAT_PSP_FIELD_ALL, &psp), HANDLE(PSP));
	EACH_BAD(h, t.p.a.ep, dat_rsp_query(h, DAT_RSP_FIELD_ALL, &rsp), HANDLE(RSP));
	EACH_BAD(h, t.p.a.ep, dat_csp_query(h, DAT_CSP_FIELD_ALL, &csp), HANDLE(CSP));
	EACH_BAD(h, t.p.a.ep, dat_cr_query(h, DAT_CR_FIELD_ALL, &cr), HANDLE(CR));
	EACH_BAD(h, t.p.a.ep, dat_cr_accept(h, t.p.a.ep, 0, NULL), HANDLE(CR));
	EACH_BAD(h, t.p.a.ep, dat_cr_reject(h, 0, NULL), HANDLE(CR));
	EACH_BAD(h, t.p.a.ep, dat_cr_handoff(h, 1), HANDLE(CR));
}

static DAT_RETURN create(DAT_PZ_HANDLE pz, DAT_EVD_HANDLE recv, DAT_EVD_HANDLE req,
			 DAT_EVD_HANDLE conn, const DAT_EP_ATTR *attr)
{
	DAT_EP_HANDLE ep;
	DAT_RETURN ret = dat_ep_create(t.p.a.ia, pz, recv, req, conn, attr, &ep);

	if (!ret)
		OK(dat_ep_free(ep));
	return ret;
}

static void ep_create(void)
{
	struct mp_end *a = &t.p.a;
	DAT_EP_HANDLE ep;

	WANT(dat_ep_create(DAT_HANDLE_NULL, a->pz, a->recv, a->req, a->conn, NULL, &ep), HANDLE(IA));
	WANT(dat_ep_create(a->ia, a->pz, a->recv, a->req, a->conn, NULL, NULL), ARG(7));
	WANT(create(a->ep, a->recv, a->req, a->conn, NULL), HANDLE(PZ));
	WANT(create(gone, a->recv, a->req, a->conn, NULL), HANDLE(PZ));
	WANT(create(t.p.b.pz, a->recv, a->req, a->conn, NULL), HANDLE(PZ)); /* of another adapter */
	WANT(create(a->pz, a->conn, a->req, a->conn, NULL), HANDLE(EVD_RECV));
	WANT(create(a->pz, a->pz, a->req, a->conn, NULL), HANDLE(EVD_RECV));
	WANT(create(a->pz, a->recv, a->cr, a->conn, NULL), HANDLE(EVD_REQUEST));
	WANT(create(a->pz, a->recv, a->req, a->recv, NULL), HANDLE(EVD_CONN));
	WANT(dat_ep_create_with_srq(a->ia, a->pz, a->recv, a->req, a->conn, a->pz, NULL, &ep),
	     HANDLE(SRQ));
	OK(create(NULL, NULL, NULL, NULL, NULL));
}

/* One attribute wrong at a time. */
static void ep_attr(void)
{
	struct mp_end *a = &t.p.a;
	const DAT_EP_ATTR none = { 0 };

#define BAD(field, value, want)                                     \
	do {                                                        \
		DAT_EP_ATTR x = none;                               \
		x.field = value;                                    \
		WANT(create(a->pz, a->recv, a->req, a->conn, &x), want); \
	} while (0)
	OK(create(a->pz, a->recv, a->req, a->conn, &none));
	BAD(service_type, (DAT_SERVICE_TYPE)77, ARG(6));
	BAD(qos, DAT_QOS_PREMIUM, ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE));
	BAD(max_message_size, a->attr.max_message_size + 1, ARG(6));
	BAD(max_rdma_size, a->attr.max_rdma_size + 1, ARG(6));
	BAD(max_recv_dtos, a->attr.max_dto_per_ep + 1, ARG(6));
	BAD(max_request_dtos, -1, ARG(6));
	BAD(max_recv_iov, a->attr.max_iov_segments_per_dto + 1, ARG(6));
	BAD(max_request_iov, 0x7fffffff, ARG(6));
	BAD(max_rdma_read_in, a->attr.max_rdma_read_per_ep_in + 1, ARG(6));
	BAD(max_rdma_read_out, -2, ARG(6));
	BAD(recv_completion_flags, DAT_COMPLETION_SUPPRESS_FLAG, ARG(6));
	BAD(request_completion_flags, (DAT_COMPLETION_FLAGS)0x100, ARG(6));
	BAD(ep_transport_specific_count, 1, ARG(6));
#undef BAD
}

static DAT_RETURN connect_to(void *addr, DAT_CONN_QUAL q, DAT_TIMEOUT time, DAT_COUNT n,
			     const void *data, int qos, int flags)
{
	return dat_ep_connect(t.p.a.ep, addr, q, time, n, (DAT_PVOID)data, (DAT_QOS)qos,
			      (DAT_CONNECT_FLAGS)flags);
}

static void connecting(void)
{
	struct sockaddr_in odd = { .sin_family = AF_UNIX }, none = { .sin_family = AF_INET };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	void *addr = t.p.b.attr.ia_address_ptr;
	DAT_EP_HANDLE ep = t.p.a.ep;

	WANT(connect_to(NULL, 1, 1, 0, NULL, 0, 0), ARG(2));
	WANT(connect_to(&odd, 1, 1, 0, NULL, 0, 0),
	     ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED));
	WANT(connect_to(&none, 1, 1, 0, NULL, 0, 0),
	     ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED));
	if (((struct sockaddr *)addr)->sa_family == AF_INET)
		WANT(connect_to(&six, 1, 1, 0, NULL, 0, 0),
		     ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_UNSUPPORTED));
	WANT(connect_to(addr, 0, 1, 0, NULL, 0, 0), ARG(3));
	WANT(connect_to(addr, 1, 0, 0, NULL, 0, 0), ARG(4));
	WANT(connect_to(addr, 1, 1, 256, words, 0, 0), ARG(5));
	WANT(connect_to(addr, 1, 1, 9, NULL, 0, 0), ARG(6));
	WANT(connect_to(addr, 1, 1, 0, NULL, DAT_QOS_LOW_LATENCY, 0),
	     ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE));
	WANT(connect_to(addr, 1, 1, 0, NULL, 0, DAT_CONNECT_MULTIPATH_REQUIRED_FLAG),
	     ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE));
	WANT(connect_to(addr, 1, 1, 0, NULL, 0, 0x40), ARG(8));
	WANT(dat_ep_common_connect(ep, NULL, 1, 0, NULL), ARG(2));
	WANT(dat_ep_common_connect(ep, (DAT_IA_ADDRESS_PTR)addr, 0, 0, NULL),
	     ERR(DAT_INVALID_ADDRESS, DAT_INVALID_ADDRESS_MALFORMED)); /* no port */
	WANT(dat_ep_dup_connect(ep, ep, 0, 0, NULL, DAT_QOS_BEST_EFFORT), ARG(3));
	WANT(dat_ep_dup_connect(ep, ep, 1, 256, words, DAT_QOS_BEST_EFFORT), ARG(4));
	WANT(dat_ep_dup_connect(ep, ep, 1, 1, NULL, DAT_QOS_BEST_EFFORT), ARG(5));
	WANT(dat_ep_dup_connect(ep, ep, 1, 0, NULL, DAT_QOS_ECONOMY),
	     ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE));
	WANT(dat_ep_disconnect(ep, (DAT_CLOSE_FLAGS)7), ARG(2));
	CHECK(el_state(ep) == DAT_EP_STATE_UNCONNECTED);
}

static void listening(void)
{
	struct mp_end *b = &t.p.b;
	DAT_PSP_HANDLE psp;
	DAT_RSP_HANDLE rsp;
	DAT_CONN_QUAL q;

	WANT(dat_psp_create(NULL, 9999, b->cr, DAT_PSP_CONSUMER_FLAG, &psp), HANDLE(IA));
	WANT(dat_psp_create(b->ia, 0, b->cr, DAT_PSP_CONSUMER_FLAG, &psp), ARG(2));
	WANT(dat_psp_create(b->ia, 9999, b->conn, DAT_PSP_CONSUMER_FLAG, &psp), HANDLE(EVD_CR));
	WANT(dat_psp_create(b->ia, 9999, NULL, DAT_PSP_CONSUMER_FLAG, &psp), HANDLE(EVD_CR));
	WANT(dat_psp_create(b->ia, 9999, b->cr, (DAT_PSP_FLAGS)5, &psp), ARG(4));
	WANT(dat_psp_create(b->ia, 9999, b->cr, DAT_PSP_CONSUMER_FLAG, NULL), ARG(5));
	WANT(dat_psp_create_any(b->ia, NULL, b->cr, DAT_PSP_CONSUMER_FLAG, &psp), ARG(2));
	WANT(dat_psp_create_any(b->ia, &q, b->cr, (DAT_PSP_FLAGS)9, &psp), ARG(4));
	WANT(dat_psp_create_any(b->ia, &q, b->cr, DAT_PSP_CONSUMER_FLAG, NULL), ARG(5));
	WANT(dat_rsp_create(b->ia, 0, b->ep, b->cr, &rsp), ARG(2));
	WANT(dat_rsp_create(b->ia, 9999, b->pz, b->cr, &rsp), HANDLE(EP));
	WANT(dat_rsp_create(b->ia, 9999, t.p.a.ep, b->cr, &rsp), HANDLE(EP));
	WANT(dat_rsp_create(b->ia, 9999, b->ep, b->recv, &rsp), HANDLE(EVD_CR));
	WANT(dat_rsp_create(b->ia, 9999, b->ep, b->cr, NULL), ARG(5));
	CHECK(el_state(b->ep) == DAT_EP_STATE_UNCONNECTED);
}

static void masks(void)
{
	DAT_EP_PARAM p;
	DAT_PSP_PARAM psp;

	memset(&p, 0, sizeof(p));
	WANT(dat_ep_query(t.p.a.ep, DAT_EP_FIELD_ALL, NULL), ARG(3));
	WANT(dat_ep_query(t.p.a.ep, ~(DAT_EP_PARAM_MASK)0, &p), ARG(2));
	WANT(dat_psp_query(t.psp, DAT_PSP_FIELD_ALL, NULL), ARG(3));
	WANT(dat_psp_query(t.psp, (DAT_PSP_PARAM_MASK)0x100, &psp), ARG(2));
	for (DAT_EP_PARAM_MASK m = 1; m <= DAT_EP_FIELD_REMOTE_PORT_QUAL; m <<= 1)
		WANT(dat_ep_modify(t.p.a.ep, m, &p), ARG(2));
	WANT(dat_ep_modify(t.p.a.ep, DAT_EP_FIELD_PZ_HANDLE, NULL), ARG(3));
	p.ep_attr.max_recv_dtos = -1;
	WANT(dat_ep_modify(t.p.a.ep, DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, &p), ARG(3));
	p.recv_evd_handle = t.p.a.conn;
	WANT(dat_ep_modify(t.p.a.ep, DAT_EP_FIELD_RECV_EVD_HANDLE, &p), HANDLE(EVD_RECV));
	WANT(dat_ep_set_watermark(t.p.a.ep, 1, 1), ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE));
	WANT(dat_ep_set_watermark(t.p.a.ep, -2, 1), ARG(2));
	WANT(dat_ep_set_watermark(t.p.a.ep, 1, -2), ARG(3));
}

/* A query returns the modified values, and replaced objects can be freed. */
static void modify(void)
{
	DAT_EP_PARAM p = { .ep_attr = { .max_recv_dtos = 100, .max_request_dtos = 200 } }, q;
	DAT_EP_HANDLE ep = el_ep(&t.p.a);
	DAT_EVD_HANDLE evd;

	OK(dat_evd_create(t.p.a.ia, 300, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &evd));
	p.recv_evd_handle = p.request_evd_handle = evd;
	OK(dat_ep_modify(ep, DAT_EP_FIELD_RECV_EVD_HANDLE | DAT_EP_FIELD_REQUEST_EVD_HANDLE |
			     DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS |
			     DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, &p));
	OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &q));
	CHECK(q.recv_evd_handle == evd && q.request_evd_handle == evd &&
	      q.connect_evd_handle == t.p.a.conn && q.ep_attr.max_recv_dtos == 100 &&
	      q.ep_attr.max_request_dtos == 200 && q.ep_attr.max_recv_iov == 4);
	WANT(dat_evd_free(evd), ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE));
	for (int i = 0; i < 100; i++)
		OK(dat_ep_post_recv(ep, 0, NULL, mp_cookie(1), DAT_COMPLETION_DEFAULT_FLAG));
	WANT(dat_ep_post_recv(ep, 0, NULL, mp_cookie(1), DAT_COMPLETION_DEFAULT_FLAG),
	     ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY));
	OK(dat_ep_free(ep));
	OK(dat_evd_free(evd));
}

static const struct test_case cases[] = {
	{ "-", "handles of endpoints", ep_handles },
	{ "-", "handles of service points and requests", sp_handles },
	{ "-", "ep_create", ep_create },
	{ "-", "attributes", ep_attr },
	{ "-", "connect", connecting },
	{ "-", "listen", listening },
	{ "-", "masks", masks },
	{ "-", "modify", modify },
};

int main(int argc, char **argv)
{
	int rc;

	el_open(&t);
	gone = el_ep(&t.p.a);
	OK(dat_ep_free(gone));
	rc = RUN_CASES(cases, argc, argv);
	el_quiet(&t);
	el_close(&t);
	return rc;
}
