/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A thousand connections one after the other: made, used, ended by either side in turn, reset or
 * freed; nothing is left at the end. Before them many endpoints at a time.
 */
#include "endpoint_lib.h"

#include <unistd.h>

enum { ROUNDS = 1000 };

static struct el t;

static void use(DAT_EP_HANDLE ep, DAT_EP_HANDLE peer, unsigned int i)
{
	struct mp_end a = t.p.a, b = t.p.b;

	a.ep = ep;
	b.ep = peer;
	OK(mp_recv(&b, 0, 64, i));
	OK(mp_send(&a, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
	DTO(b.recv, DAT_DTO_RECEIVE, i, DAT_DTO_SUCCESS);
	DTO(a.req, DAT_DTO_SEND, i, DAT_DTO_SUCCESS);
}

static void part(DAT_EP_HANDLE ep, DAT_EP_HANDLE peer, unsigned int i)
{
	OK(dat_ep_disconnect(i & 1 ? ep : peer, i & 2 ? DAT_CLOSE_GRACEFUL_FLAG
						      : DAT_CLOSE_ABRUPT_FLAG));
	el_event(&t.p.a, ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	el_event(&t.p.b, peer, DAT_CONNECTION_EVENT_DISCONNECTED);
}

static DAT_EP_HANDLE renew(struct mp_end *e, DAT_EP_HANDLE ep, unsigned int i)
{
	if (i & 4) {
		OK(dat_ep_free(ep));
		return el_ep(e);
	}
	OK(dat_ep_reset(ep));
	CHECK(el_state(ep) == DAT_EP_STATE_UNCONNECTED);
	return ep;
}

/* Each of the endpoints on a shared receive queue leaves an asynchronous event when it ends. The EVD was opened
 * with 16 places, which are a minimum: it holds an event of each of them. */
static void many_async(void)
{
	enum { N = 40 };
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 8, .max_recv_iov = 1 };
	struct mp_end *b = &t.p.b;
	DAT_EP_HANDLE ep[N], peer[N];
	bool seen[N] = { false };
	DAT_SRQ_HANDLE srq;
	DAT_EVENT ev;

	OK(dat_srq_create(b->ia, b->pz, &attr, &srq));
	for (int i = 0; i < N; i++) {
		ep[i] = el_ep(&t.p.a);
		OK(dat_ep_create_with_srq(b->ia, b->pz, b->recv, b->req, b->conn, srq, NULL, &peer[i]));
		el_join(&t, ep[i], peer[i]);
	}
	for (int i = 0; i < N; i++)
		el_part(&t, ep[i], peer[i]);
	usleep(100000); /* the events queue up: the consumer does not look */
	for (int n = 0; n < N;) {
		DAT_HANDLE who;

		ev = mp_next(b->async);
		CHECK_MSG(ev.event_number == DAT_ASYNC_ERROR_EP_BROKEN, "event %x", ev.event_number);
		who = ev.event_data.asynch_error_event_data.dat_handle;
		for (int i = 0; i < N; i++) {
			n += who == (DAT_HANDLE)peer[i] && !seen[i];
			seen[i] |= who == (DAT_HANDLE)peer[i];
		}
	}
	for (int i = 0; i < N; i++) {
		OK(dat_ep_free(ep[i]));
		OK(dat_ep_free(peer[i]));
	}
	OK(dat_srq_free(srq));
}

/* Endpoints may feed EVDs of another IA on the same device, also by receives of a shared queue; the end of that IA
 * takes the EVDs and leaves the endpoint. */
static void foreign_evds(void)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = 8, .max_recv_iov = 1 };
	struct mp_end other = t.p.b, *b = &t.p.b;
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_EP_HANDLE ep = el_ep(&t.p.a), peer;
	DAT_LMR_TRIPLET in = mp_at(b, 0, 64);
	DAT_SRQ_HANDLE srq;

	OK(dat_ia_open((char *)mp_ia_name(), 8, &async, &other.ia));
	OK(dat_evd_create(other.ia, 8, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &other.recv));
	OK(dat_evd_create(other.ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &other.conn));
	OK(dat_srq_create(b->ia, b->pz, &attr, &srq));
	OK(dat_ep_create_with_srq(b->ia, b->pz, other.recv, other.recv, other.conn, srq, NULL, &peer));
	el_connect(&t, ep, t.qual, 0, NULL);
	OK(dat_cr_accept(el_request(&t), peer, 0, NULL));
	el_event(&t.p.a, ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	el_event(&other, peer, DAT_CONNECTION_EVENT_ESTABLISHED);
	WANT(dat_ia_close(other.ia, DAT_CLOSE_GRACEFUL_FLAG), ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE));
	for (uint64_t i = 0; i < 20; i++) {
		struct mp_end from = t.p.a;

		from.ep = ep;
		OK(dat_srq_post_recv(srq, 1, &in, mp_cookie(i)));
		OK(mp_send(&from, 0, 64, i, DAT_COMPLETION_DEFAULT_FLAG));
		CHECK(DTO(other.recv, DAT_DTO_RECEIVE, i, DAT_DTO_SUCCESS).ep_handle == peer);
		DTO(from.req, DAT_DTO_SEND, i, DAT_DTO_SUCCESS);
	}
	OK(dat_ia_close(other.ia, DAT_CLOSE_ABRUPT_FLAG));
	CHECK(el_state(peer) == DAT_EP_STATE_CONNECTED);
	OK(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
	el_event(&t.p.a, ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	OK(dat_ep_free(peer));
	OK(dat_ep_free(ep));
	OK(dat_srq_free(srq));
}

int main(int argc, char **argv)
{
	unsigned int rounds = argc > 1 ? (unsigned int)atoi(argv[1]) : ROUNDS;
	DAT_EP_HANDLE ep, peer;

	el_open(&t);
	many_async();
	foreign_evds();
	ep = el_ep(&t.p.a);
	peer = el_ep(&t.p.b);
	for (unsigned int i = 0; i < rounds; i++) {
		el_join(&t, ep, peer);
		use(ep, peer, i);
		part(ep, peer, i);
		ep = renew(&t.p.a, ep, i);
		peer = renew(&t.p.b, peer, i >> 1);
	}
	el_quiet(&t);
	OK(dat_ep_free(ep));
	OK(dat_ep_free(peer));
	el_close(&t);
	printf("%u connections\n", rounds);
	return 0;
}
