/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A process of the same user that joins through the real handshake and then writes any bytes where
 * it may: into its rings, its consumer pages, its page, and into messages with other descriptors.
 *
 *     victim  <-- RC, verified data -->  honest peer
 *        ^
 *        `-- ring, messages -- attacker, another one each round, that knows the link's inside
 *
 * The victim has a QP that is connected to the attacker, too, and a region that it may use. Nothing
 * else of its memory changes, its other connection goes on, it neither crashes nor hangs nor grows.
 */
#include "speed.h"

#include "host/shm/channel.h"
#include "host/mailbox.h"
#include "host/shm/segment.h"
#include "host/shm/peer.h"
#include "link/local/datagrams.h"
#include "link/udp/udp.h"
#include "proto/ib/frame_shm.h"
#include "util/clock.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ROUNDS = 24, ROUNDS_FULL = 3000, NOTES = 400, HELLOS = 20, BLOCK = 20000, ROOM = 65536,
       QUIET = 0x5a };

static const uint8_t LO4[16] = { [10] = 0xff, 0xff, 127, 0, 0, 1 };

static struct page {
	_Atomic int round, over, stop; /* attackers that have come, and gone */
	_Atomic int offered;           /* the attacker that has got a QP to play with */
	_Atomic uint32_t attacker, prey; /* QP numbers: of the round, of the victim towards it */
	_Atomic uint32_t honest, steady; /* of the other connection */
	_Atomic uint32_t rkey;
	_Atomic uint64_t room;           /* the attacker's means */
	uint64_t seed;
} *page;

/* --- the attacker --- */

static struct attacker {
	struct link *l;
	struct host *h;
	struct shm_chan *ch;
	struct sp_rng rng;
	unsigned slot; /* the victim's */
	struct shm_peer_tx *t;
	struct ut_flow f;
	uint8_t *exported;
} x;

static void join(void)
{
	struct shm_channel *c;
	enum shm_reach r = SHM_REACH_ASKED;
	struct shm_message m[8];
	struct link_rx v[8];
	uint64_t end = cf_ns() + CF_WAIT_MS * 1000000ull;

	CF_OK(udp_open(UDP_ROCE_PORT, &x.l));
	x.h = udp_host(x.l);
	CF_OK(shm_channel_open(x.h, &c));
	CF_OK(local_datagrams_open(x.l, c, &x.l));
	shm_channel_messages(c, false);
	x.ch = shm_chan_of(c);
	CF_OK(x.l->ops->add_addr(x.l, LO4, 0));
	x.f = (struct ut_flow){ .sport = 0xd123, .ttl = 64 };
	memcpy(x.f.src, LO4, 16);
	memcpy(x.f.dst, LO4, 16);
	x.slot = page->steady >> HOST_SLOT_SHIFT;
	atomic_store(&page->attacker, x.l->qpn_fixed | 0x55);
	while (r == SHM_REACH_ASKED && cf_ns() < end) {
		r = c->ops->reach(c, &x.f, page->steady);
		x.l->ops->recv(x.l, v, 8);
		c->ops->poll(c, m, 8);
		c->ops->release(c);
	}
	x.t = shm_peer_open(x.ch, LO4, x.slot); /* NULL: the victim had no processor for so long */
}

static void noise(void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		((uint8_t *)p)[i] = (uint8_t)sp_rand(&x.rng);
}

static uint64_t any_address(void)
{
	static const uint64_t odd[] = { 0, 1, UINT64_MAX, 0xffff800000000000ull, 4096 };
	uint32_t k = sp_below(&x.rng, 8);

	return k < 5 ? odd[k] : k == 5 ? sp_rand(&x.rng) : (uintptr_t)x.exported + sp_below(&x.rng, ROOM);
}

/* A header with a true core. */
static uint32_t fill_header(struct ibp_header *n, uint8_t *data, uint32_t room)
{
	uint32_t len = sp_below(&x.rng, 4) ? sp_below(&x.rng, 200) : sp_below(&x.rng, room);

	noise(data, len);
	*n = (struct ibp_header){
		.opcode = (uint8_t)(sp_below(&x.rng, 0x18) | (sp_below(&x.rng, 4) ? 0 : 0x20 * sp_below(&x.rng, 4))), .flags = (uint8_t)sp_below(&x.rng, 16),
		.unit = IBP_UNIT,
		.psn = sp_below(&x.rng, 64), .length = sp_below(&x.rng, ROOM),
		.dest_qpn = sp_below(&x.rng, 4) ? page->prey : page->steady,
		.src_qpn = page->attacker, .rkey = page->rkey,
		.va = page->room + sp_below(&x.rng, ROOM),
	};
	for (uint32_t k = sp_below(&x.rng, 3); k; k--)
		((uint8_t *)n)[sp_below(&x.rng, sizeof(*n))] = (uint8_t)sp_rand(&x.rng);
	if (n->src_qpn == page->honest)
		n->src_qpn ^= 1; /* whose user this is anyway */
	return len;
}

/* Written by the rules, and then written over while it is read. */
static void notes(bool over)
{
	uint8_t data[4096];

	for (int i = 0; i < NOTES; i++) {
		struct shm_reservation at;
		struct ibp_header n;
		uint32_t len = fill_header(&n, data, sizeof(data));

		if (x.ch->base.ops->reserve(&x.ch->base, &x.f, page->steady, len, &at) < 0) {
			sched_yield();
			continue;
		}
		memcpy(at.header, &n, sizeof(n));
		memcpy(at.data, data, len);
		x.ch->base.ops->commit(&x.ch->base, &at, len);
		/* The victim has let go of the ring, and so has our own link. */
		if (shm_peer_open(x.ch, LO4, x.slot) != x.t)
			return;
		for (int k = 0; over && k < 50; k++) {
			struct shm_record *r = (struct shm_record *)at.data - 1;

			*(volatile uint32_t *)&r->bytes = k % 2 ? len : (uint32_t)sp_rand(&x.rng);
			*(volatile uint16_t *)&r->seg = (uint16_t)(k % 3 ? 0 : sp_rand(&x.rng));
			noise(at.header, 1 + sp_below(&x.rng, SHM_CHANNEL_HEADER_BYTES));
		}
	}
}

static void ring_now(void)
{
	uint64_t one = 1;

	CF_TRUE(write(x.t->wake.fd, &one, sizeof(one)) == sizeof(one));
}

static void tails(void)
{
	struct shm_ring *r = x.t->ring.ring;

	for (int i = 0; i < 200; i++) {
		uint64_t in_range = atomic_load(&x.t->ring.consumer->head) + SHM_LINE * sp_below(&x.rng, 20000);

		if (i % 10 == 0)
			noise(r->data + sp_below(&x.rng, SHM_RING_BYTES - 4096), 4096);
		atomic_store(&r->tail, sp_below(&x.rng, 4) ? in_range : sp_rand(&x.rng));
		ring_now();
	}
}

/* Fields of ours that the victim reads: the head, the sleep flag. */
static void consumers(void)
{
	struct shm_peer_rx *r;

	ut_list_each(r, &x.ch->rx, node)
		for (int i = 0; i < 100; i++) {
			uint64_t head = atomic_load(&r->ring.consumer->head);

			atomic_store(&r->ring.consumer->head, sp_below(&x.rng, 2) ? sp_rand(&x.rng)
						: head + SHM_LINE * sp_below(&x.rng, 100));
			atomic_store(&x.ch->page->on, (uint32_t)sp_rand(&x.rng));
			atomic_store(&r->ring.consumer->gone, i == 99 && sp_below(&x.rng, 2));
			sched_yield();
		}
}

/* The pages are sealed: no descriptor of them, however it was come by, takes them away. */
static void truncate_it(void)
{
	char path[96];
	int fd;

	snprintf(path, sizeof(path), "/proc/self/map_files/%lx-%lx", (unsigned long)x.t->ring.ring,
		 (unsigned long)x.t->ring.ring + ((SHM_RING_SEG + 4095) & ~4095ul));
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0) /* some users may not */
		return;
	CF_TRUE(ftruncate(fd, 0) < 0 && ftruncate(fd, 1 << 30) < 0);
	CF_TRUE(mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0) == MAP_FAILED);
	CF_TRUE(fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, 4096) < 0);
	close(fd);
}

static void remap(void)
{
	truncate_it();
	CF_TRUE(mmap(x.t->ring.ring, SHM_RING_SEG, PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != MAP_FAILED);
}

static int odd_descriptor(void)
{
	int fd, p[2];
	void *base;

	switch (sp_below(&x.rng, 6)) {
	case 0: /* nothing holds its size */
		fd = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);
		CF_OK(ftruncate(fd, SHM_RING_SEG_MOST));
		return fd;
	case 1:
		return shm_seg_make("x", sp_below(&x.rng, 8192), &base);
	case 2: /* of the right size, and full of noise */
		fd = shm_seg_make("x", SHM_RING_SEG, &base);
		noise(base, SHM_LINE);
		return fd;
	case 3:
		CF_OK(pipe2(p, O_CLOEXEC));
		close(p[1]);
		return p[0];
	case 4:
		return open("/dev/zero", O_RDWR | O_CLOEXEC);
	default:
		return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	}
}

/* Messages that break the rules: the token of the victim is not known, but its types and lengths are. */
static void messages(void)
{
	struct host_addr *a = host_addr_find(x.h, LO4);
	struct host_dest to = { .slot = (uint16_t)x.slot, .addr = LO4 };

	for (int i = 0; i < 2 * HELLOS; i++) {
		struct {
			uint64_t token;
			uint8_t src[16], dst[16];
			uint64_t probe;
			uint32_t can, pad;
		} h = { .token = i % 2 && x.t ? x.t->token : sp_rand(&x.rng), .probe = any_address(),
			.can = (uint32_t)sp_rand(&x.rng) };
		struct host_message m = { .type = i < HELLOS ? HOST_MSG_SHM_HELLO :
				      (uint8_t)(HOST_MSG_SHM_HELLO + sp_below(&x.rng, 3)) };
		int fds[HOST_FDS], n = i < HELLOS ? 0 : (int)sp_below(&x.rng, HOST_FDS + 1);

		memcpy(h.src, LO4, 16);
		memcpy(h.dst, LO4, 16);
		if (!sp_below(&x.rng, 8))
			noise(h.src, 16);
		for (int k = 0; k < n; k++)
			fds[k] = odd_descriptor();
		if (n)
			host_send_fds(x.h, a, to, &m, &h, sizeof(h), fds, n);
		else
			host_send(x.h, a, to, &m, &h, sizeof(h) - (size_t)sp_below(&x.rng, 2));
		for (int k = 0; k < n; k++)
			close(fds[k]);
	}
}

static int attack(void *arg)
{
	int round = *(int *)arg;

	x.rng = (struct sp_rng){ page->seed + (uint64_t)round };
	x.exported = sp_area(ROOM);
	join();
	atomic_store(&page->round, round + 1);
	SP_UNTIL((usleep(200), atomic_load(&page->offered) > round), "no prey");
	for (int i = 0; i < 3 && (x.t = shm_peer_open(x.ch, LO4, x.slot)); i++)
		switch (sp_below(&x.rng, 6)) {
		case 0: notes(false); break;
		case 1: notes(true); break;
		case 2: consumers(); break;
		case 3: messages(); break;
		case 4: tails(); i = 3; break; /* it is not listened to any more */
		default: remap(); i = 3;
		}
	_exit(0); /* whatever stands open */
}

static void attackers(struct cf_party *p)
{
	for (int round = 0; round < sp_times(ROUNDS, ROUNDS_FULL); round++) {
		cf_reap(cf_child(attack, &round));
		atomic_store(&page->over, round + 1);
		SP_UNTIL((usleep(200), !atomic_load(&page->prey)), "the victim keeps its QP");
	}
	atomic_store(&page->stop, 1);
	cf_meet(p);
}

/* --- the victim, and its honest peer --- */

static int honest(void *arg)
{
	struct cf_party *p = arg;
	struct cf_opt o = cf_opt();
	struct cf_side s;
	struct ibv_wc wc;

	cf_side(&s, &o);
	atomic_store(&page->honest, s.qp->qp_num);
	cf_connect(p, &s);
	while (!atomic_load(&page->stop))
		if (ibv_poll_cq(s.scq, 1, &wc))
			CF_DIE("the honest QP: %s", ibv_wc_status_str(wc.status));
	CF_EQ(cf_state(s.qp), IBV_QPS_RTS);
	cf_meet(p);
	return 0;
}

static void verified(struct cf_side *s, const struct cf_addr *to, uint64_t seed)
{
	cf_fill(s->buf, BLOCK, seed);
	memset(s->buf + BLOCK, 0, BLOCK);
	cf_post(s, .op = IBV_WR_RDMA_WRITE, .id = 1, .len = BLOCK, .raddr = to->addr, .rkey = to->rkey);
	cf_post(s, .op = IBV_WR_RDMA_READ, .id = 2, .off = BLOCK, .len = BLOCK, .raddr = to->addr,
		.rkey = to->rkey);
	cf_wc(s->scq, 1, SUCCESS);
	cf_wc(s->scq, 2, SUCCESS);
	cf_verify(s->buf + BLOCK, BLOCK, seed);
}

struct prey {
	struct cf_side s;
	uint8_t *field; /* three rooms, of which the middle one is exported */
};

static void offer(struct prey *y, const struct cf_side *base)
{
	struct cf_addr to = { cf.gid, page->attacker, 0, 0, 0 };

	y->s = *base;
	y->s.o.timeout = 10;
	y->s.o.retry = 1;
	y->s.o.rnr = 1;
	y->s.o.psn = 0;
	y->s.scq = cf_cq(base->ctx, 64, NULL);
	y->s.rcq = cf_cq(base->ctx, 64, NULL);
	y->s.qp = cf_qp(base->pd, &(struct ibv_qp_init_attr){ .qp_type = IBV_QPT_RC,
		.send_cq = y->s.scq, .recv_cq = y->s.rcq, .cap = { 16, 16, 1, 1, 0 } });
	y->s.buf = y->field + ROOM;
	y->s.mr = cf_mr(base->pd, y->s.buf, ROOM, CF_ALL_ACCESS);
	cf_up(&y->s, IBV_QPS_RTS, &to);
	for (uint64_t i = 0; i < 8; i++)
		cf_recv(&y->s, i, 0, ROOM);
	for (uint64_t i = 0; i < 8; i++)
		cf_post(&y->s, .op = i % 2 ? IBV_WR_RDMA_READ : IBV_WR_SEND, .id = i, .len = 9000,
			.raddr = page->room, .rkey = 1);
	atomic_store(&page->rkey, y->s.mr->rkey);
	atomic_store(&page->room, (uintptr_t)y->s.buf);
	atomic_store(&page->prey, y->s.qp->qp_num);
}

static void withdraw(struct prey *y)
{
	cf_drop(y->s.qp);
	cf_drop(y->s.scq);
	cf_drop(y->s.rcq);
	cf_drop(y->s.mr);
	if (!sp_all(y->field, ROOM, QUIET) || !sp_all(y->field + 2 * ROOM, ROOM, QUIET))
		CF_DIE("memory beside the region was written");
	atomic_store(&page->prey, 0);
}

static void victim_rounds(struct cf_side *s, const struct cf_addr *to)
{
	struct sp_held before = { 0 };
	struct prey y = { .field = sp_area(3 * ROOM) };
	int seen = 0;
	bool offered = false;

	memset(y.field, QUIET, 3 * ROOM);
	for (uint64_t n = 1; !atomic_load(&page->stop); n++) {
		/* Every other time in the middle of it. */
		if (offered && (page->over >= seen || (seen % 2 && n % 64 == 0))) {
			withdraw(&y);
			offered = false;
		} else if (!offered && atomic_load(&page->round) > seen) {
			seen = page->round;
			if (seen == 4)
				before = sp_held();
			offer(&y, s);
			offered = true;
			atomic_store(&page->offered, seen);
		}
		verified(s, to, n);
		cf_drop_events(s->ctx);
	}
	if (offered)
		withdraw(&y);
	printf("# %d attackers\n", seen);
	before.consumers += 2 * SP_CONSUMERS; /* of askers that did not connect */
	before.maps += 4 * HELLOS * ROUNDS;
	before.fds += 64;
	sp_no_more_than(&before, 64ul << 20);
}

static void victim(struct cf_party *p)
{
	struct cf_party mine = { .first = true }, his = { .first = false };
	struct cf_opt o = cf_opt();
	struct cf_side s;
	struct cf_addr to;
	pid_t pid;
	int sv[2];

	CF_OK(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv));
	mine.fd = sv[0];
	his.fd = sv[1];
	pid = cf_child(honest, &his);
	cf_side(&s, &o);
	atomic_store(&page->steady, s.qp->qp_num);
	to = cf_connect(&mine, &s);
	verified(&s, &to, 0);
	cf_meet(p);
	victim_rounds(&s, &to);
	cf_meet(&mine);
	cf_reap(pid);
	cf_meet(p);
}

static void attackers_after(struct cf_party *p)
{
	cf_meet(p);
	attackers(p);
}

static void hostile_peer(void)
{
	page = cf_pages(sizeof(*page));
	page->seed = sp_seed("a hostile ring peer");
	cf_processes(attackers_after, victim);
}

const struct cf_check cf_checks[] = {
	{ "+", "a hostile ring peer", CF_SELF, hostile_peer },
	{ 0 },
};
