/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections beyond death: what another process must know to end them, and ending
 * those of one that has died. Its communication ID is used as if it were ours, so the
 * peer sees a DREQ like any other; the DREP comes to whoever gets it, hence a
 * few repetitions and no certainty.
 */
#include "cm/ibcm/ep.h"

#include <errno.h>
#include <string.h>

#define DISCONNECT_TRIES 3u

static bool counts(const struct ibcm_ep *e)
{
	return e->state == IBCM_REP_SENT || e->state == IBCM_ESTAB;
}

void ibcm_record_check(struct ibcm_ep *e)
{
	const struct ibcm_carrier *c = e->cm->cfg.carrier;
	struct ibcm_record t = { .tid = e->tid, .local_id = e->local_id, .remote_id = e->remote_id,
			      .remote_qpn = e->remote_qpn, .tclass = e->tclass };

	if (counts(e) == (e->tied >= 0))
		return;
	if (!counts(e)) {
		c->untie(e->cm->dev, e->tied);
		e->tied = -1;
		return;
	}
	memcpy(t.local, e->ep.local.addr, 16);
	memcpy(t.remote, e->ep.remote.addr, 16);
	e->tied = c->record(e->cm->dev, &t);
}

static struct ibcm_ep *dead_one(struct ibcm *cm, const struct ibcm_record *t)
{
	struct ibcm_ep *e = ibcm_ep_new(cm);

	if (!e)
		return NULL;
	/* An ID of ours would be a forgery; theirs differ in the slot. */
	if (ut_idtab_add(&cm->ids, t->local_id, e)) {
		ibcm_ep_free(e);
		return NULL;
	}
	e->gone = true;
	cm->n_gone++;
	e->local_id = t->local_id;
	e->remote_id = t->remote_id;
	e->remote_qpn = t->remote_qpn;
	e->tid = t->tid;
	e->tclass = t->tclass;
	e->qp_type = IBV_QPT_RC;
	memcpy(e->ep.local.addr, t->local, 16);
	memcpy(e->ep.remote.addr, t->remote, 16);
	return e;
}

bool ibcm_disconnect_dead(struct cm_port *p, const struct ibcm_record *t, uint64_t now)
{
	struct ibcm *cm = p->manager;
	struct ibcm_ep *e;
	union ibv_gid gid;

	eng_dev_held(cm->dev);
	memcpy(gid.raw, t->local, 16);
	if (!t->local_id || t->remote_qpn > 0xffffff || cm->n_gone >= IBCM_GONE_MAX ||
	    eng_gid_find(cm->dev, &gid) < 0)
		return false;
	e = dead_one(cm, t);
	if (!e)
		return false;
	cm->now = now;
	cm->has_now = true;
	ibcm_hang_up(e);
	e->max_tries = DISCONNECT_TRIES;
	cm->has_now = false;
	return true;
}
