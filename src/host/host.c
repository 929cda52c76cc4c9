/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "host/host.h"

#include "host/layout.h"
#include "host/mailbox.h"
#include "host/slot.h"
#include "util/fault_calls.h"
#include "util/syscall.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>

#define EVENTS 32

static void ignore(struct host *h, struct host_port *p, uint32_t events)
{
}

const struct host_port_kind host_port_kept = { .events = 0, .ready = ignore };

static void drop_message(void *arg, struct host_addr *a, const struct host_message *m,
			 const uint8_t *body, size_t len)
{
}

int host_init(struct host *h, const struct host_user *user, uint16_t port)
{
	*h = (struct host){ .user = user, .port = port, .slot = HOST_NO_SLOT, .epfd = -1,
			    .records = -1 };
	ut_list_init(&h->addrs);
	ut_list_init(&h->outbox);
	ut_list_init(&h->services);
	ut_list_init(&h->services_ready);
	ut_list_init(&h->peer_watches);
	ut_list_init(&h->dead);
	for (int i = 0; i < HOST_FDS; i++)
		h->fds[i] = -1;
	for (int i = 0; i < HOST_MSG_TYPES; i++)
		h->handlers[i].fn = drop_message;
	h->rng.state = ut_rng_seed();
	h->epfd = ut_epoll();
	return h->epfd < 0 ? -errno : host_self_uid(&h->uid);
}

void host_fini(struct host *h)
{
	host_fds_close(h);
	ut_close_fd(&h->epfd);
}

void host_handle(struct host *h, enum host_message_type type, host_handler *fn, void *arg)
{
	h->handlers[type].fn = fn;
	h->handlers[type].arg = arg;
}

void host_dispatch(struct host *h, struct host_addr *a, const struct host_message *m,
		   const uint8_t *body, size_t len)
{
	if (m->type < HOST_MSG_TYPES && (m->layout == host_layout || host_layout_is_base(m->type) || m->type >= HOST_MSG_SHM_HELLO))
		h->handlers[m->type].fn(h->handlers[m->type].arg, a, m, body, len);
}

int host_watch(struct host *h, struct host_port *p)
{
	struct epoll_event e = { .events = p->kind->events, .data.ptr = p };

	return ut_epoll_add(h->epfd, p->fd, &e) < 0 ? -errno : 0;
}

void host_unwatch(struct host *h, struct host_port *p)
{
	if (p->fd < 0)
		return;
	epoll_ctl(h->epfd, EPOLL_CTL_DEL, p->fd, NULL);
	ut_close_fd(&p->fd);
}

bool host_look(struct host *h)
{
	struct epoll_event v[EVENTS];
	long n = UT_SYS(SYS_epoll_pwait, h->epfd, v, EVENTS, 0, NULL, 8);

	for (long i = 0; i < n; i++) {
		struct host_port *p = v[i].data.ptr;

		if (p) /* else the owner's own */
			p->kind->ready(h, p, v[i].events);
	}
	return n > 0;
}

struct host_addr *host_addr_find(struct host *h, const uint8_t addr[16])
{
	struct host_addr *a;

	ut_list_each(a, &h->addrs, node)
		if (!memcmp(a->addr, addr, 16))
			return a;
	return NULL;
}
