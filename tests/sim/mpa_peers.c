/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One of our managers and a peer that is only bytes: golden frames, the answers
 * that Linux siw gave on the wire, and frames that break the rules.
 */
#include "support/cases.h"
#include "support/check.h"
#include "support/mpaworld.h"
#include "util/clock.h"

#define REQ "4d504120494420526571204672616d65"
#define REP "4d504120494420526570204672616d65"

/* --- we listen --- */

struct listening {
	const char *name;
	bool crc, markers;         /* ours */
	uint8_t ird, ord;          /* of our accept */
	const char *request;       /* NULL rows end the table */
	const char *reply;         /* "" = closed without one */
	bool want_crc, want_tx;    /* markers we send */
	enum proto_rtr rtr;
	uint16_t want_ird, want_ord;
};

static const struct listening listening[] = {
	{ "revision 1, no CRC on either side", 0, 0, 5, 7, REQ "00010000", REP "00010000",
	  0, 0, 0, 5, 7 },
	{ "G1", 0, 0, 5, 7, REQ "40010000", REP "40010000", 1, 0, 0, 5, 7 },
	{ "revision 1, peer without CRC, ours on", 1, 0, 5, 7, REQ "00010000", REP "40010000",
	  1, 0, 0, 5, 7 },
	{ "revision 1, markers", 0, 0, 1, 1, REQ "c0010000", REP "40010000", 1, 1, 0, 1, 1 },
	{ "revision 1, markers both ways", 0, 1, 1, 1, REQ "c0010000", REP "c0010000",
	  1, 1, 0, 1, 1 },
	{ "revision 2 as siw asks", 0, 0, 1, 1, REQ "1002000400010001", REP "1002000400010001",
	  0, 0, 0, 1, 1 },
	{ "revision 2, IRD 5 ORD 7", 0, 0, 7, 5, REQ "5002000400050007", REP "5002000400070005",
	  1, 0, 0, 7, 5 },
	{ "IRD is raised to the peer's ORD", 0, 0, 0, 9, REQ "5002000400050007",
	  REP "5002000400070005", 1, 0, 0, 7, 5 },
	{ "as far as there are places", 0, 0, 0, 0, REQ "50020004000500c8",
	  REP "5002000400100000", 1, 0, 0, 16, 0 },
	{ "peer-to-peer by Write", 0, 0, 1, 1, REQ "500200048001c001", REP "5002000480018001",
	  1, 0, PROTO_RTR_WRITE, 1, 1 },
	{ "peer-to-peer by Read", 0, 0, 0, 0, REQ "5002000480014000", REP "5002000480014000",
	  1, 0, PROTO_RTR_READ, 1, 0 },
	{ "peer-to-peer by Send only: Write is answered", 0, 0, 1, 1, REQ "50020004c0010001",
	  REP "5002000480018001", 1, 0, PROTO_RTR_WRITE, 1, 1 },
	{ "peer-to-peer by nothing", 0, 0, 1, 1, REQ "5002000480010001", REP "5002000480018001",
	  1, 0, PROTO_RTR_WRITE, 1, 1 },
	{ "kinds without peer-to-peer", 0, 0, 1, 1, REQ "500200044001c001",
	  REP "5002000400010001", 1, 0, 0, 1, 1 },
	{ "do not negotiate", 0, 0, 3, 4, REQ "500200043fff3fff", REP "500200043fff3fff",
	  1, 0, 0, 3, 4 },
	{ "do not negotiate ORD", 0, 0, 3, 4, REQ "5002000400023fff", REP "500200043fff0002",
	  1, 0, 0, 3, 2 },
	{ "reserved bits and R in a request", 0, 0, 5, 7, REQ "2f010000", REP "00010000",
	  0, 0, 0, 5, 7 },
	{ "S in revision 1", 0, 0, 5, 7, REQ "10010000", REP "00010000", 0, 0, 0, 5, 7 },
	{ "revision 2 without S", 0, 0, 5, 7, REQ "00020000", REP "00020000", 0, 0, 0, 5, 7 },
	{ "revision 3", 0, 0, 5, 7, REQ "5003000400050007", "", 0, 0, 0, 0, 0 },
	{ "revision 0", 0, 0, 5, 7, REQ "c0000000", "", 0, 0, 0, 0, 0 },
	{ "S without its data", 0, 0, 5, 7, REQ "5002000300000000", "", 0, 0, 0, 0, 0 },
	{ "a Reply as Request", 0, 0, 5, 7, REP "00010000", "", 0, 0, 0, 0, 0 },
	{ "PD_Length 513", 0, 0, 5, 7, REQ "00010201", "", 0, 0, 0, 0, 0 },
	{ "bytes behind the Request", 0, 0, 5, 7, REQ "0001000000", "", 0, 0, 0, 0, 0 },
};

static void listen_row(const struct listening *t, size_t cut)
{
	struct mpa_config cfg = mw_config();
	struct mpa_world *w;
	struct pipe_stream *s;
	struct cm_ep *l;
	struct mw_qp *q;

	cfg.crc = t->crc;
	cfg.markers = t->markers;
	w = mw_open(&cfg, NULL);
	w->net.cut = cut;
	w->h[0].answer = MW_ACCEPT;
	w->h[0].accept.responder_resources = t->ird;
	w->h[0].accept.initiator_depth = t->ord;
	l = mw_listen(&w->h[0], 0);
	s = pipe_connect(&w->net.place[MPA_RAW], &l->local);
	mw_put(s, t->request);
	mw_run(w);
	if (!*t->reply) {
		/* One byte at a time; surplus bytes come behind the Reply. */
		if (w->n && cut) {
			mw_close(w);
			return;
		}
		CHECK(s->fin && w->n == 0);
		mw_close(w);
		return;
	}
	mw_want(w, 0, CM_EV_REQUEST, 0);
	if (t->rtr == PROTO_RTR_NONE)
		mw_want(w, 0, CM_EV_ESTABLISHED, 0);
	mw_quiet(w);
	mw_got(s, t->reply);
	CHECK(w->h[0].nqps == 1 && !s->fin);
	q = mw_qp(&w->h[0], w->h[0].qps[0]->qpn);
	CHECK(q->attached && !q->params.initiator && q->params.crc == t->want_crc);
	CHECK(q->params.markers_tx == t->want_tx && q->params.markers_rx == t->markers);
	CHECK(q->params.rtr == t->rtr && q->params.await_first == !t->rtr);
	CHECK(q->params.ird == t->want_ird && q->params.ord == t->want_ord);
	if (t->rtr) {
		pipe_put(s, "W", 1);
		mw_run(w);
		mw_want(w, 0, CM_EV_ESTABLISHED, 0);
	}
	pipe_end(s, false);
	mw_pass(w, 60 * UT_S);
	mw_want(w, 0, CM_EV_DISCONNECTED, 0);
	mw_quiet(w);
	mw_close(w);
}

static void we_listen(void)
{
	for (size_t i = 0; i < sizeof(listening) / sizeof(*listening); i++) {
		fprintf(stderr, "#   %s\n", listening[i].name);
		listen_row(&listening[i], 0);
		listen_row(&listening[i], 1);
		listen_row(&listening[i], 7);
	}
}

/* --- we connect --- */

struct connecting {
	const char *name;
	unsigned revision, rtr;    /* 1 W, 2 R: ours */
	bool crc;
	uint8_t ird, ord;
	const char *request;
	const char *reply;
	enum cm_event_type type;
	int status;
	uint8_t code;              /* we terminate with it */
	enum proto_rtr picked;
	bool want_crc;
	uint16_t want_ird, want_ord;
};

#define BOTH 3
#define OK CM_EV_ESTABLISHED, 0, 0
#define BAD CM_EV_ERROR, -EPROTO, 0

static const struct connecting connecting[] = {
	{ "G2 and G3", 2, BOTH, 1, 4, 8, REQ "500200048004c008", REP "50020006800880046869",
	  OK, PROTO_RTR_WRITE, 1, 4, 8 },
	{ "siw: as asked", 2, 0, 0, 1, 1, REQ "1002000400010001", REP "1002000400010001",
	  OK, 0, 0, 1, 1 },
	{ "siw: its C turns ours on", 2, 0, 0, 5, 7, REQ "1002000400050007",
	  REP "5002000400070005", OK, 0, 1, 5, 7 },
	{ "siw: picks Write", 2, BOTH, 1, 1, 1, REQ "500200048001c001", REP "5002000480018001",
	  OK, PROTO_RTR_WRITE, 1, 1, 1 },
	{ "the other end picks Read, ORD is raised", 2, BOTH, 1, 1, 0, REQ "500200048001c001",
	  REP "5002000480014000", OK, PROTO_RTR_READ, 1, 1, 1 },
	{ "ORD stays 0 with Write", 2, BOTH, 1, 1, 0, REQ "500200048001c001",
	  REP "5002000480018000", OK, PROTO_RTR_WRITE, 1, 1, 0 },
	{ "more kinds than we offered", 2, 2, 1, 1, 1, REQ "5002000480014001",
	  REP "50020004c001c001", OK, PROTO_RTR_READ, 1, 1, 1 },
	{ "no peer-to-peer after all", 2, BOTH, 1, 1, 1, REQ "500200048001c001",
	  REP "5002000400010001", OK, 0, 1, 1, 1 },
	{ "no common kind", 2, 2, 1, 1, 1, REQ "5002000480014001", REP "5002000480018001",
	  CM_EV_ERROR, -EPROTO, 7, 0, 1, 0, 0 },
	{ "Send is the only kind", 2, BOTH, 1, 1, 1, REQ "500200048001c001",
	  REP "50020004c0010001", CM_EV_ERROR, -EPROTO, 7, 0, 1, 0, 0 },
	{ "ORD follows the other end's IRD", 2, BOTH, 1, 4, 8, REQ "500200048004c008",
	  REP "5002000480038001", OK, PROTO_RTR_WRITE, 1, 4, 3 },
	{ "IRD follows the other end's ORD", 2, BOTH, 1, 4, 8, REQ "500200048004c008",
	  REP "5002000480088010", OK, PROTO_RTR_WRITE, 1, 16, 8 },
	{ "ORD 200 is too much", 2, BOTH, 1, 4, 8, REQ "500200048004c008",
	  REP "50020004800880c8", CM_EV_ERROR, -EPROTO, 6, 0, 1, 0, 0 },
	{ "a Read as RTR and no depth to serve it", 2, 2, 1, 1, 1, REQ "5002000480014001",
	  REP "5002000480004001", CM_EV_ERROR, -EPROTO, 6, 0, 1, 0, 0 },
	{ "do not negotiate", 2, BOTH, 1, 4, 8, REQ "500200048004c008", REP "50020004bfffbfff",
	  OK, PROTO_RTR_WRITE, 1, 4, 8 },
	{ "revision 1", 1, BOTH, 1, 4, 8, REQ "40010000", REP "00010000", OK, 0, 1, 4, 8 },
	{ "revision 1, no CRC", 1, BOTH, 0, 4, 8, REQ "00010000", REP "00010000", OK, 0, 0, 4, 8 },
	{ "reserved bits, S of revision 1", 1, BOTH, 0, 4, 8, REQ "00010000", REP "1f010000",
	  OK, 0, 0, 4, 8 },
	{ "rejected", 2, BOTH, 1, 4, 8, REQ "500200048004c008", REP "70020006800880046279",
	  CM_EV_REJECTED, -ECONNREFUSED, 0, 0, 0, 0, 0 },
	{ "rejected, siw without the enhanced data", 2, BOTH, 1, 4, 8, REQ "500200048004c008",
	  REP "30020000", CM_EV_REJECTED, -ECONNREFUSED, 0, 0, 0, 0, 0 },
	{ "rejected in revision 1", 1, 0, 1, 4, 8, REQ "40010000", REP "60010000",
	  CM_EV_REJECTED, -ECONNREFUSED, 0, 0, 0, 0, 0 },
	{ "accepted without the enhanced data", 2, BOTH, 1, 4, 8, REQ "500200048004c008",
	  REP "10020000", BAD, 0, 0, 0, 0 },
	{ "plain Reply to an enhanced Request", 2, BOTH, 1, 4, 8, REQ "500200048004c008",
	  REP "40010000", BAD, 0, 0, 0, 0 },
	{ "plain Reply, revision 2", 2, BOTH, 1, 4, 8, REQ "500200048004c008", REP "40020000",
	  BAD, 0, 0, 0, 0 },
	{ "enhanced Reply to a plain Request", 1, BOTH, 1, 4, 8, REQ "40010000",
	  REP "5002000480088004", BAD, 0, 0, 0, 0 },
	{ "both initiators", 2, BOTH, 1, 4, 8, REQ "500200048004c008", REQ "500200048004c008",
	  BAD, 0, 0, 0, 0 },
	{ "PD_Length 513", 2, BOTH, 1, 4, 8, REQ "500200048004c008", REP "50020201",
	  BAD, 0, 0, 0, 0 },
	{ "revision 3", 2, BOTH, 1, 4, 8, REQ "500200048004c008", REP "5003000480088004",
	  BAD, 0, 0, 0, 0 },
};

static void check_connected(struct mpa_world *w, const struct connecting *t,
			    struct pipe_stream *s, struct mw_qp *q)
{
	if (t->type != CM_EV_ESTABLISHED) {
		CHECK(s->fin && q->attached == (t->code != 0) && q->terminated == t->code);
		if (t->code)
			CHECK(s->in_len == 2 && s->in[0] == 'T' && s->in[1] == t->code);
		return;
	}
	CHECK(q->params.initiator && q->params.rtr == t->picked && !q->params.await_first);
	CHECK(q->params.crc == t->want_crc && !q->params.markers_tx && !q->params.markers_rx);
	CHECK(q->params.ird == t->want_ird && q->params.ord == t->want_ord);
	CHECK(s->in_len == (t->picked != 0));
	/* Bytes right behind the Reply were the QP's, siw sends such. */
	CHECK(q->n == 3 && !memcmp(q->got, "fpd", 3));
	pipe_end(s, true);
	mw_pass(w, 60 * UT_S);
	mw_want(w, 0, CM_EV_DISCONNECTED, -ECONNRESET);
}

static void connect_row(const struct connecting *t, size_t cut)
{
	struct mpa_config cfg = mw_config();
	struct cm_param p = { .qp_type = IBV_QPT_RC, .responder_resources = t->ird,
			      .initiator_depth = t->ord };
	struct mpa_world *w;
	struct link_end to;
	struct pipe_stream *s;
	struct mw_event *ev;

	cfg.revision = t->revision;
	cfg.rtr = t->rtr << PROTO_RTR_WRITE;
	cfg.crc = t->crc;
	w = mw_open(&cfg, NULL);
	w->net.cut = cut;
	to = mw_raw_listen(w);
	CHECK(mw_connect(mw_create(&w->h[0]), &to, &p) == 0);
	s = pipe_accept(&w->net.place[MPA_RAW]);
	CHECK(s && w->n == 0);
	mw_run(w);
	mw_got(s, t->request);
	mw_put(s, t->reply);
	if (t->type == CM_EV_ESTABLISHED)
		pipe_put(s, "fpd", 3);
	mw_run(w);
	ev = mw_want(w, 0, t->type, t->status);
	mw_quiet(w);
	if (!strcmp(t->name, "G2 and G3"))
		CHECK(ev->param.private_len == 2 && !memcmp(ev->data, "hi", 2));
	if (!strcmp(t->name, "rejected"))
		CHECK(ev->param.private_len == 2 && !memcmp(ev->data, "by", 2) &&
		      ev->param.initiator_depth == 8 && ev->param.responder_resources == 4);
	check_connected(w, t, s, mw_qp(&w->h[0], p.qpn));
	mw_pass(w, 60 * UT_S);
	mw_quiet(w);
	mw_close(w);
}

static void we_connect(void)
{
	for (size_t i = 0; i < sizeof(connecting) / sizeof(*connecting); i++) {
		fprintf(stderr, "#   %s\n", connecting[i].name);
		connect_row(&connecting[i], 0);
		connect_row(&connecting[i], 1);
		connect_row(&connecting[i], 5);
	}
}

/* --- falling back to revision 1 --- */

static struct pipe_stream *second_try(struct mpa_world *w, struct cm_ep *e, bool reset)
{
	struct link_end to = mw_raw_listen(w);
	struct cm_param p = { .qp_type = IBV_QPT_RC, .private_data = "x", .private_len = 1 };
	struct pipe_stream *s;

	CHECK(mw_connect(e, &to, &p) == 0);
	mw_run(w);
	s = pipe_accept(&w->net.place[MPA_RAW]);
	mw_got(s, REQ "500200058000c00178");
	pipe_end(s, reset);
	mw_run(w);
	mw_quiet(w);
	s = pipe_accept(&w->net.place[MPA_RAW]);
	CHECK(s);
	mw_got(s, REQ "4001000178");
	return s;
}

static void old_responder(void)
{
	struct mpa_world *w = mw_open(NULL, NULL);
	struct cm_bind b = { .service = cm_ip_service(CM_PS_TCP, 0) };
	struct cm_ep *e;
	struct pipe_stream *s = second_try(w, mw_create(&w->h[0]), false);
	uint16_t port;

	mw_put(s, REP "40010000");
	mw_run(w);
	mw_want(w, 0, CM_EV_ESTABLISHED, 0);
	mw_quiet(w);
	/* A port that was asked for is the one of the second try, too. */
	memcpy(b.local.addr, w->h[0].place->addr, 16);
	ut_lock(&w->h[0].dev.lock);
	CHECK(w->h[0].port.ops->bind(&w->h[0].port, &b, &e) == 0);
	ut_unlock(&w->h[0].dev.lock);
	port = e->local.port;
	s = second_try(w, e, true);
	CHECK(s->s.remote.port == port && e->local.port == port);
	/* There is no third. */
	pipe_end(s, false);
	mw_run(w);
	mw_want(w, 0, CM_EV_REJECTED, -ECONNRESET);
	mw_quiet(w);
	mw_close(w);
}

static const struct test_case cases[] = {
	{ "-", "we listen", we_listen },
	{ "-", "we connect", we_connect },
	{ "-", "a responder that knows only revision 1", old_responder },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}
