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
 */
#include "support/check.h"
#include "support/mpaworld.h"
#include "util/clock.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct mpa_config cfg;
	struct mpa_world *w;
	struct pipe_stream *s;

	if (size < 2)
		return 0;
	cfg = config_of(data[1]);
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
