/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which of the streams that have left the wire are looked at, see near.c, and how they sleep when nobody
 * looks.
 */
#include "link/tcp/local.h"

#include "link/sys.h"

#define NEAR_HOT (1u << 16) /* looks in vain until a stream is quiet again, if it is one of few */
#define NEAR_NEW 64u        /* ... that begins to talk: of a thousand new ones most say one word */
#define NEAR_TURN 64u       /* streams of one look */

/* What comes now rings; what has come is looked at once more. */
void tcp_near_doze(struct tcp_stream *s)
{
	shm_pipe_sleep(&s->near->pipe, SHM_PIPE_NEWS | (s->blocked ? SHM_PIPE_ROOM : 0u));
	if (tcp_near_has_news(s) || tcp_near_has_room(s))
		tcp_todo(s);
}

void tcp_near_cool(struct tcp_stream *s)
{
	struct tcp_near *n = s->near;

	if (ut_list_empty(&n->hot_node))
		return;
	ut_list_del(&n->hot_node);
	tcp_place_of(s)->n_near_hot--;
}

void tcp_near_heat(struct tcp_stream *s)
{
	struct tcp_place *p = tcp_place_of(s);
	struct tcp_near *n = s->near;

	n->heat = n->heat < NEAR_HOT ? 2 * n->heat + NEAR_NEW : NEAR_HOT;
	n->hot = n->heat;
	if (!ut_list_empty(&n->hot_node))
		return;
	ut_list_add_tail(&p->near_hot, &n->hot_node);
	p->n_near_hot++;
}

static bool cooler(struct tcp_near *n, uint32_t by)
{
	n->hot -= n->hot < by ? n->hot : by;
	return n->hot;
}

/* Among many one is cold sooner, so that what all of them cost in vain is the same. */
static int look_at(struct tcp_place *p, struct tcp_stream **v, unsigned k)
{
	uint32_t vain = 1 + p->n_near_hot / NEAR_TURN;
	int done = 0;

	for (unsigned i = 0; i < k; i++) {
		int did;

		if (v[i]->state != TCP_S_OPEN || ut_list_empty(&v[i]->near->hot_node))
			continue;
		did = tcp_near_visit(v[i]);
		done += did;
		if (!did && v[i]->state == TCP_S_OPEN && !cooler(v[i]->near, vain)) {
			tcp_near_cool(v[i]);
			tcp_near_doze(v[i]);
		}
	}
	return done;
}

/* The next of them. A callback may close or heat any. */
static unsigned whose_turn(struct tcp_place *p, struct tcp_stream *v[NEAR_TURN])
{
	struct tcp_near *n;
	unsigned k = 0;

	ut_list_each(n, &p->near_hot, hot_node) {
		if (k == NEAR_TURN)
			break;
		v[k++] = n->s;
	}
	for (unsigned i = 0; k < p->n_near_hot && i < k; i++) {
		ut_list_del(&v[i]->near->hot_node);
		ut_list_add_tail(&p->near_hot, &v[i]->near->hot_node);
	}
	return k;
}

int tcp_near_look(struct tcp_place *p, bool all)
{
	struct tcp_stream *v[NEAR_TURN];
	unsigned left = all ? p->n_near_hot : 1, k;
	int done = 0;

	for (; left; left -= k < left ? k : left) {
		k = whose_turn(p, v);
		if (!k)
			break;
		done += look_at(p, v, k);
	}
	return done;
}

void tcp_near_settle(struct tcp_place *p)
{
	struct tcp_near *n;

	if (!tcp_dozing(p))
		return;
	ut_list_each(n, &p->near_hot, hot_node)
		if (!shm_pipe_sleeps(&n->pipe))
			tcp_near_doze(n->s);
}

/* --- for who drives the place --- */

int tcp_glance(struct link_streams *l)
{
	struct tcp_place *p = tcp_of(l);

	if (ut_list_empty(&p->near_hot) || !ut_list_empty(&p->todo) || !ut_list_empty(&p->over) ||
	    !ut_list_empty(&p->hot) || p->look_only || tcp_dozing(p))
		return -EAGAIN;
	return tcp_near_look(p, false);
}

void tcp_doze(struct link_streams *l, bool on, bool look)
{
	struct tcp_place *p = tcp_of(l);
	uint64_t one = 1;

	atomic_store(&p->dozing, on);
	if (on && look && atomic_load(&p->n_near))
		LINK_SYS(SYS_write, p->bell.fd, &one, sizeof(one));
}
