/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/keep.h"

#include "ulp/rds/claim.h"
#include "ulp/rds/job.h"
#include "ulp/rds/node.h"
#include "ulp/rds/standby.h"
#include "ulp/rds/store.h"

#include <errno.h>
#include <string.h>

#define SETTLED 0x100000u               /* numbers after which none before is in doubt */

/* --- sockets --- */

int rds_keep_sock_open(struct rds_sock *s)
{
	struct rds_store *all = rds_store();
	struct rds_store_sock *row;
	int e;

	for (int i = 0; i < RDS_SOCKS_MAX; i++) {
		row = &all->socks[i];
		if (atomic_load(&row->id))
			continue;
		s->row = row;
		s->claims = &s->node->maps->claims[i];
		atomic_store(s->claims, 0);
		atomic_store(&row->pending, 0);
		atomic_store(&row->taken, 0);
		atomic_store(&row->number, 0);
		rds_keep_sock(s);
		e = rds_standby_keep(RDS_STANDBY_SOCK, s->id, NULL, s->watch.fd);
		if (e)
			return e;
		atomic_store(&all->next_sock, s->id);
		atomic_store(&row->id, s->id);
		return 0;
	}
	return -ENFILE;
}

void rds_keep_sock_close(struct rds_sock *s)
{
	atomic_store(&s->row->id, 0);
	rds_standby_keep(RDS_STANDBY_SOCK, s->id, NULL, -1);
}

void rds_keep_sock(struct rds_sock *s)
{
	uint32_t next = !atomic_load(&s->row->which);

	s->row->state[next] = (struct rds_sock_state){
		.bound = s->bound, .peer = s->peer, .sndbuf = s->sndbuf, .rcvbuf = s->rcvbuf, .cong_mask = s->cong_mask,
		.transport = s->transport, .monitor = s->monitor, .recverr = s->recverr, .seen = s->seen };
	atomic_store(&s->row->which, next);
}

bool rds_keep_is_taken(const struct rds_sock *s, uint64_t record)
{
	return record && atomic_load(&s->row->taken) == record;
}

void rds_keep_taking(struct rds_sock *s, uint64_t record)
{
	atomic_store(&s->row->pending, record);
}

void rds_keep_took(const struct rds_sock *s, uint64_t record)
{
	atomic_store(&s->row->taken, record);
}

/* --- connections --- */

bool rds_keep_conn_open(struct rds_conn *c)
{
	struct rds_store *all = rds_store();

	for (int i = 0; i < RDS_STORE_CONNS; i++) {
		if (atomic_load(&all->conns[i].used))
			continue;
		c->row = i;
		atomic_store(&all->conns[i].next_tx, c->flow.next_tx);
		rds_keep_conn(c);
		atomic_store(&all->conns[i].used, 1);
		return true;
	}
	return false;
}

void rds_keep_conn(struct rds_conn *c)
{
	struct rds_store_conn *row = &rds_store()->conns[c->row];
	uint32_t next = !atomic_load(&row->which);
	struct rds_conn_state *state = &row->state[next];

	*state = (struct rds_conn_state){
		.local = c->local, .peer = c->peer, .type = c->via->type, .has_stood = c->has_stood,
		.peer_generation = c->flow.peer_generation, .next_rx = c->flow.next_rx, .arrival = c->arrival };
	c->via->keep(c, state);
	atomic_store(&row->which, next);
}

void rds_keep_queued(struct rds_conn *c, struct rds_message *m)
{
	atomic_store(&rds_store()->conns[c->row].next_tx, c->flow.next_tx);
	for (int i = 0; i < RDS_WORK_MAX; i++)
		m->work_at[i] = rds_store_place(m->works[i]);
	atomic_store(&m->place, (uint64_t)c->row << 56 | m->sequence);
	atomic_store(&m->kept, RDS_KEPT_SENT);
	/* From here on the message says that they are in use. */
	for (int i = 0; i < RDS_WORK_MAX; i++)
		if (m->works[i])
			atomic_store(&m->works[i]->kept, RDS_KEPT_WORK);
}

void rds_keep_moved(struct rds_conn *c)
{
	struct rds_message *m;

	ut_list_each(m, &c->flow.waiting, node)
		rds_keep_queued(c, m);
}

/* --- messages that have come, and works that have ended --- */

void rds_keep_come(struct rds_sock *s, struct rds_conn *c, const struct rsp_addr *from, const struct rds_news *news, struct rds_message *m)
{
	m->arrival = ++s->node->arrivals;
	m->to = s->id;
	m->from = *from;
	m->cookie = news->cookie;
	m->used_key = news->used_key;
	m->row = c ? c->row : -1;
	atomic_store(&m->kept, RDS_KEPT_COME);
	if (!c)
		return;
	c->arrival = m->arrival;
	rds_keep_conn(c);
}

void rds_keep_ended(struct rds_sock *s, struct rds_job *j)
{
	j->arrival = ++s->node->arrivals;
	atomic_store(&j->kept, RDS_KEPT_ENDED);
}

void rds_keep_told(struct rds_job *j)
{
	atomic_store(&j->kept, RDS_KEPT_WORK);
}

void rds_keep_number(struct rds_sock *s, uint32_t *number)
{
	uint32_t next;

	if (*number)
		return;
	next = rds_claim_next(atomic_load(&s->row->number));
	if (next % SETTLED == 0)
		rds_claim_settle(s->claims);
	atomic_store(&s->row->number, next);
	*number = next;
}
