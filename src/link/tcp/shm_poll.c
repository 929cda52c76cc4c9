/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which of the streams that have left the wire are looked at, see near.c, and how they sleep when nobody
 * looks.
 */
#include "link/tcp/local.h"

#include "link/sys.h"

#define LOCAL_POLLED (1u << 16) /* looks in empty_polls until a stream is quiet again, if it is one of few */
#define LOCAL_NEW 64u        /* ... that begins to talk: of a thousand new ones most say one word */
#define LOCAL_TURN 64u       /* streams of one look */

/* What comes now rings; what has come is looked at once more. */
void tcp_local_sleep(struct tcp_stream *s)
{
	shm_pipe_sleep(&s->shm->pipe, SHM_PIPE_NEWS | (s->blocked ? SHM_PIPE_ROOM : 0u));
	if (tcp_local_has_news(s) || tcp_local_has_room(s))
		tcp_todo(s);
}

void tcp_local_poll_remove(struct tcp_stream *s)
{
	struct tcp_local *n = s->shm;

	if (ut_list_empty(&n->polled_node))
		return;
	ut_list_del(&n->polled_node);
	tcp_link_of(s)->n_local_polled--;
}

void tcp_local_poll_add(struct tcp_stream *s)
{
	struct tcp_link *p = tcp_link_of(s);
	struct tcp_local *n = s->shm;

	n->polled_from = n->polled_from < LOCAL_POLLED ? 2 * n->polled_from + LOCAL_NEW : LOCAL_POLLED;
	n->polled = n->polled_from;
	if (!ut_list_empty(&n->polled_node))
		return;
	ut_list_add_tail(&p->local_polled, &n->polled_node);
	p->n_local_polled++;
}

static bool cooler(struct tcp_local *n, uint32_t by)
{
	n->polled -= n->polled < by ? n->polled : by;
	return n->polled;
}

/* Among many one is cold sooner, so that what all of them cost in empty_polls is the same. */
static int look_at(struct tcp_link *p, struct tcp_stream **v, unsigned k)
{
	uint32_t empty_polls = 1 + p->n_local_polled / LOCAL_TURN;
	int done = 0;

	for (unsigned i = 0; i < k; i++) {
		int did;

		if (v[i]->state != TCP_S_OPEN || ut_list_empty(&v[i]->shm->polled_node))
			continue;
		did = tcp_local_serve(v[i]);
		done += did;
		if (!did && v[i]->state == TCP_S_OPEN && !cooler(v[i]->shm, empty_polls)) {
			tcp_local_poll_remove(v[i]);
			tcp_local_sleep(v[i]);
		}
	}
	return done;
}

/* The next of them. A callback may close or polled_from any. */
static unsigned whose_turn(struct tcp_link *p, struct tcp_stream *v[LOCAL_TURN])
{
	struct tcp_local *n;
	unsigned k = 0;

	ut_list_each(n, &p->local_polled, polled_node) {
		if (k == LOCAL_TURN)
			break;
		v[k++] = n->s;
	}
	for (unsigned i = 0; k < p->n_local_polled && i < k; i++) {
		ut_list_del(&v[i]->shm->polled_node);
		ut_list_add_tail(&p->local_polled, &v[i]->shm->polled_node);
	}
	return k;
}

int tcp_local_look(struct tcp_link *p, bool all)
{
	struct tcp_stream *v[LOCAL_TURN];
	unsigned left = all ? p->n_local_polled : 1, k;
	int done = 0;

	for (; left; left -= k < left ? k : left) {
		k = whose_turn(p, v);
		if (!k)
			break;
		done += look_at(p, v, k);
	}
	return done;
}

void tcp_local_settle(struct tcp_link *p)
{
	struct tcp_local *n;

	if (!tcp_sleeping(p))
		return;
	ut_list_each(n, &p->local_polled, polled_node)
		if (!shm_pipe_sleeps(&n->pipe))
			tcp_local_sleep(n->s);
}

/* --- for who drives the place --- */

int tcp_peek_shm(struct link_streams *l)
{
	struct tcp_link *p = tcp_of(l);

	if (ut_list_empty(&p->local_polled) || !ut_list_empty(&p->todo) || !ut_list_empty(&p->over) ||
	    !ut_list_empty(&p->polled) || p->look_only || tcp_sleeping(p))
		return -EAGAIN;
	return tcp_local_look(p, false);
}

void tcp_sleep(struct link_streams *l, bool on, bool look)
{
	struct tcp_link *p = tcp_of(l);
	uint64_t one = 1;

	atomic_store(&p->sleeping, on);
	if (on && look && atomic_load(&p->n_local))
		LINK_SYS(SYS_write, p->wake.fd, &one, sizeof(one));
}
