/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Event dispatchers: a ring of events (dat/core/ring.h), pure software; completion queues belong to connections.
 *
 * Upcalls come in two contexts. An EVD that takes only completions (DTO, RMR bind) and software events is called where
 * the event arises: in softirq for completions. An EVD that takes connection events, requests or asynchronous events
 * is called from a work item, without any lock of the connection manager: its upcall may accept, connect and free.
 */
#ifndef KDAPL_EVD_H
#define KDAPL_EVD_H

#include "dat/core/ring.h"
#include "kdapl/obj.h"

#include <linux/spinlock.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

struct kdp_evd {
	struct kdp_obj obj;
	spinlock_t lock;
	struct dpr_evring ring;      /* lock */
	DAT_EVD_FLAGS flags;         /* immutable */
	DAT_UPCALL_POLICY policy;    /* lock */
	DAT_UPCALL_OBJECT upcall;    /* lock */
	unsigned int running;        /* upcalls; lock */
	bool dead;                   /* overflowed; lock */
	bool signal;                 /* NOTIFY: an event came since the last upcall; lock */
	struct work_struct work;     /* runs upcalls if they may sleep */
	wait_queue_head_t idle;      /* running became 0 */
	struct mutex shape;          /* one resize at a time */
};

static inline struct kdp_evd *kdp_evd_of(DAT_HANDLE h)
{
	return kdp_obj_of(h, DAT_HANDLE_TYPE_EVD);
}

/* Queues *ev, whose evd_handle is filled in. Returns false if it was dropped: the EVD overflowed, which the asynchronous
 * EVD reports. Any context; kdp_evd_kick follows, with no lock held. */
bool kdp_evd_put(struct kdp_evd *e, DAT_EVENT *ev, bool notify);
/*
 * The same for the event of a completion, which may go to the consumer past the ring. Returns true if the upcall of *ev is
 * the caller's to make, by kdp_evd_hand with no lock held: no instance runs and no event is before it. Until then events
 * behind it are queued and no upcall is made, so that their order stays. False: kdp_evd_kick follows.
 */
bool kdp_evd_claim(struct kdp_evd *e, DAT_EVENT *ev, bool notify, DAT_UPCALL_OBJECT *up);
void kdp_evd_hand(struct kdp_evd *e, const DAT_EVENT *ev, const DAT_UPCALL_OBJECT *up);
/* The same as kdp_evd_put without overflow: returns false if there is no room. */
bool kdp_evd_offer(struct kdp_evd *e, DAT_EVENT *ev);
/* Makes or schedules the upcalls that are due. Any context, no lock held. */
void kdp_evd_kick(struct kdp_evd *e);
/* Both. */
void kdp_evd_push(struct kdp_evd *e, DAT_EVENT *ev, bool notify);
/* Drops the completions of an endpoint. */
void kdp_evd_purge(struct kdp_evd *e, DAT_EP_HANDLE ep);

/* Without checks of the arguments. */
struct kdp_evd *kdp_evd_make(struct kdp_ia *ia, DAT_COUNT qlen, DAT_UPCALL_POLICY policy,
			     const DAT_UPCALL_OBJECT *upcall, DAT_EVD_FLAGS flags, bool hidden);

DAT_RETURN kdp_evd_kcreate(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_UPCALL_POLICY policy, const DAT_UPCALL_OBJECT *upcall,
			   DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd);
DAT_RETURN kdp_evd_query(DAT_EVD_HANDLE evd, DAT_EVD_PARAM_MASK mask, DAT_EVD_PARAM *param);
DAT_RETURN kdp_evd_modify_upcall(DAT_EVD_HANDLE evd, DAT_UPCALL_POLICY policy, const DAT_UPCALL_OBJECT *upcall,
				 DAT_UPCALL_FLAG flag);
DAT_RETURN kdp_evd_resize(DAT_EVD_HANDLE evd, DAT_COUNT qlen);
DAT_RETURN kdp_evd_post_se(DAT_EVD_HANDLE evd, const DAT_EVENT *event);
DAT_RETURN kdp_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event);
DAT_RETURN kdp_evd_free(DAT_EVD_HANDLE evd);

#endif
