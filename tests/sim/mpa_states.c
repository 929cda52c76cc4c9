/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every pair of states that two ends of an iWARP connection can be in, and the acts there: either
 * end is destroyed, disconnects, rejects, the stream ends or is reset, or nothing happens. In each
 * case an endpoint gets one event for its end at most, none waits for ever, no stream is forgotten.
 */
#include "cm/mpa/ep.h"
#include "support/cases.h"
#include "support/check.h"
#include "support/mpaworld.h"
#include "util/clock.h"

static struct mpa_world *w;
static struct cm_ep *listener, *client, *server; /* server: once its user knows it */
static struct cm_param ours;
static int mark;      /* events before the act */
static bool answered; /* the server's user has rejected */
static bool asked;    /* both have disconnected, maybe before the connection stood */

static struct cm_param rc(void)
{
	return (struct cm_param){ .qp_type = IBV_QPT_RC, .responder_resources = 1,
				  .initiator_depth = 1 };
}

/* The passive endpoint, its user may know it or not. */
static struct mpa_ep *passive(void)
{
	struct mpa_ep *e;

	for (struct ut_list *n = mpa_of(&w->h[1].port)->eps.prev;
	     n != &mpa_of(&w->h[1].port)->eps; n = n->prev) {
		e = ut_container(n, struct mpa_ep, node);
		if (&e->ep != listener)
			return e;
	}
	return NULL;
}

static void settle(void)
{
	mw_run(w);
	for (int i = 0; i < w->n; i++)
		if (w->ev[i].type == CM_EV_REQUEST)
			server = w->ev[i].ep;
}

static void ask(void)
{
	client = mw_create(&w->h[0]);
	ours = rc();
	CHECK(mw_connect(client, &listener->local, &ours) == 0);
	settle();
}

/* --- ways into each pair --- */

static void silence(void)
{
	struct link_end to = listener->local;

	to.addr[15] = PIPES_SILENT;
	client = mw_create(&w->h[0]);
	ours = rc();
	CHECK(mw_connect(client, &to, &ours) == 0);
	settle();
}

static void half_asked(void)
{
	w->net.room = 10;
	ask();
}

static void must_wait(void)
{
	ask();
	ask();
	server = NULL; /* the other one's */
}

static void answer(bool accept, size_t room)
{
	struct cm_param p = rc();

	pipe_of(mpa_ep_of(server)->stream)->room = room;
	if (accept)
		CHECK(mw_accept(server, &p) == 0);
	else
		CHECK(mw_reject(server, NULL, 0) == 0);
	answered = !accept;
	settle();
}

static void accepting(void)
{
	ask();
	answer(true, 5);
}

static void rejecting(void)
{
	ask();
	answer(false, 5);
}

static void rejected(void)
{
	ask();
	answer(false, SIZE_MAX);
}

static void not_ready(void)
{
	ask();
	mw_qp(&w->h[0], ours.qpn)->silent = true;
	answer(true, SIZE_MAX);
}

static void connected(void)
{
	ask();
	answer(true, SIZE_MAX);
}

static void client_closing(void)
{
	connected();
	CHECK(mw_disconnect(client) == 0);
}

static void server_closing(void)
{
	connected();
	CHECK(mw_disconnect(server) == 0);
}

static void both_closing(void)
{
	client_closing();
	CHECK(mw_disconnect(server) == 0);
}

static void over(void)
{
	client_closing();
	settle();
}

static const struct {
	const char *name;
	void (*reach)(void);
	int client, server; /* -1: there is none */
} pairs[] = {
	{ "TCP asks", silence, MPA_CONNECTING, -1 },
	{ "half a Request", half_asked, MPA_WAIT_REPLY, MPA_WAIT_REQUEST },
	{ "a full backlog", must_wait, MPA_WAIT_REPLY, MPA_WAIT_TURN },
	{ "Request", ask, MPA_WAIT_REPLY, MPA_WAIT_USER },
	{ "half a Reply", accepting, MPA_WAIT_REPLY, MPA_ACCEPTING },
	{ "half a refusal", rejecting, MPA_WAIT_REPLY, MPA_REJECTING },
	{ "refused", rejected, MPA_OVER, MPA_OVER },
	{ "no RTR", not_ready, MPA_ESTABLISHED, MPA_WAIT_RTR },
	{ "connected", connected, MPA_ESTABLISHED, MPA_ESTABLISHED },
	/* The stand-in below the QP ends at once; the user has no event yet. */
	{ "the client leaves", client_closing, MPA_OVER, MPA_ESTABLISHED },
	{ "the server leaves", server_closing, MPA_ESTABLISHED, MPA_OVER },
	{ "both leave", both_closing, MPA_OVER, MPA_OVER },
	{ "over", over, MPA_OVER, MPA_OVER },
};

#define NR_PAIRS (sizeof(pairs) / sizeof(pairs[0]))

static void at(size_t k)
{
	fprintf(stderr, "#   %s\n", pairs[k].name);
	w = mw_open(NULL, NULL);
	listener = mw_listen(&w->h[1], 1);
	client = server = NULL;
	answered = asked = false;
	pairs[k].reach();
	CHECK_MSG((int)mpa_ep_of(client)->state == pairs[k].client, "client is %d",
		  mpa_ep_of(client)->state);
	CHECK_MSG((passive() ? (int)passive()->state : -1) == pairs[k].server, "server is %d",
		  passive() ? (int)passive()->state : -1);
	mark = w->n;
}

/* Events for an end that an endpoint got; checks its other events. */
static int ends_of(const struct cm_ep *ep)
{
	int opened = 0, ends = 0;

	for (int i = 0; i < w->n; i++) {
		if (w->ev[i].ep != ep || w->ev[i].type == CM_EV_REQUEST)
			continue;
		CHECK_MSG(!ends, "event %d after the end", w->ev[i].type);
		opened += w->ev[i].type == CM_EV_ESTABLISHED;
		ends += w->ev[i].type != CM_EV_ESTABLISHED;
		if (w->ev[i].type == CM_EV_DISCONNECTED)
			CHECK(opened == 1 || asked);
	}
	CHECK(opened <= 1);
	return ends;
}

static void silent(const struct cm_ep *gone)
{
	for (int i = mark; i < w->n; i++)
		CHECK_MSG(w->ev[i].ep != gone, "event %d for an endpoint that was destroyed", w->ev[i].type);
}

static bool stands(const struct cm_ep *a, const struct cm_ep *b)
{
	return a && b && mpa_ep_of((struct cm_ep *)a)->state == MPA_ESTABLISHED &&
	       mpa_ep_of((struct cm_ep *)b)->state == MPA_ESTABLISHED;
}

/* Room again, and time for everything; c, s: those that are still there. */
static void finish(struct cm_ep *c, struct cm_ep *s)
{
	struct pipe_stream *p;

	for (int i = 0; i < 2; i++)
		ut_list_each(p, &w->net.place[i].streams, node) {
			p->room = SIZE_MAX;
			if (p->s.remote.addr[15] == PIPES_SILENT)
				p->error = ETIMEDOUT; /* TCP's own time limit */
		}
	mw_pass(w, 200 * UT_S);
	if (c) {
		CHECK_MSG(ends_of(c) == (stands(c, s) ? 0 : 1), "client: %d ends, state %d",
			  ends_of(c), mpa_ep_of(c)->state);
		CHECK(stands(c, s) || mpa_ep_of(c)->state == MPA_OVER);
	} else {
		silent(client);
	}
	if (s && mpa_ep_of(s)->state == MPA_WAIT_USER)
		CHECK(!ends_of(s)); /* accept will say it */
	else if (s)
		CHECK_MSG(ends_of(s) == (stands(c, s) || answered ? 0 : 1),
			  "server: %d ends, state %d", ends_of(s), mpa_ep_of(s)->state);
	else if (server)
		silent(server);
	mw_close(w);
}

/* --- acts there --- */

static void destroy_client(void)
{
	for (size_t k = 0; k < NR_PAIRS; k++) {
		at(k);
		mw_destroy(client);
		finish(NULL, server);
	}
}

static void destroy_server(void)
{
	for (size_t k = 0; k < NR_PAIRS; k++) {
		at(k);
		if (server)
			mw_destroy(server);
		finish(client, NULL);
	}
}

static void destroy_both(void)
{
	for (size_t k = 0; k < NR_PAIRS; k++) {
		at(k);
		mw_destroy(client);
		if (server)
			mw_destroy(server);
		finish(NULL, NULL);
	}
}

static void destroy_listener(void)
{
	for (size_t k = 0; k < NR_PAIRS; k++) {
		at(k);
		mw_destroy(listener);
		finish(client, server);
	}
}

static void left_alone(void)
{
	for (size_t k = 0; k < NR_PAIRS; k++) {
		at(k);
		finish(client, server);
	}
}

static void stream_ends(void)
{
	for (size_t k = 0; k < 2 * NR_PAIRS; k++) {
		struct pipe_stream *p, *next;

		at(k / 2);
		ut_list_each_safe(p, next, &w->net.place[0].streams, node) {
			if (p->dead || !p->mate)
				continue;
			/* Both hear of it. */
			pipe_end(p, k & 1);
			if (k & 1)
				p->error = ECONNRESET;
			else
				p->fin = true;
		}
		finish(client, server);
	}
}

static void disconnect_each(void)
{
	for (size_t k = 0; k < NR_PAIRS; k++) {
		int c = pairs[k].client, s = pairs[k].server;
		bool refused = pairs[k].reach == rejected;

		/* Once more is no mistake. */
		at(k);
		asked = true;
		CHECK(mw_disconnect(client) ==
		      ((c == MPA_ESTABLISHED || c == MPA_OVER) && !refused ? 0 : -EINVAL));
		if (server)
			CHECK(mw_disconnect(server) ==
			      ((s == MPA_WAIT_RTR || s == MPA_ESTABLISHED || s == MPA_OVER) &&
			       !refused ? 0 : -EINVAL));
		finish(client, server);
	}
}

static void answer_each(void)
{
	for (size_t k = 0; k < 2 * NR_PAIRS; k++) {
		bool fits = pairs[k / 2].server == MPA_WAIT_USER, accept = k & 1;
		struct cm_param p = rc();

		at(k / 2);
		CHECK(mw_accept(client, &p) == -EINVAL && mw_reject(client, NULL, 0) == -EINVAL);
		if (server) {
			p = rc();
			CHECK((accept ? mw_accept(server, &p) : mw_reject(server, NULL, 0)) ==
			      (fits ? 0 : -EINVAL));
			answered |= fits && !accept;
		}
		finish(client, server);
	}
}

/* --- the events of an end, beside those of the kernel's iw_cm, rdma_cm and siw --- */

enum { FIN, RST, PEER_LEAVES, LEAVES };
#define NOTHING (-1)

static const struct {
	void (*reach)(void);
	bool of_server; /* whose events */
	int what, event, kernel;
	const char *why; /* they differ */
} told[] = {
	{ ask, false, FIN, CM_EV_UNREACHABLE, CM_EV_REJECTED,
	  "it is asked once more, by a Request of revision 1, which has no answer here" },
	{ ask, false, RST, CM_EV_UNREACHABLE, CM_EV_REJECTED,
	  "it is asked once more, by a Request of revision 1, which has no answer here" },
	/* A user that has not answered hears of it from accept. */
	{ ask, true, FIN, NOTHING, NOTHING, NULL },
	{ ask, true, RST, NOTHING, NOTHING, NULL },
	{ connected, false, FIN, CM_EV_DISCONNECTED, CM_EV_DISCONNECTED, NULL },
	{ connected, true, FIN, CM_EV_DISCONNECTED, CM_EV_DISCONNECTED, NULL },
	{ connected, false, RST, CM_EV_DISCONNECTED, CM_EV_DISCONNECTED, NULL },
	{ connected, true, RST, CM_EV_DISCONNECTED, CM_EV_DISCONNECTED, NULL },
	/* TCP's end is its own answer: neither end waits for the other's user. */
	{ connected, false, LEAVES, CM_EV_DISCONNECTED, CM_EV_DISCONNECTED, NULL },
	{ connected, true, PEER_LEAVES, CM_EV_DISCONNECTED, CM_EV_DISCONNECTED, NULL },
	{ connected, true, LEAVES, CM_EV_DISCONNECTED, CM_EV_DISCONNECTED, NULL },
	{ connected, false, PEER_LEAVES, CM_EV_DISCONNECTED, CM_EV_DISCONNECTED, NULL },
	{ not_ready, true, FIN, CM_EV_ERROR, CM_EV_DISCONNECTED,
	  "it has not been told ESTABLISHED, which siw tells before the RTR" },
};

static void end_streams(bool reset)
{
	struct pipe_stream *p, *next;

	ut_list_each_safe(p, next, &w->net.place[0].streams, node) {
		if (p->dead || !p->mate)
			continue;
		pipe_end(p, reset);
		if (reset)
			p->error = ECONNRESET;
		else
			p->fin = true;
	}
}

static void told_each(void)
{
	for (size_t k = 0; k < sizeof(told) / sizeof(told[0]); k++) {
		const struct cm_ep *ep;
		int event = NOTHING;

		fprintf(stderr, "#   row %zu\n", k);
		w = mw_open(NULL, NULL);
		listener = mw_listen(&w->h[1], 1);
		client = server = NULL;
		answered = asked = false;
		told[k].reach();
		ep = told[k].of_server ? server : client;
		mark = w->n;
		if (told[k].what < PEER_LEAVES)
			end_streams(told[k].what == RST);
		else
			CHECK(mw_disconnect((told[k].what == LEAVES) == told[k].of_server ? server : client) == 0);
		mw_pass(w, 20 * UT_S);
		for (int i = mark; i < w->n; i++)
			if (w->ev[i].ep == ep)
				event = (int)w->ev[i].type;
		CHECK_MSG(event == told[k].event, "event %d", event);
		CHECK(told[k].why || told[k].event == told[k].kernel);
		mw_close(w);
	}
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "-", "the client is destroyed in each pair of states", destroy_client },
		{ "-", "the server is destroyed in each", destroy_server },
		{ "-", "both are destroyed in each", destroy_both },
		{ "-", "the listener goes in each", destroy_listener },
		{ "-", "nothing happens in each", left_alone },
		{ "-", "FIN and RST in each", stream_ends },
		{ "-", "the events of an end, as the kernel's", told_each },
		{ "-", "disconnect in each", disconnect_each },
		{ "-", "accept and reject in each", answer_each },
	};

	return RUN_CASES(cases, argc, argv);
}
