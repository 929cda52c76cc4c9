/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * MPA negotiation against any bytes in any cut, as responder and as initiator. An endpoint must get
 * at most one established and one disconnected event, negotiated depths stay within the limits of the
 * adapter, and no object is left when the managers end.
 *
 * First byte: 1 = the fuzzed side connects, 2 = the peer resets at the end, 4 = the user rejects, 8 =
 * a key is put in front, upper bits = bytes that arrive at a time. Second byte: configuration of the
 * fuzzed side; 32 = half a minute passes before the peer ends the stream, 64 = the fuzzed side has little
 * room to send, 128 = the peer ends the first connection and takes another one. The rest is the stream.
 *
 * 128 in the second byte without 1 in the first: the rest is a list of operations (enum op) with their arguments, by
 * which a program listens, answers, connects, hands streams over and destroys while several peers connect, send, wait
 * and leave. No endpoint gets an event behind its end or after it was destroyed.
 */
#include "cm/mpa/adopt.h"
#include "input.h"
#include "support/check.h"
#include "support/mpaworld.h"
#include "util/clock.h"

static struct mpa_config config_of(uint8_t b)
{
	struct mpa_config c = mw_config();

	c.crc = b & 1;
	c.markers = b & 2;
	c.revision = b & 4 ? 1 : 2;
	c.rtr = (unsigned)(b >> 3 & 3) << PROTO_RTR_WRITE;
	return c;
}

static struct pipe_stream *peer_of(struct mpa_world *w, bool active)
{
	struct cm_param p = { .qp_type = IBV_QPT_RC, .responder_resources = 4,
			      .initiator_depth = 4 };
	struct link_end to;
	struct cm_ep *l;

	if (!active) {
		l = mw_listen(&w->h[0], 0);
		return pipe_connect(&w->net.place[MPA_RAW], &l->local);
	}
	to = mw_raw_listen(w);
	CHECK(mw_connect(mw_create(&w->h[0]), &to, &p) == 0);
	mw_run(w);
	return pipe_accept(&w->net.place[MPA_RAW]);
}

static void check_terms(const struct mw_host *h)
{
	for (int i = 0; i < h->nqps; i++) {
		const struct mw_qp *q = eng_qp_proto(h->qps[i]);

		CHECK(!q->attached || (q->params.ird <= 16 && q->params.ord <= 16));
	}
}

static void check_events(const struct mpa_world *w)
{
	int opened = 0, ended = 0;

	for (int i = 0; i < w->n; i++) {
		opened += w->ev[i].type == CM_EV_ESTABLISHED;
		ended += w->ev[i].type != CM_EV_ESTABLISHED && w->ev[i].type != CM_EV_REQUEST;
	}
	CHECK(opened <= 1 && ended <= 1 && w->n <= 3);
}

static void make_room(struct mpa_world *w)
{
	struct pipe_stream *s;

	ut_list_each(s, &w->net.place[0].streams, node)
		s->room = SIZE_MAX;
	mw_run(w);
}

/* The initiator may try once more, as with an older peer. */
static struct pipe_stream *next_of(struct mpa_world *w, struct pipe_stream *s)
{
	struct pipe_stream *next;

	pipe_end(s, false);
	mw_run(w);
	next = pipe_accept(&w->net.place[MPA_RAW]);
	return next ? next : s;
}

/* --- operations --- */

enum { OPS_MAX = 100, EPS = 64, PEERS = 16, FLOOD = 300 };
enum op {
	CONNECT_PEER, PUT, PUT_REQUEST, PUT_REPLY, END_PEER, PASS, ACCEPT, REJECT, DESTROY, DISCONNECT, LISTEN, CONNECT, TAKE,
	ADOPT, ROOM, FAIL, MANNER, MANY, END_QP, LOCAL, OPS
};

static const uint8_t private_data[256];
static const int failures[] = { -ENOMEM, -ECONNRESET, -ETIMEDOUT, -ECONNREFUSED, -EPIPE };

/* An endpoint that the program has, and what it was told of it. */
struct known {
	struct cm_ep *ep;
	int opened, ended;
};

static struct {
	struct mpa_world *w;
	struct input in;
	struct known eps[EPS];
	struct pipe_stream *peers[PEERS];
	struct link_streams_ops ops; /* of the fuzzed side's place, with a local way */
	unsigned n_peers, adopted, done;
	bool flooded; /* once: each round looks at every stream */
} m;

static struct known *known_of(const struct cm_ep *ep)
{
	for (int i = 0; i < EPS; i++)
		if (m.eps[i].ep == ep)
			return &m.eps[i];
	return NULL;
}

static void learn(struct cm_ep *ep)
{
	struct known *k = known_of(NULL);

	if (k)
		*k = (struct known){ .ep = ep };
	else
		mw_destroy(ep);
}

/* Runs, and looks at the new events. */
static void settle(void)
{
	struct mpa_world *w = m.w;

	mw_run(w);
	for (; w->seen < w->n; w->seen++) {
		const struct mw_event *x = &w->ev[w->seen];
		struct known *k = known_of(x->ep);

		if (x->type == CM_EV_REQUEST) {
			CHECK(!k);
			if (x->h->answer == MW_KEEP)
				learn(x->ep);
			continue;
		}
		CHECK(k);
		k->opened += x->type == CM_EV_ESTABLISHED;
		k->ended += x->type != CM_EV_ESTABLISHED;
		CHECK(k->opened <= 1 && k->ended <= 1 && !(x->type == CM_EV_ESTABLISHED && k->ended));
	}
}

static struct known *pick_known(void)
{
	struct known *k = &m.eps[in8(&m.in) % EPS];

	return k->ep ? k : NULL;
}

/* Its mate may be gone; a raw stream itself lives as long as its place. */
static struct pipe_stream *pick_peer(void)
{
	return m.peers[in8(&m.in) % PEERS];
}

static void keep_peer(struct pipe_stream *s)
{
	if (s)
		m.peers[m.n_peers++ % PEERS] = s;
}

/* A frame whose length is as it says. */
static void put_frame(struct pipe_stream *s, const uint8_t *key)
{
	uint8_t frame[WIRE_MPA_FRAME_MAX];
	uint8_t flags = in8(&m.in), rev = in8(&m.in) % 4;
	size_t n = in8(&m.in);

	memset(frame, 0, sizeof(frame));
	memcpy(frame, key, WIRE_MPA_KEY_LEN);
	frame[16] = flags;
	frame[17] = rev;
	frame[19] = (uint8_t)n;
	in_fill(&m.in, frame + 20, n);
	if (s)
		pipe_put(s, frame, 20 + n);
}

static void put_bytes(struct pipe_stream *s)
{
	size_t n = in8(&m.in);
	const uint8_t *at = in_bytes(&m.in, &n);

	if (s && n)
		pipe_put(s, at, n);
}

static void program_connects(void)
{
	uint8_t how = in8(&m.in);
	struct cm_param p = { .qp_type = how & 4 ? IBV_QPT_UD : IBV_QPT_RC, .responder_resources = how, .initiator_depth = 4,
			      .private_data = private_data, .private_len = how & 8 ? 20 : 0 };
	unsigned failing = m.w->net.failing;
	struct cm_ep *ep = mw_create(&m.w->h[0]);
	struct link_end to;

	m.w->net.failing = 0; /* the peer's own calls succeed */
	to = mw_raw_listen(m.w);
	m.w->net.failing = failing;
	if (how & 1)
		to.port = 9; /* no listener there */
	if (how & 2)
		p.qpn = 0xfffff;
	learn(ep);
	if (known_of(ep))
		mw_connect(ep, &to, &p);
}

static void told(void *arg, int error, const struct cm_param *peer)
{
	CHECK(arg == &m && ++m.done <= m.adopted);
	(void)error;
	(void)peer;
}

static void hand_over(void)
{
	uint8_t how = in8(&m.in);
	struct proto_stream_params params = { .ird = 4, .ord = how & 16 ? 40 : 4, .crc = how & 4, .markers_rx = how & 8 };
	struct cm_param p = { .private_data = private_data, .private_len = how & 32 ? 20 : 0 };
	struct mw_host *h = &m.w->h[0];
	struct link_stream *ours, *theirs;
	struct eng_qp *qp;

	pipe_pair(h->place, &m.w->net.place[MPA_RAW], &ours, &theirs);
	keep_peer(pipe_of(theirs));
	if (how & 64)
		pipe_of(ours)->room = 4;
	ut_lock(&h->dev.lock);
	qp = mw_qp_new(h, IBV_QPT_RC);
	m.adopted++;
	mpa_adopt(&h->port, qp, ours, how % 3, &params, how & 128 ? NULL : &p, told, &m);
	ut_unlock(&h->dev.lock);
}

static void end_qp(void)
{
	struct mw_host *h = &m.w->h[0];
	unsigned i = in8(&m.in);

	if (!h->nqps)
		return;
	i %= (unsigned)h->nqps;
	CHECK(eng_qp_destroy(h->qps[i]) == 0);
	h->qps[i] = h->qps[--h->nqps];
}

static bool has_local_way(struct link_stream *s, bool active)
{
	(void)s;
	return active;
}

static void answer_one(enum op op)
{
	struct known *k = pick_known();
	struct cm_param p = { .qp_type = IBV_QPT_RC, .responder_resources = in8(&m.in), .initiator_depth = 4 };

	if (!k)
		return;
	if (op == ACCEPT)
		mw_accept(k->ep, &p);
	else if (op == REJECT)
		mw_reject(k->ep, private_data, p.responder_resources);
	else if (op == DISCONNECT)
		mw_disconnect(k->ep);
	if (op != DESTROY)
		return;
	mw_destroy(k->ep);
	*k = (struct known){ 0 };
}

static void listen_again(void)
{
	struct known *k = pick_known();
	int backlog = in8(&m.in) % 4;

	if (!k)
		return;
	ut_lock(&m.w->h[0].dev.lock);
	k->ep->port->ops->listen(k->ep, backlog);
	ut_unlock(&m.w->h[0].dev.lock);
}

static void connect_peers(unsigned n)
{
	struct known *k = pick_known();
	unsigned failing = m.w->net.failing;

	m.w->net.failing = 0; /* the peer's own calls succeed */
	while (k && n--)
		keep_peer(pipe_connect(&m.w->net.place[MPA_RAW], &k->ep->local));
	m.w->net.failing = failing;
}

static void give_room(void)
{
	size_t n = in8(&m.in);
	struct pipe_stream *s;

	ut_list_each(s, &m.w->net.place[0].streams, node)
		s->room = n == 255 ? SIZE_MAX : n;
}

static void fail_later(void)
{
	m.w->net.failing = in8(&m.in) % 8;
	m.w->net.failure = failures[in8(&m.in) % 5];
}

static void end_peer(struct pipe_stream *s)
{
	bool reset = in8(&m.in) & 1;

	if (s)
		pipe_end(s, reset);
}

static void run(enum op op)
{
	static const enum mw_answer manners[] = { MW_KEEP, MW_REFUSE, MW_DESTROY };

	switch (op) {
	case CONNECT_PEER:
		connect_peers(1);
		break;
	case MANY:
		connect_peers(m.flooded ? 1 : FLOOD);
		m.flooded = true;
		break;
	case PUT:
		put_bytes(pick_peer());
		break;
	case PUT_REQUEST:
		put_frame(pick_peer(), wire_mpa_request_key);
		break;
	case PUT_REPLY:
		put_frame(pick_peer(), wire_mpa_reply_key);
		break;
	case END_PEER:
		end_peer(pick_peer());
		break;
	case PASS:
		mw_pass(m.w, in8(&m.in) * UT_S / 4);
		break;
	case ACCEPT:
	case REJECT:
	case DESTROY:
	case DISCONNECT:
		answer_one(op);
		break;
	case LISTEN:
		listen_again();
		break;
	case CONNECT:
		program_connects();
		break;
	case TAKE:
		keep_peer(pipe_accept(&m.w->net.place[MPA_RAW]));
		break;
	case ADOPT:
		hand_over();
		break;
	case ROOM:
		give_room();
		break;
	case FAIL:
		fail_later();
		break;
	case MANNER:
		m.w->h[0].answer = manners[in8(&m.in) % 3];
		break;
	case END_QP:
		end_qp();
		break;
	default:
		m.ops.local = in8(&m.in) & 1 ? has_local_way : link_streams_no_local;
	}
}

static int run_operations(const struct mpa_config *cfg, const uint8_t *data, size_t size)
{
	memset(&m, 0, sizeof(m));
	m.in = (struct input){ data, data + size };
	m.w = mw_open(cfg, NULL);
	m.ops = *m.w->net.place[0].s.ops;
	m.w->net.place[0].s.ops = &m.ops;
	m.w->h[0].answer = MW_KEEP;
	learn(mw_listen(&m.w->h[0], in8(&m.in) % 4));
	for (int i = 0; i < OPS_MAX && m.in.at < m.in.end; i++) {
		run(in8(&m.in) % OPS);
		settle();
	}
	m.w->net.failing = 0;
	mw_pass(m.w, 100 * UT_S);
	settle();
	mw_close(m.w);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mpa_config cfg;
	struct mpa_world *w;
	struct pipe_stream *s;

	if (size < 2)
		return 0;
	cfg = config_of(data[1]);
	if (data[1] & 128 && !(data[0] & 1))
		return run_operations(&cfg, data + 2, size - 2);
	w = mw_open(&cfg, NULL);
	w->h[0].answer = data[0] & 4 ? MW_REJECT : MW_ACCEPT;
	w->net.cut = data[0] >> 4;
	w->net.room = data[1] & 64 ? 10 : 0;
	s = peer_of(w, data[0] & 1);
	if (data[1] & 128 && data[0] & 1)
		s = next_of(w, s);
	if (data[0] & 8)
		pipe_put(s, data[0] & 1 ? wire_mpa_reply_key : wire_mpa_request_key,
			 WIRE_MPA_KEY_LEN);
	pipe_put(s, data + 2, size - 2);
	mw_run(w);
	if (data[1] & 64)
		make_room(w);
	check_terms(&w->h[0]);
	if (data[1] & 32)
		mw_pass(w, 30 * UT_S);
	pipe_end(s, data[0] & 2);
	mw_pass(w, 30 * UT_S);
	check_events(w);
	mw_close(w);
	return 0;
}
