/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Adapters. A struct kdp_device is one port of one RDMA device, with its entry in the registry; it appears and goes as
 * the device does. A struct kdp_ia is an open one.
 *
 * When the device leaves, `removed` is set, and every object of the IA gives back what belongs to the device. Calls that
 * make something of the device hold `gate` for reading and look at `removed`. No handler of the connection manager
 * takes it, and no id is made or destroyed under it: what handlers make belongs to an object that is in the list
 * already, whose detachment waits for them.
 */
#ifndef KDAPL_IA_H
#define KDAPL_IA_H

#include "kdapl/obj.h"

#include <linux/in6.h>
#include <linux/rwsem.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

struct kdp_evd;

/* The most segments of a request. */
#define KDP_IOV_MAX 16

struct kdp_device {
	struct kref ref;
	struct list_head link;    /* of all devices */
	struct list_head ias;     /* devices_lock */
	struct ib_device *ib;     /* immutable; not to be used after `removed` of an IA */
	u32 port;
	DAT_PROVIDER table;       /* immutable but for its name */
	DAT_PROVIDER_INFO info;
	bool gone;                /* devices_lock */
};

/* Devices count the keys of regions in all but the lowest byte, which belongs to the consumer. */
enum { KDP_ADDRESSES = 8, KDP_NEAR = 64 };

struct kdp_ia {
	struct kdp_obj obj;
	struct kdp_device *dev;   /* a reference */
	struct ib_device *ib;     /* = dev->ib; not behind `removed` */
	struct ib_device_attr attrs; /* immutable */
	bool iwarp;
	unsigned int private_max; /* of a request */
	struct ib_port_attr port_attr;
	struct sockaddr_storage addr; /* the first address; family 0: none */
	struct list_head of_dev;  /* devices_lock */

	struct mutex leave;       /* one removal or close at a time */
	struct rw_semaphore gate;
	bool removed;             /* gate */
	spinlock_t lock;
	struct list_head objs;    /* lock */
	struct kdp_evd *async[4]; /* lock; each a use */
	struct kdp_evd *first;    /* lock: the one of the open, or NULL */
	struct xarray lmrs, rmrs; /* by context; locked in softirq */
	struct kdp_lmr *near[KDP_NEAR]; /* some of lmrs, where a post looks first; lock of lmrs for writing */
	struct ib_event_handler events;
	struct ib_pd *pd;         /* of the reserved LMR; leave; NULL: given back */
	struct kdp_lmr *reserved; /* gate; or NULL */
};

/* The IB client: adds entries for all present devices. */
int kdp_devices_init(void);
void kdp_devices_exit(void);

static inline struct kdp_ia *kdp_ia_of(DAT_HANDLE h)
{
	return kdp_obj_of(h, DAT_HANDLE_TYPE_IA);
}

/* Returns false if the device has left. True: kdp_ia_leave follows. May sleep. */
bool kdp_ia_enter(struct kdp_ia *ia);
void kdp_ia_leave(struct kdp_ia *ia);
/* The answer to a call that needs a device that has left. */
static inline DAT_RETURN kdp_removed(void)
{
	return DPR_ERR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
}

/* Reports to every asynchronous EVD of ia. Any context. */
void kdp_ia_async(struct kdp_ia *ia, DAT_EVENT_NUMBER number, DAT_HANDLE handle, DAT_COUNT reason);
void kdp_ia_add_async(struct kdp_ia *ia, struct kdp_evd *evd);
void kdp_ia_forget_async(struct kdp_ia *ia, struct kdp_evd *evd);

/* Fills list with the addresses of the device's port that rdma_cm binds to; returns their number, or a negative errno.
 * May sleep. */
int kdp_ia_addresses(struct kdp_ia *ia, struct sockaddr_storage list[KDP_ADDRESSES]);

/* The limits of endpoints' attributes. */
DAT_EP_ATTR kdp_ia_limits(const struct kdp_ia *ia);
/* Whether the entry `name` is a port of the same device. Returns false if there is no such entry. */
bool kdp_device_related(struct kdp_ia *ia, const char *name, DAT_BOOLEAN *related);
/* The provider's version. */
#define KDAPL_MAJOR 1
#define KDAPL_MINOR 0
/* Pages of one registration. */
unsigned int kdp_ia_max_pages(const struct kdp_ia *ia);

DAT_RETURN kdp_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async, DAT_IA_HANDLE *ia);
DAT_RETURN kdp_ia_close(DAT_IA_HANDLE ia, DAT_CLOSE_FLAGS flags);

#endif
