/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * QP1 among many processes: requests reach the process that has claimed the service they name,
 * answers the process whose slot is in the ID they name, and neither a stopped nor a dead process
 * keeps the others from it.
 */
#include "link_udp_util.h"
#include "link/udp/sock.h"
#include "link/udp/steer.h"

#include "link/udp/state.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/un.h>
#include <sys/wait.h>

#define MAD_BYTES 280u /* BTH, DETH, MAD, ICRC */
#define CLASS 21
#define ATTR 36
#define LOCAL_ID 44
#define REMOTE_ID 48
#define MARK 100 /* where the tests number their datagrams */
#define SERVICE 0x0000000001061c06ull

enum { REQ = 0x10, MRA, REJ, REP, RTU, DREQ, DREP, SIDR_REQ, SIDR_REP, LAP, APR };

/* Not the members' address: as a peer somewhere else. */
static const uint8_t PEER[16] = { [10] = 0xff, 0xff, 127, 0, 0, 2 };

static uint16_t port;
static struct link *peer;

static struct link *member(void)
{
	struct link *l;

	CHECK(udp_open(port, &l) == 0 && l->ops->add_addr(l, LO4, 0) == 0);
	return l;
}

static void put_mad(uint8_t p[MAD_BYTES], unsigned attr, uint32_t local, uint32_t remote,
		    unsigned mark)
{
	memset(p, 0, MAD_BYTES);
	put_bth(p, 1);
	p[0] = 0x64;
	p[CLASS] = 7;
	p[ATTR + 1] = (uint8_t)attr;
	for (int i = 0; i < 4; i++) {
		p[LOCAL_ID + i] = (uint8_t)(local >> (24 - 8 * i));
		p[REMOTE_ID + i] = (uint8_t)(remote >> (24 - 8 * i));
	}
	p[MARK] = (uint8_t)(mark >> 8);
	p[MARK + 1] = (uint8_t)mark;
}

static unsigned mark_of(const struct link_rx *rx)
{
	CHECK(rx->len == MAD_BYTES);
	return (unsigned)rx->data[MARK] << 8 | rx->data[MARK + 1];
}

static void say(unsigned attr, uint32_t local, uint32_t remote, unsigned mark)
{
	struct ut_flow f = flow_to(PEER, LO4, 55410);
	uint8_t p[MAD_BYTES];

	put_mad(p, attr, local, remote, mark);
	CHECK(peer->ops->send(peer, &f, 0, p, sizeof(p), sizeof(p)) == 0);
}

static struct udp_stats stats(struct link *l)
{
	struct udp_stats st;

	udp_stats(l, &st);
	return st;
}

static void nothing(struct link *l)
{
	struct link_rx v[4];

	CHECK(recv_wait(l, v, 4, 5 * UT_MS) == 0);
}

/* Every message that names an ID of ours comes to its slot by the kernel's hand alone. */
static void test_answers(void)
{
	static const uint8_t attrs[] = { MRA, REJ, REP, RTU, DREQ, DREP, LAP, APR, SIDR_REP };
	struct link *l[3] = { member(), member(), member() };
	struct link_rx v[4];

	for (unsigned k = 0; k < 3; k++)
		nothing(l[k]); /* the order is settled */
	for (unsigned i = 0; i < sizeof(attrs); i++)
		for (unsigned k = 0; k < 3; k++) {
			uint32_t id = l[k]->qpn_fixed << 8 | 0x1234;
			bool sidr = attrs[i] == SIDR_REP;

			say(attrs[i], sidr ? id : 0xffffffff, sidr ? 0xffffffff : id, i * 3 + k);
			CHECK(recv_wait(l[k], v, 4, 30 * UT_S) == 1);
			CHECK(mark_of(v) == i * 3 + k && !v[0].passed);
			CHECK(!memcmp(v[0].src, PEER, 16) && !memcmp(v[0].dst, LO4, 16));
		}
	for (unsigned k = 0; k < 3; k++) {
		nothing(l[k]);
		CHECK(stats(l[k]).forwarded == 0);
		l[k]->ops->close(l[k]);
	}
}

/* One train is one receive: its parts are sorted here. */
static void test_train(void)
{
	struct link *l[2] = { member(), member() };
	struct ut_flow f = flow_to(PEER, LO4, 55410);
	uint8_t p[8][MAD_BYTES];
	struct link_rx v[8];
	unsigned got[2] = { 0, 0 };

	for (unsigned i = 0; i < 8; i++)
		put_mad(p[i], RTU, 0, l[i & 1]->qpn_fixed << 8, i);
	CHECK(peer->ops->send(peer, &f, 0, p[0], sizeof(p), MAD_BYTES) == 0);
	for (uint64_t end = ut_now() + 30 * UT_S; got[0] + got[1] < 8;) {
		CHECK(ut_now() < end);
		for (unsigned k = 0; k < 2; k++)
			for (int i = 0, n = recv_wait(l[k], v, 8, UT_MS); i < n; i++, got[k]++)
				CHECK((mark_of(&v[i]) & 1) == k);
	}
	CHECK(got[0] == 4 && got[1] == 4);
	for (unsigned k = 0; k < 2; k++)
		l[k]->ops->close(l[k]);
}

/* An ID whose process is gone, and a MAD that is no message of a connection: one process gets it, once. */
static void test_anybody(void)
{
	struct link *l[2] = { member(), member() };
	struct link_rx v[4];

	for (unsigned i = 0; i < 40; i++) {
		int n;

		if (i % 4 == 3) { /* too short for any class */
			struct ut_flow f = flow_to(PEER, LO4, 55410);
			uint8_t p[MAD_BYTES];

			put_mad(p, 0, 0, 0, i);
			CHECK(peer->ops->send(peer, &f, 0, p, 30, 30) == 0);
		} else {
			say(i % 4 == 0 ? DREQ : i % 4 == 1 ? REP : SIDR_REP, 0xfe000000,
			    i % 8 == 0 ? 0xff000000 : 0x4d000001, i);
		}
		n = recv_wait(l[0], v, 4, UT_MS);
		n += recv_wait(l[1], v, 4, n ? UT_MS : 30 * UT_S);
		for (uint64_t end = ut_now() + 30 * UT_S; !n && ut_now() < end;)
			n = recv_wait(l[0], v, 4, UT_MS);
		CHECK(n == 1);
	}
	for (unsigned k = 0; k < 2; k++) {
		CHECK(stats(l[k]).forwarded == 0 && stats(l[k]).dropped == 0);
		l[k]->ops->close(l[k]);
	}
}

/* The requests that l got: how many of them it passed on, and took. */
static void serve(struct link *l, bool owner, unsigned *passed, unsigned *taken)
{
	struct link_rx v[8];
	int n = recv_wait(l, v, 8, UT_MS);

	for (int i = 0; i < n; i++) {
		int r = l->ops->pass_on(l, &v[i], SERVICE);

		CHECK(!memcmp(v[i].src, PEER, 16) && !memcmp(v[i].dst, LO4, 16));
		CHECK(v[i].sport == 55410 || v[i].sport == port);
		CHECK(r == (owner || v[i].passed ? 0 : 1));
		CHECK(l->ops->pass_on(l, &v[i], SERVICE + 1) == 0);
		*passed += r == 1;
		*taken += r == 0;
	}
}

static void test_claims(void)
{
	struct link *a = member(), *b = member();
	unsigned passed = 0, taken = 0, none = 0;
	uint64_t end = ut_now() + 60 * UT_S;

	CHECK(a->ops->claim(a, PEER, SERVICE) == -EADDRNOTAVAIL);
	CHECK(b->ops->claim(b, LO4, SERVICE) == 0);
	CHECK(a->ops->claim(a, LO4, SERVICE) == -EADDRINUSE);
	CHECK(b->ops->claim(b, LO4, SERVICE) == -EADDRINUSE);
	CHECK(a->ops->claim(a, LO4, SERVICE ^ 0x10000) == 0); /* another port space */
	a->ops->unclaim(a, LO4, SERVICE); /* not ours: nothing happens */
	for (unsigned i = 0; i < 64; i++) {
		say(i & 1 ? REQ : SIDR_REQ, i, 0, i);
		if (i % 8 == 7)
			while (taken < i + 1) {
				CHECK(ut_now() < end);
				serve(a, false, &passed, &none);
				serve(b, true, &none, &taken);
			}
	}
	/* Drawn anew each time: one in 2^64 runs has all at one of them. */
	CHECK(taken == 64 && passed > 0 && passed < 64 && none == 0);
	CHECK(stats(a).passed_on == passed && stats(b).received_passed == passed);
	b->ops->unclaim(b, LO4, SERVICE);
	CHECK(a->ops->claim(a, LO4, SERVICE) == 0);
	b->ops->close(b);
	a->ops->close(a); /* with its claims */
	a = member();
	CHECK(a->ops->claim(a, LO4, SERVICE) == 0);
	/* The claim outlives the address. */
	a->ops->del_addr(a, LO4);
	CHECK(a->ops->add_addr(a, LO4, 0) == 0);
	CHECK(a->ops->claim(a, LO4, SERVICE) == -EADDRINUSE);
	a->ops->close(a);
}

/* Numbers with our slot are out: an address whose name for it is taken is refused. */
static void test_given(void)
{
	static const uint8_t other[16] = { [10] = 0xff, 0xff, 127, 0, 0, 3 };
	struct link *a, *b = member();
	uint32_t fixed = b->qpn_fixed;

	CHECK(udp_open(port, &a) == 0 && a->ops->add_addr(a, other, 0) == 0);
	CHECK(a->qpn_fixed == fixed); /* the first one of that address */
	b->qpn_given = true;
	CHECK(b->ops->add_addr(b, other, 0) == -EADDRINUSE && b->qpn_fixed == fixed);
	b->ops->del_addr(b, LO4);
	CHECK(b->qpn_fixed == fixed && b->ops->add_addr(b, LO4, 0) == 0 && b->qpn_fixed == fixed);
	b->qpn_given = false;
	CHECK(b->ops->add_addr(b, other, 0) == 0 && b->qpn_fixed != fixed);
	a->ops->close(a);
	b->ops->close(b);
}

/* --- processes --- */

static struct board {
	_Atomic unsigned living, got;
	_Atomic int stop;
} *board;

static pid_t start(bool claims)
{
	unsigned before = board->living;
	uint64_t end = ut_now() + 60 * UT_S;
	pid_t pid = fork();
	struct link_rx v[8];
	struct link *l;

	CHECK(pid >= 0);
	if (pid) {
		while (board->living == before && ut_now() < end)
			usleep(500);
		CHECK(board->living == before + 1);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	l = member();
	CHECK(!claims || l->ops->claim(l, LO4, SERVICE) == 0);
	board->living++;
	while (!board->stop) {
		int n = recv_wait(l, v, 8, UT_MS);

		for (int i = 0; i < n; i++)
			if (l->ops->pass_on(l, &v[i], SERVICE) == 0 && claims)
				board->got++;
	}
	l->ops->close(l);
	_exit(0);
}

static void finish(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
}

static bool got_more(unsigned than, uint64_t ns)
{
	uint64_t end = ut_now() + ns;

	while (board->got <= than && ut_now() < end)
		usleep(200);
	return board->got > than;
}

/* Requests that a stopped member has got are lost for now; a repeated one is not. */
static void test_stopped_sibling(void)
{
	pid_t owner = start(true), other = start(false), stopped = start(false);
	unsigned worst = 0;

	CHECK(kill(stopped, SIGSTOP) == 0 && waitpid(stopped, NULL, WUNTRACED) == stopped);
	for (unsigned i = 0; i < 30; i++) {
		unsigned before = board->got, tries = 0;

		do {
			say(REQ, i, 0, i);
			CHECK(++tries < 600);
		} while (!got_more(before, 50 * UT_MS));
		worst = tries > worst ? tries : worst;
	}
	CHECK(worst > 1); /* or nothing was tried */
	CHECK(kill(stopped, SIGCONT) == 0);
	board->stop = 1;
	finish(owner);
	finish(other);
	finish(stopped);
	board->stop = 0;
}

/* Its queue is small, the messages that wait for it are bounded, and no other process waits with it. */
static void test_stopped_claimant(void)
{
	pid_t owner = start(true);
	struct link *l = member();
	uint8_t p[MAD_BYTES];
	struct link_rx rx = { .data = p, .len = sizeof(p), .sport = 55410, .ttl = 64 };
	uint64_t t, quickest = UINT64_MAX;
	unsigned before = board->got;

	put_mad(p, REQ, 1, 0, 1);
	memcpy(rx.src, PEER, 16);
	memcpy(rx.dst, LO4, 16);
	CHECK(kill(owner, SIGSTOP) == 0 && waitpid(owner, NULL, WUNTRACED) == owner);
	for (int k = 0; k < 10; k++) {
		t = ut_now();
		for (int i = 0; i < 500; i++)
			CHECK(l->ops->pass_on(l, &rx, SERVICE) == 1);
		t = ut_now() - t;
		quickest = t < quickest ? t : quickest;
	}
	CHECK(quickest < UT_S / 10);
	CHECK(stats(l).passed_on < 1024 && stats(l).dropped > 3000);
	CHECK(kill(owner, SIGCONT) == 0);
	CHECK(got_more(before, 30 * UT_S));
	/* A dead one has no name. */
	CHECK(kill(owner, SIGKILL) == 0 && waitpid(owner, NULL, 0) == owner);
	nothing(l); /* messages that waited for it are dropped */
	CHECK(l->ops->pass_on(l, &rx, SERVICE) == 0);
	CHECK(l->ops->claim(l, LO4, SERVICE) == 0);
	l->ops->close(l);
}

/* Members come and go; a claimant that stays gets every single request. */
static void test_leavers(void)
{
	pid_t owner = start(true);
	unsigned before = board->got, sent = 0;

	for (int round = 0; round < 6; round++) {
		struct link *l = member();

		for (int i = 0; i < 8; i++)
			say(REQ, 1, 0, sent++);
		l->ops->close(l); /* with the messages that it has not read */
		/* No more at once than its mailbox holds while it has no processor. */
		CHECK(got_more(before + sent - 1, 30 * UT_S));
	}
	CHECK(board->got == before + sent);
	board->stop = 1;
	finish(owner);
	board->stop = 0;
}

/* Another user's message in the mailbox of a claim is ignored; the same message from us is not. */
static void forge(void)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	uint8_t mail[40 + MAD_BYTES] = { 0 };
	uint32_t magic = 0x444c5031u;
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0), n;

	n = snprintf(sun.sun_path + 1, sizeof(sun.sun_path) - 1, "dapple-cm/127.0.0.1/%u/106/7174",
		     port);
	memcpy(mail, &magic, 4);
	mail[4] = 4; /* forwarded */
	put_mad(mail + 40, REQ, 1, 0, 1);
	CHECK(sendto(fd, mail, sizeof(mail), 0, (struct sockaddr *)&sun,
		     (socklen_t)(sizeof(sa_family_t) + 1 + (size_t)n)) == sizeof(mail));
	close(fd);
}

static void test_stranger(void)
{
	struct link *l = member();
	struct link_rx v[4];
	int status;
	pid_t pid;

	CHECK(l->ops->claim(l, LO4, SERVICE) == 0);
	if (geteuid() == 0) {
		pid = fork();
		CHECK(pid >= 0);
		if (pid == 0) {
			CHECK(setgid(65534) == 0 && setuid(65534) == 0);
			forge();
			_exit(0);
		}
		CHECK(waitpid(pid, &status, 0) == pid && status == 0);
		nothing(l);
	} else {
		fprintf(stderr, "not root: no second user to test with\n");
	}
	forge();
	CHECK(recv_wait(l, v, 4, 30 * UT_S) == 1 && v[0].passed && mark_of(v) == 1);
	l->ops->close(l);
}

/* The kernel takes the program of the largest group. */
static void test_full_program(void)
{
	int fd = udp_sock_main(LO4, free_port(), 0);
	uint16_t at[256];

	CHECK(fd >= 0);
	for (unsigned i = 0; i < 256; i++)
		at[i] = (uint16_t)(255 - i);
	CHECK(udp_steer(fd, at, 0) == 0 && udp_steer(fd, at, 1) == 0 &&
	      udp_steer(fd, at, 256) == 0);
	close(fd);
}

int main(void)
{
	port = free_port();
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	CHECK(board != MAP_FAILED);
	CHECK(udp_open(port, &peer) == 0 && peer->ops->add_addr(peer, PEER, 0) == 0);
	test_full_program();
	test_answers();
	test_train();
	test_anybody();
	test_claims();
	test_given();
	test_stranger();
	test_stopped_sibling();
	test_stopped_claimant();
	test_leavers();
	peer->ops->close(peer);
	return 0;
}
