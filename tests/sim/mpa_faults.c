/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Ends at every byte, time-outs, many connections, and an endpoint destroyed in each of its states. */
#include "support/cases.h"
#include "support/check.h"
#include "support/mpaworld.h"
#include "util/alloc.h"
#include "util/clock.h"

#define REQ "4d504120494420526571204672616d65"
#define REP "4d504120494420526570204672616d65"

static struct cm_param rc(void)
{
	return (struct cm_param){ .qp_type = IBV_QPT_RC, .responder_resources = 1,
				  .initiator_depth = 1, .private_data = "abc", .private_len = 3 };
}

/* The host's last sentence names both ends and holds these words. */
static void said(const struct mw_host *h, const struct link_end *a, const struct link_end *b,
		 const char *words)
{
	char want[80];

	snprintf(want, sizeof(want), "port %u and", a->port);
	CHECK_MSG(strstr(h->said, want) && strstr(h->said, words), "%s", h->said);
	snprintf(want, sizeof(want), "port %u (mpa)", b->port);
	CHECK_MSG(strstr(h->said, want), "%s", h->said);
}

/* --- FIN and RST after each byte --- */

/* Each endpoint that had a REQUEST or a connect gets exactly one event for its end, unless it is open. */
static void one_end_each(const struct mpa_world *w, const struct cm_ep *active)
{
	int ends = 0, opened = 0;

	for (int i = 0; i < w->n; i++) {
		if (w->ev[i].ep != active)
			continue;
		opened += w->ev[i].type == CM_EV_ESTABLISHED;
		ends += w->ev[i].type != CM_EV_ESTABLISHED;
		if (w->ev[i].type == CM_EV_DISCONNECTED)
			CHECK(opened == 1);
	}
	CHECK_MSG(opened <= 1 && ends == 1, "%d times opened, %d ends", opened, ends);
	for (int i = 0; i < w->n; i++) {
		if (w->ev[i].type != CM_EV_REQUEST)
			continue;
		ends = 0;
		for (int k = i + 1; k < w->n; k++)
			ends += w->ev[k].ep == w->ev[i].ep && w->ev[k].type != CM_EV_ESTABLISHED;
		CHECK_MSG(ends == 1, "%d ends of a passive endpoint", ends);
	}
}

static bool end_at(int from, size_t byte, bool reset, size_t cut, bool accept)
{
	struct mpa_world *w = mw_open(NULL, NULL);
	struct cm_ep *l = mw_listen(&w->h[1], 0), *e = mw_create(&w->h[0]);
	struct cm_param p = rc();
	bool over;

	w->net.cut = cut;
	w->net.from = from;
	w->net.last = byte;
	w->net.reset = reset;
	w->h[1].answer = accept ? MW_ACCEPT : MW_REJECT;
	w->h[1].accept = rc();
	CHECK(mw_connect(e, &l->local, &p) == 0);
	mw_pass(w, 100 * UT_S);
	over = w->net.last != 0; /* there are fewer bytes than that */
	if (!over && accept) {
		if (w->ev[w->n - 1].type == CM_EV_ESTABLISHED)
			mw_disconnect(e);
		mw_pass(w, 100 * UT_S);
		one_end_each(w, e);
	}
	mw_close(w);
	return over;
}

static void every_byte_ends(void)
{
	for (int v = 0; v < 16; v++) {
		size_t byte = 1;

		while (!end_at(v & 1, byte, v & 2, v & 4 ? 1 : 0, v & 8))
			byte++;
		/* Request, RTR / Reply of 24 bytes and private data. */
		CHECK_MSG(byte == (v & 1 || !(v & 8) ? 28 : 29), "%zu bytes, variant %d", byte, v);
	}
}

/* --- bytes spoiled one by one --- */

static void spoiled_request(void)
{
	uint8_t good[64], bad[64];
	size_t n = mw_hex(REQ "500200078001c001616263", good);
	struct mpa_world *w = mw_open(NULL, NULL);
	struct cm_ep *l = mw_listen(&w->h[0], 0);

	w->h[0].answer = MW_DESTROY;
	for (size_t i = 0; i < n; i++)
		for (unsigned v = 1; v < 256; v++) {
			struct pipe_stream *s = pipe_connect(&w->net.place[MPA_RAW], &l->local);

			memcpy(bad, good, n);
			bad[i] ^= (uint8_t)v;
			pipe_put(s, bad, n);
			mw_pass(w, 6 * UT_S); /* too long a length waits for its time-out */
			CHECK(s->fin);
			if (i < 16)
				CHECK(w->n == 0 && s->in_len == 0);
			else if (w->n)
				mw_want(w, 0, CM_EV_REQUEST, 0);
			mw_quiet(w);
			w->n = w->seen = 0;
		}
	mw_close(w);
}

static void spoiled_reply(void)
{
	uint8_t good[64], bad[64];
	size_t n = mw_hex(REP "5002000780018001616263", good);
	struct mpa_world *w = mw_open(NULL, NULL);
	struct link_end to = mw_raw_listen(w);

	for (size_t i = 0; i < n; i++)
		for (unsigned v = 1; v < 256; v += 2) {
			struct cm_ep *e = mw_create(&w->h[0]);
			struct cm_param p = rc();
			struct pipe_stream *s;

			if (w->h[0].nqps) {
				CHECK(eng_qp_destroy(w->h[0].qps[0]) == 0);
				w->h[0].nqps = 0;
			}
			CHECK(mw_connect(e, &to, &p) == 0);
			mw_run(w);
			s = pipe_accept(&w->net.place[MPA_RAW]);
			memcpy(bad, good, n);
			bad[i] ^= (uint8_t)v;
			pipe_put(s, bad, n);
			mw_pass(w, 11 * UT_S);
			CHECK(w->n == 1 && w->ev[0].ep == e);
			if (i < 16)
				mw_want(w, 0, CM_EV_ERROR, -EPROTO);
			w->n = w->seen = 0;
			mw_destroy(e);
		}
	mw_close(w);
}

/* --- time --- */

static void silent_stranger(void)
{
	struct mpa_world *w = mw_open(NULL, NULL);
	struct cm_ep *l = mw_listen(&w->h[0], 0);
	struct pipe_stream *s = pipe_connect(&w->net.place[MPA_RAW], &l->local);

	mw_pass(w, 5 * UT_S - 1);
	CHECK(!s->fin);
	mw_pass(w, 1);
	CHECK(s->fin);
	said(&w->h[0], &s->s.remote, &s->s.local, "did not come within 5 s");
	mw_quiet(w);
	mw_close(w);
}

static void byte_a_second(void)
{
	struct mpa_world *w = mw_open(NULL, NULL);
	struct cm_ep *l = mw_listen(&w->h[0], 0);
	struct pipe_stream *s = pipe_connect(&w->net.place[MPA_RAW], &l->local);
	int n = 0;

	for (; !s->fin; n++) {
		pipe_put(s, &"MPA ID Req Frame"[n], 1);
		mw_pass(w, UT_S);
	}
	CHECK(n == 5);
	mw_quiet(w);
	mw_close(w);
}

static void no_reply(void)
{
	struct mpa_world *w = mw_open(NULL, NULL);
	struct link_end to = mw_raw_listen(w);
	struct cm_ep *e = mw_create(&w->h[0]);
	struct cm_param p = rc();
	struct pipe_stream *s;

	CHECK(mw_connect(e, &to, &p) == 0);
	mw_run(w);
	s = pipe_accept(&w->net.place[MPA_RAW]);
	mw_pass(w, 9 * UT_S);
	mw_put(s, "4d50");
	mw_pass(w, UT_S - 1);
	mw_quiet(w);
	mw_pass(w, 1);
	mw_want(w, 0, CM_EV_UNREACHABLE, -ETIMEDOUT);
	mw_quiet(w);
	said(&w->h[0], &e->local, &to, "no whole Reply");
	CHECK(s->fin && w->net.live == 1);
	mw_close(w);
}

static void no_rtr(void)
{
	struct mpa_world *w = mw_open(NULL, NULL);
	struct cm_ep *l = mw_listen(&w->h[0], 0);
	struct pipe_stream *s = pipe_connect(&w->net.place[MPA_RAW], &l->local);

	w->h[0].answer = MW_ACCEPT;
	mw_put(s, REQ "500200048001c001");
	mw_pass(w, 8 * UT_S - 1);
	mw_want(w, 0, CM_EV_REQUEST, 0);
	mw_quiet(w);
	CHECK(!s->fin);
	mw_pass(w, 1);
	mw_want(w, 0, CM_EV_UNREACHABLE, -ETIMEDOUT);
	CHECK(s->fin && eng_qp_state(w->h[0].qps[0]) == IBV_QPS_ERR);
	mw_pass(w, 100 * UT_S);
	mw_quiet(w);
	mw_close(w);
}

/* The peer goes instead of sending its RTR. */
static void gone_before_rtr(void)
{
	static const int errors[] = { 0, ECONNRESET, ETIMEDOUT };

	for (int i = 0; i < 3; i++) {
		struct mpa_world *w = mw_open(NULL, NULL);
		struct cm_ep *l = mw_listen(&w->h[0], 0);
		struct pipe_stream *s = pipe_connect(&w->net.place[MPA_RAW], &l->local);

		w->h[0].answer = MW_ACCEPT;
		mw_put(s, REQ "500200048001c001");
		mw_run(w);
		mw_want(w, 0, CM_EV_REQUEST, 0);
		s->mate->error = errors[i];
		pipe_end(s, false);
		mw_pass(w, 100 * UT_S);
		mw_want(w, 0, i == 2 ? CM_EV_UNREACHABLE : CM_EV_ERROR,
			i == 2 ? -ETIMEDOUT : -ECONNRESET);
		mw_quiet(w);
		mw_close(w);
	}
}

/* A user that takes an hour is not hurried. */
static void slow_user(void)
{
	struct mpa_world *w = mw_open(NULL, NULL);
	struct cm_ep *l = mw_listen(&w->h[0], 0);
	struct pipe_stream *s = pipe_connect(&w->net.place[MPA_RAW], &l->local);
	struct cm_param p = rc();
	struct mw_event *ev;

	mw_put(s, REQ "00010000");
	mw_pass(w, 3600 * UT_S);
	ev = mw_want(w, 0, CM_EV_REQUEST, 0);
	CHECK(mw_accept(ev->ep, &p) == 0);
	mw_run(w);
	mw_want(w, 0, CM_EV_ESTABLISHED, 0);
	mw_close(w);
}

/* --- the peer leaves while the user thinks --- */

static void left_meanwhile(void)
{
	for (int v = 0; v < 3; v++) {
		struct mpa_world *w = mw_open(NULL, NULL);
		struct cm_ep *l = mw_listen(&w->h[0], 0);
		struct pipe_stream *s = pipe_connect(&w->net.place[MPA_RAW], &l->local);
		struct cm_param p = rc();
		struct mw_event *ev;

		mw_put(s, REQ "00010000");
		mw_run(w);
		ev = mw_want(w, 0, CM_EV_REQUEST, 0);
		if (v == 2)
			pipe_put(s, "too early", 9);
		else
			pipe_end(s, v);
		mw_run(w);
		CHECK(mw_accept(ev->ep, &p) == -ECONNRESET);
		CHECK(mw_qp(&w->h[0], p.qpn)->attached == 0);
		CHECK(mw_reject(ev->ep, "no", 2) == 0);
		CHECK(mw_reject(ev->ep, "no", 2) == -EINVAL);
		mw_quiet(w);
		mw_close(w);
	}
}

/* --- many connections --- */

static void half_open_by_the_thousand(void)
{
	struct mpa_world *w = mw_open(NULL, NULL);
	struct cm_ep *l = mw_listen(&w->h[0], 0);
	struct pipe_stream *s, *honest;
	unsigned open = 0;

	for (int i = 0; i < 5000; i++) {
		s = pipe_connect(&w->net.place[MPA_RAW], &l->local);
		/* As if from twenty addresses. */
		s->s.local.addr[14] = (uint8_t)(1 + i % 20);
		s->mate->s.remote = s->s.local;
		mw_run(w);
	}
	ut_list_each(s, &w->net.place[MPA_RAW].streams, node)
		open += !s->fin;
	CHECK_MSG(open == MPA_HALF_OPEN_MAX, "%u half-open handshakes", open);
	/* An honest one gets through all the same. */
	honest = pipe_connect(&w->net.place[MPA_RAW], &l->local);
	mw_put(honest, REQ "00010000");
	mw_run(w);
	mw_want(w, 0, CM_EV_REQUEST, 0);
	mw_pass(w, 5 * UT_S);
	open = 0;
	ut_list_each(s, &w->net.place[MPA_RAW].streams, node)
		open += !s->fin;
	CHECK(open == 1 && !honest->fin);
	mw_quiet(w);
	mw_close(w);
}

static void one_address(void)
{
	struct mpa_world *w = mw_open(NULL, NULL);
	struct cm_ep *l[3] = { mw_listen(&w->h[0], 0), mw_listen(&w->h[0], 0),
			       mw_listen(&w->h[0], 0) };
	struct pipe_stream *s;
	unsigned open = 0;

	for (int i = 0; i < 600; i++) {
		pipe_connect(&w->net.place[MPA_RAW], &l[i % 3]->local);
		mw_run(w);
	}
	ut_list_each(s, &w->net.place[MPA_RAW].streams, node)
		open += !s->fin;
	CHECK_MSG(open == MPA_HALF_OPEN_PEER, "%u half-open handshakes of one peer", open);
	mw_destroy(l[1]);
	mw_close(w);
}

/* A flood of handshakes without a Request does not drop one that has its Request and waits for the backlog. */
static void waits_through_a_flood(void)
{
	struct mpa_world *w = mw_open(NULL, NULL);
	struct cm_ep *l = mw_listen(&w->h[0], 1);
	struct pipe_stream *s[2];

	for (int i = 0; i < 2; i++) {
		s[i] = pipe_connect(&w->net.place[MPA_RAW], &l->local);
		mw_put(s[i], REQ "00010000");
		mw_run(w);
	}
	CHECK(w->n == 1);
	for (int i = 0; i < 2 * MPA_HALF_OPEN_MAX; i++) {
		struct pipe_stream *f = pipe_connect(&w->net.place[MPA_RAW], &l->local);

		if (i % 2)
			f->s.local.addr[14] = (uint8_t)(1 + i % 20);
		f->mate->s.remote = f->s.local;
		mw_run(w);
	}
	CHECK(!s[1]->fin);
	mw_destroy(w->ev[0].ep);
	mw_run(w);
	CHECK(w->n == 2 && w->ev[1].type == CM_EV_REQUEST);
	mw_close(w);
}

static void backlog(void)
{
	struct mpa_world *w = mw_open(NULL, NULL);
	struct cm_ep *l = mw_listen(&w->h[0], 3);
	struct pipe_stream *s[6];
	struct cm_param p = rc();

	for (int i = 0; i < 5; i++) {
		s[i] = pipe_connect(&w->net.place[MPA_RAW], &l->local);
		mw_put(s[i], REQ "00010000");
	}
	mw_run(w);
	/* A connection that comes when it is full waits, and its private data with it. */
	s[5] = pipe_connect(&w->net.place[MPA_RAW], &l->local);
	mw_put(s[5], REQ "00010003616263");
	mw_run(w);
	for (int i = 0; i < 6; i++)
		CHECK(!s[i]->in_len && !s[i]->fin);
	CHECK(w->n == 3);
	mw_pass(w, 20 * UT_S);
	CHECK(w->n == 3 && !s[4]->fin);
	CHECK(mw_accept(w->ev[1].ep, &p) == 0);
	mw_run(w);
	CHECK(w->n == 5); /* the fourth, and ESTABLISHED */
	mw_destroy(w->ev[0].ep);
	CHECK(mw_reject(w->ev[2].ep, NULL, 0) == 0);
	mw_run(w);
	CHECK(w->n == 7 && w->ev[6].type == CM_EV_REQUEST);
	CHECK(w->ev[6].param.private_len == 3 && !memcmp(w->ev[6].data, "abc", 3));
	mw_close(w);
}

/* Those that wait may give up, send too much, or find the listener gone. */
static void backlog_left(void)
{
	struct mpa_world *w = mw_open(NULL, NULL);
	struct cm_ep *l = mw_listen(&w->h[0], 1);
	struct pipe_stream *s[5];

	for (int i = 0; i < 5; i++) {
		s[i] = pipe_connect(&w->net.place[MPA_RAW], &l->local);
		mw_put(s[i], REQ "00010000");
		mw_run(w);
	}
	CHECK(w->n == 1);
	pipe_end(s[1], false);
	mw_put(s[2], "00");
	mw_run(w);
	CHECK(s[2]->fin && !s[3]->fin);
	mw_destroy(w->ev[0].ep);
	mw_run(w);
	CHECK(w->n == 2);
	mw_destroy(w->ev[1].ep);
	mw_run(w);
	CHECK(w->n == 3); /* the fifth */
	s[3] = pipe_connect(&w->net.place[MPA_RAW], &l->local);
	mw_put(s[3], REQ "00010000");
	s[4] = pipe_connect(&w->net.place[MPA_RAW], &l->local);
	mw_put(s[4], REQ "00010000");
	mw_run(w);
	mw_pass(w, 61 * UT_S);
	CHECK(w->n == 3 && s[3]->fin && s[4]->fin);
	s[4] = pipe_connect(&w->net.place[MPA_RAW], &l->local);
	mw_put(s[4], REQ "00010000");
	mw_run(w);
	mw_destroy(l);
	mw_run(w);
	CHECK(s[4]->fin && w->n == 3);
	mw_close(w);
}

/* --- no peer --- */

static void refuse_last(struct mpa_world *w, int error)
{
	ut_container(w->net.place[0].streams.prev, struct pipe_stream, node)->error = error;
}

/* A refused connection is tried seven times more, after 1, 2 .. 64 ms, and nothing is told before. */
static void knocked(struct mpa_world *w, bool now)
{
	for (int k = 0; k < 7; k++) {
		mw_run(w);
		mw_quiet(w);
		w->net.failing = now;
		mw_pass(w, UT_MS << k);
		if (!now)
			refuse_last(w, ECONNREFUSED);
	}
}

static void no_listener(void)
{
	static const struct { int error; enum cm_event_type type; } v[] = {
		{ ECONNREFUSED, CM_EV_REJECTED }, { ECONNRESET, CM_EV_REJECTED },
		{ ETIMEDOUT, CM_EV_UNREACHABLE }, { EHOSTUNREACH, CM_EV_UNREACHABLE },
		{ EACCES, CM_EV_ERROR },
	};
	struct mpa_world *w = mw_open(NULL, NULL);
	struct link_end to = { .port = 9 };

	memcpy(to.addr, w->net.place[MPA_RAW].addr, 16);
	for (int i = 0; i < 5; i++)
		for (int now = 0; now < 2; now++) {
			struct cm_ep *e = mw_create(&w->h[0]);
			struct cm_param p = rc();
			int r;

			to.addr[15] = now ? 3 : PIPES_SILENT;
			w->net.failing = (unsigned)now;
			w->net.failure = -v[i].error;
			r = mw_connect(e, &to, &p);
			if (now && v[i].type == CM_EV_ERROR) {
				CHECK(r == -v[i].error);
				continue;
			}
			CHECK(r == 0);
			if (!now)
				refuse_last(w, v[i].error);
			if (v[i].error == ECONNREFUSED)
				knocked(w, now);
			mw_run(w);
			mw_want(w, 0, v[i].type, -v[i].error);
			mw_quiet(w);
		}
	mw_close(w);
}

/* --- calls that are wrong --- */

static void wrong_calls(void)
{
	struct mpa_world *w = mw_open(NULL, NULL);
	struct cm_ep *l = mw_listen(&w->h[1], 0), *e = mw_create(&w->h[0]), *q;
	const struct cm_ops *ops = e->port->ops;
	struct cm_bind b = { .service = cm_ip_service(CM_PS_UDP, 0), .local = l->local };
	uint8_t data[512] = { 0 };
	struct cm_param p = rc(), a;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT };
	int mask;

	ut_lock(&w->h[1].dev.lock);
	CHECK(ops->bind(&w->h[1].port, &b, &q) == -EINVAL);
	CHECK(ops->create(&w->h[1].port, &b, &q) == -EINVAL);
	b.service = l->service;
	CHECK(ops->bind(&w->h[1].port, &b, &q) == -EADDRINUSE);
	CHECK(ops->qp_attr(l, &attr, &mask) == -EINVAL);
	ut_unlock(&w->h[1].dev.lock);
	ut_lock(&w->h[0].dev.lock);
	CHECK(ops->listen(e, 1) == -EINVAL); /* it has no port */
	CHECK(ops->qp_attr(e, &attr, &mask) == 0 && attr.port_num == 1);
	CHECK(mask == (IBV_QP_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_PORT));
	attr.qp_state = IBV_QPS_RTS;
	CHECK(ops->qp_attr(e, &attr, &mask) == 0 && mask == 0);
	attr.qp_state = IBV_QPS_SQD;
	CHECK(ops->qp_attr(e, &attr, &mask) == -EINVAL);
	CHECK(ops->establish(e) == 0 && ops->notify(e, IBV_EVENT_COMM_EST) == 0);
	CHECK(ops->disconnect(e) == -EINVAL);
	p.qpn = mw_qp_new(&w->h[0], IBV_QPT_UC)->qpn;
	ut_unlock(&w->h[0].dev.lock);
	CHECK(mw_connect(e, &l->local, &p) == -EINVAL);
	p = rc();
	p.qpn = 0xfffffe;
	CHECK(mw_connect(e, &l->local, &p) == -EINVAL);
	p = rc();
	p.qp_type = IBV_QPT_UD;
	CHECK(mw_connect(e, &l->local, &p) == -EINVAL);
	p = rc();
	p.private_data = data;
	p.private_len = 509;
	CHECK(mw_connect(e, &l->local, &p) == -EINVAL);
	p.private_len = 508;
	CHECK(mw_connect(e, &l->local, &p) == 0);
	CHECK(mw_connect(e, &l->local, &p) == -EINVAL);
	CHECK(mw_accept(e, &p) == -EINVAL && mw_reject(e, NULL, 0) == -EINVAL);
	mw_run(w);
	q = mw_want(w, 1, CM_EV_REQUEST, 0)->ep;
	CHECK(w->ev[0].param.private_len == 508);
	a = rc();
	a.private_data = data;
	a.private_len = 509;
	CHECK(mw_accept(q, &a) == -EINVAL && mw_reject(q, data, 509) == -EINVAL);
	a = rc();
	CHECK(mw_accept(q, &(struct cm_param){ .qpn = 0xfffffe }) == -EINVAL);
	ut_lock(&w->h[1].dev.lock);
	a.qpn = mw_qp_new(&w->h[1], IBV_QPT_RC)->qpn;
	ut_unlock(&w->h[1].dev.lock);
	atomic_store(&mw_qp(&w->h[1], a.qpn)->qp->state, IBV_QPS_ERR);
	CHECK(mw_accept(q, &a) == -EINVAL);
	a.qpn = 0;
	CHECK(mw_accept(q, &a) == 0 && mw_accept(q, &a) == -EINVAL);
	mw_run(w);
	mw_close(w);
}

/* The QP is gone or spent when the Reply comes. */
static void lost_qp(void)
{
	struct mpa_world *w = mw_open(NULL, NULL);
	struct cm_ep *l = mw_listen(&w->h[1], 0);

	w->h[1].answer = MW_ACCEPT;
	for (int v = 0; v < 2; v++) {
		struct cm_ep *e = mw_create(&w->h[0]);
		struct cm_param p = rc();

		CHECK(mw_connect(e, &l->local, &p) == 0);
		if (v) {
			mw_qp(&w->h[0], p.qpn)->attached = 1; /* the stand-in refuses */
		} else {
			CHECK(eng_qp_destroy(w->h[0].qps[0]) == 0);
			w->h[0].nqps = 0;
		}
		mw_pass(w, 20 * UT_S);
		mw_want(w, 1, CM_EV_REQUEST, 0);
		mw_swap(w, 0);
		mw_want(w, 0, CM_EV_ERROR, v ? -EISCONN : -EINVAL);
		mw_want(w, 1, CM_EV_ERROR, -ECONNRESET);
		mw_quiet(w);
	}
	mw_close(w);
}

/* --- a send queue without room --- */

static void narrow(void)
{
	for (size_t room = 1; room < 30; room++)
		for (int reject = 0; reject < 3; reject++) {
			struct mpa_world *w = mw_open(NULL, NULL);
			struct cm_ep *l = mw_listen(&w->h[1], 0), *e = mw_create(&w->h[0]);
			struct cm_param p = rc(), q = rc();
			struct cm_ep *x;
			struct pipe_stream *s;

			w->net.room = room;
			CHECK(mw_connect(e, &l->local, &p) == 0);
			for (int i = 0; i < 64; i++) {
				for (int k = 0; k < 2; k++)
					ut_list_each(s, &w->net.place[k].streams, node)
						s->room = s->room ? s->room : 1;
				mw_run(w);
				if (w->seen == w->n)
					continue;
				x = w->ev[w->seen].ep;
				if (w->ev[w->seen++].type != CM_EV_REQUEST)
					continue;
				/* The first bytes of the Reply leave, the rest waits. */
				ut_list_each(s, &w->net.place[1].streams, node)
					s->room = room;
				if (!reject)
					CHECK(mw_accept(x, &q) == 0);
				else
					CHECK(mw_reject(x, "no", 2) == 0);
				if (reject == 2)
					mw_destroy(x); /* the Reply gets through all the same */
			}
			for (int i = 0; i < w->n; i++)
				if (w->ev[i].ep == e)
					CHECK(w->ev[i].type == (reject ? CM_EV_REJECTED :
								CM_EV_ESTABLISHED));
			CHECK(w->n == (reject ? 2 : 3));
			mw_close(w);
		}
}

/* --- destroyed in every state --- */

/* Plays a connection up to `step` rounds and destroys the endpoint of one side there. */
static bool destroy_at(int step, int side, bool rtr, size_t cut, bool answer)
{
	struct mpa_config cfg = mw_config();
	struct mpa_world *w;
	struct cm_ep *l, *e, *x = NULL;
	struct cm_param p = rc();
	int rounds = 0, did = 1;

	cfg.rtr = rtr ? cfg.rtr : 0;
	w = mw_open(&cfg, NULL);
	l = mw_listen(&w->h[1], 0);
	e = mw_create(&w->h[0]);
	w->net.cut = cut;
	w->h[1].answer = answer ? MW_ACCEPT : MW_KEEP;
	CHECK(mw_connect(e, &l->local, &p) == 0);
	for (; rounds < step && did; rounds++) {
		struct mw_host *h = &w->h[rounds & 1];

		ut_lock(&h->dev.lock);
		did = h->place->s.ops->poll(&h->place->s, w->now) + mpa_run(&h->port, w->now);
		ut_unlock(&h->dev.lock);
		did |= rounds < 2 || !(rounds & 1);
	}
	for (int i = 0; i < w->n; i++)
		if (w->ev[i].type == CM_EV_REQUEST)
			x = w->ev[i].ep;
	if (side == 0)
		mw_destroy(e);
	else if (side == 1 && x)
		mw_destroy(x);
	else if (side == 2)
		mw_destroy(l);
	mw_pass(w, 100 * UT_S);
	/* The destroyed endpoint gives no further event, the other one gets an event for the end. */
	if (side == 0 && x && answer)
		CHECK(w->ev[w->n - 1].ep == x && w->ev[w->n - 1].type != CM_EV_ESTABLISHED);
	if (side == 1 && x)
		CHECK(w->ev[w->n - 1].ep == e && w->ev[w->n - 1].type != CM_EV_ESTABLISHED);
	mw_close(w);
	return did != 0;
}

static void destroyed_everywhere(void)
{
	for (int v = 0; v < 8; v++)
		for (int side = 0; side < 3; side++)
			for (int step = 0; destroy_at(step, side, v & 1, v & 2 ? 1 : 0, v & 4); step++)
				;
}

/* Inside the up-call. */
static void destroyed_inside(void)
{
	static const enum cm_event_type on[] = { CM_EV_REQUEST, CM_EV_ESTABLISHED, CM_EV_REJECTED,
						 CM_EV_UNREACHABLE, CM_EV_ERROR,
						 CM_EV_DISCONNECTED };

	for (int v = 0; v < 24; v++) {
		struct mpa_world *w = mw_open(NULL, NULL);
		struct cm_ep *l = mw_listen(&w->h[1], 0), *e = mw_create(&w->h[0]);
		struct cm_param p = rc();

		for (int i = 0; i < 2; i++) {
			w->h[i].destroys = true;
			w->h[i].destroy_on = on[v % 6];
		}
		w->h[1].answer = (enum mw_answer)(MW_KEEP + 1 + v / 6); /* ACCEPT .. DESTROY */
		CHECK(mw_connect(e, &l->local, &p) == 0);
		mw_pass(w, 4 * UT_S);
		if (w->n && w->ev[w->n - 1].type == CM_EV_ESTABLISHED && on[v % 6] != CM_EV_ESTABLISHED)
			mw_disconnect(e);
		mw_pass(w, 100 * UT_S);
		mw_close(w);
	}
}

static void refused_by_user(void)
{
	struct mpa_world *w = mw_open(NULL, NULL);
	struct cm_ep *l = mw_listen(&w->h[1], 0), *e = mw_create(&w->h[0]);
	struct cm_param p = rc();

	w->h[1].answer = MW_REFUSE;
	CHECK(mw_connect(e, &l->local, &p) == 0);
	mw_run(w);
	mw_want(w, 1, CM_EV_REQUEST, 0);
	mw_want(w, 0, CM_EV_REJECTED, -ECONNREFUSED);
	mw_quiet(w);
	mw_close(w);
}

/* --- no memory --- */

static void no_memory(void)
{
	for (unsigned n = 1; n < 40; n++) {
		struct mpa_world *w = mw_open(NULL, NULL);
		struct cm_ep *l = mw_listen(&w->h[1], 0), *e = mw_create(&w->h[0]);
		struct cm_param p = rc(), q = rc();
		int r;

		ut_lock(&w->h[0].dev.lock);
		p.qpn = mw_qp_new(&w->h[0], IBV_QPT_RC)->qpn;
		ut_unlock(&w->h[0].dev.lock);
		ut_lock(&w->h[1].dev.lock);
		q.qpn = mw_qp_new(&w->h[1], IBV_QPT_RC)->qpn;
		ut_unlock(&w->h[1].dev.lock);
		w->h[1].answer = MW_KEEP;
		ut_fault_arm(n, 0);
		r = mw_connect(e, &l->local, &p);
		if (r == 0)
			mw_run(w);
		else
			CHECK(r == -ENOMEM);
		if (r == 0 && w->n && w->ev[0].type == CM_EV_REQUEST) {
			r = mw_accept(w->ev[0].ep, &q);
			CHECK(r == 0 || r == -ENOMEM);
			mw_run(w);
		}
		ut_fault_arm(0, 0);
		mw_pass(w, 100 * UT_S);
		mw_close(w);
	}
}

static const struct test_case cases[] = {
	{ "-", "FIN and RST after every byte", every_byte_ends },
	{ "-", "every byte of a Request wrong", spoiled_request },
	{ "-", "every byte of a Reply wrong", spoiled_reply },
	{ "-", "an unknown peer that sends nothing", silent_stranger },
	{ "-", "an unknown peer that sends a byte a second", byte_a_second },
	{ "-", "no reply", no_reply },
	{ "-", "no RTR", no_rtr },
	{ "-", "gone before the RTR", gone_before_rtr },
	{ "-", "a slow user", slow_user },
	{ "-", "the peer leaves before it is accepted", left_meanwhile },
	{ "-", "half-open by the thousand", half_open_by_the_thousand },
	{ "-", "half-open from one address", one_address },
	{ "-", "backlog", backlog },
	{ "-", "waiting through a flood", waits_through_a_flood },
	{ "-", "waiting for a place", backlog_left },
	{ "-", "no listener", no_listener },
	{ "-", "wrong calls", wrong_calls },
	{ "-", "the QP is lost", lost_qp },
	{ "-", "no room to send", narrow },
	{ "-", "destroyed in every state", destroyed_everywhere },
	{ "-", "destroyed inside its event", destroyed_inside },
	{ "-", "refused by the user", refused_by_user },
	{ "-", "no memory", no_memory },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}
