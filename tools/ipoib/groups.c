/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "groups.h"

#include <stdlib.h>
#include <string.h>

#include "util/clock.h"
#include "util/heap.h"

struct waiting {
	struct ut_list node;
	size_t len;
	uint8_t frame[];
};

void groups_init(struct groups *t, const struct group_ops *ops, void *ctx)
{
	*t = (struct groups){ .ops = ops, .ctx = ctx };
	ut_list_init(&t->all);
}

static struct group *find(struct groups *t, const uint8_t ip[16])
{
	struct group *g;

	ut_list_each(g, &t->all, node)
		if (!memcmp(g->ip, ip, 16))
			return g;
	return NULL;
}

struct group *groups_by_number(struct groups *t, uint64_t number)
{
	struct group *g;

	ut_list_each(g, &t->all, node)
		if (g->number == number && g->state == GROUP_JOINING)
			return g;
	return NULL;
}

/* --- frames that wait --- */

static void keep(struct group *g, const uint8_t *frame, size_t len)
{
	struct waiting *w = g->n_waiting < GROUP_WAITING ? malloc(sizeof(*w) + len) : NULL;

	if (!w)
		return;
	w->len = len;
	memcpy(w->frame, frame, len);
	ut_list_add_tail(&g->waiting, &w->node);
	g->n_waiting++;
}

static void settle(struct groups *t, struct group *g)
{
	struct ut_list *l;

	g->n_waiting = 0;
	while ((l = ut_list_pop(&g->waiting))) {
		struct waiting *w = ut_container(l, struct waiting, node);

		if (g->way)
			t->ops->send(t->ctx, g, w->frame, w->len);
		free(w);
	}
}

/* --- entries --- */

static void leave(struct groups *t, struct group *g, bool tell)
{
	void *way = g->way;

	g->way = NULL;
	if (way)
		t->ops->leave(t->ctx, way, tell);
}

static void forget(struct groups *t, struct group *g)
{
	leave(t, g, true);
	settle(t, g);
	ut_list_del(&g->node);
	t->n--;
	free(g);
}

void groups_fini(struct groups *t)
{
	struct group *g;

	while ((g = ut_list_first(&t->all, struct group, node)))
		forget(t, g);
}

static struct group *make(struct groups *t, const uint8_t ip[16], uint64_t now)
{
	struct group *g = t->n < GROUPS_MAX ? calloc(1, sizeof(*g)) : NULL;

	if (!g)
		return NULL;
	memcpy(g->ip, ip, 16);
	g->used = now;
	g->next = UT_NEVER;
	ut_list_init(&g->waiting);
	ut_list_add_tail(&t->all, &g->node);
	t->n++;
	return g;
}

static void join(struct groups *t, struct group *g)
{
	g->state = GROUP_JOINING;
	g->number = ++t->numbers;
	g->next = UT_NEVER;
	t->ops->join(t->ctx, g, g->wanted != 0);
}

/* --- members and senders --- */

void groups_want(struct groups *t, const uint8_t ip[16], unsigned by, bool wants, uint64_t now)
{
	struct group *g = find(t, ip);
	unsigned before = g ? g->wanted : 0;

	if (!g && wants)
		g = make(t, ip, now);
	if (!g)
		return;
	g->wanted = wants ? before | by : before & ~by;
	if (!g->wanted && before)
		forget(t, g);
	else if (g->wanted && !before)
		join(t, g);
}

void groups_send(struct groups *t, const uint8_t ip[16], const uint8_t *frame, size_t len, uint64_t now)
{
	struct group *g = find(t, ip);
	bool is_new = !g;

	if (is_new)
		g = make(t, ip, now);
	if (!g)
		return;
	g->used = now;
	if (g->way) {
		t->ops->send(t->ctx, g, frame, len);
		return;
	}
	if (g->state == GROUP_REFUSED)
		return;
	keep(g, frame, len);
	if (is_new)
		join(t, g);
}

void groups_joined(struct groups *t, uint64_t number, void *way, bool full, uint64_t now)
{
	struct group *g = groups_by_number(t, number);

	if (!g) {
		if (way)
			t->ops->leave(t->ctx, way, true);
		return;
	}
	g->next = now + (way ? GROUP_UNUSED_S : GROUP_AGAIN_S) * UT_S;
	if (!way) {
		g->state = GROUP_REFUSED;
		settle(t, g);
		return;
	}
	/* The membership that a sender had ends where a full one begins. */
	leave(t, g, !g->is_full && full);
	g->way = way;
	g->is_full = full;
	g->state = GROUP_JOINED;
	settle(t, g);
}

void groups_rejoin(struct groups *t)
{
	struct group *g;

	ut_list_each(g, &t->all, node)
		if (g->state != GROUP_REFUSED || g->wanted)
			join(t, g);
}

void groups_retry(struct groups *t)
{
	struct group *g;

	ut_list_each(g, &t->all, node)
		if (g->state == GROUP_REFUSED && g->wanted)
			join(t, g);
}

void groups_each(struct groups *t, unsigned by, void (*each)(void *arg, const uint8_t ip[16]), void *arg)
{
	struct group *g, *next;

	ut_list_each_safe(g, next, &t->all, node)
		if (g->wanted & by)
			each(arg, g->ip);
}

static void run_one(struct groups *t, struct group *g, uint64_t now)
{
	if (g->next > now)
		return;
	if (g->wanted && g->state == GROUP_REFUSED)
		join(t, g);
	else if (!g->wanted && (g->state == GROUP_REFUSED || now - g->used >= GROUP_UNUSED_S * UT_S))
		forget(t, g);
	else
		g->next = g->wanted ? UT_NEVER : g->used + GROUP_UNUSED_S * UT_S;
}

void groups_run(struct groups *t, uint64_t now)
{
	struct group *g, *next;

	ut_list_each_safe(g, next, &t->all, node)
		run_one(t, g, now);
}

uint64_t groups_deadline(const struct groups *t)
{
	uint64_t at = UT_NEVER;
	const struct group *g;

	ut_list_each(g, &t->all, node)
		at = g->next < at ? g->next : at;
	return at;
}
