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
#ifndef DAT_PROVIDER_CONN_H
#define DAT_PROVIDER_CONN_H

#include "dat/provider/ia.h"

struct dpr_cr;
struct dpr_ep;
struct dpr_sp;

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
/* Its endpoint, held and locked, if this is its present connection; dpr_conn_absent lets it go. */
struct dpr_ep *dpr_conn_present(struct dpr_conn *c) UT_NO_TSA;
void dpr_conn_absent(struct dpr_ep *ep) UT_NO_TSA;
/* The endpoint's lock is held: ends the connection at the peer, if there is one. */
void dpr_conn_hang_up(struct dpr_conn *c);

/* The loop: something is readable on ia->channel. */
void dpr_conn_ready(struct dpr_ia *ia);
/* The loop, for a connection; cm_active.c for what only the connecting side hears. */
void dpr_conn_event(struct dpr_conn *c, const struct dpr_cm_event *e);
void dpr_conn_resolve(struct dpr_conn *c, const struct dpr_cm_event *e);
/* Begins with the address; 0 or positive errno. The endpoint's lock is held. */
int dpr_conn_start(struct dpr_conn *c);
/* The attempt failed with this event for the active side, and this in c->in for the consumer. */
void dpr_conn_failed(struct dpr_conn *c, DAT_EVENT_NUMBER event);
void dpr_conn_timeout(struct dpr_timer *t);
/* What rdma_connect and rdma_accept are told of the endpoint. */
struct rdma_conn_param dpr_conn_param(const DAT_EP_ATTR *attr, const struct dpr_private *out);

/* --- private data and qualifiers (private.c) --- */

/* Qualifier to port as Debian's provider folds it: up to 65535 itself, above that
 * (q mod 32001) + 33534. */
uint16_t dpr_qual_port(DAT_CONN_QUAL q);
/* What ep may send with a request. */
unsigned int dpr_private_max(const struct dpr_ep *ep);
/* False: too large, or a size without data. */
bool dpr_private_set(struct dpr_private *p, DAT_COUNT size, const void *data, unsigned int max);
/* A reject as libdaplofa frames it. `ours`: the provider refuses, nobody was asked. */
void dpr_private_reject(struct dpr_private *p, bool ours);
/* What a reject is for the active side; strips the frame. */
DAT_EVENT_NUMBER dpr_private_rejected(struct dpr_private *p, int status, bool iwarp);

#endif
