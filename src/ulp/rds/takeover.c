/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/takeover.h"

#include "ulp/rds/claim.h"
#include "ulp/rds/keep.h"
#include "ulp/rds/rdma.h"
#include "ulp/rds/standby.h"
#include "ulp/rds/store.h"
#include "ulp/rds/tcp.h"

#include <linux/rds.h>
#include <stdlib.h>
#include <string.h>

struct found {
	struct rds_node *n;
	struct rds_message **at;
	size_t nr, room;
};

/* --- messages --- */

static const struct rds_conn_state *conn_state(int row)
{
	const struct rds_store_conn *c = &rds_store()->conns[row];

	return &c->state[atomic_load(&c->which)];
}

/* Of one that came by a connection the peer will send the octets again, unless they count as taken. */
static bool counts(const struct rds_message *m)
{
	if (m->kept == RDS_KEPT_SENT)
		return !m->has_works;
	return m->kept == RDS_KEPT_COME && (m->row < 0 || m->arrival <= conn_state(m->row)->arrival);
}

static bool is_partial(const struct rds_message *m)
{
	for (int i = 0; i < RDS_STORE_CONNS; i++)
		if (atomic_load(&rds_store()->conns[i].used) && conn_state(i)->up && conn_state(i)->in == m)
			return true;
	return false;
}

static bool collect(void *slot, void *arg)
{
	struct rds_message *m = slot, **more;
	struct found *f = arg;

	if (!counts(m)) {
		atomic_store(&m->kept, RDS_KEPT_NOT);
		return is_partial(m);
	}
	if (f->nr == f->room) {
		more = realloc(f->at, (f->room ? f->room * 2 : 256) * sizeof(*more));
		if (!more)
			return true;
		f->at = more;
		f->room = f->room ? f->room * 2 : 256;
	}
	f->at[f->nr++] = m;
	return true;
}

/* Sent ones by connection and number, then those that have come, by their arrival. */
static int in_order(const void *a, const void *b)
{
	const struct rds_message *x = *(struct rds_message *const *)a, *y = *(struct rds_message *const *)b;
	uint64_t l, r;

	if (x->kept != y->kept)
		return x->kept < y->kept ? -1 : 1;
	l = x->kept == RDS_KEPT_SENT ? x->place : x->arrival;
	r = x->kept == RDS_KEPT_SENT ? y->place : y->arrival;
	return l < r ? -1 : l > r;
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

static void take_message(struct rds_node *n, struct rds_message *m)
{
	struct rds_conn *c = m->kept == RDS_KEPT_SENT ? conn_of(n, (int)(m->place >> 56)) : NULL;
	struct rds_sock *s = sock_of(n, m->kept == RDS_KEPT_SENT ? m->sender : m->to);

	ut_list_init(&m->node);
	memset(m->works, 0, sizeof(m->works));
	if (m->kept == RDS_KEPT_SENT && s)
		s->sent_bytes += m->len;
	if (c) {
		m->sequence = m->place & (UINT64_MAX >> 8);
		rds_flow_again(&c->flow, m);
	} else if (m->kept == RDS_KEPT_COME && s) {
		if (m->number)
			rds_claim_doubt(s->claims, m->number);
		n->arrivals = m->arrival;
		rds_sock_again(s, m);
	} else {
		rds_message_free(m);
	}
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
		else
			r = rds_sock_take(n, fd, row, &n->maps->claims[i]);
		if (!sock_of(n, atomic_load(&row->id)))
			atomic_store(&row->id, 0);
	}
	n->next_sock = atomic_load(&all->next_sock);
	return r;
}

static void take_conns(struct rds_node *n)
{
	const struct rds_conn_state *s;
	struct rds_conn *c;

	for (int i = 0; i < RDS_STORE_CONNS; i++) {
		if (!atomic_load(&rds_store()->conns[i].used))
			continue;
		s = conn_state(i);
		c = rds_node_take_conn(n, s->type == (int)RDS_TRANS_TCP ? &rds_tcp : &rds_rdma, s, i);
		if (c)
			c->flow.next_tx = atomic_load(&rds_store()->conns[i].next_tx);
	}
}

/* Also those of addresses whose sockets have gone: the peers of their connections rely on them. */
static void open_listeners(struct rds_node *n)
{
	struct rds_sock *s;
	struct rds_conn *c;

	ut_list_each(c, &n->conns, node_entry)
		rds_listener_open(n, &c->local);
	ut_list_each(s, &n->socks, node_entry) {
		if (!s->bound.family)
			continue;
		rds_listener_open(n, &s->bound);
		if (s->transport == RDS_TRANS_IB)
			rds_listener_want_rdma(n, &s->bound);
	}
}

int rds_takeover(struct rds_node *n)
{
	struct found f = { .n = n };
	struct rds_conn *c;
	struct rds_sock *s;
	int r = take_socks(n);

	if (r)
		return r;
	take_conns(n);
	for (int i = 0; i < RDS_STORE_CONNS; i++)
		if (atomic_load(&rds_store()->conns[i].used) && conn_state(i)->arrival > n->arrivals)
			n->arrivals = conn_state(i)->arrival;
	rds_store_each(collect, &f);
	if (f.nr)
		qsort(f.at, f.nr, sizeof(*f.at), in_order);
	for (size_t i = 0; i < f.nr; i++) {
		end_taking(n, f.at[i]);
		take_message(n, f.at[i]);
	}
	free(f.at);
	open_listeners(n);
	ut_list_each(c, &n->conns, node_entry)
		c->via->take_over(c, conn_state(c->row), rds_standby_take(RDS_STANDBY_TCP, (uint64_t)c->row, NULL));
	rds_standby_close_rest();
	ut_list_each(s, &n->socks, node_entry)
		rds_sock_flow(s);
	return 0;
}
