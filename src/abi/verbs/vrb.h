/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The objects that programs hold, each with the engine's object behind the
 * public structure. Other libraries rely on the layout:
 *
 *  - the public part comes first in each;
 *  - vrb_device has at least 712 bytes: providers of the distribution read byte 664 to recognise their
 *    devices.
 *
 * Events that were handed out are counted here (delivered), acknowledged ones
 * in the public structure; destroy waits until both are equal. The counts are
 * taken in the same critical section as the event itself, so that an object
 * cannot go away between the two.
 */
#ifndef ABI_VERBS_VRB_H
#define ABI_VERBS_VRB_H

#include "abi/verbs/handle.h"
#include "device/device.h"
#include "engine/cq.h"
#include "engine/qp.h"
#include "util/list.h"
#include "util/lock.h"

#include "engine/refuse.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct eng_ah;
struct eng_chan;
struct eng_ctx;
struct eng_mkey;
struct eng_pd;
struct eng_srq;
struct eng_swqe;
struct eng_xrcd;

struct vrb_device {
	struct ibv_device pub;
	const void *provider_ops; /* equals no provider's table */
	atomic_uint refs;         /* the list, each array given out, each context */
	struct ut_list node;      /* all devices; vrb_devices_lock */
	void *sysfs;              /* rdma-core's, never used here */
	uint64_t core_support;
	struct dev_info info;
};

_Static_assert(offsetof(struct vrb_device, provider_ops) == 664, "read by libmlx5 and libefa");
_Static_assert(offsetof(struct vrb_device, core_support) == 704, "as rdma-core's verbs_device");

struct vrb_context {
	struct eng_ctx *eng;
	struct eng_dev *dev;
	struct vrb_device *device;
	struct ut_list node; /* open contexts, for ibv_import_device; vrb_contexts_lock */
	dev_t id_dev;        /* identity of cmd_fd */
	ino_t id_ino;
	struct ut_mutex events; /* async events leave the queue and are counted under it */
	struct ut_mutex lock;
	struct ut_list qps UT_GUARDED_BY(lock);
	unsigned objects UT_GUARDED_BY(lock); /* that still use eng */
	bool closed UT_GUARDED_BY(lock);
	struct verbs_context v; /* last, as in rdma-core */
};

struct vrb_pd {
	struct ibv_pd pub;
	struct eng_pd *pd;
	struct vrb_pd *parent; /* of a parent domain or an import: the real one */
	struct vrb_td *td;
	bool imported;
	struct vrb_handle h; /* users: objects made through it, imports */
};

struct vrb_td {
	struct ibv_td pub;
	atomic_uint users;
};

struct vrb_mr {
	struct ibv_mr pub;
	struct eng_mkey *mk;
	struct vrb_pd *pd;
	struct vrb_dm *dm;
	bool imported;
	bool fixed;            /* a kind that cannot be reregistered */
	uint32_t max_pages;    /* of dpl_alloc_lkey(), else 0 */
	struct shm_area *area;  /* pages that were exchanged for shared ones, or NULL */
	struct vrb_mr *origin; /* of an imported one */
	struct vrb_handle h;   /* users: imports */
};

struct vrb_mw {
	struct ibv_mw pub;
	struct eng_mkey *mk;
	struct vrb_pd *pd;
};

struct vrb_ah {
	struct ibv_ah pub;
	struct eng_ah *ah;
	struct vrb_pd *pd;
};

#define VRB_DM_MAX (64u << 20) /* bytes of one piece of device memory */

struct vrb_dm {
	struct ibv_dm pub;
	void *base;
	size_t length, mapped;
	bool imported;
	struct vrb_dm *origin; /* of an imported one */
	struct vrb_handle h;   /* users: regions and imports */
};

struct vrb_xrcd {
	struct ibv_xrcd pub;
	struct eng_xrcd *x;
	atomic_uint users;
};

struct vrb_chan {
	struct ibv_comp_channel pub;
	struct eng_chan *chan;
	struct ut_mutex events; /* as in vrb_context */
};

struct vrb_cq {
	struct ibv_cq_ex pub;
	struct eng_cq *cq;
	unsigned comp_delivered;  /* channel's events */
	unsigned async_delivered; /* context's events */
	bool single_threaded;
	struct ut_mutex polling; /* start_poll .. end_poll */
	struct vrb_pd *pd;       /* parent domain it was made on, or NULL */
	struct eng_cqe cur;      /* polling, or the only thread */
};

struct vrb_srq {
	struct ibv_srq pub;
	struct eng_srq *srq;
	unsigned async_delivered;
	struct vrb_pd *pd;
	struct vrb_xrcd *xrcd;
};

struct vrb_qp {
	struct ibv_qp_ex pub;
	void *wr_flush; /* of pub as newer headers have it: vrb_fill_qp_ex() */
	struct eng_qp *qp;
	bool extended; /* made for the ibv_wr_* calls */
	unsigned async_delivered;
	struct vrb_pd *pd;
	struct vrb_xrcd *xrcd;
	struct eng_qp_hearer hears; /* of ibv_open_qp() */
	struct ut_list node; /* vrb_context.qps */
	struct eng_swqe *cur; /* entry under construction, between wr_start and wr_complete */
};

#define vrb_of(p, type) ((struct type *)(void *)(p))

static inline bool vrb_is_parent_domain(struct ibv_pd *pd)
{
	return vrb_of(pd, vrb_pd)->parent && !vrb_of(pd, vrb_pd)->imported;
}

static inline struct vrb_context *vrb_ctx(const struct ibv_context *c)
{
	return ut_container((void *)(uintptr_t)c, struct vrb_context, v.context);
}

/* Returns the adapter behind a public object that has a context, or NULL with errno EIO if it was made before a
 * fork. */
static inline struct eng_dev *vrb_live(const struct ibv_context *c)
{
	struct eng_dev *dev = vrb_ctx(c)->dev;

	if (__builtin_expect(!dev_is_foreign(dev), 1))
		return dev;
	eng_refuse(dev, ENG_R_FORKED);
	errno = EIO;
	return NULL;
}

/* From a negative errno of the engine to the errno that a call returns and sets. */
static inline int vrb_error(int rc)
{
	if (rc < 0)
		errno = -rc;
	return -rc;
}

/* The same for calls that return a pointer. */
static inline void *vrb_null(int rc)
{
	errno = -rc;
	return NULL;
}

/* The same for calls that return -1. */
static inline int vrb_minus(int rc)
{
	errno = -rc;
	return -1;
}

#endif
