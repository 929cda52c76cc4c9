/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The device list. A device that is still there keeps its address from one
 * list to the next, as in rdma-core: programs compare pointers. The references
 * are one of the list below, one per array that was given out, one per context.
 */
#include "abi/verbs/device.h"

#include "abi/verbs/export.h"
#include "device/devices.h"
#include "device/sysfs/root.h"
#include "util/alloc.h"
#include "util/export.h"
#include "util/log.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct ut_mutex vrb_devices_lock = UT_MUTEX_INIT;
static struct ut_list devices = UT_LIST_INIT(devices);
static const char not_a_provider; /* its address is in no provider's table */

static void put_device(struct vrb_device *d)
{
	if (atomic_fetch_sub(&d->refs, 1) == 1)
		free(d);
}

static void set_paths(struct vrb_device *d)
{
	const char *root = dev_tree_root();

	if (!root)
		root = "/sys"; /* nothing there either; programs print it */
	snprintf(d->pub.dev_name, sizeof(d->pub.dev_name), "uverbs%u", d->info.index);
	if (snprintf(d->pub.ibdev_path, sizeof(d->pub.ibdev_path), "%s/class/infiniband/%s", root,
		     d->info.name) >= (int)sizeof(d->pub.ibdev_path) ||
	    snprintf(d->pub.dev_path, sizeof(d->pub.dev_path), "%s/class/infiniband_verbs/%s",
		     root, d->pub.dev_name) >= (int)sizeof(d->pub.dev_path))
		ut_warn("device %s: its path is too long for struct ibv_device: programs read a cut path; "
			"set DAPPLE_RUNTIME_DIR to a shorter one", d->info.name);
}

static struct vrb_device *make_device(const struct dev_info *info)
{
	struct vrb_device *d = ut_zalloc(sizeof(*d));
	bool iwarp = info->node_type == IBV_NODE_RNIC;

	if (!d)
		return NULL;
	d->info = *info;
	d->pub.node_type = info->node_type;
	d->pub.transport_type = iwarp ? IBV_TRANSPORT_IWARP : IBV_TRANSPORT_IB;
	memcpy(d->pub.name, info->name, sizeof(d->pub.name));
	set_paths(d);
	d->provider_ops = &not_a_provider;
	atomic_init(&d->refs, 1);
	ut_list_init(&d->node);
	return d;
}

static bool same_device(const struct dev_info *a, const struct dev_info *b)
{
	return a->kind == b->kind && a->ifindex == b->ifindex && a->guid == b->guid &&
	       !strcmp(a->name, b->name);
}

static struct vrb_device *find_or_make(const struct dev_info *info)
{
	struct vrb_device *d;

	ut_list_each(d, &devices, node)
		if (same_device(&d->info, info))
			return d;
	d = make_device(info);
	if (d)
		ut_list_add_tail(&devices, &d->node);
	return d;
}

/* Devices that do not exist any more leave the list; references keep their memory. */
static void forget_missing(const struct dev_info *v, int n)
{
	struct vrb_device *d, *next;

	ut_list_each_safe(d, next, &devices, node) {
		int i = 0;

		while (i < n && !same_device(&d->info, &v[i]))
			i++;
		if (i < n)
			continue;
		ut_list_del(&d->node);
		put_device(d);
	}
}

static struct ibv_device **fill_list(const struct dev_info *v, int n)
{
	struct ibv_device **list = ut_calloc((size_t)n + 1, sizeof(*list));

	if (!list)
		return NULL;
	forget_missing(v, n);
	for (int i = 0; i < n; i++) {
		struct vrb_device *d = find_or_make(&v[i]);

		if (!d) {
			while (i--)
				put_device(vrb_of(list[i], vrb_device));
			free(list);
			return NULL;
		}
		atomic_fetch_add(&d->refs, 1);
		list[i] = &d->pub;
	}
	return list;
}

VRB_NOW(get_device_list) struct ibv_device **vrb_get_device_list(int *num)
{
	struct dev_info *v = NULL;
	struct ibv_device **list;
	int n, keep = errno;

	if (num)
		*num = 0;
	n = dev_list(&v);
	if (n < 0)
		return vrb_null(n);
	ut_lock(&vrb_devices_lock);
	list = fill_list(v, n);
	ut_unlock(&vrb_devices_lock);
	free(v);
	if (!list)
		return vrb_null(-ENOMEM);
	if (num)
		*num = n;
	errno = keep;
	return list;
}

VRB_NOW(free_device_list) void vrb_free_device_list(struct ibv_device **list)
{
	if (!list)
		return;
	for (struct ibv_device **d = list; *d; d++)
		put_device(vrb_of(*d, vrb_device));
	free(list);
}

void vrb_device_get(struct vrb_device *d)
{
	atomic_fetch_add(&d->refs, 1);
}

void vrb_device_put(struct vrb_device *d)
{
	put_device(d);
}

VRB_NOW(get_device_name) const char *vrb_get_device_name(struct ibv_device *d)
{
	return d->name;
}

VRB_NOW(get_device_guid) __be64 vrb_get_device_guid(struct ibv_device *d)
{
	return htobe64(vrb_of(d, vrb_device)->info.guid);
}

UT_EXPORT int ibv_get_device_index(struct ibv_device *d)
{
	return (int)vrb_of(d, vrb_device)->info.index;
}

/* --- the stand-in for /sys --- */

/* The folder that programs read instead of /sys, and the two old readers. */

UT_EXPORT const char *ibv_get_sysfs_path(void);
UT_EXPORT int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);

const char *ibv_get_sysfs_path(void)
{
	const char *root = dev_tree_root();

	return root ? root : "/sys";
}

/* Length without one final newline; -1 with errno. */
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
	char path[4096];
	ssize_t n;
	int fd;

	if (!size || snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path)) {
		errno = EINVAL;
		return -1;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, buf, size);
	close(fd);
	if (n <= 0)
		return (int)n;
	if (buf[n - 1] == '\n')
		buf[--n] = '\0';
	else if ((size_t)n < size)
		buf[n] = '\0';
	else
		return -1; /* does not fit with its end */
	return (int)n;
}
