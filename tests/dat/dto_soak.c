/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Random transfers in both directions, from a printed seed. Each lane has a piece of both buffers
 * and one transfer under way; its data is compared before the next one. No transfer may be lost,
 * duplicated or delivered to another lane, and at the end every object can be freed.
 *
 * usage: dat-dto_soak [OPERATIONS [SEED]]
 */
#include "mem_pair.h"

#include <time.h>

enum { LANES = 64, PIECE = MP_BUF / LANES, HALF = PIECE / 2 };

enum step { IDLE, SEND, WRITE, READ_BACK, ATOMIC, BINDING, BOUND_WRITE, BOUND_READ, UNBINDING };

struct lane {
	struct mp_end *from, *to;
	enum step step;
	uint32_t seed, len, id;
	bool sent, received;
	uint64_t sum;         /* the expected value of the peer's counter */
	DAT_RMR_HANDLE rmr;   /* of `to`; NULL where there are none */
	DAT_RMR_CONTEXT ctx;
};

static struct mp p;
static struct lane lanes[LANES];
static uint64_t state, started, finished, full;
static bool atomics;

static uint32_t pick(uint32_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)((state * 0x2545f4914f6cdd1du) >> 33) % n;
}

static uint64_t at(const struct lane *l)
{
	return (uint64_t)l->id * PIECE;
}

/* A lane retries a request that finds no room. */
static bool went(DAT_RETURN ret)
{
	if (DAT_GET_TYPE(ret) == DAT_INSUFFICIENT_RESOURCES) {
		full++;
		return false;
	}
	OK(ret);
	return true;
}

static void pump(void);

/* The receive is posted before the send. A suppressed send is done when it is received. */
static bool send_one(struct lane *l)
{
	bool quiet = !pick(3);

	if (!went(mp_recv(l->to, at(l), HALF, l->id)))
		return false;
	l->sent = quiet;
	while (!went(mp_send(l->from, at(l), l->len, l->id, quiet ? DAT_COMPLETION_SUPPRESS_FLAG : 0)))
		pump();
	return true;
}

static DAT_RETURN reach(struct lane *l, bool write, uint64_t here, int flags)
{
	DAT_LMR_TRIPLET t = mp_at(l->from, here, l->len);
	DAT_RMR_TRIPLET r = mp_rmt(l->to, at(l), l->len);

	if (l->step == BOUND_WRITE || l->step == BOUND_READ)
		r.rmr_context = l->ctx;
	return write ? dat_ep_post_rdma_write(l->from->ep, 1, &t, mp_cookie(l->id), &r,
					      (DAT_COMPLETION_FLAGS)flags)
		     : dat_ep_post_rdma_read(l->from->ep, 1, &t, mp_cookie(l->id), &r,
					     (DAT_COMPLETION_FLAGS)flags);
}

static DAT_RETURN bind_to(struct lane *l, uint32_t len)
{
	DAT_LMR_TRIPLET t = mp_at(l->to, at(l), len);

	return dat_rmr_bind(l->rmr, l->to->lmr, &t,
			    DAT_MEM_PRIV_REMOTE_READ_FLAG | DAT_MEM_PRIV_REMOTE_WRITE_FLAG,
			    DAT_VA_TYPE_VA, l->to->ep, mp_cookie(l->id), 0, &l->ctx);
}

static bool add(struct lane *l)
{
	DAT_LMR_TRIPLET t = mp_at(l->from, at(l), 8);
	DAT_RMR_TRIPLET r = mp_rmt(l->to, at(l) + PIECE - 8, 8);

	if (!went(dat_ib_post_fetch_and_add(l->from->ep, l->len, &t, mp_cookie(l->id), &r, 0)))
		return false;
	l->sum += l->len;
	return true;
}

/* Posts the lane's step. Returns false without room. */
static bool go(struct lane *l)
{
	switch (l->step) {
	case SEND:
		return send_one(l);
	case WRITE:
		/* often suppressed: the Read behind it completes */
		return went(reach(l, true, at(l), DAT_COMPLETION_SUPPRESS_FLAG));
	case BOUND_WRITE:
		return went(reach(l, true, at(l), DAT_COMPLETION_SUPPRESS_FLAG));
	case READ_BACK:
	case BOUND_READ:
		return went(reach(l, false, at(l) + HALF, 0));
	case ATOMIC:
		return add(l);
	case BINDING:
		return went(bind_to(l, l->len ? l->len : 1));
	case UNBINDING:
		return went(bind_to(l, 0));
	default:
		return true;
	}
}

static void begin(struct lane *l)
{
	static const enum step kinds[] = { SEND, SEND, WRITE, WRITE, ATOMIC, BINDING };
	enum step s = kinds[pick(6)];

	if ((s == ATOMIC && !atomics) || (s == BINDING && !l->rmr))
		s = WRITE;
	l->step = s;
	l->seed = pick(UINT32_MAX);
	l->len = pick(8) ? pick(200) : pick(HALF - 16);
	l->sent = l->received = false;
	if (s == SEND || s == WRITE || s == BINDING) {
		mp_paint(l->from->buf + at(l), l->len, l->seed);
		memset(l->to->buf + at(l), 0, l->len);
		memset(l->from->buf + at(l) + HALF, 0, l->len);
	}
	started++;
}

static void end(struct lane *l)
{
	l->step = IDLE;
	finished++;
}

/* Posts the steps that follow at once. */
static void push(struct lane *l, enum step s)
{
	l->step = s;
	while (!go(l))
		pump();
}

static void check(bool right, const struct lane *l, const char *what)
{
	CHECK_MSG(right, "lane %u, step %d, length %u: %s", l->id, l->step, l->len, what);
}

static void done_request(struct lane *l, unsigned int op, uint32_t len)
{
	bool bound = l->step == BOUND_READ;

	switch (l->step) {
	case SEND:
		check(op == DAT_DTO_SEND && len == l->len && !l->sent, l, "the send");
		l->sent = true;
		if (l->received)
			end(l);
		break;
	case READ_BACK:
	case BOUND_READ:
		check(op == DAT_DTO_RDMA_READ && len == l->len, l, "the read");
		check(mp_painted(l->from->buf + at(l) + HALF, l->len, l->seed), l, "read back");
		check(mp_painted(l->to->buf + at(l), l->len, l->seed), l, "written");
		if (bound)
			l->step = UNBINDING;
		else
			end(l);
		break;
	case ATOMIC:
		check(op == DAT_IB_DTO_FETCH_ADD, l, "the atomic");
		check(*(uint64_t *)(l->from->buf + at(l)) == l->sum - l->len, l, "what was there");
		end(l);
		break;
	default:
		check(false, l, "a completion of nothing");
	}
}

/* A lane whose next step is still to be posted. */
static bool due[LANES];

static void take(const DAT_EVENT *ev)
{
	const DAT_DTO_COMPLETION_EVENT_DATA *d = &ev->event_data.dto_completion_event_data;
	bool bind = ev->event_number == DAT_RMR_BIND_COMPLETION_EVENT;
	struct lane *l;

	CHECK(d->user_cookie.as_64 < LANES);
	l = &lanes[d->user_cookie.as_64];
	check(d->status == DAT_DTO_SUCCESS, l, "status");
	if (bind) {
		check(l->step == BINDING || l->step == UNBINDING, l, "a bind of nothing");
		if (l->step == UNBINDING) {
			end(l);
		} else {
			l->step = BOUND_WRITE;
			due[l->id] = true;
		}
	} else if (d->operation == DAT_DTO_RECEIVE) {
		check(l->step == SEND && !l->received && d->transfered_length == l->len, l, "receive");
		check(mp_painted(l->to->buf + at(l), l->len, l->seed), l, "received");
		l->received = true;
		if (l->sent)
			end(l);
	} else {
		done_request(l, (unsigned int)d->operation, d->transfered_length);
		due[l->id] = l->step == UNBINDING;
	}
}

static void pump(void)
{
	DAT_EVD_HANDLE evd[] = { p.a.req, p.a.recv, p.b.req, p.b.recv };
	DAT_EVENT ev;

	for (int i = 0; i < 4; i++)
		for (int n = 0; n < 16 && dat_evd_dequeue(evd[i], &ev) == DAT_SUCCESS; n++)
			take(&ev);
}

/* Posts due steps, with the Read behind each Write. */
static void follow(struct lane *l)
{
	due[l->id] = false;
	if (l->step == BOUND_WRITE) {
		push(l, BOUND_WRITE);
		push(l, BOUND_READ);
	} else if (l->step == UNBINDING) {
		push(l, UNBINDING);
	}
}

static void start(struct lane *l)
{
	begin(l);
	while (!go(l))
		pump();
	if (l->step == WRITE)
		push(l, READ_BACK);
}

static void open_lanes(void)
{
	for (uint32_t i = 0; i < LANES; i++) {
		struct lane *l = &lanes[i];

		l->id = i;
		l->from = i & 1 ? &p.a : &p.b;
		l->to = i & 1 ? &p.b : &p.a;
		if (i % 4 < 2 && dat_rmr_create(l->to->pz, &l->rmr) != DAT_SUCCESS)
			l->rmr = DAT_HANDLE_NULL;
		if (i % 4 >= 2 && dat_rmr_create_for_ep(l->to->pz, &l->rmr) != DAT_SUCCESS)
			l->rmr = DAT_HANDLE_NULL;
	}
}

int main(int argc, char **argv)
{
	uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 0) : 20000, seen = 0, since;
	uint64_t seed = argc > 2 ? strtoull(argv[2], NULL, 0) : (uint64_t)time(NULL);

	printf("%lu operations, seed %lu\n", (unsigned long)n, (unsigned long)seed);
	fflush(stdout);
	state = seed * 0x9e3779b97f4a7c15u + 1;
	p.ep.max_request_dtos = 12;
	p.ep.max_recv_dtos = LANES;
	p.priv = DAT_MEM_PRIV_ALL_FLAG | DAT_IB_MEM_PRIV_REMOTE_ATOMIC;
	mp_join(&p);
	atomics = mp_has(&p.a, DAT_IB_ATTR_FETCH_AND_ADD);
	open_lanes();
	since = (uint64_t)time(NULL);
	while (finished < n) {
		struct lane *l = &lanes[pick(LANES)];

		if (l->step == IDLE && started < n)
			start(l);
		pump();
		for (uint32_t i = 0; i < LANES; i++)
			if (due[i])
				follow(&lanes[i]);
		if (finished != seen)
			since = (uint64_t)time(NULL);
		seen = finished;
		CHECK_MSG((uint64_t)time(NULL) - since < 60, "%lu of %lu done, %lu under way, none "
			  "for a minute", (unsigned long)finished, (unsigned long)n,
			  (unsigned long)(started - finished));
	}
	for (uint32_t i = 0; i < LANES; i++) {
		CHECK(*(uint64_t *)(lanes[i].to->buf + at(&lanes[i]) + PIECE - 8) == lanes[i].sum);
		if (lanes[i].rmr)
			OK(dat_rmr_free(lanes[i].rmr));
	}
	mp_none(p.a.req);
	mp_none(p.b.req);
	printf("%lu done, %lu times no room\n", (unsigned long)finished, (unsigned long)full);
	mp_close(&p);
	return 0;
}
