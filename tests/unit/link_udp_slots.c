/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Many processes on one port. Members join, leave, are killed and stopped in a
 * seeded order while every one sends to every other; each datagram to a living
 * member must arrive (but for the moment of a crash), and handing on must
 * cease once the order is known again. Then: another user, and the right to write into a mailbox.
 */
#include "shm_channel_util.h"

#include "link/udp/explain.h"
#include "util/rng.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/un.h>
#include <sys/wait.h>

#define PLACES 8
#define WINDOW 4 /* datagrams in flight per pair: no buffer overflows */
#define ROUNDS 40

enum state { NONE, LIVING, LEAVING };

struct place {
	_Atomic int state;
	_Atomic uint32_t qpn, alive_for; /* alive_for: which members see it */
	_Atomic uint64_t forwarded, dropped, turns;
	_Atomic uint32_t sent[PLACES], got[PLACES];
};

static struct board {
	_Atomic int pause;
	struct place place[PLACES];
} *board;

static uint16_t port;
static pid_t pids[PLACES];
static bool stopped[PLACES];

static struct link *udp; /* below the last member() */

static struct link *member(void)
{
	struct link *l;

	CHECK(udp_open(port, &l) == 0);
	udp = l;
#ifdef LOCAL
	go_local(&l);
#endif
	return l;
}

static void take(int me, const struct link_rx *v)
{
	CHECK(v->len == 32 && v->data[8] < PLACES);
	board->place[me].got[v->data[8]]++;
}

static void say_to(struct link *l, int me, int to)
{
	struct ut_flow f = flow_to(LO4, LO4, (uint16_t)(50000 + me));
	struct place *p = &board->place[to];
	uint8_t data[32] = { 0 };

	if (p->state != LIVING || board->place[me].sent[to] - p->got[me] >= WINDOW)
		return;
	put_bth(data, p->qpn | 0x55);
	data[8] = (uint8_t)me;
	board->place[me].sent[to]++;
	if (l->ops->send(l, &f, p->qpn | 0x55, data, 32, 32) < 0)
		board->place[me].sent[to]--;
}

static void live(int me)
{
	struct place *self = &board->place[me];
	struct udp_stats st;
	struct link_rx v[16];
	struct link *l;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	l = member();
	CHECK(l->ops->add_addr(l, LO4, 0) == 0);
	self->qpn = l->qpn_fixed;
	self->state = LIVING;
	while (self->state == LIVING) {
		int n = recv_wait(l, v, 16, UT_MS);

		for (int i = 0; i < n; i++)
			take(me, &v[i]);
		for (int to = 0; to < PLACES && !board->pause; to++)
			say_to(l, me, to);
		udp_stats(udp, &st);
		self->forwarded = st.forwarded;
		self->dropped = st.dropped;
		self->turns++;
	}
	l->ops->close(l);
	_exit(0);
}

static void await(const char *what, bool (*cond)(void))
{
	uint64_t end = ut_now() + 60 * UT_S;

	while (!cond()) {
		if (ut_now() > end) {
			fprintf(stderr, "timed out: %s\n", what);
			for (int i = 0; i < PLACES; i++)
				fprintf(stderr, "%d: state %d, %llu handed on, %llu dropped\n", i,
					board->place[i].state,
					(unsigned long long)board->place[i].forwarded,
					(unsigned long long)board->place[i].dropped);
			for (int i = 0; i < PLACES; i++)
				for (int k = 0; k < PLACES; k++)
					if (board->place[i].sent[k] != board->place[k].got[i])
						fprintf(stderr, "%d -> %d: %u sent, %u arrived\n", i,
							k, board->place[i].sent[k],
							board->place[k].got[i]);
			exit(1);
		}
		usleep(500);
	}
}

static bool runs(int i)
{
	return pids[i] && !stopped[i] && board->place[i].state == LIVING;
}

static int newest;

static bool newest_lives(void)
{
	return board->place[newest].state == LIVING;
}

static uint64_t drops_known[PLACES];

/* A member that had no processor for a while has a full mailbox: datagrams handed on to it then
 * are dropped, and counted by the sender. */
static uint64_t drops(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < PLACES; i++)
		sum += board->place[i].dropped - drops_known[i];
	return sum;
}

static bool all_arrived(void)
{
	uint64_t missing = 0;

	for (int i = 0; i < PLACES; i++)
		for (int k = 0; k < PLACES; k++)
			if (runs(i) && runs(k))
				missing += board->place[i].sent[k] - board->place[k].got[i];
	return missing <= drops();
}

static uint64_t mark_turns[PLACES];

/* Every running member went round a few times: its earlier views are over. */
static bool all_turned(void)
{
	for (int i = 0; i < PLACES; i++)
		if (runs(i) && board->place[i].turns < mark_turns[i] + 3)
			return false;
	return true;
}

static void turn_all(void)
{
	for (int i = 0; i < PLACES; i++)
		mark_turns[i] = board->place[i].turns;
	await("every member to go round", all_turned);
}

static uint64_t forwarded(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < PLACES; i++)
		if (runs(i))
			sum += board->place[i].forwarded;
	return sum;
}

static uint32_t mark_got[PLACES][PLACES];

static bool much_arrived(void)
{
	if (drops())
		return true;
	for (int i = 0; i < PLACES; i++)
		for (int k = 0; k < PLACES; k++)
			if (runs(i) && runs(k) && board->place[k].got[i] - mark_got[k][i] < 20)
				return false;
	return true;
}

/* Both ends forget the losses by a crash or a full mailbox; no process sends meanwhile. */
static void forget(void)
{
	board->pause = 1;
	turn_all();
	turn_all();
	for (int i = 0; i < PLACES; i++)
		for (int k = 0; k < PLACES; k++)
			board->place[i].sent[k] = board->place[k].got[i] = 0;
	for (int i = 0; i < PLACES; i++)
		drops_known[i] = board->place[i].dropped;
	board->pause = 0;
}

/* Twenty datagrams of every pair, and no process had to hand one on. */
static bool steered(void)
{
	uint64_t before;

	if (drops())
		forget();
	before = forwarded();
	for (int k = 0; k < PLACES; k++)
		for (int i = 0; i < PLACES; i++)
			mark_got[k][i] = board->place[k].got[i];
	await("traffic between all", much_arrived);
	return !drops() && forwarded() == before;
}

static void join(int i)
{
	board->place[i].dropped = drops_known[i] = 0;
	pids[i] = fork();
	CHECK(pids[i] >= 0);
	if (pids[i] == 0)
		live(i);
	newest = i;
	await("a joiner", newest_lives);
}

static void disconnect_dead(int i)
{
	int status;

	CHECK(waitpid(pids[i], &status, 0) == pids[i]);
	CHECK(status == 0 || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
	pids[i] = 0;
	board->place[i].state = NONE;
}

static uint64_t quickest = UINT64_MAX; /* join beside a member that is stopped */

static void act(int i, unsigned what)
{
	static const char *const names[] = { "join", "leave", "kill", "stop" };
	bool lossy = false;

	if (!pids[i]) {
		what = 0;
		join(i);
	} else if (what <= 1) {
		what = 1;
		board->place[i].state = LEAVING;
		disconnect_dead(i);
	} else if (what == 2) {
		board->place[i].state = LEAVING;
		kill(pids[i], SIGKILL);
		disconnect_dead(i);
		lossy = true;
	} else {
		int other = -1;

		kill(pids[i], SIGSTOP);
		stopped[i] = true;
		for (int k = 0; k < PLACES; k++)
			if (!pids[k])
				other = k;
		if (other >= 0) {
			uint64_t start = ut_now();

			join(other);
			if (ut_now() - start < quickest)
				quickest = ut_now() - start;
		}
		stopped[i] = false;
		kill(pids[i], SIGCONT);
		lossy = true; /* a stopped mailbox is short */
	}
	if (getenv("VERBOSE"))
		fprintf(stderr, "%s %d\n", names[what], i);
	if (lossy)
		forget();
	await("the order to be known", steered);
	board->pause = 1;
	await("all that was sent", all_arrived);
	/* Processes that are gone left counts behind. */
	for (int k = 0; k < PLACES; k++)
		if (!pids[k])
			for (int j = 0; j < PLACES; j++) {
				board->place[k].sent[j] = board->place[k].got[j] = 0;
				board->place[j].sent[k] = board->place[j].got[k] = 0;
			}
	board->pause = 0;
}

static void test_members(void)
{
	struct ut_rng rng = { 20240 };
	uint64_t end = ut_now() + 40 * UT_S;

	if (getenv("SEED"))
		rng.state = strtoull(getenv("SEED"), NULL, 0);
	fprintf(stderr, "seed %llu\n", (unsigned long long)rng.state);
	for (int i = 0; i < 4; i++)
		act(i, 0);
	for (int n = 0; n < ROUNDS && ut_now() < end; n++)
		act((int)ut_rng_below(&rng, PLACES), ut_rng_below(&rng, 5) % 4);
	for (int i = 0; i < PLACES; i++)
		if (pids[i]) {
			board->place[i].state = LEAVING;
			disconnect_dead(i);
		}
	CHECK(quickest == UINT64_MAX || quickest < 3 * UT_S);
}

/* Written as by another user: the right form, the wrong uid. */
static void forge_mail(unsigned slot)
{
	struct sockaddr_un sun = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
	uint8_t mail[40 + 32] = { 0x31, 0x50, 0x4c, 0x44, 4 };
	int n = snprintf(sun.sun_path + 1, sizeof(sun.sun_path) - 1,
			 "dapple-roce/127.0.0.1/%u/%u", port, slot);

	put_bth(mail + 40, slot << 16 | 5);
	CHECK(sendto(fd, mail, sizeof(mail), 0, (struct sockaddr *)&sun,
		     (socklen_t)(sizeof(sa_family_t) + 1 + (size_t)n)) == sizeof(mail));
	close(fd);
}

static void as_nobody(unsigned slot)
{
	struct link *l;

	CHECK(setgid(65534) == 0 && setuid(65534) == 0);
	l = member();
	CHECK(l->ops->add_addr(l, LO4, 0) == -EADDRINUSE);
	CHECK(strstr(udp_explain(LO4, port, -EADDRINUSE), "another user"));
	l->ops->close(l);
	forge_mail(slot);
	_exit(0);
}

static void test_stranger(void)
{
	struct udp_stats st;
	struct link_rx v[4];
	struct link *l;
	int status;
	pid_t pid;

	if (geteuid()) {
		fprintf(stderr, "not root: no second user to test with\n");
		return;
	}
	l = member();
	CHECK(l->ops->add_addr(l, LO4, 0) == 0);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		as_nobody(l->qpn_fixed >> 16);
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	CHECK(recv_wait(l, v, 4, 20 * UT_MS) == 0);
	udp_stats(udp, &st);
	CHECK(st.received_forwarded == 0);
	/* The same words from ourselves are heard: the form was right. */
	forge_mail(l->qpn_fixed >> 16);
	CHECK(recv_wait(l, v, 4, 20 * UT_S) == 1 && v[0].len == 32);
	l->ops->close(l);
}

int main(void)
{
	port = free_port();
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	CHECK(board != MAP_FAILED);
	test_stranger();
	test_members();
	return 0;
}
