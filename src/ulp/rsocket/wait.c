/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sleeping without losing a wake-up. Events of the completion channel wake who sleeps on the
 * descriptor; but whoever looks first takes the completions away from the others. Therefore it
 * kicks them when it found any: an eventfd in the same set, which is full until the last of
 * those who slept has looked for itself.
 */
#include "ulp/rsocket/rs.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

/* How often the connection manager is asked by one who never sleeps. */
#define LOOK_US   1000
#define ACK_BATCH 64

uint64_t rs_now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

void rs_kick(struct rs_sock *rs)
{
	const uint64_t one = 1;
	int kept = errno;

	if (!rs->sleepers || rs->kicked)
		return;
	if (rs->kick_fd < 0) {
		rs->kick_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
		if (rs->kick_fd >= 0 && rs_watch(rs, rs->kick_fd)) {
			close(rs->kick_fd);
			rs->kick_fd = -1;
		}
	}
	if (rs->kick_fd >= 0 && write(rs->kick_fd, &one, sizeof(one)) == sizeof(one))
		rs->kicked = true;
	errno = kept;
}

static void arm(struct rs_sock *rs)
{
	if (rs->type == SOCK_DGRAM)
		rs_dg_arm(rs);
	else if (rs->cq && !rs->armed)
		rs->armed = !ibv_req_notify_cq(rs->cq, 0);
}

/* Events of the completion channel. True: there were some. */
static bool take_events(struct rs_sock *rs)
{
	struct ibv_cq *cq;
	void *context;
	bool any = false;

	while (rs->cq_chan && !ibv_get_cq_event(rs->cq_chan, &cq, &context)) {
		any = true;
		rs->armed = false;
		if (++rs->unacked == ACK_BATCH) {
			ibv_ack_cq_events(rs->cq, rs->unacked);
			rs->unacked = 0;
		}
	}
	return any;
}

void rs_look(struct rs_sock *rs, bool woken)
{
	enum rs_state before = rs->state;
	uint64_t now;
	bool any = false;
	int kept = errno;

	if (rs->type == SOCK_DGRAM) {
		rs_dg_look(rs, woken);
		return;
	}
	if (woken)
		any = take_events(rs);
	any |= rs_pump(rs);
	if (woken || (before != RS_OPEN && before != RS_OVER)) {
		rs_conn_advance(rs);
	} else if (before == RS_OPEN && !any) {
		now = rs_now_us();
		if (now - rs->looked > LOOK_US) {
			rs->looked = now;
			rs_conn_advance(rs);
		}
	}
	if (any || rs->state != before)
		rs_kick(rs);
	errno = kept;
}

void rs_sleep_begin(struct rs_sock *rs)
{
	rs->sleepers++;
	arm(rs);
}

void rs_sleep_end(struct rs_sock *rs)
{
	uint64_t count;
	int kept = errno;

	if (!--rs->sleepers && rs->kicked) {
		if (read(rs->kick_fd, &count, sizeof(count)) < 0)
			count = 0; /* empty: nothing to undo */
		rs->kicked = false;
	}
	errno = kept;
}

/* One sleep. The set is armed first and looked at once more after that. 0, 1 (look) or -1. */
static int nap(struct rs_sock *rs, rs_test *test, uint64_t until)
{
	struct pollfd p = { .fd = rs->fd, .events = POLLIN };
	uint64_t now = rs_now_us();
	int ms = (int)rs_wake_ms, n = 0;

	if (until != RS_FOREVER && until - now < (uint64_t)ms * 1000)
		ms = (int)((until - now) / 1000) + 1;
	rs_sleep_begin(rs);
	rs_look(rs, false);
	if (!test(rs)) {
		pthread_mutex_unlock(&rs->lock);
		n = poll(&p, 1, ms);
		pthread_mutex_lock(&rs->lock);
	}
	rs_sleep_end(rs);
	rs_look(rs, true);
	return n < 0 ? -1 : 0;
}

int rs_wait(struct rs_sock *rs, rs_test *test, uint64_t until)
{
	uint64_t start = 0, now;

	for (;;) {
		rs_look(rs, false);
		if (test(rs))
			return 0;
		if (!until)
			return rs_fail(EAGAIN);
		now = rs_now_us();
		if (until != RS_FOREVER && now >= until)
			return rs_fail(EAGAIN);
		if (!start)
			start = now;
		if (now - start < rs_poll_us)
			continue;
		if (nap(rs, test, until))
			return -1;
		if (test(rs))
			return 0;
	}
}
