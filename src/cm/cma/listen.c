/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Listening on one address, or on every one that the bind has found. */
#include "cm/cma/core.h"
#include "util/log.h"

#include <errno.h>
#include <string.h>

static bool afonly_drops(struct cma_id *id, const struct cma_sub *s)
{
	return !cma_any_takes(cma_family(id), cma_opt(id).afonly, s->ep->local.addr);
}

static int listen_any(struct cma_id *id)
{
	struct cma_sub *s, *tmp;
	char text[CMA_TEXT];
	const struct cm_ops *kind; /* the first, see bind.c */
	int good = 0, first = 0;

	s = ut_list_first(&id->subs, struct cma_sub, node);
	kind = s ? s->port->ops : NULL;
	ut_list_each_safe(s, tmp, &id->subs, node) {
		int r;

		/* The option may have come after the bind. */
		if (afonly_drops(id, s)) {
			cma_sub_drop(id, s);
			continue;
		}
		r = cma_ep_listen(id, s->port, s->ep);
		good += r == 0;
		if (r == 0)
			continue;
		if (r == -EADDRINUSE && s->port->ops == kind)
			return r;
		ut_warn("%s: cannot listen on %s: %s", id->c->host->name(s->port),
			cma_addr_text(&s->ep->local, text, sizeof(text)), strerror(-r));
		first = first ? first : r;
		cma_sub_drop(id, s);
	}
	return good ? 0 : first ? first : -ENODEV;
}

static int start(struct cma_id *id, enum cma_state old)
{
	struct cma_addr any = { .family = AF_INET };
	int r;

	if (old == CMA_IDLE) {
		cma_addr_set_any(&any.end, true);
		r = cma_bind_addr(id, &any);
		if (r < 0)
			return r;
	}
	return id->any ? listen_any(id) : cma_ep_listen(id, id->port, id->ep);
}

/* Each endpoint of a wildcard has the backlog that was asked for, and lets others wait. */
static void set_most(struct cma_id *id, int backlog)
{
	uint32_t most = backlog > 0 && backlog < CMA_BACKLOG_MAX ? (uint32_t)backlog
								 : CMA_BACKLOG_MAX;
	uint32_t n = 0;
	struct cma_sub *s;

	ut_list_each(s, &id->subs, node)
		n++;
	ut_lock(&id->c->lock);
	id->untaken_max = n > 1 ? n * most : most;
	ut_unlock(&id->c->lock);
}

static int listen_call(struct cma_id *id, int backlog)
{
	enum cma_state old;
	int r;

	set_most(id, backlog);
	/* Listening before the manager does, so that its first request is not refused. */
	r = cma_move(id, CMA_DO_LISTEN, &old);
	if (r < 0)
		return r;
	id->backlog = backlog > 0 ? backlog : 0;
	r = start(id, old);
	set_most(id, backlog);
	if (r < 0)
		cma_move_back(id, CMA_LISTENING, id->has_local ? CMA_BOUND : CMA_IDLE);
	return r;
}

int cma_listen(struct cma_id *id, int backlog)
{
	if (!cma_enter(id))
		return -EIO;
	return cma_leave_call(id, listen_call(id, backlog));
}
