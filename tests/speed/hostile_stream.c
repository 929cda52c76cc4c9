/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The peer of an iWARP connection that has left the wire by the rules, and then writes any bytes
 * into its own segment, also while the victim reads it: bytes, positions, sleep.
 *
 *     victim  <-- TCP: Request, Reply --  attacker, another one each round
 *             <-- segments, open ------   (tests/unit/link_local_hand.c has the ways to fail there)
 *             <-- FPDUs, true and not -   one thread writes them, another writes over them
 *
 * The victim neither crashes nor hangs nor grows; only memory that the attacker may write changes;
 * and with the end of the attacker its connection is over.
 */
#include "speed.h"

#include "host/layout.h"
#include "host/shm/pipe.h"
#include "wire/iwarp_fields.h"
#include "wire/iwarp_opcode.h"

#include <arpa/inet.h>
#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { ROUNDS = 24, ROUNDS_FULL = 2000, FPDUS = 300, ROOM = 32768, QUIET = 0x5a, SINK = 16384 };

static struct page {
	_Atomic uint32_t port, rkey; /* of the round; rkey: the QP has the stream */
	_Atomic int round;
	_Atomic uint64_t room;       /* the attacker's means */
	uint64_t seed;
} *page;

/* As in link/local/agree.h. */
struct hello {
	uint32_t magic;
	uint16_t from_port, to_port;
	uint8_t from[16], to[16];
};

static struct attacker {
	struct shm_pipe pipe;
	struct sp_rng rng;
	int tcp;
	_Atomic bool stop;
} x;

/* --- by the rules --- */

static void handshake(void)
{
	static const char key[] = "MPA ID Req Frame";
	uint8_t req[20] = { 0 }, rep[20];

	memcpy(req, key, 16);
	req[17] = 1; /* neither CRC nor markers, revision 1 */
	CF_EQ(send(x.tcp, req, sizeof(req), 0), (ssize_t)sizeof(req));
	CF_EQ(recv(x.tcp, rep, sizeof(rep), MSG_WAITALL), (ssize_t)sizeof(rep));
	CF_TRUE(!memcmp(rep, "MPA ID Rep Frame", 16));
}

static int connect_to(uint16_t port)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0), n;

	n = snprintf(sun.sun_path + 1, sizeof(sun.sun_path) - 1,
		     "dapple-iw/00000000000000000000ffff7f000001/%u", port);
	CF_OK(connect(fd, (struct sockaddr *)&sun,
		      (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n)));
	return fd;
}

static void exchange(int fd, struct hello *h, int *segment, bool out)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { h, sizeof(*h) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), segment, sizeof(int));
	CF_EQ(out ? sendmsg(fd, &m, 0) : recvmsg(fd, &m, 0), (ssize_t)sizeof(*h));
	if (!out)
		memcpy(segment, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof(int));
}

static void leave_the_wire(void)
{
	static const uint8_t lo[16] = { [10] = 0xff, 0xff, 127, 0, 0, 1 };
	struct sockaddr_in own;
	socklen_t n = sizeof(own);
	struct hello h = { .magic = 0x44504931u + host_layout, .to_port = (uint16_t)page->port };
	int fd = connect_to(h.to_port), segment = shm_pipe_make(&x.pipe);

	CF_OK(getsockname(x.tcp, (struct sockaddr *)&own, &n));
	h.from_port = ntohs(own.sin_port);
	memcpy(h.from, lo, 16);
	memcpy(h.to, lo, 16);
	exchange(fd, &h, &segment, true);
	exchange(fd, &h, &segment, false);
	CF_OK(shm_pipe_join(&x.pipe, segment));
	atomic_store(&x.pipe.own->open, 1);
	close(fd);
}

/* --- and then not --- */

static size_t any_fpdu(uint8_t *to)
{
	unsigned op = sp_below(&x.rng, 13);
	bool tagged = op == WIRE_IW_RDMA_WRITE || op == WIRE_IW_READ_RESPONSE;
	uint32_t head = tagged ? WIRE_DDPTagged_LEN : WIRE_DDPUntagged_LEN;
	uint32_t len = sp_below(&x.rng, 3) ? sp_below(&x.rng, 100) : sp_below(&x.rng, SINK);
	uint32_t all = (head + len + 3) / 4 * 4 + 4;

	for (uint32_t i = 0; i < all; i += 8)
		memset(to + i, (uint8_t)sp_rand(&x.rng), 8);
	wire_set_DDPTagged_ulpdu_len(to, head - 2 + len);
	to[2] = to[3] = 0;
	wire_set_DDPTagged_tagged(to, tagged);
	wire_set_DDPTagged_last(to, sp_below(&x.rng, 2));
	wire_set_DDPTagged_dv(to, 1);
	wire_set_DDPTagged_rv(to, 1);
	wire_set_DDPTagged_opcode(to, op);
	if (tagged) {
		wire_set_DDPTagged_stag(to, page->rkey);
		wire_set_DDPTagged_to(to, page->room + sp_below(&x.rng, ROOM - SINK));
	}
	return all;
}

static void commit(size_t n)
{
	if (shm_pipe_commit(&x.pipe, n))
		send(x.tcp, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
}

/* Another thread: headers change their mind behind the reader's back. */
static void *scribble(void *arg)
{
	struct sp_rng rng = { *(uint64_t *)arg };

	while (!atomic_load(&x.stop)) {
		volatile uint8_t *at = x.pipe.out + sp_below(&rng, 4096);
		uint8_t was = *at;

		*at = (uint8_t)sp_rand(&rng);
		if (sp_below(&rng, 2))
			*at = was;
		if (!sp_below(&rng, 2000))
			atomic_store(&x.pipe.own->head, sp_rand(&rng) >> sp_below(&rng, 64));
		if (!sp_below(&rng, 2000))
			atomic_store(&x.pipe.own->asleep, (uint32_t)sp_rand(&rng));
	}
	return NULL;
}

static void writes(void)
{
	for (int i = 0; i < FPDUS && shm_pipe_room(&x.pipe, 2 * SINK) >= 2 * SINK; i++) {
		/* Most come to nothing at the first error; a Write in its place is none. */
		size_t n = any_fpdu(shm_pipe_at(&x.pipe));

		if (sp_below(&x.rng, 4)) {
			wire_set_DDPTagged_opcode(shm_pipe_at(&x.pipe), WIRE_IW_RDMA_WRITE);
			wire_set_DDPTagged_tagged(shm_pipe_at(&x.pipe), 1);
			wire_set_DDPTagged_stag(shm_pipe_at(&x.pipe), page->rkey);
			wire_set_DDPTagged_to(shm_pipe_at(&x.pipe),
					      page->room + sp_below(&x.rng, ROOM - SINK));
		}
		commit(sp_below(&x.rng, 50) ? n : sp_below(&x.rng, (uint32_t)n));
		if (!sp_below(&x.rng, 8))
			sched_yield();
	}
	if (sp_below(&x.rng, 2)) {
		atomic_store(&x.pipe.own->tail, sp_rand(&x.rng) >> sp_below(&x.rng, 64));
		send(x.tcp, "", 1, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
}

static void attacker(struct cf_party *p)
{
	for (int round = 1; round <= sp_times(ROUNDS, ROUNDS_FULL); round++) {
		uint64_t seed = page->seed + (uint64_t)round;
		pthread_t t;

		SP_UNTIL(atomic_load(&page->round) == round, "round %d does not begin", round);
		x.rng = (struct sp_rng){ seed };
		x.tcp = cf_tcp_connect((uint16_t)page->port);
		handshake();
		leave_the_wire();
		SP_UNTIL(atomic_load(&page->rkey), "round %d: no connection", round);
		atomic_store(&x.stop, false);
		CF_OK(pthread_create(&t, NULL, scribble, &seed));
		writes();
		if (sp_below(&x.rng, 2))
			sp_busy(100000);
		atomic_store(&x.stop, true);
		CF_OK(pthread_join(t, NULL));
		close(x.tcp);
		shm_pipe_fini(&x.pipe);
		cf_meet(p);
	}
}

static void victim(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct sp_held before = { 0 };
	uint8_t *area = sp_area(3 * ROOM);
	struct ibv_mr *mr;
	struct cf_side s;

	o.rd = 4;
	cf_side(&s, &o);
	memset(area, QUIET, 3 * ROOM);
	mr = cf_mr(s.pd, area + ROOM, ROOM, CF_ALL_ACCESS);
	page->room = (uintptr_t)area + ROOM;
	for (int round = 1; round <= sp_times(ROUNDS, ROUNDS_FULL); round++) {
		uint16_t port;
		int l = cf_tcp_listen(&port), fd;
		struct ibv_wc wc;

		if (round == 3)
			before = sp_held();
		page->port = port;
		atomic_store(&page->rkey, 0);
		atomic_store(&page->round, round);
		fd = cf_tcp_accept(l);
		cf_up(&s, IBV_QPS_INIT, NULL);
		for (int i = 0; i < 8; i++)
			cf_recv(&s, (uint64_t)i, 64 * (uint64_t)i, 64);
		cf_stream_begin(&s, fd, false);
		cf_stream_wait(&s);
		atomic_store(&page->rkey, mr->rkey);
		/* By this thread, or by the one behind. */
		while (round % 2 && cf_state(s.qp) != IBV_QPS_ERR)
			for (int i = 0; i < 100; i++)
				ibv_poll_cq(s.rcq, 1, &wc);
		cf_await_state(s.qp, IBV_QPS_ERR);
		cf_meet(p);
		CF_TRUE(sp_all(area, ROOM, QUIET) && sp_all(area + 2 * ROOM, ROOM, QUIET));
		cf_move(&s, IBV_QPS_RESET, NULL);
		cf_drain(s.scq);
		cf_drain(s.rcq);
		cf_drop_events(s.ctx);
	}
	sp_no_more_than(&before, 8 << 20);
}

static void hostile_peer(void)
{
	page = cf_pages(4096);
	page->seed = sp_seed("hostile stream");
	cf_processes(victim, attacker);
}

const struct cf_check cf_checks[] = {
	{ "+", "a hostile peer in shared memory", CF_STREAM, hostile_peer },
	{ 0 },
};
