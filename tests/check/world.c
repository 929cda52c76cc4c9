/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "world.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define CASES 200
#define LIMIT_S 60

struct world w;

static struct {
	const char *name;
	case_body *body;
	int bare;
} cases[CASES];
static size_t n_cases;

void case_add(const char *name, case_body *body, int bare)
{
	if (n_cases == CASES)
		abort();
	cases[n_cases].name = name;
	cases[n_cases].body = body;
	cases[n_cases++].bare = bare;
}

static void must(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	_exit(99);
}

struct ibv_device *world_device(void)
{
	struct ibv_device **l = ibv_get_device_list(NULL);

	for (int i = 0; l && l[i]; i++)
		if (!strcmp(ibv_get_device_name(l[i]), "dpl_roce_lo"))
			return l[i];
	must(0, "dpl_roce_lo");
	return NULL;
}

struct ibv_context *world_open(void)
{
	struct ibv_context *ctx = ibv_open_device(world_device());

	must(ctx != NULL, "ibv_open_device");
	return ctx;
}

struct ibv_qp_init_attr world_attr(enum ibv_qp_type type)
{
	return (struct ibv_qp_init_attr){ .send_cq = w.cq, .recv_cq = w.cq, .qp_type = type, .cap = { 8, 8, 2, 2, 32 } };
}

struct ibv_qp *world_qp(enum ibv_qp_type type)
{
	struct ibv_qp_init_attr a = world_attr(type);
	struct ibv_qp *qp = ibv_create_qp(w.pd, &a);

	must(qp != NULL, "ibv_create_qp");
	return qp;
}

static struct change to_rtr(struct ibv_qp *qp)
{
	struct ibv_qp *peer = qp == w.peer ? w.qp : w.peer ? w.peer : qp;
	struct change c = { { .qp_state = IBV_QPS_RTR }, IBV_QP_STATE };

	if (qp->qp_type == IBV_QPT_UD)
		return c;
	c.attr.path_mtu = IBV_MTU_1024;
	c.attr.dest_qp_num = peer->qp_num;
	c.attr.rq_psn = 7;
	c.attr.ah_attr.is_global = 1;
	c.attr.ah_attr.port_num = 1;
	c.attr.ah_attr.grh.hop_limit = 64;
	must(ibv_query_gid(w.ctx, 1, 0, &c.attr.ah_attr.grh.dgid) == 0, "ibv_query_gid");
	c.mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (qp->qp_type == IBV_QPT_RC) {
		c.attr.max_dest_rd_atomic = 1;
		c.attr.min_rnr_timer = 1;
		c.mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	}
	return c;
}

struct change world_change(struct ibv_qp *qp, enum ibv_qp_state to)
{
	struct change c = { { .qp_state = to, .port_num = 1, .sq_psn = 7 }, IBV_QP_STATE };

	if (to == IBV_QPS_INIT && qp->qp_type == IBV_QPT_UD) {
		c.attr.qkey = 0x11;
		c.mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY;
	} else if (to == IBV_QPS_INIT) {
		c.attr.qp_access_flags = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
		c.mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	} else if (to == IBV_QPS_RTR) {
		return to_rtr(qp);
	} else if (to == IBV_QPS_RTS) {
		c.mask |= IBV_QP_SQ_PSN;
		if (qp->qp_type == IBV_QPT_RC) {
			c.attr.timeout = 14;
			c.attr.retry_cnt = 7;
			c.attr.max_rd_atomic = 1;
			c.mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
		}
	}
	return c;
}

void world_move(struct ibv_qp *qp, enum ibv_qp_state to)
{
	for (int s = IBV_QPS_INIT; s <= (int)to; s++) {
		struct change c = world_change(qp, (enum ibv_qp_state)s);

		errno = ibv_modify_qp(qp, &c.attr, c.mask);
		must(errno == 0, "ibv_modify_qp");
	}
}

void world_pair(void)
{
	static char there[256];
	struct ibv_mr *mr = ibv_reg_mr(w.pd, there, sizeof(there), IBV_ACCESS_LOCAL_WRITE);

	must(mr != NULL, "ibv_reg_mr");
	w.qp = world_qp(IBV_QPT_RC);
	w.peer = world_qp(IBV_QPT_RC);
	world_move(w.peer, IBV_QPS_RTS);
	world_move(w.qp, IBV_QPS_RTS);
	for (int i = 0; i < 4; i++) {
		struct ibv_sge s = { (uintptr_t)there + 64u * (unsigned)i, 64, mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = 100, .sg_list = &s, .num_sge = 1 }, *bad;

		errno = ibv_post_recv(w.peer, &wr, &bad);
		must(errno == 0, "ibv_post_recv");
	}
}

struct ibv_send_wr world_remote(enum ibv_wr_opcode opcode)
{
	struct ibv_send_wr r = w.send;

	r.opcode = opcode;
	if (opcode == IBV_WR_ATOMIC_CMP_AND_SWP || opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		w.sge.length = 8;
		r.wr.atomic.remote_addr = (uintptr_t)w.buf + ROOM / 2;
		r.wr.atomic.rkey = w.mr->rkey;
	} else {
		r.wr.rdma.remote_addr = (uintptr_t)w.buf + ROOM / 2;
		r.wr.rdma.rkey = w.mr->rkey;
	}
	return r;
}

struct ibv_wc world_reap(struct ibv_cq *cq)
{
	time_t end = time(NULL) + LIMIT_S;
	struct ibv_wc wc = { .wr_id = 0 };
	int n;

	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0 && time(NULL) < end)
		;
	must(n == 1, "no completion came");
	return wc;
}

/* --- threads that wait --- */

struct rescue {
	void (*call)(void *arg);
	void *arg;
	pthread_t thread;
	pid_t tid;
};

/* The kernel says it: state S in /proc, three looks in a row. */
static int sleeps(pid_t tid)
{
	char path[64], text[512], *state;
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (n <= 0)
		return 0;
	text[n] = 0;
	state = strrchr(text, ')');
	return state && state[2] == 'S';
}

static void *come(void *arg)
{
	struct rescue *r = arg;
	struct timespec look = { .tv_nsec = 20000000 };
	time_t end = time(NULL) + LIMIT_S;

	for (int asleep = 0; asleep < 3 && time(NULL) < end; nanosleep(&look, NULL))
		asleep = sleeps(r->tid) ? asleep + 1 : 0;
	if (r->call)
		r->call(r->arg);
	/* Again and again: a signal before the wait begins is of no use. */
	for (; !r->call; nanosleep(&look, NULL))
		pthread_kill(r->thread, SIGUSR1);
	return NULL;
}

static void interrupted(int n)
{
	(void)n;
}

void world_rescue(void (*call)(void *arg), void *arg)
{
	static struct rescue r;
	struct sigaction a = { .sa_handler = interrupted };
	pthread_t t;

	r = (struct rescue){ call, arg, pthread_self(), (pid_t)syscall(SYS_gettid) };
	sigaction(SIGUSR1, &a, NULL);
	errno = pthread_create(&t, NULL, come, &r);
	must(errno == 0, "pthread_create");
	pthread_detach(t);
}

/* --- one case --- */

static void begin(void)
{
	struct ibv_wc wc;

	w.ctx = world_open();
	w.pd = ibv_alloc_pd(w.ctx);
	must(w.pd != NULL, "ibv_alloc_pd");
	w.cq = ibv_create_cq(w.ctx, 64, NULL, NULL, 0);
	must(w.cq != NULL, "ibv_create_cq");
	/* A case that polls it nowhere has other mistakes to show. */
	must(ibv_poll_cq(w.cq, 1, &wc) == 0, "ibv_poll_cq");
	w.buf = calloc(1, ROOM);
	w.mr = ibv_reg_mr(w.pd, w.buf, ROOM, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
			  IBV_ACCESS_REMOTE_ATOMIC);
	must(w.mr != NULL, "ibv_reg_mr");
	w.sge = (struct ibv_sge){ (uintptr_t)w.buf, 64, w.mr->lkey };
	w.send = (struct ibv_send_wr){ .wr_id = 1, .sg_list = &w.sge, .num_sge = 1, .opcode = IBV_WR_SEND,
				       .send_flags = IBV_SEND_SIGNALED };
	w.recv = (struct ibv_recv_wr){ .wr_id = 2, .sg_list = &w.sge, .num_sge = 1 };
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOLBF, 0);
	for (size_t i = 0; i < n_cases; i++) {
		if (argc < 2)
			puts(cases[i].name);
		else if (!strcmp(cases[i].name, argv[1])) {
			if (!cases[i].bare)
				begin();
			cases[i].body();
			return 0;
		}
	}
	return argc < 2 ? 0 : 98;
}
