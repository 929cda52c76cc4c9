/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The IB extensions that the attributes name: atomics, immediate data, counters; and refusals. */
#include "mem_pair.h"

#include <poll.h>

#define ARG(n) ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)
#define NO_MODEL ERR(DAT_MODEL_NOT_SUPPORTED, DAT_NO_SUBTYPE)
#define NOT_THERE ERR(DAT_NOT_IMPLEMENTED, DAT_NO_SUBTYPE)
#define EP_BAD ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EP)

static struct mp p;

static const DAT_IB_EXTENSION_EVENT_DATA *extension(const DAT_EVENT *ev)
{
	return (const DAT_IB_EXTENSION_EVENT_DATA *)ev->event_extension_data;
}

static DAT_EVENT told(DAT_EVD_HANDLE evd, unsigned int op, unsigned int type, uint64_t cookie)
{
	DAT_EVENT ev = mp_next(evd);
	const DAT_DTO_COMPLETION_EVENT_DATA *d = &ev.event_data.dto_completion_event_data;

	CHECK_MSG(ev.event_number == (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT, "%x", ev.event_number);
	CHECK_MSG((unsigned int)d->operation == op, "operation %u", (unsigned int)d->operation);
	CHECK(d->user_cookie.as_64 == cookie && d->status == DAT_DTO_SUCCESS);
	CHECK((unsigned int)extension(&ev)->type == type);
	CHECK(extension(&ev)->status == (DAT_IB_STATUS)DAT_OP_SUCCESS);
	return ev;
}

static void atomics(void)
{
	DAT_LMR_TRIPLET l = mp_at(&p.a, 0, 8);
	DAT_RMR_TRIPLET r = mp_rmt(&p.b, 64, 8);
	volatile uint64_t *here = (uint64_t *)p.a.buf, *there = (uint64_t *)(p.b.buf + 64);
	DAT_EVENT ev;

	CHECK(mp_has(&p.a, DAT_IB_ATTR_FETCH_AND_ADD) == mp_has(&p.a, DAT_IB_ATTR_CMP_AND_SWAP));
	if (!mp_has(&p.a, DAT_IB_ATTR_FETCH_AND_ADD)) {
		WANT(dat_ib_post_fetch_and_add(p.a.ep, 1, &l, mp_cookie(1), &r, 0), NO_MODEL);
		WANT(dat_ib_post_cmp_and_swap(p.a.ep, 1, 2, &l, mp_cookie(1), &r, 0), NO_MODEL);
		return;
	}
	*there = 40;
	OK(dat_ib_post_fetch_and_add(p.a.ep, 2, &l, mp_cookie(1), &r, 0));
	ev = told(p.a.req, DAT_IB_DTO_FETCH_ADD, DAT_IB_FETCH_AND_ADD, 1);
	CHECK(ev.event_data.dto_completion_event_data.transfered_length == 8);
	CHECK(*here == 40 && *there == 42);
	OK(dat_ib_post_cmp_and_swap(p.a.ep, 41, 7, &l, mp_cookie(2), &r, 0));
	told(p.a.req, DAT_IB_DTO_CMP_SWAP, DAT_IB_CMP_AND_SWAP, 2);
	CHECK(*here == 42 && *there == 42);
	OK(dat_ib_post_cmp_and_swap(p.a.ep, 42, 7, &l, mp_cookie(3), &r, 0));
	told(p.a.req, DAT_IB_DTO_CMP_SWAP, DAT_IB_CMP_AND_SWAP, 3);
	CHECK(*here == 42 && *there == 7);
	/* suppressed ones, whose sum shows that each ran once */
	for (int i = 0; i < 1000; i++) {
		DAT_RETURN ret;

		do {
			ret = dat_ib_post_fetch_and_add(p.a.ep, 1, &l, mp_cookie(4), &r,
							DAT_COMPLETION_SUPPRESS_FLAG);
		} while (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES);
		OK(ret);
	}
	while (DAT_GET_TYPE(dat_ib_post_fetch_and_add(p.a.ep, 0, &l, mp_cookie(5), &r, 0)) ==
	       DAT_INSUFFICIENT_RESOURCES)
		;
	told(p.a.req, DAT_IB_DTO_FETCH_ADD, DAT_IB_FETCH_AND_ADD, 5);
	CHECK(*here == 1007 && *there == 1007);
	WANT(dat_ib_post_fetch_and_add(p.a.ep, 1, NULL, mp_cookie(1), &r, 0), ARG(3));
	WANT(dat_ib_post_fetch_and_add(p.a.ep, 1, &l, mp_cookie(1), NULL, 0), ARG(5));
	WANT(dat_ib_post_cmp_and_swap(p.a.ep, 1, 2, NULL, mp_cookie(1), &r, 0), ARG(4));
	WANT(dat_ib_post_cmp_and_swap(p.a.ep, 1, 2, &l, mp_cookie(1), NULL, 0), ARG(6));
	WANT(dat_ib_post_fetch_and_add(p.a.ep, 1, &l, mp_cookie(1), &r, 0x40), ARG(6));
	r.virtual_address++;
	WANT(dat_ib_post_fetch_and_add(p.a.ep, 1, &l, mp_cookie(1), &r, 0), ARG(5));
	r.virtual_address--;
	l.segment_length = 7;
	WANT(dat_ib_post_fetch_and_add(p.a.ep, 1, &l, mp_cookie(1), &r, 0),
	     ERR(DAT_LENGTH_ERROR, DAT_NO_SUBTYPE));
	WANT(dat_ib_post_fetch_and_add(DAT_HANDLE_NULL, 1, &l, mp_cookie(1), &r, 0),
	     ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1));
	WANT(dat_ib_post_fetch_and_add(p.a.lmr, 1, &l, mp_cookie(1), &r, 0), EP_BAD);
}

static void immediate(void)
{
	DAT_LMR_TRIPLET l = mp_at(&p.a, 0, 100);
	DAT_RMR_TRIPLET r = mp_rmt(&p.b, 4096, 100);
	DAT_EVENT ev;

	if (!mp_has(&p.a, DAT_IB_ATTR_IMMED_DATA)) {
		WANT(dat_ib_post_rdma_write_immed(p.a.ep, 1, &l, mp_cookie(1), &r, 5, 0), NO_MODEL);
		return;
	}
	for (uint32_t i = 1; i < 20; i++) {
		mp_paint(p.a.buf, 100, i);
		OK(mp_recv(&p.b, 0, 8, 10 * i));
		OK(dat_ib_post_rdma_write_immed(p.a.ep, 1, &l, mp_cookie(i), &r, 0x1020304 * i,
						DAT_COMPLETION_SOLICITED_WAIT_FLAG));
		ev = told(p.a.req, DAT_IB_DTO_RDMA_WRITE_IMMED, DAT_IB_RDMA_WRITE_IMMED, i);
		CHECK(ev.event_data.dto_completion_event_data.transfered_length == 100);
		ev = told(p.b.recv, DAT_IB_DTO_RECV_IMMED, DAT_IB_RDMA_WRITE_IMMED_DATA, 10 * i);
		CHECK(extension(&ev)->val.immed.data == 0x1020304 * i);
		CHECK(ev.event_data.dto_completion_event_data.ep_handle == p.b.ep);
		CHECK(mp_painted(p.b.buf + 4096, 100, i));
	}
	WANT(dat_ib_post_rdma_write_immed(p.a.ep, 1, &l, mp_cookie(1), NULL, 5, 0), ARG(5));
	WANT(dat_ib_post_rdma_write_immed(p.a.ep, 1, &l, mp_cookie(1), &r, 5, 0x20), ARG(7));
	WANT(dat_ib_post_rdma_write_immed(p.a.ep, 100, &l, mp_cookie(1), &r, 5, 0), ARG(2));
}

static DAT_UINT64 counter(DAT_HANDLE h, int which)
{
	DAT_UINT64 v;

	OK(dat_ib_query_counters(h, which, &v, 0));
	return v;
}

static void counters(void)
{
	DAT_UINT64 all[DCNT_IA_ALL_COUNTERS], sends, bytes, found;
	DAT_PZ_HANDLE pz;

	OK(dat_ib_query_counters(p.a.ia, DCNT_IA_ALL_COUNTERS, all, 0));
	CHECK(all[DCNT_IA_PZ_CREATE] == 1 && all[DCNT_IA_LMR_CREATE] == 1 && !all[DCNT_IA_PZ_FREE]);
	OK(dat_pz_create(p.a.ia, &pz));
	OK(dat_pz_free(pz));
	CHECK(counter(p.a.ia, DCNT_IA_PZ_CREATE) == 2 && counter(p.a.ia, DCNT_IA_PZ_FREE) == 1);
	sends = counter(p.a.ep, DCNT_EP_POST_SEND);
	bytes = counter(p.a.ep, DCNT_EP_POST_SEND_DATA);
	found = counter(p.a.req, DCNT_EVD_DEQUEUE_FOUND);
	OK(mp_recv(&p.b, 0, 100, 1));
	OK(mp_send(&p.a, 0, 60, 1, 0));
	DTO(p.a.req, DAT_DTO_SEND, 1, DAT_DTO_SUCCESS);
	DTO(p.b.recv, DAT_DTO_RECEIVE, 1, DAT_DTO_SUCCESS);
	CHECK(counter(p.a.ep, DCNT_EP_POST_SEND) == sends + 1);
	CHECK(counter(p.a.ep, DCNT_EP_POST_SEND_DATA) == bytes + 60);
	CHECK(counter(p.b.ep, DCNT_EP_POST_RECV_DATA) >= 100);
	CHECK(counter(p.b.ep, DCNT_EP_RECV) >= 1 && counter(p.b.ep, DCNT_EP_RECV_DATA) >= 60);
	CHECK(counter(p.a.req, DCNT_EVD_DEQUEUE_FOUND) == found); /* counted as a wait */
	CHECK(counter(p.a.req, DCNT_EVD_WAIT) > 0);
	OK(dat_ib_query_counters(p.a.ep, DCNT_EP_ALL_COUNTERS, all, 1));
	CHECK(all[DCNT_EP_POST_SEND] == sends + 1 && counter(p.a.ep, DCNT_EP_POST_SEND) == 0);
	WANT(dat_ib_query_counters(p.a.ep, DCNT_EP_ALL_COUNTERS + 1, all, 0), ARG(3));
	WANT(dat_ib_query_counters(p.a.ep, -1, all, 0), ARG(3));
	WANT(dat_ib_query_counters(p.a.ep, 0, NULL, 0), ARG(4));
	WANT(dat_ib_query_counters(p.a.pz, 0, all, 0),
	     ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE1));
	OK(dat_ib_print_counters(p.b.ep, DCNT_EP_ALL_COUNTERS, 0));
	/* counters of connections always run; those of a port's link do not exist */
	OK(dat_ib_start_counter(p.a.ia, DCNT_IA_CM));
	OK(dat_ib_stop_counter(p.a.ia, DCNT_IA_CM));
	WANT(dat_ib_start_counter(p.a.ia, DCNT_IA_LNK), NOT_THERE);
	WANT(dat_ib_stop_counter(p.a.ia, DCNT_IA_DIAG), NOT_THERE);
	WANT(dat_ib_stop_counter(p.a.ia, DCNT_IA_DIAG + 1), ARG(2));
	WANT(dat_ib_start_counter(p.a.pz, DCNT_IA_CM), ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA));
}

/* The provider's thread may be about to count. */
static void counts(DAT_HANDLE h, int which, DAT_UINT64 n)
{
	for (int ms = 0; ms < 20000 && counter(h, which) < n; ms++)
		poll(NULL, 0, 1);
	CHECK_MSG(counter(h, which) == n, "counter %d is %llu", which,
		  (unsigned long long)counter(h, which));
}

/* a connected to b at the start; it ends here. */
static void connections(void)
{
	counts(p.a.ia, DCNT_IA_CM_REQ_TX, 1);
	counts(p.b.ia, DCNT_IA_CM_REQ_RX, 1);
	counts(p.b.ia, DCNT_IA_CM_REP_TX, 1);
	counts(p.a.ia, DCNT_IA_CM_REP_RX, 1);
	counts(p.a.ia, DCNT_IA_CM_RTU_TX, 1);
	counts(p.b.ia, DCNT_IA_CM_RTU_RX, 1);
	counts(p.a.ia, DCNT_IA_CM_ACTIVE_EST, 1);
	counts(p.b.ia, DCNT_IA_CM_PASSIVE_EST, 1);
	counts(p.b.ia, DCNT_IA_CM_LISTEN, 1);
	counts(p.a.ia, DCNT_IA_CM_PASSIVE_EST, 0);
	counts(p.b.ia, DCNT_IA_CM_ACTIVE_EST, 0);
	counts(p.a.ia, DCNT_IA_CM_DREQ_TX, 0);
	OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_ABRUPT_FLAG));
	mp_ended(&p.a, DAT_CONNECTION_EVENT_DISCONNECTED);
	mp_ended(&p.b, DAT_CONNECTION_EVENT_DISCONNECTED);
	counts(p.a.ia, DCNT_IA_CM_DREQ_TX, 1);
	counts(p.b.ia, DCNT_IA_CM_DREQ_RX, 1);
	counts(p.b.ia, DCNT_IA_CM_DREQ_TX, 0);
	mp_again(&p);
}

/* Collectives are not implemented. */
static void refused(void)
{
	DAT_IB_ADDR_HANDLE ah = { 0 };
	DAT_LMR_TRIPLET l = mp_at(&p.a, 0, 8);
	DAT_IB_COLLECTIVE_GROUP g = { 0 };

	for (unsigned int op = DAT_IB_COLLECTIVE_CREATE_MEMBER_OP; op <= DAT_IB_COLLECTIVE_BARRIER_OP;
	     op++)
		WANT(dat_extension_op(p.a.ia, (DAT_EXTENDED_OP)op, &g, NULL, NULL, NULL), NOT_THERE);
	WANT(dat_extension_op(p.a.ia, (DAT_EXTENDED_OP)0x777, &g), NOT_THERE);
	/* a connected endpoint sends no datagrams */
	WANT(dat_ib_post_send_ud(p.a.ep, 1, &l, &ah, mp_cookie(1), 0), NO_MODEL);
}

/* Attributes without an open by the program. */
static void fast_query(void)
{
	DAT_PROVIDER_ATTR prov;
	DAT_IA_HANDLE ia;
	DAT_IA_ATTR attr;

	OK(dat_ib_open_query((DAT_NAME_PTR)mp_ia_name(), &ia, DAT_IA_FIELD_ALL, &attr,
			     DAT_PROVIDER_FIELD_ALL, &prov));
	CHECK(!strcmp(attr.adapter_name, p.a.attr.adapter_name));
	CHECK(prov.max_private_data_size == p.a.prov.max_private_data_size);
	OK(dat_ib_close_query(ia));
}

int main(void)
{
	p.priv = DAT_MEM_PRIV_ALL_FLAG | DAT_IB_MEM_PRIV_REMOTE_ATOMIC;
	mp_join(&p);
	atomics();
	immediate();
	counters();
	refused();
	fast_query();
	connections();
	mp_close(&p);
	return 0;
}
