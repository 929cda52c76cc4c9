/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/sdp/stream.h"

#include "ulp/clock.h"
#include <errno.h>
#include <string.h>

#include <infiniband/verbs.h>

#define LOOKS 32                /* between looks at the clock */
#define DATA_MOST 16384         /* octets of a message */
#define LONGEST (1u << 30)      /* of one advertisement */
#define COPY_NS 1               /* for an octet: a peer that moves them at 1 GB/s is not slept over */

const struct sdp_conf sdp_conf_stream = {
	.receive_size = 16400, .receive_max = 65536, .depth = 64, .advertise = 16385, .advert_ms = 1000, .keepalive_s = 7200,
};

void sdp_stream_begin(struct sdp_stream *s, struct sdp_conn *c, const struct sdp_conf *conf, unsigned spin_us)
{
	*s = (struct sdp_stream){ .c = c, .zero_copy = conf->advertise, .spin_ns = (int64_t)spin_us * 1000 };
}

/* --- waiting --- */

static bool spins(struct sdp_stream *s)
{
	if (++s->looks % LOOKS)
		return true;
	if (!s->idle_since)
		s->idle_since = ulp_now_ns();
	return ulp_now_ns() - s->idle_since < s->spin_ns + ((int64_t)s->under_way + sdp_conn_fetches(s->c)) * COPY_NS;
}

/* Something came, or the thread has slept: the next wait begins by polling. */
static int came(struct sdp_stream *s, int r)
{
	s->idle_since = 0;
	s->looks = 0;
	s->armed = false;
	return r < 0 ? r : 0;
}

/* Looks, and sleeps after a while without anything. The completion queue is armed one look before the sleep. */
static int look(struct sdp_stream *s)
{
	int r = sdp_conn_poll(s->c);

	if (r)
		return came(s, r);
	if (spins(s))
		return 0;
	if (!s->armed) {
		s->armed = true;
		return sdp_conn_progress(s->c);
	}
	r = sdp_conn_sleep(s->c);
	return came(s, r < 0 && r != -EINTR ? r : sdp_conn_progress(s->c));
}

/* --- sending --- */

static uint32_t least(size_t a, size_t b)
{
	return (uint32_t)(a < b ? a : b);
}

/* Returns how many octets went, or 0: not now; or a negative errno. */
static ssize_t send_direct(struct sdp_stream *s, const uint8_t *at, uint32_t len)
{
	struct ibv_mr *mr = ibv_reg_mr(sdp_conn_domain(s->c), (void *)(uintptr_t)at, len, IBV_ACCESS_REMOTE_READ);
	int r = 0;
	bool began;

	if (!mr)
		return -errno;
	began = sdp_send_from(s->c, at, len, mr);
	s->under_way = len;
	while (began && !r && sdp_send_is_busy(s->c))
		r = look(s);
	s->under_way = 0;
	ibv_dereg_mr(mr);
	return r ? r : began ? (ssize_t)len : 0;
}

static ssize_t send_copied(struct sdp_stream *s, const uint8_t *at, size_t len)
{
	size_t room_len;
	uint8_t *room;
	uint32_t n;
	int r;

	/* The peer waits for acknowledgements, which leave by a poll: not behind a copy of so many. */
	if (len > DATA_MOST) {
		sdp_conn_poll(s->c);
		sdp_conn_poll(s->c);
	}
	room = sdp_send_room(s->c, s->zero_copy && len >= s->zero_copy, &room_len);
	if (!room)
		return 0;
	n = least(len, room_len);
	memcpy(room, at, n);
	r = sdp_send(s->c, room, n, false);
	return r ? r : (ssize_t)n;
}

ssize_t sdp_stream_send(struct sdp_stream *s, const void *at, size_t len)
{
	const uint8_t *from = at;
	size_t done = 0;
	ssize_t n;

	while (done < len) {
		n = 0;
		if (s->zero_copy && sdp_stream_goes_direct(s->c, len - done))
			n = send_direct(s, from + done, least(len - done, LONGEST));
		else
			n = send_copied(s, from + done, len - done);
		if (!n)
			n = look(s);
		if (n < 0)
			return n;
		done += (size_t)n;
	}
	return (ssize_t)len;
}

/* --- receiving --- */

struct receive {
	uint8_t *at;
	size_t len, got;
	struct ibv_mr *mr;
};

static bool take(struct sdp_stream *s, struct receive *v)
{
	size_t len;
	bool oob;
	const uint8_t *from = sdp_received(s->c, &len, &oob);
	uint32_t n;

	if (!from || v->got == v->len)
		return false;
	n = least(len, v->len - v->got);
	if (from != v->at + v->got)
		memcpy(v->at + v->got, from, n);
	v->got += n;
	sdp_received_take(s->c, n);
	return true;
}

/* Much is waited for: the peer may write it where it belongs. */
static int want(struct sdp_stream *s, struct receive *v)
{
	uint32_t n = least(v->len - v->got, LONGEST);

	if (!s->zero_copy || n < s->zero_copy || sdp_is_wanting(s->c))
		return 0;
	if (!v->mr)
		v->mr = ibv_reg_mr(sdp_conn_domain(s->c), v->at, v->len, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	if (!v->mr)
		return -errno;
	sdp_want_reads(s->c, v->at + v->got, n, v->mr);
	return 0;
}

/* The memory is the program's again. */
static int take_back(struct sdp_stream *s, struct receive *v)
{
	int r = 0;

	sdp_want_no_more(s->c);
	while (!r && sdp_is_wanting(s->c))
		r = look(s);
	while (take(s, v))
		;
	if (v->mr)
		ibv_dereg_mr(v->mr);
	return r;
}

static bool is_enough(const struct sdp_stream *s, const struct receive *v, bool all)
{
	return v->got == v->len || (v->got && !all) || sdp_received_end(s->c);
}

ssize_t sdp_stream_receive(struct sdp_stream *s, void *at, size_t len, bool all)
{
	struct receive v = { .at = at, .len = len };
	int r = 0, back;

	while (!r) {
		while (take(s, &v))
			;
		if (is_enough(s, &v, all))
			break;
		r = want(s, &v);
		if (!r)
			r = look(s);
	}
	back = take_back(s, &v);
	return v.got ? (ssize_t)v.got : r ? r : back;
}

int sdp_stream_end(struct sdp_stream *s)
{
	int r = 0;

	sdp_send_end(s->c);
	while (!r && !sdp_is_over(s->c))
		r = look(s);
	return r;
}
