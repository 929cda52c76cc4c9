/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/fabric/fabric.h"

#include "host/mailbox.h"
#include "host/outbox.h"
#include "host/service.h"
#include "host/shm/channel.h"
#include "host/shm/peer.h"
#include "host/shm/segment.h"
#include "host/slot.h"
#include "host/survivor.h"
#include "link/fabric/greet.h"
#include "link/fabric/local.h"
#include "link/fabric/state.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/fault_calls.h"
#include "util/heap.h"
#include "util/rundir.h"
#include "util/syscall.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define RX_WINDOW (128u << 10) /* bytes: what the sockets of both ends hold */

/* --- slots of link_ops --- */

static uint16_t no_port(struct link *l, const struct ut_flow *f)
{
	return 0;
}

/* The fabric process is the only one that writes here, and it is of this user. */
static enum link_sender sender(struct link *l, const struct link_rx *rx)
{
	return LINK_SENDER_PEER;
}

static struct link_count *count(struct link *l, const struct ut_flow *f)
{
	return fabric_tally_of(&fabric_of(l)->tally, f);
}

static int no_error(struct link *l, struct link_err *ret)
{
	return 0;
}

static void set_slot(struct fabric_link *n)
{
	unsigned slot = n->host.slot;

	n->base.qpn_fixed = slot == HOST_NO_SLOT ? 0 : slot << HOST_SLOT_SHIFT;
	n->base.qpn_mask = (1u << HOST_SLOT_SHIFT) - 1;
}

static int tell_slot(struct fabric_link *n)
{
	struct pkt_message m = { .head = pkt_head(PKT_SLOT), .u.slot.slot = n->host.slot };

	return fabric_tell(n, &m);
}

static void leave_host(struct fabric_link *n)
{
	host_outbox_forget(&n->host, &n->at);
	host_peer_watches_drop(&n->host, &n->at);
	host_unwatch(&n->host, &n->at.mail);
	ut_list_del(&n->at.node);
	ut_list_init(&n->at.node);
	n->host.slot = HOST_NO_SLOT;
	set_slot(n);
}

static int add_addr(struct link *l, const uint8_t addr[16], uint32_t scope)
{
	struct fabric_link *n = fabric_of(l);
	int r;

	if (n->host.slot != HOST_NO_SLOT)
		return 0;
	r = host_slot_take(&n->host, &n->at, false);
	if (r < 0)
		return r;
	ut_list_add_tail(&n->host.addrs, &n->at.node);
	set_slot(n);
	r = host_watch(&n->host, &n->at.mail);
	if (r == 0)
		r = tell_slot(n);
	if (r < 0)
		leave_host(n);
	return r;
}

/* The port keeps its address; GIDs and IP addresses come and go above it. */
static void del_addr(struct link *l, const uint8_t addr[16])
{
}

static int tell_group(struct link *l, enum pkt_type type, const uint8_t group[16])
{
	struct pkt_message m = { .head = pkt_head(type) };

	memcpy(m.u.group.mgid, group, 16);
	return group[0] == 0xff ? fabric_tell(fabric_of(l), &m) : -EINVAL;
}

static int join(struct link *l, const uint8_t group[16], uint32_t ifindex)
{
	return tell_group(l, PKT_JOIN, group);
}

static void leave(struct link *l, const uint8_t group[16], uint32_t ifindex)
{
	tell_group(l, PKT_LEAVE, group);
}

/* Returns the claim of a service, at this address or (NULL) at any other. */
static struct fabric_claim *find_claim(struct fabric_link *n, const uint8_t *addr, uint64_t service)
{
	struct fabric_claim *c;

	ut_list_each(c, &n->claims, node)
		if (c->service == service && (!addr || !memcmp(c->addr, addr, 16)))
			return c;
	return NULL;
}

static int claim(struct link *l, const uint8_t addr[16], uint64_t service)
{
	struct fabric_link *n = fabric_of(l);
	struct fabric_claim *c;
	int r;

	if (n->host.slot == HOST_NO_SLOT)
		return -EADDRNOTAVAIL;
	if (find_claim(n, addr, service))
		return -EADDRINUSE;
	c = ut_zalloc(sizeof(*c));
	if (!c)
		return -ENOMEM;
	r = find_claim(n, NULL, service) ? 0 : host_service_claim(&n->host, n->at.addr, service);
	if (r < 0) {
		free(c);
		return r;
	}
	memcpy(c->addr, addr, 16);
	c->service = service;
	ut_list_add_tail(&n->claims, &c->node);
	return 0;
}

static void unclaim(struct link *l, const uint8_t addr[16], uint64_t service)
{
	struct fabric_link *n = fabric_of(l);
	struct fabric_claim *c = find_claim(n, addr, service);

	if (!c)
		return;
	ut_list_del(&c->node);
	free(c);
	if (!find_claim(n, NULL, service))
		host_service_unclaim(&n->host, n->at.addr, service);
}

static void entrust(struct link *l, int fd)
{
	host_entrust(&fabric_of(l)->host, fd);
}

static const void *dead_peer(struct link *l, uint8_t ret_addr[16], size_t *ret_len)
{
	return host_dead_peer(&fabric_of(l)->host, ret_addr, ret_len);
}

static int descriptor(struct link *l)
{
	return fabric_of(l)->host.epfd;
}

/* The descriptor always shows what has come: the set is level-triggered. */
static void sleeps(struct link *l, bool on, bool look)
{
	struct fabric_link *n = fabric_of(l);

	atomic_store_explicit(&n->sleeping, on, memory_order_relaxed);
	if (n->chan)
		shm_channel_sleep(n->chan, on, look);
}

static void close_link(struct link *l)
{
	struct fabric_link *n = fabric_of(l);
	struct ut_list *c;

	if (n->chan)
		shm_channel_close(n->chan);
	n->chan = NULL;
	while ((c = ut_list_pop(&n->claims)))
		free(ut_container(c, struct fabric_claim, node));
	if (n->host.slot != HOST_NO_SLOT)
		leave_host(n);
	host_services_drop(&n->host);
	host_peer_watches_drop(&n->host, NULL);
	host_unwatch(&n->host, &n->timer);
	host_unwatch(&n->host, &n->data);
	fabric_routes_close(&n->routes);
	host_fini(&n->host);
	shm_seg_unmap(n->page, sizeof(struct pkt_page));
	fabric_tally_free(&n->tally);
	ut_stage_fini(&n->stage);
	free(n);
}

static const struct link_ops ops = {
	.send = fabric_send,
	.send_after = link_default_send_after,
	.source_port = no_port,
	.recv = fabric_recv,
	.take = link_default_take,
	.sender = sender,
	.error = no_error,
	.add_addr = add_addr,
	.del_addr = del_addr,
	.join = join,
	.leave = leave,
	.claim = claim,
	.unclaim = unclaim,
	.pass_on = fabric_pass_on,
	.entrust = entrust,
	.dead_peer = dead_peer,
	.ends = fabric_ends,
	.count = count,
	.fd = descriptor,
	.sleep = sleeps,
	.attend = link_default_attend,
	.forked = link_default_forked,
	.close = close_link,
};

/* --- the host --- */

static void set_timer(struct fabric_link *n)
{
	uint64_t at = host_outbox_deadline(&n->host), records = host_records_deadline(&n->at);
	struct itimerspec t = { 0 };

	at = records < at ? records : at;
	if (at != UT_NEVER) {
		t.it_value.tv_sec = (time_t)(at / UT_S);
		t.it_value.tv_nsec = (long)(at % UT_S);
	}
	timerfd_settime(n->timer.fd, TFD_TIMER_ABSTIME, &t, NULL);
}

static void timer_fired(struct host *h, struct host_port *p, uint32_t events)
{
	struct fabric_link *n = ut_container(h, struct fabric_link, host);

	if (h->outbox_used)
		host_outbox_flush(h);
	host_records_settle(h, &n->at, ut_now());
	set_timer(n);
}

/* recv() reads it. */
static void data_came(struct host *h, struct host_port *p, uint32_t events)
{
}

static const struct host_port_kind timer_port = { .events = EPOLLIN, .ready = timer_fired };
static const struct host_port_kind data_port = { .events = EPOLLIN, .ready = data_came };

static unsigned members(struct host_addr *a, uint16_t ret[HOST_SLOTS])
{
	struct fabric_link *n = ut_container(a, struct fabric_link, at);
	uint8_t claimed[256] = { 0 };
	unsigned count = 0;

	host_slot_claims(&n->host, a, claimed);
	for (unsigned i = 0; i < HOST_SLOTS; i++)
		if (claimed[i])
			ret[count++] = (uint16_t)i;
	return count;
}

static void member_died(struct host_addr *a)
{
	struct fabric_link *n = ut_container(a, struct fabric_link, at);

	host_records_news(&n->host, a);
	set_timer(n);
}

/* There is one address, so the slot never changes after it was taken. */
static void moved(struct host_addr *a)
{
	struct fabric_link *n = ut_container(a, struct fabric_link, at);

	set_slot(n);
	tell_slot(n);
}

static void deadline(struct host *h)
{
	set_timer(ut_container(h, struct fabric_link, host));
}

static int socket_of(const struct host *h, enum host_socket_kind kind, uint32_t *ret_uid)
{
	const struct fabric_link *n = ut_container(h, struct fabric_link, host);

	if (!n->is_elsewhere)
		return host_socket_here(h, kind, ret_uid);
	if (n->gone)
		return -ENETDOWN;
	return fabric_socket(n->fabric, kind == HOST_SOCKET_OWNERS ? PKT_SOCKET_OWNERS : PKT_SOCKET_MAIL, ret_uid);
}

static const struct host_user user = {
	.members = members, .member_died = member_died, .moved = moved, .deadline = deadline, .socket = socket_of,
};

void fabric_told(struct fabric_link *n, const struct pkt_message *m)
{
	if (m->head.type != PKT_MEMBERS || n->host.slot == HOST_NO_SLOT)
		return;
	host_records_news(&n->host, &n->at);
	set_timer(n);
}

/* --- opening --- */

static void set_address(struct fabric_link *n, const struct pkt_welcome *w)
{
	uint8_t addr[16];

	/* Not the form of an IPv4 address or a group, whatever the instance is. */
	for (int i = 0; i < 8; i++) {
		addr[i] = i ? (uint8_t)(w->instance >> (8 * i)) : 0xfd;
		addr[8 + i] = (uint8_t)(w->guid >> (56 - 8 * i));
	}
	host_addr_init(&n->at, addr, 0);
	n->host.port = (uint16_t)(w->instance | 1);
}

static void init_base(struct fabric_link *n)
{
	n->base.ops = &ops;
	n->base.rx_stage = &n->stage;
	n->base.train_packets = PKT_TRAIN_PACKETS;
	/* Each packet gets its headers in the message. */
	n->base.train_bytes = PKT_TRAIN_BYTES - PKT_TRAIN_PACKETS * 48u;
	n->base.rx_window = RX_WINDOW;
	n->base.spare_off = FABRIC_RX_SLOTS * FABRIC_RX_SLOT_BYTES;
	n->base.spare_len = FABRIC_SPARE_BYTES;
	n->stage = (struct ut_stage)UT_STAGE_INIT;
	ut_list_init(&n->claims);
	ut_list_init(&n->at.node);
	n->data = (struct host_port){ &data_port, -1 };
	n->timer = (struct host_port){ &timer_port, -1 };
}

/* A failure leaves the rest to close_link(). */
static int open_parts(struct fabric_link *n)
{
	int r = ut_stage_init(&n->stage, n->base.spare_off + n->base.spare_len);

	if (r < 0)
		return r;
	n->timer.fd = ut_timerfd();
	if (n->timer.fd < 0)
		return -errno;
	r = host_watch(&n->host, &n->timer);
	return r < 0 ? r : host_watch(&n->host, &n->data);
}

static int attach(struct fabric_link *n, const struct fabric_place *where, char why[FABRIC_WHY_MAX])
{
	struct pkt_welcome w;
	int tally = fabric_tally_make(&n->tally), r = fabric_greet(where, tally, &w, &n->page, why);

	ut_close_fd(&tally);
	if (r < 0)
		return r;
	n->data.fd = r;
	set_address(n, &w);
	snprintf(n->fabric, sizeof(n->fabric), "%s", where->fabric);
	n->is_elsewhere = w.net != ut_net_ns();
	r = fabric_routes_open(&n->routes, &n->host, where, why);
	if (r < 0)
		return r;
	r = open_parts(n);
	if (r < 0)
		snprintf(why, FABRIC_WHY_MAX, "memory or descriptors are used up (%s): node %s of fabric %s has no adapter "
			 "here; raise the limits", strerror(-r), where->node, where->fabric);
	return r;
}

int fabric_open(const struct fabric_place *where, struct link **ret, char why[FABRIC_WHY_MAX])
{
	struct fabric_link *n = ut_zalloc(sizeof(*n));
	int r;

	*why = 0;
	if (!n)
		return -ENOMEM;
	init_base(n);
	r = host_init(&n->host, &user, 0);
	host_handle(&n->host, HOST_MSG_RECORDS, host_records_take, &n->host);
	set_slot(n);
	if (r == 0)
		r = attach(n, where, why);
	if (r < 0) {
		close_link(&n->base);
		return r;
	}
	*ret = &n->base;
	return 0;
}

void fabric_use_channel(struct link *l, struct shm_channel *c)
{
	fabric_of(l)->chan = c;
	l->spare_len = 0; /* taken: local.c */
}

struct host *fabric_host(struct link *l)
{
	return &fabric_of(l)->host;
}

const uint8_t *fabric_address(struct link *l)
{
	return fabric_of(l)->at.addr;
}

void fabric_stats(struct link *l, struct fabric_stats *ret)
{
	*ret = fabric_of(l)->stats;
}
