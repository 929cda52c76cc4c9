/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/event.h"

#include "engine/dev.h"
#include "engine/semfd.h"
#include "util/alloc.h"
#include "util/log.h"
#include "util/sys.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

static struct eng_ah *no_ah(struct ibv_ah *ah)
{
	return NULL;
}

static struct eng_mkey *no_mw(struct ibv_mw *mw)
{
	return NULL;
}

static struct eng_mkey *no_mr(struct ibv_mr *mr)
{
	return NULL;
}

static const struct eng_objects no_objects = { no_ah, no_mw, no_mr };

int eng_ctx_open(struct eng_dev *dev, struct eng_ctx **ret)
{
	struct eng_ctx *ctx = ut_zalloc(sizeof(*ctx));

	if (!ctx)
		return -ENOMEM;
	ctx->async_fd = eng_semfd_open();
	if (ctx->async_fd < 0) {
		int r = ctx->async_fd;

		free(ctx);
		return r;
	}
	ctx->dev = dev;
	ctx->number = atomic_fetch_add(&dev->numbers, 1) + 1;
	ctx->objects = &no_objects;
	ut_mutex_init(&ctx->lock);
	ut_list_init(&ctx->events);
	ut_lock(&dev->lock);
	ut_list_add_tail(&dev->ctxs, &ctx->node);
	eng_dev_unlock(dev);
	*ret = ctx;
	return 0;
}

void eng_ctx_close(struct eng_ctx *ctx)
{
	struct eng_dev *dev = ctx->dev;
	struct ut_list *n;

	ut_lock(&dev->lock);
	ut_list_del(&ctx->node);
	eng_dev_unlock(dev);
	ut_lock(&ctx->lock);
	while ((n = ut_list_pop(&ctx->events)))
		free(ut_container(n, struct eng_event, node));
	ut_unlock(&ctx->lock);
	ut_mutex_fini(&ctx->lock);
	ut_close(ctx->async_fd);
	free(ctx);
}

static void raise_event(struct eng_ctx *ctx, enum ibv_event_type type, void *user, int port)
{
	struct eng_event *e = ut_zalloc(sizeof(*e));

	if (!e) {
		ut_error("asynchronous event %d: no memory: the program does not receive it; raise the limit "
			 "on memory", (int)type);
		return;
	}
	e->type = type;
	e->user = user;
	e->port_num = port;
	ut_lock(&ctx->lock);
	ut_list_add_tail(&ctx->events, &e->node);
	eng_semfd_up(ctx->async_fd);
	ut_unlock(&ctx->lock);
}

void eng_async_raise(struct eng_ctx *ctx, enum ibv_event_type type, void *user)
{
	raise_event(ctx, type, user, 0);
}

void eng_async_port(struct eng_dev *dev, enum ibv_event_type type)
{
	struct eng_ctx *ctx;

	eng_dev_held(dev);
	ut_list_each(ctx, &dev->ctxs, node)
		raise_event(ctx, type, NULL, ENG_PORT_NUM);
}

int eng_async_get(struct eng_ctx *ctx, struct eng_event *ret)
{
	struct eng_event *e = NULL;
	struct ut_list *n;

	ut_lock(&ctx->lock);
	n = ut_list_pop(&ctx->events);
	if (n) {
		e = ut_container(n, struct eng_event, node);
		eng_semfd_down(ctx->async_fd);
	}
	ut_unlock(&ctx->lock);
	if (!e)
		return -EAGAIN;
	*ret = *e;
	ut_list_init(&ret->node);
	free(e);
	return 0;
}

int eng_async_drop(struct eng_ctx *ctx, void *user)
{
	struct eng_event *e, *tmp;
	int n = 0;

	ut_lock(&ctx->lock);
	ut_list_each_safe(e, tmp, &ctx->events, node) {
		if (e->user != user)
			continue;
		ut_list_del(&e->node);
		free(e);
		eng_semfd_down(ctx->async_fd);
		n++;
	}
	ut_unlock(&ctx->lock);
	return n;
}
