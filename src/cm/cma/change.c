/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Adapters and addresses that come and go. All identifiers are visited, each by
 * a reference and under its own call lock, none of ours held in between.
 */
#include "cm/cma/change.h"

#include "cm/cma.h"
#include "cm/cma/event.h"
#include "cm/cma/id.h"
#include "cm/cma/port.h"
#include "util/alloc.h"
#include "util/ip.h"
#include "util/log.h"

#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdlib.h>
#include <string.h>

struct change {
	struct cm_port *port;
	const uint8_t *addr; /* NULL: the adapter */
	bool there;          /* the address is the adapter's now */
};

static void tell(struct cma_id *id, int type, enum cma_act act)
{
	struct cma_qev *q;
	int next;

	ut_lock(&id->c->lock);
	next = act == CMA_ACTS ? (int)id->state : cma_next(id->state, act);
	if (next >= 0 && id->state != CMA_DEAD && id->known) {
		id->state = (enum cma_state)next;
		q = id->unaccepted ? NULL : cma_qev_get(id, type, 0);
		if (q)
			cma_queue(id->c, q);
	}
	ut_unlock(&id->c->lock);
}

static bool listening(struct cma_id *id)
{
	bool r;

	ut_lock(&id->c->lock);
	r = id->state == CMA_LISTENING;
	ut_unlock(&id->c->lock);
	return r;
}

static struct cma_sub *find_sub(struct cma_id *id, const struct change *ch)
{
	struct cma_sub *s;

	ut_list_each(s, &id->subs, node)
		if (s->port == ch->port && ut_ip_same(s->ep->local.addr, ch->addr))
			return s;
	return NULL;
}

/* A new address for an identifier that is bound to any. */
static int add_sub(struct cma_id *id, const struct change *ch, const struct link_end *e)
{
	int r = cma_port_ready(id, ch->port);

	if (r == 0)
		r = cma_sub_add(id, ch->port, e);
	if (r == 0 && listening(id)) {
		struct cma_sub *s = ut_container(id->subs.prev, struct cma_sub, node);

		r = cma_ep_listen(id, s->port, s->ep);
		if (r < 0)
			cma_sub_drop(id, s);
	}
	return r;
}

static struct link_end end_of(struct cma_id *id, const struct change *ch)
{
	struct link_end e = { .port = id->local.port }, *v;
	int n = cma_port_addrs(id->c, ch->port, &v);

	memcpy(e.addr, ch->addr, sizeof(e.addr));
	for (int i = 0; i < n; i++)
		if (ut_ip_same(v[i].addr, ch->addr))
			e.scope = v[i].scope;
	if (n >= 0)
		free(v);
	return e;
}

static void change_any(struct cma_id *id, const struct change *ch)
{
	struct cma_sub *s = find_sub(id, ch);
	struct link_end e;
	char text[CMA_TEXT];
	int r;

	if (s && !ch->there)
		cma_sub_drop(id, s);
	if (s || !ch->there || !cma_port_chosen(id, ch->port) ||
	    !cma_any_takes(cma_family(id), cma_opt(id).afonly, ch->addr))
		return;
	e = end_of(id, ch);
	r = add_sub(id, ch, &e);
	if (r < 0 && r != -ENODEV)
		ut_warn("%s: cannot listen on the new address %s (%s): connections to it are refused; choose "
			"another port, or see dapple doctor",
			ch->port->dev->name, cma_addr_text(&e, text, sizeof(text)),
			strerror(-r));
}

static void lose_port(struct cma_id *id, const struct change *ch)
{
	struct cma_sub *s, *tmp;

	ut_list_each_safe(s, tmp, &id->subs, node)
		if (s->port == ch->port)
			cma_sub_drop(id, s);
	if (id->port == ch->port)
		tell(id, RDMA_CM_EVENT_DEVICE_REMOVAL, CMA_ON_GONE);
}

static bool dead(struct cma_id *id)
{
	bool r;

	ut_lock(&id->c->lock);
	r = id->state == CMA_DEAD;
	ut_unlock(&id->c->lock);
	return r;
}

static void apply(struct cma_id *id, const struct change *ch)
{
	ut_lock(&id->call);
	if (dead(id)) /* destroyed while we came */
		;
	else if (!ch->addr)
		lose_port(id, ch);
	else if (id->any)
		change_any(id, ch);
	else if (id->port == ch->port && !ch->there &&
		 ut_ip_same(id->local.addr, ch->addr))
		tell(id, RDMA_CM_EVENT_ADDR_CHANGE, CMA_ACTS);
	ut_unlock(&id->call);
}

struct cma_id **cma_hold_all(struct cma *c, size_t *n)
{
	struct cma_id **v, *id;
	size_t count = 0;

	ut_lock(&c->lock);
	ut_list_each(id, &c->ids, node)
		count++;
	v = count ? ut_calloc(count, sizeof(*v)) : NULL;
	*n = 0;
	if (v) {
		ut_list_each(id, &c->ids, node) {
			id->refs++;
			v[(*n)++] = id;
		}
	}
	ut_unlock(&c->lock);
	if (count && !v)
		ut_error("a change of addresses: no memory: connection identifiers are not told of it; raise "
			 "the limit on memory");
	return v;
}

static void change_all(struct cma *c, const struct change *ch)
{
	size_t n;
	struct cma_id **v = cma_hold_all(c, &n);

	for (size_t i = 0; i < n; i++) {
		apply(v[i], ch);
		cma_id_put(v[i]);
	}
	free(v);
}

void cma_port_gone(struct cma *c, struct cm_port *p)
{
	struct change ch = { .port = p };

	if (!cma_foreign(c))
		change_all(c, &ch);
}

void cma_addr_changed(struct cma *c, struct cm_port *p, const uint8_t addr[16])
{
	struct change ch = { .port = p, .addr = addr };

	if (cma_foreign(c))
		return;
	ch.there = c->host->has_addr(p, addr, 0);
	change_all(c, &ch);
}
