/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/udp/near.h"

#include "link/near.h"
#include "link/shm/seg.h"
#include "link/sys.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/faulty.h"
#include "util/heap.h"
#include "util/log.h"

#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/eventfd.h>

#define DOZE_MAGIC 0x444c445bu
#define EAR_MAGIC 0x444c4541u
#define PAGE_MOST 65536u /* a page, whatever its size is here */
#define DOZE_MOST (sizeof(struct shm_doze) + PAGE_MOST)
#define NEAR_TX_MAX 1024
#define NEAR_RX_MAX 1024

enum { HELLO_NOTES = 1, HELLO_PULLS = 2 };

struct hello {
	uint64_t token;
	uint8_t src[16], dst[16];
	uint64_t probe; /* HELLO, READY: where the token lies in the writer's memory. LEND: an id */
	uint32_t can, pad;
};

static void no_port(struct udp_port *p, enum udp_kind kind)
{
	*p = (struct udp_port){ .kind = kind, .fd = -1 };
	ut_list_init(&p->hot_node);
	ut_list_init(&p->err_node);
}

static unsigned key_of(const uint8_t addr[16], unsigned slot)
{
	return (addr[12] * 131u + addr[14] * 31u + addr[15] * 7u + addr[7] + slot) % NEAR_KEYS;
}

static void tx_close(struct udp_link *u, struct udp_near_tx *t)
{
	udp_unwatch(u, &t->peer);
	udp_unwatch(u, &t->bell);
	link_sys_close(&t->memory);
	udp_near_give_up(t);
	shm_seg_unmap(t->ring.ring, SHM_RING_SEG);
	shm_seg_unmap(t->ring.ear, sizeof(struct shm_ear));
	shm_seg_unmap(t->ring.doze, sizeof(struct shm_doze));
	t->ring = (struct shm_tx){ 0 };
}

static void tx_far(struct udp_link *u, struct udp_near_tx *t, bool refused)
{
	tx_close(u, t);
	t->state = NEAR_FAR;
	t->refused = refused;
	t->since = ut_now();
}

static void tx_drop(struct udp_link *u, struct udp_near_tx *t)
{
	tx_close(u, t);
	if (u->near->last == t)
		u->near->last = NULL;
	u->near->n_tx--;
	ut_list_del(&t->node);
	ut_list_del(&t->same_key);
	free(t);
}

static void rx_drop(struct udp_link *u, struct udp_near_rx *r)
{
	udp_unwatch(u, &r->peer);
	if (r->ring.ear) {
		atomic_store(&r->ring.ear->gone, 1);
		udp_near_see_off_one(u, r);
	}
	shm_seg_unmap(r->ring.ring, r->size);
	shm_seg_unmap(r->ring.ear, sizeof(struct shm_ear));
	shm_seg_unmap(r->page, sizeof(struct shm_doze));
	u->near->n_rx--;
	ut_list_del(&r->node);
	free(r);
}


static int open_page(struct udp_link *u, struct udp_near *n)
{
	u->base.more_fd = shm_seg_make("dapple-doze", sizeof(*n->doze), (void **)&n->doze);
	if (u->base.more_fd < 0)
		return u->base.more_fd;
	n->doze->magic = DOZE_MAGIC;
	n->doze->id = (uint32_t)ut_rng_u64(&u->rng);
	atomic_store(&n->doze->on, 1);
	n->bell.fd = ut_refused(EMFILE) ? -1 : eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	return n->bell.fd < 0 ? -errno : udp_watch(u, &n->bell);
}

int udp_near_init(struct udp_link *u)
{
	struct udp_near *n = ut_zalloc(sizeof(*n));
	int r;

	if (!n)
		return -ENOMEM;
	ut_list_init(&n->tx);
	ut_list_init(&n->rx);
	for (unsigned i = 0; i < NEAR_KEYS; i++)
		ut_list_init(&n->keys[i]);
	no_port(&n->bell, UDP_BELL);
	no_port(&n->life[0], UDP_TX);
	no_port(&n->life[1], UDP_TX);
	u->near = n;
	r = open_page(u, n);
	if (r < 0)
		udp_near_fini(u);
	return r;
}

void udp_near_notes(struct udp_link *u)
{
	if (!u->near)
		return;
	u->near->notes = true;
	u->base.near = &udp_near_ops;
	u->base.seals = u->near->doze->seals;
}

void udp_near_visits(struct udp_link *u)
{
	if (!u->near || !u->near->notes)
		return;
	u->near->visits = true;
	u->base.shown = &u->near->doze->shown;
}

void udp_near_fini(struct udp_link *u)
{
	struct udp_near_tx *t;
	struct udp_near_rx *r;

	if (!u->near)
		return;
	while ((t = ut_list_first(&u->near->tx, struct udp_near_tx, node)))
		tx_drop(u, t);
	while ((r = ut_list_first(&u->near->rx, struct udp_near_rx, node)))
		rx_drop(u, r);
	udp_unwatch(u, &u->near->bell);
	udp_unwatch(u, &u->near->life[0]);
	udp_unwatch(u, &u->near->life[1]);
	shm_seg_unmap(u->near->doze, sizeof(*u->near->doze));
	link_sys_close(&u->base.more_fd);
	free(u->near);
	u->near = NULL;
}

/* --- asking --- */

static struct udp_near_tx *tx_find(struct udp_link *u, const uint8_t addr[16], unsigned slot)
{
	struct udp_near_tx *t = u->near->last;

	if (t && t->slot == slot && !memcmp(t->addr, addr, 16))
		return t;
	ut_list_each(t, &u->near->keys[key_of(addr, slot)], same_key)
		if (t->slot == slot && !memcmp(t->addr, addr, 16))
			return u->near->last = t;
	return NULL;
}

/* The addresses of a pair may differ: the mailbox that is asked is named by the receiver's. */
static int letter(struct udp_link *u, const uint8_t to[16], uint32_t scope, unsigned slot,
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

static void ask(struct udp_link *u, struct udp_near_tx *t, const struct link_flow *f)
{
	struct hello h = { 0 };
	int r;

	t->token = h.token = ut_rng_u64(&u->rng);
	h.probe = (uintptr_t)&t->token;
	h.can = u->near->notes ? HELLO_NOTES : 0;
	memcpy(h.src, f->src, 16);
	memcpy(h.dst, f->dst, 16);
	memcpy(t->own, f->src, 16);
	t->scope = f->scope;
	r = letter(u, t->addr, f->scope, t->slot, UDP_MAIL_NEAR_HELLO, &h, NULL, 0);
	t->since = ut_now();
	t->state = NEAR_ASKED;
	if (r < 0)
		tx_far(u, t, r != -EAGAIN);
}

static struct udp_near_tx *tx_new(struct udp_link *u, const struct link_flow *f, unsigned slot)
{
	struct udp_near_tx *t = u->near->n_tx < NEAR_TX_MAX ? ut_zalloc(sizeof(*t)) : NULL;

	if (!t)
		return NULL;
	memcpy(t->addr, f->dst, 16);
	t->slot = (uint16_t)slot;
	t->memory = -1;
	no_port(&t->peer, UDP_PEER);
	no_port(&t->bell, UDP_TX);
	ut_list_add_tail(&u->near->tx, &t->node);
	ut_list_add_tail(&u->near->keys[key_of(t->addr, slot)], &t->same_key);
	u->near->n_tx++;
	ask(u, t, f);
	return u->near->last = t;
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
static int own_life(struct udp_link *u)
{
	struct udp_port *life = u->near->life;
	int fd = udp_own_pidfd(), ends[2];

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
	struct link_flow back = { .scope = lo->scope };

	if (tx_find(u, h->src, slot))
		return;
	memcpy(back.src, lo->addr, 16);
	memcpy(back.dst, h->src, 16);
	tx_new(u, &back, slot);
}

/*
 * Who asked and left without opening its ring is not watched; returns how many are left. But its
 * letter may lie in the mailbox behind the one that is being read, while the machine stood still.
 */
static unsigned drop_late(struct udp_link *u)
{
	uint64_t now = ut_now(), late = u->near->n_rx < NEAR_RX_MAX / 2 ? NEAR_LATE : NEAR_AGAIN;
	struct udp_near_rx *r, *s;

	ut_list_each_safe(r, s, &u->near->rx, node)
		if (!r->ring.ring && now - r->since > late)
			rx_drop(u, r);
	return u->near->n_rx;
}

/* What the asker may do, and whether we can reach into it. */
static uint32_t what_we_can(struct udp_link *u, struct udp_near_rx *r, const struct hello *h)
{
	if (!u->near->notes || !(h->can & HELLO_NOTES))
		return 0;
	r->probe = h->probe;
	if (u->near->no_pulls || u->gift_pid <= 0 ||
	    !udp_near_probe(u->gift_pid, h->probe, h->token))
		return HELLO_NOTES;
	r->pid = u->gift_pid;
	return HELLO_NOTES | HELLO_PULLS;
}

/* At once, so that nobody waits for what will not come. */
static void refuse(struct udp_link *u, const struct udp_local *lo, const struct udp_mail *m,
		   const struct hello *h)
{
	struct hello back = { .token = h->token };

	memcpy(back.src, lo->addr, 16);
	memcpy(back.dst, h->src, 16);
	letter(u, h->src, lo->scope, m->slot, UDP_MAIL_NEAR_READY, &back, NULL, 0);
}

static void answer_hello(struct udp_link *u, struct udp_local *lo, const struct udp_mail *m,
			 const struct hello *h)
{
	struct udp_near_rx *r = drop_late(u) < NEAR_RX_MAX ? ut_zalloc(sizeof(*r)) : NULL;
	struct hello back = { .token = h->token };
	int fds[UDP_GIFTS] = { -1, u->base.more_fd, u->near->bell.fd, -1, -1 };
	void *ear = NULL;

	if (!r) {
		refuse(u, lo, m, h);
		return;
	}
	fds[0] = shm_seg_make("dapple-ear", sizeof(struct shm_ear), &ear);
	fds[3] = own_life(u);
	*r = (struct udp_near_rx){ .token = h->token, .since = ut_now(), .ring.ear = ear };
	memcpy(r->addr, h->src, 16);
	memcpy(r->own, lo->addr, 16);
	r->slot = m->slot;
	back.can = what_we_can(u, r, h);
	no_port(&r->peer, UDP_PEER);
	ut_list_add_tail(&u->near->rx, &r->node);
	u->near->n_rx++;
	if (ear)
		r->ring.ear->magic = EAR_MAGIC;
	memcpy(back.src, lo->addr, 16);
	memcpy(back.dst, h->src, 16);
	if (back.can & HELLO_NOTES)
		fds[4] = udp_near_memory(u);
	back.probe = (uintptr_t)&r->token;
	if (fds[0] < 0 || fds[3] < 0 ||
	    letter(u, h->src, lo->scope, m->slot, UDP_MAIL_NEAR_READY, &back, fds,
		   fds[4] < 0 ? 4 : 5) < 0) {
		rx_drop(u, r);
		refuse(u, lo, m, h);
	}
	link_sys_close(&fds[0]);
	link_sys_close(&fds[3]);
	link_sys_close(&fds[4]);
	ask_back(u, lo, h, m->slot);
}

int udp_near_letter_lend(struct udp_link *u, const struct udp_near_rx *r, uint32_t id, int fd)
{
	struct udp_local *lo = udp_local_find(u, r->own);
	struct hello h = { .token = r->token, .probe = id };

	memcpy(h.src, r->own, 16);
	memcpy(h.dst, r->addr, 16);
	return letter(u, r->addr, lo ? lo->scope : 0, r->slot, UDP_MAIL_NEAR_LEND, &h, &fd, 1);
}

static void take_lend(struct udp_link *u, const struct udp_mail *m, const struct hello *h, int fd)
{
	struct udp_near_tx *t = tx_find(u, h->src, m->slot);

	if (t && t->state == NEAR_OPEN && t->token == h->token && t->memory >= 0)
		udp_near_borrow(t, (uint32_t)h->probe, fd);
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

static int open_ring(struct udp_link *u, struct udp_near_tx *t)
{
	struct hello h = { .token = t->token };
	int fds[3] = { -1, -1, u->base.more_fd }, r = -ENOMEM;
	void *ring = NULL;

	fds[0] = shm_seg_make("dapple-ring", SHM_RING_SEG, &ring);
	fds[1] = own_life(u);
	t->ring.ring = ring;
	memcpy(h.src, t->own, 16);
	memcpy(h.dst, t->addr, 16);
	if (fds[0] >= 0 && fds[1] >= 0) {
		shm_ring_init(t->ring.ring);
		r = letter(u, t->addr, t->scope, t->slot, UDP_MAIL_NEAR_OPEN, &h, fds, 3);
	}
	link_sys_close(&fds[0]);
	link_sys_close(&fds[1]);
	return r;
}

static void take_ready(struct udp_link *u, const struct udp_mail *m, const struct hello *h,
		       const int *fds)
{
	struct udp_near_tx *t = tx_find(u, h->src, m->slot);

	if (!t || t->state != NEAR_ASKED || t->token != h->token)
		return;
	t->ring.ear = take_page(fds[0], EAR_MAGIC, sizeof(struct shm_ear), PAGE_MOST);
	t->ring.doze = take_page(fds[1], DOZE_MAGIC, sizeof(struct shm_doze), DOZE_MOST);
	t->bell.fd = keep(fds[2]);
	t->peer.fd = keep(fds[3]);
	t->peer.near_tx = t;
	if (t->ring.ear && t->ring.doze && t->bell.fd >= 0 && t->peer.fd >= 0 &&
	    udp_watch(u, &t->bell) == 0 && udp_watch(u, &t->peer) == 0 && open_ring(u, t) == 0) {
		t->state = NEAR_OPEN;
		t->since = 0;
		t->opened = ut_now();
		t->notes = u->near->notes && (h->can & HELLO_NOTES);
		t->pulls = h->can & HELLO_PULLS;
		if (fds[4] >= 0 && t->notes && udp_near_memory_is(fds[4], h->probe, t->token))
			t->memory = keep(fds[4]);
		ut_debug("slot %u of this host is reached through shared memory", t->slot);
	} else {
		tx_far(u, t, false);
	}
}

static void take_refusal(struct udp_link *u, const struct udp_mail *m, const struct hello *h)
{
	struct udp_near_tx *t = tx_find(u, h->src, m->slot);

	if (t && t->state == NEAR_ASKED && t->token == h->token)
		tx_far(u, t, false);
}

static void take_open(struct udp_link *u, const struct udp_mail *m, const struct hello *h,
		      const int *fds)
{
	struct udp_near_rx *r;

	ut_list_each(r, &u->near->rx, node)
		if (r->token == h->token && r->slot == m->slot && !r->ring.ring)
			break;
	if (&r->node == &u->near->rx)
		return;
	r->ring.ring = shm_seg_map(fds[0], SHM_RING_SEG, SHM_RING_SEG_MOST, &r->size);
	r->peer.fd = keep(fds[1]);
	r->peer.near_rx = r;
	r->page = take_page(fds[2], DOZE_MAGIC, sizeof(struct shm_doze), DOZE_MOST);
	if (!r->ring.ring || !r->page || !shm_ring_valid(r->ring.ring, r->size) || r->peer.fd < 0 ||
	    udp_watch(u, &r->peer) < 0)
		rx_drop(u, r);
}

void udp_near_mail(struct udp_link *u, struct udp_local *lo, const struct udp_mail *m,
		   const uint8_t *body, size_t len)
{
	const int *fds = u->gift;
	struct hello h;
	int n = 0;

	while (n < UDP_GIFTS && fds[n] >= 0)
		n++;

	if (len != sizeof(h))
		return;
	memcpy(&h, body, sizeof(h));
	if (!u->near) {
		if (m->type == UDP_MAIL_NEAR_HELLO)
			refuse(u, lo, m, &h);
		return;
	}
	if (m->type == UDP_MAIL_NEAR_HELLO && n == 0)
		answer_hello(u, lo, m, &h);
	else if (m->type == UDP_MAIL_NEAR_READY && n == 0)
		take_refusal(u, m, &h);
	else if (m->type == UDP_MAIL_NEAR_READY && n >= 4)
		take_ready(u, m, &h, fds);
	else if (m->type == UDP_MAIL_NEAR_OPEN && n == 3)
		take_open(u, m, &h, fds);
	else if (m->type == UDP_MAIL_NEAR_LEND && n == 1)
		take_lend(u, m, &h, fds[0]);
}

/* What a dead process wrote is read to its end first, as what it sent by the wire would be. */
void udp_near_died(struct udp_link *u, struct udp_port *p)
{
	if (p->near_tx) {
		tx_drop(u, p->near_tx);
	} else if (p->near_rx && !shm_waiting(&p->near_rx->ring) && !p->near_rx->ring.held) {
		rx_drop(u, p->near_rx);
	}
}

void udp_near_forget_addr(struct udp_link *u, const uint8_t addr[16])
{
	struct udp_near_tx *t, *s;

	if (!u->near)
		return;
	ut_list_each_safe(t, s, &u->near->tx, node)
		if (!memcmp(t->own, addr, 16))
			tx_drop(u, t);
}

/* --- moving --- */

static void ring_bell(int fd)
{
	uint64_t one = 1;

	LINK_SYS(SYS_write, fd, &one, sizeof(one));
}

int udp_near_full(struct udp_near_tx *t, uint64_t patience)
{
	if (!t->since)
		t->since = ut_now();
	/* A receiver that does not read for so long is stopped: as lost on the wire. */
	return ut_now() - t->since < patience ? -EAGAIN : -ENOBUFS;
}

int udp_near_result(struct udp_link *u, struct udp_near_tx *t, enum shm_put r)
{
	switch (r) {
	case SHM_PUT_RING:
		ring_bell(t->bell.fd);
		break;
	case SHM_FULL:
		return udp_near_full(t, NEAR_FULL);
	case SHM_GONE:
		tx_drop(u, t);
		return -ENOTCONN;
	default:
		break;
	}
	t->since = 0;
	u->stats.near_sent++;
	return 0;
}

static int put(struct udp_link *u, struct udp_near_tx *t, const struct link_flow *f,
	       const uint8_t *data, size_t len, size_t seg)
{
	/* The port that the wire would carry, which is another when somebody has the wanted one:
	 * the ICRC covers it. */
	struct shm_record h = { .bytes = (uint32_t)len, .seg = (uint16_t)seg,
				.sport = udp_source_port(&u->base, f),
				.tos = f->tos, .ttl = f->ttl ? f->ttl : 64 };

	memcpy(h.src, f->src, 16);
	memcpy(h.dst, f->dst, 16);
	return udp_near_result(u, t, shm_put(&t->ring, &h, data));
}

/* The destination QPN's slot; UDP_NO_SLOT for what keeps to the wire. */
static unsigned near_slot(const struct udp_link *u, const struct link_flow *f,
			  const uint8_t *data, size_t len)
{
	uint32_t qpn;

	if (len < UDP_BTH_BYTES || udp_is_group(f->dst))
		return UDP_NO_SLOT;
	qpn = (uint32_t)data[5] << 16 | (uint32_t)data[6] << 8 | data[7];
	if (qpn < 2 || (qpn >> UDP_SLOT_SHIFT) >= UDP_SLOTS)
		return UDP_NO_SLOT;
	return qpn >> UDP_SLOT_SHIFT;
}

/* Somebody waits for the answer: the next call reads the mailbox unasked. */
void udp_near_await(struct udp_link *u, const struct link_flow *f)
{
	struct udp_local *lo = udp_local_find(u, f->src);

	if (lo)
		lo->mail_ready = true;
}

struct udp_near_tx *udp_near_way(struct udp_link *u, const struct link_flow *f, unsigned slot)
{
	struct udp_near_tx *t;

	if (slot == UDP_NO_SLOT)
		return NULL;
	t = tx_find(u, f->dst, slot);
	if (!t)
		t = tx_new(u, f, slot);
	if (!t)
		return NULL;
	if (t->state == NEAR_FAR && t->refused && ut_now() - t->since > NEAR_AGAIN)
		ask(u, t, f);
	if (t->state == NEAR_ASKED &&
	    ut_now() - t->since > (u->near->notes ? NEAR_PATIENCE : NEAR_PATIENCE_DATAGRAMS))
		tx_far(u, t, false);
	if (t->state == NEAR_FAR || (t->state == NEAR_ASKED && u->base.leaving))
		return NULL;
	if (t->state == NEAR_ASKED)
		udp_near_await(u, f);
	return t;
}

bool udp_near_both(struct udp_link *u, const struct udp_near_tx *t)
{
	struct udp_near_rx *r;

	ut_list_each(r, &u->near->rx, node)
		if (r->ring.ring && r->slot == t->slot && !memcmp(r->addr, t->addr, 16))
			return true;
	return false;
}

struct udp_near_tx *udp_near_open(struct udp_link *u, const uint8_t addr[16], unsigned slot)
{
	struct udp_near_tx *t = tx_find(u, addr, slot);

	return t && t->state == NEAR_OPEN ? t : NULL;
}

bool udp_near_send(struct udp_link *u, const struct link_flow *f, const uint8_t *data, size_t len,
		   size_t seg, int *ret)
{
	unsigned slot = u->near ? near_slot(u, f, data, len) : UDP_NO_SLOT;
	struct udp_near_tx *t = NULL;

	if (slot != u->slot || !udp_local_find(u, f->dst))
		t = udp_near_way(u, f, slot);
	if (!t)
		return false;
	if (t->state == NEAR_ASKED) {
		*ret = -EAGAIN;
		return true;
	}
	*ret = put(u, t, f, data, len, seg);
	return *ret != -ENOTCONN;
}

static void take_datagram(struct udp_link *u, struct udp_near_rx *r, const struct shm_record *h)
{
	size_t off = (size_t)u->rx_slot * UDP_RX_SLOT_BYTES;
	struct udp_carry *c = &u->carry;

	shm_take(&r->ring, h, u->stage.base + off);
	u->rx_slot = (u->rx_slot + 1) % UDP_RX_SLOTS;
	*c = (struct udp_carry){ .rx = { .data = u->stage.base + off, .off = off,
					 .sport = h->sport, .tos = h->tos, .ttl = h->ttl },
				 .left = h->bytes, .step = h->seg };
	memcpy(c->rx.src, h->src, 16);
	memcpy(c->rx.dst, h->dst, 16);
}

void udp_near_note_at(struct udp_near_rx *r, const uint8_t *at, uint32_t bytes,
		      struct link_rx *note)
{
	*note = (struct link_rx){ .data = at, .len = LINK_NOTE_BYTES + bytes, .note = true, .from = r };
	memcpy(note->src, r->addr, 16);
	memcpy(note->dst, r->own, 16);
}

static bool take(struct udp_link *u, struct udp_near_rx *r, struct link_rx *note)
{
	struct shm_record h;
	int got = shm_peek(&r->ring, &h);

	if (got < 0 || (got && h.seg && h.bytes > UDP_RX_SLOT_BYTES) ||
	    (got && !h.seg && !u->near->notes)) {
		ut_warn("a process of this user wrote nonsense into its ring; it is ignored now");
		/* Messages before it may still be looked at. */
		r->broken = u->near->held = true;
		return false;
	}
	if (!got)
		return false;
	if (h.seg)
		take_datagram(u, r, &h);
	else
		udp_near_note_at(r, shm_hold(&r->ring, &h), h.bytes, note);
	u->near->held |= !h.seg;
	u->stats.near_received++;
	return true;
}

bool udp_near_recv(struct udp_link *u, struct link_rx *note)
{
	struct udp_near_rx *r, *s;

	if (!u->near)
		return false;
	ut_list_each_safe(r, s, &u->near->rx, node) {
		if (!r->ring.ring || r->broken || !shm_waiting(&r->ring) || !take(u, r, note))
			continue;
		/* The next one's turn. */
		ut_list_del(&r->node);
		ut_list_add_tail(&u->near->rx, &r->node);
		u->near->warm = NEAR_WARM;
		return true;
	}
	u->near->warm -= u->near->warm > 0;
	return false;
}

bool udp_near_warm(struct udp_link *u)
{
	return u->near && u->near->warm &&
	       !atomic_load_explicit(&u->near->doze->on, memory_order_relaxed);
}

/* From any thread, no lock held: one word tells all senders. */
void udp_near_doze(struct link *l, bool on, bool look)
{
	struct udp_near *n = udp_of(l)->near;

	atomic_store_explicit(&udp_of(l)->dozing, on, memory_order_relaxed);
	if (!n)
		return;
	atomic_store(&n->doze->on, on);
	atomic_thread_fence(memory_order_seq_cst);
	if (on && look)
		ring_bell(n->bell.fd);
}

void udp_near_release(struct udp_link *u)
{
	struct udp_near_rx *r, *s;

	if (!u->near || !u->near->held)
		return;
	u->near->held = false;
	ut_list_each_safe(r, s, &u->near->rx, node) {
		if (r->broken)
			rx_drop(u, r);
		else if (r->ring.held)
			shm_release(&r->ring);
	}
}

void udp_near_settle(struct udp_link *u)
{
	struct udp_near_rx *r;

	if (!u->near || !atomic_load_explicit(&u->near->doze->on, memory_order_relaxed))
		return;
	/* As in shm_put(): the head has moved, now look at the tail again. */
	atomic_thread_fence(memory_order_seq_cst);
	ut_list_each(r, &u->near->rx, node)
		if (r->ring.ring && !r->broken && shm_waiting(&r->ring)) {
			ring_bell(u->near->bell.fd);
			return;
		}
}
