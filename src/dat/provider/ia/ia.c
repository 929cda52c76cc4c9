/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/ia/ia.h"

#include "dat/provider/cm/events.h"
#include "dat/core/private.h"
#include "dat/provider/evd/evd.h"
#include "dat/provider/ia/address.h"
#include "dat/provider/ia/async.h"
#include "dat/provider/ia/device.h"
#include "dat/provider/ia/init.h"
#include "dat/provider/ia/log.h"
#include "dat/provider/ia/named_attr.h"
#include "dat/provider/ia/table.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

static void ia_construct(struct dpr_obj *o)
{
	struct dpr_ia *ia = (struct dpr_ia *)o;

	ut_mutex_init(&ia->lock);
	ut_mutex_init(&ia->pending_lock);
	ut_list_init(&ia->objs);
	ut_list_init(&ia->asyncs);
	ut_list_init(&ia->pending);
	dpr_timer_init(&ia->deliver, dpr_async_deliver);
}

/* At the last reference, when no object of the adapter is left. */
static void ia_release(struct dpr_obj *o)
{
	struct dpr_ia *ia = (struct dpr_ia *)o;

	if (ia->channel)
		dpr_loop_unwatch(&ia->watch);
	dpr_async_fini(ia);
	dpr_ia_unbind(ia);
	dpr_ia_attrs_free(ia);
	dpr_loop_put();
}

const struct dpr_class dpr_ia_class = {
	.kind = DPR_IA,
	.type = DAT_HANDLE_TYPE_IA,
	.size = sizeof(struct dpr_ia),
	.construct = ia_construct,
	.release = ia_release,
};

static void channel_ready(struct dpr_watch *w)
{
	struct dpr_ia *ia = ut_container(w, struct dpr_ia, watch);

	dpr_obj_hold(&ia->obj);
	dpr_conn_ready(ia);
	dpr_obj_put(&ia->obj);
}

/* --- what the device can do --- */

static bool probe_zb_lmr(struct ibv_context *verbs)
{
	const size_t len = 4096;
	struct ibv_pd *pd = ibv_alloc_pd(verbs);
	struct ibv_mr *mr = NULL;
	void *page;

	if (!pd)
		return false;
	page = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (page != MAP_FAILED) {
		mr = ibv_reg_mr_iova(pd, page, len, 0, IBV_ACCESS_LOCAL_WRITE);
		if (mr)
			ibv_dereg_mr(mr);
		munmap(page, len);
	}
	ibv_dealloc_pd(pd);
	return mr;
}

/* Verbs have no flag for zero-based windows, nor for immediate data over iWARP, and a trial takes a
 * connection. Dapple's libraries are known to have both. */
static bool over_dapple(void)
{
	return dlsym(RTLD_DEFAULT, "dpl_version");
}

static int learn(struct dpr_ia *ia)
{
	const struct ibv_device_attr *a = &ia->dev.orig_attr;

	memset(&ia->dev, 0, sizeof(ia->dev));
	if (ibv_query_device_ex(ia->verbs, NULL, &ia->dev) &&
	    ibv_query_device(ia->verbs, &ia->dev.orig_attr))
		return -EIO;
	memset(&ia->port_attr, 0, sizeof(ia->port_attr));
	if (ibv_query_port(ia->verbs, ia->port, &ia->port_attr))
		return -EIO;
	ia->iwarp = ia->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
	ia->private_max = ia->iwarp ? DPR_IW_PRIVATE : DPR_IB_REQ;
	ia->mw1 = a->max_mw && a->device_cap_flags & IBV_DEVICE_MEM_WINDOW;
	ia->mw2 = a->max_mw && a->device_cap_flags &
		  (IBV_DEVICE_MEM_WINDOW_TYPE_2A | IBV_DEVICE_MEM_WINDOW_TYPE_2B);
	ia->zb_lmr = probe_zb_lmr(ia->verbs);
	ia->dapple = over_dapple();
	*(void **)&ia->wait_comp = dlsym(RTLD_DEFAULT, "dpl_wait_comp");
	ia->zb_rmr = ia->mw2 && ia->dapple;
	return 0;
}

/* --- open --- */

/* *async is NULL (an EVD is made and returned), DAT_EVD_ASYNC_EXISTS (there is none), or an EVD. */
static DAT_RETURN take_async(struct dpr_ia *ia, DAT_COUNT qlen, DAT_EVD_HANDLE *async)
{
	struct dpr_evd *e = NULL;
	DAT_RETURN ret;

	if (*async == DAT_EVD_ASYNC_EXISTS) {
		*async = DAT_EVD_OUT_OF_SCOPE;
		return DAT_SUCCESS;
	}
	if (*async == DAT_HANDLE_NULL) {
		ret = dpr_evd_make(ia, qlen, NULL, DAT_EVD_ASYNC_FLAG, &e);
		if (ret != DAT_SUCCESS)
			return ret;
	} else {
		e = dpr_evd_of(*async);
		if (dpr_async_add(ia, e))
			return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_TEVD);
	}
	dpr_obj_hold(&e->obj);
	ut_lock(&ia->lock);
	ia->async = e;
	ut_unlock(&ia->lock);
	*async = (DAT_EVD_HANDLE)e;
	return DAT_SUCCESS;
}

static DAT_RETURN start(struct dpr_ia *ia)
{
	DAT_RETURN ret = dpr_ia_bind(ia, ia->params);

	if (ret != DAT_SUCCESS)
		return ret;
	ia->watch = (struct dpr_watch){ .fd = ia->channel->fd, .ready = channel_ready };
	ut_list_init(&ia->watch.on);
	if (learn(ia))
		return DPR_ERR(DAT_INTERNAL_ERROR, DAT_NO_SUBTYPE);
	if (dpr_ia_attrs_make(ia) || dpr_loop_watch(&ia->watch) || dpr_device_join(ia))
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	return DAT_SUCCESS;
}

/* Called with the loop running. */
static struct dpr_ia *ia_new(const struct dpr_entry *entry) UT_NO_TSA
{
	struct dpr_ia *ia = dpr_obj_new(NULL, DPR_IA);

	if (!ia)
		return NULL;
	memcpy(ia->name, entry->info.ia_name, sizeof(ia->name));
	memcpy(ia->params, entry->params, sizeof(ia->params));
	ia->info = entry->info;
	ia->table = dpr_table;
	ia->table.device_name = ia->name;
	ia->verbs = NULL;
	ia->channel = NULL;
	ia->id = NULL;
	ia->device = NULL;
	ia->attrs = NULL;
	ia->async = NULL;
	memset(ia->counters, 0, sizeof(ia->counters));
	memset(ia->counted, 0, sizeof(ia->counted));
	return ia;
}

static DAT_RETURN open_entry(const struct dpr_entry *entry, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
			     DAT_IA_HANDLE *ret_ia)
{
	struct dpr_ia *ia;
	DAT_RETURN ret;

	if (dpr_loop_get())
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_NO_SUBTYPE);
	ia = ia_new(entry);
	if (!ia) {
		dpr_loop_put();
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	}
	ret = start(ia);
	if (ret == DAT_SUCCESS)
		ret = take_async(ia, qlen, async);
	if (ret != DAT_SUCCESS) {
		dpr_device_leave(ia);
		return dpr_obj_undo(&ia->obj, ret);
	}
	*ret_ia = (DAT_IA_HANDLE)ia;
	return DAT_SUCCESS;
}

static DAT_RETURN open_as(const DAT_NAME_PTR name, bool safe, DAT_COUNT qlen,
			  DAT_EVD_HANDLE *async, DAT_IA_HANDLE *ia)
{
	struct dpr_entry entry;
	int kept = errno;
	DAT_RETURN ret;

	if (!name)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG1);
	if (!async)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (!ia)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (*async == DAT_HANDLE_NULL && qlen <= 0)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (*async != DAT_HANDLE_NULL && *async != DAT_EVD_ASYNC_EXISTS) {
		struct dpr_evd *e = dpr_evd_of(*async);

		if (!e || !dpr_evd_takes(e, DAT_EVD_ASYNC_FLAG))
			return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_EVD_ASYNC);
	}
	if (!dpr_entry_find(name, safe, &entry))
		return DPR_ERR(DAT_PROVIDER_NOT_FOUND, DAT_NAME_NOT_REGISTERED);
	ret = open_entry(&entry, qlen, async, ia);
	errno = kept;
	return ret;
}

DAT_RETURN dpr_ia_open(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
		       DAT_IA_HANDLE *ia)
{
	return open_as(name, false, qlen, async, ia);
}

DAT_RETURN dpr_ia_open_safe(const DAT_NAME_PTR name, DAT_COUNT qlen, DAT_EVD_HANDLE *async,
			    DAT_IA_HANDLE *ia)
{
	return open_as(name, true, qlen, async, ia);
}

/*
 * What the loop or a connection still references lives on without a handle; the adapter's memory is
 * freed with the last of it. Users come before what they use.
 */

static const enum dpr_kind order[] = {
	DPR_CR, DPR_EP, DPR_RSP, DPR_PSP, DPR_CSP, DPR_RMR, DPR_LMR, DPR_SRQ, DPR_EVD, DPR_CNO,
	DPR_PZ,
};

static bool of_kind(struct dpr_obj *o, const void *kind)
{
	return o->cls->kind == *(const enum dpr_kind *)kind;
}

static void close_all(struct dpr_ia *ia, enum dpr_kind kind)
{
	struct dpr_obj *o;

	while ((o = dpr_obj_find(ia, of_kind, &kind))) {
		if (o->cls->close)
			o->cls->close(o);
		/* a close without effect would be repeated for ever */
		if (dpr_obj_kill(o)) {
			dpr_log(DPR_LOG_ERR, "object %p of kind %d outlives its adapter: its "
				"resources stay until its last reference is gone; report it",
				(void *)o, kind);
			dpr_obj_put(o);
		}
		dpr_obj_put(o);
	}
}

/* Returns true if there is more than the EVD that dat_ia_open made. */
static bool in_use(struct dpr_ia *ia)
{
	struct dpr_obj *o;
	bool other = false;

	ut_lock(&ia->lock);
	ut_list_each(o, &ia->objs, of_ia)
		other |= !ia->async || o != &ia->async->obj;
	/* another adapter may use that EVD for its events */
	if (ia->async && ia->async->obj.ia == ia)
		other |= atomic_load(&ia->async->obj.uses) != 0;
	ut_unlock(&ia->lock);
	return other;
}

DAT_RETURN dpr_ia_close(DAT_IA_HANDLE handle, DAT_CLOSE_FLAGS flags)
{
	struct dpr_ia *ia = dpr_ia_of(handle);
	struct dpr_evd *async;
	int kept = errno;

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (flags != DAT_CLOSE_ABRUPT_FLAG && flags != DAT_CLOSE_GRACEFUL_FLAG)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (flags == DAT_CLOSE_GRACEFUL_FLAG && in_use(ia))
		return DPR_ERR(DAT_INVALID_STATE, DAT_INVALID_STATE_IA_IN_USE);
	if (!dpr_obj_kill(&ia->obj))
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	dpr_device_leave(ia);
	ut_lock(&ia->lock);
	async = ia->async;
	ia->async = NULL;
	ut_unlock(&ia->lock);
	if (async) {
		if (async->obj.ia != ia)
			dpr_async_del(ia, async);
		dpr_obj_put(&async->obj);
	}
	for (size_t i = 0; i < sizeof(order) / sizeof(order[0]); i++)
		close_all(ia, order[i]);
	dpr_obj_put(&ia->obj);
	errno = kept;
	return DAT_SUCCESS;
}
