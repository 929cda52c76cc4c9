/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The letters of near.h: how two processes agree on a way. */
#include "host/shm/peer.h"

#include "host/shm/segment.h"
#include "link/sys.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/faulty.h"
#include "util/heap.h"
#include "util/log.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_MOST 65536u /* a page, whatever its size is here */
#define PAGE_SEG_MOST (sizeof(struct shm_page) + PAGE_MOST)

enum { HELLO_MESSAGES = 1, HELLO_FETCHES = 2 };

struct hello {
	uint64_t token;
	uint8_t src[16], dst[16];
	uint64_t probe; /* HELLO, READY: where the token lies in the writer's memory. LEND: an id */
	uint32_t can, pad;
};

/* The addresses of a pair may differ: the mailbox that is asked is named by the receiver's. */
static int message(struct udp_link *u, const uint8_t to[16], uint32_t scope, unsigned slot,
		  enum udp_mail_type type, const struct hello *h, const int *fds, int n)
{
	struct udp_local *lo = udp_local_find(u, h->src);
	struct udp_dest dest = { .slot = (uint16_t)slot, .addr = to, .scope = scope };
	struct udp_mail m = { .type = (uint8_t)type };

	if (!lo)
		return -EADDRNOTAVAIL;
	return n ? udp_mail_give(u, lo, dest, &m, h, sizeof(*h), fds, n)
		 : udp_mail_send(u, lo, dest, &m, h, sizeof(*h));
}

void shm_handshake_ask(struct udp_link *u, struct shm_peer_tx *t, const struct ut_flow *f)
{
	struct hello h = { 0 };
	int r;

	t->token = h.token = ut_rng_u64(&u->rng);
	h.probe = (uintptr_t)&t->token;
	h.can = u->chan->messages ? HELLO_MESSAGES : 0;
	memcpy(h.src, f->src, 16);
	memcpy(h.dst, f->dst, 16);
	memcpy(t->local_addr, f->src, 16);
	t->scope = f->scope;
	r = message(u, t->addr, f->scope, t->slot, UDP_MAIL_SHM_HELLO, &h, NULL, 0);
	t->since = ut_now();
	t->state = SHM_PEER_ASKED;
	if (r < 0)
		shm_peer_tx_far(u, t, r != -EAGAIN);
}

/* --- letters --- */

static int keep(int fd)
{
	return (int)LINK_SYS(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 3);
}

/*
 * What a peer sees becoming readable when this process ends: its pidfd. Where there is none
 * (kernels before 5.3, valgrind) the end of a pipe that only this process can write into; both
 * ends are in the epoll set so that a child closes them.
 */
static int self_life(struct udp_link *u)
{
	struct udp_port *life = u->chan->life;
	int fd = udp_self_pidfd(), ends[2];

	if (fd != -ENOSYS)
		return fd;
	if (life[0].fd < 0) {
		if (ut_refused(EMFILE) || pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
			return -errno;
		for (int i = 0; i < 2; i++) {
			life[i].fd = ends[i];
			udp_watch(u, &life[i]);
		}
	}
	return keep(life[0].fd);
}

/* There will be acknowledgements: the way back is opened before anybody waits for it. */
static void ask_back(struct udp_link *u, const struct udp_local *lo, const struct hello *h,
		     unsigned slot)
{
	struct ut_flow back = { .scope = lo->scope };

	if (shm_peer_find(u, h->src, slot))
		return;
	memcpy(back.src, lo->addr, 16);
	memcpy(back.dst, h->src, 16);
	shm_peer_tx_new(u, &back, slot);
}

/*
 * Who asked and left without opening its ring is not watched; returns how many are left. But its
 * message may lie in the mailbox behind the one that is being read, while the machine stood still.
 */
static unsigned drop_late(struct udp_link *u)
{
	uint64_t now = ut_now(), late = u->chan->n_rx < SHM_PEER_RX_MAX / 2 ? SHM_PEER_LATE : SHM_PEER_RETRY;
	struct shm_peer_rx *r, *s;

	ut_list_each_safe(r, s, &u->chan->rx, node)
		if (!r->ring.ring && now - r->since > late)
			shm_peer_rx_drop(u, r);
	return u->chan->n_rx;
}

/* What the asker may do, and whether we can reach into it. */
static uint32_t what_we_can(struct udp_link *u, struct shm_peer_rx *r, const struct hello *h)
{
	if (!u->chan->messages || !(h->can & HELLO_MESSAGES))
		return 0;
	r->probe = h->probe;
	if (u->chan->no_fetches || u->fds_pid <= 0 ||
	    !shm_access_probe(u->fds_pid, h->probe, h->token))
		return HELLO_MESSAGES;
	r->pid = u->fds_pid;
	return HELLO_MESSAGES | HELLO_FETCHES;
}

/* At once, so that nobody waits for what will not come. */
static void refuse(struct udp_link *u, const struct udp_local *lo, const struct udp_mail *m,
		   const struct hello *h)
{
	struct hello back = { .token = h->token };

	memcpy(back.src, lo->addr, 16);
	memcpy(back.dst, h->src, 16);
	message(u, h->src, lo->scope, m->slot, UDP_MAIL_SHM_READY, &back, NULL, 0);
}

static void answer_hello(struct udp_link *u, struct udp_local *lo, const struct udp_mail *m,
			 const struct hello *h)
{
	struct shm_peer_rx *r = drop_late(u) < SHM_PEER_RX_MAX ? ut_zalloc(sizeof(*r)) : NULL;
	struct hello back = { .token = h->token };
	int fds[UDP_MAIL_FDS] = { -1, u->chan->page_fd, u->chan->wake.fd, -1, -1 };
	void *ear = NULL;

	if (!r) {
		refuse(u, lo, m, h);
		return;
	}
	fds[0] = shm_seg_make("dapple-ear", sizeof(struct shm_consumer), &ear);
	fds[3] = self_life(u);
	*r = (struct shm_peer_rx){ .token = h->token, .since = ut_now(), .ring.consumer = ear };
	memcpy(r->addr, h->src, 16);
	memcpy(r->local_addr, lo->addr, 16);
	r->slot = m->slot;
	back.can = what_we_can(u, r, h);
	udp_port_none(&r->peer, UDP_PEER);
	ut_list_add_tail(&u->chan->rx, &r->node);
	u->chan->n_rx++;
	if (ear)
		r->ring.consumer->magic = SHM_CONSUMER_MAGIC;
	memcpy(back.src, lo->addr, 16);
	memcpy(back.dst, h->src, 16);
	if (back.can & HELLO_MESSAGES)
		fds[4] = shm_access_memory(u);
	back.probe = (uintptr_t)&r->token;
	if (fds[0] < 0 || fds[3] < 0 ||
	    message(u, h->src, lo->scope, m->slot, UDP_MAIL_SHM_READY, &back, fds,
		   fds[4] < 0 ? 4 : 5) < 0) {
		shm_peer_rx_drop(u, r);
		refuse(u, lo, m, h);
	}
	link_sys_close(&fds[0]);
	link_sys_close(&fds[3]);
	link_sys_close(&fds[4]);
	ask_back(u, lo, h, m->slot);
}

int shm_handshake_export(struct udp_link *u, const struct shm_peer_rx *r, uint32_t id, int fd)
{
	struct udp_local *lo = udp_local_find(u, r->local_addr);
	struct hello h = { .token = r->token, .probe = id };

	memcpy(h.src, r->local_addr, 16);
	memcpy(h.dst, r->addr, 16);
	return message(u, r->addr, lo ? lo->scope : 0, r->slot, UDP_MAIL_SHM_EXPORT, &h, &fd, 1);
}

static void take_export(struct udp_link *u, const struct udp_mail *m, const struct hello *h, int fd)
{
	struct shm_peer_tx *t = shm_peer_find(u, h->src, m->slot);

	if (t && t->state == SHM_PEER_OPEN && t->token == h->token && t->memory >= 0)
		shm_access_attach(t, (uint32_t)h->probe, fd);
}

static const void *take_page(int fd, uint32_t magic, size_t least, size_t most)
{
	size_t size;
	const uint32_t *page = shm_seg_map(fd, least, most, &size);

	if (!page || *page == magic)
		return page;
	shm_seg_unmap(page, size);
	return NULL;
}

static int open_ring(struct udp_link *u, struct shm_peer_tx *t)
{
	struct hello h = { .token = t->token };
	int fds[3] = { -1, -1, u->chan->page_fd }, r = -ENOMEM;
	void *ring = NULL;

	fds[0] = shm_seg_make("dapple-ring", SHM_RING_SEG, &ring);
	fds[1] = self_life(u);
	t->ring.ring = ring;
	memcpy(h.src, t->local_addr, 16);
	memcpy(h.dst, t->addr, 16);
	if (fds[0] >= 0 && fds[1] >= 0) {
		shm_ring_init(t->ring.ring);
		r = message(u, t->addr, t->scope, t->slot, UDP_MAIL_SHM_OPEN, &h, fds, 3);
	}
	link_sys_close(&fds[0]);
	link_sys_close(&fds[1]);
	return r;
}

static void take_ready(struct udp_link *u, const struct udp_mail *m, const struct hello *h,
		       const int *fds)
{
	struct shm_peer_tx *t = shm_peer_find(u, h->src, m->slot);

	if (!t || t->state != SHM_PEER_ASKED || t->token != h->token)
		return;
	t->ring.consumer = take_page(fds[0], SHM_CONSUMER_MAGIC, sizeof(struct shm_consumer), PAGE_MOST);
	t->ring.page = take_page(fds[1], SHM_SLEEP_MAGIC, sizeof(struct shm_page), PAGE_SEG_MOST);
	t->wake.fd = keep(fds[2]);
	t->peer.fd = keep(fds[3]);
	t->peer.local_tx = t;
	if (t->ring.consumer && t->ring.page && t->wake.fd >= 0 && t->peer.fd >= 0 &&
	    udp_watch(u, &t->wake) == 0 && udp_watch(u, &t->peer) == 0 && open_ring(u, t) == 0) {
		t->state = SHM_PEER_OPEN;
		t->since = 0;
		t->opened = ut_now();
		t->messages = u->chan->messages && (h->can & HELLO_MESSAGES);
		t->fetches = h->can & HELLO_FETCHES;
		if (fds[4] >= 0 && t->messages && shm_access_memory_is(fds[4], h->probe, t->token))
			t->memory = keep(fds[4]);
		if (t->memory >= 0 && !u->chan->no_fetches && u->fds_pid > 0 &&
		    shm_access_probe(u->fds_pid, h->probe, t->token))
			t->pid = u->fds_pid;
		t->probe = h->probe;
		ut_debug("slot %u of this host is reached through shared memory", t->slot);
	} else {
		shm_peer_tx_far(u, t, false);
	}
}

static void take_refusal(struct udp_link *u, const struct udp_mail *m, const struct hello *h)
{
	struct shm_peer_tx *t = shm_peer_find(u, h->src, m->slot);

	if (t && t->state == SHM_PEER_ASKED && t->token == h->token)
		shm_peer_tx_far(u, t, false);
}

static void take_open(struct udp_link *u, const struct udp_mail *m, const struct hello *h,
		      const int *fds)
{
	struct shm_peer_rx *r;

	ut_list_each(r, &u->chan->rx, node)
		if (r->token == h->token && r->slot == m->slot && !r->ring.ring)
			break;
	if (&r->node == &u->chan->rx)
		return;
	r->ring.ring = shm_seg_map(fds[0], SHM_RING_SEG, SHM_RING_SEG_MOST, &r->size);
	r->peer.fd = keep(fds[1]);
	r->peer.local_rx = r;
	r->page = take_page(fds[2], SHM_SLEEP_MAGIC, sizeof(struct shm_page), PAGE_SEG_MOST);
	if (!r->ring.ring || !r->page || !shm_ring_valid(r->ring.ring, r->size) || r->peer.fd < 0 ||
	    udp_watch(u, &r->peer) < 0)
		shm_peer_rx_drop(u, r);
}

void shm_handshake_message(struct udp_link *u, struct udp_local *lo, const struct udp_mail *m,
		   const uint8_t *body, size_t len)
{
	const int *fds = u->fds;
	struct hello h;
	int n = 0;

	while (n < UDP_MAIL_FDS && fds[n] >= 0)
		n++;

	if (len != sizeof(h))
		return;
	memcpy(&h, body, sizeof(h));
	if (!u->chan) {
		if (m->type == UDP_MAIL_SHM_HELLO)
			refuse(u, lo, m, &h);
		return;
	}
	if (m->type == UDP_MAIL_SHM_HELLO && n == 0)
		answer_hello(u, lo, m, &h);
	else if (m->type == UDP_MAIL_SHM_READY && n == 0)
		take_refusal(u, m, &h);
	else if (m->type == UDP_MAIL_SHM_READY && n >= 4)
		take_ready(u, m, &h, fds);
	else if (m->type == UDP_MAIL_SHM_OPEN && n == 3)
		take_open(u, m, &h, fds);
	else if (m->type == UDP_MAIL_SHM_EXPORT && n == 1)
		take_export(u, m, &h, fds[0]);
}
