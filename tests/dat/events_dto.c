/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Events of real traffic: one EVD for everything, its order; which completions wake; resizing while
 * they come; CNOs behind completion queues; overflow.
 */
#include "events_lib.h"

#include <sched.h>
#include <stdatomic.h>

/* One EVD with every stream instead of four, on both ends. */
static void merge(struct mp_end *e, DAT_EP_ATTR *attr)
{
	DAT_EVD_HANDLE one;

	OK(dat_ep_free(e->ep));
	OK(dat_evd_create(e->ia, 256, DAT_HANDLE_NULL,
			  (DAT_EVD_FLAGS)(DAT_EVD_DEFAULT_FLAG | DAT_EVD_SOFTWARE_FLAG), &one));
	OK(dat_evd_free(e->recv));
	OK(dat_evd_free(e->req));
	OK(dat_evd_free(e->conn));
	OK(dat_evd_free(e->cr));
	e->recv = e->req = e->conn = e->cr = one;
	OK(dat_ep_create(e->ia, e->pz, one, one, one, attr, &e->ep));
}

static void close_merged(struct mp_end *e)
{
	OK(dat_ep_free(e->ep));
	OK(dat_evd_free(e->recv));
	OK(dat_ia_close(e->ia, DAT_CLOSE_ABRUPT_FLAG));
	munmap(e->buf, MP_BUF);
}

/*
 * The active end sends as soon as it is connected, so that the message may arrive before the
 * passive end's connection manager reports ESTABLISHED. ESTABLISHED still comes first, and
 * DISCONNECTED last.
 */
static void merged(void)
{
	struct mp p = { 0 };
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_EVENT ev;

	mp_open(&p);
	merge(&p.a, &p.ep);
	merge(&p.b, &p.ep);
	OK(dat_psp_create_any(p.b.ia, &qual, p.b.cr, DAT_PSP_CONSUMER_FLAG, &psp));
	for (int round = 0; round < 20; round++) {
		for (uint64_t i = 0; i < 4; i++)
			OK(mp_recv(&p.b, i * 64, 64, i));
		OK(dat_ep_connect(p.a.ep, p.b.attr.ia_address_ptr, qual, MP_TIMEOUT, 0, NULL,
				  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
		ev = mp_next(p.b.cr);
		CHECK(ev.event_number == DAT_CONNECTION_REQUEST_EVENT);
		OK(dat_cr_accept(ev.event_data.cr_arrival_event_data.cr_handle, p.b.ep, 0, NULL));
		ev = mp_next(p.a.conn);
		CHECK(ev.event_number == DAT_CONNECTION_EVENT_ESTABLISHED);
		for (uint64_t i = 0; i < 4; i++)
			OK(mp_send(&p.a, 0, 64, 100 + i, 0));
		ev = mp_next(p.b.conn);
		CHECK_MSG(ev.event_number == DAT_CONNECTION_EVENT_ESTABLISHED, "round %d: %x",
			  round, ev.event_number);
		for (uint64_t i = 0; i < 4; i++) {
			DTO(p.a.req, DAT_DTO_SEND, 100 + i, DAT_DTO_SUCCESS);
			DTO(p.b.recv, DAT_DTO_RECEIVE, i, DAT_DTO_SUCCESS);
		}
		OK(ev_post(p.b.recv, 9));
		ev = mp_next(p.b.recv);
		ev_is(&ev, p.b.recv, 9);
		for (uint64_t i = 0; i < 3; i++)
			OK(mp_recv(&p.b, i * 64, 64, 10 + i));
		for (uint64_t i = 0; i < 3; i++)
			OK(mp_send(&p.a, 0, 64, 110 + i, 0));
		for (uint64_t i = 0; i < 3; i++)
			DTO(p.a.req, DAT_DTO_SEND, 110 + i, DAT_DTO_SUCCESS);
		OK(dat_ep_disconnect(p.a.ep, DAT_CLOSE_GRACEFUL_FLAG));
		for (uint64_t i = 0; i < 3; i++)
			DTO(p.b.recv, DAT_DTO_RECEIVE, 10 + i, DAT_DTO_SUCCESS);
		ev = mp_next(p.b.conn);
		CHECK(ev.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
		ev = mp_next(p.a.conn);
		CHECK(ev.event_number == DAT_CONNECTION_EVENT_DISCONNECTED);
		OK(dat_ep_reset(p.a.ep));
		OK(dat_ep_reset(p.b.ep));
	}
	OK(dat_psp_free(psp));
	close_merged(&p.a);
	close_merged(&p.b);
}

/* Completions wait until there are as many as asked for. */
static void threshold(void)
{
	struct mp p = { 0 };
	struct ev_waiter w = { .timeout = DAT_TIMEOUT_INFINITE, .threshold = 4 };

	mp_join(&p);
	for (uint64_t i = 0; i < 8; i++)
		OK(mp_recv(&p.b, i * 64, 64, i));
	w.evd = p.b.recv;
	for (int round = 0; round < 2; round++) {
		ev_wait_start(&w);
		for (uint64_t i = 0; i < 4; i++) {
			OK(mp_send(&p.a, 0, 64, i, 0));
			DTO(p.a.req, DAT_DTO_SEND, i, DAT_DTO_SUCCESS);
		}
		ev_wait_join(&w);
		WANT(w.ret, DAT_SUCCESS);
		CHECK(w.nmore == 3);
		for (uint64_t i = 1; i < 4; i++)
			DTO(p.b.recv, DAT_DTO_RECEIVE, 4 * (uint64_t)round + i, DAT_DTO_SUCCESS);
	}
	mp_close(&p);
}

/* --- which completions wake --- */

static DAT_EVD_STATE config(DAT_EVD_HANDLE evd)
{
	DAT_EVD_PARAM q;

	OK(dat_evd_query(evd, DAT_EVD_FIELD_EVD_STATE, &q));
	return (DAT_EVD_STATE)(q.evd_state & 0x30);
}

/* A receiver that asked for SOLICITED_WAIT sleeps through messages without the flag. */
static void solicited(void)
{
	struct mp p = { 0 };
	struct ev_waiter w = { .timeout = DAT_TIMEOUT_INFINITE, .threshold = 1 };
	DAT_EVENT ev;
	DAT_COUNT n;

	p.ep.recv_completion_flags = DAT_COMPLETION_SOLICITED_WAIT_FLAG;
	mp_join(&p);
	CHECK(config(p.b.recv) == DAT_EVD_STATE_CONFIG_SOLICITED);
	WANT(dat_evd_wait(p.b.recv, 0, 2, &ev, &n), ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3));
	for (uint64_t i = 0; i < 6; i++)
		OK(mp_recv(&p.b, i * 64, 64, i));
	w.evd = p.b.recv;
	ev_wait_start(&w);
	for (uint64_t i = 0; i < 3; i++) {
		OK(mp_send(&p.a, 0, 64, i, i == 2 ? DAT_COMPLETION_SOLICITED_WAIT_FLAG : 0));
		DTO(p.a.req, DAT_DTO_SEND, i, DAT_DTO_SUCCESS);
	}
	ev_wait_join(&w);
	WANT(w.ret, DAT_SUCCESS);
	CHECK_MSG(w.nmore == 2, "woken with %d more", w.nmore);
	DTO(p.b.recv, DAT_DTO_RECEIVE, 1, DAT_DTO_SUCCESS);
	DTO(p.b.recv, DAT_DTO_RECEIVE, 2, DAT_DTO_SUCCESS);
	/* also if the flag arrived before the wait */
	OK(mp_send(&p.a, 0, 64, 3, DAT_COMPLETION_SOLICITED_WAIT_FLAG));
	DTO(p.a.req, DAT_DTO_SEND, 3, DAT_DTO_SUCCESS);
	DTO(p.b.recv, DAT_DTO_RECEIVE, 3, DAT_DTO_SUCCESS);
	/* a message without the flag wakes no waiter; a dequeue finds it */
	OK(mp_send(&p.a, 0, 64, 4, 0));
	DTO(p.a.req, DAT_DTO_SEND, 4, DAT_DTO_SUCCESS);
	for (uint64_t till = ev_now() + MP_TIMEOUT;;) {
		WANT(dat_evd_wait(p.b.recv, 50000, 1, &ev, &n), ERR(DAT_TIMEOUT_EXPIRED, 0));
		if (n == 1)
			break;
		/* over iWARP the sender's completion means only that TCP has it */
		CHECK(n == 0 && mp_is_iwarp() && ev_now() < till);
	}
	OK(dat_evd_dequeue(p.b.recv, &ev));
	CHECK(ev.event_data.dto_completion_event_data.user_cookie.as_64 == 4);
	mp_close(&p);
}

/* UNSIGNALLED: queued without notification, handed out with the next that notifies. */
static void unsignalled(void)
{
	struct mp p = { 0 };
	DAT_EVENT ev;
	DAT_COUNT n;

	p.ep.request_completion_flags = DAT_COMPLETION_UNSIGNALLED_FLAG;
	mp_join(&p);
	CHECK(config(p.a.req) == DAT_EVD_STATE_CONFIG_NOTIFY);
	for (uint64_t i = 0; i < 2; i++)
		OK(mp_write(&p.a, 0, &p.b, 0, 8, i, DAT_COMPLETION_UNSIGNALLED_FLAG));
	do {
		WANT(dat_evd_wait(p.a.req, 20000, 1, &ev, &n), ERR(DAT_TIMEOUT_EXPIRED, 0));
	} while (n < 2);
	OK(mp_write(&p.a, 0, &p.b, 0, 8, 2, 0));
	OK(dat_evd_wait(p.a.req, MP_TIMEOUT, 1, &ev, &n));
	CHECK(ev.event_data.dto_completion_event_data.user_cookie.as_64 == 0 && n == 2);
	DTO(p.a.req, DAT_DTO_RDMA_WRITE, 1, DAT_DTO_SUCCESS);
	DTO(p.a.req, DAT_DTO_RDMA_WRITE, 2, DAT_DTO_SUCCESS);
	mp_close(&p);
}

/* --- resize --- */

struct sender {
	struct mp *p;
	_Atomic bool stop;
	uint64_t sent;
};

static void *sending(void *arg)
{
	struct sender *s = arg;

	while (!atomic_load(&s->stop)) {
		OK(mp_write(&s->p->a, 0, &s->p->b, 0, 64, s->sent, 0));
		/* the queue pair never overflows: the reaper counts */
		s->sent++;
		while (s->sent - atomic_load((_Atomic uint64_t *)(void *)s->p->a.buf + 64) > 12 &&
		       !atomic_load(&s->stop))
			sched_yield();
	}
	return NULL;
}

static void resized(void)
{
	struct mp p = { .qlen = 16 };
	struct sender s = { .p = &p };
	_Atomic uint64_t *reaped;
	pthread_t t;
	int size = 16;

	mp_join(&p);
	reaped = (_Atomic uint64_t *)(void *)p.a.buf + 64;
	atomic_store(reaped, 0);
	CHECK(!pthread_create(&t, NULL, sending, &s));
	for (uint64_t i = 0; i < 20000; i++) {
		DTO(p.a.req, DAT_DTO_RDMA_WRITE, i, DAT_DTO_SUCCESS);
		atomic_store(reaped, i + 1);
		if (i % 50)
			continue;
		size = size == 16 ? 300 : 16;
		OK(dat_evd_resize(p.a.req, size));
	}
	atomic_store(&s.stop, true);
	pthread_join(t, NULL);
	for (uint64_t i = atomic_load(reaped); i < s.sent; i++)
		DTO(p.a.req, DAT_DTO_RDMA_WRITE, i, DAT_DTO_SUCCESS);
	mp_none(p.a.req);
	mp_close(&p);
}

/* --- CNO --- */

/* Ping-pong in which both ends sleep on CNOs: a lost trigger stops it. */
static void reap(DAT_CNO_HANDLE cno, DAT_EVD_HANDLE evd, unsigned int op, uint64_t cookie)
{
	DAT_EVD_HANDLE hint;
	DAT_EVENT ev;

	while (dat_evd_dequeue(evd, &ev) != DAT_SUCCESS) {
		OK(dat_cno_wait(cno, MP_TIMEOUT, &hint));
		CHECK(hint);
	}
	CHECK((unsigned int)ev.event_data.dto_completion_event_data.operation == op);
	CHECK(ev.event_data.dto_completion_event_data.user_cookie.as_64 == cookie);
	CHECK(ev.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS);
}

static void behind_cno(void)
{
	struct mp p = { 0 };
	DAT_CNO_HANDLE a, b;

	mp_join(&p);
	OK(dat_cno_create(p.a.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &a));
	OK(dat_cno_create(p.b.ia, DAT_OS_WAIT_PROXY_AGENT_NULL, &b));
	OK(dat_evd_modify_cno(p.a.req, a));
	OK(dat_evd_modify_cno(p.a.recv, a));
	OK(dat_evd_modify_cno(p.b.req, b));
	OK(dat_evd_modify_cno(p.b.recv, b));
	for (uint64_t i = 0; i < 1000; i++) {
		OK(mp_recv(&p.b, 0, 64, i));
		OK(mp_send(&p.a, 0, 64, i, 0));
		reap(b, p.b.recv, DAT_DTO_RECEIVE, i);
		reap(a, p.a.req, DAT_DTO_SEND, i);
		OK(mp_recv(&p.a, 0, 64, i));
		OK(mp_send(&p.b, 0, 64, i, 0));
		reap(a, p.a.recv, DAT_DTO_RECEIVE, i);
		reap(b, p.b.req, DAT_DTO_SEND, i);
		if (i % 100)
			continue;
		/* a direct wait in between; the CNO goes on afterwards */
		OK(mp_recv(&p.b, 0, 64, i));
		OK(mp_send(&p.a, 0, 64, i, 0));
		DTO(p.b.recv, DAT_DTO_RECEIVE, i, DAT_DTO_SUCCESS);
		DTO(p.a.req, DAT_DTO_SEND, i, DAT_DTO_SUCCESS);
	}
	for (int i = 0; i < 2; i++) {
		OK(dat_evd_modify_cno(i ? p.b.req : p.a.req, DAT_HANDLE_NULL));
		OK(dat_evd_modify_cno(i ? p.b.recv : p.a.recv, DAT_HANDLE_NULL));
	}
	OK(dat_cno_free(a));
	OK(dat_cno_free(b));
	mp_close(&p);
}

/* --- overflow --- */

static void told_of(DAT_EVD_HANDLE evd, DAT_EVD_HANDLE source)
{
	DAT_ASYNCH_ERROR_EVENT_DATA *d;
	DAT_EVENT ev;

	do
		ev = mp_next(evd);
	while (ev.event_number == DAT_ASYNC_ERROR_EP_BROKEN);
	CHECK_MSG(ev.event_number == DAT_ASYNC_ERROR_EVD_OVERFLOW, "event %x", ev.event_number);
	d = &ev.event_data.asynch_error_event_data;
	CHECK(d->dat_handle == source && d->reason == DAT_EVD_OVERFLOW_ERROR);
}

/* Without a reaper the completion queue overflows, and every asynchronous EVD receives an event. */
static void overflow(void)
{
	struct mp p = { .qlen = 4 };
	DAT_EVD_HANDLE second;
	DAT_RETURN ret;
	int posted = 0, got = 0;
	DAT_EVENT ev;
	DAT_COUNT n;

	p.ep.max_request_dtos = 512;
	mp_join(&p);
	OK(dat_evd_create(p.a.ia, 8, DAT_HANDLE_NULL,
			  (DAT_EVD_FLAGS)(DAT_EVD_ASYNC_FLAG | DAT_EVD_SOFTWARE_FLAG), &second));
	while (posted < 512 && mp_write(&p.a, 0, &p.b, 0, 8, (uint64_t)posted, 0) == DAT_SUCCESS)
		posted++;
	CHECK(posted == 512);
	told_of(p.a.async, p.a.req);
	told_of(second, p.a.req);
	/* queued events are handed out, then QUEUE_FULL */
	while ((ret = dat_evd_dequeue(p.a.req, &ev)) == DAT_SUCCESS)
		got++;
	CHECK(got >= 4);
	WANT(ret, ERR(DAT_QUEUE_FULL, 0));
	WANT(dat_evd_wait(p.a.req, DAT_TIMEOUT_INFINITE, 1, &ev, &n), ERR(DAT_QUEUE_FULL, 0));
	OK(dat_ia_close(p.a.ia, DAT_CLOSE_ABRUPT_FLAG));
	OK(dat_ia_close(p.b.ia, DAT_CLOSE_ABRUPT_FLAG));
}

int main(void)
{
	merged();
	threshold();
	solicited();
	unsignalled();
	resized();
	behind_cno();
	overflow();
	return 0;
}
