/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The interface adapter: one local address on one verbs device. The verbs context comes from a
 * bound rdma_cm id (rdma_cm opens devices itself and refuses protection domains of another
 * context), so all ids of the adapter are bound to the same address and device. Each open makes an
 * adapter of its own, with its own channel and objects, also under the same name.
 *
 * One thread per process, the loop (loop.h), waits for connection events of all adapters,
 * asynchronous events of all devices, completion channels of EVDs that have a CNO, and timers.
 *
 * Lock order: ep->life, the lock of devices (device.c), ia->lock, ep->lock, evd->shape, evd->lock, then one of cno->lock,
 * srq->lock, rmr->lock, then the table of keys. No call of librdmacm or libibverbs that may sleep
 * is made under evd->lock or cno->lock (ibv_poll_cq and ibv_req_notify_cq do not sleep).
 * rdma_destroy_id and ibv_destroy_qp are called with no lock held.
 */
#ifndef DAT_PROVIDER_IA_IA_H
#define DAT_PROVIDER_IA_IA_H

#include "dat/provider/ia/loop.h"
#include "dat/provider/ia/obj.h"
#include "util/list.h"
#include "util/lock.h"

#include <dat2/dat_ib_extensions.h>
#include <dat2/dat_registry.h>
#include <dat2/udat.h>
#include <infiniband/verbs.h>
#include <netinet/in.h>
#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stdint.h>

struct dpr_device;
struct dpr_evd;
struct dpr_ia_attrs;

struct dpr_ia {
	struct dpr_obj obj;
	struct ut_mutex lock; /* the adapter's lists; handles that refer to each other */

	/* constant after open */
	char name[DAT_NAME_MAX_LENGTH];
	char params[DAT_NAME_MAX_LENGTH]; /* of dat.conf */
	DAT_PROVIDER_INFO info;           /* of dat.conf; dat_ia_query returns it */
	DAT_PROVIDER table;               /* dpr_table with the adapter's device_name */
	struct ibv_context *verbs;        /* librdmacm's; never closed here */
	uint8_t port;                     /* of the device, from 1 */
	struct ibv_device_attr_ex dev;
	struct ibv_port_attr port_attr;   /* at open */
	struct rdma_event_channel *channel;
	struct rdma_cm_id *id; /* bound to addr; keeps verbs open */
	union {
		struct sockaddr sa;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_storage ss;
	} addr; /* port 0 */
	bool iwarp;    /* node type RNIC: private data, Reads, no UD, no immediate data of IB */
	bool mw1, mw2; /* memory windows of type 1, of type 2 */
	bool zb_lmr, zb_rmr;
	bool dapple;   /* the libraries below are Dapple's (found by dlsym) */
	/* dpl_wait_comp of Dapple's libibverbs (dapple/verbs.h), or NULL */
	int (*wait_comp)(struct ibv_comp_channel *channel, int fd, uint64_t until);
	unsigned int private_max; /* bytes of private data in a request: 56 or 251 */

	char device_name[64];      /* of verbs */
	struct dpr_watch watch;    /* channel->fd */
	struct dpr_device *device; /* the adapters on this verbs context */
	struct dpr_ia_attrs *attrs;
	uint64_t counters[85], counted[85]; /* DCNT_IA_*; values at the last reset */

	struct ut_list objs UT_GUARDED_BY(lock); /* of_ia; every kind but DPR_IA */
	struct dpr_evd *async UT_GUARDED_BY(lock); /* a reference; NULL: DAT_EVD_ASYNC_EXISTS */
	struct ut_list asyncs UT_GUARDED_BY(lock); /* EVDs that receive asynchronous events */

	struct ut_mutex pending_lock; /* a leaf */
	struct ut_list pending UT_GUARDED_BY(pending_lock); /* asynchronous events to deliver */
	struct dpr_timer deliver;
};

extern const struct dpr_class dpr_ia_class;

static inline struct dpr_ia *dpr_ia_of(DAT_HANDLE h)
{
	return (struct dpr_ia *)dpr_obj_of(h, DPR_IA);
}

/*
 * What an endpoint may have of requests or receives. A rebind of a type 2 window is two requests.
 */
static inline DAT_COUNT dpr_ia_max_dtos(const struct dpr_ia *ia)
{
	return ia->mw2 ? ia->dev.orig_attr.max_qp_wr / 2 : ia->dev.orig_attr.max_qp_wr;
}

DAT_RETURN dpr_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
		       DAT_IA_HANDLE *ia);
/* As dpr_ia_open, for entries of dat.conf with "threadsafe". */
DAT_RETURN dpr_ia_open_safe(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
			    DAT_IA_HANDLE *ia);
DAT_RETURN dpr_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags);

#endif
