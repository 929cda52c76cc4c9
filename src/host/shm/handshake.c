/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "host/shm/handshake.h"

#include "host/layout.h"
#include "host/liveness.h"
#include "host/mailbox.h"
#include "host/shm/access.h"
#include "host/shm/channel.h"
#include "host/shm/segment.h"
#include "host/slot.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/fault_calls.h"
#include "util/heap.h"
#include "util/log.h"
#include "util/rights.h"
#include "util/syscall.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { HELLO_MESSAGES = 1 };

/* Token and addresses come first in every layout, and a READY without descriptors refuses in every layout. */
struct hello_base {
	uint64_t token;
	uint8_t src[16], dst[16];
};

struct hello {
	uint64_t token;
	uint8_t src[16], dst[16];
	uint64_t probe; /* READY: where the token lies in the writer's memory. EXPORT: an id */
	uint32_t can, pad;
};

/* The addresses of a pair may differ: the mailbox is named by the receiver's. */
static int message(struct host *host, const uint8_t to[16], uint32_t scope, unsigned slot,
		  enum host_message_type type, const struct hello *h, const int *fds, int n)
{
	struct host_addr *a = host_addr_find(host, h->src);
	struct host_dest dest = { .slot = (uint16_t)slot, .addr = to, .scope = scope };
	struct host_message m = { .type = (uint8_t)type };

	if (!a)
		return -EADDRNOTAVAIL;
	return n ? host_send_fds(host, a, dest, &m, h, sizeof(*h), fds, n)
		 : host_send(host, a, dest, &m, h, sizeof(*h));
}

void shm_handshake_ask(struct shm_chan *ch, struct shm_peer_tx *t, const struct ut_flow *f)
{
	struct hello h = { 0 };
	int r;

	t->token = h.token = ut_rng_u64(&ch->host->rng);
	h.can = ch->messages ? HELLO_MESSAGES : 0;
	memcpy(h.src, f->src, 16);
	memcpy(h.dst, f->dst, 16);
	memcpy(t->local_addr, f->src, 16);
	t->scope = f->scope;
	r = message(ch->host, t->addr, f->scope, t->slot, HOST_MSG_SHM_HELLO, &h, NULL, 0);
	t->since = ut_now();
	t->state = SHM_PEER_ASKED;
	ch->base.asked_self |= t->self;
	if (r < 0)
		shm_peer_tx_to_wire(ch, t, r != -EAGAIN);
}

void shm_handshake_await(struct shm_chan *ch, const struct ut_flow *f)
{
	struct host_addr *a = host_addr_find(ch->host, f->src);

	if (a)
		a->mail_ready = true;
}

/* --- messages --- */

static int keep(int fd)
{
	return (int)UT_SYS(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3);
}

/*
 * Returns a descriptor that becomes readable for a peer when this process ends: its pidfd. Where there are none
 * (kernels before 5.3, valgrind), the end of a pipe that only this process can write into; both ends are in the
 * epoll set so that a child closes them.
 */
static int self_life(struct shm_chan *ch)
{
	struct host_port *life = ch->life;
	int fd = host_self_pidfd(), ends[2];

	if (fd != -ENOSYS)
		return fd;
	if (life[0].fd < 0) {
		if (ut_fault_errno(EMFILE) || pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
			return -errno;
		for (int i = 0; i < 2; i++) {
			life[i].fd = ends[i];
			host_watch(ch->host, &life[i]);
		}
	}
	return keep(life[0].fd);
}

/* Acknowledgements will follow: the ring back is opened before it is waited for. */
static void ask_back(struct shm_chan *ch, const struct host_addr *a, const struct hello *h,
		     unsigned slot)
{
	struct ut_flow back = { .scope = a->scope };

	if (shm_peer_find(ch, h->src, slot))
		return;
	memcpy(back.src, a->addr, 16);
	memcpy(back.dst, h->src, 16);
	shm_peer_tx_new(ch, &back, slot);
}

/*
 * Drops peers that have asked and sent no OPEN for long, since nothing tells of their death. Returns how many
 * peers are left. The limit is generous: OPEN may lie in the mailbox behind the message that is being read, on a
 * machine that was suspended.
 */
static unsigned drop_late(struct shm_chan *ch)
{
	uint64_t now = ut_now(), late = ch->n_rx < SHM_PEER_RX_MAX / 2 ? SHM_PEER_LATE : SHM_PEER_RETRY;
	struct shm_peer_rx *r, *s;

	ut_list_each_safe(r, s, &ch->rx, node)
		if (!r->ring.ring && now - r->since > late)
			shm_peer_rx_drop(ch, r);
	return ch->n_rx;
}

/* At once, so that the peer does not wait for its timeout. */
static void refuse(struct host *host, const struct host_addr *a, const struct host_message *m,
		   const struct hello *h)
{
	struct hello back = { .token = h->token };

	memcpy(back.src, a->addr, 16);
	memcpy(back.dst, h->src, 16);
	message(host, h->src, a->scope, m->slot, HOST_MSG_SHM_READY, &back, NULL, 0);
}

static void respond(struct shm_chan *ch, struct host_addr *a, const struct host_message *m,
			 const struct hello *h)
{
	struct shm_peer_rx *r = drop_late(ch) < SHM_PEER_RX_MAX ? ut_zalloc(sizeof(*r)) : NULL;
	struct hello back = { .token = h->token };
	int fds[HOST_FDS] = { -1, ch->page_fd, ch->wake.fd, -1, -1 };
	void *consumer = NULL;

	if (!r) {
		refuse(ch->host, a, m, h);
		return;
	}
	fds[0] = shm_seg_make("dapple-consumer", sizeof(struct shm_consumer), &consumer);
	fds[3] = self_life(ch);
	*r = (struct shm_peer_rx){ .token = h->token, .since = ut_now(), .ring.consumer = consumer };
	memcpy(r->addr, h->src, 16);
	memcpy(r->local_addr, a->addr, 16);
	r->slot = m->slot;
	back.can = ch->messages && (h->can & HELLO_MESSAGES) ? HELLO_MESSAGES : 0;
	r->ch = ch;
	r->peer = (struct host_port){ &shm_rx_peer_port, -1 };
	ut_list_add_tail(&ch->rx, &r->node);
	ch->n_rx++;
	if (consumer)
		*r->ring.consumer = (struct shm_consumer){ .magic = SHM_CONSUMER_MAGIC, .layout = host_layout };
	memcpy(back.src, a->addr, 16);
	memcpy(back.dst, h->src, 16);
	if (back.can & HELLO_MESSAGES)
		fds[4] = shm_access_memory(ch);
	back.probe = (uintptr_t)&r->token;
	if (fds[0] < 0 || fds[3] < 0 ||
	    message(ch->host, h->src, a->scope, m->slot, HOST_MSG_SHM_READY, &back, fds,
		   fds[4] < 0 ? 4 : 5) < 0) {
		shm_peer_rx_drop(ch, r);
		refuse(ch->host, a, m, h);
	}
	ut_close_fd(&fds[0]);
	ut_close_fd(&fds[3]);
	ut_close_fd(&fds[4]);
	ask_back(ch, a, h, m->slot);
}

int shm_handshake_export(struct shm_chan *ch, const struct shm_peer_rx *r, uint32_t id, int fd)
{
	struct host_addr *a = host_addr_find(ch->host, r->local_addr);
	struct hello h = { .token = r->token, .probe = id };

	memcpy(h.src, r->local_addr, 16);
	memcpy(h.dst, r->addr, 16);
	return message(ch->host, r->addr, a ? a->scope : 0, r->slot, HOST_MSG_SHM_EXPORT, &h, &fd, 1);
}

static void take_export(struct shm_chan *ch, const struct host_message *m, const struct hello *h, int fd)
{
	struct shm_peer_tx *t = shm_peer_find(ch, h->src, m->slot);

	if (t && t->state == SHM_PEER_OPEN && t->token == h->token && t->memory >= 0)
		shm_access_attach(t, (uint32_t)h->probe, fd);
}

/* A longer segment is refused: only `size` bytes are unmapped later. */
static const void *take_page(int fd, uint32_t magic, size_t size)
{
	const uint32_t *page = shm_seg_map_whole(fd, size);

	if (!page || (page[0] == magic && page[1] == host_layout))
		return page;
	shm_seg_unmap(page, size);
	return NULL;
}

static int open_ring(struct shm_chan *ch, struct shm_peer_tx *t)
{
	struct hello h = { .token = t->token };
	int fds[3] = { -1, -1, ch->page_fd }, r = -ENOMEM;
	void *ring = NULL;

	fds[0] = shm_seg_make("dapple-ring", SHM_RING_SEG, &ring);
	fds[1] = self_life(ch);
	t->ring.ring = ring;
	memcpy(h.src, t->local_addr, 16);
	memcpy(h.dst, t->addr, 16);
	if (fds[0] >= 0 && fds[1] >= 0) {
		shm_ring_init(t->ring.ring);
		r = message(ch->host, t->addr, t->scope, t->slot, HOST_MSG_SHM_OPEN, &h, fds, 3);
	}
	ut_close_fd(&fds[0]);
	ut_close_fd(&fds[1]);
	return r;
}

static void take_ready(struct shm_chan *ch, const struct host_message *m, const struct hello *h,
		       const int *fds)
{
	struct shm_peer_tx *t = shm_peer_find(ch, h->src, m->slot);

	if (!t || t->state != SHM_PEER_ASKED || t->token != h->token)
		return;
	t->ring.consumer = take_page(fds[0], SHM_CONSUMER_MAGIC, sizeof(struct shm_consumer));
	t->ring.page = take_page(fds[1], SHM_SLEEP_MAGIC, sizeof(struct shm_page));
	t->ring.fenced_by_peer = ut_barrier_has_host();
	t->wake.fd = ut_rights_may_wake(fds[2]) ? keep(fds[2]) : -1;
	t->peer.fd = keep(fds[3]);
	if (t->ring.consumer && t->ring.page && t->wake.fd >= 0 && t->peer.fd >= 0 &&
	    host_watch(ch->host, &t->wake) == 0 && host_watch(ch->host, &t->peer) == 0 && open_ring(ch, t) == 0) {
		t->state = SHM_PEER_OPEN;
		shm_channel_end_lanes(&ch->base); /* inlets are found anew, and with them the messages that the peer named before this ring */
		t->since = 0;
		t->opened = ut_now();
		t->both = false;
		t->messages = ch->messages && (h->can & HELLO_MESSAGES);
		if (fds[4] >= 0 && t->messages && shm_access_memory_is(fds[4], h->probe, t->token))
			t->memory = keep(fds[4]);
		if (t->memory >= 0 && ch->host->fds_pid > 0 &&
		    shm_access_probe(ch->host->fds_pid, h->probe, t->token))
			t->pid = ch->host->fds_pid;
		t->probe = h->probe;
		ut_debug("slot %u of this host is reached through shared memory", t->slot);
	} else {
		shm_peer_tx_to_wire(ch, t, false);
	}
}

static void take_refusal(struct shm_chan *ch, const struct host_message *m, const struct hello *h)
{
	struct shm_peer_tx *t = shm_peer_find(ch, h->src, m->slot);

	if (t && t->state == SHM_PEER_ASKED && t->token == h->token)
		shm_peer_tx_to_wire(ch, t, false);
}

static void take_open(struct shm_chan *ch, const struct host_message *m, const struct hello *h,
		      const int *fds)
{
	struct shm_peer_rx *r;

	ut_list_each(r, &ch->rx, node)
		if (r->token == h->token && r->slot == m->slot && !r->ring.ring)
			break;
	if (&r->node == &ch->rx)
		return;
	r->ring.ring = shm_seg_map(fds[0], SHM_RING_SEG, SHM_RING_SEG_MOST, &r->size);
	r->peer.fd = keep(fds[1]);
	r->page = take_page(fds[2], SHM_SLEEP_MAGIC, sizeof(struct shm_page));
	if (!r->ring.ring || !r->page || !shm_ring_valid(r->ring.ring, r->size) || r->peer.fd < 0 ||
	    host_watch(ch->host, &r->peer) < 0)
		shm_peer_rx_drop(ch, r);
	else
		shm_channel_end_lanes(&ch->base);
}

/* --- another layout --- */

static void say_unequal(const struct host_addr *a, const struct host_message *m)
{
	char text[HOST_ADDR_TEXT], who[HOST_ADDR_TEXT + 32];

	host_addr_text(a->addr, a->scope, text);
	snprintf(who, sizeof(who), "the process of slot %u at %s", m->slot, text);
	host_layout_say(who, m->layout, "UDP");
}

/* The peer, or this end, learns at once that there is no shared memory for the two. */
static void take_unequal(struct shm_chan *ch, struct host_addr *a, const struct host_message *m, const uint8_t *body,
			 size_t len)
{
	struct hello h = { 0 };
	struct shm_peer_tx *t;

	if (len < sizeof(struct hello_base))
		return;
	memcpy(&h, body, sizeof(struct hello_base));
	if (m->type == HOST_MSG_SHM_HELLO) {
		refuse(ch->host, a, m, &h);
		say_unequal(a, m);
	} else if (m->type == HOST_MSG_SHM_READY) {
		t = shm_peer_find(ch, h.src, m->slot);
		if (!t || t->state != SHM_PEER_ASKED || t->token != h.token)
			return;
		shm_peer_tx_to_wire(ch, t, false);
		say_unequal(a, m);
	}
}

static void take(void *arg, struct host_addr *a, const struct host_message *m, const uint8_t *body,
		 size_t len)
{
	struct shm_chan *ch = arg;
	const int *fds = ch->host->fds;
	struct hello h;
	int n = 0;

	if (m->layout != host_layout) {
		take_unequal(ch, a, m, body, len);
		return;
	}
	while (n < HOST_FDS && fds[n] >= 0)
		n++;
	if (len != sizeof(h))
		return;
	memcpy(&h, body, sizeof(h));
	if (m->type == HOST_MSG_SHM_HELLO && n == 0)
		respond(ch, a, m, &h);
	else if (m->type == HOST_MSG_SHM_READY && n == 0)
		take_refusal(ch, m, &h);
	else if (m->type == HOST_MSG_SHM_READY && n >= 4)
		take_ready(ch, m, &h, fds);
	else if (m->type == HOST_MSG_SHM_OPEN && n == 3)
		take_open(ch, m, &h, fds);
	else if (m->type == HOST_MSG_SHM_EXPORT && n == 1)
		take_export(ch, m, &h, fds[0]);
}

void shm_handshake_handle(struct shm_chan *ch)
{
	for (int type = HOST_MSG_SHM_HELLO; type <= HOST_MSG_SHM_EXPORT; type++)
		host_handle(ch->host, (enum host_message_type)type, take, ch);
}

static void take_and_refuse(void *arg, struct host_addr *a, const struct host_message *m,
			 const uint8_t *body, size_t len)
{
	struct hello h = { 0 };

	if (m->type != HOST_MSG_SHM_HELLO || len < sizeof(struct hello_base))
		return;
	memcpy(&h, body, sizeof(struct hello_base));
	refuse(arg, a, m, &h);
}

void shm_handshake_refuse_all(struct host *h)
{
	for (int type = HOST_MSG_SHM_HELLO; type <= HOST_MSG_SHM_EXPORT; type++)
		host_handle(h, (enum host_message_type)type, take_and_refuse, h);
}
