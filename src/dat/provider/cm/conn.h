/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A connection, or an attempt, as rdma_cm knows it: the object behind id->context. It outlives
 * endpoint and request, since events may be under way. The loop copies an event, acknowledges it,
 * and only then handles it, so that rdma_destroy_id never waits for a handler that needs a lock.
 * The last dpr_conn_put destroys the id, with no lock held and before the queue pair is destroyed:
 * librdmacm moves the queue pair while it hands out an event.
 *
 * Other calls on the id are made with the lock held of the endpoint whose present connection it is.
 */
#ifndef DAT_PROVIDER_CM_CONN_H
#define DAT_PROVIDER_CM_CONN_H

#include "dat/core/private.h"
#include "dat/provider/ia/loop.h"
#include "util/list.h"
#include "util/lock.h"

#include <dat2/udat.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dpr_ep;
struct dpr_ia;

struct dpr_conn {
	_Atomic uint32_t refs; /* the endpoint or request, and the loop while it handles an event */
	struct dpr_ia *ia;
	struct ut_mutex lock; /* a leaf */
	struct rdma_cm_id *id;
	struct dpr_ep *ep UT_GUARDED_BY(lock); /* a reference; NULL before accept, after the end */
	bool active;            /* constant */
	_Atomic bool gone;      /* the peer withdrew before the answer */
	_Atomic bool over;      /* one side asked for the disconnect */
	struct dpr_timer timer; /* the consumer's timeout, over the whole establishment */
	unsigned int tries;     /* to resolve; the loop's */
	struct dpr_private out; /* to send with the request */
	struct dpr_private in;  /* the loop's; valid until dat_ep_free or dat_ep_reset */
	struct sockaddr_storage remote;
	uint64_t qual;
	/* datagrams (ud.h); of_ep and what follows by the endpoint's lock */
	bool ud;
	struct ut_list of_ep;
	bool linked, waiting, released; /* in of_ep; unanswered; freed by the consumer */
	struct ibv_ah *ah;
	bool common; /* by dat_ep_common_connect or a common service point */
};

/* A copy of an event of rdma_cm. */
struct dpr_cm_event {
	enum rdma_cm_event_type type;
	int status;
	struct rdma_cm_id *id;
	uint8_t responder_resources, initiator_depth;
	struct rdma_ud_param ud; /* PS_UDP only */
	struct dpr_private in;
};

/* Returns a connection with one reference, the caller's, and no id; NULL without memory. */
struct dpr_conn *dpr_conn_new(struct dpr_ia *ia, bool active);
void dpr_conn_hold(struct dpr_conn *c);
/* For a caller without a reference. Returns false if the last one is gone, and the id is about to
 * be destroyed. */
bool dpr_conn_hold_alive(struct dpr_conn *c);
/* No lock held. */
void dpr_conn_put(struct dpr_conn *c);

/* Sets the endpoint of c, with a reference. */
void dpr_conn_join(struct dpr_conn *c, struct dpr_ep *ep);
/* Drops the endpoint of c. */
void dpr_conn_leave(struct dpr_conn *c);
/* Returns the endpoint of c with a reference, or NULL. */
struct dpr_ep *dpr_conn_ep(struct dpr_conn *c);
/* The same with ep->lock held, if c is its present connection; dpr_conn_unlock_ep undoes it. */
struct dpr_ep *dpr_conn_lock_ep(struct dpr_conn *c) UT_NO_TSA;
void dpr_conn_unlock_ep(struct dpr_ep *ep) UT_NO_TSA;

/* Disconnects from the peer, if connected. Called with the endpoint's lock held. */
void dpr_conn_disconnect(struct dpr_conn *c);

#endif
