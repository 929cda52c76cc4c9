/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "neighbours.h"

#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/heap.h"

struct waiting {
	struct ut_list node;
	size_t len;
	uint8_t frame[];
};

void neigh_init(struct neighbours *t, const struct neigh_ops *ops, void *ctx)
{
	unsigned i;

	*t = (struct neighbours){ .ops = ops, .ctx = ctx, .soonest = UT_NEVER };
	ut_list_init(&t->by_use);
	for (i = 0; i < NEIGH_BUCKETS; i++)
		ut_list_init(&t->buckets[i]);
}

static struct ut_list *bucket(struct neighbours *t, const uint8_t ip[16])
{
	uint64_t a, b;

	memcpy(&a, ip, 8);
	memcpy(&b, ip + 8, 8);
	return &t->buckets[((a ^ b) * 0x9e3779b97f4a7c15u) >> 56];
}

static struct neigh *find(struct neighbours *t, const uint8_t ip[16])
{
	struct ut_list *b = bucket(t, ip);
	struct neigh *n;

	ut_list_each(n, b, node)
		if (!memcmp(n->ip, ip, 16))
			return n;
	return NULL;
}

struct neigh *neigh_by_number(struct neighbours *t, uint64_t number)
{
	struct neigh *n;

	ut_list_each(n, &t->by_use, order)
		if (n->number == number && (n->state == NEIGH_ROUTING || n->is_rerouted))
			return n;
	return NULL;
}

/* --- frames that wait --- */

/* The oldest gives way to the newest, as in the kernel. */
static void keep(struct neigh *n, const uint8_t *frame, size_t len)
{
	struct waiting *w = malloc(sizeof(*w) + len);

	if (!w)
		return;
	w->len = len;
	memcpy(w->frame, frame, len);
	ut_list_add_tail(&n->waiting, &w->node);
	if (n->n_waiting == NEIGH_WAITING)
		free(ut_container(ut_list_pop(&n->waiting), struct waiting, node));
	else
		n->n_waiting++;
}

/* Takes them off, and sends them or gives them up. */
static void settle(struct neighbours *t, struct neigh *n, bool sends)
{
	struct ut_list *l;

	n->n_waiting = 0;
	while ((l = ut_list_pop(&n->waiting))) {
		struct waiting *w = ut_container(l, struct waiting, node);

		if (sends)
			t->ops->send(t->ctx, n, w->frame, w->len);
		else
			t->ops->give_up(t->ctx, w->frame, w->len);
		free(w);
	}
}

/* --- entries --- */

static void drop_way(struct neighbours *t, struct neigh *n)
{
	if (n->way)
		t->ops->drop_way(t->ctx, n->way);
	n->way = NULL;
}

static void forget(struct neighbours *t, struct neigh *n)
{
	settle(t, n, false);
	drop_way(t, n);
	ut_list_del(&n->node);
	ut_list_del(&n->order);
	t->n--;
	free(n);
}

void neigh_fini(struct neighbours *t)
{
	struct neigh *n;

	while ((n = ut_list_first(&t->by_use, struct neigh, order)))
		forget(t, n);
}

static struct neigh *make(struct neighbours *t, const uint8_t ip[16], uint64_t now)
{
	struct neigh *n = calloc(1, sizeof(*n));

	if (!n)
		return NULL;
	if (t->n == NEIGH_MAX)
		forget(t, ut_list_first(&t->by_use, struct neigh, order));
	memcpy(n->ip, ip, 16);
	n->number = ++t->numbers;
	n->used = now;
	n->next = UT_NEVER;
	ut_list_init(&n->waiting);
	ut_list_add_tail(bucket(t, ip), &n->node);
	ut_list_add_tail(&t->by_use, &n->order);
	t->n++;
	return n;
}

static void use(struct neighbours *t, struct neigh *n, uint64_t now)
{
	n->used = now;
	ut_list_del(&n->order);
	ut_list_add_tail(&t->by_use, &n->order);
}

static void set_next(struct neighbours *t, struct neigh *n, uint64_t at)
{
	n->next = at;
	t->soonest = at < t->soonest ? at : t->soonest;
}

static void ask(struct neighbours *t, struct neigh *n, uint64_t now)
{
	n->asked++;
	set_next(t, n, now + NEIGH_ASK_S * UT_S);
	t->ops->ask(t->ctx, n->ip);
}

/* A new number: the answer to an earlier question is not taken for this one's. */
static void route(struct neighbours *t, struct neigh *n, enum neigh_state state)
{
	n->state = state;
	n->is_rerouted = state == NEIGH_READY;
	n->number = ++t->numbers;
	t->ops->route(t->ctx, n);
}

/* --- frames --- */

struct neigh *neigh_ready(struct neighbours *t, const uint8_t ip[16], uint64_t now)
{
	struct neigh *n = find(t, ip);

	if (!n || n->state != NEIGH_READY)
		return NULL;
	use(t, n, now);
	return n;
}

void neigh_send(struct neighbours *t, const uint8_t ip[16], const uint8_t *frame, size_t len, uint64_t now)
{
	struct neigh *n = find(t, ip);
	bool is_new = !n;

	if (is_new)
		n = make(t, ip, now);
	if (!n)
		return;
	use(t, n, now);
	if (n->state == NEIGH_READY) {
		t->ops->send(t->ctx, n, frame, len);
		return;
	}
	keep(n, frame, len);
	if (is_new)
		ask(t, n, now);
}

void neigh_learn(struct neighbours *t, const uint8_t ip[16], const uint8_t hw[HW_LEN], bool makes, uint64_t now)
{
	struct neigh *n = find(t, ip);

	if (!n && makes)
		n = make(t, ip, now);
	if (!n)
		return;
	n->is_asked = false;
	n->asked = 0;
	set_next(t, n, now + NEIGH_FRESH_S * UT_S);
	if (n->state != NEIGH_ASKING && !memcmp(n->hw, hw, HW_LEN))
		return;
	memcpy(n->hw, hw, HW_LEN);
	drop_way(t, n);
	route(t, n, NEIGH_ROUTING);
}

void neigh_routed(struct neighbours *t, uint64_t number, void *way, uint64_t now)
{
	struct neigh *n = neigh_by_number(t, number);

	if (!n) {
		if (way)
			t->ops->drop_way(t->ctx, way);
		return;
	}
	if (!way && n->state == NEIGH_ROUTING) {
		forget(t, n);
		return;
	}
	n->is_rerouted = false;
	if (!way)
		return;
	drop_way(t, n);
	n->way = way;
	n->state = NEIGH_READY;
	settle(t, n, true);
}

void neigh_reroute(struct neighbours *t)
{
	struct ut_list all;
	struct ut_list *l;

	/* Those that are routed go to the end of the list, so that each has one turn. */
	ut_list_init(&all);
	while ((l = ut_list_pop(&t->by_use)))
		ut_list_add_tail(&all, l);
	while ((l = ut_list_pop(&all))) {
		struct neigh *n = ut_container(l, struct neigh, order);

		ut_list_add_tail(&t->by_use, l);
		if (n->state != NEIGH_ASKING)
			route(t, n, n->state);
	}
}

/* --- time --- */

/* Silent, without use, or due for a question. */
static void run_one(struct neighbours *t, struct neigh *n, uint64_t now)
{
	if (n->next > now)
		return;
	if (n->asked == NEIGH_ASK_TIMES || now - n->used > NEIGH_UNUSED_S * UT_S) {
		forget(t, n);
		return;
	}
	/* Without use since the last answer there is no need to ask. */
	if (n->state != NEIGH_ASKING && !n->is_asked && now - n->used >= NEIGH_FRESH_S * UT_S) {
		set_next(t, n, now + NEIGH_FRESH_S * UT_S);
		return;
	}
	n->is_asked = n->state != NEIGH_ASKING;
	ask(t, n, now);
}

void neigh_run(struct neighbours *t, uint64_t now)
{
	struct neigh *n, *next;
	unsigned i;

	if (now < t->soonest)
		return;
	for (i = 0; i < NEIGH_BUCKETS; i++)
		ut_list_each_safe(n, next, &t->buckets[i], node)
			run_one(t, n, now);
	t->soonest = UT_NEVER;
	ut_list_each(n, &t->by_use, order)
		t->soonest = n->next < t->soonest ? n->next : t->soonest;
}

uint64_t neigh_deadline(const struct neighbours *t)
{
	return t->soonest;
}
