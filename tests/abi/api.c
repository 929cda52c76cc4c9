/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The calls of include/dapple on objects of our libibverbs, and the shell's promises beside plain
 * verbs: imports, leaks, events counted, refusals.
 */
#include <dapple/verbs.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static int failures;

#define CHECK(cond)                                                              \
	do {                                                                     \
		if (!(cond)) {                                                   \
			printf("%s:%d: not true: %s (errno %d)\n", __func__,     \
			       __LINE__, #cond, errno);                          \
			failures++;                                              \
		}                                                                \
	} while (0)

static struct ibv_device *device;

struct bed {
	struct ibv_context *c;
	struct ibv_pd *pd;
	struct ibv_comp_channel *ch;
	struct ibv_cq *cq;
	struct ibv_qp *qp[2];
	struct ibv_mr *mr;
	_Alignas(4096) char buf[8192];
};

static void to_rts(struct ibv_qp *qp, uint32_t peer, const union ibv_gid *gid, int index)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ,
	};

	CHECK(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			     IBV_QP_ACCESS_FLAGS));
	a.qp_state = IBV_QPS_RTR;
	a.path_mtu = IBV_MTU_1024;
	a.dest_qp_num = peer;
	a.max_dest_rd_atomic = 1;
	a.min_rnr_timer = 1;
	a.ah_attr = (struct ibv_ah_attr){ .is_global = 1, .port_num = 1 };
	a.ah_attr.grh = (struct ibv_global_route){ .dgid = *gid, .sgid_index = (uint8_t)index,
						   .hop_limit = 64 };
	CHECK(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
			     IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
			     IBV_QP_MIN_RNR_TIMER));
	a.qp_state = IBV_QPS_RTS;
	a.timeout = 14;
	a.retry_cnt = a.rnr_retry = 7;
	a.max_rd_atomic = 1;
	CHECK(!ibv_modify_qp(qp, &a, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
			     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

static int some_gid(struct ibv_context *c, union ibv_gid *gid)
{
	struct ibv_gid_entry e[64];
	ssize_t n = ibv_query_gid_table(c, e, 64, 0);

	for (ssize_t i = 0; i < n; i++)
		if (!memcmp(e[i].gid.raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12)) {
			*gid = e[i].gid;
			return (int)e[i].gid_index;
		}
	return -1;
}

static void make_bed(struct bed *b)
{
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 16, .max_recv_wr = 16, .max_send_sge = 2,
			 .max_recv_sge = 2 },
	};
	union ibv_gid gid;
	int index;

	memset(b, 0, sizeof(*b));
	b->c = ibv_open_device(device);
	CHECK(b->c);
	b->pd = ibv_alloc_pd(b->c);
	b->ch = ibv_create_comp_channel(b->c);
	b->cq = ibv_create_cq(b->c, 64, b, b->ch, 0);
	b->mr = ibv_reg_mr(b->pd, b->buf, sizeof(b->buf), IBV_ACCESS_LOCAL_WRITE |
			   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_MW_BIND);
	CHECK(b->pd && b->ch && b->cq && b->mr);
	init.send_cq = init.recv_cq = b->cq;
	for (int i = 0; i < 2; i++)
		b->qp[i] = ibv_create_qp(b->pd, &init);
	CHECK(b->qp[0] && b->qp[1]);
	index = some_gid(b->c, &gid);
	CHECK(index >= 0);
	if (failures)
		exit(1);
	to_rts(b->qp[0], b->qp[1]->qp_num, &gid, index);
	to_rts(b->qp[1], b->qp[0]->qp_num, &gid, index);
}

static void free_bed(struct bed *b)
{
	CHECK(!ibv_destroy_qp(b->qp[0]));
	CHECK(!ibv_destroy_qp(b->qp[1]));
	CHECK(!ibv_destroy_cq(b->cq));
	CHECK(!ibv_destroy_comp_channel(b->ch));
	CHECK(!ibv_dereg_mr(b->mr));
	CHECK(!ibv_dealloc_pd(b->pd));
	CHECK(!ibv_close_device(b->c));
}

/* One signaled write of `len` bytes; returns its status. */
static int write_to(struct bed *b, uint32_t lkey, uint64_t from, uint32_t rkey, uint64_t to,
		    uint32_t len)
{
	struct ibv_sge sge = { .addr = from, .length = len, .lkey = lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;
	struct ibv_wc wc;
	int n;

	wr.wr.rdma.remote_addr = to;
	wr.wr.rdma.rkey = rkey;
	CHECK(!ibv_post_send(b->qp[0], &wr, &bad));
	while (!(n = ibv_poll_cq(b->cq, 1, &wc)))
		;
	return n < 0 ? -1 : (int)wc.status;
}

static void regions(void)
{
	static struct bed b;
	struct dpl_mr_attr a;
	struct ibv_mr *shared, *phys, *key;
	uint64_t pages[2];
	struct dpl_phys_list list = { .pages = pages, .n_pages = 2, .page_size = 2048,
				      .length = 4000, .first_offset = 16, .iova = 0x10010 };

	make_bed(&b);
	pages[0] = (uintptr_t)b.buf + 6144; /* out of order on purpose */
	pages[1] = (uintptr_t)b.buf + 4096;
	CHECK(!dpl_query_mr(b.mr, &a) && a.lkey == b.mr->lkey && a.length == sizeof(b.buf) &&
	      a.kind == DPL_MR_VIRTUAL && a.windows == 0 && a.pd == b.pd);
	shared = dpl_reg_shared_mr(b.mr, b.pd, 0x100000, IBV_ACCESS_LOCAL_WRITE |
				   IBV_ACCESS_REMOTE_WRITE);
	CHECK(shared && shared->rkey != b.mr->rkey);
	memcpy(b.buf, "shared", 6);
	CHECK(write_to(&b, b.mr->lkey, (uintptr_t)b.buf, shared->rkey, 0x100000 + 100, 6) == 0);
	CHECK(!memcmp(b.buf + 100, "shared", 6));
	phys = dpl_reg_phys_mr(b.pd, &list, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	CHECK(phys && !dpl_query_mr(phys, &a) && a.kind == DPL_MR_PHYSICAL && a.page_size == 2048);
	/* Bytes around the seam of the two pieces. */
	CHECK(write_to(&b, b.mr->lkey, (uintptr_t)b.buf, phys->rkey, 0x10000 + 2045, 6) == 0);
	CHECK(!memcmp(b.buf + 6144 + 2045, "sha", 3) && !memcmp(b.buf + 4096, "red", 3));
	list.iova++;
	CHECK(!dpl_reg_phys_mr(b.pd, &list, 0) && errno == EINVAL);
	list.iova--;
	key = dpl_alloc_lkey(b.pd, 2);
	CHECK(key && !dpl_query_mr(key, &a) && a.kind == DPL_MR_FREE);
	CHECK(dpl_rereg_phys_mr(key, 0, NULL, NULL, 0) == EINVAL);
	CHECK(!dpl_rereg_phys_mr(key, IBV_REREG_MR_FLAGS_SUPPORTED, b.pd, &list,
				 IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	CHECK(!dpl_query_mr(key, &a) && a.kind == DPL_MR_PHYSICAL);
	CHECK(write_to(&b, b.mr->lkey, (uintptr_t)b.buf, key->rkey, 0x10010, 6) == 0);
	CHECK(!memcmp(b.buf + 6144 + 16, "shared", 6));
	CHECK(!ibv_dereg_mr(key) && !ibv_dereg_mr(phys) && !ibv_dereg_mr(shared));
	free_bed(&b);
}

static void free_key_is_dead(void)
{
	static struct bed b;
	struct ibv_mr *key;
	char why[512];

	make_bed(&b);
	key = dpl_alloc_lkey(b.pd, 1);
	CHECK(key);
	CHECK(write_to(&b, b.mr->lkey, (uintptr_t)b.buf, key->rkey, 0, 4) ==
	      IBV_WC_REM_ACCESS_ERR);
	CHECK(!dpl_why(b.c, b.qp[0]->qp_num, why, sizeof(why)) && strstr(why, "remote access"));
	CHECK(dpl_why(b.c, 0, why, 0) == EINVAL);
	CHECK(!ibv_dereg_mr(key));
	free_bed(&b);
}

static void windows_and_queues(void)
{
	static struct bed b;
	struct ibv_mw_bind bind = { .send_flags = IBV_SEND_SIGNALED };
	struct dpl_mw_attr a;
	struct dpl_cq_attr q;
	struct ibv_mw *mw;

	make_bed(&b);
	mw = ibv_alloc_mw(b.pd, IBV_MW_TYPE_1);
	CHECK(mw && !dpl_query_mw(mw, &a) && !a.bound && a.type == IBV_MW_TYPE_1);
	bind.bind_info = (struct ibv_mw_bind_info){ .mr = b.mr, .addr = (uintptr_t)b.buf,
						    .length = 64,
						    .mw_access_flags = IBV_ACCESS_REMOTE_WRITE };
	CHECK(!ibv_bind_mw(b.qp[0], mw, &bind));
	do
		CHECK(!dpl_query_cq(b.cq, &q) && !q.overrun);
	while (!q.held && ibv_poll_cq(b.cq, 0, NULL) >= 0 && !failures);
	CHECK(q.held == 1 && q.size >= 64 && q.armed == 0 && q.channel == b.ch);
	CHECK(!ibv_req_notify_cq(b.cq, 1) && !dpl_query_cq(b.cq, &q) && q.armed == 1);
	CHECK(!dpl_query_mw(mw, &a) && a.bound && a.length == 64 && a.mr_lkey == b.mr->lkey &&
	      a.rkey == mw->rkey);
	CHECK(ibv_dereg_mr(b.mr) == EBUSY);
	CHECK(!ibv_dealloc_mw(mw));
	free_bed(&b);
}

static void addresses(void)
{
	struct ibv_context *c = ibv_open_device(device);
	struct ibv_pd *pd = ibv_alloc_pd(c);
	struct ibv_ah_attr a = { .is_global = 1, .port_num = 1, .sl = 1 }, got;
	struct ibv_ah *ah;
	int index = some_gid(c, &a.grh.dgid);

	a.grh.sgid_index = (uint8_t)index;
	a.grh.hop_limit = 3;
	ah = ibv_create_ah(pd, &a);
	CHECK(ah && !dpl_query_ah(ah, &got) && got.sl == 1 && got.is_global &&
	      !memcmp(&got.grh.dgid, &a.grh.dgid, 16));
	a.sl = 2;
	CHECK(!dpl_modify_ah(ah, &a) && !dpl_query_ah(ah, &got) && got.sl == 2);
	a.port_num = 9;
	CHECK(dpl_modify_ah(ah, &a) == EINVAL && !dpl_query_ah(ah, &got) && got.port_num == 1);
	CHECK(ibv_dealloc_pd(pd) == EBUSY);
	CHECK(!ibv_destroy_ah(ah) && !ibv_dealloc_pd(pd) && !ibv_close_device(c));
}

static void adapter(void)
{
	struct ibv_context *c = ibv_open_device(device);
	struct dpl_port_modify m = { .set_caps = IBV_PORT_SNMP_TUNNEL_SUP };
	struct dpl_counter v[256];
	struct ibv_port_attr p;
	char desc[64];
	int n;

	CHECK(!dpl_query_node_desc(c, desc) && !strcmp(desc, ibv_get_device_name(device)));
	strcpy(m.node_desc, "a bench");
	CHECK(!dpl_modify_port(c, 1, &m, DPL_PORT_SET_CAPS | DPL_PORT_NODE_DESC));
	CHECK(!dpl_query_node_desc(c, desc) && !strcmp(desc, "a bench"));
	CHECK(!ibv_query_port(c, 1, &p) && (p.port_cap_flags & IBV_PORT_SNMP_TUNNEL_SUP));
	m.set_caps = IBV_PORT_CM_SUP;
	CHECK(dpl_modify_port(c, 1, &m, DPL_PORT_SET_CAPS) == EINVAL);
	CHECK(dpl_modify_port(c, 2, &m, 0) == EINVAL);
	n = dpl_query_counters(c, 1, v, 256);
	CHECK(n > 0 && n < 256 && v[n - 1].name && v[n - 1].text);
	CHECK(dpl_query_counters(c, 2, v, 256) == -1 && errno == EINVAL);
	CHECK(!dpl_alloc_rdd(c) && errno == EOPNOTSUPP);
	CHECK(!ibv_close_device(c));
}

static atomic_int seen, seen_async;

static void on_comp(struct ibv_cq *cq, void *cq_context, void *arg)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) > 0)
		atomic_fetch_add((atomic_int *)arg, 1);
}

static void on_async(const struct ibv_async_event *e, void *arg)
{
	if (e->event_type == IBV_EVENT_QP_ACCESS_ERR)
		atomic_fetch_add((atomic_int *)arg, 1);
}

static void handlers(void)
{
	static struct bed b;
	struct ibv_sge sge = { .addr = (uintptr_t)b.buf, .length = 8 };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
				  .sg_list = &sge, .num_sge = 1 }, *bad;

	make_bed(&b);
	sge.lkey = b.mr->lkey;
	CHECK(!dpl_set_comp_handler(b.ch, on_comp, &seen));
	CHECK(!dpl_set_async_handler(b.c, on_async, &seen_async));
	CHECK(!ibv_req_notify_cq(b.cq, 0));
	wr.wr.rdma.remote_addr = (uintptr_t)b.buf;
	wr.wr.rdma.rkey = b.mr->rkey;
	CHECK(!ibv_post_send(b.qp[0], &wr, &bad));
	wr.wr.rdma.rkey ^= 0xff00; /* the other end raises an event */
	CHECK(!ibv_post_send(b.qp[0], &wr, &bad));
	for (int i = 0; i < 30000 && (!atomic_load(&seen) || !atomic_load(&seen_async)); i++)
		poll(NULL, 0, 1);
	CHECK(atomic_load(&seen) >= 1 && atomic_load(&seen_async) == 1);
	CHECK(!dpl_set_comp_handler(b.ch, NULL, NULL));
	CHECK(!dpl_set_async_handler(b.c, NULL, NULL));
	free_bed(&b); /* all delivered events were acknowledged: returns */
}

static void imports(void)
{
	struct ibv_context *c = ibv_open_device(device), *c2;
	struct ibv_pd *pd = ibv_alloc_pd(c), *pd2;
	static char buf[64];
	struct ibv_mr *mr = ibv_reg_mr(pd, buf, sizeof(buf), IBV_ACCESS_LOCAL_WRITE), *mr2;
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	CHECK(!ibv_import_device(null) && errno == EOPNOTSUPP);
	close(null);
	c2 = ibv_import_device(c->cmd_fd);
	CHECK(c2 && c2->device == c->device);
	CHECK(!ibv_import_pd(c2, pd->handle + 1000) && errno == EINVAL);
	pd2 = ibv_import_pd(c2, pd->handle);
	mr2 = ibv_import_mr(pd2, mr->handle);
	CHECK(pd2 && mr2 && mr2->lkey == mr->lkey);
	CHECK(ibv_dereg_mr(mr) == EBUSY);
	ibv_unimport_mr(mr2);
	ibv_unimport_pd(pd2);
	CHECK(!ibv_dereg_mr(mr) && !ibv_dealloc_pd(pd));
	CHECK(!ibv_close_device(c2) && !ibv_close_device(c));
}

/* Closed with everything alive: later calls must not crash. */
static void leaks(void)
{
	static struct bed b;

	make_bed(&b);
	CHECK(!ibv_close_device(b.c));
	CHECK(ibv_destroy_cq(b.cq) == EBUSY);
	CHECK(!ibv_destroy_qp(b.qp[0]) && !ibv_destroy_qp(b.qp[1]) && !ibv_destroy_cq(b.cq));
	CHECK(!ibv_destroy_comp_channel(b.ch));
	make_bed(&b);
	CHECK(!ibv_close_device(b.c)); /* and left behind for good */
}

static _Atomic long sleeper;

static void *sleep_for_event(void *arg)
{
	struct ibv_async_event e;

	atomic_store(&sleeper, syscall(SYS_gettid));
	ibv_get_async_event(arg, &e);
	return NULL;
}

static bool in_ppoll(long tid)
{
	char path[64];
	long nr = -1;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%ld/syscall", tid);
	f = tid ? fopen(path, "re") : NULL;
	if (f && fscanf(f, "%ld", &nr) != 1)
		nr = -1;
	if (f)
		fclose(f);
	return nr == SYS_ppoll;
}

/* The device is closed under a thread that waits for its events. */
static void closed_under_waiter(void)
{
	struct ibv_context *c = ibv_open_device(device);
	struct timespec ms = { 0, 1000000 };
	void *end = NULL;
	pthread_t t;

#ifdef __SANITIZE_THREAD__
	return; /* it does not see locks that a cancelled thread takes while it unwinds */
#endif
	CHECK(!pthread_create(&t, NULL, sleep_for_event, c));
	for (int i = 0; i < 30000 && !in_ppoll(atomic_load(&sleeper)); i++)
		nanosleep(&ms, NULL);
	CHECK(in_ppoll(atomic_load(&sleeper)));
	CHECK(!ibv_close_device(c));
	CHECK(!pthread_cancel(t) && !pthread_join(t, &end) && end == PTHREAD_CANCELED);
}

static void in_child(struct bed *b)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad = NULL;
	struct ibv_device_attr attr;
	struct ibv_context *own;
	struct ibv_wc wc;

	CHECK(ibv_query_device(b->c, &attr) == EIO);
	CHECK(ibv_poll_cq(b->cq, 1, &wc) < 0);
	CHECK(ibv_post_send(b->qp[0], &wr, &bad) == EIO && bad == &wr);
	CHECK(ibv_destroy_qp(b->qp[0]) == EIO);
	CHECK(!ibv_alloc_pd(b->c) && errno == EIO);
	own = ibv_open_device(device);
	CHECK(own && !ibv_query_device(own, &attr));
	CHECK(!ibv_close_device(own));
	CHECK(!ibv_close_device(b->c));
}

static void forks(void)
{
	static struct bed b;
	int status = -1;
	pid_t pid;

#ifdef __SANITIZE_THREAD__
	return; /* it does not follow the fork of a process with threads */
#endif
	make_bed(&b);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		in_child(&b);
		fflush(stdout);
		_exit(failures ? 1 : 0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	memcpy(b.buf, "after", 5);
	CHECK(write_to(&b, b.mr->lkey, (uintptr_t)b.buf, b.mr->rkey, (uintptr_t)b.buf + 64, 5) == 0);
	CHECK(!memcmp(b.buf + 64, "after", 5));
	free_bed(&b);
}

static atomic_int alarms;

static void on_alarm(int sig)
{
	atomic_fetch_add(&alarms, 1);
}

static void *get_event(void *arg)
{
	struct bed *b = arg;
	struct ibv_cq *cq;
	void *context;
	long r = ibv_get_cq_event(b->ch, &cq, &context);

	if (!r)
		ibv_ack_cq_events(cq, 1);
	return (void *)(r ? (long)errno : -1L);
}

/* The effect of a signal on a thread that waits for an event: `flags` of its handler, and the
 * errno of the call (0: nothing, it goes on). */
static void interrupt(struct bed *b, int flags, int want)
{
	struct sigaction a = { .sa_handler = on_alarm, .sa_flags = flags };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	struct ibv_wc wc;
	pthread_t t;
	void *got;
	int before = atomic_load(&alarms);

	CHECK(!sigaction(SIGUSR1, &a, NULL));
	CHECK(!ibv_req_notify_cq(b->cq, 0));
	CHECK(!pthread_create(&t, NULL, get_event, b));
	do { /* until it is known to have met the thread in its wait */
		poll(NULL, 0, 20);
		pthread_kill(t, SIGUSR1);
	} while ((want || atomic_load(&alarms) < before + 3) && pthread_tryjoin_np(t, &got));
	if (!want) {
		CHECK(!ibv_post_send(b->qp[0], &wr, &bad));
		CHECK(!pthread_join(t, &got) && (long)got == -1);
		while (!ibv_poll_cq(b->cq, 1, &wc))
			;
	} else {
		CHECK((long)got == want);
	}
	signal(SIGUSR1, SIG_DFL);
}

static void cancelled_wait(struct bed *b)
{
	pthread_t t;
	void *got;

#ifdef __SANITIZE_THREAD__
	return; /* as in closed_under_waiter() */
#endif
	CHECK(!pthread_create(&t, NULL, get_event, b));
	poll(NULL, 0, 20);
	CHECK(!pthread_cancel(t) && !pthread_join(t, &got) && got == PTHREAD_CANCELED);
}

static uint64_t clock_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

struct wait_comp {
	struct bed *b;
	int fd;
	bool many; /* by dpl_poll() */
};

static int wait_until(const struct wait_comp *w, uint64_t until)
{
	struct pollfd p[] = { { w->b->ch->fd, POLLIN, 0 }, { w->fd, POLLIN, 0 } };
	int rc;

	if (!w->many)
		return dpl_wait_comp(w->b->ch, w->fd, until);
	rc = dpl_poll(w->b->ch->context, p, 2, until);
	CHECK(rc || p[0].revents == POLLIN || p[1].revents == POLLIN);
	return rc;
}

/* As a program would: until it is something else than nothing. */
static void *wait_comp(void *arg)
{
	struct wait_comp *w = arg;
	struct ibv_cq *cq;
	void *context;
	char c;
	long rc;

	do {
		rc = wait_until(w, UINT64_MAX);
		if (!rc && !ibv_get_cq_event(w->b->ch, &cq, &context)) {
			ibv_ack_cq_events(cq, 1);
			return (void *)-1L;
		}
	} while (!rc && (w->fd < 0 || read(w->fd, &c, 1) != 1));
	return (void *)rc;
}

/* The channel has O_NONBLOCK. An event, a second descriptor, a time and a signal each end it. */
static void bounded_waits(struct bed *b, bool many)
{
	struct ibv_sge sge = { (uintptr_t)b->buf, 8, b->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_RDMA_WRITE,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.rdma = { (uintptr_t)b->buf + 64, b->mr->rkey } }, *bad;
	struct sigaction a = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
	struct wait_comp w = { .b = b, .fd = -1, .many = many };
	uint64_t from = clock_now();
	int fd[2], rc, before;
	struct ibv_wc wc;
	pthread_t t;
	void *got;

	CHECK(!ibv_req_notify_cq(b->cq, 0));
	do
		rc = wait_until(&w, from + 30000000);
	while (!rc);
	CHECK(rc == ETIMEDOUT && clock_now() >= from + 30000000);
	CHECK(wait_until(&w, 1) == ETIMEDOUT); /* long past */

	CHECK(!pthread_create(&t, NULL, wait_comp, &w));
	CHECK(!ibv_post_send(b->qp[0], &wr, &bad));
	CHECK(!pthread_join(t, &got) && (long)got == -1);
	while (!ibv_poll_cq(b->cq, 1, &wc))
		;

	CHECK(!pipe2(fd, O_CLOEXEC | O_NONBLOCK) && write(fd[1], "x", 1) == 1);
	w.fd = fd[0];
	CHECK(wait_comp(&w) == NULL); /* readable before */
	CHECK(!pthread_create(&t, NULL, wait_comp, &w));
	CHECK(write(fd[1], "x", 1) == 1);
	CHECK(!pthread_join(t, &got) && !got);
	close(fd[0]);
	close(fd[1]);

	w.fd = -1;
	before = atomic_load(&alarms);
	CHECK(!sigaction(SIGUSR1, &a, NULL));
	CHECK(!pthread_create(&t, NULL, wait_comp, &w));
	do {
		poll(NULL, 0, 10);
		pthread_kill(t, SIGUSR1);
	} while (pthread_tryjoin_np(t, &got));
	CHECK((long)got == EINTR && atomic_load(&alarms) > before);
	signal(SIGUSR1, SIG_DFL);

#ifdef __SANITIZE_THREAD__
	return; /* as in closed_under_waiter() */
#endif
	CHECK(!pthread_create(&t, NULL, wait_comp, &w));
	CHECK(!pthread_cancel(t) && !pthread_join(t, &got) && got == PTHREAD_CANCELED);
}

/* What programs of rdma-core 28 pass is shorter than today's; behind it there is no memory here. */
static void older_structures(void)
{
	const size_t page = 4096, cq_attr = offsetof(struct ibv_cq_init_attr_ex, parent_domain), port_attr = 52;
	char *end, *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_context *c = ibv_open_device(device);
	struct ibv_cq_init_attr_ex *attr;
	struct ibv_port_attr *port;
	struct ibv_cq_ex *cq;

	CHECK(c && pages != MAP_FAILED && !mprotect(pages + page, page, PROT_NONE));
	end = pages + page;
	attr = (void *)(end - cq_attr);
	attr->cqe = 8;
	attr->comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS;
	cq = ibv_create_cq_ex(c, attr);
	CHECK(cq && !ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	port = (void *)(end - port_attr);
	CHECK(!verbs_get_ctx(c)->query_port(c, 1, port, port_attr) && port->state == IBV_PORT_ACTIVE);
	CHECK(!ibv_close_device(c));
	munmap(pages, 2 * page);
}

static void waits(void)
{
	static struct bed b;
	struct ibv_async_event e;
	struct ibv_cq *cq;
	void *context;

	make_bed(&b);
	interrupt(&b, SA_RESTART, 0);
	interrupt(&b, 0, EINTR);
	cancelled_wait(&b);
	fcntl(b.ch->fd, F_SETFL, O_NONBLOCK);
	fcntl(b.c->async_fd, F_SETFL, O_NONBLOCK);
	CHECK(ibv_get_cq_event(b.ch, &cq, &context) == -1 && errno == EAGAIN);
	CHECK(ibv_get_async_event(b.c, &e) == -1 && errno == EAGAIN);
	bounded_waits(&b, false);
	bounded_waits(&b, true);
	CHECK(dpl_poll(b.ch->context, NULL, DPL_POLL_FDS + 1, 0) == EINVAL && dpl_poll(b.ch->context, NULL, 0, 1) == ETIMEDOUT);
	free_bed(&b);
}

int main(void)
{
	int n = 0;
	struct ibv_device **list = ibv_get_device_list(&n), **again;

	for (int i = 0; i < n && !device; i++)
		if (!strcmp(ibv_get_device_name(list[i]), "dpl_roce_lo"))
			device = list[i];
	if (!device) {
		puts("no adapter on lo");
		return 77;
	}
	again = ibv_get_device_list(NULL);
	CHECK(again && again[0] == list[0]); /* a device keeps its address */
	ibv_free_device_list(again);
	regions();
	free_key_is_dead();
	windows_and_queues();
	addresses();
	adapter();
	older_structures();
	handlers();
	imports();
	waits();
	leaks();
	closed_under_waiter();
	forks();
	ibv_free_device_list(list);
	printf("%d failures\n", failures);
	return failures ? 1 : 0;
}
