/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Processes that come and go: two on one port, one that leaves right after its
 * last completion, one that is killed, fork, daemon().
 */
#include "conf.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 64 };

/* Numbers of one port are unique over its processes, and no process reaches the other's memory. */
static void many_qps(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	uint32_t mine[MANY], theirs[MANY];
	struct cf_side s, t, u;
	struct cf_addr other;

	cf_side(&s, &o);
	for (int i = 0; i < MANY; i++) {
		struct cf_side more;

		cf_side_again(&more, &s);
		mine[i] = more.qp->qp_num;
	}
	cf_swap(p, mine, theirs, sizeof(mine));
	for (int i = 0; i < MANY; i++)
		for (int j = 0; j < MANY; j++)
			/* On a stream no other end sees the number. */
			if (mine[i] == theirs[j] && !cf.iwarp)
				CF_DIE("QP number 0x%x in two processes", mine[i]);
	other = cf_connect(p, &s);
	/* The other's key means nothing in this process. */
	cf_side_again(&t, &s);
	cf_side_again(&u, &s);
	cf_join(&t, &u);
	cf_post(&t, .op = IBV_WR_RDMA_READ, .id = 1, .len = 8, .raddr = other.addr, .rkey = other.rkey);
	cf_wc(t.scq, 1, REM_ACCESS_ERR);
	/* Through the QP that is connected to that process it does. */
	cf_post(&s, .op = IBV_WR_RDMA_WRITE, .id = 2, .len = 8, .raddr = other.addr, .rkey = other.rkey);
	cf_wc(s.scq, 2, SUCCESS);
	cf_meet(p);
}

static void two_on_a_port(void)
{
	cf_processes(many_qps, many_qps);
}

/* A connected QP takes packets of its peer only. */
static void stranger(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b, c;
	struct cf_addr pb;

	o.timeout = 10;
	o.retry = 1;
	cf_pair(&a, &b, &o);
	cf_side_again(&c, &a);
	pb = cf_addr_of(&b);
	/* c says that it is connected to b; b is connected to a. PSN and address are right, so b
	 * answers - to a, which is all it can know. c gets nothing. */
	cf_up(&c, IBV_QPS_RTS, &pb);
	cf_post(&c, .op = IBV_WR_RDMA_WRITE, .id = 1, .len = 8, .to = &b);
	cf_wc(c.scq, 1, RETRY_EXC_ERR);
	CF_EQ(cf_state(a.qp), IBV_QPS_RTS);
	CF_EQ(cf_state(b.qp), IBV_QPS_RTS);
}

/* --- posting without polling --- */

enum { UNPOLLED = 48, ROUNDS = 20 };

/* Both poll for a while, so that the adapter counts on it; then one posts and does not look again
 * before the other has it all. */
static void posts_unpolled(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct cf_side s;

	o.sq = UNPOLLED;
	cf_side(&s, &o);
	cf_connect(p, &s);
	for (int round = 0; round < ROUNDS; round++) {
		cf_meet(p);
		for (int i = 0; i < UNPOLLED; i++)
			cf_post(&s, .op = IBV_WR_SEND, .id = i, .len = 8);
		cf_meet(p);
		for (int i = 0; i < UNPOLLED; i++)
			cf_wc(s.scq, i, SUCCESS);
	}
}

static void takes_unpolled(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct cf_side s;

	o.rq = UNPOLLED;
	cf_side(&s, &o);
	cf_connect(p, &s);
	for (int round = 0; round < ROUNDS; round++) {
		for (int i = 0; i < UNPOLLED; i++)
			cf_recv(&s, i, 0, 64);
		cf_meet(p);
		for (int i = 0; i < UNPOLLED; i++)
			cf_wc(s.rcq, i, SUCCESS);
		cf_meet(p);
	}
}

static void unpolled(void)
{
	cf_processes(posts_unpolled, takes_unpolled);
}

/* --- leaving right after the last completion --- */

enum { LAST = 3 };
static int leavers;
static bool tidy; /* they destroy their QP, and must have acknowledged by then */
static bool sleepy; /* they sleep in the kernel for the only one, and leave by _exit() */

static void sleep_for(struct cf_side *s)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *ctx;

	CF_OK(ibv_get_cq_event(s->chan, &cq, &ctx));
	ibv_ack_cq_events(cq, 1);
	CF_EQ(ibv_poll_cq(s->rcq, 1, &wc), 1);
	CF_EQ(wc.status, IBV_WC_SUCCESS);
	_exit(0);
}

static int messages(void)
{
	return sleepy ? 1 : LAST;
}

static int leave(void *arg)
{
	struct cf_party *p = arg;
	struct cf_opt o = cf_opt();
	struct cf_side s;

	o.chan = sleepy;
	cf_side(&s, &o);
	if (cf.iwarp)
		cf_up(&s, IBV_QPS_INIT, NULL);
	else
		cf_connect(p, &s);
	if (sleepy)
		CF_OK(ibv_req_notify_cq(s.rcq, 0));
	for (int i = 0; i < messages(); i++)
		cf_recv(&s, i, 0, 64);
	if (cf.iwarp)
		cf_connect(p, &s);
	if (sleepy)
		sleep_for(&s);
	for (int i = 0; i < LAST; i++)
		cf_wc(s.rcq, i, SUCCESS);
	if (tidy)
		cf_drop(s.qp);
	exit(0); /* as by returning from main: the rest is not destroyed */
}

static void leaving(struct cf_party *p)
{
	for (int i = 0; i < leavers; i++) {
		cf_reap(cf_child(leave, p));
		if (tidy)
			cf_meet(p);
	}
}

static void staying(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct cf_side s, each;

	o.min_rnr = 6; /* receives come a moment after the connection */
	cf_side(&s, &o);
	for (int i = 0; i < leavers; i++) {
		cf_side_again(&each, &s);
		cf_connect(p, &each);
		for (int k = 0; k < messages(); k++)
			cf_post(&each, .op = IBV_WR_SEND, .id = k, .len = 64);
		if (tidy) /* a process that does not poll is slow to answer that the local path is open */
			cf_meet(p);
		for (int k = 0; k < messages(); k++)
			cf_wc(each.scq, k, SUCCESS);
		cf_drop(each.qp);
		cf_drop(each.scq);
		cf_drop(each.rcq);
	}
}

static void receiver_leaves(void)
{
	leavers = 200;
	cf_processes(staying, leaving);
}

static void receiver_destroys(void)
{
	tidy = true;
	receiver_leaves();
	tidy = false;
}

static void receiver_sleeps(void)
{
	sleepy = true;
	receiver_leaves();
	sleepy = false;
}

static void receiver_leaves_full(void)
{
	leavers = 10000;
	cf_processes(staying, leaving);
}

/* --- leaving by _exit() right after the last call --- */

/* Echoes first, so that the adapter defers what can wait: the acknowledgement, and posts behind many that are not
 * acknowledged. */
enum { ECHOES = 24, BURST = ECHOES, ENDS = 20 };
static bool posts_last; /* the leaver's last calls are posts, else the poll that takes the last message */

static void echo(struct cf_side *s, bool first)
{
	for (int i = 0; i < ECHOES; i++) {
		cf_recv(s, BURST + i, 0, 64);
		if (first)
			cf_post(s, .op = IBV_WR_SEND, .id = i, .len = 64);
		cf_wc(s->rcq, i, SUCCESS);
		if (!first)
			cf_post(s, .op = IBV_WR_SEND, .id = i, .len = 64);
		cf_wc(s->scq, i, SUCCESS);
	}
}

static struct cf_opt for_bursts(void)
{
	struct cf_opt o = cf_opt();

	o.rq = o.sq = o.cqe = 4 * BURST;
	o.min_rnr = 6; /* receives come a moment after the connection */
	return o;
}

static void connect_for_burst(struct cf_party *p, struct cf_side *s)
{
	if (cf.iwarp)
		cf_up(s, IBV_QPS_INIT, NULL);
	else
		cf_connect(p, s);
	for (int i = 0; i < BURST; i++)
		cf_recv(s, i, 0, 64);
	if (cf.iwarp)
		cf_connect(p, s);
}

static int leave_at_once(void *arg)
{
	struct cf_party *p = arg;
	struct cf_opt o = for_bursts();
	struct cf_side s;

	cf_side(&s, &o);
	connect_for_burst(p, &s);
	echo(&s, false);
	if (posts_last)
		for (int i = 0; i < BURST; i++)
			cf_post(&s, .op = IBV_WR_SEND, .id = i, .len = 64);
	else
		for (int i = 0; i < BURST; i++)
			cf_wc(s.rcq, BURST + i, SUCCESS);
	_exit(0);
}

static void leaving_at_once(struct cf_party *p)
{
	for (int i = 0; i < ENDS; i++)
		cf_reap(cf_child(leave_at_once, p));
}

static void seeing_them_leave(struct cf_party *p)
{
	struct cf_opt o = for_bursts();
	struct cf_side first, s;

	cf_side(&first, &o);
	for (int i = 0; i < ENDS; i++) {
		cf_side_again(&s, &first);
		connect_for_burst(p, &s);
		echo(&s, true);
		for (int k = 0; k < BURST; k++)
			if (posts_last)
				cf_wc(s.rcq, BURST + k, SUCCESS);
			else
				cf_post(&s, .op = IBV_WR_SEND, .id = k, .len = 64);
		for (int k = 0; k < BURST && !posts_last; k++)
			cf_wc(s.scq, k, SUCCESS);
		cf_drop(s.qp);
		cf_drop(s.scq);
		cf_drop(s.rcq);
	}
}

static void leaves_with_a_poll(void)
{
	cf_processes(seeing_them_leave, leaving_at_once);
}

static void leaves_with_posts(void)
{
	posts_last = true;
	leaves_with_a_poll();
	posts_last = false;
}

/* A child of vfork() runs on its parent's memory, and its end is not the parent's. */
static void vforked(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	int status;

	cf_pair(&a, &b, &o);
	for (int i = 0; i < 20; i++) {
		pid_t pid = vfork();

		if (pid == 0)
			_exit(7);
		CF_EQ(waitpid(pid, &status, 0), pid);
		CF_EQ(WEXITSTATUS(status), 7);
		cf_recv(&b, i, 0, 64);
		cf_post(&a, .op = IBV_WR_SEND, .id = i, .len = 64);
		cf_wc(b.rcq, i, SUCCESS);
		cf_wc(a.scq, i, SUCCESS);
	}
}

/* --- killed at any moment --- */

enum { KILLS = 12 };

/* On the shared page: rounds in which the victim stands, and in which it shall die. Without the
 * first it could die with a byte of the rendezvous unread, which its successor would take. */
struct rounds {
	_Atomic int ready, die;
};
static int this_round;

static int victim(void *arg)
{
	struct cf_opt o = cf_opt();
	struct cf_party *p = arg;
	struct rounds *r = p->shared;
	struct cf_side s;

	o.len = 1 << 20;
	cf_side(&s, &o);
	cf_connect(p, &s);
	r->ready = this_round + 1;
	while (getppid() != 1)
		cf_drain(s.rcq);
	return 0;
}

static void killer(struct cf_party *p)
{
	struct rounds *r = p->shared;

	for (int i = 0; i < KILLS; i++) {
		this_round = i;
		pid_t pid = cf_child(victim, p);
		char c = 0;
		int status;

		/* The survivor asks for the kill through the shared page. */
		while (r->die != i + 1)
			if (waitpid(pid, &status, WNOHANG) == pid)
				CF_DIE("the victim died on its own");
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		cf_swap(p, &c, &c, 1);
	}
}

/* Also when the end came of itself: the killer waits for the word. */
static void let_die(struct rounds *r, int round)
{
	uint64_t end = cf_ns() + CF_WAIT_MS * 1000000ull;

	while (r->ready != round + 1 && cf_ns() < end)
		;
	CF_EQ(r->ready, round + 1);
	r->die = round + 1;
}

/* False: the victim was taken for dead before it was to die. With timeouts so short that is what
 * waiting for a processor looks like. */
static bool survive_one(struct cf_party *p, struct cf_side *base, int round)
{
	struct cf_side s;
	struct rounds *r = p->shared;
	struct cf_addr peer;
	struct ibv_wc wc;
	int posted = 0, done = 0, until = round * 37 % 200;
	bool failed = false, killed;
	uint64_t end;
	char c = 0;

	cf_side_again(&s, base);
	peer = cf_connect(p, &s);
	end = cf_ns() + CF_WAIT_MS * 1000000ull;
	while (!failed || done < posted) {
		if (!failed && posted - done < 16) {
			cf_post(&s, .op = posted % 3 == 2 ? IBV_WR_RDMA_READ : IBV_WR_RDMA_WRITE,
				.id = posted, .len = 20000, .raddr = peer.addr, .rkey = peer.rkey);
			posted++;
		}
		if (done >= until && r->ready == round + 1)
			r->die = round + 1;
		if (ibv_poll_cq(s.scq, 1, &wc) == 1) {
			CF_EQ(wc.wr_id, done);
			if (failed)
				CF_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
			else if (wc.status != IBV_WC_SUCCESS)
				CF_EQ(wc.status, cf_peer_gone());
			failed |= wc.status != IBV_WC_SUCCESS;
			done++;
		}
		if (cf_ns() > end)
			CF_DIE("no error %d s after the peer was killed", CF_WAIT_MS / 1000);
	}
	CF_EQ(cf_state(s.qp), IBV_QPS_ERR);
	killed = r->die == round + 1;
	if (!killed)
		let_die(r, round);
	cf_swap(p, &c, &c, 1);
	cf_drop(s.qp);
	return killed;
}

static void survivor(struct cf_party *p)
{
	struct cf_opt o = cf_opt();
	struct cf_side base;
	int killed = 0;

	o.timeout = 12;
	o.retry = 3;
	o.len = 1 << 20;
	cf_side(&base, &o);
	for (int i = 0; i < KILLS; i++) {
		bool so = survive_one(p, &base, i);

		killed += so;
		if (!so && base.o.timeout < 18)
			base.o.timeout = (uint8_t)(base.o.timeout + 2);
	}
	CF_TRUE(killed > 0);
	cf_self_send();
}

static void killed_peer(void)
{
	cf_processes(survivor, killer);
}

/* --- many queue pairs of one process that dies --- */

/*
 * A death is told at once where the processes share memory. Two that have not found each other there within 1.5 s,
 * because one of them had no processor for so long, take the wire for the life of the connection, and there the
 * requester's own timeout decides, as between adapters: more than a minute here. So another peer process follows.
 */
enum { ENDING = 64, TOGETHER_MS = 5000, PEERS = 4 };

static int doomed_peer(void *arg)
{
	struct cf_opt o = cf_opt();
	struct cf_party *p = arg;
	struct cf_side base, s;

	cf_side(&base, &o);
	for (int i = 0; i < ENDING; i++) {
		cf_side_again(&s, &base);
		cf_connect(p, &s);
	}
	cf_meet(p);
	for (;;)
		cf_drain(base.rcq);
	return 0;
}

/* Ends when the survivor asks for one peer more than there were. */
static void killer_of_many(struct cf_party *p)
{
	struct rounds *r = p->shared;

	for (int peer = 1;; peer++) {
		pid_t pid;
		int status;

		cf_meet(p);
		if (r->ready < peer)
			return;
		pid = cf_child(doomed_peer, p);
		while (r->die < peer)
			if (waitpid(pid, &status, WNOHANG) == pid)
				CF_DIE("the victim died on its own");
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
	}
}

/* Each has a Send for which the peer has no receive, and whose timeout and retries would last for more than a minute.
 * Returns true if all of them ended in time. */
static bool end_together(struct cf_party *p, struct cf_side *base)
{
	struct rounds *r = p->shared;
	struct cf_side s[ENDING];
	bool told = true;
	uint64_t end;

	for (int i = 0; i < ENDING; i++) {
		cf_side_again(&s[i], base);
		cf_connect(p, &s[i]);
	}
	cf_meet(p);
	for (int i = 0; i < ENDING; i++)
		cf_post(&s[i], .op = IBV_WR_SEND, .id = i, .len = 8);
	cf_quiet(s[ENDING - 1].scq);
	r->die++;
	end = cf_ns() + TOGETHER_MS * 1000000ull;
	for (int i = 0; i < ENDING; i++) {
		struct ibv_wc wc;

		while (told && !ibv_poll_cq(s[i].scq, 1, &wc))
			told = cf_ns() < end;
		if (told) {
			CF_EQ(wc.wr_id, i);
			CF_EQ(wc.status, IBV_WC_RETRY_EXC_ERR);
			CF_EQ(cf_state(s[i].qp), IBV_QPS_ERR);
		}
		cf_drop(s[i].qp);
		cf_drop(s[i].scq);
		cf_drop(s[i].rcq);
	}
	return told;
}

static void survivor_of_many(struct cf_party *p)
{
	struct rounds *r = p->shared;
	struct cf_opt o = cf_opt();
	struct cf_side base;
	bool told = false;

	o.timeout = 21;
	o.retry = 7;
	o.rnr = 7;
	cf_side(&base, &o);
	for (int peer = 0; peer < PEERS && !told; peer++) {
		r->ready++;
		cf_meet(p);
		told = end_together(p, &base);
	}
	cf_meet(p);
	if (!told)
		CF_DIE("%d peer processes died, and none of them within %d s", PEERS, TOGETHER_MS / 1000);
}

static void many_end_together(void)
{
	const char *way = getenv("DAPPLE_LOCAL");

	if (way && (!strcmp(way, "packets") || !strcmp(way, "off")))
		cf_skip("packets have no news of a death: the requester's timeout finds it, as between adapters");
	cf_processes(survivor_of_many, killer_of_many);
}

/* --- fork --- */

static struct cf_side fa, fb;

static int forked_child(void *arg)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_recv_wr rwr = { 0 }, *rbad;
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_ERR };
	struct ibv_qp_init_attr init;
	struct ibv_device_attr d;
	struct ibv_wc wc;

	/* Objects of the parent answer, and move nothing. */
	CF_TRUE(ibv_post_send(fa.qp, &wr, &bad) != 0);
	CF_TRUE(ibv_post_recv(fa.qp, &rwr, &rbad) != 0);
	CF_TRUE(ibv_poll_cq(fa.scq, 1, &wc) <= 0);
	CF_TRUE(ibv_modify_qp(fa.qp, &a, IBV_QP_STATE) != 0);
	ibv_query_qp(fa.qp, &a, IBV_QP_STATE, &init);
	ibv_query_device(fa.ctx, &d);
	ibv_req_notify_cq(fa.scq, 0);
	ibv_destroy_qp(fa.qp);
	cf_self_send();
	return 0;
}

static void fork_in_the_middle(void)
{
	struct cf_opt o = cf_opt();

	cf_pair(&fa, &fb, &o);
	for (int i = 0; i < 5; i++) {
		pid_t pid;

		cf_recv(&fb, i, 0, 64);
		cf_post(&fa, .op = IBV_WR_RDMA_WRITE, .id = 90, .len = 20000, .to = &fb, .quiet = true);
		pid = cf_child(forked_child, NULL);
		cf_post(&fa, .op = IBV_WR_SEND, .id = i, .len = 64);
		cf_wc(fa.scq, i, SUCCESS);
		cf_wc(fb.rcq, i, SUCCESS);
		cf_reap(pid);
	}
}

static struct ibv_context *dctx;
static struct ibv_pd *dpd;

/* As after daemon(): the opener is gone, its child goes on with the opened device. */
static int daemon_child(void *arg)
{
	struct ibv_cq *cq = ibv_create_cq(dctx, 8, NULL, NULL, 0);
	struct cf_side s = { .o = cf_opt(), .ctx = dctx, .pd = dpd, .scq = cq, .rcq = cq }, end;

	if (!cq)
		CF_DIE("no CQ after daemon(): %s", strerror(errno));
	s.buf = cf_pages(4096);
	s.mr = cf_mr(dpd, s.buf, 4096, CF_ALL_ACCESS);
	s.qp = cf_qp(dpd, &(struct ibv_qp_init_attr){ .qp_type = IBV_QPT_RC, .send_cq = cq,
		     .recv_cq = cq, .cap = { 4, 4, 1, 1, 0 } });
	cf_loop(&s, &end);
	cf_post(&s, .op = IBV_WR_RDMA_WRITE, .id = 1, .len = 64, .to = &s, .roff = 128);
	cf_wc(cq, 1, SUCCESS);
	cf_drop(s.qp);
	if (end.qp != s.qp)
		cf_drop(end.qp);
	cf_drop(s.mr);
	CF_OK(ibv_destroy_cq(cq));
	return 0;
}

static void daemonize(void)
{
	dctx = cf_open();
	dpd = cf_pd(dctx);
	cf_reap(cf_child(daemon_child, NULL));
}

/*
 * Memory caches replace these calls of libc in the whole process, and verbs are called from them. So no library
 * of the engine uses them; libc's own uses do not come here.
 */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define HOOK __attribute__((visibility("default"))) /* the libraries call these */

static atomic_int hooked;

HOOK void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	hooked++;
	return (void *)syscall(SYS_mmap, at, len, (long)prot, (long)flags, (long)fd, offset);
}

HOOK int munmap(void *at, size_t len)
{
	hooked++;
	return (int)syscall(SYS_munmap, at, len);
}

HOOK int madvise(void *at, size_t len, int advice)
{
	hooked++;
	return (int)syscall(SYS_madvise, at, len, (long)advice);
}

static void memory_hooks(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	void *page;
	int before;

	/* The hooks are in place. */
	page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CF_TRUE(page != MAP_FAILED && hooked == 1);
	munmap(page, 4096);
	o.len = 1 << 20;
	cf_pair(&a, &b, &o);
	before = hooked; /* the suite's own buffers */
	for (uint32_t n = 1; n <= o.len / 2; n *= 4) {
		cf_recv(&b, n, 0, n);
		cf_post(&a, .op = IBV_WR_SEND, .id = n, .len = n);
		cf_wc(b.rcq, n, SUCCESS);
		cf_wc(a.scq, n, SUCCESS);
		cf_post(&a, .op = IBV_WR_RDMA_READ, .id = n, .len = n, .to = &b);
		cf_wc(a.scq, n, SUCCESS);
	}
	cf_drop(a.qp);
	cf_drop(b.qp);
	CF_EQ(hooked, before);
}
#else
static void memory_hooks(void)
{
	cf_skip("sanitizers follow mappings through libc's calls");
}
#endif

const struct cf_check cf_checks[] = {
	{ "99", "two processes on one port", 0, two_on_a_port },
	{ "99", "a QP answers its peer only", CF_PATH, stranger },
	{ "+", "posts that no poll follows leave all the same", 0, unpolled },
	{ "+", "the receiver leaves after its last completion", 0, receiver_leaves },
	{ "+", "the receiver destroys its QP after its last completion", CF_PATH, receiver_destroys },
	{ "+", "the receiver sleeps for its last message and leaves by _exit()", 0, receiver_sleeps },
	{ "+", "the receiver polls for its last message and leaves by _exit()", 0, leaves_with_a_poll },
	{ "+", "the sender posts its last messages and leaves by _exit()", 0, leaves_with_posts },
	{ "+", "a child of vfork() leaves by _exit()", 0, vforked },
	{ "+", "the receiver leaves, ten thousand times", CF_FULL, receiver_leaves_full },
	{ "+", "the peer is killed at any moment", 0, killed_peer },
	{ "+", "the queue pairs of a killed peer end together", CF_RNR, many_end_together },
	{ "100", "fork in the middle", 0, fork_in_the_middle },
	{ "+", "daemon() after opening", 0, daemonize },
	{ "+", "no call of libc's that memory caches replace", 0, memory_hooks },
	{ 0 },
};
