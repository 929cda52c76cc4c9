/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The objects that programs hold, each with the engine's object behind the
 * public structure. Layout rules that others rely on:
 *
 *  - the public part comes first in each;
 *  - vrb_device is 712 bytes and more: providers of the distribution look at
 *    byte 664 to find out whether a device is theirs.
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

/* The adapter behind any public object that has a context, or NULL with errno
 * EIO when it was made before a fork. */
static inline struct eng_dev *vrb_live(const struct ibv_context *c)
{
	struct eng_dev *dev = vrb_ctx(c)->dev;

	if (__builtin_expect(!dev_is_foreign(dev), 1))
		return dev;
	errno = EIO;
	return NULL;
}

/* Negative errno of the engine -> the errno that a call returns (and sets). */
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

/* Calls that say -1. */
static inline int vrb_minus(int rc)
{
	errno = -rc;
	return -1;
}

/* device.c: one more holder, one less. */
void vrb_device_get(struct vrb_device *d);
void vrb_device_put(struct vrb_device *d);

/* context.c: an object that keeps the engine's context alive. */
void vrb_hold(struct ibv_context *c);
void vrb_release(struct ibv_context *c);

/* pd.c: an object made through a protection domain. */
void vrb_pd_use(struct vrb_pd *pd);
void vrb_pd_unuse(struct vrb_pd *pd);

/* mr.c: the public face of a region that the engine has made; frees nothing on
 * failure. NULL with errno. */
struct vrb_mr *vrb_mr_wrap(struct vrb_pd *pd, struct eng_mkey *mk, void *addr, size_t length);

/* async.c, cq.c: waits until what was handed out has been acknowledged. */
void vrb_await_acks(pthread_mutex_t *m, pthread_cond_t *c, const uint32_t *acked,
		    const unsigned *delivered);

/* wait.c: an event descriptor had nothing: waits as read() would. 0 = look
 * again, or a negative errno. A cancellation point; no lock may be held. */
int vrb_wait(struct eng_dev *dev, int fd);
/* The same for a channel, whose event is to be taken at once. */
int vrb_wait_comp(struct eng_dev *dev, struct eng_chan *chan);

/* The slots of one table each. */
void vrb_fill_ops(struct verbs_context *v);
void vrb_fill_cq_ex(struct ibv_cq_ex *cq);
void vrb_fill_qp_ex(struct ibv_qp_ex *qp, enum ibv_qp_type type, uint64_t send_ops);
/* Legal extended operations of a QP type, enum ibv_qp_create_send_ops_flags. */
uint64_t vrb_legal_ops(enum ibv_qp_type type);

/* chan.c, async.c: an event without waiting, counted; 0 or -EAGAIN. */
int vrb_take_comp(struct ibv_comp_channel *ch, struct ibv_cq **ret);
int vrb_take_async(struct ibv_context *c, struct ibv_async_event *ret);
void vrb_ack_cq_events(struct ibv_cq *cq, unsigned int n);
void vrb_ack_async_event(struct ibv_async_event *event);

/* Functions of the tables, by the file that has them. */
int vrb_query_port_ex(struct ibv_context *c, uint8_t port, struct ibv_port_attr *attr, size_t len);
int vrb_query_device_ex(struct ibv_context *c, const struct ibv_query_device_ex_input *in,
			struct ibv_device_attr_ex *attr, size_t len);
int vrb_query_rt_values(struct ibv_context *c, struct ibv_values_ex *values);
struct ibv_mr *vrb_alloc_null_mr(struct ibv_pd *pd);
int vrb_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		  struct ibv_sge *sg, uint32_t n);
struct ibv_mw *vrb_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type);
int vrb_bind_mw(struct ibv_qp *qp, struct ibv_mw *mw, struct ibv_mw_bind *bind);
int vrb_dealloc_mw(struct ibv_mw *mw);
struct ibv_dm *vrb_alloc_dm(struct ibv_context *c, struct ibv_alloc_dm_attr *attr);
int vrb_free_dm(struct ibv_dm *dm);
struct ibv_mr *vrb_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm, uint64_t off, size_t length,
			     unsigned int access);
struct ibv_td *vrb_alloc_td(struct ibv_context *c, struct ibv_td_init_attr *attr);
int vrb_dealloc_td(struct ibv_td *td);
struct ibv_pd *vrb_alloc_parent_domain(struct ibv_context *c,
				       struct ibv_parent_domain_init_attr *attr);
int vrb_poll_cq(struct ibv_cq *cq, int n, struct ibv_wc *wc);
int vrb_req_notify_cq(struct ibv_cq *cq, int solicited_only);
int vrb_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr);
struct ibv_cq_ex *vrb_create_cq_ex(struct ibv_context *c, struct ibv_cq_init_attr_ex *attr);
struct ibv_cq *vrb_make_cq(struct ibv_context *c, const struct ibv_cq_init_attr_ex *attr);
struct ibv_srq *vrb_create_srq_ex(struct ibv_context *c, struct ibv_srq_init_attr_ex *attr);
int vrb_get_srq_num(struct ibv_srq *srq, uint32_t *number);
int vrb_post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);
struct ibv_xrcd *vrb_open_xrcd(struct ibv_context *c, struct ibv_xrcd_init_attr *attr);
int vrb_close_xrcd(struct ibv_xrcd *x);
struct ibv_qp *vrb_create_qp_ex(struct ibv_context *c, struct ibv_qp_init_attr_ex *attr);
struct ibv_qp *vrb_create_gsi(struct ibv_pd *pd, struct ibv_qp_init_attr *attr);
struct ibv_qp *vrb_open_qp(struct ibv_context *c, struct ibv_qp_open_attr *attr);
int vrb_post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad);
int vrb_post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad);

#endif
