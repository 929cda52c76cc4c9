/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The parts of the RDMA CM, private to this folder.
 *
 * Three locks, in this order:
 *	cma_id.call   one call at a time on an identifier; never taken by an up-call
 *	dev->lock     of the adapter whose manager is asked; never two of them
 *	cma.lock      queues, states, the channel of each identifier
 * Managers are called with dev->lock held and cma.lock free, because they may call up
 * from inside. Up-calls come with dev->lock held, change the state and queue an event.
 *
 * References to an identifier: the application's until destroy; an endpoint's (ep->user)
 * until ops->destroy has returned; a queued event until it is taken or dropped; a
 * walk over all identifiers (change.c) by a reference. destroy marks it dead, drops
 * its events, destroys the endpoints and gives the first reference back.
 *
 * An identifier has one endpoint when its address is known, or, bound to any address,
 * one for every address of every adapter that serves it (`subs`).
 */
#ifndef CM_CMA_CORE_H
#define CM_CMA_CORE_H

#include "cm/cma.h"
#include "cm/cma/addr.h"
#include "util/list.h"
#include "util/lock.h"
#include "util/rng.h"
#include "wire/ib_fields.h"

#include <net/if.h>
#include <stdatomic.h>

#define CMA_BACKLOG_MAX 1024
#define CMA_QKEY 0x01234567u
#define CMA_QKEY_IPOIB 0x0b1bu
#define CMA_QPN_MULTICAST 0xffffffu
#define CMA_HOP_LIMIT 64

struct cma {
	const struct cma_host *host;
	atomic_bool dead; /* in a child of fork(): nothing here may be touched */
	struct ut_mutex lock;
	struct ut_list ids UT_GUARDED_BY(lock); /* struct cma_id */
	struct ut_rng rng UT_GUARDED_BY(lock);
	uint64_t tickets UT_GUARDED_BY(lock); /* of questions, ever */
};

/*
 * What an identifier may be asked in which state, and what it may hear: one
 * table (id.c). Addresses are resolved by a look-up in this process's own host; what that does not
 * know, and a path record, may come later.
 */
enum cma_state {
	CMA_IDLE,   /* nothing known */
	CMA_BOUND,  /* has a source: one address, or any */
	CMA_NAME_QUERY, /* the subnet was asked for the address */
	CMA_ADDR,   /* knows both addresses and its adapter */
	CMA_ROUTE_QUERY, /* the path record was asked for */
	CMA_ROUTED, /* may connect */
	CMA_LISTENING,
	CMA_CONNECT,    /* from connect() or a request on; connected as well */
	CMA_DISCONNECT, /* one end has ended the connection */
	CMA_GONE,       /* the adapter was removed: may only be destroyed */
	CMA_DEAD,       /* being destroyed: hears nothing more */
	CMA_STATES
};

enum cma_act {
	/* calls */
	CMA_DO_BIND, CMA_DO_RESOLVE, CMA_DO_NAME, CMA_DO_ROUTE, CMA_DO_PATH, CMA_DO_LISTEN, CMA_DO_CONNECT,
	CMA_DO_ACCEPT, CMA_DO_REJECT, CMA_DO_ESTABLISH, CMA_DO_NOTIFY, CMA_DO_DISCONNECT,
	CMA_DO_ALTERNATE, CMA_DO_JOIN, CMA_DO_DEVICE, CMA_DO_AFONLY, CMA_DO_REUSE,
	/* what happens */
	CMA_ON_PATH, CMA_ON_NO_PATH,
	CMA_ON_CONN,    /* response, established, rejected, unreachable, error */
	CMA_ON_ALTERNATE, CMA_ON_END, CMA_ON_TIMEWAIT, CMA_ON_GONE, CMA_ON_DESTROY,
	CMA_ACTS
};

struct cma_chan {
	struct cma *c;
	int fd;
	/* c->lock: */
	struct ut_list events; /* struct cma_qev */
	uint32_t n_ids;        /* those the application knows */
};

/* A queued event. */
struct cma_qev {
	struct ut_list node;   /* cma_chan.events, or its own spare */
	struct cma_id *owner;  /* goes with it: the listener of a REQUEST, else the id */
	struct cma_mc *mc;     /* MULTICAST_*: goes with it as well */
	struct cma_event e;
};

/* One endpoint of an identifier that is bound to any address. */
struct cma_sub {
	struct ut_list node;
	struct cm_port *port;
	struct cm_ep *ep;
};

struct cma_mc {
	struct ut_list node;
	struct link_end group;
	union ibv_gid mgid;
	bool held; /* the link is in the group for us */
	bool send_only;
	bool member;            /* the host has made the port one: cma_host.leave is due */
	struct cm_group record; /* if so */
	uint64_t ticket;        /* of the question */
	struct cma_qev *answer; /* the event that tells its answer; NULL: told */
	void *context;
};

struct cma_id {
	struct cma *c;
	enum cm_ps ps;
	enum ibv_qp_type qp_type;

	struct ut_mutex call;
	/* Guarded by call; written before the id is published when a REQUEST makes it.
	 * Fields of an endpoint are guarded by its port's dev->lock as well. */
	struct cm_port *port; /* set once */
	struct cm_ep *ep;
	struct ut_list subs;
	struct ut_list mcs;
	struct link_end local, remote;
	struct cma_addr asked;   /* the address that the subnet was asked for; family 0: none. remote is the port's own then */
	bool has_local, has_remote, any, accepted, confirmed;
	enum cm_ps space; /* of the service ID */
	uint64_t service; /* one that is none of a port, as kernel users of the IB CM have; 0: none */
	int backlog;      /* as given to listen() */
	char device[IBV_SYSFS_NAME_MAX]; /* chosen by option; empty = any */
	uint8_t asked_rd, asked_depth; /* of the peer's request */

	/* c->lock: */
	struct ut_list node;
	enum cma_state state;
	struct cma_chan *chan;
	void *user;
	int family;
	struct cm_options opt;
	uint32_t refs;
	uint32_t untaken, untaken_max; /* requests queued */
	bool known;            /* to the application; a request not taken is not */
	bool unaccepted;       /* of a request: no event of it is queued before it is accepted */
	bool responded;        /* RESPONSE was reported: its confirmation stands for ESTABLISHED */
	struct cma_qev *spare; /* an event is not lost for want of memory */
	struct cm_ece peer_ece;
	struct cm_path path;     /* from ROUTED on, and of a request */
	struct cm_path alternate; /* given with it; dlid 0: none */
	uint64_t ticket;         /* NAME_QUERY, ROUTE_QUERY: of the question */
	struct cma_qev *answer;  /* NAME_QUERY, ROUTE_QUERY: the event that tells it */
};

/* In a forked child, where every call on an identifier of the parent is -EIO. */
static inline bool cma_foreign(const struct cma *c)
{
	return atomic_load_explicit(&c->dead, memory_order_relaxed);
}

/* One call at a time on an identifier. Returns false in a forked child; else ends with cma_leave_call(). */
static inline bool cma_enter(struct cma_id *id) UT_TRY_ACQUIRE(id->call);
static inline bool cma_enter(struct cma_id *id)
{
	if (cma_foreign(id->c))
		return false;
	ut_lock(&id->call);
	return true;
}

/* Returns r. */
static inline int cma_leave_call(struct cma_id *id, int r) UT_RELEASE(id->call);
static inline int cma_leave_call(struct cma_id *id, int r)
{
	ut_unlock(&id->call);
	return r;
}

#endif
