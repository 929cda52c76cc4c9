/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/preload/own_call.h"

#include "ulp/clock.h"
#include "ulp/preload/sdp_relay.h"
#include "ulp/sdp/stream.h"

#include <fcntl.h>
#include <linux/sockios.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SPIN_NS 100000          /* a blocking call polls for so long before it waits at the stream */
#define LEASE_NS 500000         /* behind a blocking call */
#define LOOKS 32                /* between looks at the clock, and turns of other threads */
#define LONGEST (1u << 30)      /* of one advertisement */
#define TURN_MS 20              /* between looks of a call that sleeps */
#define FETCH_MS 50          /* with a peer that does not fetch what is advertised */

atomic_bool rsp_own_leased;

void rsp_own_wake(struct sdp_relay *r)
{
	uint64_t one = 1;

	if (r->parked)
		sdp_relay_release(r);
	else
		(void)!write(r->kick, &one, sizeof(one));
	r->leased_ns = 0;
}

struct call {
	struct sdp_relay *r;
	int fd, flags;
	const struct iovec *iov;
	int nr;
	size_t off;             /* in the first of them */
	size_t left, done;
	int blocks;             /* -1: not known yet */
	unsigned looks;
	int64_t idle_since, longer_ns;
};

static size_t total(const struct iovec *iov, int nr)
{
	size_t n = 0;

	for (int i = 0; i < nr; i++)
		n += iov[i].iov_len;
	return n;
}

/* The rest of the first part that has one. */
static uint8_t *part(struct call *k, size_t *ret_len)
{
	while (k->off == k->iov->iov_len) {
		k->off = 0;
		k->iov++;
		k->nr--;
	}
	*ret_len = k->iov->iov_len - k->off;
	return (uint8_t *)k->iov->iov_base + k->off;
}

static void advance(struct call *k, size_t n)
{
	k->off += n;
	k->left -= n;
	k->done += n;
}

/*
 * A hint: the stream, which the call ends at, decides. So the answer of a call before is good enough as long as its lease lasts; a call that
 * waits at the stream ends the lease.
 */
static bool blocks(struct call *k)
{
	struct sdp_relay *r = k->r;

	if (k->blocks >= 0)
		return k->blocks;
	if (!r->leased_ns && !(k->flags & MSG_DONTWAIT))
		r->blocks = !(fcntl(k->fd, F_GETFL) & O_NONBLOCK);
	k->blocks = !(k->flags & MSG_DONTWAIT) && r->blocks;
	return k->blocks;
}

/* The descriptor is still that of the connection, and this process has it alone. */
static bool is_ours(const struct sdp_relay *r, int fd)
{
	struct stat st;

	return r->c && !r->shared && !fstat(fd, &st) && st.st_ino == r->inode && S_ISSOCK(st.st_mode);
}

/* Takes the lock and the connection. Returns false if the stream is the way, and neither is taken. */
static bool enter(struct call *k)
{
	struct sdp_relay *r = k->r;

	r->busy++;
	pthread_mutex_lock(&r->lock);
	if (is_ours(r, k->fd)) {
		r->inside++;
		return true;
	}
	r->busy--;
	pthread_mutex_unlock(&r->lock);
	return false;
}

static void lease(struct call *k)
{
	k->r->leased_ns = ulp_now_ns() + k->longer_ns + LEASE_NS;
	atomic_store(&rsp_own_leased, true);
}

/* The call goes on at the stream. A relay that is not parked sleeps for completions, and mostly for the stream. */
static void let_relay(struct sdp_relay *r)
{
	if (r->parked || r->deaf)
		rsp_own_wake(r);
	r->leased_ns = 0;
}

/* Whatever is owed to the peer leaves before the connection is let go. Returns the call's end. */
static bool leave_call(struct call *k, bool ended, ssize_t *ret)
{
	struct sdp_relay *r = k->r;

	sdp_conn_poll(r->c);
	r->busy--;
	if (ended && (r->leased_ns || blocks(k)))
		lease(k);
	else if (!ended)
		let_relay(r);
	else if (r->parked)
		sdp_relay_release(r);
	if (!--r->inside)
		pthread_cond_broadcast(&r->turn);
	pthread_mutex_unlock(&r->lock);
	*ret = (ssize_t)k->done;
	return ended;
}

static void let_others(struct sdp_relay *r)
{
	pthread_mutex_unlock(&r->lock);
	pthread_mutex_lock(&r->lock);
}

/* Polls. Returns 1 if something came, 0 if another look is worth it, -1 if not: the connection has failed or the time is up. */
static int look(struct call *k)
{
	int r = sdp_conn_poll(k->r->c);
	int64_t now;

	if (r) {
		k->idle_since = k->looks = 0;
		return r < 0 ? -1 : 1;
	}
	if (k->looks++ % LOOKS || !blocks(k))
		return 0;
	now = ulp_now_ns();
	if (!k->idle_since) {
		k->idle_since = now;
		lease(k);
	}
	let_others(k->r);
	return now - k->idle_since < SPIN_NS + k->longer_ns ? 0 : -1;
}

/* --- receiving --- */

struct direct {
	struct ibv_mr *mr;
	uint8_t *at;
	size_t len;
};

static bool take(struct call *k)
{
	size_t len, room;
	bool oob;
	const uint8_t *from = sdp_received(k->r->c, &len, &oob);
	uint8_t *to;

	if (!from || oob || !k->left)
		return false;
	to = part(k, &room);
	len = len < room ? len : room;
	if (from != to)
		memcpy(to, from, len);
	advance(k, len);
	sdp_received_take(k->r->c, len);
	return true;
}

static void want(struct call *k, struct direct *d)
{
	size_t len;
	uint8_t *at;

	if (sdp_is_wanting(k->r->c))
		return;
	at = part(k, &len);
	if (len < sdp_conf_stream.advertise)
		return;
	if (!d->mr) {
		*d = (struct direct){ NULL, at, len };
		d->mr = ibv_reg_mr(sdp_conn_domain(k->r->c), at, len, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	}
	if (d->mr && at >= d->at && at + len <= d->at + d->len)
		sdp_want_reads(k->r->c, at, (uint32_t)(len < LONGEST ? len : LONGEST), d->mr);
}

/* A Read that is under way ends soon; its octets count. */
static void take_back(struct call *k, struct direct *d)
{
	if (!d->mr)
		return;
	sdp_want_no_more(k->r->c);
	while (sdp_is_wanting(k->r->c) && sdp_conn_poll(k->r->c) >= 0)
		;
	while (take(k))
		;
	ibv_dereg_mr(d->mr);
}

static bool stream_is_empty(struct sdp_relay *r)
{
	int n = 1;

	if (r->fed && !ioctl(r->un, SIOCOUTQ, &n) && !n)
		r->fed = false;
	return !r->fed;
}

/*
 * Takes what the stream has, so that the next octets may come directly. Returns true if it is empty. One call, which stops in front
 * of an urgent octet; the kernel's, not the library's, which comes here.
 */
static bool drain_stream(struct call *k)
{
	size_t len;
	uint8_t *at;
	long n;

	if (stream_is_empty(k->r))
		return true;
	at = part(k, &len);
	n = syscall(SYS_recvfrom, k->fd, at, len, MSG_DONTWAIT, NULL, NULL);
	if (n > 0)
		advance(k, (size_t)n);
	return stream_is_empty(k->r);
}

static bool is_enough(const struct call *k)
{
	return !k->left || (k->done && !(k->flags & MSG_WAITALL));
}

static void receive_now(struct call *k)
{
	struct direct d = { NULL };
	const uint8_t *at;
	size_t len;
	bool oob;
	int r = 0;

	do {
		while (take(k))
			;
		at = sdp_received(k->r->c, &len, &oob);
		if (is_enough(k) || at || sdp_received_end(k->r->c))
			break;
		if (k->left >= sdp_conf_stream.advertise && blocks(k))
			want(k, &d);
		r = look(k);
	} while (r > 0 || (!r && blocks(k)));
	take_back(k, &d);
}

#define RECEIVE_FLAGS (MSG_DONTWAIT | MSG_WAITALL | MSG_NOSIGNAL | MSG_CMSG_CLOEXEC)

bool rsp_own_receive(struct sdp_relay *r, int fd, const struct iovec *iov, int nr, int flags, ssize_t *ret)
{
	struct call k = { .r = r, .fd = fd, .flags = flags, .iov = iov, .nr = nr, .left = total(iov, nr), .blocks = -1 };

	*ret = 0;
	if (!k.left || !enter(&k))
		return false;
	if (flags & ~RECEIVE_FLAGS) {
		sdp_conn_poll(r->c);
		/* What another thread's call takes would come to the program in front of what the stream has then. */
		if (!r->receiving)
			sdp_relay_down(r);
	} else if (drain_stream(&k) && !is_enough(&k)) {
		r->receiving++;
		receive_now(&k);
		r->receiving--;
	}
	return leave_call(&k, is_enough(&k) && k.done, ret);
}

/* --- sending --- */

/* The relay goes on meanwhile. */
static void sleep_a_turn(struct call *k)
{
	struct sdp_relay *r = k->r;
	int64_t until = ulp_now_ns() + TURN_MS * (int64_t)1000000;
	struct timespec t = { until / 1000000000, until % 1000000000 };

	r->busy--;
	rsp_own_wake(r);
	pthread_cond_timedwait(&r->turn, &r->lock, &t);
	r->busy++;
}

/*
 * Returns how many octets went: fewer than len if the peer's program does not receive; 0: none can go so. The memory is given back
 * after a while, so that signals and time-outs of the program are the stream's.
 */
static size_t send_direct(struct call *k, uint8_t *at, uint32_t len)
{
	struct sdp_conn *c = k->r->c;
	struct ibv_mr *mr = ibv_reg_mr(sdp_conn_domain(c), at, len, IBV_ACCESS_REMOTE_READ);
	bool began = mr && sdp_send_from(c, at, len, mr), sleeps = false;
	int64_t until = ulp_now_ns() + FETCH_MS * (int64_t)1000000;

	k->longer_ns = len;
	while (began && sdp_send_is_busy(c) && !sdp_conn_failed(c)) {
		if (!sleeps) {
			sleeps = look(k) < 0;
			continue;
		}
		if (ulp_now_ns() >= until)
			sdp_send_stop(c);
		sleep_a_turn(k);
	}
	k->longer_ns = 0;
	if (mr)
		ibv_dereg_mr(mr);
	return began && !sdp_conn_failed(c) ? sdp_send_gone(c) : 0;
}

/* Copies to room of the connection. Returns how many octets went. */
static size_t send_copied(struct call *k, bool large)
{
	size_t room_len, len, gone = 0;
	uint8_t *room = sdp_send_room(k->r->c, large, &room_len), *from;

	while (room && k->left && gone < room_len) {
		from = part(k, &len);
		len = len < room_len - gone ? len : room_len - gone;
		memcpy(room + gone, from, len);
		advance(k, len);
		gone += len;
	}
	if (gone)
		sdp_send(k->r->c, room, gone, false);
	return gone;
}

/* Returns true if there may be room now or soon. */
static bool waits_for_room(struct call *k)
{
	return look(k) > 0 || (blocks(k) && !sdp_conn_failed(k->r->c) && (!k->idle_since || ulp_now_ns() - k->idle_since < SPIN_NS));
}

/* Returns false if the rest is the stream's. */
static bool send_some(struct call *k)
{
	size_t len;
	uint8_t *at = part(k, &len);
	bool large = k->left >= sdp_conf_stream.advertise;
	uint32_t n = (uint32_t)(len < LONGEST ? len : LONGEST), gone;

	if (large && sdp_stream_goes_direct(k->r->c, len) && blocks(k)) {
		gone = (uint32_t)send_direct(k, at, n);
		advance(k, gone);
		return gone == n;
	}
	return send_copied(k, large) || waits_for_room(k);
}

static bool is_sent(const struct sdp_relay *r)
{
	int waiting = 1;

	return !ioctl(r->un, SIOCINQ, &waiting) && !waiting;
}

/*
 * Octets that the program has left in the stream, by whatever call, go first. They are sent here: a relay that takes them while the
 * program leaves more there would never find the stream empty. Returns true if it is.
 */
static bool stream_is_sent(struct call *k)
{
	const struct sdp_relay *r = k->r;

	while (!is_sent(r))
		if (r->up_ended || r->hung || (!sdp_relay_up(k->r) && !waits_for_room(k)))
			return false;
	return !r->up_ended && !r->hung;
}

#define SEND_FLAGS (MSG_DONTWAIT | MSG_NOSIGNAL | MSG_MORE | MSG_WAITALL)

bool rsp_own_send(struct sdp_relay *r, int fd, const struct iovec *iov, int nr, int flags, ssize_t *ret)
{
	struct call k = { .r = r, .fd = fd, .flags = flags, .iov = iov, .nr = nr, .left = total(iov, nr), .blocks = -1 };

	*ret = 0;
	if (!k.left || (flags & ~SEND_FLAGS) || !enter(&k))
		return false;
	if (stream_is_sent(&k))
		while (k.left && send_some(&k))
			;
	return leave_call(&k, !k.left || (k.done && !blocks(&k)), ret);
}
