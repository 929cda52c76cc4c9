/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Opening and closing. A kernel destroys the remaining objects when the descriptor of a context is closed;
 * programs rely on it and leak them. Here each remaining object keeps the engine's context alive, so that a
 * leaked queue pair is neither freed under a packet nor crashes; it goes to state ERR.
 */
#include "abi/verbs/context.h"

#include "abi/dapple/verbs_ops.h"
#include "abi/verbs/async.h"
#include "abi/verbs/chan.h"
#include "abi/verbs/device.h"
#include "abi/verbs/export.h"
#include "abi/verbs/mr.h"
#include "abi/verbs/ops.h"
#include "abi/verbs/qp.h"
#include "engine/event.h"
#include "engine/qp.h"
#include "engine/qp_state.h"
#include "util/alloc.h"
#include "util/log.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct ut_mutex vrb_contexts_lock = UT_MUTEX_INIT;
struct ut_list vrb_contexts = UT_LIST_INIT(vrb_contexts);

/*
 * cmd_fd identifies the context for ibv_import_device(). It is an empty memory file, which dup() and
 * SCM_RIGHTS carry like the kernel's descriptor. Nothing is written to it.
 */
static int make_identity(struct vrb_context *c)
{
	int fd = memfd_create("dapple-context", MFD_CLOEXEC);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st)) {
		int rc = -errno;

		close(fd);
		return rc;
	}
	c->id_dev = st.st_dev;
	c->id_ino = st.st_ino;
	c->v.context.cmd_fd = fd;
	return 0;
}

/* The engine's objects behind those that work requests name. */
static struct eng_ah *engine_ah(struct ibv_ah *ah)
{
	return ah ? vrb_of(ah, vrb_ah)->ah : NULL;
}

static struct eng_mkey *engine_mw(struct ibv_mw *mw)
{
	return mw ? vrb_of(mw, vrb_mw)->mk : NULL;
}

static struct eng_mkey *engine_mr(struct ibv_mr *mr)
{
	return mr ? vrb_of(mr, vrb_mr)->mk : NULL;
}

static const struct eng_objects objects_of_verbs = {
	.ah = engine_ah,
	.mw = engine_mw,
	.mr = engine_mr,
};

static pthread_once_t shell_filled = PTHREAD_ONCE_INIT;

static void fill_shell(void)
{
	struct dpl_verbs_ops *s = dpl_verbs_ops();

	s->take_async = vrb_take_async;
	s->take_comp = vrb_take_comp;
	s->ack_async = vrb_ack_async_event;
	s->ack_comp = vrb_ack_cq_events;
	s->wrap_mr = vrb_mr_wrap;
	s->create_gsi = vrb_create_gsi;
}

static void fill_public(struct vrb_context *c, struct ibv_device *d)
{
	struct verbs_context *v = &c->v;

	v->sz = sizeof(*v);
	v->context.device = d;
	v->context.abi_compat = __VERBS_ABI_IS_EXTENDED;
	v->context.async_fd = c->eng->async_fd;
	v->context.num_comp_vectors = 1; /* one background thread serves all */
	pthread_mutex_init(&v->context.mutex, NULL);
	v->priv = (struct verbs_ex_private *)(void *)dpl_verbs_ops();
	pthread_once(&shell_filled, fill_shell);
	vrb_fill_ops(v);
}

struct ibv_context *vrb_open(struct ibv_device *d)
{
	struct vrb_context *c = ut_zalloc(sizeof(*c));
	int rc;

	if (!c)
		return vrb_null(-ENOMEM);
	rc = make_identity(c);
	if (!rc) {
		rc = dev_open(&vrb_of(d, vrb_device)->info, &c->eng);
		if (rc)
			close(c->v.context.cmd_fd);
	}
	if (rc) {
		free(c);
		return vrb_null(rc);
	}
	c->eng->objects = &objects_of_verbs;
	c->dev = c->eng->dev;
	c->device = vrb_of(d, vrb_device);
	vrb_device_get(c->device);
	ut_mutex_init(&c->events);
	ut_mutex_init(&c->lock);
	ut_list_init(&c->qps);
	fill_public(c, d);
	ut_lock(&vrb_contexts_lock);
	ut_list_add_tail(&vrb_contexts, &c->node);
	ut_unlock(&vrb_contexts_lock);
	return &c->v.context;
}

VRB_NOW(open_device) struct ibv_context *vrb_open_device(struct ibv_device *d)
{
	return vrb_open(d);
}

static void end_context(struct vrb_context *c)
{
	dev_close(c->eng);
	vrb_device_put(c->device);
	pthread_mutex_destroy(&c->v.context.mutex);
	ut_mutex_fini(&c->events);
	ut_mutex_fini(&c->lock);
	free(c);
}

/* Queue pairs that the program has not destroyed: peers get no more responses from them. */
static void silence(struct vrb_context *c) UT_REQUIRES(c->lock)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct vrb_qp *qp;

	ut_list_each(qp, &c->qps, node)
		if (eng_qp_state(qp->qp) != IBV_QPS_RESET)
			eng_qp_modify(qp->qp, &attr, IBV_QP_STATE);
}

static bool leave(struct vrb_context *c)
{
	bool last;

	ut_lock(&c->lock);
	last = !c->objects;
	c->closed = true;
	if (!last) {
		ut_warn("a context of %s was closed with %u objects alive: its queue pairs stop, its memory "
			"stays; destroy them before ibv_close_device()", c->device->pub.name,
			c->objects);
		silence(c);
	}
	ut_unlock(&c->lock);
	return last;
}

VRB_NOW(close_device) int vrb_close_device(struct ibv_context *pub)
{
	struct vrb_context *c = vrb_ctx(pub);

	ut_lock(&vrb_contexts_lock);
	ut_list_del(&c->node);
	ut_unlock(&vrb_contexts_lock);
	if (dev_is_foreign(c->dev)) /* the parent's; the child only releases its references */
		return 0;
	close(pub->cmd_fd);
	pub->cmd_fd = -1;
	if (leave(c))
		end_context(c);
	return 0;
}

void vrb_hold(struct ibv_context *pub)
{
	struct vrb_context *c = vrb_ctx(pub);

	ut_lock(&c->lock);
	c->objects++;
	ut_unlock(&c->lock);
}

void vrb_release(struct ibv_context *pub)
{
	struct vrb_context *c = vrb_ctx(pub);
	bool last;

	ut_lock(&c->lock);
	last = --c->objects == 0 && c->closed;
	ut_unlock(&c->lock);
	if (last)
		end_context(c);
}

UT_EXPORT int ibv_fork_init(void)
{
	return 0; /* no page of the application is pinned */
}

UT_EXPORT enum ibv_fork_status ibv_is_fork_initialized(void)
{
	return IBV_FORK_UNNEEDED;
}
