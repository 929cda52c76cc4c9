/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared receive queues: arguments, counts, sizes, marks, and the endpoint's part in them. */
#include "mem_pair.h"

#include <sched.h>
#include <time.h>

#define SRQ_BAD ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_SRQ)
#define ARG(n) ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG##n)

enum { SIZE = 32, TIMEOUT = 5 /* seconds */ };

static struct mp p; /* b's endpoint takes from the SRQ */

static DAT_SRQ_PARAM query(void)
{
	DAT_SRQ_PARAM q;

	OK(dat_srq_query(p.b.srq, DAT_SRQ_FIELD_ALL, &q));
	return q;
}

/* Over iWARP a Send completes before the message arrives: look again, with a timeout. */
static bool late(time_t begun)
{
	sched_yield();
	return time(NULL) > begun + TIMEOUT;
}

static void counts(DAT_COUNT available, DAT_COUNT outstanding)
{
	time_t begun = time(NULL);
	DAT_SRQ_PARAM q = query();

	while (q.available_dto_count != available && !late(begun))
		q = query();
	CHECK_MSG(q.available_dto_count == available && q.outstanding_dto_count == outstanding,
		  "%d and %d, not %d and %d", q.available_dto_count, q.outstanding_dto_count,
		  available, outstanding);
}

static void fill(DAT_COUNT n)
{
	for (DAT_COUNT i = 0; i < n; i++)
		OK(mp_recv(&p.b, 64 * (uint64_t)i, 64, (uint64_t)i));
}

static void sends(int n)
{
	for (int i = 0; i < n; i++) {
		OK(mp_send(&p.a, 0, 64, (uint64_t)i, 0));
		DTO(p.a.req, DAT_DTO_SEND, (uint64_t)i, DAT_DTO_SUCCESS);
	}
}

static void reap(int n)
{
	for (int i = 0; i < n; i++)
		CHECK(mp_next(p.b.recv).event_data.dto_completion_event_data.operation ==
		      DAT_DTO_RECEIVE);
}

static void arguments(void)
{
	DAT_SRQ_ATTR a = { 8, 2, DAT_SRQ_LW_DEFAULT };
	DAT_LMR_TRIPLET t[5] = { mp_at(&p.b, 0, 8) };
	DAT_SRQ_HANDLE s;
	DAT_SRQ_PARAM q;

	WANT(dat_srq_create(DAT_HANDLE_NULL, p.b.pz, &a, &s),
	     ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA));
	WANT(dat_srq_create(p.b.ia, p.a.pz, &a, &s), ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_PZ));
	WANT(dat_srq_create(p.b.ia, p.b.pz, NULL, &s), ARG(3));
	WANT(dat_srq_create(p.b.ia, p.b.pz, &a, NULL), ARG(4));
	a.low_watermark = 1;
	WANT(dat_srq_create(p.b.ia, p.b.pz, &a, &s), ARG(3));
	a.low_watermark = 0;
	a.max_recv_dtos = 0;
	WANT(dat_srq_create(p.b.ia, p.b.pz, &a, &s), ARG(3));
	a.max_recv_dtos = 1 << 30;
	WANT(dat_srq_create(p.b.ia, p.b.pz, &a, &s), ARG(3));
	a.max_recv_dtos = 8;
	a.max_recv_iov = 1000;
	WANT(dat_srq_create(p.b.ia, p.b.pz, &a, &s), ARG(3));
	a.max_recv_iov = 2;
	OK(dat_srq_create(p.b.ia, p.b.pz, &a, &s));
	OK(dat_srq_query(s, DAT_SRQ_FIELD_ALL, &q));
	CHECK(q.ia_handle == p.b.ia && q.pz_handle == p.b.pz && q.max_recv_dtos >= 8);
	CHECK(q.max_recv_iov >= 2 && q.srq_state == DAT_SRQ_STATE_OPERATIONAL && !q.low_watermark);
	CHECK(!q.available_dto_count && !q.outstanding_dto_count);
	WANT(dat_srq_query(s, DAT_SRQ_FIELD_ALL, NULL), ARG(3));
	WANT(dat_srq_query(s, (DAT_SRQ_PARAM_MASK)0x100, &q), ARG(2));
	WANT(dat_srq_post_recv(s, 3, t, mp_cookie(1)), ARG(2));
	WANT(dat_srq_post_recv(s, -1, t, mp_cookie(1)), ARG(2));
	WANT(dat_srq_post_recv(s, 1, NULL, mp_cookie(1)), ARG(3));
	WANT(dat_srq_post_recv(DAT_HANDLE_NULL, 1, t, mp_cookie(1)), SRQ_BAD);
	t[0].lmr_context ^= 0x700;
	WANT(dat_srq_post_recv(s, 1, t, mp_cookie(1)),
	     ERR(DAT_PRIVILEGES_VIOLATION, DAT_PRIVILEGES_WRITE));
	WANT(dat_srq_resize(s, 0), ARG(2));
	WANT(dat_srq_resize(s, 1 << 30), ARG(2));
	WANT(dat_srq_resize((DAT_SRQ_HANDLE)p.b.pz, 8), SRQ_BAD);
	WANT(dat_srq_set_lw(s, -1), ARG(2));
	WANT(dat_srq_set_lw(s, q.max_recv_dtos + 1), ARG(2));
	OK(dat_srq_free(s));
	WANT(dat_srq_free(s), SRQ_BAD);
	WANT(dat_srq_free(p.b.srq), ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE));
	t[0] = mp_at(&p.b, 0, 8);
	CHECK(DAT_GET_TYPE(dat_ep_post_recv(p.b.ep, 1, t, mp_cookie(1), 0)) == DAT_INVALID_STATE);
}

/* A buffer is available until it is taken and outstanding until its completion is reaped. */
static void counting(void)
{
	DAT_SRQ_PARAM q = query();
	DAT_RETURN r;
	time_t begun;

	counts(0, 0);
	fill(10);
	counts(10, 10);
	sends(4);
	/* the completions are not drained yet: the query drains them */
	counts(6, 10);
	reap(1);
	counts(6, 9);
	reap(3);
	counts(6, 6);
	fill(q.max_recv_dtos - 6);
	CHECK(DAT_GET_TYPE(mp_recv(&p.b, 0, 64, 1)) == DAT_INSUFFICIENT_RESOURCES);
	sends(2);
	/* The slot of a taken buffer is free before the completion is reaped or drained. */
	begun = time(NULL);
	do
		r = mp_recv(&p.b, 0, 64, 1);
	while (DAT_GET_TYPE(r) == DAT_INSUFFICIENT_RESOURCES && !late(begun));
	OK(r);
	reap(2);
}

static void sizes(void)
{
	DAT_SRQ_PARAM q = query();
	DAT_COUNT n = q.available_dto_count;

	WANT(dat_srq_resize(p.b.srq, n - 1), ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE));
	OK(dat_srq_resize(p.b.srq, 4 * SIZE));
	CHECK(query().max_recv_dtos >= 4 * SIZE && query().available_dto_count == n);
	fill(4 * SIZE - n);
	CHECK(DAT_GET_TYPE(mp_recv(&p.b, 0, 64, 1)) == DAT_INSUFFICIENT_RESOURCES);
	sends(4 * SIZE - 8);
	reap(4 * SIZE - 8);
	OK(dat_srq_resize(p.b.srq, SIZE));
	counts(8, 8);
	fill(SIZE - 8);
	CHECK(DAT_GET_TYPE(mp_recv(&p.b, 0, 64, 1)) == DAT_INSUFFICIENT_RESOURCES);
}

/* One event below the low watermark: not before, and not again. */
static void low_mark(void)
{
	DAT_EVENT ev;

	OK(dat_srq_set_lw(p.b.srq, 20));
	CHECK(query().low_watermark == 20);
	WANT(dat_srq_resize(p.b.srq, 19), ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_SRQ_IN_USE));
	sends(SIZE - 20);
	reap(SIZE - 20);
	mp_none(p.b.async);
	sends(1);
	reap(1);
	ev = mp_next(p.b.async);
	CHECK(ev.event_data.asynch_error_event_data.dat_handle == (DAT_HANDLE)p.b.srq);
	CHECK(ev.event_data.asynch_error_event_data.reason == DAT_SRQ_LOW_WATERMARK_EVENT);
	CHECK(query().low_watermark == DAT_SRQ_LW_DEFAULT);
	sends(3);
	reap(3);
	mp_none(p.b.async);
}

/* Soft: one event. Hard: the end of the connection. */
static void high_marks(void)
{
	DAT_COUNT nbufs, span;
	DAT_EVENT ev;

	OK(dat_ep_set_watermark(p.b.ep, 3, DAT_WATERMARK_INFINITE));
	sends(2);
	counts(14, 16);
	mp_none(p.b.async);
	OK(dat_ep_recv_query(p.b.ep, &nbufs, &span));
	CHECK(nbufs == 2);
	sends(1);
	counts(13, 16);
	ev = mp_next(p.b.async);
	CHECK(ev.event_data.asynch_error_event_data.dat_handle == (DAT_HANDLE)p.b.ep);
	CHECK(ev.event_data.asynch_error_event_data.reason == DAT_SRQ_SOFT_HIGH_WATERMARK_EVENT);
	sends(1);
	counts(12, 16);
	mp_none(p.b.async);
	reap(4);
	OK(dat_ep_recv_query(p.b.ep, &nbufs, &span));
	CHECK(nbufs == 0);
	OK(dat_ep_set_watermark(p.b.ep, DAT_WATERMARK_INFINITE, 2));
	sends(2);
	counts(10, 12);
	sends(1);
	counts(9, 12);
	mp_ended(&p.b, DAT_CONNECTION_EVENT_BROKEN);
	reap(3);
	counts(9, 9);
}

/* Two endpoints, one queue: each completion names the right endpoint. */
static void two(void)
{
	struct mp_end other = p.b;
	struct mp q = p;

	q.b = other;
	OK(dat_evd_create(p.b.ia, 64, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &q.b.recv));
	OK(dat_ep_create_with_srq(p.b.ia, p.b.pz, q.b.recv, p.b.req, p.b.conn, p.b.srq, &p.ep,
				  &q.b.ep));
	OK(dat_ep_create(p.a.ia, p.a.pz, p.a.recv, p.a.req, p.a.conn, &p.ep, &q.a.ep));
	mp_connect(&q);
	for (uint64_t i = 0; i < 40; i++) {
		struct mp *at = i % 3 ? &p : &q;
		DAT_DTO_COMPLETION_EVENT_DATA d;

		OK(mp_recv(&p.b, 0, 64, 100 + i));
		OK(mp_send(&at->a, 0, 32, i, 0));
		DTO(at->a.req, DAT_DTO_SEND, i, DAT_DTO_SUCCESS);
		d = mp_next(at->b.recv).event_data.dto_completion_event_data;
		CHECK(d.status == DAT_DTO_SUCCESS && d.ep_handle == at->b.ep);
		CHECK(d.transfered_length == 32);
	}
	OK(dat_ep_free(q.b.ep));
	mp_ended(&q.a, DAT_CONNECTION_EVENT_DISCONNECTED);
	OK(dat_ep_free(q.a.ep));
	OK(dat_evd_free(q.b.recv));
}

int main(void)
{
	p.srq = SIZE;
	mp_join(&p);
	arguments();
	counting();
	sizes();
	low_mark();
	high_marks();
	mp_again(&p);
	two();
	mp_close(&p);
	return 0;
}
