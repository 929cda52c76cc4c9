/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The library half of the RDMA CM. cm/cma.h plays the kernel: identifiers,
 * addresses, connections, events. Here is what the distribution's librdmacm
 * adds in user space: verbs objects for an identifier, the states of its queue
 * pair, synchronous calls, and the public structures.
 *
 * The public part comes first in each structure. Contexts, protection domains
 * and queues are made by public verbs calls alone.
 *
 * Events that were handed out are counted by the identifier they are about (a
 * request by its listener); rdma_destroy_id() waits until all are acknowledged.
 * The count is raised in the same critical section that takes the event from
 * the manager, so that an identifier cannot go away between the two.
 */
#ifndef ABI_RDMACM_RCM_H
#define ABI_RDMACM_RCM_H

#include "cm/cma.h"
#include "util/export.h"
#include "util/list.h"
#include "util/lock.h"

#include <errno.h>
#include <pthread.h>
#include <rdma/rdma_cma.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* How long rdma_create_ep() lets an address or a route take. */
#define RCM_RESOLVE_MS 2000

/* Programs destroy a channel before its identifiers, as a kernel lets them: it
 * then ends with the last of these. */
struct rcm_chan {
	struct rdma_event_channel pub;
	struct cma_chan *cma;
	unsigned ids, waiters; /* take_lock of chan.c */
	bool doomed;           /* ... */
	bool shown;            /* to the program: see the graves of chan.c */
	_Atomic(struct eng_dev *) dev; /* the one adapter that its events come from... */
	_Atomic bool many;             /* ...unless there are several */
	_Atomic int unseen;            /* requests shown whose identifiers nobody has used yet */
	_Atomic int in_vain;           /* waits for their use, in a row */
};

/* A device that identifiers were bound to, open for the life of the process. */
struct rcm_dev {
	struct ut_list node;
	struct ibv_context *verbs;
	struct eng_dev *eng; /* the same adapter as the manager names it; NULL: not met yet */
	struct ibv_pd *pd;   /* the default one; NULL until wanted */
	struct ibv_xrcd *xrcd;
	uint8_t max_responder, max_initiator;
};

struct rcm_id {
	struct rdma_cm_id pub;
	struct cma_id *cma;
	struct rcm_dev *dev;  /* of pub.verbs */
	struct rcm_chan *own; /* a synchronous identifier's private channel, else NULL */
	bool nowhere;         /* bound to lo, where no adapter is */
	_Atomic bool fresh;   /* of a request, and not used since it was shown */
	bool moves_qp;        /* the manager moves the queue pair by itself */
	bool given_up;        /* we ended the connection: what comes of it is not news */
	bool connected, disconnected;
	uint32_t qpn;         /* of pub.qp when it was connected */
	uint8_t responder, initiator; /* depths: the request's, then those agreed on */
	struct cm_ece ece;
	struct ibv_sa_path_rec path;
	struct ibv_qp_init_attr *ep_attr; /* a listening endpoint's, for its requests */
	struct ibv_pd *ep_pd;
	struct ut_mutex lock;
	struct ut_cond acks;
	unsigned delivered UT_GUARDED_BY(lock), acked UT_GUARDED_BY(lock);
	unsigned filling, forks; /* threads that fill an event of it in; since when: take_lock of chan.c */
	struct ut_list groups UT_GUARDED_BY(lock); /* struct rcm_group */
};

/* A multicast group that an identifier joined or is joining. */
struct rcm_group {
	struct ut_list node;
	struct sockaddr_storage addr;
	void *context;
	bool send_only;
	bool attached;
	union ibv_gid mgid;
	uint16_t mlid;
	unsigned delivered, acked; /* rcm_id.lock */
};

struct rcm_event {
	struct rdma_cm_event pub;
	struct rcm_id *counted;
	struct rcm_group *group;
	struct cma_event ev; /* private data lies here */
};

#define rcm_of(p, type) ((struct type *)(void *)(p))

/* Negative errno -> -1 with errno; 0 stays. */
static inline int rcm_result(int rc)
{
	if (rc >= 0)
		return 0;
	errno = -rc;
	return -1;
}

static inline void *rcm_null(int rc)
{
	errno = -rc;
	return NULL;
}

/* dev.c. 0 when there is an adapter at all, else -ENODEV ... */
int rcm_ready(void);
/* The open device that the manager means. 0 or negative errno. */
int rcm_dev_get(const struct cma_info *info, struct rcm_dev **ret);
/* Made at first use. NULL with errno. */
struct ibv_pd *rcm_dev_pd(struct rcm_dev *d);
struct ibv_xrcd *rcm_dev_xrcd(struct rcm_dev *d);

/* chan.c */
int rcm_chan_create(struct rcm_chan **ret);
void rcm_chan_destroy(struct rcm_chan *ch);
/* In a child of fork(). */
void rcm_chan_after_fork(void);
/* One identifier more, one less; the channel may go with the last. */
void rcm_chan_hold(struct rcm_chan *ch);
void rcm_chan_release(struct rcm_chan *ch);
/* A thread begins to wait for its events (false: it was destroyed already), and is done with that: the
 * channel may go. */
bool rcm_chan_enter(struct rcm_chan *ch);
void rcm_chan_leave(struct rcm_chan *ch);
/* Destroyed, and nobody but those who wait has it. */
bool rcm_chan_abandoned(struct rcm_chan *ch);
/* The oldest event that the program is to see, without ever blocking. 0 or negative errno; -EBUSY: a request,
 * left there because requests_too is false. */
int rcm_event_next(struct rcm_chan *ch, bool requests_too, struct rcm_event *e);
/* Requests too, in memory of its own. */
int rcm_event_try(struct rcm_chan *ch, struct rcm_event **ret);
/* The program uses an identifier: it has understood the request that brought it. */
void rcm_id_used(struct rcm_id *id);
/* Ends the manager's half of an identifier: no event of it is on its way to a program then. */
void rcm_id_silence(struct rcm_id *id);
void rcm_await_acks(struct rcm_id *id);

/* wait.c */
/* Events will come from this adapter (NULL: from any). Who waits for them drives it meanwhile,
 * which spares a wake-up. */
void rcm_chan_hears(struct rdma_event_channel *ch, struct eng_dev *dev);
/* As rcm_event_try(), blocking as the descriptor says. A cancellation point; no lock may be held. */
int rcm_event_get(struct rcm_chan *ch, struct rcm_event **ret);

/* event.c. True: fit to be shown; false: it was none of the program's business. */
bool rcm_event_fill(struct rcm_event *e);

/* id.c */
struct rcm_id *rcm_id_alloc(void *context, enum rdma_port_space ps, enum ibv_qp_type qp_type);
void rcm_id_free(struct rcm_id *id);
int rcm_id_create(struct rdma_event_channel *channel, void *context, enum rdma_port_space ps,
		  enum ibv_qp_type qp_type, struct rcm_id **ret);
/* To a channel of the program, or to a private one (NULL). */
int rcm_id_migrate(struct rcm_id *id, struct rdma_event_channel *channel);
/* Does it carry datagrams? */
static inline bool rcm_is_ud(const struct rcm_id *id)
{
	return id->pub.qp_type == IBV_QPT_UD;
}

/* addr.c: the public fields after what the manager knows now. 0 or negative errno. */
int rcm_refresh(struct rcm_id *id);
socklen_t rcm_addr_len(const struct sockaddr *addr); /* 0: a family that is not served */
int rcm_bind(struct rcm_id *id, const struct sockaddr *addr);
int rcm_resolve_addr(struct rcm_id *id, const struct sockaddr *src, const struct sockaddr *dst,
		     int timeout_ms);
int rcm_resolve_route(struct rcm_id *id, int timeout_ms);

/*
 * sync.c: after an operation was started. An asynchronous identifier: 0. A synchronous one
 * waits for the event `want`, which pub.event then holds; another one is the
 * operation's failure. 0 or negative errno. A cancellation point.
 */
int rcm_complete(struct rcm_id *id, enum rdma_cm_event_type want);
/* Is the event that the last call waited for still there, it is acknowledged. */
void rcm_forget_event(struct rcm_id *id);
/* A queued event of this type is taken now, without waiting: was there one? */
bool rcm_had(struct rcm_id *id, enum rdma_cm_event_type want);

/* qp.c: the queue pair that pub.qp names, as found. 0 or negative errno. */
int rcm_qp_init(struct rcm_id *id, struct ibv_qp *qp);
int rcm_qp_connect(struct rcm_id *id, uint8_t responder, uint8_t initiator);
int rcm_qp_fail(struct rcm_id *id);

/* mcast.c */
/* The group of a join's event and one more event out for it, or NULL when it was left. */
struct rcm_group *rcm_group_hold(struct rcm_id *id, const void *context);
/* The join has succeeded: the queue pair attaches. 0 or negative errno. */
int rcm_group_joined(struct rcm_id *id, struct rcm_group *g, const struct ibv_ah_attr *ah);
void rcm_groups_forget(struct rcm_id *id);

#endif
