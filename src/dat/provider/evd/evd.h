/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Event dispatchers. An EVD is a ring of finished DAT_EVENTs; one that takes DTO or bind
 * completions has a completion queue behind it, drained into the ring by whoever waits, dequeues
 * or needs room in a send queue. Everything else - connection, request, software, asynchronous
 * events - is pushed.
 *
 * The pure part (ring, counts, threshold) is evring.h, without lock or clock.
 *
 * What a drainer finds out about endpoints (broken, drained) and an overflow are left in `after`,
 * and the loop acts on them: the drainer may hold locks of the very endpoint.
 */
#ifndef DAT_PROVIDER_EVD_EVD_H
#define DAT_PROVIDER_EVD_EVD_H

#include "dat/provider/evd/ring.h"
#include "dat/provider/ia/loop.h"
#include "dat/provider/ia/obj.h"
#include "util/lock.h"

#include <dat2/dat_ib_extensions.h>
#include <dat2/udat.h>
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct dpr_cno;
struct dpr_ep;
struct dpr_ia;

struct dpr_after {
	struct dpr_ep *ep; /* held */
	enum { DPR_AFTER_BROKEN, DPR_AFTER_DRAINED, DPR_AFTER_EARLY } what;
};

/* A completion that must not overtake ESTABLISHED (ep->early). */
struct dpr_early {
	DAT_EVENT ev;
	struct dpr_ep *ep; /* compare only: dpr_evd_purge comes before its end */
	bool notify;
};

/* What a look for events touches comes first, in as few cache lines as it takes. */
struct dpr_evd {
	struct dpr_obj obj;
	struct ut_mutex lock;
	struct ibv_cq *cq;       /* NULL without DTO and bind streams; immutable */
	DAT_EVD_FLAGS flags;     /* immutable */
	bool waiting UT_GUARDED_BY(lock);
	bool unwaitable UT_GUARDED_BY(lock);
	bool disabled UT_GUARDED_BY(lock);
	bool dead UT_GUARDED_BY(lock);     /* overflowed: nothing more is taken */
	bool overflow UT_GUARDED_BY(lock); /* and nobody was told yet */
	bool armed UT_GUARDED_BY(lock);    /* cq will put an event into channel */

	struct dpr_evring ring UT_GUARDED_BY(lock);
	/* feeders by completion flags: all, SOLICITED_WAIT, UNSIGNALLED */
	unsigned int feeds UT_GUARDED_BY(lock), solicited UT_GUARDED_BY(lock),
		unsignalled UT_GUARDED_BY(lock);
	unsigned int nafter UT_GUARDED_BY(lock), after_size UT_GUARDED_BY(lock);
	unsigned int nearly UT_GUARDED_BY(lock), early_size UT_GUARDED_BY(lock);
	unsigned int qlen UT_GUARDED_BY(lock); /* granted; the ring may be larger for a while */
	struct dpr_cno *cno UT_GUARDED_BY(lock); /* held, used */
	/* DCNT_EVD_*: dpr_count; what a reset leaves out */
	uint64_t counters[DCNT_EVD_ALL_COUNTERS], counted[DCNT_EVD_ALL_COUNTERS];

	struct dpr_after *after UT_GUARDED_BY(lock);
	struct dpr_early *early UT_GUARDED_BY(lock);
	struct ut_mutex shape; /* one resize, feed or change of CNO at a time; before lock */
	struct ibv_comp_channel *channel; /* with cq; immutable */
	struct dpr_watch watch;  /* channel->fd, while a CNO is set; guarded by shape */
	struct dpr_timer settle; /* the loop acts on `after` and `overflow` */
	unsigned int hidden;     /* entries of cq kept for completions nobody sees; by shape */
	/* A waiter without cq sleeps on this number (futex), one with cq on `wake` beside channel. */
	_Atomic uint32_t pushes;
	int wake UT_GUARDED_BY(lock); /* eventfd, -1 until somebody had to sleep */
	bool woken UT_GUARDED_BY(lock); /* `wake` was written to */
	unsigned int unacked UT_GUARDED_BY(lock); /* events of the channel */
};

static inline struct dpr_evd *dpr_evd_of(DAT_HANDLE h)
{
	return (struct dpr_evd *)dpr_obj_of(h, DPR_EVD);
}

/* May this EVD take that stream? For argument checks of the other objects. */
static inline bool dpr_evd_takes(const struct dpr_evd *e, DAT_EVD_FLAGS stream)
{
	return e->flags & stream;
}

enum dpr_push { DPR_PUSHED, DPR_PUSH_FULL };

/*
 * Queue an event (evd_handle is filled in), wake the waiter or trigger the CNO. A full ring: the
 * EVD is dead and the async EVDs of the adapter are told EVD_OVERFLOW, unless `soft` (software
 * events and connection requests, which the caller refuses instead): then only DPR_PUSH_FULL.
 * Called with no evd or cno lock held.
 */
enum dpr_push dpr_evd_push(struct dpr_evd *e, const DAT_EVENT *ev, bool notify, bool soft);

/* evd_create.c, for dat_ia_open: an EVD of the adapter, whatever the flags. */
DAT_RETURN dpr_evd_make(struct dpr_ia *ia, DAT_COUNT qlen, struct dpr_cno *cno, DAT_EVD_FLAGS flags,
			struct dpr_evd **ret);

/* --- inside evd*.c --- */

static inline bool dpr_evd_is_dto(const DAT_EVENT *ev)
{
	return ev->event_number == DAT_DTO_COMPLETION_EVENT ||
	       (int)ev->event_number == DAT_IB_DTO_EVENT;
}

/* --- calls --- */
DAT_RETURN dpr_evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno, DAT_EVD_FLAGS flags,
			  DAT_EVD_HANDLE *evd);
DAT_RETURN dpr_evd_resize(DAT_EVD_HANDLE evd, DAT_COUNT qlen);
DAT_RETURN dpr_evd_free(DAT_EVD_HANDLE evd);

extern const struct dpr_class dpr_evd_class;

#endif
