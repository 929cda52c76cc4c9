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

#include "abi/rdmacm/refuse.h"
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
	_Atomic int unseen;            /* requests shown whose identifiers are not used yet */
	_Atomic int empty_waits;       /* waits for their use, in a row */
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
	bool unchosen;        /* bound to a name of lo: pub.verbs stays NULL, as where a kernel binds */
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
	bool resolving UT_GUARDED_BY(lock);        /* rdma_resolve_addrinfo() was called */
	struct rdma_addrinfo *info UT_GUARDED_BY(lock); /* its result, until the program takes it */
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

/* The end of a public call: negative errno -> -1, or NULL, with errno and a sentence (refuse.h); 0 stays. */
#define rcm_result(rc) rcm_leave(__func__, rc)
#define rcm_null(rc) (rcm_leave(__func__, rc), NULL)

/* wait.c */

/* Does it carry datagrams? */
static inline bool rcm_is_ud(const struct rcm_id *id)
{
	return id->pub.qp_type == IBV_QPT_UD;
}

/* mcast.c */

#endif
