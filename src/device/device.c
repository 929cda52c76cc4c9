/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/device.h"

#include "device/adapter.h"
#include "device/process.h"
#include "device/progress/thread.h"
#include "device/why.h"
#include "engine/event.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/notice.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static uint64_t next_serial UT_GUARDED_BY(dev_process_lock) = DEV_SERIAL_FIRST;

static struct dev_adapter *find(const struct dev_info *info) UT_REQUIRES(dev_process_lock)
{
	struct dev_adapter *a;

	ut_list_each(a, &dev_process_adapters, node)
		if (a->info.ifindex == info->ifindex && strcmp(a->info.name, info->name) == 0)
			return a;
	return NULL;
}

static int make(const struct dev_info *info, struct dev_adapter **ret)
	UT_REQUIRES(dev_process_lock)
{
	const struct dev_kind_row *kind = dev_kind_find(info->kind);
	struct dev_adapter *a;
	int r;

	if (!kind)
		return -ENODEV;
	a = ut_zalloc(sizeof(*a));
	if (!a)
		return -ENOMEM;
	a->info = *info;
	a->kind = kind;
	a->serial = next_serial++;
	a->port_up = true;
	a->cm.dev = &a->dev;
	dev_driver_init(&a->driver);
	dev_counting_init(&a->counting);
	r = dev_kind_open(a);
	if (r == 0) {
		atomic_init(&a->dev.process, atomic_load(&dev_process_number));
		/* Without its addresses the adapter would refuse every QP for a wrong reason. */
		r = kind->refresh(a);
		if (r < 0)
			dev_kind_close(a);
	}
	if (r < 0) {
		dev_driver_fini(&a->driver);
		dev_counting_fini(&a->counting);
		free(a);
		return r;
	}
	ut_list_add_tail(&dev_process_adapters, &a->node);
	*ret = a;
	return 0;
}

static void destroy(struct dev_adapter *a)
{
	dev_counting_last(a);
	dev_kind_close(a);
	dev_driver_fini(&a->driver);
	dev_counting_fini(&a->counting);
	free(a);
}

int dev_open(const struct dev_info *info, struct eng_ctx **ret)
{
	struct dev_adapter *a;
	int r = 0;

	dev_process_watch_forks();
	ut_notice_to(dev_why_keep);
	ut_lock(&dev_process_lock);
	a = find(info);
	if (!a)
		r = make(info, &a);
	if (r == 0)
		r = eng_ctx_open(&a->dev, ret);
	if (r == 0) {
		a->refs++;
		/* A program that only waits for events (ibv_asyncwatch) is told of the port too. Without the
		 * thread all else still works, and it is tried again with the first QP. */
		dev_thread_start();
		if (!a->port_watched && a->kind->port_fd(a) >= 0)
			dev_thread_wake_by(ut_now());
	} else if (a && a->refs == 0) {
		ut_list_del(&a->node);
		destroy(a);
	}
	ut_unlock(&dev_process_lock);
	return r;
}

void dev_close(struct eng_ctx *ctx)
{
	struct dev_adapter *a = dev_adapter_of(ctx->dev);
	struct dev_thread *t = NULL;
	bool last;

	/* An adapter of the parent: its memory here is a copy that nothing refers to. */
	if (dev_is_foreign(&a->dev))
		return;
	eng_ctx_close(ctx);
	ut_lock(&dev_process_lock);
	last = --a->refs == 0;
	if (last)
		ut_list_del(&a->node); /* the background thread does not find it any more */
	if (ut_list_empty(&dev_process_adapters))
		t = dev_thread_take();
	ut_unlock(&dev_process_lock);
	if (!last)
		return;
	ut_lock(&a->dev.lock);
	if (a->wired)
		a->machine->drain(a);
	ut_unlock(&a->dev.lock);
	dev_driver_detach(a);
	dev_thread_join(t);
	destroy(a);
}
