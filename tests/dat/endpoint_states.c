/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Endpoints in each state that a program can reach and keep, and there each call whose result
 * depends on the state: legal, or refused with the subtype of the state.
 */
#include "endpoint_lib.h"

static struct el t;

/* --- each state --- */

static DAT_EP_HANDLE bare(void)
{
	DAT_EP_HANDLE ep;

	OK(dat_ep_create(t.p.b.ia, NULL, NULL, NULL, NULL, NULL, &ep));
	return ep;
}

struct stage {
	DAT_EP_HANDLE ep, peer; /* peer: at a, if there is one */
	DAT_RSP_HANDLE rsp;
	DAT_PSP_HANDLE psp;
	DAT_CR_HANDLE cr;
};

static DAT_CONN_QUAL free_qual(void)
{
	DAT_PSP_HANDLE psp;
	DAT_CONN_QUAL qual;

	OK(dat_psp_create_any(t.p.b.ia, &qual, t.p.b.cr, DAT_PSP_CONSUMER_FLAG, &psp));
	OK(dat_psp_free(psp));
	return qual;
}

static void unconnected(struct stage *s)
{
	s->ep = el_ep(&t.p.b);
}

static void unconfigured(struct stage *s)
{
	s->ep = bare();
}

static void reserve(struct stage *s, DAT_EP_HANDLE ep, DAT_CONN_QUAL *qual)
{
	s->ep = ep;
	*qual = free_qual();
	OK(dat_rsp_create(t.p.b.ia, *qual, s->ep, t.p.b.cr, &s->rsp));
}

static void reserved(struct stage *s)
{
	DAT_CONN_QUAL q;

	reserve(s, el_ep(&t.p.b), &q);
}

static void unconf_reserved(struct stage *s)
{
	DAT_CONN_QUAL q;

	reserve(s, bare(), &q);
}

static void ask(struct stage *s, DAT_CONN_QUAL q)
{
	s->peer = el_ep(&t.p.a);
	el_connect(&t, s->peer, q, 0, NULL);
	s->cr = el_request(&t);
}

static void passive(struct stage *s)
{
	DAT_CONN_QUAL q;

	reserve(s, el_ep(&t.p.b), &q);
	ask(s, q);
}

static void unconf_passive(struct stage *s)
{
	DAT_CONN_QUAL q;

	reserve(s, bare(), &q);
	ask(s, q);
}

static void active(struct stage *s)
{
	s->ep = el_ep(&t.p.a);
	el_connect(&t, s->ep, t.qual, 0, NULL);
	s->cr = el_request(&t);
}

static void unconf_tentative(struct stage *s)
{
	DAT_CR_PARAM param;
	DAT_CONN_QUAL q;

	OK(dat_psp_create_any(t.p.b.ia, &q, t.p.b.cr, DAT_PSP_PROVIDER_FLAG, &s->psp));
	ask(s, q);
	OK(dat_cr_query(s->cr, DAT_CR_FIELD_ALL, &param));
	s->ep = param.local_ep_handle;
	CHECK(s->ep);
}

static void configure(DAT_EP_HANDLE ep, struct mp_end *e)
{
	DAT_EP_PARAM param = {
		.pz_handle = e->pz,
		.recv_evd_handle = e->recv,
		.request_evd_handle = e->req,
		.connect_evd_handle = e->conn,
	};

	OK(dat_ep_modify(ep, DAT_EP_FIELD_PZ_HANDLE | DAT_EP_FIELD_RECV_EVD_HANDLE |
			     DAT_EP_FIELD_REQUEST_EVD_HANDLE | DAT_EP_FIELD_CONNECT_EVD_HANDLE,
			 &param));
}

static void tentative(struct stage *s)
{
	unconf_tentative(s);
	configure(s->ep, &t.p.b);
}

static void connected(struct stage *s)
{
	s->ep = el_ep(&t.p.b);
	s->peer = el_ep(&t.p.a);
	el_join(&t, s->peer, s->ep);
}

static void disconnected(struct stage *s)
{
	connected(s);
	el_part(&t, s->peer, s->ep);
}

/* Frees the objects that the case left. */
static void strike(struct stage *s)
{
	DAT_EVENT ev;

	if (s->cr)
		dat_cr_reject(s->cr, 0, NULL);
	if (s->rsp)
		dat_rsp_free(s->rsp);
	if (s->psp)
		dat_psp_free(s->psp);
	dat_ep_free(s->ep);
	if (s->peer)
		OK(dat_ep_free(s->peer));
	el_settle(&t);
	while (dat_evd_dequeue(t.p.b.recv, &ev) == DAT_SUCCESS ||
	       dat_evd_dequeue(t.p.b.req, &ev) == DAT_SUCCESS)
		;
}

static const struct {
	DAT_EP_STATE state;
	DAT_RETURN_SUBTYPE name;
	void (*set)(struct stage *s);
} stages[] = {
	{ DAT_EP_STATE_UNCONNECTED, DAT_INVALID_STATE_EP_UNCONNECTED, unconnected },
	{ DAT_EP_STATE_UNCONFIGURED_UNCONNECTED, DAT_INVALID_STATE_EP_UNCONFIGURED, unconfigured },
	{ DAT_EP_STATE_RESERVED, DAT_INVALID_STATE_EP_RESERVED, reserved },
	{ DAT_EP_STATE_UNCONFIGURED_RESERVED, DAT_INVALID_STATE_EP_UNCONFRESERVED,
	  unconf_reserved },
	{ DAT_EP_STATE_PASSIVE_CONNECTION_PENDING, DAT_INVALID_STATE_EP_PASSCONNPENDING, passive },
	{ DAT_EP_STATE_UNCONFIGURED_PASSIVE, DAT_INVALID_STATE_EP_UNCONFPASSIVE, unconf_passive },
	{ DAT_EP_STATE_ACTIVE_CONNECTION_PENDING, DAT_INVALID_STATE_EP_ACTCONNPENDING, active },
	{ DAT_EP_STATE_TENTATIVE_CONNECTION_PENDING, DAT_INVALID_STATE_EP_TENTCONNPENDING,
	  tentative },
	{ DAT_EP_STATE_UNCONFIGURED_TENTATIVE, DAT_INVALID_STATE_EP_UNCONFTENTATIVE,
	  unconf_tentative },
	{ DAT_EP_STATE_CONNECTED, DAT_INVALID_STATE_EP_CONNECTED, connected },
	{ DAT_EP_STATE_DISCONNECTED, DAT_INVALID_STATE_EP_DISCONNECTED, disconnected },
};
enum { STAGES = sizeof(stages) / sizeof(stages[0]) };

/* --- each call --- */

static struct mp_end *end_of(struct stage *s)
{
	return el_state(s->ep) == DAT_EP_STATE_ACTIVE_CONNECTION_PENDING ? &t.p.a : &t.p.b;
}

static DAT_RETURN do_connect(struct stage *s)
{
	return dat_ep_connect(s->ep, t.p.b.attr.ia_address_ptr, 9, MP_TIMEOUT, 0, NULL,
			      DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG);
}

static DAT_RETURN do_dup_source(struct stage *s)
{
	DAT_EP_HANDLE ep = el_ep(end_of(s));
	DAT_RETURN ret = dat_ep_dup_connect(ep, s->ep, MP_TIMEOUT, 0, NULL, DAT_QOS_BEST_EFFORT);

	OK(dat_ep_free(ep));
	return ret;
}

static DAT_RETURN do_rsp_create(struct stage *s)
{
	struct mp_end *e = end_of(s);
	DAT_RSP_HANDLE rsp;
	DAT_RETURN ret;

	ret = dat_rsp_create(e->ia, free_qual(), s->ep, e->cr, &rsp);
	if (!ret)
		OK(dat_rsp_free(rsp));
	return ret;
}

static DAT_RETURN do_disconnect(struct stage *s)
{
	return dat_ep_disconnect(s->ep, DAT_CLOSE_ABRUPT_FLAG);
}

static DAT_RETURN do_graceful(struct stage *s)
{
	return dat_ep_disconnect(s->ep, DAT_CLOSE_GRACEFUL_FLAG);
}

static DAT_RETURN do_reset(struct stage *s)
{
	return dat_ep_reset(s->ep);
}

static DAT_RETURN do_free(struct stage *s)
{
	return dat_ep_free(s->ep);
}

static DAT_RETURN do_pz(struct stage *s)
{
	DAT_EP_PARAM p = { .pz_handle = end_of(s)->pz };

	return dat_ep_modify(s->ep, DAT_EP_FIELD_PZ_HANDLE, &p);
}

static DAT_RETURN do_attr(struct stage *s)
{
	DAT_EP_PARAM p = { .ep_attr.max_rdma_read_in = 1 };

	return dat_ep_modify(s->ep, DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN, &p);
}

static DAT_RETURN do_specific(struct stage *s)
{
	DAT_EP_PARAM p = { .ep_attr.ep_transport_specific_count = 0 };

	return dat_ep_modify(s->ep, DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR, &p);
}

static DAT_RETURN do_send(struct stage *s)
{
	return dat_ep_post_send(s->ep, 0, NULL, mp_cookie(1), DAT_COMPLETION_DEFAULT_FLAG);
}

static DAT_RETURN do_recv(struct stage *s)
{
	return dat_ep_post_recv(s->ep, 0, NULL, mp_cookie(2), DAT_COMPLETION_DEFAULT_FLAG);
}

/* One character per stage, in their order: + legal, . refused with the subtype of the state, !
 * NOTREADY, z refused without a zone. */
static const struct {
	const char *name, *cells;
	DAT_RETURN (*call)(struct stage *s);
} calls[] = {
	/*                    U uU R uR P uP A T uT C D */
	{ "connect",         "+!.........", do_connect },
	{ "dup_connect's source", ".........+.", do_dup_source },
	{ "rsp_create",      "++.........", do_rsp_create },
	{ "disconnect",      "......+..++", do_disconnect },
	{ "graceful",        "......+..++", do_graceful },
	{ "reset",           "++........+", do_reset },
	{ "free",            "++....+..++", do_free },
	{ "modify PZ",       "++.....++..", do_pz },
	{ "modify attributes", "++++++.++..", do_attr },
	{ "modify specific", "++.........", do_specific },
	{ "post_send",       ".........++", do_send },
	{ "post_recv",       "+z+z+z++z++", do_recv },
};

static void cell(size_t call, int stage)
{
	struct stage s = { 0 };
	DAT_RETURN got, want = DAT_SUCCESS;

	stages[stage].set(&s);
	CHECK_MSG(el_state(s.ep) == stages[stage].state, "stage %d is state %d", stage,
		  el_state(s.ep));
	switch (calls[call].cells[stage]) {
	case '.': want = ERR(DAT_INVALID_STATE, stages[stage].name); break;
	case '!': want = STATE(NOTREADY); break;
	case 'z': want = STATE(PZ); break;
	}
	got = calls[call].call(&s);
	CHECK_MSG(got == want, "%s in state %d: %08x, not %08x", calls[call].name,
		  stages[stage].state, got, want);
	if (want)
		CHECK_MSG(el_state(s.ep) == stages[stage].state, "%s refused, and yet moved state %d",
			  calls[call].name, stages[stage].state);
	strike(&s);
}

int main(void)
{
	size_t n = sizeof(calls) / sizeof(calls[0]);

	el_open(&t);
	for (size_t call = 0; call < n; call++) {
		for (int stage = 0; stage < STAGES; stage++)
			cell(call, stage);
		printf("ok %s in %d states\n", calls[call].name, STAGES);
		fflush(stdout);
	}
	el_close(&t);
	return 0;
}
