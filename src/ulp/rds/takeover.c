/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/takeover.h"

#include "ulp/rds/claim.h"
#include "ulp/rds/exchange.h"
#include "ulp/rds/job.h"
#include "ulp/rds/keep.h"
#include "ulp/rds/rdma.h"
#include "ulp/rds/standby.h"
#include "ulp/rds/store.h"
#include "ulp/rds/tcp.h"

#include <errno.h>
#include <linux/rds.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum rank { MESSAGE_SENT, ARRIVAL, WORK };      /* ARRIVAL: a message that has come, or the end of a work */

struct kept {
	enum rank rank;
	uint64_t place;                 /* among those of its rank */
	struct rds_message *m;          /* or NULL: it is a work */
	struct rds_job *j;
};

struct found {
	struct kept *at;
	size_t nr, room;
	bool failed;                    /* there was no memory for one */
};

/* --- messages and works --- */

static const struct rds_conn_state *conn_state(int row)
{
	const struct rds_store_conn *c = &rds_store()->conns[row];

	return &c->state[atomic_load(&c->which) & 1];
}

static bool is_addr(const struct rsp_addr *a)
{
	return a->family == AF_INET || a->family == AF_INET6;
}

static bool is_conn(const struct rds_conn_state *s)
{
	return is_addr(&s->local) && is_addr(&s->peer) && (s->type == (int)RDS_TRANS_TCP || s->type == RDS_TRANS_IB);
}

static bool is_sock(const struct rds_store_sock *row)
{
	const struct rds_sock_state *s = &row->state[atomic_load(&row->which) & 1];

	return (!s->bound.family || is_addr(&s->bound)) && (!s->peer.family || is_addr(&s->peer));
}

/* What a slot says of its length and its row is within bounds. */
static bool is_message(const struct rds_message *m)
{
	size_t room = rds_store_room(m);

	return room >= sizeof(*m) && m->len <= room - sizeof(*m) && m->row >= -1 && m->row < RDS_STORE_CONNS;
}

static bool is_work(const struct rds_job *j)
{
	size_t room = rds_store_room(j);

	return (j->kept == RDS_KEPT_WORK || j->kept == RDS_KEPT_ENDED) && room >= sizeof(*j) && j->work.nr_pieces <= RDS_WORK_PIECES &&
	       j->work.nr_pieces * sizeof(j->pieces[0]) + j->work.bytes <= room - sizeof(*j);
}

/* Of one that came by a connection the peer will send the octets again, unless they count as taken. */
static bool counts(const struct rds_message *m)
{
	if (!is_message(m))
		return false;
	if (m->kept == RDS_KEPT_SENT)
		return true;
	return m->kept == RDS_KEPT_COME && (m->row < 0 || m->arrival <= conn_state(m->row)->arrival);
}

static bool is_partial(const struct rds_message *m)
{
	if (!is_message(m))
		return false;
	for (int i = 0; i < RDS_STORE_CONNS; i++)
		if (atomic_load(&rds_store()->conns[i].used) && conn_state(i)->up && conn_state(i)->in == rds_store_place(m))
			return true;
	return false;
}

/* A work of a message that was kept in that moment. */
static void mark_works(void *slot, void *arg)
{
	const struct rds_message *m = slot;
	struct rds_job *j;

	for (int i = 0; m->kept == RDS_KEPT_SENT && is_message(m) && i < RDS_WORK_MAX; i++) {
		j = rds_store_at(m->work_at[i]);
		if (j && j->kept == RDS_KEPT_NOT)
			atomic_store(&j->kept, RDS_KEPT_WORK);
	}
}

/* The slot is in use. */
static bool add(struct found *f, struct kept k)
{
	struct kept *more;

	if (f->nr == f->room) {
		more = realloc(f->at, (f->room ? f->room * 2 : 256) * sizeof(*more));
		f->failed = f->failed || !more;
		if (!more)
			return true;
		f->at = more;
		f->room = f->room ? f->room * 2 : 256;
	}
	f->at[f->nr++] = k;
	return true;
}

static bool collect(void *slot, void *arg)
{
	struct rds_message *m = slot;
	struct rds_job *j = slot;

	if (is_work(slot)) {
		j->uses = 0;
		j->mr = NULL;
		j->told |= j->kept == RDS_KEPT_ENDED;
		return add(arg, (struct kept){ j->kept == RDS_KEPT_ENDED ? ARRIVAL : WORK, j->arrival, NULL, j });
	}
	if (counts(m) && m->kept == RDS_KEPT_SENT)
		return add(arg, (struct kept){ MESSAGE_SENT, m->place, m, NULL });
	if (counts(m))
		return add(arg, (struct kept){ ARRIVAL, m->arrival, m, NULL });
	atomic_store(&m->kept, RDS_KEPT_NOT);
	return is_partial(m);
}

static int in_order(const void *a, const void *b)
{
	const struct kept *x = a, *y = b;

	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->place < y->place ? -1 : x->place > y->place;
}

static struct rds_sock *sock_of(struct rds_node *n, uint64_t id)
{
	struct rds_sock *s;

	ut_list_each(s, &n->socks, node_entry)
		if (s->id == id)
			return s;
	return NULL;
}

static struct rds_conn *conn_of(struct rds_node *n, int row)
{
	struct rds_conn *c;

	ut_list_each(c, &n->conns, node_entry)
		if (c->row == row)
			return c;
	return NULL;
}

/* The works of a message that is sent, and the room in the send buffer of those that have no end. */
static void take_works(struct rds_sock *s, struct rds_message *m)
{
	struct rds_job *j;

	memset(m->works, 0, sizeof(m->works));
	for (int i = 0; m->kept == RDS_KEPT_SENT && i < RDS_WORK_MAX; i++) {
		j = rds_store_at(m->work_at[i]);
		j = j && is_work(j) ? j : NULL;
		m->works[i] = j;
		if (j)
			rds_job_use(j);
		if (j && s && !j->told)
			s->sent_bytes += j->work.bytes;
	}
}

static void take_sent(struct rds_node *n, struct rds_message *m)
{
	struct rds_conn *c = conn_of(n, (int)(m->place >> 56));
	struct rds_sock *s = sock_of(n, m->sender);

	ut_list_init(&m->node);
	take_works(s, m);
	if (s)
		s->sent_bytes += m->len;
	if (c) {
		m->sequence = m->place & (UINT64_MAX >> 8);
		rds_flow_again(&c->flow, m);
	} else {
		rds_node_dropped(n, m);
		rds_message_free(m);
	}
}

static void doubt(struct rds_sock *s, uint32_t number)
{
	if (number)
		rds_claim_doubt(s->claims, number);
}

static void take_arrived(struct rds_node *n, struct rds_message *m)
{
	struct rds_sock *s = sock_of(n, m->to);

	ut_list_init(&m->node);
	memset(m->works, 0, sizeof(m->works));
	if (s) {
		doubt(s, m->number);
		rds_sock_again(s, m);
	} else {
		rds_message_free(m);
	}
}

static void take_end(struct rds_node *n, struct rds_job *j)
{
	struct rds_sock *s = sock_of(n, j->sender);

	rds_job_use(j);
	if (s) {
		doubt(s, j->number);
		rds_sock_worked_again(s, j);
	}
	rds_job_put(j);
}

/* Its message was acknowledged before its end was seen, or has gone. */
static void take_work(struct rds_node *n, struct rds_job *j)
{
	struct rds_sock *s = sock_of(n, j->sender);

	if (j->uses)
		return;
	rds_job_use(j);
	if (s && !j->told)
		s->sent_bytes += j->work.bytes;
	rds_node_worked(n, j, RDS_RDMA_DROPPED);
	rds_job_put(j);
}

/* A record whose message is kept has been taken, though the row does not say so yet. */
static void end_taking(struct rds_node *n, const struct rds_message *m)
{
	struct rds_sock *s;

	ut_list_each(s, &n->socks, node_entry)
		if (m->record && atomic_load(&s->row->pending) == m->record)
			rds_keep_took(s, m->record);
}

/* --- the whole --- */

static int take_socks(struct rds_node *n)
{
	struct rds_store *all = rds_store();
	struct rds_store_sock *row;
	int fd, r = 0;

	for (int i = 0; i < RDS_SOCKS_MAX && !r; i++) {
		row = &all->socks[i];
		if (!atomic_load(&row->id))
			continue;
		fd = rds_standby_take(RDS_STANDBY_SOCK, row->id, NULL);
		if (fd < 0)
			atomic_store(&row->id, 0);
		else if (!is_sock(row))
			close(fd);
		else
			r = rds_sock_take(n, fd, row, &n->maps->claims[i]);
		if (!r && !sock_of(n, atomic_load(&row->id))) {
			rds_standby_keep(RDS_STANDBY_SOCK, row->id, NULL, -1);
			atomic_store(&row->id, 0);
		}
	}
	n->next_sock = atomic_load(&all->next_sock);
	return r;
}

static int take_conns(struct rds_node *n)
{
	const struct rds_conn_state *s;
	struct rds_conn *c;

	for (int i = 0; i < RDS_STORE_CONNS; i++) {
		if (!atomic_load(&rds_store()->conns[i].used))
			continue;
		s = conn_state(i);
		if (!is_conn(s)) {
			atomic_store(&rds_store()->conns[i].used, 0);
			continue;
		}
		c = rds_node_take_conn(n, s->type == (int)RDS_TRANS_TCP ? &rds_tcp : &rds_rdma, s, i);
		if (!c)
			return -ENOMEM;
		c->flow.next_tx = atomic_load(&rds_store()->conns[i].next_tx);
	}
	return 0;
}

/* Also those of addresses whose sockets have gone: the peers of their connections rely on them. */
static int open_listeners(struct rds_node *n)
{
	struct rds_sock *s;
	struct rds_conn *c;
	int e = 0;

	ut_list_each(c, &n->conns, node_entry)
		if (e != -ENOMEM)
			e = rds_listener_open(n, &c->local);
	ut_list_each(s, &n->socks, node_entry) {
		if (!s->bound.family || e == -ENOMEM)
			continue;
		e = rds_listener_open(n, &s->bound);
		if (s->transport == RDS_TRANS_IB && e != -ENOMEM)
			e = rds_listener_want_rdma(n, &s->bound);
	}
	return e == -ENOMEM ? e : 0;
}

/* Arrivals of this owner are behind all of the one before. */
static void count_arrivals(struct rds_node *n, const struct found *f)
{
	for (int i = 0; i < RDS_STORE_CONNS; i++)
		if (atomic_load(&rds_store()->conns[i].used) && conn_state(i)->arrival > n->arrivals)
			n->arrivals = conn_state(i)->arrival;
	for (size_t i = 0; i < f->nr; i++)
		if (f->at[i].rank == ARRIVAL && f->at[i].place > n->arrivals)
			n->arrivals = f->at[i].place;
}

static int take_slots(struct rds_node *n)
{
	struct found f = { 0 };

	rds_store_look(mark_works, NULL);
	rds_store_each(collect, &f);
	if (f.failed) {
		free(f.at);
		return -ENOMEM;
	}
	count_arrivals(n, &f);
	if (f.nr)
		qsort(f.at, f.nr, sizeof(*f.at), in_order);
	for (size_t i = 0; i < f.nr; i++) {
		if (f.at[i].m)
			end_taking(n, f.at[i].m);
		if (f.at[i].rank == MESSAGE_SENT)
			take_sent(n, f.at[i].m);
		else if (f.at[i].m)
			take_arrived(n, f.at[i].m);
		else if (f.at[i].rank == ARRIVAL)
			take_end(n, f.at[i].j);
		else
			take_work(n, f.at[i].j);
	}
	free(f.at);
	return 0;
}

int rds_takeover(struct rds_node *n)
{
	struct rds_conn *c;
	struct rds_sock *s;
	int r = take_socks(n);

	if (!r)
		r = take_conns(n);
	if (!r)
		r = take_slots(n);
	if (r)
		return r;
	ut_list_each(c, &n->conns, node_entry)
		rds_out_restart(c);
	r = open_listeners(n);
	ut_list_each(c, &n->conns, node_entry)
		if (!r)
			r = c->via->take_over(c, conn_state(c->row), rds_standby_take(RDS_STANDBY_TCP, (uint64_t)c->row, NULL));
	if (r)
		return r;
	rds_standby_close_rest();
	ut_list_each(s, &n->socks, node_entry)
		rds_sock_flow(s);
	return 0;
}
