/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One connection, or one attempt, seen from rdma_cm: the object behind id->context. It outlives
 * endpoint and request, since events may be on their way: the loop copies an event, acknowledges it,
 * and only then handles it, so that nobody waits in rdma_destroy_id for a handler that wants a
 * lock. An id is destroyed with no lock held, by whoever puts the last reference, and before the
 * queue pair is: librdmacm moves the queue pair while it hands out an event.
 *
 * Other calls on the id are made under the lock of the endpoint whose connection this is, after a
 * look that it still is.
 */
#ifndef DAT_PROVIDER_CM_CONN_H
#define DAT_PROVIDER_CM_CONN_H

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

/* Private data as it travels. The length argument of rdma_cm has 8 bits. */
struct dpr_private {
	uint8_t len;
	uint8_t data[255];
};

enum {
	/* over InfiniBand and RoCE: the fields of REQ (behind the IP CM's header), REP and REJ */
	DPR_IB_REQ = 56, DPR_IB_REP = 196, DPR_IB_REJ = 148,
	/* datagrams: the fields of SIDR_REQ and SIDR_REP, behind our own header (ud.c) */
	DPR_UD_REQ = 144, DPR_UD_REP = 132,
	DPR_IW_PRIVATE = 251,
	DPR_REJ_HEADER = 4, /* in front of the consumer's data in each reject */
};

struct dpr_conn {
	_Atomic uint32_t refs; /* the endpoint or request, the loop while it handles */
	struct dpr_ia *ia;
	struct ut_mutex lock; /* a leaf */
	struct rdma_cm_id *id;
	struct dpr_ep *ep UT_GUARDED_BY(lock); /* held; NULL before accept and after the end */
	bool active;      /* immutable */
	_Atomic bool gone; /* the peer gave up before we answered */
	_Atomic bool over; /* one of us asked for the disconnect */
	struct dpr_timer timer; /* the consumer's timeout over the whole establishment */
	unsigned int tries;     /* to resolve; the loop's */
	struct dpr_private out; /* to send with the request */
	struct dpr_private in;  /* the loop's; stays valid until ep_free or ep_reset */
	struct sockaddr_storage remote;
	uint64_t qual;
	/* datagrams (ud.h); of_ep and what follows by the endpoint's lock */
	bool ud;
	struct ut_list of_ep;
	bool linked, waiting, released; /* on the list; not answered yet; freed by the consumer */
	struct ibv_ah *ah;
	bool common; /* reached by dat_ep_common_connect or a common service point */
};

/* An event of rdma_cm, copied. */
struct dpr_cm_event {
	enum rdma_cm_event_type type;
	int status;
	struct rdma_cm_id *id;
	uint8_t responder_resources, initiator_depth;
	struct rdma_ud_param ud; /* PS_UDP only */
	struct dpr_private in;
};

/* One reference, the caller's. The id's context becomes the connection. NULL: no memory. */
struct dpr_conn *dpr_conn_new(struct dpr_ia *ia, bool active);
void dpr_conn_hold(struct dpr_conn *c);
/* False: the last reference is gone, and the id is about to be. */
bool dpr_conn_hold_alive(struct dpr_conn *c);
void dpr_conn_put(struct dpr_conn *c);
/* Its endpoint, held; NULL without. */
struct dpr_ep *dpr_conn_ep(struct dpr_conn *c);
/* From now on this is ep's, and holds it. */
void dpr_conn_join(struct dpr_conn *c, struct dpr_ep *ep);
void dpr_conn_leave(struct dpr_conn *c);
/* Its endpoint, held and locked, if this is its present connection; dpr_conn_unlock_ep lets it go. */
struct dpr_ep *dpr_conn_lock_ep(struct dpr_conn *c) UT_NO_TSA;
void dpr_conn_unlock_ep(struct dpr_ep *ep) UT_NO_TSA;
/* The endpoint's lock is held: ends the connection at the peer, if there is one. */
void dpr_conn_disconnect(struct dpr_conn *c);

/* --- private data and qualifiers (private.c) --- */

#endif
