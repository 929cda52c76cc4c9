/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/flow.h"

#include <limits.h>
#include <stdlib.h>

#define WINDOW_MOST 256                 /* more than a transport has packets under way: from here on there is no limit */

void rds_flow_init(struct rds_flow *f)
{
	*f = (struct rds_flow){ .next_tx = 1, .window = UINT_MAX };
	ut_list_init(&f->waiting);
	ut_list_init(&f->unacked);
}

/* --- memory --- */

static void *(*get_memory)(size_t len) = malloc;
static void (*put_memory)(void *m) = free;

void rds_message_memory(void *(*get)(size_t len), void (*put)(void *m))
{
	get_memory = get;
	put_memory = put;
}

struct rds_message *rds_message_new(uint32_t len)
{
	struct rds_message *m = get_memory(sizeof(*m) + len);

	if (!m)
		return NULL;
	*m = (struct rds_message){ .len = len, .row = -1 };
	ut_list_init(&m->node);
	return m;
}

void rds_message_free(struct rds_message *m)
{
	if (!m)
		return;
	atomic_store(&m->kept, 0);
	put_memory(m);
}

/* --- lists --- */

static void leave_flight(struct rds_flow *f, struct rds_message *m)
{
	if (m->sent && !m->silent)
		f->in_flight--;
	m->sent = false;
}

static void drop(struct rds_flow *f, struct rds_message *m, rds_flow_done *done, void *arg)
{
	ut_list_del(&m->node);
	f->bytes -= m->len;
	f->nr--;
	leave_flight(f, m);
	done(arg, m);
	rds_message_free(m);
}

static void cancel(struct rds_flow *f, struct ut_list *list, uint64_t sender,
		   bool (*match)(const struct rds_message *m, const void *key), const void *key,
		   const struct rds_message *keep, rds_flow_done *done, void *arg)
{
	struct rds_message *m, *tmp;

	ut_list_each_safe(m, tmp, list, node)
		if (m != keep && (!sender || m->sender == sender) && (!match || match(m, key)))
			drop(f, m, done, arg);
}

void rds_flow_cancel(struct rds_flow *f, uint64_t sender, bool (*match)(const struct rds_message *m, const void *key),
		     const void *key, bool begun, rds_flow_done *done, void *arg)
{
	cancel(f, &f->unacked, sender, match, key, NULL, done, arg);
	cancel(f, &f->waiting, sender, match, key, begun ? rds_flow_next(f) : NULL, done, arg);
}


static void append(struct rds_flow *f, struct rds_message *m)
{
	f->bytes += m->len;
	f->nr++;
	ut_list_add_tail(&f->waiting, &m->node);
}

void rds_flow_queue(struct rds_flow *f, struct rds_message *m)
{
	m->sequence = f->next_tx++;
	append(f, m);
}

void rds_flow_again(struct rds_flow *f, struct rds_message *m)
{
	m->retransmitted = true;
	m->sent = false;
	f->window = 1;
	append(f, m);
}

struct rds_message *rds_flow_next(const struct rds_flow *f)
{
	return ut_list_first(&f->waiting, struct rds_message, node);
}

bool rds_flow_is_last(const struct rds_flow *f)
{
	const struct rds_message *first = rds_flow_next(f), *m;

	ut_list_each(m, &f->waiting, node)
		if (m != first && !m->silent)
			return false;
	return first != NULL;
}

void rds_flow_move(struct rds_flow *from, struct rds_flow *to)
{
	struct rds_message *m, *tmp;

	ut_list_each_safe(m, tmp, &from->waiting, node) {
		if (!m->either)
			continue;
		ut_list_del(&m->node);
		from->bytes -= m->len;
		from->nr--;
		rds_flow_queue(to, m);
	}
}

bool rds_flow_may_send(const struct rds_flow *f)
{
	const struct rds_message *m = rds_flow_next(f);

	return f->in_flight < f->window || (m && m->silent);
}

bool rds_flow_fills_window(const struct rds_flow *f)
{
	return f->in_flight + 1 >= f->window;
}

void rds_flow_sent(struct rds_flow *f, uint64_t end)
{
	struct rds_message *m = rds_flow_next(f);

	m->end = end;
	m->sent = true;
	f->in_flight += !m->silent;
	ut_list_del(&m->node);
	ut_list_add_tail(&f->unacked, &m->node);
}

void rds_flow_acked(struct rds_flow *f, uint64_t place, rds_flow_done *done, void *arg)
{
	struct rds_message *m;

	while ((m = ut_list_first(&f->unacked, struct rds_message, node)) && m->end <= place) {
		drop(f, m, done, arg);
		if (f->window < UINT_MAX)
			f->window = f->window < WINDOW_MOST ? f->window + 1 : UINT_MAX;
	}
}

void rds_flow_restart(struct rds_flow *f)
{
	struct rds_message *m;

	if (f->in_flight)
		f->window = 1;
	/* From the last one on, each in front of those that wait: behind it in the ring of the list. */
	while (!ut_list_empty(&f->unacked)) {
		m = ut_container(f->unacked.prev, struct rds_message, node);
		m->retransmitted = true;
		leave_flight(f, m);
		ut_list_del(&m->node);
		ut_list_add_tail(f->waiting.next, &m->node);
	}
}

void rds_flow_peer(struct rds_flow *f, uint32_t generation)
{
	if (!generation)
		return;
	if (f->peer_generation && f->peer_generation != generation)
		f->next_rx = 0;
	f->peer_generation = generation;
}

bool rds_flow_arrived(struct rds_flow *f, uint64_t sequence, bool retransmitted)
{
	if (sequence < f->next_rx && retransmitted)
		return false;
	f->next_rx = sequence + 1;
	return true;
}
