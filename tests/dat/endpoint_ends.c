/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ends of connections: whichever side ends one, or both, each end receives one event, after its
 * successful completions; outstanding operations are flushed; and the endpoint can be used again.
 */
#include "endpoint_lib.h"
#include "support/cases.h"

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

static struct el t;
static struct mp_end a, b; /* as mem_pair.h needs it, with the endpoint in use */

static void join(void)
{
	a = t.p.a;
	b = t.p.b;
	a.ep = el_ep(&t.p.a);
	b.ep = el_ep(&t.p.b);
	el_join(&t, a.ep, b.ep);
}

static void leave(void)
{
	OK(dat_ep_free(a.ep));
	OK(dat_ep_free(b.ep));
	el_quiet(&t);
	mp_none(a.recv);
	mp_none(a.req);
	mp_none(b.recv);
	mp_none(b.req);
}

/* Operations are flushed, posted before the end or after it. */
static void flushes(void)
{
	join();
	OK(mp_recv(&b, 0, 64, 1));
	OK(mp_recv(&b, 0, 64, 2));
	el_part(&t, a.ep, b.ep);
	DTO(b.recv, DAT_DTO_RECEIVE, 1, DAT_DTO_ERR_FLUSHED);
	DTO(b.recv, DAT_DTO_RECEIVE, 2, DAT_DTO_ERR_FLUSHED);
	OK(mp_recv(&b, 0, 64, 3));
	OK(mp_send(&b, 0, 64, 4, DAT_COMPLETION_DEFAULT_FLAG));
	OK(mp_send(&a, 0, 64, 5, DAT_COMPLETION_SUPPRESS_FLAG));
	DTO(b.recv, DAT_DTO_RECEIVE, 3, DAT_DTO_ERR_FLUSHED);
	DTO(b.req, DAT_DTO_SEND, 4, DAT_DTO_ERR_FLUSHED);
	DTO(a.req, DAT_DTO_SEND, 5, DAT_DTO_ERR_FLUSHED);
	leave();
}

/* Sixteen Writes, all suppressed and none lost, and then the end. */
static void graceful(void)
{
	DAT_BOOLEAN idle;
	DAT_EP_STATE s;

	join();
	mp_paint(a.buf, 65536, 9);
	for (unsigned int i = 0; i < 16; i++)
		OK(mp_write(&a, i * 4096, &b, i * 4096, 4096, i, DAT_COMPLETION_SUPPRESS_FLAG));
	OK(dat_ep_disconnect(a.ep, DAT_CLOSE_GRACEFUL_FLAG));
	el_event(&t.p.a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	el_event(&t.p.b, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	CHECK(mp_painted(b.buf, 65536, 9));
	OK(dat_ep_get_status(a.ep, &s, NULL, &idle));
	CHECK(s == DAT_EP_STATE_DISCONNECTED && idle == DAT_TRUE);
	leave();
}

/* A Send that waits for its receive delays a graceful disconnect, not an abrupt one. Over iWARP a
 * Send without a receive ends the connection by itself. */
static void pending(void)
{
	DAT_BOOLEAN idle;
	DAT_EP_STATE s;

	if (mp_is_iwarp())
		return;
	for (int round = 0; round < 2; round++) {
		join();
		OK(mp_send(&a, 0, 64, 1, DAT_COMPLETION_DEFAULT_FLAG));
		OK(dat_ep_disconnect(a.ep, DAT_CLOSE_GRACEFUL_FLAG));
		OK(dat_ep_get_status(a.ep, &s, NULL, &idle));
		CHECK(s == DAT_EP_STATE_DISCONNECT_PENDING && idle == DAT_FALSE);
		WANT(mp_send(&a, 0, 64, 2, 0), STATE(DISCPENDING));
		WANT(dat_ep_reset(a.ep), STATE(DISCPENDING));
		OK(dat_ep_disconnect(a.ep, DAT_CLOSE_GRACEFUL_FLAG));
		mp_none(t.p.a.conn);
		if (round)
			OK(mp_recv(&b, 0, 64, 3));
		else
			OK(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG));
		el_event(&t.p.a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		el_event(&t.p.b, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		DTO(a.req, DAT_DTO_SEND, 1, round ? DAT_DTO_SUCCESS : DAT_DTO_ERR_FLUSHED);
		if (round)
			DTO(b.recv, DAT_DTO_RECEIVE, 3, DAT_DTO_SUCCESS);
		leave();
	}
}

static void *hang_up(void *ep)
{
	OK(dat_ep_disconnect(ep, DAT_CLOSE_ABRUPT_FLAG));
	return NULL;
}

/* Both ends, and one end twice, at the same time: one event each. */
static void together(void)
{
	for (int i = 0; i < 50; i++) {
		pthread_t th[3];

		join();
		CHECK(!pthread_create(&th[0], NULL, hang_up, a.ep));
		CHECK(!pthread_create(&th[1], NULL, hang_up, b.ep));
		CHECK(!pthread_create(&th[2], NULL, hang_up, a.ep));
		for (int j = 0; j < 3; j++)
			CHECK(!pthread_join(th[j], NULL));
		el_event(&t.p.a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		el_event(&t.p.b, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		OK(dat_ep_disconnect(a.ep, DAT_CLOSE_ABRUPT_FLAG)); /* nothing is left to do */
		leave();
	}
}

/* The error completes, the rest is flushed, and BROKEN comes once. */
static void broken(void)
{
	DAT_LMR_TRIPLET l;
	DAT_RMR_TRIPLET r;
	DAT_EVENT ev;

	join();
	OK(mp_recv(&a, 0, 64, 7));
	l = mp_at(&a, 0, 64);
	r = mp_rmt(&b, 0, 64);
	r.rmr_context ^= 0x5a5a00;
	OK(dat_ep_post_rdma_write(a.ep, 1, &l, mp_cookie(1), &r, DAT_COMPLETION_DEFAULT_FLAG));
	OK(mp_write(&a, 0, &b, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG));
	ev = mp_next(t.p.a.conn);
	/* over iWARP the peer's Terminate is the error: the Write has completed, and the end is seen as well */
	CHECK_MSG(ev.event_number == DAT_CONNECTION_EVENT_BROKEN, "event %x", ev.event_number);
	CHECK(el_state(a.ep) == DAT_EP_STATE_DISCONNECTED);
	/* over iWARP a write has completed when it is sent, whatever becomes of it */
	if (mp_is_iwarp()) {
		for (uint64_t i = 1; i <= 2; i++)
			CHECK(mp_next(a.req).event_data.dto_completion_event_data.user_cookie.as_64 ==
			      i);
	} else {
		DTO(a.req, DAT_DTO_RDMA_WRITE, 1, DAT_DTO_ERR_REMOTE_ACCESS);
		DTO(a.req, DAT_DTO_RDMA_WRITE, 2, DAT_DTO_ERR_FLUSHED);
	}
	DTO(a.recv, DAT_DTO_RECEIVE, 7, DAT_DTO_ERR_FLUSHED);
	ev = mp_next(t.p.b.conn);
	CHECK_MSG(ev.event_number == DAT_CONNECTION_EVENT_BROKEN ||
		  ev.event_number == DAT_CONNECTION_EVENT_DISCONNECTED, "event %x",
		  ev.event_number);
	leave();
}

/* The error and the end of the connection are seen in either order. */
static void broken_often(void)
{
	for (int i = 0; i < 40; i++)
		broken();
}

/* An endpoint is freed while connected: the peer receives an event, this end none. */
static void freed(void)
{
	join();
	OK(mp_recv(&a, 0, 64, 1));
	OK(dat_ep_free(a.ep));
	el_event(&t.p.b, b.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
	a.ep = el_ep(&t.p.a);
	leave();
}

enum { ONE = 32 };

/* With one EVD for all streams: ESTABLISHED, then all that succeeded, then DISCONNECTED. */
static void ordered(void)
{
	DAT_EVD_HANDLE all;
	DAT_CR_HANDLE cr;
	DAT_EVENT ev;
	unsigned int next = 0;

	a = t.p.a;
	b = t.p.b;
	OK(dat_evd_create(b.ia, 4 * ONE, DAT_HANDLE_NULL,
			  DAT_EVD_DTO_FLAG | DAT_EVD_CONNECTION_FLAG, &all));
	for (int round = 0; round < 20; round++) {
		a.ep = el_ep(&t.p.a);
		OK(dat_ep_create(b.ia, b.pz, all, all, all, NULL, &b.ep));
		for (unsigned int i = 0; i < 16; i++)
			OK(mp_recv(&b, 0, 64, i));
		el_connect(&t, a.ep, t.qual, 0, NULL);
		cr = el_request(&t);
		OK(dat_cr_accept(cr, b.ep, 0, NULL));
		el_event(&t.p.a, a.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
		for (unsigned int i = 0; i < 16; i++)
			OK(mp_send(&a, 0, 64, i, DAT_COMPLETION_SUPPRESS_FLAG));
		OK(dat_ep_disconnect(a.ep, DAT_CLOSE_GRACEFUL_FLAG));
		ev = mp_next(all);
		CHECK_MSG(ev.event_number == DAT_CONNECTION_EVENT_ESTABLISHED, "first event %x",
			  ev.event_number);
		for (next = 0; next < 16; next++)
			DTO(all, DAT_DTO_RECEIVE, next, DAT_DTO_SUCCESS);
		ev = mp_next(all);
		CHECK_MSG(ev.event_number == DAT_CONNECTION_EVENT_DISCONNECTED, "last event %x",
			  ev.event_number);
		el_event(&t.p.a, a.ep, DAT_CONNECTION_EVENT_DISCONNECTED);
		OK(dat_ep_free(a.ep));
		OK(dat_ep_free(b.ep));
	}
	OK(dat_evd_free(all));
	el_quiet(&t);
}

/* --- the peer's process dies --- */

/* It ends when it is killed, or when the other end of the pipe is closed. */
static void child(int fd)
{
	DAT_CONN_QUAL qual;
	struct mp p;

	memset(&p, 0, sizeof(p));
	mp_open(&p);
	CHECK(read(fd, &qual, sizeof(qual)) == sizeof(qual));
	OK(dat_ep_connect(p.a.ep, p.a.attr.ia_address_ptr, qual, MP_TIMEOUT, 0, NULL,
			  DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
	mp_ended(&p.a, DAT_CONNECTION_EVENT_ESTABLISHED);
	CHECK(read(fd, &qual, 1) == 0);
	_exit(0);
}

static int child_fd;
static pid_t child_pid;

static void start_child(void)
{
	int fd[2];

	CHECK(!pipe(fd));
	child_pid = fork();
	CHECK(child_pid >= 0);
	if (!child_pid) {
		close(fd[1]);
		child(fd[0]);
	}
	close(fd[0]);
	child_fd = fd[1];
}

static void killed(void)
{
	DAT_EVENT ev;

	b = t.p.b;
	b.ep = el_ep(&t.p.b);
	CHECK(write(child_fd, &t.qual, sizeof(t.qual)) == sizeof(t.qual));
	OK(dat_cr_accept(el_request(&t), b.ep, 0, NULL));
	el_event(&t.p.b, b.ep, DAT_CONNECTION_EVENT_ESTABLISHED);
	OK(mp_recv(&b, 0, 64, 1));
	kill(child_pid, SIGKILL);
	CHECK(waitpid(child_pid, NULL, 0) == child_pid);
	/* a Send finds the dead peer: it fails */
	mp_send(&b, 0, 64, 2, DAT_COMPLETION_DEFAULT_FLAG);
	ev = mp_next(b.conn);
	CHECK_MSG(ev.event_number == DAT_CONNECTION_EVENT_BROKEN ||
		  ev.event_number == DAT_CONNECTION_EVENT_DISCONNECTED, "event %x",
		  ev.event_number);
	DTO(b.recv, DAT_DTO_RECEIVE, 1, DAT_DTO_ERR_FLUSHED);
	/* over iWARP a send has completed when TCP took it, which it may before the peer's end shows */
	ev = mp_next(b.req);
	CHECK(mp_is_iwarp() ||
	      ev.event_data.dto_completion_event_data.status != DAT_DTO_SUCCESS);
	mp_send(&b, 0, 64, 3, DAT_COMPLETION_DEFAULT_FLAG);
	DTO(b.req, DAT_DTO_SEND, 3, DAT_DTO_ERR_FLUSHED);
	OK(dat_ep_free(b.ep));
	el_quiet(&t);
}

static const struct test_case cases[] = {
	{ "-", "flush", flushes },
	{ "-", "graceful", graceful },
	{ "-", "graceful, and something outstanding", pending },
	{ "-", "simultaneous", together },
	{ "-", "broken", broken },
	{ "-", "broken, again and again", broken_often },
	{ "-", "freed", freed },
	{ "-", "order on one EVD", ordered },
	{ "-", "the peer is killed", killed },
};

int main(int argc, char **argv)
{
	int rc;

	start_child(); /* before an adapter is open that the child would inherit */
	el_open(&t);
	rc = RUN_CASES(cases, argc, argv);
	kill(child_pid, SIGKILL);
	el_close(&t);
	return rc;
}
