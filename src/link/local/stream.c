/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Every stream has a lower one and is its user. The lower stream has no user as long as this one has
 * none, so that bytes wait where they are; it is paused when this one is, unless bytes go by shared
 * memory: then it carries wake-ups and the end, and is read at any time.
 */
#include "link/local/stream.h"

#include "link/local/agree.h"
#include "link/local/rendezvous.h"
#include "link/local/shm.h"
#include "util/alloc.h"

#include <stdlib.h>

/* --- what the lower stream tells --- */

static void wait_for_user(struct local_stream *s)
{
	if (s->way != LOCAL_W_SHM)
		s->lower->user_ops = NULL;
	if (ut_list_empty(&s->idle_node))
		ut_list_add_tail(&local_place_of(s)->userless, &s->idle_node);
}

/* Bytes of the wire. Returns how many the user has consumed. */
static size_t show(struct local_stream *s, const uint8_t *data, size_t off, size_t len,
		   uint64_t now)
{
	size_t used = 0;

	while (used < len && local_may_read(s)) {
		const struct link_stream_user *ops = s->base.user_ops;
		void *user = s->base.user;

		/* A peer process that has sent this by the wire has chosen it. */
		if (s->way != LOCAL_W_WIRE)
			local_agree_wire(s);
		used += ops->received(&s->base, data + used, off + used, len - used, now);
		if (!s->lower)
			return used;
		s->lower->want = s->base.want;
		if (ops == s->base.user_ops && user == s->base.user)
			break;
	}
	if (!s->base.user_ops)
		wait_for_user(s);
	return used;
}

static size_t received(struct link_stream *lower, const uint8_t *data, size_t off, size_t len,
		       uint64_t now)
{
	struct local_stream *s = lower->user;

	/* The first byte of a peer process that has our segment: a wake-up, or it has chosen the wire. */
	if (s->way == LOCAL_W_ANSWERED)
		local_agree_decide(s);
	if (s->way != LOCAL_W_SHM)
		return show(s, data, off, len, now);
	local_shm_woken(s);
	return len;
}

/* Of a lower place that shares memory itself. */
static size_t received_shm(struct link_stream *lower, const uint8_t *data, size_t len, uint64_t now)
{
	struct local_stream *s = lower->user;

	return local_may_read(s) ? s->base.user_ops->received_shm(&s->base, data, len, now) : 0;
}

static void writable(struct link_stream *lower, uint64_t now)
{
	struct local_stream *s = lower->user;

	if (s->way == LOCAL_W_SHM)
		local_shm_writable(s);
	else if (s->way == LOCAL_W_ASKED || s->way == LOCAL_W_ANSWERED)
		s->blocked = true;
	else if (s->base.user_ops)
		s->base.user_ops->writable(&s->base, now);
}

static void connected(struct link_stream *lower, uint64_t now)
{
	struct local_stream *s = lower->user;

	s->open = true;
	s->base.local = lower->local;
	s->base.remote = lower->remote;
	if (s->base.user_ops)
		s->base.user_ops->connected(&s->base, now);
}

static void closed(struct link_stream *lower, int error, uint64_t now)
{
	struct local_stream *s = lower->user;

	(void)now;
	if (s->way == LOCAL_W_ANSWERED)
		local_agree_decide(s);
	if (s->way == LOCAL_W_SHM)
		local_shm_fin(s, error);
	else
		local_stream_over(s, error);
}

static const struct link_stream_user lower_user = {
	.received = received, .received_shm = received_shm, .writable = writable, .connected = connected, .closed = closed,
};

/* --- life --- */

struct local_stream *local_stream_new(struct local_place *p)
{
	struct local_stream *s = ut_zalloc(sizeof(*s));

	if (!s)
		return NULL;
	s->base.place = &p->base;
	ut_list_init(&s->node);
	ut_list_init(&s->todo_node);
	ut_list_init(&s->idle_node);
	ut_list_init(&s->offer_node);
	return s;
}

void local_stream_put(struct local_stream *s, struct link_stream *lower, bool open)
{
	struct local_place *p = local_place_of(s);

	s->lower = lower;
	s->open = open;
	s->base.local = lower->local;
	s->base.remote = lower->remote;
	lower->user = s;
	ut_list_add_tail(&p->streams, &s->node);
	wait_for_user(s);
}

/* Its memory goes when poll() returns: the caller may be looking at it. */
void local_stream_close(struct local_stream *s, bool abort)
{
	struct local_place *p = local_place_of(s);
	struct link_stream *lower = s->lower;

	if (!lower)
		return;
	local_agree_end(s);
	ut_list_del(&s->todo_node);
	ut_list_del(&s->idle_node);
	ut_list_del(&s->node);
	ut_list_add_tail(&p->dead, &s->node);
	s->base.user_ops = NULL;
	s->lower = NULL;
	p->ops->close(lower, abort);
}

void local_stream_reap(struct local_place *p)
{
	struct ut_list *n;

	while ((n = ut_list_pop(&p->dead))) {
		struct local_stream *s = ut_container(n, struct local_stream, node);

		local_agree_free(s);
		free(s);
	}
	while ((n = ut_list_pop(&p->dead_listeners)))
		free(ut_container(n, struct local_listener, node));
	local_rdv_reap(p);
}

void local_stream_find_users(struct local_place *p)
{
	struct local_stream *s, *next;

	ut_list_each_safe(s, next, &p->userless, idle_node) {
		if (!s->base.user_ops)
			continue;
		ut_list_del(&s->idle_node);
		s->lower->user_ops = &lower_user;
		if (s->way == LOCAL_W_SHM || s->over)
			local_stream_todo(s);
	}
}

/* --- what is due --- */

void local_stream_todo(struct local_stream *s)
{
	if (ut_list_empty(&s->todo_node))
		ut_list_add_tail(&local_place_of(s)->todo, &s->todo_node);
}

void local_stream_tell_closed(struct local_stream *s, int error)
{
	s->over = true;
	s->error = error;
	if (!s->base.user_ops) {
		wait_for_user(s);
		return;
	}
	if (s->told)
		return;
	s->told = true;
	s->base.user_ops->closed(&s->base, error, local_place_of(s)->now);
}

/*
 * An end is told when all other streams have been looked at. A peer that closes one connection after it
 * began another one is then heard in that order, as programs expect that count connections as they come
 * and go.
 */
void local_stream_over(struct local_stream *s, int error)
{
	local_agree_wire(s);
	s->over = true;
	s->error = error;
	/* What is to be done of it anyway is no reason to tell it sooner. */
	ut_list_del(&s->todo_node);
	ut_list_add_tail(&local_place_of(s)->over, &s->todo_node);
}

static void run_one(struct local_stream *s)
{
	if (s->over && !s->told)
		local_stream_tell_closed(s, s->error);
	if (s->lower && s->way == LOCAL_W_SHM) {
		local_shm_serve(s);
	} else if (s->lower && s->way == LOCAL_W_WIRE && s->blocked && s->base.user_ops) {
		s->blocked = false;
		s->base.user_ops->writable(&s->base, local_place_of(s)->now);
	}
}

int local_stream_run(struct ut_list *todo)
{
	struct ut_list mine = UT_LIST_INIT(mine);
	struct ut_list *n;
	int done = 0;

	/* What is put on the list meanwhile waits for the next call. */
	while ((n = ut_list_pop(todo)))
		ut_list_add_tail(&mine, n);
	for (; (n = ut_list_pop(&mine)); done++)
		run_one(ut_container(n, struct local_stream, todo_node));
	return done;
}
