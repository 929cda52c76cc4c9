/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Identifiers while addresses come and go, and when the interface of their adapter is removed. */
#include "cm.h"

#include <arpa/inet.h>
#include <poll.h>
#include <string.h>

static struct sockaddr_storage at(const char *address, uint16_t port)
{
	struct sockaddr_storage s = { .ss_family = AF_INET };
	struct sockaddr_in *in = (void *)&s;

	in->sin_port = htons(port);
	in->sin_addr.s_addr = inet_addr(address);
	return s;
}

static struct rdma_conn_param param(void)
{
	return (struct rdma_conn_param){ .responder_resources = 1, .initiator_depth = 1,
					 .retry_count = 7, .rnr_retry_count = 7 };
}

static void connected(struct cm_pair *c)
{
	struct sockaddr_storage here = at("192.0.2.1", 0);
	struct rdma_conn_param p = param();
	struct rdma_cm_event *req;

	c->ach = cm_channel();
	c->pch = cm_channel();
	c->listener = cm_listen(c->pch, RDMA_PS_TCP, &here);
	here = at("192.0.2.1", cm_port(c->listener));
	c->a = cm_towards(c->ach, RDMA_PS_TCP, &here);
	cm_qp(c->a);
	CF_OK(rdma_connect(c->a, &p));
	req = cm_take(c->pch, CONNECT_REQUEST);
	c->p = cm_keep(req->id);
	cm_accept(c, req);
}

/* Each of n identifiers hears of it once; that its connection or address is over may come too. */
static void removed(struct rdma_event_channel *ch, int n)
{
	const struct rdma_cm_id *told[4];
	struct rdma_cm_event *e;

	for (int seen = 0; seen < n;) {
		CF_TRUE(cf_readable(ch->fd, CF_WAIT_MS));
		CF_OK(rdma_get_cm_event(ch, &e));
		if (e->event == RDMA_CM_EVENT_DEVICE_REMOVAL) {
			for (int i = 0; i < seen; i++)
				CF_TRUE(told[i] != e->id);
			told[seen++] = e->id;
		} else if (e->event != RDMA_CM_EVENT_DISCONNECTED &&
			   e->event != RDMA_CM_EVENT_ADDR_CHANGE &&
			   e->event != RDMA_CM_EVENT_TIMEWAIT_EXIT) {
			CF_DIE("%s", rdma_event_str(e->event));
		}
		CF_OK(rdma_ack_cm_event(e));
	}
}

static void removal(void)
{
	struct sockaddr_storage here = at("192.0.2.1", 0);
	struct cm_pair c, other;

	cf_netns();
	connected(&c);
	cm_say(c.a, c.p, 1);
	CF_OK(cf_ip("link del cfdev0"));
	removed(c.pch, 2);
	removed(c.ach, 1);
	CF_ERR(rdma_listen(c.listener, 1), EINVAL);
	CF_ERR(rdma_accept(c.p, NULL), EINVAL);
	CF_OK(rdma_disconnect(c.a)); /* it is over, and that is no fault of the caller's */
	CF_TRUE(rdma_bind_addr(cm_id(c.ach, RDMA_PS_TCP), cm_sa(&here)) == -1 &&
		(errno == EADDRNOTAVAIL || errno == ENODEV));
	cm_connect(&other, AF_INET); /* lo is not touched */
	cm_say(other.a, other.p, 2);
}

/* The next request; identifiers that went with an address may get their event before it. */
static bool next_request(struct rdma_event_channel *pch)
{
	struct rdma_cm_event *e;
	bool r;

	CF_OK(rdma_get_cm_event(pch, &e));
	r = e->event == RDMA_CM_EVENT_CONNECT_REQUEST;
	if (r)
		cm_keep(e->id);
	else
		CF_EQ(e->event, RDMA_CM_EVENT_ADDR_CHANGE);
	CF_OK(rdma_ack_cm_event(e));
	return r;
}

/* One try; true when the listener heard it. */
static bool heard(struct rdma_event_channel *pch, struct sockaddr_storage *to)
{
	struct rdma_event_channel *ach = cm_channel();
	struct pollfd p[2] = { { pch->fd, POLLIN, 0 }, { ach->fd, POLLIN, 0 } };
	struct rdma_cm_id *id = cm_towards(ach, RDMA_PS_TCP, to);
	struct rdma_conn_param how = param();

	cm_qp(id);
	CF_OK(rdma_connect(id, &how));
	do {
		CF_TRUE(poll(p, 2, CF_WAIT_MS) > 0);
		if (p[0].revents && next_request(pch))
			return true;
	} while (!p[1].revents);
	return false;
}

/* A listener on any address takes one that comes later, and the end of an address is reported to
 * its identifiers. */
static void addresses(void)
{
	struct rdma_event_channel *pch = cm_channel(), *ch = cm_channel();
	struct sockaddr_storage any = cm_any(AF_INET, 0), to;
	uint64_t end = cf_ns() + CF_WAIT_MS * 1000000ull;
	struct rdma_cm_id *l, *one;
	struct rdma_cm_event *e;

	l = cm_listen(pch, RDMA_PS_TCP, &any);
	CF_OK(cf_ip("address add 192.0.2.2/24 dev cfdev0"));
	to = at("192.0.2.2", cm_port(l));
	while (!heard(pch, &to))
		CF_TRUE(cf_ns() < end);
	to = at("192.0.2.2", 0);
	one = cm_listen(ch, RDMA_PS_TCP, &to);
	CF_OK(cf_ip("address del 192.0.2.2/24 dev cfdev0"));
	e = cm_take(ch, ADDR_CHANGE);
	CF_TRUE(e->id == one && !e->status);
	CF_OK(rdma_ack_cm_event(e));
	to = at("192.0.2.1", cm_port(l)); /* the others are served as before */
	CF_TRUE(heard(pch, &to));
}

static void address_change(void)
{
	cf_netns();
	addresses();
}

const struct cf_check cf_checks[] = {
	{ "+", "the interface of a connection is removed", 0, removal },
	{ "+", "addresses come and go", 0, address_change },
	{ 0 }
};
