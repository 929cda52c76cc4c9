/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Ends that are killed at any moment - starting, joining, connecting, in the middle of traffic both
 * ways - while one survivor stays:
 *
 *     killer                       survivor                       victims, LANES at a time
 *     forks and kills them         a QP for each, traffic   <->   traffic, until they are killed
 *
 * The survivor has an error for all that was posted, in time; its descriptors, mappings and memory
 * do not grow; and it can connect and send as before. The same when a child that the victim has
 * forked lives on, with its inherited descriptors.
 */
#include "speed.h"

#include <netinet/in.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { LANES = 10, WAVES = 6, WAVES_FULL = 125, WARM = 2, WINDOW = 8, AREA = 65536,
       LAST_WORK = 200 };
enum heir { NO_HEIR, FORKED, FORKED_RAW };

/* 16.8 ms, three times; a requester may wait four times as long. The machine may add delays of its own. */
#define TIMEOUT 12
#define RETRIES 2
#define IN_TIME (3 * 4 * 16800000ull + 10000000000ull)

static struct page {
	_Atomic int ready, done; /* waves: prepared by the survivor, survived by it */
	_Atomic uint16_t port;   /* streams */
	uint64_t seed;
	pid_t check; /* the heirs end with it */
	struct lane {
		struct cf_addr survivor, victim;
		_Atomic int known, up, doomed, dead; /* waves in which the victim was so */
		_Atomic int worked;          /* the last: it has all its completions */
		_Atomic uint64_t died;       /* when */
	} lane[LANES];
} *page;
static enum heir heir;
static int waves; /* of killing */
static int working; /* one more, whose victims work and leave */

struct victim {
	int wave, lane;
};

/* --- traffic, of either end --- */

struct end {
	struct cf_side s;
	struct cf_addr peer;
	struct sp_rng rng;
	uint64_t posted, done;
	bool failed;
	struct cf_timeout since_death;
	enum { WAITS, RUNS, OVER } is;
};

static void post_some(struct end *e)
{
	static const enum ibv_wr_opcode ops[] = { IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ,
						  IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_SEND };

	while (!e->failed && e->posted - e->done < WINDOW) {
		/* A Send needs a receive on a stream. */
		enum ibv_wr_opcode op = ops[sp_below(&e->rng, cf.iwarp ? 3 : 4)];
		uint32_t len = op == IBV_WR_ATOMIC_FETCH_AND_ADD ? 8 : sp_size(&e->rng, 8, AREA / 2);

		cf_post(&e->s, .op = op, .id = e->posted++, .off = AREA / 2, .len = len,
			.raddr = e->peer.addr, .rkey = e->peer.rkey, .add = 1);
	}
}

static enum ibv_wc_status take_some(struct end *e)
{
	enum ibv_wc_status first = IBV_WC_SUCCESS;
	struct ibv_wc wc;

	for (int i = 0; i < WINDOW && ibv_poll_cq(e->s.scq, 1, &wc) == 1; i++) {
		CF_EQ(wc.wr_id, e->done++);
		if (wc.status != IBV_WC_SUCCESS && !e->failed)
			first = wc.status;
		else if (e->failed)
			CF_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
		e->failed |= wc.status != IBV_WC_SUCCESS;
	}
	while (ibv_poll_cq(e->s.rcq, 1, &wc) == 1)
		if (wc.status == IBV_WC_SUCCESS)
			cf_recv(&e->s, 0, AREA / 2, AREA / 2);
	return first;
}

static void post_receives(struct end *e)
{
	cf_up(&e->s, IBV_QPS_INIT, NULL);
	for (int i = 0; i < 2 * WINDOW; i++)
		cf_recv(&e->s, 0, AREA / 2, AREA / 2);
}

static struct cf_opt options(bool last)
{
	struct cf_opt o = cf_opt();

	o.len = AREA;
	o.min_rnr = 1;
	o.timeout = last ? 18 : TIMEOUT; /* 1.1 s, eight times: a machine may stand still for seconds */
	o.retry = last ? 7 : RETRIES;
	return o;
}

/* --- the victims --- */

static void leave_heir(void)
{
	pid_t pid = heir == FORKED ? fork() : heir == FORKED_RAW ? _Fork() : 1;

	CF_TRUE(pid >= 0);
	while (pid == 0) {
		usleep(50000);
		if (kill(page->check, 0) < 0)
			_exit(0);
	}
}

static int stream_to(uint16_t port, int lane)
{
	int fd = cf_tcp_connect(port);

	CF_TRUE(write(fd, &lane, sizeof(lane)) == sizeof(lane));
	return fd;
}

static int victim(void *arg)
{
	const struct victim *v = arg;
	struct lane *l = &page->lane[v->lane];
	bool last = v->wave == waves;
	struct cf_opt o = options(last);
	enum ibv_wc_status why = IBV_WC_SUCCESS;
	struct end e = { .rng = { page->seed + (uint64_t)v->wave * LANES + (uint64_t)v->lane } };

	cf_side(&e.s, &o);
	post_receives(&e);
	l->victim = cf_addr_of(&e.s);
	atomic_store(&l->known, v->wave + 1);
	e.peer = l->survivor;
	CF_TRUE(sp_try_connect(&e.s, &e.peer, cf.iwarp ? stream_to(page->port, v->lane) : -1, false));
	if (!last)
		leave_heir();
	atomic_store(&l->up, v->wave + 1);
	while (!e.failed && (!last || e.done < LAST_WORK)) {
		post_some(&e);
		why = take_some(&e);
	}
	if (last && e.failed)
		CF_DIE("the last wave: %s after %d requests", ibv_wc_status_str(why), (int)e.done);
	atomic_store(&l->worked, last);
	SP_UNTIL((e.failed ? 0 : take_some(&e), atomic_load(&page->done) > v->wave),
		 "neither killed nor done with");
	return 0;
}

/* --- the killer --- */

/* To die may take seconds where many want the processor. */
static bool has_died(pid_t pid)
{
	int status;
	pid_t r = waitpid(pid, &status, WNOHANG);

	CF_TRUE(r >= 0);
	if (r && (!WIFSIGNALED(status) || WTERMSIG(status) != SIGKILL))
		CF_DIE("the victim has ended by itself, status 0x%x", status);
	return r > 0;
}

/* at: when to kill it; 0: a moment after it has begun to work. True once it is dead. */
static bool kill_one(struct lane *l, pid_t pid, int wave, uint64_t *at, struct sp_rng *rng)
{
	if (atomic_load(&l->dead) > wave)
		return true;
	if (atomic_load(&l->doomed) > wave) {
		if (!has_died(pid))
			return false;
		l->died = cf_ns();
		atomic_store(&l->dead, wave + 1);
		return true;
	}
	if (!*at && atomic_load(&l->up) > wave)
		*at = cf_ns() + sp_below(rng, 2000000);
	if (*at && cf_ns() >= *at) {
		atomic_store(&l->doomed, wave + 1);
		CF_OK(kill(pid, SIGKILL));
	}
	return false;
}

static void kill_wave(const pid_t *pid, int wave, struct sp_rng *rng)
{
	struct cf_timeout p = { 0 };
	uint64_t at[LANES];
	int dead = 0;

	for (int i = 0; i < LANES; i++) /* from its first instruction on; or when it works */
		at[i] = sp_below(rng, 3) && !heir ? cf_ns() + sp_below(rng, 20000000) : 0;
	while (dead < LANES) {
		dead = 0;
		for (int i = 0; i < LANES; i++)
			dead += kill_one(&page->lane[i], pid[i], wave, &at[i], rng);
		CF_TRUE(!cf_over(&p, 2 * CF_WAIT_MS * 1000000ull));
		usleep(50);
	}
}

static void killer(struct cf_party *p)
{
	struct sp_rng rng = { page->seed };
	pid_t pid[LANES];

	for (int wave = 0; wave < waves + working; wave++) {
		SP_UNTIL((usleep(100), atomic_load(&page->ready) > wave), "no word of the survivor");
		for (int i = 0; i < LANES; i++) {
			struct victim v = { wave, i };

			pid[i] = cf_child(victim, &v);
		}
		if (wave < waves)
			kill_wave(pid, wave, &rng);
		SP_UNTIL((usleep(100), atomic_load(&page->done) > wave), "the survivor does not end");
		for (int i = 0; i < LANES && wave == waves; i++)
			cf_reap(pid[i]);
	}
	cf_meet(p);
}

/* --- the survivor --- */

static struct survivor {
	struct cf_side base;
	struct end end[LANES];
	int wave, listener;
	unsigned killed, early; /* of those that worked: taken for dead before they were */
	uint64_t longest;
} sv;

static void accept_streams(void)
{
	int fd, lane = -1;

	while (cf_readable(sv.listener, 0)) {
		fd = accept4(sv.listener, NULL, NULL, SOCK_CLOEXEC);
		if (fd < 0)
			return;
		/* A stream of the dead may be cut anywhere. */
		if (!cf_readable(fd, CF_WAIT_MS) || read(fd, &lane, sizeof(lane)) != sizeof(lane)) {
			close(fd);
			continue;
		}
		CF_TRUE(lane >= 0 && lane < LANES && sv.end[lane].is == WAITS);
		sv.end[lane].peer = page->lane[lane].victim;
		sv.end[lane].is = sp_try_connect(&sv.end[lane].s, NULL, fd, true) ? RUNS : OVER;
	}
}

static void step_waiting(struct end *e, struct lane *l)
{
	bool dead = atomic_load(&l->dead) > sv.wave;

	if (cf.iwarp) {
		accept_streams();
	} else if (atomic_load(&l->known) > sv.wave) {
		e->peer = l->victim;
		CF_TRUE(sp_try_connect(&e->s, &e->peer, -1, true));
		e->is = RUNS;
	}
	if (dead && e->is == WAITS)
		e->is = OVER;
}

static void step_running(struct end *e, struct lane *l)
{
	enum ibv_wc_status why;
	bool last = sv.wave == waves, dead = atomic_load(&l->dead) > sv.wave;

	if (!last || e->posted < LAST_WORK)
		post_some(e);
	why = take_some(e);
	if (why != IBV_WC_SUCCESS) {
		if (last)
			CF_DIE("the last wave: %s after %d requests", ibv_wc_status_str(why),
			       (int)e->done);
		CF_EQ(why, cf_peer_gone());
		sv.killed += atomic_load(&l->doomed) > sv.wave;
		sv.early += atomic_load(&l->doomed) <= sv.wave;
	}
	if (dead && cf_over(&e->since_death, IN_TIME))
		CF_DIE("wave %d: no error in time", sv.wave);
	if (last ? e->done < LAST_WORK || !l->worked : !e->failed || e->done < e->posted)
		return;
	if (!last) {
		CF_EQ(cf_state(e->s.qp), IBV_QPS_ERR);
		if (!dead) /* its death is still to come, or not told */
			return;
		if (cf_ns() - l->died > sv.longest)
			sv.longest = cf_ns() - l->died;
	}
	e->is = OVER;
}

static bool step_all(void)
{
	int over = 0;

	for (int i = 0; i < LANES; i++) {
		struct end *e = &sv.end[i];

		if (e->is == WAITS)
			step_waiting(e, &page->lane[i]);
		else if (e->is == RUNS)
			step_running(e, &page->lane[i]);
		over += e->is == OVER;
	}
	cf_drop_events(sv.base.ctx);
	return over == LANES;
}

static void survive_wave(void)
{
	struct cf_timeout p = { 0 };

	sv.base.o = options(sv.wave == waves);
	for (int i = 0; i < LANES; i++) {
		struct end *e = &sv.end[i];

		*e = (struct end){ .rng = { page->seed ^ (uint64_t)(sv.wave * LANES + i) << 32 } };
		cf_side_again(&e->s, &sv.base);
		e->s.o.psn = (uint32_t)sp_rand(&e->rng) & 0xffffff;
		post_receives(e);
		page->lane[i].survivor = cf_addr_of(&e->s);
	}
	atomic_store(&page->ready, sv.wave + 1);
	while (!step_all()) {
		if (cf_over(&p, 3 * CF_WAIT_MS * 1000000ull))
			CF_DIE("wave %d does not end", sv.wave);
		sched_yield();
	}
	atomic_store(&page->done, sv.wave + 1);
	for (int i = 0; i < LANES; i++) {
		cf_drop(sv.end[i].s.qp);
		cf_drop(sv.end[i].s.scq);
		cf_drop(sv.end[i].s.rcq);
	}
}

static void survivor(struct cf_party *p)
{
	struct cf_opt o = options(false);
	struct sp_held warm = { 0 };

	cf_side(&sv.base, &o);
	if (cf.iwarp) {
		uint16_t port;

		sv.listener = cf_tcp_listen(&port);
		CF_OK(listen(sv.listener, 4 * LANES));
		page->port = port;
	}
	for (sv.wave = 0; sv.wave < waves + working; sv.wave++) {
		if (sv.wave == WARM)
			warm = sp_held();
		survive_wave();
	}
	printf("# %d victims: %u died at work, %u were taken for dead; the longest error took %d ms\n",
	       waves * LANES, sv.killed, sv.early, (int)(sv.longest / 1000000));
	CF_TRUE(sv.killed > 0 || waves == 1);
	/* Sockets of source ports are kept for a while, up to 32. */
	warm.fds += cf.iwarp ? 0 : 32;
	/* Rings of the last wave, whose ends are told one by one. */
	warm.maps += cf.iwarp ? 0 : 2 * LANES;
	warm.consumers += cf.iwarp ? 0 : SP_CONSUMERS;
	if (waves > WARM)
		sp_no_more_than(&warm, 16ul << 20);
	cf_meet(p);
}

static void kill_all(enum heir what, int times, const char *name)
{
	heir = what;
	waves = times;
	working = what != FORKED_RAW;
	page = cf_pages(sizeof(*page));
	page->seed = sp_seed(name);
	page->check = getpid();
	cf_processes(killer, survivor);
}

static void any_moment(void)
{
	kill_all(NO_HEIR, sp_times(WAVES, WAVES_FULL), "killed at any moment");
}

static void with_heirs(void)
{
	kill_all(FORKED, sp_times(1, 20), "killed, a child lives on");
}

/*
 * Without the handlers of pthread_atfork(): it keeps every descriptor, the sockets that share the
 * port among them. The survivor hears of the death all the same. Datagrams that the kernel still
 * gives to those sockets are lost, until the other members have noticed; so processes that join
 * then are not checked.
 */
static void with_raw_heirs(void)
{
	const char *device = getenv("CONFORM_DEVICE");

	if (device && strstr(device, "_iw_"))
		cf_skip("a stream lives as long as any descriptor of it");
	kill_all(FORKED_RAW, sp_times(1, 20), "killed, a copy lives on");
}

const struct cf_check cf_checks[] = {
	{ "+", "killed at any moment", 0, any_moment },
	{ "+", "killed, and a forked child lives on", 0, with_heirs },
	{ "+", "killed, and a copy with all descriptors lives on", 0, with_raw_heirs },
	{ 0 },
};
