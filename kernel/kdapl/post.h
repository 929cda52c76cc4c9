/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Posts and completions of endpoints. A post takes one lock, the endpoint's, and neither sleeps nor allocates; so
 * do completions. Every request is signalled to the device: a suppressed one is swallowed here.
 */
#ifndef KDAPL_POST_H
#define KDAPL_POST_H

#include "kdapl/ep.h"

struct kdp_srq;

/* Makes the queues for these attributes in place of the present ones, which are empty. Returns 0 or -ENOMEM. May sleep. */
int kdp_queues_make(struct kdp_ep *ep, const DAT_EP_ATTR *attr);
void kdp_queues_free(struct kdp_ep *ep);
/* Send work requests of an endpoint: more than it may post, since a bind takes two. Beside them a queue pair has room for
 * KDP_OWN_REQUESTS: the nudge, and the one by which ib_drain_qp finds the end. */
#define KDP_OWN_REQUESTS 2
u32 kdp_send_size(const struct kdp_ia *ia, const DAT_EP_ATTR *attr);

/* Hands waiting receives to ep->qp. Returns 0 or a negative errno. Called with ep->lock held. */
int kdp_recv_hand_over(struct kdp_ep *ep);
/* Completes the waiting receives as flushed. Called with ep->lock held; the caller kicks. */
void kdp_recv_flush(struct kdp_ep *ep);
/* Queues the receives that waited for ESTABLISHED, or drops them. Called with ep->lock held; the caller kicks. */
void kdp_held_release(struct kdp_ep *ep);
void kdp_held_drop(struct kdp_ep *ep);

/* A receive of an SRQ completed, for the endpoint of its queue pair. Softirq. */
void kdp_srq_arrived(struct kdp_ep *ep, struct kdp_dto *d, const struct ib_wc *wc);

/* Posts an RDMA Write of nothing, if there is room: conn.c says what for. No event comes of it. Called with ep->lock held. */
void kdp_post_nudge(struct kdp_ep *ep);
/* Posts FMR or LMR_INVALIDATE. */
DAT_RETURN kdp_post_lmr(struct kdp_ep *ep, enum dpr_op op, struct kdp_lmr *l, DAT_DTO_COOKIE cookie,
			DAT_COMPLETION_FLAGS flags, unsigned int flags_arg);
/* Posts a bind: the invalidation of slot `old` and the registration of slot `fresh`, each unless -1. */
DAT_RETURN kdp_post_bind(struct kdp_ep *ep, struct kdp_rmr *r, int old, int fresh, DAT_RMR_COOKIE cookie,
			 DAT_COMPLETION_FLAGS flags);

DAT_RETURN kdp_ep_post_send(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			    DAT_COMPLETION_FLAGS flags);
DAT_RETURN kdp_ep_post_send_with_invalidate(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
					    DAT_COMPLETION_FLAGS flags, DAT_BOOLEAN invalidate,
					    DAT_RMR_CONTEXT context);
DAT_RETURN kdp_ep_post_recv(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
			    DAT_COMPLETION_FLAGS flags);
DAT_RETURN kdp_ep_post_rdma_read(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				 const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags);
DAT_RETURN kdp_ep_post_rdma_read_to_rmr(DAT_EP_HANDLE ep, const DAT_RMR_TRIPLET *local, DAT_DTO_COOKIE cookie,
					const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags);
DAT_RETURN kdp_ep_post_rdma_write(DAT_EP_HANDLE ep, DAT_COUNT n, DAT_LMR_TRIPLET *iov, DAT_DTO_COOKIE cookie,
				  const DAT_RMR_TRIPLET *remote, DAT_COMPLETION_FLAGS flags);

#endif
