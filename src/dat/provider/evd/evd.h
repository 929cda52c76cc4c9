/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Event dispatchers. An EVD is a ring of finished DAT_EVENTs (ring.h). One that takes DTO or bind
 * completions has a completion queue behind it; every waiter, every dequeue and every post that
 * finds its send queue full drains it into the ring (drain.h). Other events - connection, request,
 * software, asynchronous - are pushed (push.h).
 *
 * A drainer may hold locks of the endpoint whose completion it finds. So it leaves what follows for
 * endpoints (broken, drained), and an overflow, in `after`, and the loop acts on it.
 *
 * Any mix of event streams is legal. The completion queue is made with the EVD, so that a lack of
 * resources is reported by dat_evd_create and not by the first endpoint. It is a little larger than
 * asked for: not every device can resize it for the completions that are swallowed.
 */
#ifndef DAT_PROVIDER_EVD_EVD_H
#define DAT_PROVIDER_EVD_EVD_H

#include "dat/core/ring.h"
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
	struct dpr_ep *ep; /* a reference */
	enum { DPR_AFTER_BROKEN, DPR_AFTER_DRAINED, DPR_AFTER_EARLY } what;
};

/* A completion that must not overtake ESTABLISHED (ep->early). */
struct dpr_early {
	DAT_EVENT ev;
	struct dpr_ep *ep; /* to compare; dpr_evd_purge comes before its end */
	bool notify;
};

/* The fields that a poll for events reads come first, in as few cache lines as possible. */
struct dpr_evd {
	struct dpr_obj obj;
	struct ut_mutex lock;
	struct ibv_cq *cq;       /* NULL without DTO and bind streams; constant */
	DAT_EVD_FLAGS flags;     /* constant */
	bool waiting UT_GUARDED_BY(lock);
	bool unwaitable UT_GUARDED_BY(lock);
	bool disabled UT_GUARDED_BY(lock);
	bool dead UT_GUARDED_BY(lock);     /* overflowed: takes no more events */
	bool overflow UT_GUARDED_BY(lock); /* to be reported by the loop */
	bool armed UT_GUARDED_BY(lock);    /* cq will put an event into channel */

	struct dpr_evring ring UT_GUARDED_BY(lock);
	/* feeders by completion flags: all, SOLICITED_WAIT, UNSIGNALLED */
	unsigned int feeds UT_GUARDED_BY(lock), solicited UT_GUARDED_BY(lock),
		unsignalled UT_GUARDED_BY(lock);
	unsigned int nafter UT_GUARDED_BY(lock), after_size UT_GUARDED_BY(lock);
	unsigned int nearly UT_GUARDED_BY(lock), early_size UT_GUARDED_BY(lock);
	unsigned int qlen UT_GUARDED_BY(lock); /* granted; the ring may be larger for a while */
	struct dpr_cno *cno UT_GUARDED_BY(lock); /* a use and a reference */
	uint64_t counters[DCNT_EVD_ALL_COUNTERS]; /* DCNT_EVD_* */
	uint64_t counted[DCNT_EVD_ALL_COUNTERS];  /* at the last reset */

	struct dpr_after *after UT_GUARDED_BY(lock);
	struct dpr_early *early UT_GUARDED_BY(lock);
	struct ut_mutex shape; /* one resize, feed or change of CNO at a time; before lock */
	struct ibv_comp_channel *channel; /* with cq; constant */
	struct dpr_watch watch;  /* channel->fd while a CNO is set; guarded by shape */
	struct dpr_timer settle; /* the loop acts on `after` and `overflow` */
	unsigned int hidden;     /* entries of cq for swallowed completions; guarded by shape */
	/* The objects on which a waiter sleeps: without cq this futex, with cq `wake` and the
	 * channel. */
	_Atomic uint32_t pushes;
	int wake UT_GUARDED_BY(lock); /* eventfd; -1 until the first sleep */
	bool woken UT_GUARDED_BY(lock); /* `wake` was written to */
	unsigned int unacked UT_GUARDED_BY(lock); /* events of the channel */
};

extern const struct dpr_class dpr_evd_class;

static inline struct dpr_evd *dpr_evd_of(DAT_HANDLE h)
{
	return (struct dpr_evd *)dpr_obj_of(h, DPR_EVD);
}

/* Returns true if e takes that event stream. */
static inline bool dpr_evd_takes(const struct dpr_evd *e, DAT_EVD_FLAGS stream)
{
	return e->flags & stream;
}

/* Returns true if e takes that event stream of endpoints and service points of ia: e is of ia, or of another
 * adapter on the same verbs device, whose queue pairs may have its completion queue. */
bool dpr_evd_serves(const struct dpr_evd *e, const struct dpr_ia *ia, DAT_EVD_FLAGS stream);

static inline bool dpr_evd_is_dto(const DAT_EVENT *ev)
{
	return ev->event_number == DAT_DTO_COMPLETION_EVENT ||
	       (int)ev->event_number == DAT_IB_DTO_EVENT;
}

/* As dpr_evd_create, without its checks of the arguments. */
DAT_RETURN dpr_evd_make(struct dpr_ia *ia, DAT_COUNT qlen, struct dpr_cno *cno, DAT_EVD_FLAGS flags,
			struct dpr_evd **ret);
DAT_RETURN dpr_evd_create(DAT_IA_HANDLE ia, DAT_COUNT qlen, DAT_CNO_HANDLE cno, DAT_EVD_FLAGS flags,
			  DAT_EVD_HANDLE *evd);
DAT_RETURN dpr_evd_resize(DAT_EVD_HANDLE evd, DAT_COUNT qlen);
DAT_RETURN dpr_evd_free(DAT_EVD_HANDLE evd);

#endif
