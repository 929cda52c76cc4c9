/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A waiting thread first polls for a while (rs_spin_us), then arms the completion
 * queue, tests once more and sleeps on the real descriptors, while it drives the adapter (dpl_poll).
 *
 * No wake-up is lost: a completion after the arming makes the descriptor readable, and rs_cq_event()
 * alone takes that event, waking every other sleeper. The sleep is the only cancellation point; a
 * thread cancelled there drops its reference and holds nothing.
 */
#include "ulp/rsocket/wait.h"
#include "dapple/verbs.h"
#include "ulp/rsocket/conn.h"
#include "ulp/rsocket/cq.h"
#include "ulp/rsocket/dgram.h"
#include "ulp/rsocket/keepalive.h"
#include "ulp/rsocket/listen.h"
#include "ulp/rsocket/table.h"

bool rs_test_read(struct rs_sock *s)
{
	return s->flow.readable || !s->rd_open || s->shut_rd;
}

bool rs_test_write(struct rs_sock *s)
{
	return rs_flow_can_send(&s->flow) || !s->wr_open;
}

bool rs_test_ctrl(struct rs_sock *s)
{
	return s->flow.ctrl || s->state != RS_CONNECTED;
}

bool rs_test_idle(struct rs_sock *s)
{
	return rs_flow_idle(&s->flow) || s->state != RS_CONNECTED;
}

void rs_fds(struct rs_sock *s, int fd[2])
{
	if (s->dg) {
		rs_dgram_fds(s, fd);
		return;
	}
	fd[0] = s->comp ? s->comp->fd : -1;
	fd[1] = s->channel->fd;
}

void rs_ready(struct rs_sock *s, bool first, bool second)
{
	if (first) {
		pthread_mutex_lock(&s->c);
		rs_cq_event(s);
		pthread_mutex_unlock(&s->c);
	}
	if (second && s->state == RS_LISTENING)
		rs_listen_look(s);
	else if (second)
		rs_conn_look(s, true);
}

static bool look(struct rs_sock *s, rs_test_fn *test)
{
	bool yes;

	pthread_mutex_lock(&s->c);
	yes = test(s);
	if (!yes) {
		rs_cq_drive(s);
		yes = test(s);
	}
	pthread_mutex_unlock(&s->c);
	return yes;
}

static bool spin(struct rs_sock *s, rs_test_fn *test)
{
	uint64_t end = rs_now() + rs_spin_us();

	do {
		if (look(s, test))
			return true;
	} while (rs_now() < end);
	return false;
}

struct waiting {
	struct rs_sock *s;
	struct rs_sleeper sleeper;
	int efd;
};

static void leave_list(void *arg)
{
	struct waiting *me = arg;

	pthread_mutex_lock(&me->s->c);
	rs_sleeper_leave(&me->sleeper);
	pthread_mutex_unlock(&me->s->c);
	rs_sleeper_fd_put(me->efd);
}

static void cancelled(void *arg)
{
	struct waiting *me = arg;

	leave_list(me);
	rs_put(me->s);
}

static __thread uint32_t spin_us; /* 0: as the setting says */

uint32_t rs_spin_us(void)
{
	return spin_us ? spin_us : rs_conf()->polling_us;
}

static void slept(uint64_t us)
{
	uint32_t longer = 2 * rs_spin_us();

	if (rs_conf()->polling_is_set)
		return;
	spin_us = us >= RS_SPIN_MOST_US ? 0 : longer < RS_SPIN_MOST_US ? longer : RS_SPIN_MOST_US;
}

struct ibv_context *rs_adapter(const struct rs_sock *s)
{
	return s->comp && s->state == RS_CONNECTED ? s->comp->context : NULL;
}

int rs_poll_driving(struct ibv_context *adapter, struct pollfd *fds, nfds_t n, int timeout_ms)
{
	uint64_t from = rs_now(), until = timeout_ms < 0 ? UINT64_MAX : (from + (uint64_t)timeout_ms * 1000) * 1000;
	int r = adapter && n <= DPL_POLL_FDS ? dpl_poll(adapter, fds, (unsigned)n, until) : EOPNOTSUPP;

	if (r == EOPNOTSUPP || r == EIO)
		r = poll(fds, n, timeout_ms) < 0 ? errno : 0;
	slept(rs_now() - from);
	return r == ETIMEDOUT ? 0 : r ? -r : 1;
}

static int poll_for(struct waiting *me, struct pollfd *fds, int timeout_ms)
{
	int r;

	pthread_cleanup_push(cancelled, me);
	r = rs_poll_driving(rs_adapter(me->s), fds, 3, timeout_ms);
	pthread_cleanup_pop(0);
	return r;
}

static int shorter(int a, int b)
{
	return a < 0 || (b >= 0 && b < a) ? b : a;
}

/* Returns 1 if the test holds, 0 if it is to be tested again, or a negative errno. */
static int sleep_once(struct rs_sock *s, rs_test_fn *test, int timeout_ms)
{
	struct waiting me = { .s = s, .efd = rs_sleeper_fd_get() };
	struct pollfd fds[3];
	int r = 1, fd[2];
	bool yes;

	if (me.efd < 0)
		return me.efd;
	pthread_mutex_lock(&s->c);
	rs_cq_arm(s);
	rs_cq_drive(s);
	yes = test(s);
	if (!yes)
		rs_sleeper_enter(&s->sleepers, &me.sleeper, me.efd);
	timeout_ms = shorter(timeout_ms, rs_keep_wait(s));
	pthread_mutex_unlock(&s->c);
	if (!yes) {
		rs_fds(s, fd);
		fds[0] = (struct pollfd){ fd[0], POLLIN, 0 };
		fds[1] = (struct pollfd){ fd[1], POLLIN, 0 };
		fds[2] = (struct pollfd){ me.efd, POLLIN, 0 };
		r = poll_for(&me, fds, timeout_ms);
	}
	leave_list(&me);
	if (yes || r < 0)
		return r;
	rs_ready(s, fds[0].revents, fds[1].revents);
	return 0;
}

int rs_wait(struct rs_sock *s, rs_test_fn *test, bool nowait, int timeout_ms)
{
	uint64_t end = timeout_ms < 0 ? UINT64_MAX : rs_now() + (uint64_t)timeout_ms * 1000;

	if (look(s, test))
		return 0;
	if (nowait) {
		rs_conn_look(s, false);
		return look(s, test) ? 0 : -EAGAIN;
	}
	if (spin(s, test))
		return 0;
	for (;;) {
		uint64_t now = rs_now();
		int left = timeout_ms < 0 ? -1 : now >= end ? 0 : (int)((end - now) / 1000 + 1);
		int r = sleep_once(s, test, left);

		if (r)
			return r < 0 ? r : 0;
		if (look(s, test))
			return 0;
		if (!left)
			return -ETIMEDOUT;
	}
}
