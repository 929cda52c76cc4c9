/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Endpoints: birth and death, numbers and look-up, timers, events. */

#include "cm/ibcm/ep.h"

#include "cm/faults.h"
#include "cm/ibcm/bind.h"
#include "cm/ibcm/msg.h"
#include "cm/ibcm/watch.h"
#include "util/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- look-up --- */

int ibcm_tables_init(struct ibcm *cm)
{
	for (unsigned t = 0; t < IBCM_TABLES; t++) {
		cm->bucket[t] = ut_calloc(IBCM_BUCKETS, sizeof(struct ut_list));
		if (!cm->bucket[t])
			return -ENOMEM;
		for (unsigned i = 0; i < IBCM_BUCKETS; i++)
			ut_list_init(&cm->bucket[t][i]);
	}
	return 0;
}

/* Strangers choose what goes in, so the place depends on a secret. */
static uint32_t place(const struct ibcm *cm, const uint8_t addr[16], uint64_t hi, uint32_t lo)
{
	struct ut_rng r = { .state = cm->salt ^ wire_get64(addr) };

	r.state ^= ut_rng_u64(&r) ^ wire_get64(addr + 8);
	r.state ^= ut_rng_u64(&r) ^ hi;
	r.state ^= ut_rng_u64(&r) ^ lo;
	return (uint32_t)(ut_rng_u64(&r) % IBCM_BUCKETS);
}

void ibcm_key_add(struct ibcm_ep *e, enum ibcm_table t, const uint8_t addr[16], uint64_t hi,
		  uint32_t lo)
{
	struct ibcm_key *k = &e->key[t];

	memcpy(k->addr, addr, 16);
	k->hi = hi;
	k->lo = lo;
	ut_list_del(&k->node);
	ut_list_add_tail(&e->cm->bucket[t][place(e->cm, addr, hi, lo)], &k->node);
}

void ibcm_key_first(struct ibcm_ep *e, enum ibcm_table t)
{
	struct ibcm_key *k = &e->key[t];
	struct ut_list *head = &e->cm->bucket[t][place(e->cm, k->addr, k->hi, k->lo)];

	ut_list_del(&k->node);
	ut_list_add_tail(head->next, &k->node);
}

struct ibcm_ep *ibcm_key_find(struct ibcm *cm, enum ibcm_table t, const uint8_t addr[16],
			      uint64_t hi, uint32_t lo, const struct ibcm_ep *not)
{
	struct ut_list *n, *head = &cm->bucket[t][place(cm, addr, hi, lo)];

	for (n = head->next; n != head; n = n->next) {
		struct ibcm_key *k = ut_container(n, struct ibcm_key, node);
		struct ibcm_ep *e = ut_container(k - t, struct ibcm_ep, key[0]);

		if (e != not && k->hi == hi && k->lo == lo && !memcmp(k->addr, addr, 16))
			return e;
	}
	return NULL;
}

int ibcm_ep_number(struct ibcm_ep *e)
{
	struct ibcm *cm = e->cm;
	uint32_t id;
	int r;

	eng_dev_held(cm->dev);
	do {
		id = (cm->dev->qpn_fixed >> 16 & 0xff) << 24 | (ut_rng_u64(&cm->rng) & 0xffffff);
		r = id ? ut_idtab_add(&cm->ids, id, e) : -EEXIST;
	} while (r == -EEXIST);
	if (r)
		return r;
	e->local_id = id;
	return 0;
}

void ibcm_ep_forget(struct ibcm_ep *e)
{
	if (e->local_id)
		ut_idtab_del(&e->cm->ids, e->local_id);
	e->local_id = 0;
	ut_list_del(&e->key[IBCM_BY_COMM].node);
	ut_list_del(&e->key[IBCM_BY_QPN].node);
}

/* --- birth and death --- */

struct ibcm_ep *ibcm_ep_new(struct ibcm *cm)
{
	struct ibcm_ep *e = ut_zalloc(sizeof(*e));

	if (!e)
		return NULL;
	if (ut_heap_reserve(&cm->heap)) {
		free(e);
		return NULL;
	}
	e->delay = UT_NEVER;
	e->tied = -1;
	e->cm = cm;
	e->ep.port = cm->port;
	e->ep.opt.tos = -1;
	e->ep.path = (struct cm_path){ .slid = CM_LID_PERMISSIVE, .dlid = CM_LID_PERMISSIVE,
				       .pkey = WIRE_PKEY_DEFAULT, .hop_limit = IBCM_HOPS };
	e->rq_psn = (uint32_t)ut_rng_u64(&cm->rng) & 0xffffff;
	ut_list_init(&e->fresh);
	ut_list_init(&e->asking);
	ut_list_init(&e->children);
	ut_list_init(&e->sibling);
	for (unsigned t = 0; t < IBCM_TABLES; t++)
		ut_list_init(&e->key[t].node);
	ut_list_add_tail(&cm->eps, &e->all);
	return e;
}

void ibcm_ep_free(struct ibcm_ep *e)
{
	struct ibcm *cm = e->cm;

	while (!ut_list_empty(&e->children))
		ibcm_without_owner(ut_container(e->children.next, struct ibcm_ep, sibling));
	ibcm_enter(e, IBCM_OVER);
	ibcm_unbind(e);
	ibcm_ep_forget(e);
	if (e->gone)
		cm->n_gone--;
	ut_heap_unreserve(&cm->heap);
	ut_list_del(&e->fresh);
	ut_list_del(&e->all);
	free(e);
}

void ibcm_ep_over(struct ibcm_ep *e)
{
	if (e->gone) {
		ibcm_ep_free(e);
		return;
	}
	ibcm_enter(e, IBCM_OVER);
	ibcm_ep_forget(e);
}

void ibcm_without_owner(struct ibcm_ep *e)
{
	if (!e->listener)
		return;
	e->listener->unanswered--;
	e->listener = NULL;
	ut_list_del(&e->sibling);
}

bool ibcm_half_open(struct ibcm_ep *e)
{
	struct ibcm *cm = e->cm;
	uint16_t *n = &cm->half_by_peer[place(cm, e->ep.remote.addr, 0, 0)];

	if (cm->n_half >= IBCM_HALF_OPEN_MAX || *n >= IBCM_HALF_OPEN_PEER)
		return false;
	cm->n_half++;
	(*n)++;
	e->half = true;
	return true;
}

void ibcm_half_done(struct ibcm_ep *e)
{
	if (!e->half)
		return;
	e->half = false;
	e->cm->n_half--;
	e->cm->half_by_peer[place(e->cm, e->ep.remote.addr, 0, 0)]--;
}

/* --- states and timers --- */

void ibcm_enter(struct ibcm_ep *e, enum ibcm_state state)
{
	ut_timer_clear(&e->cm->heap, &e->timer);
	e->delay = UT_NEVER;
	ut_list_del(&e->asking);
	e->state = (uint8_t)state;
	if (state != IBCM_REQ_RCVD && state != IBCM_SIDR_RCVD)
		ibcm_without_owner(e);
	if (state != IBCM_REQ_RCVD && state != IBCM_SIDR_RCVD && state != IBCM_REP_SENT)
		ibcm_half_done(e);
	ibcm_record_check(e);
}

static void freshen(struct ibcm_ep *e)
{
	if (ut_list_empty(&e->fresh))
		ut_list_add_tail(&e->cm->fresh, &e->fresh);
	e->cm->timing.due = 0;
}

void ibcm_arm(struct ibcm_ep *e, uint64_t delay)
{
	struct ibcm *cm = e->cm;

	if (cm->has_now) {
		ut_timer_set(&cm->heap, &e->timer, cm->now + delay);
		return;
	}
	e->delay = delay;
	freshen(e);
}

void ibcm_ask(struct ibcm_ep *e, enum ibcm_state state, unsigned code, unsigned max)
{
	uint64_t full = ibcm_ns(code);

	ibcm_enter(e, state);
	ut_list_add_tail(&e->cm->asking, &e->asking);
	e->full = (uint8_t)code;
	e->max_tries = (uint8_t)max;
	e->tries = 0;
	e->mra_until = 0;
	ibcm_send_kept(e);
	ibcm_arm(e, full < IBCM_FIRST_NS || ibcm_asks_stranger(e) ? full : IBCM_FIRST_NS);
}

/*
 * As long as packets of the connection may be on their way. They go to our QP of old: should the
 * peer have taken the number of its own for another attempt already (as the next process with its
 * part of the numbers may), that is no stale connection.
 */
void ibcm_timewait(struct ibcm_ep *e)
{
	const struct link_rule *r = cm_fault(e->cm->port, 1u << LINK_ACT_TIMEWAIT, e->ep.remote.addr, e->cm->now);

	ibcm_enter(e, IBCM_TIMEWAIT);
	if (r) {
		/* Packets of old that the network has kept: the number stays in use. */
		ibcm_arm(e, r->value);
		return;
	}
	ut_list_del(&e->key[IBCM_BY_QPN].node);
	ibcm_arm(e, ibcm_ns(e->ack_timeout < IBCM_TIMEOUT ? e->ack_timeout : IBCM_TIMEOUT));
}

/* A peer that did not hear us asks again after its full timeout. */
void ibcm_answered(struct ibcm_ep *e)
{
	ibcm_enter(e, IBCM_ANSWERED);
	ut_list_del(&e->key[IBCM_BY_QPN].node); /* the QP is free for another attempt */
	ibcm_arm(e, 2 * ibcm_ns(IBCM_TIMEOUT));
}

int ibcm_settle(struct ibcm *cm)
{
	struct ut_list *n;
	int done = 0;

	while ((n = ut_list_pop(&cm->fresh))) {
		struct ibcm_ep *e = ut_container(n, struct ibcm_ep, fresh);

		if (e->delay != UT_NEVER)
			ut_timer_set(&cm->heap, &e->timer, cm->now + e->delay);
		e->delay = UT_NEVER;
		done++;
		if (e->tell) {
			e->tell = false;
			ibcm_raise(e, e->told, 0);
		}
	}
	return done;
}

void ibcm_begin(struct ibcm *cm, uint64_t now)
{
	cm->now = now;
	cm->has_now = true;
}

void ibcm_end(struct ibcm *cm)
{
	cm->has_now = false;
	cm->timing.due = ut_list_empty(&cm->fresh) ? ut_heap_next(&cm->heap) : 0;
}

/* --- events --- */

int ibcm_raise_event(struct ibcm_ep *e, struct cm_event *ev)
{
	struct cm_port *p = e->ep.port;

	if (e->gone)
		return 0;
	ev->ep = &e->ep;
	return p->user->event(p, ev);
}

void ibcm_raise_data(struct ibcm_ep *e, enum cm_event_type type, int status, const void *data,
		     uint16_t len)
{
	struct cm_event ev = { .type = type, .status = status,
			       .param = { .private_data = data, .private_len = len,
					  .qp_type = e->qp_type, .qpn = e->remote_qpn,
					  .ece = e->ece },
			       .remote_qpn = e->remote_qpn };

	ibcm_raise_event(e, &ev);
}

void ibcm_raise(struct ibcm_ep *e, enum cm_event_type type, int status)
{
	ibcm_raise_data(e, type, status, NULL, 0);
}

void ibcm_raise_later(struct ibcm_ep *e, enum cm_event_type type)
{
	e->tell = true;
	e->told = (uint8_t)type;
	freshen(e);
}
