/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Channels. One queue in the order in which things happened, whatever the
 * identifier; the descriptor counts what is queued, so it is readable exactly
 * while there is an event. Queue and count change under one lock.
 */
#include "cm/cma/chan.h"

#include "engine/semfd.h"
#include "util/alloc.h"
#include "util/log.h"

#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int cma_chan_create(struct cma *c, struct cma_chan **ret)
{
	struct cma_chan *ch;
	int fd;

	if (cma_foreign(c))
		return -EIO;
	ch = ut_zalloc(sizeof(*ch));
	if (!ch)
		return -ENOMEM;
	fd = eng_semfd_open();
	if (fd < 0) {
		free(ch);
		return fd;
	}
	ch->c = c;
	ch->fd = fd;
	ut_list_init(&ch->events);
	*ret = ch;
	return 0;
}

int cma_chan_destroy(struct cma_chan *ch)
{
	struct cma *c = ch->c;
	bool busy;

	/* The descriptor is the child's own, the rest an unreliable copy. */
	if (cma_foreign(c)) {
		syscall(SYS_close, ch->fd);
		return 0;
	}
	ut_lock(&c->lock);
	busy = ch->n_ids != 0;
	ut_unlock(&c->lock);
	if (busy)
		return -EBUSY;
	/* Without identifiers there are no events. */
	syscall(SYS_close, ch->fd);
	free(ch);
	return 0;
}

int cma_chan_fd(const struct cma_chan *ch)
{
	return ch->fd;
}

static void qev_init(struct cma_qev *q, struct cma_id *owner, int type, int status)
{
	*q = (struct cma_qev){ .owner = owner, .e = { .type = type, .status = status,
						      .id = owner } };
	ut_list_init(&q->node);
}

struct cma_qev *cma_qev_new(struct cma_id *owner, int type, int status)
{
	struct cma_qev *q = ut_malloc(sizeof(*q));

	if (q)
		qev_init(q, owner, type, status);
	return q;
}

struct cma_qev *cma_qev_get(struct cma_id *owner, int type, int status)
{
	struct cma_qev *q = cma_qev_new(owner, type, status);

	if (q)
		return q;
	q = owner->spare;
	owner->spare = NULL;
	if (q)
		qev_init(q, owner, type, status);
	else
		ut_error("event %d of a connection: no memory: the program does not receive it; raise the "
			 "limit on memory", type);
	return q;
}

void cma_queue(struct cma *c, struct cma_qev *q)
{
	struct cma_chan *ch = q->owner->chan;

	if (q->e.type == RDMA_CM_EVENT_CONNECT_REQUEST)
		q->owner->untaken++;
	ut_list_add_tail(&ch->events, &q->node);
	eng_semfd_up(ch->fd);
}

static void taken(struct cma *c, struct cma_chan *ch, struct cma_qev *q) UT_REQUIRES(c->lock)
{
	ut_list_del(&q->node);
	eng_semfd_down(ch->fd);
	if (q->e.type == RDMA_CM_EVENT_CONNECT_REQUEST)
		q->owner->untaken--;
}

void cma_unqueue(struct cma *c, struct cma_id *id, const struct cma_mc *mc, struct ut_list *to)
{
	struct cma_chan *ch = id->chan;
	struct cma_qev *q, *tmp;

	ut_list_each_safe(q, tmp, &ch->events, node) {
		if (q->owner != id || (mc && q->mc != mc))
			continue;
		taken(c, ch, q);
		ut_list_add_tail(to, &q->node);
	}
}

/* What an event shows is as it is when it is taken. */
static void show(const struct cma_qev *q, struct cma_event *ret)
{
	*ret = q->e;
	ret->user = q->owner->user;
	if (ret->param.private_data)
		ret->param.private_data = ret->data;
}

/* From now on the application has to destroy what the request brought. */
static void hand_over(struct cma_chan *ch, const struct cma_qev *q)
{
	if (q->e.id == q->owner)
		return;
	q->e.id->known = true;
	ch->n_ids++;
}

int cma_event_next(struct cma_chan *ch, bool requests_too, struct cma_event *ret)
{
	struct cma *c = ch->c;
	struct cma_qev *q, *spent = NULL;

	if (cma_foreign(c))
		return -EIO;
	ut_lock(&c->lock);
	q = ut_list_first(&ch->events, struct cma_qev, node);
	if (!q || (q->e.type == RDMA_CM_EVENT_CONNECT_REQUEST && !requests_too)) {
		ut_unlock(&c->lock);
		return q ? -EBUSY : -EAGAIN;
	}
	taken(c, ch, q);
	show(q, ret);
	hand_over(ch, q);
	if (q->owner->spare)
		spent = q;
	else
		q->owner->spare = q;
	ut_unlock(&c->lock);
	free(spent);
	return 0;
}
