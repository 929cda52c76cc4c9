/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A port of this manager: life, timers, and reports that nobody answers there. */
#include "cm/ibcm/ep.h"

#include "util/alloc.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SPACE(ps) (1u << ((ps) >> 1 & 31)) /* cm_space_bit() as a constant */

static const struct cm_ops ops = {
	.name = "ibcm",
	.confirms = true,
	.timewait = true,
	.moves_qp = false,
	.qp_types = 1u << IBV_QPT_RC | 1u << IBV_QPT_UC | 1u << IBV_QPT_UD |
		    1u << IBV_QPT_XRC_SEND | 1u << IBV_QPT_XRC_RECV,
	.spaces = SPACE(CM_PS_TCP) | SPACE(CM_PS_UDP) | SPACE(CM_PS_IB) | SPACE(CM_PS_IPOIB),
	.bind = ibcm_bind,
	.listen = ibcm_listen,
	.create = ibcm_create,
	.connect = ibcm_connect,
	.accept = ibcm_accept,
	.reject = ibcm_reject,
	.establish = ibcm_establish,
	.notify = ibcm_notify,
	.disconnect = ibcm_disconnect,
	.qp_attr = ibcm_qp_attr,
	.destroy = ibcm_destroy,
};

static void fini(struct ibcm *cm)
{
	for (unsigned t = 0; t < IBCM_TABLES; t++)
		free(cm->bucket[t]);
	ut_idtab_fini(&cm->ids);
	ut_heap_fini(&cm->heap);
	free(cm);
}

int ibcm_init(struct cm_port *ret, struct eng_dev *dev, const struct ibcm_config *cfg)
{
	struct ibcm *cm = ut_zalloc(sizeof(*cm));

	if (!cm)
		return -ENOMEM;
	cm->port = ret;
	cm->dev = dev;
	cm->cfg = *cfg;
	cm->rng.state = cfg->seed;
	cm->salt = ut_rng_u64(&cm->rng);
	ut_list_init(&cm->eps);
	ut_list_init(&cm->fresh);
	ut_list_init(&cm->asking);
	if (ibcm_tables_init(cm)) {
		fini(cm);
		return -ENOMEM;
	}
	ret->ops = &ops;
	ret->dev = dev;
	ret->manager = cm;
	return 0;
}

void ibcm_fini(struct cm_port *p)
{
	struct ibcm *cm = p->manager;
	struct ibcm_ep *e, *next;

	if (!cm)
		return;
	ibcm_leave(p);
	ut_list_each_safe(e, next, &cm->eps, all)
		ibcm_ep_free(e);
	fini(cm);
	p->manager = NULL;
}

/* --- timers --- */

static void give_up(struct ibcm_ep *e, enum cm_event_type type, int status)
{
	/* So that a peer who thinks otherwise learns that we have left. */
	if (e->state == IBCM_REQ_SENT || e->state == IBCM_REP_SENT) {
		ibcm_build_rej(e, e->state == IBCM_REP_SENT, CM_REJ_TIMEOUT, NULL, 0);
		ibcm_send_kept(e);
	}
	if (e->state == IBCM_DREQ_SENT) {
		ibcm_timewait(e);
		ibcm_raise(e, CM_EV_DISCONNECTED, 0);
		return;
	}
	if (e->gone) {
		ibcm_ep_free(e);
		return;
	}
	ibcm_ep_over(e);
	ibcm_raise(e, type, status);
}

/*
 * A request names no process and meets any of those on the address, maybe one that is stopped;
 * each repetition draws anew, so the first few come soon.
 */
static unsigned doublings(const struct ibcm_ep *e)
{
	bool anybody = e->state == IBCM_REQ_SENT || e->state == IBCM_SIDR_SENT;
	unsigned n = anybody ? e->tries > IBCM_DRAWS ? e->tries - IBCM_DRAWS : 0u : e->tries;

	/* Six are beyond any full timeout that counts here. */
	return n < 6 ? n : 6;
}

static void repeat(struct ibcm_ep *e)
{
	uint64_t full = ibcm_ns(e->full), wait = full;

	if (e->knocking) {
		e->knocking = false;
		wait = IBCM_FIRST_NS;
	} else if (e->cm->now >= e->patient_until) {
		if (e->tries == e->max_tries) {
			give_up(e, CM_EV_UNREACHABLE, -ETIMEDOUT);
			return;
		}
		e->tries++;
		wait = IBCM_FIRST_NS << doublings(e);
	}
	ibcm_send_kept(e);
	ibcm_arm(e, wait < full ? wait : full);
}

static void fired(struct ibcm_ep *e)
{
	switch (e->state) {
	case IBCM_REQ_SENT:
	case IBCM_REP_SENT:
	case IBCM_DREQ_SENT:
	case IBCM_SIDR_SENT:
		repeat(e);
		break;
	case IBCM_REQ_RCVD:
		ibcm_send_mra(e, 0);
		break;
	case IBCM_ESTAB:
		ibcm_watch(e);
		break;
	case IBCM_TIMEWAIT:
		if (e->gone) {
			ibcm_ep_free(e);
			break;
		}
		ibcm_ep_over(e);
		ibcm_raise(e, CM_EV_TIMEWAIT_EXIT, 0);
		break;
	case IBCM_ANSWERED:
		ibcm_ep_over(e);
		break;
	default:
		break;
	}
}

int ibcm_run(struct cm_port *p, uint64_t now)
{
	struct ibcm *cm = p->manager;
	struct ut_timer *t;
	int n;

	if (ut_list_empty(&cm->fresh) && ut_heap_next(&cm->heap) > now)
		return 0;
	cm->now = now;
	cm->has_now = true;
	n = ibcm_settle(cm);
	while ((t = ut_heap_expired(&cm->heap, now))) {
		fired(ut_container(t, struct ibcm_ep, timer));
		n++;
	}
	n += ibcm_settle(cm);
	cm->has_now = false;
	return n;
}

uint64_t ibcm_deadline(struct cm_port *p)
{
	struct ibcm *cm = p->manager;

	return ut_list_empty(&cm->fresh) ? ut_heap_next(&cm->heap) : 0;
}

void ibcm_unreachable(struct cm_port *p, const uint8_t dst[16], int error, uint64_t now)
{
	struct ibcm *cm = p->manager;
	struct ibcm_ep *e, *next;
	struct ut_list hit;
	struct ut_list *n;
	bool refused = error == ECONNREFUSED;

	if (error == EMSGSIZE)
		return; /* not about a MAD */
	cm->now = now;
	cm->has_now = true;
	ibcm_settle(cm);
	ut_list_init(&hit);
	ut_list_each_safe(e, next, &cm->asking, asking) {
		if (memcmp(e->ep.remote.addr, dst, 16))
			continue;
		ut_list_del(&e->asking);
		ut_list_add_tail(&hit, &e->asking);
	}
	/* Up-calls may destroy any of them, which takes them off. */
	while ((n = ut_list_pop(&hit))) {
		e = ut_container(n, struct ibcm_ep, asking);
		if (refused && (e->state == IBCM_REQ_SENT || e->state == IBCM_SIDR_SENT))
			give_up(e, CM_EV_REJECTED, CM_REJ_INVALID_SERVICE_ID);
		else
			give_up(e, CM_EV_UNREACHABLE, -error);
	}
	if (refused)
		ibcm_watch_refused(cm, dst);
	ibcm_settle(cm);
	cm->has_now = false;
}
