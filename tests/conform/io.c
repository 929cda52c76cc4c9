/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Posting, completions, events, patterns, roles. */
#include "conf.h"

#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

uint64_t cf_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000000ull + ts.tv_nsec;
}

uint64_t cf_rnr_ns(int code)
{
	/* In units of 10 us, IBTA volume 1, table 45. */
	static const uint32_t t[32] = {
		65536, 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256, 384, 512, 768,
		1024, 1536, 2048, 3072, 4096, 6144, 8192, 12288, 16384, 24576, 32768, 49152,
	};

	return t[code] * 10000ull;
}

/* --- work --- */

static void remote(const struct cf_wr *w, uint64_t *addr, uint32_t *key)
{
	*addr = w->raddr ? w->raddr : w->to ? (uintptr_t)w->to->buf + w->roff : 0;
	*key = w->rkey ? w->rkey : w->to ? w->to->mr->rkey : 0;
}

int cf_post_try(struct cf_side *s, const struct cf_wr *w)
{
	struct ibv_sge one = { (uintptr_t)s->buf + w->off, w->len, w->lkey ? w->lkey : s->mr->lkey };
	struct ibv_send_wr *bad = NULL, wr = {
		.wr_id = w->id, .opcode = w->op,
		.send_flags = w->flags | (w->quiet ? 0 : IBV_SEND_SIGNALED),
		.sg_list = w->sge ? (struct ibv_sge *)w->sge : &one,
		.num_sge = w->sge ? w->n : w->len ? 1 : 0,
	};
	int rc;

	wr.imm_data = w->inv ? w->inv : w->imm;
	if (w->op == IBV_WR_ATOMIC_CMP_AND_SWP || w->op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		remote(w, &wr.wr.atomic.remote_addr, &wr.wr.atomic.rkey);
		wr.wr.atomic.compare_add = w->add;
		wr.wr.atomic.swap = w->swap;
	} else if (s->o.type == IBV_QPT_UD) {
		wr.wr.ud.ah = w->ah;
		wr.wr.ud.remote_qpn = w->qpn;
		wr.wr.ud.remote_qkey = w->qkey;
	} else {
		remote(w, &wr.wr.rdma.remote_addr, &wr.wr.rdma.rkey);
	}
	wr.qp_type.xrc.remote_srqn = w->srqn;
	rc = ibv_post_send(s->qp, &wr, &bad);
	if (rc && bad != &wr)
		CF_DIE("ibv_post_send gave %d without naming the bad request", rc);
	return rc;
}

int cf_recv_try(struct cf_side *s, uint64_t id, uint64_t off, uint32_t len, uint32_t lkey)
{
	struct ibv_sge sge = { (uintptr_t)s->buf + off, len, lkey ? lkey : s->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = len ? 1 : 0 }, *bad;

	return s->srq ? ibv_post_srq_recv(s->srq, &wr, &bad) : ibv_post_recv(s->qp, &wr, &bad);
}

/* --- completions --- */

bool cf_over(struct cf_timeout *p, uint64_t ns)
{
	uint64_t now = cf_ns(), passed = p->last ? now - p->last : 0;

	p->last = now;
	p->spent += passed < CF_LOOK_MS * 1000000u ? passed : CF_LOOK_MS * 1000000u;
	return p->spent > ns;
}

bool cf_poll(struct ibv_cq *cq, struct ibv_wc *wc, int ms)
{
	struct cf_timeout p = { 0 };
	int n;

	for (;;) {
		n = ibv_poll_cq(cq, 1, wc);
		if (n < 0)
			CF_DIE("ibv_poll_cq gave %d", n);
		if (n)
			return true;
		if (cf_over(&p, ms * 1000000ull))
			return false;
		sched_yield();
	}
}

struct ibv_wc cf_wc_at(const char *file, int line, struct ibv_cq *cq, uint64_t id,
		       enum ibv_wc_status status)
{
	struct ibv_wc wc = { 0 };

	if (!cf_poll(cq, &wc, CF_WAIT_MS))
		cf_fail(file, line, "no completion in %d s; wr_id %llu with %s expected",
			CF_WAIT_MS / 1000, (unsigned long long)id, ibv_wc_status_str(status));
	if (wc.wr_id != id || wc.status != status)
		cf_fail(file, line, "completion of wr_id %llu with %s (vendor_err %u); "
			"wr_id %llu with %s expected", (unsigned long long)wc.wr_id,
			ibv_wc_status_str(wc.status), wc.vendor_err, (unsigned long long)id,
			ibv_wc_status_str(status));
	/* An error must be explainable afterwards; the vendor code is its number. */
	if (status != IBV_WC_SUCCESS && status != IBV_WC_WR_FLUSH_ERR && !wc.vendor_err)
		cf_fail(file, line, "%s without a vendor_err", ibv_wc_status_str(status));
	return wc;
}

void cf_quiet_at(const char *file, int line, struct ibv_cq *cq, int ms)
{
	struct ibv_wc wc;

	if (cf_poll(cq, &wc, ms))
		cf_fail(file, line, "a completion that must not be: wr_id %llu with %s",
			(unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status));
}

int cf_drain(struct ibv_cq *cq)
{
	struct ibv_wc wc[16];
	int n, all = 0;

	while ((n = ibv_poll_cq(cq, 16, wc)) > 0)
		all += n;
	return all;
}

/* --- events --- */

bool cf_readable(int fd, int ms)
{
	struct pollfd p = { fd, POLLIN, 0 };
	int r;

	do {
		r = poll(&p, 1, ms < CF_LOOK_MS ? ms : CF_LOOK_MS);
		ms -= CF_LOOK_MS;
	} while (r == 0 && ms > 0);
	return r > 0;
}

struct ibv_async_event cf_event_at(const char *file, int line, struct ibv_context *ctx,
				   enum ibv_event_type want)
{
	struct ibv_async_event e;

	do {
		if (!cf_readable(ctx->async_fd, CF_WAIT_MS))
			cf_fail(file, line, "no event in %d s, \"%s\" expected", CF_WAIT_MS / 1000,
				ibv_event_type_str(want));
		if (ibv_get_async_event(ctx, &e))
			cf_fail(file, line, "descriptor readable but no event: %s", strerror(errno));
		ibv_ack_async_event(&e);
		if (e.event_type != want && e.event_type != IBV_EVENT_COMM_EST)
			cf_fail(file, line, "event \"%s\", \"%s\" expected",
				ibv_event_type_str(e.event_type), ibv_event_type_str(want));
	} while (e.event_type != want);
	return e;
}

void cf_no_event_at(const char *file, int line, struct ibv_context *ctx)
{
	struct ibv_async_event e;

	while (cf_readable(ctx->async_fd, CF_QUIET_MS)) {
		CF_OK(ibv_get_async_event(ctx, &e));
		ibv_ack_async_event(&e);
		if (e.event_type != IBV_EVENT_COMM_EST)
			cf_fail(file, line, "event \"%s\" that must not be",
				ibv_event_type_str(e.event_type));
	}
}

void cf_drop_events(struct ibv_context *ctx)
{
	struct ibv_async_event e;

	while (cf_readable(ctx->async_fd, 0)) {
		CF_OK(ibv_get_async_event(ctx, &e));
		ibv_ack_async_event(&e);
	}
}

bool cf_cq_event(struct ibv_comp_channel *chan, struct ibv_cq *cq, int ms)
{
	struct ibv_cq *got = NULL;
	void *ctx;

	if (!cf_readable(chan->fd, ms))
		return false;
	CF_OK(ibv_get_cq_event(chan, &got, &ctx));
	ibv_ack_cq_events(got, 1);
	CF_TRUE(got == cq);
	return true;
}

/* --- data --- */

static uint8_t pattern(size_t i, uint64_t seed)
{
	uint64_t x = (i >> 3) * 0x9e3779b97f4a7c15ull + seed * 0xd1342543de82ef95ull;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ull;
	return x >> (8 * (i & 7));
}

void cf_fill(void *p, size_t n, uint64_t seed)
{
	for (size_t i = 0; i < n; i++)
		((uint8_t *)p)[i] = pattern(i, seed);
}

void cf_verify_at(const char *file, int line, const void *p, size_t n, uint64_t seed)
{
	for (size_t i = 0; i < n; i++)
		if (((const uint8_t *)p)[i] != pattern(i, seed))
			cf_fail(file, line, "byte %zu of %zu is 0x%02x, not 0x%02x", i, n,
				((const uint8_t *)p)[i], pattern(i, seed));
}

void cf_zero_at(const char *file, int line, const void *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (((const uint8_t *)p)[i])
			cf_fail(file, line, "byte %zu of %zu was written: 0x%02x", i, n,
				((const uint8_t *)p)[i]);
}

void cf_self_send(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side s, end;

	cf_side(&s, &o);
	cf_loop(&s, &end);
	cf_recv(&end, 1, 0, 64);
	cf_post(&s, .op = IBV_WR_SEND, .id = 2, .len = 64);
	cf_wc(s.scq, 2, SUCCESS);
	cf_wc(end.rcq, 1, SUCCESS);
}

/* --- roles --- */

pid_t cf_child(int (*fn)(void *), void *arg)
{
	pid_t me = getpid(), pid;
	int rc;

#ifdef __SANITIZE_THREAD__
	cf_skip("ThreadSanitizer does not follow the fork of a process with threads");
#endif
	pid = fork();
	if (pid < 0)
		CF_DIE("fork: %s", strerror(errno));
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (getppid() != me)
			_exit(1);
		cf_inherit_nothing();
		rc = fn(arg);
		cf_undo_all();
		exit(rc);
	}
	return pid;
}

void cf_reap(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, 0) != pid)
		CF_DIE("waitpid: %s", strerror(errno));
	if (WIFSIGNALED(status))
		CF_DIE("the child was killed by signal %d", WTERMSIG(status));
	if (WEXITSTATUS(status))
		CF_DIE("the child failed with %d", WEXITSTATUS(status));
}

struct role {
	void (*fn)(struct cf_party *);
	struct cf_party p;
};

static int role_process(void *arg)
{
	struct role *r = arg;

	r->fn(&r->p);
	return 0;
}

static void *role_thread(void *arg)
{
	role_process(arg);
	return NULL;
}

static void roles(void (*one)(struct cf_party *), void (*two)(struct cf_party *), bool forked)
{
	struct role a = { one, { .first = true } }, b = { two, { .first = false } };
	pthread_t th;
	pid_t pid;
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0)
		CF_DIE("socketpair: %s", strerror(errno));
	a.p.fd = sv[0];
	b.p.fd = sv[1];
	a.p.shared = b.p.shared = cf_pages(4096);
	if (forked) {
		pid = cf_child(role_process, &b);
		close(sv[1]); /* so that its end is seen */
		one(&a.p);
		cf_reap(pid);
	} else {
		CF_OK(pthread_create(&th, NULL, role_thread, &b));
		one(&a.p);
		CF_OK(pthread_join(th, NULL));
	}
}

void cf_roles(void (*one)(struct cf_party *), void (*two)(struct cf_party *))
{
	roles(one, two, cf.forked);
}

void cf_processes(void (*one)(struct cf_party *), void (*two)(struct cf_party *))
{
	roles(one, two, true);
}

void cf_swap(struct cf_party *p, const void *mine, void *theirs, size_t n)
{
	size_t have = 0;
	ssize_t got;

	if (send(p->fd, mine, n, MSG_NOSIGNAL) != (ssize_t)n)
		CF_DIE("the other role is gone: %s", strerror(errno));
	while (have < n) {
		if (!cf_readable(p->fd, CF_WAIT_MS))
			CF_DIE("the other role does not answer");
		got = read(p->fd, (char *)theirs + have, n - have);
		if (got <= 0)
			CF_DIE("the other role is gone");
		have += got;
	}
}

void cf_meet(struct cf_party *p)
{
	char c = 0;

	cf_swap(p, &c, &c, 1);
}

/* One role listens and tells its port. */
static void connect_streams(struct cf_party *p, struct cf_side *s)
{
	uint16_t mine = 0, theirs;
	int l = p->first ? cf_tcp_listen(&mine) : -1;

	cf_swap(p, &mine, &theirs, sizeof(mine));
	cf_stream_begin(s, p->first ? cf_tcp_accept(l) : cf_tcp_connect(theirs), p->first);
	cf_stream_wait(s);
}

struct cf_addr cf_connect(struct cf_party *p, struct cf_side *s)
{
	struct cf_addr mine = cf_addr_of(s), theirs;

	cf_up(s, IBV_QPS_INIT, NULL);
	cf_swap(p, &mine, &theirs, sizeof(mine));
	if (cf.iwarp)
		connect_streams(p, s);
	else
		cf_up(s, IBV_QPS_RTS, &theirs);
	cf_meet(p);
	return theirs;
}
