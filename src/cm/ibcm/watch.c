/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections whose peer died without a word. Four signs, since none is always
 * there (DESIGN, "Death"):
 *
 *	silence		the transport asks for an acknowledgement that it has had already;
 *			a live peer gives it again
 *	a refusal	the UDP port of the peer's address is closed. One report may be
 *			about something older, so it is asked once more, and the second
 *			one counts
 *	"unknown"	the port is served, but by processes that know nothing of the
 *			connection: a DREQ that names no QP is answered with DREP by a manager
 *			without such a connection, and ignored by one that has it (IBTA
 *			12.9.7: the QPN must be the right one). Asked of a peer that was
 *			silent twice
 *	no host		the kernel (neighbour entry FAILED) or a router reports that the peer's host
 *			cannot be reached, again after some seconds, while the peer is silent; or
 *			this end's own address is gone, with its interface or alone
 *
 * A process that is stopped on a live host answers nothing of all this and loses nothing: its kernel
 * still answers for its address. There are more signs than silence, since a queue pair of this
 * kind has no adapter that would answer in its place.
 */
#include "cm/ibcm/watch.h"

#include "cm/ibcm/end.h"
#include "cm/ibcm/msg.h"
#include "cm/why.h"
#include "engine/gid.h"

#include <errno.h>
#include <string.h>

#define REFUSED_AGAIN (10 * 1000000ull)  /* older reports have been read until then */
#define REFUSED_OLD (2 * 1000000000ull)
#define SILENT_TWICE 2
#define UNREACHED_FOR (2 * 1000000000ull) /* between the first report and the last one */
#define UNREACHED_OLD (30 * 1000000000ull) /* a report that is older than this, or than two probes, begins anew */
#define GRAIN 20 /* parts of the interval: those of one part are asked in one wake-up */

void ibcm_estab(struct ibcm_ep *e)
{
	ibcm_enter(e, IBCM_ESTAB);
	e->watched = e->refused = e->unreached = e->unreached_since = 0;
	e->silent = 0;
	if (e->cm->cfg.probe_ns)
		ibcm_arm(e, e->cm->cfg.probe_ns);
}

static void again(struct ibcm_ep *e)
{
	uint64_t wait = e->cm->cfg.probe_ns, grain = wait / GRAIN;

	if (wait)
		ibcm_arm(e, wait - (grain ? (e->cm->now + wait) % grain : 0));
}

void ibcm_estab_again(struct ibcm_ep *e)
{
	ibcm_enter(e, IBCM_ESTAB);
	again(e);
}

static void lost(struct ibcm_ep *e)
{
	struct ibcm *cm = e->cm;

	cm->cfg.carrier->gone(cm->dev, e->local_qpn, e->remote_qpn);
	cm_why(cm->port, &e->ep.local, &e->ep.remote, "the peer process is gone without a disconnect: "
		"disconnected; look for its end on the peer's host");
	ibcm_timewait(e);
	ibcm_raise(e, CM_EV_DISCONNECTED, 0);
}

static bool has_address(const struct ibcm *cm, const uint8_t local[16])
{
	struct ibv_ah_attr ah;

	return cm->cfg.carrier->way(cm->dev, local, local, true, &ah) == 0;
}

static bool address_is_gone(const struct ibcm_ep *e)
{
	return !has_address(e->cm, e->ep.local.addr);
}

/* Returns true if the peer's host is dead, or as good as dead. */
static bool host_is_gone(const struct ibcm_ep *e)
{
	return e->silent == SILENT_TWICE &&
	       (e->unreached - e->unreached_since >= UNREACHED_FOR || address_is_gone(e));
}

void ibcm_watch(struct ibcm_ep *e)
{
	uint64_t since = e->refused > e->watched ? e->refused : e->watched;
	struct ibcm *cm = e->cm;

	if (cm->cfg.carrier->probe(cm->dev, e->local_qpn, e->remote_qpn, since) > 0) {
		e->silent = 0;
		e->unreached = e->unreached_since = 0;
	} else {
		e->silent += e->silent < SILENT_TWICE;
		if (e->silent == SILENT_TWICE)
			ibcm_send_plain(e, WIRE_CM_ATTR_DREQ);
	}
	e->watched = cm->now;
	if (host_is_gone(e))
		lost(e);
	else
		again(e);
}

/* Only an answer to our question; anything else is old, or forged. */
void ibcm_got_stranger(struct ibcm_ep *e, const struct gsi_rx *rx)
{
	if (e->silent == SILENT_TWICE)
		lost(e);
}

/* True: a second refusal, after we have asked because of a first one. */
static bool refused_twice(struct ibcm_ep *e)
{
	uint64_t since = e->cm->now - e->refused;

	if (e->refused && since < REFUSED_OLD)
		return since >= REFUSED_AGAIN;
	e->refused = e->cm->now;
	return false;
}

void ibcm_watch_refused(struct ibcm *cm, const uint8_t dst[16])
{
	struct ibcm_ep *e, *asker = NULL;
	struct ut_list hit, *n;

	ut_list_init(&hit);
	ut_list_each(e, &cm->eps, all) {
		bool first = e->refused == 0 || cm->now - e->refused >= REFUSED_OLD;

		if (e->state != IBCM_ESTAB || memcmp(e->ep.remote.addr, dst, 16))
			continue;
		if (refused_twice(e))
			ut_list_add_tail(&hit, &e->asking);
		else if (first && !asker)
			asker = e;
	}
	/* One probe serves all connections: a refusal is for an address. */
	if (asker)
		ibcm_arm(asker, REFUSED_AGAIN);
	/* Up-calls may destroy any of them, which takes them off. */
	while ((n = ut_list_pop(&hit)))
		lost(ut_container(n, struct ibcm_ep, asking));
}

/* A packet to the peer's host has come to nothing. */
static void not_reached(struct ibcm_ep *e)
{
	uint64_t now = e->cm->now, old = 2 * e->cm->cfg.probe_ns;

	if (now - e->unreached > (old > UNREACHED_OLD ? old : UNREACHED_OLD) || !e->unreached)
		e->unreached_since = now;
	e->unreached = now;
}

void ibcm_watch_unreached(struct ibcm *cm, const uint8_t dst[16])
{
	struct ut_list hit, *n;
	struct ibcm_ep *e;

	ut_list_init(&hit);
	ut_list_each(e, &cm->eps, all) {
		if (e->state != IBCM_ESTAB || memcmp(e->ep.remote.addr, dst, 16))
			continue;
		not_reached(e);
		if (host_is_gone(e))
			ut_list_add_tail(&hit, &e->asking);
	}
	while ((n = ut_list_pop(&hit)))
		lost(ut_container(n, struct ibcm_ep, asking));
}

/* --- connections of dead processes --- */

/*
 * Connection records: the data that another process needs to disconnect on behalf of a dead peer, and
 * the disconnection itself. The dead peer's communication ID is used as if it were ours, so the
 * remote end sees a DREQ like any other; the DREP comes to any member of the address, hence a few
 * repetitions and no certainty.
 */

#define DISCONNECT_TRIES 3u

static bool counts(const struct ibcm_ep *e)
{
	return e->state == IBCM_REP_SENT || ibcm_is_connected(e) || e->state == IBCM_DREQ_RCVD;
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

	if (!t->local_id || t->remote_qpn > 0xffffff || cm->n_gone >= IBCM_GONE_MAX ||
	    !has_address(cm, t->local))
		return false;
	e = dead_one(cm, t);
	if (!e)
		return false;
	ibcm_begin(cm, now);
	ibcm_hang_up(e);
	e->max_tries = DISCONNECT_TRIES;
	ibcm_end(cm);
	return true;
}
