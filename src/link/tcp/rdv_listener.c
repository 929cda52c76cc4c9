/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Doors: unix sockets where peers of this host ask to leave the wire (agree.c), one for each local
 * address and port. A door stands open as long as a stream is offered there or somebody listens.
 */
#include "link/tcp/local.h"

#include "link/sys.h"
#include "util/alloc.h"

#include <stdlib.h>
#include <string.h>

#define CALLS 64 /* taken in one poll() */

static bool same_end(const struct link_end *a, const struct link_end *b)
{
	return a->port == b->port && !memcmp(a->addr, b->addr, 16);
}

static struct tcp_rdv_listener *rdv_listener_find(struct tcp_link *p, const struct link_end *e)
{
	struct tcp_rdv_listener *d;

	ut_list_each(d, &p->rdv_listeners, node)
		if (same_end(&d->local, e))
			return d;
	return NULL;
}

static struct tcp_rdv_listener *rdv_listener_open(struct tcp_link *p, const struct link_end *e)
{
	struct tcp_rdv_listener *d = ut_zalloc(sizeof(*d));
	struct sockaddr_un sun;
	socklen_t n = tcp_rdv_listener_name(e, &sun);

	if (!d)
		return NULL;
	*d = (struct tcp_rdv_listener){ .kind = TCP_K_RENDEZVOUS_LISTENER, .place = p, .local = *e, .fd = tcp_unix_socket() };
	if (d->fd >= 0 && LINK_SYS(SYS_bind, d->fd, &sun, n) == 0 &&
	    LINK_SYS(SYS_listen, d->fd, SOMAXCONN) == 0 && tcp_watch_unix(p, d->fd, d) == 0) {
		ut_list_add_tail(&p->rdv_listeners, &d->node);
		return d;
	}
	link_sys_close(&d->fd);
	free(d);
	return NULL;
}

/* An event of this round may still name it. */
static void rdv_listener_close(struct tcp_rdv_listener *d)
{
	tcp_unwatch(d->place, d->fd);
	link_sys_close(&d->fd);
	ut_list_del(&d->node);
	ut_list_add_tail(&d->place->dead_rdv_listeners, &d->node);
}

/* Who listens will have more of them. */
static bool has_listener(struct tcp_link *p, const struct link_end *e)
{
	struct tcp_listener *l;

	ut_list_each(l, &p->listeners, node)
		if (l->listening && l->base.local.port == e->port &&
		    (ut_ip_is_any(l->base.local.addr) || same_end(&l->base.local, e)))
			return true;
	return false;
}

void tcp_rdv_listeners_close(struct tcp_link *p)
{
	struct tcp_rdv_listener *d, *next;

	ut_list_each_safe(d, next, &p->rdv_listeners, node)
		if (!d->offers && !has_listener(p, &d->local))
			rdv_listener_close(d);
}

void tcp_offer(struct tcp_stream *s)
{
	struct tcp_link *p = tcp_link_of(s);
	struct tcp_rdv_listener *d = rdv_listener_find(p, &s->base.local);

	if (!d)
		d = rdv_listener_open(p, &s->base.local);
	if (!d)
		return;
	d->offers++;
	s->way = TCP_W_OFFERED;
	s->offered_by = s->base.user_ops;
	ut_list_add_tail(&p->offers, &s->offer_node);
}

void tcp_offer_over(struct tcp_stream *s)
{
	struct tcp_rdv_listener *d = rdv_listener_find(tcp_link_of(s), &s->base.local);

	ut_list_del(&s->offer_node);
	if (d && --d->offers == 0 && !has_listener(d->place, &d->local))
		rdv_listener_close(d);
}

struct tcp_stream *tcp_offered(struct tcp_link *p, const struct tcp_hello *h)
{
	struct tcp_stream *s;
	struct link_end from = { .port = h->from_port }, to = { .port = h->to_port };

	memcpy(from.addr, h->from, 16);
	memcpy(to.addr, h->to, 16);
	/* The newest are asked for first. */
	for (struct ut_list *n = p->offers.prev; n != &p->offers; n = n->prev) {
		s = ut_container(n, struct tcp_stream, offer_node);
		if (same_end(&s->base.remote, &from) && same_end(&s->base.local, &to))
			return s;
	}
	return NULL;
}

int tcp_rdv_listener_event(struct tcp_rdv_listener *d)
{
	struct tcp_link *p = d->place;
	int done = 0;

	for (int i = 0; i < CALLS && d->fd >= 0; i++) {
		int fd = (int)LINK_SYS(SYS_accept4, d->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct tcp_rendezvous *c = NULL;

		if (fd < 0)
			break;
		if (p->n_rendezvous < TCP_RENDEZVOUS_MOST && tcp_is_one_of_us(p, fd))
			c = tcp_rendezvous_new(p, NULL, fd);
		if (c)
			tcp_rendezvous_event(c);
		else
			link_sys_close(&fd);
		done++;
	}
	return done;
}

/* Its streams are gone. */
void tcp_rdv_listeners_fini(struct tcp_link *p)
{
	struct tcp_rendezvous *c;
	struct tcp_rdv_listener *d;

	while ((c = ut_list_first(&p->young_rendezvous, struct tcp_rendezvous, node)))
		tcp_rendezvous_over(c);
	while ((d = ut_list_first(&p->rdv_listeners, struct tcp_rdv_listener, node)))
		rdv_listener_close(d);
	tcp_rendezvous_reap(p);
	link_sys_close(&p->wake.fd);
}

void tcp_rdv_listeners_forget(struct tcp_link *p)
{
	struct ut_list *all[] = { &p->young_rendezvous, &p->late_rendezvous };
	struct tcp_rendezvous *c;
	struct tcp_rdv_listener *d;

	for (int i = 0; i < 2; i++)
		ut_list_each(c, all[i], node)
			link_sys_close(&c->fd);
	ut_list_each(d, &p->rdv_listeners, node)
		link_sys_close(&d->fd);
	link_sys_close(&p->wake.fd);
}
