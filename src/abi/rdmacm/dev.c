/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Devices. One context per device and process, kept for life: programs compare
 * id->verbs with what rdma_get_devices() gave them. A context that a child of
 * fork() inherited and that its adapter does not serve there is replaced; its
 * memory is left alone, for the program may still point at it.
 */
#include "abi/rdmacm/dev.h"

#include "abi/rdmacm/chan.h"
#include "util/alloc.h"
#include "util/log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

static struct ut_mutex lock = UT_MUTEX_INIT;
static struct ut_list devices = UT_LIST_INIT(devices);

/* Other threads' locks are gone with them. */
static void after_fork(void)
{
	ut_mutex_init(&lock);
	rcm_chan_after_fork();
}

static void watch_forks(void)
{
	pthread_atfork(NULL, NULL, after_fork);
}

int rcm_ready(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;
	struct ibv_device **list;
	bool known;
	int n = 0;

	pthread_once(&once, watch_forks);
	ut_lock(&lock);
	known = !ut_list_empty(&devices);
	ut_unlock(&lock);
	if (known)
		return 0;
	list = ibv_get_device_list(&n);
	if (!list)
		return errno ? -errno : -ENODEV;
	ibv_free_device_list(list);
	return n ? 0 : -ENODEV;
}

static uint8_t depth(int n)
{
	return (uint8_t)(n < 0 ? 0 : n > UINT8_MAX ? UINT8_MAX : n);
}

static struct rcm_dev *open_device(struct ibv_device *dev)
{
	struct rcm_dev *d = ut_zalloc(sizeof(*d));
	struct ibv_device_attr attr;

	if (!d)
		return NULL;
	d->verbs = ibv_open_device(dev);
	if (!d->verbs) {
		free(d);
		return NULL;
	}
	if (!ibv_query_device(d->verbs, &attr)) {
		d->max_responder = depth(attr.max_qp_rd_atom);
		d->max_initiator = depth(attr.max_qp_init_rd_atom);
	}
	return d;
}

/* The same device and not one inherited from a parent process. */
static bool serves(const struct rcm_dev *d, const struct ibv_device *dev)
{
	struct ibv_device_attr attr;

	return d->verbs->device == dev && !ibv_query_device(d->verbs, &attr);
}

static struct rcm_dev *find_or_open(struct ibv_device *dev) UT_REQUIRES(lock)
{
	struct rcm_dev *d, *next;

	ut_list_each_safe(d, next, &devices, node) {
		if (strcmp(ibv_get_device_name(d->verbs->device), ibv_get_device_name(dev)))
			continue;
		if (serves(d, dev))
			return d;
		ut_list_del(&d->node); /* an identifier may still point at it */
	}
	d = open_device(dev);
	if (d)
		ut_list_add_tail(&devices, &d->node);
	return d;
}

/* The device of this name, open. 0 or negative errno. */
static int by_name(const char *name, struct rcm_dev **ret) UT_REQUIRES(lock)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct rcm_dev *d = NULL;
	int rc = -ENODEV;

	if (!list)
		return errno ? -errno : -ENODEV;
	for (struct ibv_device **v = list; *v && !d; v++) {
		if (strcmp(ibv_get_device_name(*v), name))
			continue;
		d = find_or_open(*v);
		rc = d ? 0 : errno ? -errno : -EIO;
	}
	ibv_free_device_list(list);
	if (!rc)
		*ret = d;
	return rc;
}

int rcm_dev_get(const struct cma_info *info, struct rcm_dev **ret)
{
	struct rcm_dev *d;
	int rc;

	ut_lock(&lock);
	ut_list_each(d, &devices, node)
		if (d->eng == info->dev && d->eng) {
			*ret = d;
			ut_unlock(&lock);
			return 0;
		}
	rc = by_name(info->device, ret);
	if (!rc)
		(*ret)->eng = info->dev;
	ut_unlock(&lock);
	return rc;
}

struct ibv_pd *rcm_dev_pd(struct rcm_dev *d)
{
	ut_lock(&lock);
	if (!d->pd)
		d->pd = ibv_alloc_pd(d->verbs);
	ut_unlock(&lock);
	return d->pd;
}

struct ibv_xrcd *rcm_dev_xrcd(struct rcm_dev *d)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1,
		.oflags = O_CREAT,
	};

	ut_lock(&lock);
	if (!d->xrcd)
		d->xrcd = ibv_open_xrcd(d->verbs, &attr);
	ut_unlock(&lock);
	return d->xrcd;
}

static struct ibv_context **open_all(struct ibv_device **list, int n, int *ret) UT_REQUIRES(lock)
{
	struct ibv_context **v = ut_calloc((size_t)n + 1, sizeof(*v));
	int have = 0;

	if (!v)
		return NULL;
	for (int i = 0; i < n; i++) {
		struct rcm_dev *d = find_or_open(list[i]);

		if (d)
			v[have++] = d->verbs;
		else
			ut_warn("cannot open device %s (%m): rdma_get_devices() leaves it out; see dapple "
				"doctor", ibv_get_device_name(list[i]));
	}
	*ret = have;
	return v;
}

UT_EXPORT struct ibv_context **rdma_get_devices(int *num_devices)
{
	struct ibv_context **v = NULL;
	struct ibv_device **list;
	int n = 0, have = 0;

	if (num_devices)
		*num_devices = 0;
	list = ibv_get_device_list(&n);
	if (!list)
		return NULL;
	if (!n) {
		ibv_free_device_list(list);
		return rcm_null(-ENODEV);
	}
	ut_lock(&lock);
	v = open_all(list, n, &have);
	ut_unlock(&lock);
	ibv_free_device_list(list);
	if (!v)
		return rcm_null(-ENOMEM);
	if (num_devices)
		*num_devices = have;
	return v;
}

UT_EXPORT void rdma_free_devices(struct ibv_context **list)
{
	free(list);
}
