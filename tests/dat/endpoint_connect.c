/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Establishment of connections: private data both ways, rejects, timeouts, every kind of listener.
 */
#include "endpoint_lib.h"
#include "support/cases.h"

#include <netinet/in.h>
#include <sys/socket.h>

static struct el t;

static DAT_EP_HANDLE ep, peer;

enum { NO_LISTENER = 4 }; /* neither the kernel nor a test assigns such a port */

static void fresh(void)
{
	ep = el_ep(&t.p.a);
	peer = el_ep(&t.p.b);
}

static void spent(void)
{
	OK(dat_ep_free(ep));
	OK(dat_ep_free(peer));
	el_quiet(&t);
}

/* InfiniBand's fields have no length: the data sent stands at the beginning, zeros follow. */
static void carried(const void *got, DAT_COUNT n, const char *sent, DAT_COUNT len)
{
	const char *p = got;

	CHECK_MSG(mp_is_iwarp() ? n == len : n >= len, "%d bytes came, %d were sent", n, len);
	CHECK(!len || !memcmp(p, sent, (size_t)len));
	for (DAT_COUNT i = len; i < n; i++)
		CHECK(!p[i]);
}

static char words[256];

static DAT_CR_PARAM query(DAT_CR_HANDLE cr)
{
	DAT_CR_PARAM p;

	memset(&p, 0xee, sizeof(p));
	OK(dat_cr_query(cr, DAT_CR_FIELD_ALL, &p));
	return p;
}

static void data_sizes(DAT_COUNT ask, DAT_COUNT answer)
{
	DAT_CONNECTION_EVENT_DATA d;
	DAT_CR_HANDLE cr;
	DAT_CR_PARAM p;

	fresh();
	el_connect(&t, ep, t.qual, ask, words);
	cr = el_request(&t);
	p = query(cr);
	carried(p.private_data, p.private_data_size, words, ask);
	CHECK(p.private_data);
	CHECK(p.local_ep_handle == DAT_HANDLE_NULL && p.remote_port_qual);
	CHECK(((struct sockaddr *)p.remote_ia_address_ptr)->sa_family ==
	      ((struct sockaddr *)t.p.a.attr.ia_address_ptr)->sa_family);
	OK(dat_cr_accept(cr, peer, answer, words + 7));
	WANT(dat_cr_query(cr, DAT_CR_FIELD_ALL, &p), HANDLE(CR));
	d = el_event(&t.p.a, ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	carried(d.private_data, d.private_data_size, words + 7, answer);
	d = el_event(&t.p.b, peer, DAT_CONNECTION_EVENT_ESTABLISHED);
	CHECK(!d.private_data_size);
	el_part(&t, ep, peer);
	spent();
}

static void data(void)
{
	DAT_COUNT most = t.p.a.prov.max_private_data_size;

	CHECK(most == (mp_is_iwarp() ? 251 : 56));
	data_sizes(0, 0);
	data_sizes(48, 48);
	data_sizes(most, mp_is_iwarp() ? 240 : 196);
}

static void too_much(void)
{
	DAT_COUNT most = t.p.a.prov.max_private_data_size, rep = mp_is_iwarp() ? 251 : 196,
		  rej = mp_is_iwarp() ? 251 : 144;
	DAT_CR_HANDLE cr;

	fresh();
	WANT(dat_ep_connect(ep, t.p.b.attr.ia_address_ptr, t.qual, MP_TIMEOUT, most + 1, words,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG), ARG(5));
	WANT(dat_ep_connect(ep, t.p.b.attr.ia_address_ptr, t.qual, MP_TIMEOUT, -1, words,
			    DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG), ARG(5));
	CHECK(el_state(ep) == DAT_EP_STATE_UNCONNECTED);
	el_connect(&t, ep, t.qual, most, words);
	cr = el_request(&t);
	WANT(dat_cr_accept(cr, peer, rep + 1, words), ARG(3));
	WANT(dat_cr_accept(cr, peer, 5, NULL), ARG(4));
	WANT(dat_cr_reject(cr, rej + 1, words), ARG(2));
	WANT(dat_cr_reject(cr, 5, NULL), ARG(3));
	CHECK(el_state(peer) == DAT_EP_STATE_UNCONNECTED);
	OK(dat_cr_reject(cr, rej, words));
	el_event(&t.p.a, ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	spent();
}

static void reject(void)
{
	DAT_CONNECTION_EVENT_DATA d;

	fresh();
	for (DAT_COUNT n = 0; n <= 48; n += 48) {
		el_connect(&t, ep, t.qual, 0, NULL);
		OK(dat_cr_reject(el_request(&t), n, words));
		d = el_event(&t.p.a, ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
		carried(d.private_data, d.private_data_size, words, n);
		CHECK(el_state(ep) == DAT_EP_STATE_DISCONNECTED);
		OK(dat_ep_reset(ep));
	}
	spent();
}

/* Posted receives are flushed if the connection fails. */
static void no_listener(void)
{
	struct mp_end a = t.p.a;

	fresh();
	a.ep = ep;
	OK(mp_recv(&a, 0, 8, 77));
	el_connect(&t, ep, NO_LISTENER, 4, words);
	el_event(&t.p.a, ep, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	CHECK(el_state(ep) == DAT_EP_STATE_DISCONNECTED);
	DTO(a.recv, DAT_DTO_RECEIVE, 77, DAT_DTO_ERR_FLUSHED);
	mp_none(a.recv);
	OK(dat_ep_reset(ep));
	el_join(&t, ep, peer);
	el_part(&t, ep, peer);
	spent();
}

/* The consumer's timeout ends while the request is unanswered; it is long enough for the request to
 * arrive. */
static DAT_CR_HANDLE overdue(void)
{
	DAT_EVENT ev;

	for (DAT_TIMEOUT usec = 20000; usec < MP_TIMEOUT; usec *= 2) {
		OK(dat_ep_connect(ep, t.p.b.attr.ia_address_ptr, t.qual, usec, 0, NULL,
				  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
		el_event(&t.p.a, ep, DAT_CONNECTION_EVENT_TIMED_OUT);
		CHECK(el_state(ep) == DAT_EP_STATE_DISCONNECTED);
		if (dat_evd_dequeue(t.p.b.cr, &ev) == DAT_SUCCESS)
			return ev.event_data.cr_arrival_event_data.cr_handle;
		OK(dat_ep_reset(ep));
	}
	CHECK(0);
	return NULL;
}

static void timeout(void)
{
	DAT_CR_HANDLE cr;

	fresh();
	cr = overdue();
	/* a request whose peer has gone can be accepted, and ends with an error */
	OK(dat_cr_accept(cr, peer, 0, NULL));
	el_event(&t.p.b, peer, DAT_CONNECTION_EVENT_ACCEPT_COMPLETION_ERROR);
	CHECK(el_state(peer) == DAT_EP_STATE_DISCONNECTED);
	el_settle(&t); /* a request of an earlier attempt may be as late as that */
	spent();
}

/* Withdrawn by the consumer. */
static void cancelled(void)
{
	DAT_CR_HANDLE cr;

	fresh();
	el_connect(&t, ep, t.qual, 0, NULL);
	cr = el_request(&t);
	OK(dat_ep_disconnect(ep, DAT_CLOSE_GRACEFUL_FLAG));
	el_event(&t.p.a, ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	OK(dat_cr_reject(cr, 0, NULL));
	OK(dat_ep_reset(ep));
	el_connect(&t, ep, t.qual, 0, NULL);
	cr = el_request(&t);
	OK(dat_ep_free(ep));
	OK(dat_cr_reject(cr, 0, NULL));
	ep = el_ep(&t.p.a);
	spent();
}

static void rsp(void)
{
	DAT_RSP_HANDLE rsp;
	DAT_RSP_PARAM rp;
	DAT_CR_HANDLE cr;
	DAT_CONN_QUAL q = t.qual - 1;
	DAT_RETURN ret;
	DAT_EP_HANDLE ep2 = el_ep(&t.p.a);

	fresh();
	while ((ret = dat_rsp_create(t.p.b.ia, q, peer, t.p.b.cr, &rsp)) ==
	       ERR(DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE))
		q--;
	OK(ret);
	OK(dat_rsp_query(rsp, DAT_RSP_FIELD_ALL, &rp));
	CHECK(rp.conn_qual == q && rp.ep_handle == peer && rp.evd_handle == t.p.b.cr &&
	      rp.ia_handle == t.p.b.ia);
	el_connect(&t, ep, q, 3, words);
	cr = el_request(&t);
	CHECK(query(cr).local_ep_handle == peer);
	CHECK(el_state(peer) == DAT_EP_STATE_PASSIVE_CONNECTION_PENDING);
	/* one request only */
	el_connect(&t, ep2, q, 0, NULL);
	el_event(&t.p.a, ep2, DAT_CONNECTION_EVENT_NON_PEER_REJECTED);
	WANT(dat_cr_accept(cr, t.p.b.ep, 0, NULL), HANDLE(EP));
	OK(dat_cr_accept(cr, DAT_HANDLE_NULL, 0, NULL));
	el_event(&t.p.a, ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	el_event(&t.p.b, peer, DAT_CONNECTION_EVENT_ESTABLISHED);
	OK(dat_rsp_free(rsp));
	WANT(dat_rsp_free(rsp), HANDLE(RSP));
	el_part(&t, ep, peer);
	OK(dat_ep_reset(peer));
	/* rejected: the endpoint is free again; freed unused: likewise */
	OK(dat_rsp_create(t.p.b.ia, q, peer, t.p.b.cr, &rsp));
	OK(dat_ep_reset(ep));
	el_connect(&t, ep, q, 0, NULL);
	OK(dat_cr_reject(el_request(&t), 0, NULL));
	el_event(&t.p.a, ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	CHECK(el_state(peer) == DAT_EP_STATE_UNCONNECTED);
	OK(dat_rsp_free(rsp));
	OK(dat_rsp_create(t.p.b.ia, q, peer, t.p.b.cr, &rsp));
	OK(dat_rsp_free(rsp));
	CHECK(el_state(peer) == DAT_EP_STATE_UNCONNECTED);
	OK(dat_ep_free(ep2));
	spent();
}

/* The service point makes the endpoint; the consumer configures it. */
static void provider_ep(void)
{
	DAT_EP_PARAM param = {
		.pz_handle = t.p.b.pz,
		.recv_evd_handle = t.p.b.recv,
		.request_evd_handle = t.p.b.req,
		.connect_evd_handle = t.p.b.conn,
	};
	DAT_EP_STATE state;
	DAT_PSP_PARAM pp;
	DAT_PSP_HANDLE psp;
	DAT_EP_HANDLE made;
	DAT_CR_HANDLE cr;
	DAT_CONN_QUAL q;

	fresh();
	OK(dat_psp_create_any(t.p.b.ia, &q, t.p.b.cr, DAT_PSP_PROVIDER_FLAG, &psp));
	OK(dat_psp_query(psp, DAT_PSP_FIELD_ALL, &pp));
	CHECK(pp.conn_qual == q && pp.psp_flags == DAT_PSP_PROVIDER_FLAG &&
	      pp.evd_handle == t.p.b.cr && pp.ia_handle == t.p.b.ia);
	el_connect(&t, ep, q, 0, NULL);
	cr = el_request(&t);
	made = query(cr).local_ep_handle;
	WANT(dat_cr_accept(cr, made, 0, NULL), STATE(NOTREADY));
	WANT(dat_ep_free(made), STATE(UNCONFTENTATIVE));
	OK(dat_ep_modify(made, DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
			       DAT_EP_FIELD_REQUEST_EVD_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE,
			 &param));
	CHECK(el_state(made) == DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING);
	OK(dat_cr_accept(cr, made, 0, NULL));
	el_event(&t.p.a, ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	el_event(&t.p.b, made, DAT_CONNECTION_EVENT_ESTABLISHED);
	el_part(&t, ep, made);
	OK(dat_ep_free(made));
	/* rejected: the handle is refused */
	OK(dat_ep_reset(ep));
	el_connect(&t, ep, q, 0, NULL);
	cr = el_request(&t);
	made = query(cr).local_ep_handle;
	OK(dat_cr_reject(cr, 0, NULL));
	WANT(dat_ep_get_status(made, &state, NULL, NULL), HANDLE(EP));
	el_event(&t.p.a, ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	OK(dat_psp_free(psp));
	spent();
}

static void handoff(void)
{
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL q;
	DAT_CR_HANDLE cr;
	DAT_EVENT ev;

	fresh();
	OK(dat_psp_create_any(t.p.b.ia, &q, t.p.b.cr, DAT_PSP_CONSUMER_FLAG, &psp));
	el_connect(&t, ep, t.qual, 9, words);
	cr = el_request(&t);
	WANT(dat_cr_handoff(cr, NO_LISTENER), ARG(2));
	OK(dat_cr_handoff(cr, q));
	WANT(dat_cr_handoff(cr, q), HANDLE(CR));
	ev = mp_next(t.p.b.cr);
	CHECK(ev.event_data.cr_arrival_event_data.sp_handle.psp_handle == psp &&
	      ev.event_data.cr_arrival_event_data.conn_qual == q);
	cr = ev.event_data.cr_arrival_event_data.cr_handle;
	carried(query(cr).private_data, query(cr).private_data_size, words, 9);
	OK(dat_psp_free(psp)); /* requests survive their service point */
	OK(dat_cr_accept(cr, peer, 0, NULL));
	el_event(&t.p.a, ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	el_event(&t.p.b, peer, DAT_CONNECTION_EVENT_ESTABLISHED);
	el_part(&t, ep, peer);
	spent();
}

static void dup(void)
{
	DAT_EP_HANDLE ep2 = el_ep(&t.p.a), peer2 = el_ep(&t.p.b);

	fresh();
	WANT(dat_ep_dup_connect(ep2, ep, MP_TIMEOUT, 0, NULL, DAT_QOS_BEST_EFFORT),
	     STATE(UNCONNECTED));
	el_join(&t, ep, peer);
	OK(dat_ep_dup_connect(ep2, ep, MP_TIMEOUT, 5, words, DAT_QOS_BEST_EFFORT));
	OK(dat_cr_accept(el_request(&t), peer2, 0, NULL));
	el_event(&t.p.a, ep2, DAT_CONNECTION_EVENT_ESTABLISHED);
	el_event(&t.p.b, peer2, DAT_CONNECTION_EVENT_ESTABLISHED);
	el_part(&t, ep2, peer2);
	el_part(&t, ep, peer);
	OK(dat_ep_free(ep2));
	OK(dat_ep_free(peer2));
	spent();
}

/* The backlog is the room in the EVD: further requests are refused and not lost. */
static void backlog(void)
{
	DAT_EVD_HANDLE cr;
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL q;
	DAT_EVENT ev;
	DAT_EP_HANDLE more[3];

	fresh();
	OK(dat_evd_create(t.p.b.ia, 2, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &cr));
	OK(dat_psp_create_any(t.p.b.ia, &q, cr, DAT_PSP_CONSUMER_FLAG, &psp));
	for (int i = 0; i < 3; i++) {
		more[i] = el_ep(&t.p.a);
		el_connect(&t, more[i], q, 0, NULL);
	}
	ev = mp_next(t.p.a.conn);
	CHECK_MSG(ev.event_number == DAT_CONNECTION_EVENT_NON_PEER_REJECTED, "event %x",
		  ev.event_number);
	for (int i = 0; i < 2; i++) {
		ev = mp_next(cr);
		OK(dat_cr_reject(ev.event_data.cr_arrival_event_data.cr_handle, 0, NULL));
		ev = mp_next(t.p.a.conn);
		CHECK(ev.event_number == DAT_CONNECTION_EVENT_PEER_REJECTED);
	}
	WANT(dat_evd_free(cr), ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_EVD_IN_USE));
	OK(dat_psp_free(psp));
	OK(dat_evd_free(cr));
	for (int i = 0; i < 3; i++)
		OK(dat_ep_free(more[i]));
	spent();
}

static void csp(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET }, *got;
	DAT_COMM comm = { AF_INET, SOCK_STREAM, IPPROTO_TCP }, odd = { AF_INET, SOCK_DGRAM, 0 };
	DAT_CSP_HANDLE csp, other;
	DAT_CSP_PARAM p;
	DAT_EP_PARAM ep_param;
	DAT_EVENT ev;

	if (((struct sockaddr *)t.p.b.attr.ia_address_ptr)->sa_family != AF_INET)
		return;
	fresh();
	WANT(dat_csp_create(t.p.b.ia, &odd, (DAT_IA_ADDRESS_PTR)&at, t.p.b.cr, &csp),
	     ERR(DAT_COMM_NOT_SUPPORTED, DAT_NO_SUBTYPE));
	OK(dat_csp_create(t.p.b.ia, &comm, (DAT_IA_ADDRESS_PTR)&at, t.p.b.cr, &csp));
	OK(dat_csp_query(csp, DAT_CSP_FIELD_ALL, &p));
	got = (struct sockaddr_in *)p.address_ptr;
	CHECK(got->sin_port && p.comm->type == SOCK_STREAM && p.evd_handle == t.p.b.cr);
	at.sin_port = got->sin_port;
	WANT(dat_csp_create(t.p.b.ia, &comm, (DAT_IA_ADDRESS_PTR)&at, t.p.b.cr, &other),
	     ERR(DAT_PORT_IN_USE, DAT_NO_SUBTYPE));
	at.sin_addr = ((struct sockaddr_in *)t.p.b.attr.ia_address_ptr)->sin_addr;
	OK(dat_ep_common_connect(ep, (DAT_IA_ADDRESS_PTR)&at, MP_TIMEOUT, 3, words));
	ev = mp_next(t.p.b.cr);
	CHECK(ev.event_data.cr_arrival_event_data.sp_handle.csp_handle == csp);
	OK(dat_cr_accept(ev.event_data.cr_arrival_event_data.cr_handle, peer, 0, NULL));
	el_event(&t.p.a, ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	el_event(&t.p.b, peer, DAT_CONNECTION_EVENT_ESTABLISHED);
	OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &ep_param));
	CHECK(ep_param.comm.type == SOCK_STREAM && ep_param.remote_port_qual == ntohs(at.sin_port));
	el_part(&t, ep, peer);
	OK(dat_csp_free(csp));
	WANT(dat_csp_free(csp), HANDLE(CSP));
	spent();
}

static void in_use(void)
{
	DAT_PSP_HANDLE psp;
	DAT_RETURN ret;
	DAT_CONN_QUAL low = 7777;

	WANT(dat_psp_create(t.p.b.ia, t.qual, t.p.b.cr, DAT_PSP_CONSUMER_FLAG, &psp),
	     ERR(DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE));
	/* qualifiers above 65535 are folded as in Debian's provider: these two are one port, the
	 * next free one */
	while ((ret = dat_psp_create(t.p.b.ia, 32001ull * 5 + low, t.p.b.cr, DAT_PSP_CONSUMER_FLAG,
				     &psp)) == ERR(DAT_CONN_QUAL_IN_USE, DAT_NO_SUBTYPE))
		low++;
	OK(ret);
	fresh();
	el_connect(&t, ep, low + 33534, 0, NULL);
	OK(dat_cr_reject(el_request(&t), 0, NULL));
	el_event(&t.p.a, ep, DAT_CONNECTION_EVENT_PEER_REJECTED);
	OK(dat_psp_free(psp));
	spent();
}

static void query_connected(void)
{
	DAT_EP_PARAM p;

	fresh();
	el_join(&t, ep, peer);
	OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &p));
	CHECK(p.ia_handle == t.p.a.ia && p.ep_state == DAT_EP_STATE_CONNECTED &&
	      p.pz_handle == t.p.a.pz && p.connect_evd_handle == t.p.a.conn &&
	      p.recv_evd_handle == t.p.a.recv && p.request_evd_handle == t.p.a.req &&
	      p.srq_handle == DAT_HANDLE_NULL && p.remote_port_qual == t.qual &&
	      p.local_port_qual && p.local_ia_address_ptr && p.remote_ia_address_ptr);
	CHECK(p.ep_attr.max_recv_dtos == 16 && p.ep_attr.max_request_dtos == 16 &&
	      p.ep_attr.max_recv_iov == 4 && p.ep_attr.max_request_iov == 4 &&
	      p.ep_attr.max_rdma_read_in == 4 && p.ep_attr.max_rdma_read_out == 4);
	el_part(&t, ep, peer);
	OK(dat_ep_query(ep, DAT_EP_FIELD_ALL, &p));
	CHECK(!p.remote_ia_address_ptr && !p.remote_port_qual);
	spent();
}

static const struct test_case cases[] = {
	{ "-", "private data of every size", data },
	{ "-", "too much private data", too_much },
	{ "-", "reject with data", reject },
	{ "-", "no listener", no_listener },
	{ "-", "timeout", timeout },
	{ "-", "given up", cancelled },
	{ "-", "reserved service point", rsp },
	{ "-", "endpoints of the provider", provider_ep },
	{ "-", "handoff", handoff },
	{ "-", "dup_connect", dup },
	{ "-", "backlog", backlog },
	{ "-", "common service point", csp },
	{ "-", "qualifiers in use, and folded", in_use },
	{ "-", "query", query_connected },
};

int main(int argc, char **argv)
{
	int rc;

	for (size_t i = 0; i < sizeof(words); i++)
		words[i] = (char)(i * 37 + 1);
	el_open(&t);
	rc = RUN_CASES(cases, argc, argv);
	el_close(&t);
	return rc;
}
