/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two of our managers with each other: every combination of an end's demands. */
#include "support/cases.h"
#include "support/check.h"
#include "support/mpaworld.h"
#include "util/clock.h"

static struct cm_param wish(uint8_t ird, uint8_t ord, const char *text)
{
	return (struct cm_param){ .qp_type = IBV_QPT_RC, .responder_resources = ird,
				  .initiator_depth = ord, .private_data = text,
				  .private_len = (uint16_t)strlen(text) };
}

static void is_text(const struct mw_event *ev, const char *text)
{
	CHECK(ev->param.private_len == strlen(text));
	CHECK(!memcmp(ev->data, text, strlen(text)));
}

struct combination {
	struct mpa_config a, b;
	uint8_t ird_a, ord_a, ird_b, ord_b;
	size_t cut;
};

static void check_terms(const struct combination *c, const struct mw_qp *a, const struct mw_qp *b)
{
	const struct proto_stream_params *p = &a->params, *q = &b->params;
	bool rtr = c->a.revision == 2 && c->a.rtr;

	CHECK(p->initiator && !q->initiator);
	CHECK(p->crc == (c->a.crc || c->b.crc) && q->crc == p->crc);
	CHECK(p->markers_rx == c->a.markers && q->markers_tx == c->a.markers);
	CHECK(q->markers_rx == c->b.markers && p->markers_tx == c->b.markers);
	CHECK((p->rtr != PROTO_RTR_NONE) == rtr && p->rtr == q->rtr);
	if (rtr)
		CHECK(p->rtr == (c->a.rtr & 1u << PROTO_RTR_WRITE ? PROTO_RTR_WRITE :
								    PROTO_RTR_READ));
	CHECK(q->await_first == !rtr);
	CHECK(b->n == (rtr ? 1u : 0u) && a->n == 0);
	if (c->a.revision == 1)
		return;
	CHECK(p->ord <= q->ird && q->ord <= p->ird);
	if (p->rtr == PROTO_RTR_READ)
		CHECK(p->ord >= 1);
	else
		CHECK(p->ord == c->ord_a);
	CHECK(q->ord == (c->ord_b < c->ird_a ? c->ord_b : c->ird_a));
}

static void run_combination(const struct combination *c)
{
	struct mpa_world *w = mw_open(&c->a, &c->b);
	struct cm_ep *l = mw_listen(&w->h[1], 0), *e = mw_create(&w->h[0]);
	struct cm_param p = wish(c->ird_a, c->ord_a, "ping"), q = wish(c->ird_b, c->ord_b, "pong!");
	struct mw_event *ev;
	bool plain = c->a.revision == 1;

	w->net.cut = c->cut;
	CHECK(mw_connect(e, &l->local, &p) == 0);
	mw_run(w);
	ev = mw_want(w, 1, CM_EV_REQUEST, 0);
	mw_quiet(w);
	is_text(ev, "ping");
	CHECK(ev->listener == l && ev->ep->service == l->service);
	CHECK(!memcmp(&ev->ep->remote, &e->local, sizeof(e->local)));
	CHECK(ev->param.initiator_depth == (plain ? c->b.rd_max : c->ird_a));
	if (plain)
		CHECK(ev->param.responder_resources == c->b.rd_max);
	else
		CHECK(ev->param.responder_resources >= c->ord_a &&
		      ev->param.responder_resources <= (c->ord_a ? c->ord_a : 1));
	CHECK(mw_accept(ev->ep, &q) == 0);
	mw_run(w);
	/* Without an RTR the Reply alone makes the passive side ready. */
	mw_swap(w, 0);
	ev = mw_want(w, 0, CM_EV_ESTABLISHED, 0);
	is_text(ev, "pong!");
	CHECK(ev->param.initiator_depth == mw_qp(&w->h[0], p.qpn)->params.ord);
	CHECK(ev->param.responder_resources == mw_qp(&w->h[0], p.qpn)->params.ird);
	ev = mw_want(w, 1, CM_EV_ESTABLISHED, 0);
	CHECK(ev->param.initiator_depth == mw_qp(&w->h[1], q.qpn)->params.ord);
	CHECK(ev->param.responder_resources == mw_qp(&w->h[1], q.qpn)->params.ird);
	mw_quiet(w);
	check_terms(c, mw_qp(&w->h[0], p.qpn), mw_qp(&w->h[1], q.qpn));
	CHECK(mw_disconnect(e) == 0 && mw_disconnect(e) == 0);
	mw_pass(w, 100 * UT_S);
	mw_swap(w, 0);
	mw_want(w, 0, CM_EV_DISCONNECTED, 0);
	mw_want(w, 1, CM_EV_DISCONNECTED, 0);
	mw_quiet(w);
	mw_close(w);
}

static void every_flag(void)
{
	static const unsigned kinds[] = { 0, 1u << PROTO_RTR_WRITE, 1u << PROTO_RTR_READ,
					  1u << PROTO_RTR_WRITE | 1u << PROTO_RTR_READ,
					  1u << PROTO_RTR_SEND };

	for (unsigned bits = 0; bits < 64; bits++)
		for (unsigned k = 0; k < 5; k++) {
			struct combination c = { .a = mw_config(), .b = mw_config(), .ird_a = 3,
						 .ord_a = 2, .ird_b = 2, .ord_b = 5,
						 .cut = bits & 32 ? 1 : 0 };

			if (kinds[k] == 1u << PROTO_RTR_SEND)
				c.a.rtr = 0; /* never offered, so there is no such thing */
			else
				c.a.rtr = kinds[k];
			c.a.crc = bits & 1;
			c.a.markers = bits & 2;
			c.b.crc = bits & 4;
			c.b.markers = bits & 8;
			c.a.revision = bits & 16 ? 1 : 2;
			run_combination(&c);
		}
}

static void every_depth(void)
{
	static const uint8_t v[] = { 0, 1, 2, 7, 16 };

	for (unsigned i = 0; i < 625; i++) {
		struct combination c = { .a = mw_config(), .b = mw_config(),
					 .ird_a = v[i % 5], .ord_a = v[i / 5 % 5],
					 .ird_b = v[i / 25 % 5], .ord_b = v[i / 125] };

		if (i & 1)
			c.a.rtr = 1u << PROTO_RTR_READ;
		run_combination(&c);
	}
}

static const struct test_case cases[] = {
	{ "-", "every combination of flags", every_flag },
	{ "-", "every combination of depths", every_depth },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}
