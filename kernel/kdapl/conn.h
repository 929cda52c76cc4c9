/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Connections and attempts: an rdma_cm id with its queue pair and completion queue.
 *
 * `ep` is set once, before the connection manager can report to it, and stays: an endpoint closes its connection, which
 * waits for handlers, before its memory goes. Whether the endpoint still means this connection is ep->conn, under ep->lock.
 */
#ifndef KDAPL_CONN_H
#define KDAPL_CONN_H

#include "dat/core/ask.h"
#include "dat/core/private.h"
#include "kdapl/ep.h"

#include <linux/kref.h>
#include <linux/workqueue.h>
#include <rdma/rdma_cm.h>

struct kdp_conn {
	struct kref ref;
	struct kdp_ia *ia;        /* a reference */
	struct rdma_cm_id *id;    /* until kdp_conn_close */
	struct ib_qp *qp;         /* the id's handler lock */
	struct ib_cq *cq;
	struct kdp_ep *ep;        /* see above; or NULL: a request without answer */
	bool active;
	bool closing;             /* the id's handler lock: nothing is made any more */
	bool gone;                /* the peer left before an answer; the id's handler lock */
	bool drained;             /* qp completes nothing any more */
	struct delayed_work timer;
	struct dpr_private out, in;
	struct sockaddr_storage remote;
	u64 qual;
	bool common;
	u8 responder_resources, initiator_depth;
};

/* Returns a connection with one reference, without id; or NULL. */
struct kdp_conn *kdp_conn_new(struct kdp_ia *ia, bool active);
void kdp_conn_hold(struct kdp_conn *c);
/* The last reference of a connection whose id exists still must not go this way: kdp_conn_close. */
void kdp_conn_put(struct kdp_conn *c);
/* Disconnects, drains, destroys queue pair, completion queue and id, and drops the caller's reference. May sleep; not in
 * a handler of the id. */
void kdp_conn_close(struct kdp_conn *c);
/* Disconnects and drains: at the return no completion is under way. May sleep. */
void kdp_conn_drain(struct kdp_conn *c, bool disconnect);
/* Makes the queue pair for ep and hands it the waiting receives. Returns 0 or a negative errno. Called with the id's
 * handler lock held. */
int kdp_conn_make_qp(struct kdp_conn *c, struct kdp_ep *ep);
struct rdma_conn_param kdp_conn_param(const DAT_EP_ATTR *attr, const struct dpr_private *out);

int kdp_conn_event(struct rdma_cm_id *id, struct rdma_cm_event *ev);

/* Rejects c, a request; ours: for a reason of the provider, not by the consumer. out has room for the header that says so.
 * A peer that has gone, or memory that is short, are no error. */
void kdp_conn_reject(struct kdp_conn *c, struct dpr_private *out, bool ours);

/* Makes c, a request, the connection of ep and accepts it. */
DAT_RETURN kdp_conn_accept(struct kdp_conn *c, struct kdp_ep *ep, const struct dpr_private *out);

DAT_RETURN kdp_ep_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR remote, DAT_CONN_QUAL qual, DAT_TIMEOUT timeout,
			  DAT_COUNT size, const DAT_PVOID data, DAT_QOS quality, DAT_CONNECT_FLAGS flags);
DAT_RETURN kdp_ep_dup_connect(DAT_EP_HANDLE ep, DAT_EP_HANDLE connected, DAT_TIMEOUT timeout, DAT_COUNT size,
			      const DAT_PVOID data, DAT_QOS quality);
DAT_RETURN kdp_ep_common_connect(DAT_EP_HANDLE ep, DAT_IA_ADDRESS_PTR remote, DAT_TIMEOUT timeout, DAT_COUNT size,
				 const DAT_PVOID data);

#endif
