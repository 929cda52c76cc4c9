/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/preload/sdp_relay.h"

#include "ulp/clock.h"

#include <errno.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define LOOK_NS 500000                  /* for the end of a call */
#define LINGER_MS 10000                 /* a program that has gone gives its peer this long to end */

const struct sdp_conf *rsp_sdp_conf = &sdp_conf_default;
struct sdp_relay *(*rsp_sdp_new)(int un, struct sdp_conn *c);

/* --- octets --- */

/* A peer that has sent much is offered memory for more, until it sends little. */
static bool may_offer(struct sdp_relay *r)
{
	const struct sdp_counts *n = sdp_conn_counts(r->c);
	size_t len;
	bool oob;

	if (n->discarded != r->discarded) {
		r->discarded = n->discarded;
		r->large = n->reads + n->written;
	}
	return n->reads + n->written != r->large && !r->full && !sdp_is_wanting(r->c) && !sdp_received(r->c, &len, &oob);
}

static bool has_memory(struct sdp_relay *r)
{
	if (!r->offered)
		r->offered = calloc(1, SDP_STAGE);
	if (r->offered && !r->mr)
		r->mr = ibv_reg_mr(sdp_conn_domain(r->c), r->offered, SDP_STAGE, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	return r->mr != NULL;
}

static void offer(struct sdp_relay *r)
{
	if (!r->own && may_offer(r) && has_memory(r))
		sdp_want(r->c, r->offered, SDP_STAGE, r->mr);
}

/* The last octet is urgent, if this stream can say so. */
static ssize_t give_last(int un, const uint8_t *at)
{
	ssize_t n = send(un, at, 1, MSG_OOB | MSG_DONTWAIT | MSG_NOSIGNAL);

	return n < 0 && errno == EOPNOTSUPP ? send(un, at, 1, MSG_DONTWAIT | MSG_NOSIGNAL) : n;
}

/* Returns true if octets have moved. */
bool sdp_relay_down(struct sdp_relay *r)
{
	const uint8_t *at;
	bool oob, moved = false;
	size_t len;
	ssize_t n;

	while (!r->full && (at = sdp_received(r->c, &len, &oob))) {
		n = r->leaving ? (ssize_t)len : oob && len == 1 ? give_last(r->un, at) : send(r->un, at, len - oob, MSG_DONTWAIT | MSG_NOSIGNAL);
		if (n >= 0) {
			sdp_received_take(r->c, (size_t)n);
			r->fed = true;
			moved = true;
		} else if (errno == EAGAIN) {
			r->full = true;
		} else if (errno != EINTR) {
			sdp_abort(r->c);
			return true;
		}
	}
	if (!r->down_ended && sdp_received_end(r->c)) {
		r->down_ended = true;
		shutdown(r->un, SHUT_WR);
	}
	return moved;
}

/* Octets of the program that wait; SIZE_MAX: the kernel does not tell. */
static size_t waiting(const struct sdp_relay *r)
{
	int n = 0;

	return ioctl(r->un, SIOCINQ, &n) < 0 ? SIZE_MAX : (size_t)n;
}

/* At the mark the urgent octet is next. Octets in front of it end there. */
static bool at_mark(const struct sdp_relay *r)
{
	int at = 0;

	return !ioctl(r->un, SIOCATMARK, &at) && at;
}

/*
 * Returns as recv(). had: octets that waited before this call; no more are read behind the look at the mark, since an urgent octet
 * that has come in between would be taken for an ordinary one.
 */
static ssize_t take(const struct sdp_relay *r, uint8_t *room, size_t len, size_t had, bool *ret_oob)
{
	ssize_t n;

	*ret_oob = at_mark(r);
	if (!had && !*ret_oob) {
		n = recv(r->un, room, 1, MSG_PEEK | MSG_DONTWAIT);
		if (n <= 0)
			return n;
		had = 1;
		*ret_oob = at_mark(r);
	}
	return recv(r->un, room, *ret_oob ? 1 : had < len ? had : len, MSG_DONTWAIT);
}

bool sdp_relay_up(struct sdp_relay *r)
{
	bool moved = false, oob;
	uint8_t *room;
	size_t len, had;
	ssize_t n;

	while (!r->up_ended) {
		had = waiting(r);
		room = sdp_send_room(r->c, r->filled && had >= sdp_conf_default.advertise, &len);
		if (!room)
			break;
		n = take(r, room, len, had, &oob);
		if (n < 0 && errno == EAGAIN && r->leaving)
			n = 0;
		if (n < 0 && errno != EINTR)
			return moved;
		if (n > 0)
			sdp_send(r->c, room, (size_t)n, oob);
		else if (!n && r->leaving)
			sdp_leave(r->c);
		else if (!n)
			sdp_send_end(r->c);
		r->up_ended = n == 0;
		r->filled = n == (ssize_t)len;
		moved = moved || n >= 0;
	}
	return moved;
}

/* --- turns --- */

void sdp_relay_release(struct sdp_relay *r)
{
	r->leased_ns = 0;
	if (!r->parked)
		return;
	pthread_mutex_lock(&r->park_lock);
	pthread_cond_signal(&r->park_end);
	pthread_mutex_unlock(&r->park_lock);
}

static bool is_leased(const struct sdp_relay *r)
{
	int64_t until = r->leased_ns;

	return r->busy || (until && ulp_now_ns() < until);
}

/* Without the lock. The end of a call wakes the thread if no lease follows, else the end of the lease. */
static void park(struct sdp_relay *r)
{
	struct timespec t;
	int64_t until;

	if (!is_leased(r))
		return;
	pthread_mutex_lock(&r->park_lock);
	r->parked = true;
	while (is_leased(r)) {
		until = r->leased_ns;
		until = r->busy && until <= ulp_now_ns() ? ulp_now_ns() + LOOK_NS : until;
		t = (struct timespec){ until / 1000000000, until % 1000000000 };
		pthread_cond_timedwait(&r->park_end, &r->park_lock, &t);
	}
	r->parked = false;
	pthread_mutex_unlock(&r->park_lock);
}

/* Takes the lock when no call has the connection; those that have it for other reasons do so for some instructions. */
static void take_turn(struct sdp_relay *r)
{
	for (;;) {
		park(r);
		if (pthread_mutex_trylock(&r->lock)) {
			sched_yield();
			continue;
		}
		if (!is_leased(r))
			return;
		pthread_mutex_unlock(&r->lock);
	}
}

static int time_left(const struct sdp_relay *r)
{
	int ms = sdp_conn_wait(r->c), left;

	if (!r->until)
		return ms;
	left = (int)(r->until - ulp_now_ms());
	return left <= 0 ? 0 : ms < 0 || left < ms ? left : ms;
}

/* Sleeps without the lock. */
static void wait_for(struct sdp_relay *r)
{
	struct pollfd p[2 + SDP_CONN_FDS] = { { .fd = r->un }, { r->kick, POLLIN, 0 } };
	size_t len;
	int ms = time_left(r), n;
	uint64_t kicks;

	if (!r->up_ended && sdp_send_room(r->c, false, &len))
		p[0].events |= POLLIN;
	if (r->full)
		p[0].events |= POLLOUT;
	if (r->hung && !p[0].events)
		p[0].fd = -1; /* a hang-up would wake at once */
	sdp_conn_fds(r->c, p + 2);
	r->deaf = !(p[0].events & POLLIN);
	pthread_mutex_unlock(&r->lock);
	n = poll(p, 2 + SDP_CONN_FDS, ms);
	if (n > 0 && p[1].revents)
		(void)!read(r->kick, &kicks, sizeof(kicks));
	take_turn(r);
	r->deaf = false;
	if (n <= 0)
		return;
	r->full = r->full && !(p[0].revents & (POLLOUT | POLLHUP | POLLERR));
	if (p[0].revents & POLLHUP && !r->hung) {
		r->hung = true;
		r->until = ulp_now_ms() + LINGER_MS;
	}
}

static void copy(struct sdp_relay *r)
{
	bool moved;

	for (;;) {
		if (r->leaving && r->up_ended)
			sdp_leave(r->c);
		if (sdp_conn_progress(r->c) || (sdp_is_over(r->c) && (r->down_ended || r->leaving)))
			return;
		moved = sdp_relay_down(r);
		moved = sdp_relay_up(r) || moved;
		offer(r);
		pthread_cond_broadcast(&r->turn);
		if (r->until && ulp_now_ms() >= r->until)
			sdp_abort(r->c);
		else if (!moved)
			wait_for(r);
	}
}

/* Octets that wait for the program outlive the connection; what it sends now has no way. */
static void copy_rest(struct sdp_relay *r)
{
	struct pollfd p[2] = { { r->un, POLLOUT, 0 }, { r->kick, POLLIN, 0 } };
	uint64_t kicks;

	while (sdp_relay_down(r), r->full && !r->hung) {
		shutdown(r->un, SHUT_RD);
		pthread_mutex_unlock(&r->lock);
		poll(p, 2, -1);
		if (p[1].revents)
			(void)!read(r->kick, &kicks, sizeof(kicks));
		take_turn(r);
		r->full = !r->leaving && !(p[0].revents & POLLOUT);
		r->hung = p[0].revents & (POLLHUP | POLLERR);
	}
}

static void leave_program(struct sdp_relay *r)
{
	pthread_cond_broadcast(&r->turn);
	while (r->inside)
		pthread_cond_wait(&r->turn, &r->lock);
	r->c = NULL;
}

void sdp_relay_end(struct sdp_relay *r)
{
	pthread_mutex_lock(&r->lock);
	leave_program(r);
	r->own = false;
	pthread_mutex_unlock(&r->lock);
}

void sdp_relay_stream(struct sdp_relay *r, int un)
{
	int on = 1;

	setsockopt(un, SOL_SOCKET, SO_OOBINLINE, &on, sizeof(on));
	r->un = un;
}

void sdp_relay_run(struct sdp_relay *r)
{
	take_turn(r);
	copy(r);
	copy_rest(r);
	leave_program(r);
	pthread_mutex_unlock(&r->lock);
	close(r->un);
	if (r->mr)
		ibv_dereg_mr(r->mr);
	free(r->offered);
	r->mr = NULL;
	r->offered = NULL;
	pthread_mutex_lock(&r->lock);
	r->own = false;
	pthread_mutex_unlock(&r->lock);
}

void sdp_relay(int un, struct sdp_conn *c)
{
	struct sdp_relay single = { .lock = PTHREAD_MUTEX_INITIALIZER, .park_lock = PTHREAD_MUTEX_INITIALIZER, .turn = PTHREAD_COND_INITIALIZER,
				    .park_end = PTHREAD_COND_INITIALIZER, .c = c, .kick = -1 };

	sdp_relay_stream(&single, un);
	sdp_relay_run(&single);
}
