/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Neighbours and groups of an interface under virtual time. */
#include "neighbours.h"

#include <stdint.h>

#include "groups.h"
#include "support/cases.h"
#include "support/check.h"
#include "util/clock.h"
#include "util/heap.h"

static const uint8_t a[16] = { [10] = 0xff, 0xff, 198, 18, 0, 3 }, b[16] = { [10] = 0xff, 0xff, 239, 1, 2, 3 };
static const uint8_t hw1[HW_LEN] = { 0, 1 }, hw2[HW_LEN] = { 0, 2 };
static int way1, way2;

struct world {
	struct neighbours t;
	struct groups g;
	int asked, sent, lost, dropped, joined, left, told;
	uint64_t number;
	bool full;
	uint8_t last;
	uint64_t now;
};

static void ask(void *ctx, const uint8_t ip[16])
{
	((struct world *)ctx)->asked++;
}

static void route(void *ctx, struct neigh *n)
{
	((struct world *)ctx)->number = n->number;
}

static void send(void *ctx, struct neigh *n, const uint8_t *frame, size_t len)
{
	struct world *w = ctx;

	CHECK(n->way && len == 1);
	w->sent++;
	w->last = *frame;
}

static void give_up(void *ctx, const uint8_t *frame, size_t len)
{
	((struct world *)ctx)->lost++;
}

static void drop(void *ctx, void *way)
{
	((struct world *)ctx)->dropped++;
}

static const struct neigh_ops ops = { ask, route, send, give_up, drop };

static void begin(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->now = 1000 * UT_S;
	neigh_init(&w->t, &ops, w);
}

static void push(struct world *w, uint8_t byte)
{
	neigh_send(&w->t, a, &byte, 1, w->now);
}

/* Goes on to each deadline until `until`. */
static void pass(struct world *w, uint64_t until)
{
	while (neigh_deadline(&w->t) <= until) {
		w->now = neigh_deadline(&w->t);
		neigh_run(&w->t, w->now);
	}
	w->now = until;
}

static void learn_and_route(struct world *w)
{
	neigh_learn(&w->t, a, hw1, false, w->now);
	CHECK(w->number);
	neigh_routed(&w->t, w->number, &way1, w->now);
}

static void resolves(void)
{
	struct world w;

	begin(&w);
	CHECK(!neigh_ready(&w.t, a, w.now));
	push(&w, 1);
	push(&w, 2);
	CHECK(w.asked == 1 && !w.sent);
	learn_and_route(&w);
	CHECK(w.sent == 2 && w.last == 2 && neigh_ready(&w.t, a, w.now));
	push(&w, 3);
	CHECK(w.sent == 3 && w.asked == 1);
	/* Another address (the other end was started anew): the old way is dropped, frames wait for the new one. */
	neigh_learn(&w.t, a, hw2, false, w.now);
	CHECK(w.dropped == 1 && !neigh_ready(&w.t, a, w.now));
	push(&w, 4);
	neigh_routed(&w.t, w.number, &way2, w.now);
	CHECK(w.sent == 4 && w.last == 4);
	neigh_fini(&w.t);
	CHECK(w.dropped == 2 && !w.lost);
}

/* Three questions, then what waited is given up; of more frames than may wait the oldest is lost without a word. */
static void silent(void)
{
	struct world w;

	begin(&w);
	for (unsigned i = 0; i < NEIGH_WAITING + 3; i++)
		push(&w, 1);
	pass(&w, w.now + 10 * UT_S);
	CHECK(w.asked == NEIGH_ASK_TIMES && w.lost == (int)NEIGH_WAITING && w.t.n == 0);
	CHECK(neigh_deadline(&w.t) == UT_NEVER);
	push(&w, 1);
	CHECK(w.asked == NEIGH_ASK_TIMES + 1);
	/* No path: the same. */
	neigh_learn(&w.t, a, hw1, false, w.now);
	neigh_routed(&w.t, w.number, NULL, w.now);
	CHECK(w.lost == (int)NEIGH_WAITING + 1 && w.t.n == 0);
	neigh_fini(&w.t);
}

static void confirms(void)
{
	struct world w;
	uint64_t end;

	begin(&w);
	push(&w, 1);
	learn_and_route(&w);
	/* Used for two minutes: asked for again each half minute, while frames go on. */
	for (end = w.now + 120 * UT_S; w.now < end;) {
		int before = w.asked;

		pass(&w, w.now + UT_S / 2);
		push(&w, 1);
		if (w.asked != before)
			neigh_learn(&w.t, a, hw1, false, w.now);
	}
	CHECK_MSG(w.asked >= 4 && w.asked <= 6, "%d", w.asked);
	CHECK(w.sent == 241 && !w.lost);
	/* Silent now, but used: given up after three questions. */
	for (end = w.now + 60 * UT_S; w.now < end && w.t.n;) {
		pass(&w, w.now + UT_S / 2);
		if (w.t.n)
			push(&w, 1);
	}
	CHECK(w.t.n == 0 && w.dropped == 1);
	/* Without use nothing is asked, and it is forgotten. */
	push(&w, 1);
	learn_and_route(&w);
	w.asked = 0;
	pass(&w, w.now + 400 * UT_S);
	CHECK_MSG(w.asked <= 1 && w.t.n == 0, "%d", w.asked);
	neigh_fini(&w.t);
}

/* Paths are asked for anew; the old way serves until the answer, and also where there is none. */
static void reroutes(void)
{
	struct world w;

	begin(&w);
	push(&w, 1);
	learn_and_route(&w);
	neigh_reroute(&w.t);
	CHECK(neigh_ready(&w.t, a, w.now) && !w.dropped);
	neigh_routed(&w.t, w.number, NULL, w.now);
	push(&w, 2);
	CHECK(w.sent == 2 && !w.dropped);
	neigh_reroute(&w.t);
	neigh_routed(&w.t, w.number, &way2, w.now);
	CHECK(w.dropped == 1 && neigh_ready(&w.t, a, w.now)->way == &way2);
	/* A late answer to an earlier question drops its way. */
	neigh_routed(&w.t, w.number - 1, &way1, w.now);
	CHECK(w.dropped == 2 && neigh_ready(&w.t, a, w.now)->way == &way2);
	neigh_fini(&w.t);
}

static void bounded(void)
{
	struct world w;
	uint8_t ip[16];

	begin(&w);
	memcpy(ip, a, 16);
	for (unsigned i = 0; i < NEIGH_MAX + 100; i++) {
		ip[14] = (uint8_t)(i >> 8);
		ip[15] = (uint8_t)i;
		ip[13] = (uint8_t)(i >> 16);
		neigh_learn(&w.t, ip, hw1, true, w.now);
	}
	CHECK(w.t.n == NEIGH_MAX);
	/* What was not asked for makes no entry. */
	neigh_fini(&w.t);
	neigh_init(&w.t, &ops, &w);
	neigh_learn(&w.t, a, hw1, false, w.now);
	CHECK(w.t.n == 0);
	neigh_fini(&w.t);
}

/* --- groups --- */

static void join(void *ctx, struct group *g, bool full)
{
	struct world *w = ctx;

	w->joined++;
	w->number = g->number;
	w->full = full;
}

static void leave(void *ctx, void *way, bool tell)
{
	struct world *w = ctx;

	w->left++;
	w->told += tell;
}

static void to_group(void *ctx, struct group *g, const uint8_t *frame, size_t len)
{
	((struct world *)ctx)->sent++;
}

static const struct group_ops group_ops = { join, leave, to_group };

static void begin_groups(struct world *w)
{
	begin(w);
	groups_init(&w->g, &group_ops, w);
}

static void members(void)
{
	struct world w;

	begin_groups(&w);
	groups_want(&w.g, b, GROUP_HOST, true, w.now);
	groups_want(&w.g, b, GROUP_LINK, true, w.now);
	CHECK(w.joined == 1 && w.full);
	groups_joined(&w.g, w.number, &way1, true, w.now);
	groups_send(&w.g, b, &w.last, 1, w.now);
	CHECK(w.sent == 1);
	groups_want(&w.g, b, GROUP_HOST, false, w.now);
	CHECK(!w.left);
	/* A new subnet manager: joined once more, the old way serves and is not told as left. */
	groups_rejoin(&w.g);
	groups_send(&w.g, b, &w.last, 1, w.now);
	CHECK(w.joined == 2 && w.sent == 2);
	groups_joined(&w.g, w.number, &way2, true, w.now);
	CHECK(w.left == 1 && !w.told);
	groups_want(&w.g, b, GROUP_LINK, false, w.now);
	CHECK(w.left == 2 && w.told == 1 && w.g.n == 0);
	/* The answer to a join that is no longer wanted. */
	groups_want(&w.g, b, GROUP_HOST, true, w.now);
	groups_want(&w.g, b, GROUP_HOST, false, w.now);
	groups_joined(&w.g, w.number, &way1, true, w.now);
	CHECK(w.left == 3 && w.told == 2);
	groups_fini(&w.g);
}

static void senders(void)
{
	struct world w;

	begin_groups(&w);
	groups_send(&w.g, b, &w.last, 1, w.now);
	groups_send(&w.g, b, &w.last, 1, w.now);
	CHECK(w.joined == 1 && !w.full && !w.sent);
	groups_joined(&w.g, w.number, &way1, false, w.now);
	CHECK(w.sent == 2);
	/* A sender that becomes a member: the membership of senders ends. */
	groups_want(&w.g, b, GROUP_HOST, true, w.now);
	CHECK(w.joined == 2 && w.full);
	groups_joined(&w.g, w.number, &way2, true, w.now);
	CHECK(w.left == 1 && w.told == 1);
	groups_want(&w.g, b, GROUP_HOST, false, w.now);
	/* Refused: frames are lost, and the group is forgotten after a while. */
	groups_send(&w.g, b, &w.last, 1, w.now);
	groups_joined(&w.g, w.number, NULL, false, w.now);
	groups_send(&w.g, b, &w.last, 1, w.now);
	CHECK(w.sent == 2 && w.joined == 3);
	groups_run(&w.g, groups_deadline(&w.g));
	CHECK(w.g.n == 0);
	/* A member asks again. */
	groups_want(&w.g, b, GROUP_HOST, true, w.now);
	groups_joined(&w.g, w.number, NULL, true, w.now);
	groups_run(&w.g, groups_deadline(&w.g));
	CHECK(w.joined == 5 && w.g.n == 1);
	groups_joined(&w.g, w.number, &way1, true, w.now);
	/* Without use a sender's group is left; a member's stays. */
	groups_run(&w.g, w.now + 1000 * UT_S);
	CHECK(w.g.n == 1);
	groups_fini(&w.g);
}

static const struct test_case cases[] = {
	{ "-", "an address is resolved", resolves }, { "-", "no answer", silent }, { "-", "confirmation", confirms },
	{ "-", "paths that change", reroutes }, { "-", "bounds", bounded }, { "-", "members of groups", members },
	{ "-", "senders to groups", senders },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}
