/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The parts of the RDMA CM, private to this folder.
 *
 * Three locks, in this order:
 *	cma_id.call   one call at a time on an identifier; never taken by an up-call
 *	dev->lock     of the adapter whose manager is asked; never two of them
 *	cma.lock      queues, states, who is on which channel
 * Managers are called with dev->lock held and cma.lock free, because they may call up
 * from inside. Up-calls come with dev->lock held, change the state and queue an event.
 *
 * Who may hold an identifier: the application until destroy; an endpoint (ep->user)
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
#include "cm/cma/state.h"
#include "util/list.h"
#include "util/lock.h"
#include "util/rng.h"

#include <net/if.h>
#include <stdatomic.h>

#define CMA_BACKLOG_MAX 1024
#define CMA_QKEY 0x01234567u
#define CMA_QKEY_IPOIB 0x0b1bu
#define CMA_QPN_MULTICAST 0xffffffu
#define CMA_HOP_LIMIT 64
#define CMA_PKEY 0xffffu

struct cma {
	const struct cma_host *host;
	atomic_bool dead; /* in a child of fork(): nothing here may be touched */
	struct ut_mutex lock;
	struct ut_list ids UT_GUARDED_BY(lock); /* struct cma_id */
	struct ut_rng rng UT_GUARDED_BY(lock);
	uint64_t tickets UT_GUARDED_BY(lock); /* of path questions, ever */
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
	void *context;
};

struct cma_id {
	struct cma *c;
	enum cm_ps ps;
	enum ibv_qp_type qp_type;

	struct ut_mutex call;
	/* Guarded by call; written before anybody else knows the id when a REQUEST makes it.
	 * What hangs on an endpoint is its port's dev->lock's besides. */
	struct cm_port *port; /* set once */
	struct cm_ep *ep;
	struct ut_list subs;
	struct ut_list mcs;
	struct link_end local, remote;
	bool has_local, has_remote, any, accepted, confirmed;
	enum cm_ps space; /* of the service ID */
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
	bool responded;        /* RESPONSE was reported: who confirms it knows the rest */
	struct cma_qev *spare; /* an event is not lost for want of memory */
	struct cm_ece peer_ece;
	struct cm_path path;     /* from ROUTED on, and of a request */
	uint64_t ticket;         /* ROUTE_QUERY: of the question */
	struct cma_qev *answer;  /* ROUTE_QUERY: the event that tells it */
};

/* --- chan.c: the queue; all under c->lock --- */
struct cma_qev *cma_qev_new(struct cma_id *owner, int type, int status);
/* The id's spare when memory is short; NULL when that is used up too. */
struct cma_qev *cma_qev_get(struct cma_id *owner, int type, int status)
	UT_REQUIRES(owner->c->lock);
void cma_queue(struct cma *c, struct cma_qev *q) UT_REQUIRES(c->lock);
/* Takes what belongs to id (and mc, unless NULL) off the queue, onto `to`. */
void cma_unqueue(struct cma *c, struct cma_id *id, const struct cma_mc *mc, struct ut_list *to)
	UT_REQUIRES(c->lock);

/* --- id.c --- */
int cma_id_new(struct cma *c, enum cm_ps ps, enum ibv_qp_type type, struct cma_id **ret);
void cma_id_put(struct cma_id *id) UT_EXCLUDES(id->c->lock);
/* The call is legal: state moves on, 0; else -EINVAL. *old may be NULL. */
int cma_move(struct cma_id *id, enum cma_act act, enum cma_state *old)
	UT_EXCLUDES(id->c->lock);
int cma_may(struct cma_id *id, enum cma_act act) UT_EXCLUDES(id->c->lock);
/* Back to `to` unless somebody else moved it on (device gone). */
void cma_move_back(struct cma_id *id, enum cma_state from, enum cma_state to)
	UT_EXCLUDES(id->c->lock);
struct cm_options cma_opt(struct cma_id *id) UT_EXCLUDES(id->c->lock);
int cma_family(struct cma_id *id) UT_EXCLUDES(id->c->lock);

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

/* --- port.c: the adapters --- */
void cma_port_lock(struct cm_port *p) UT_ACQUIRE(p->dev->lock);
void cma_port_unlock(struct cma *c, struct cm_port *p) UT_RELEASE(p->dev->lock);
/* All ports in listing order, free(); their number or -ENOMEM. */
int cma_ports(struct cma *c, struct cm_port ***ret);
/* All addresses of a port, free(). */
int cma_port_addrs(struct cma *c, struct cm_port *p, struct link_end **ret);
/* Attached and of use for this id: 0, -ENODEV or why it cannot be attached. */
int cma_port_ready(struct cma_id *id, struct cm_port *p);
/* May this id be on the port at all: the option's choice. */
bool cma_port_chosen(struct cma_id *id, struct cm_port *p);
/* The adapter of a source address: 0, -EADDRNOTAVAIL, -ENODEV, ... */
int cma_port_find(struct cma_id *id, const struct link_end *src, struct cm_port **ret);

/* --- ep.c: endpoints --- */
int cma_ep_bind(struct cma_id *id, struct cm_port *p, const struct link_end *local,
		struct cm_ep **ret);
int cma_ep_create(struct cma_id *id, struct cm_port *p, const struct link_end *local,
		  struct cm_ep **ret);
int cma_ep_listen(struct cma_id *id, struct cm_port *p, struct cm_ep *ep);
void cma_ep_destroy(struct cma_id *id, struct cm_port *p, struct cm_ep *ep);
int cma_sub_add(struct cma_id *id, struct cm_port *p, const struct link_end *local);
void cma_sub_drop(struct cma_id *id, struct cma_sub *s);
/* Does an id bound to any of `family` take this address? */
bool cma_any_takes(int family, bool afonly, const uint8_t addr[16]);

/* --- why.c --- */
/* What a failure means; dev->lock of its adapter held. */
void cma_say(const struct cm_event *ev);

/* --- bind.c --- */
int cma_bind_addr(struct cma_id *id, const struct cma_addr *a);

/* --- mcast.c --- */
void cma_leave_all(struct cma_id *id);

extern const struct cm_user cma_user;

#endif
