/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * include/dapple/stream.h: TCP sockets of the program become streams of queue pairs, in one process
 * and in two, negotiated by Dapple or before, with every framing; and refused calls, with the owner
 * of the socket afterwards.
 */
#include "support/check.h"

#include <dapple/stream.h>

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BYTES (256 * 1024)
#define IRD 4

struct end {
	struct ibv_context *c;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t buf[2 * BYTES]; /* out, in */
};

/* The attributes that a peer needs for one-sided operations; they go as private data. */
struct card {
	uint64_t addr;
	uint32_t rkey;
};

static struct ibv_context *open_kind(const char *prefix)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *c = NULL;

	CHECK(list);
	for (int i = 0; list[i] && !c; i++)
		if (!strncmp(ibv_get_device_name(list[i]), prefix, strlen(prefix)))
			c = ibv_open_device(list[i]);
	ibv_free_device_list(list);
	CHECK(c);
	return c;
}

static struct end *end_make(const char *prefix)
{
	struct end *e = calloc(1, sizeof(*e));
	struct ibv_qp_init_attr ia = { .cap = { 16, 16, 2, 2, 0 }, .qp_type = IBV_QPT_RC,
				       .sq_sig_all = 1 };

	CHECK(e);
	e->c = open_kind(prefix);
	e->pd = ibv_alloc_pd(e->c);
	e->cq = ibv_create_cq(e->c, 64, NULL, NULL, 0);
	CHECK(e->pd && e->cq);
	ia.send_cq = ia.recv_cq = e->cq;
	e->qp = ibv_create_qp(e->pd, &ia);
	e->mr = ibv_reg_mr(e->pd, e->buf, sizeof(e->buf),
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ);
	CHECK(e->qp && e->mr);
	return e;
}

static void end_init(struct end *e)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1,
				 .qp_access_flags = IBV_ACCESS_REMOTE_WRITE |
						    IBV_ACCESS_REMOTE_READ };

	CHECK(!ibv_modify_qp(e->qp, &a, IBV_QP_STATE | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
}

static void end_free(struct end *e)
{
	CHECK(!ibv_destroy_qp(e->qp) && !ibv_dereg_mr(e->mr) && !ibv_destroy_cq(e->cq));
	CHECK(!ibv_dealloc_pd(e->pd) && !ibv_close_device(e->c));
	free(e);
}

static struct card card_of(const struct end *e)
{
	return (struct card){ (uintptr_t)e->buf + BYTES, e->mr->rkey };
}

static void tcp_pair(int fd[2])
{
	struct sockaddr_in sa = { .sin_family = AF_INET };
	socklen_t n = sizeof(sa);
	int l = socket(AF_INET, SOCK_STREAM, 0);

	sa.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	CHECK(l >= 0 && !bind(l, (struct sockaddr *)&sa, n) && !listen(l, 1));
	CHECK(!getsockname(l, (struct sockaddr *)&sa, &n));
	fd[0] = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(!connect(fd[0], (struct sockaddr *)&sa, n));
	fd[1] = accept(l, NULL, NULL);
	CHECK(fd[1] >= 0);
	close(l);
}

/* --- work --- */

static struct ibv_wc wait_wc(struct end *e)
{
	time_t end = time(NULL) + 20;
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(e->cq, 1, &wc)) == 0)
		CHECK(time(NULL) < end);
	CHECK(n == 1);
	return wc;
}

static void post_recv(struct end *e, uint32_t n)
{
	struct ibv_sge sge = { (uintptr_t)e->buf + BYTES, n, e->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 7, .sg_list = &sge, .num_sge = 1 }, *bad;

	CHECK(!ibv_post_recv(e->qp, &wr, &bad));
}

static void post(struct end *e, enum ibv_wr_opcode op, size_t off, uint32_t n, struct card to)
{
	struct ibv_sge sge = { (uintptr_t)e->buf + off, n, e->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 9, .sg_list = &sge, .num_sge = 1, .opcode = op,
				  .wr.rdma = { to.addr, to.rkey } }, *bad;

	CHECK(!ibv_post_send(e->qp, &wr, &bad));
}

static void fill(uint8_t *p, size_t n, unsigned salt)
{
	for (size_t i = 0; i < n; i++)
		p[i] = (uint8_t)(i * 7 + (i >> 8) + salt);
}

static void expect(struct end *e, enum ibv_wc_opcode op)
{
	struct ibv_wc wc = wait_wc(e);

	if (wc.status)
		fprintf(stderr, "completion: %s\n", ibv_wc_status_str(wc.status));
	CHECK(wc.status == IBV_WC_SUCCESS && wc.opcode == op);
}

static void send_over(struct end *a, struct end *b, uint32_t n)
{
	fill(a->buf, n, n);
	memset(b->buf + BYTES, 0, BYTES);
	post_recv(b, BYTES);
	post(a, IBV_WR_SEND, 0, n, (struct card){ 0, 0 });
	expect(b, IBV_WC_RECV);
	expect(a, IBV_WC_SEND);
	CHECK(!memcmp(a->buf, b->buf + BYTES, n));
}

static void exercise(struct end *a, struct end *b)
{
	static const uint32_t sizes[] = { 1, 64, 5000, BYTES };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		send_over(a, b, sizes[i]);
		send_over(b, a, sizes[i]);
		fill(a->buf, sizes[i], 99);
		post(a, IBV_WR_RDMA_WRITE, 0, sizes[i], card_of(b));
		expect(a, IBV_WC_RDMA_WRITE);
		/* A Read behind a Write sees it. */
		memset(a->buf + BYTES, 0, sizes[i]);
		post(a, IBV_WR_RDMA_READ, BYTES, sizes[i], card_of(b));
		expect(a, IBV_WC_RDMA_READ);
		CHECK(!memcmp(a->buf, a->buf + BYTES, sizes[i]));
	}
}

/* --- hand-over --- */

static struct dpl_stream_attr attr_of(uint32_t role, uint32_t flags)
{
	return (struct dpl_stream_attr){ .role = role, .flags = flags, .ird = IRD, .ord = IRD };
}

static int ask(struct end *e, int fd, struct dpl_stream_attr a)
{
	return dpl_qp_stream(e->qp, fd, &a, sizeof(a));
}

static enum ibv_qp_state state_of(struct end *e)
{
	struct ibv_qp_init_attr ia;
	struct ibv_qp_attr a;

	CHECK(!ibv_query_qp(e->qp, &a, IBV_QP_STATE, &ia));
	return a.qp_state;
}

static void start(struct end *e, int fd, uint32_t role, uint32_t flags, const char *words)
{
	struct dpl_stream_attr a = attr_of(role, flags);

	if (role != DPL_STREAM_NEGOTIATED) {
		a.private_data = words;
		a.private_len = (uint16_t)strlen(words);
	}
	CHECK(dpl_qp_stream(e->qp, fd, &a, sizeof(a)) == 0);
}

static void finish(struct end *e, const char *words, bool agreed)
{
	struct dpl_stream_result r;

	CHECK(dpl_qp_stream_wait(e->qp, 20000, &r, sizeof(r)) == 0 && r.error == 0);
	CHECK(state_of(e) == IBV_QPS_RTS);
	if (agreed)
		return;
	CHECK(r.private_len >= strlen(words) && !memcmp(r.private_data, words, strlen(words)));
	CHECK(r.ird >= IRD && r.ord >= IRD);
	CHECK(dpl_qp_stream_wait(e->qp, 0, &r, sizeof(r)) == ENOTCONN);
}

static void in_one_process(uint32_t role_a, uint32_t flags_a, uint32_t role_b, uint32_t flags_b)
{
	struct end *a = end_make("dpl_iw_lo"), *b = end_make("dpl_iw_lo");
	bool agreed = role_a == DPL_STREAM_NEGOTIATED;
	int fd[2];

	end_init(a);
	end_init(b);
	tcp_pair(fd);
	/* The responder first, so that no Request meets an unadopted socket unread. */
	start(b, fd[1], role_b, flags_b, "of the responder");
	start(a, fd[0], role_a, flags_a, "of the initiator");
	CHECK(ask(a, 0, attr_of(DPL_STREAM_RESPONDER, 0)) != 0);
	finish(a, "of the responder", agreed);
	finish(b, "of the initiator", agreed);
	exercise(a, b);
	end_free(a);
	CHECK(wait_wc((post_recv(b, 8), b)).status == IBV_WC_WR_FLUSH_ERR);
	end_free(b);
}

static void all_framings(void)
{
	const uint32_t in = DPL_STREAM_MARKERS_IN, out = DPL_STREAM_MARKERS_OUT;
	const uint32_t crc = DPL_STREAM_CRC, req = DPL_STREAM_REQUESTED;
	const uint32_t agreed = DPL_STREAM_NEGOTIATED;

	in_one_process(DPL_STREAM_INITIATOR, crc, DPL_STREAM_RESPONDER, crc);
	in_one_process(DPL_STREAM_INITIATOR, 0, DPL_STREAM_RESPONDER, 0);
	in_one_process(DPL_STREAM_INITIATOR, crc | in, DPL_STREAM_RESPONDER, 0);
	in_one_process(DPL_STREAM_INITIATOR, in, DPL_STREAM_RESPONDER, in);
	in_one_process(agreed, crc | req, agreed, crc);
	in_one_process(agreed, req, agreed, 0);
	in_one_process(agreed, crc | in | out | req, agreed, crc | in | out);
	in_one_process(agreed, out | req, agreed, in);
}

/* The child writes, says so, and leaves at once. */
static int child(int fd)
{
	struct end *e = end_make("dpl_iw_lo");
	struct dpl_stream_attr a = attr_of(DPL_STREAM_INITIATOR, DPL_STREAM_CRC);
	struct dpl_stream_result r;
	struct card to;

	end_init(e);
	CHECK(ask(e, fd, a) == 0);
	CHECK(dpl_qp_stream_wait(e->qp, -1, &r, sizeof(r)) == 0);
	CHECK(r.private_len >= sizeof(to));
	memcpy(&to, r.private_data, sizeof(to));
	fill(e->buf, BYTES, 3);
	post(e, IBV_WR_RDMA_WRITE, 0, BYTES, to);
	post(e, IBV_WR_SEND, 0, 0, to);
	expect(e, IBV_WC_RDMA_WRITE);
	expect(e, IBV_WC_SEND);
	exit(0);
}

static void in_two_processes(void)
{
	struct dpl_stream_attr a = attr_of(DPL_STREAM_RESPONDER, DPL_STREAM_CRC);
	struct dpl_stream_result r;
	struct card mine;
	struct end *e;
	int fd[2], status;
	pid_t pid;

	tcp_pair(fd);
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		close(fd[1]);
		child(fd[0]);
	}
	close(fd[0]);
	e = end_make("dpl_iw_lo");
	end_init(e);
	mine = card_of(e);
	a.private_data = &mine;
	a.private_len = sizeof(mine);
	post_recv(e, 0);
	CHECK(ask(e, fd[1], a) == 0);
	CHECK(dpl_qp_stream_wait(e->qp, 20000, &r, sizeof(r)) == 0);
	expect(e, IBV_WC_RECV);
	fill(e->buf, BYTES, 3);
	CHECK(!memcmp(e->buf, e->buf + BYTES, BYTES));
	CHECK(waitpid(pid, &status, 0) == pid && status == 0);
	end_free(e);
}

/* --- refusals --- */

static bool alive(int fd[2])
{
	char c = 0;

	return send(fd[0], "x", 1, MSG_NOSIGNAL) == 1 && recv(fd[1], &c, 1, 0) == 1 &&
	       send(fd[1], "y", 1, MSG_NOSIGNAL) == 1 && recv(fd[0], &c, 1, 0) == 1 && c == 'y';
}

static void refusals(void)
{
	struct end *roce = end_make("dpl_roce_lo"), *e = end_make("dpl_iw_lo");
	struct { struct dpl_stream_attr a; char more[8]; } longer = {
		.a = attr_of(DPL_STREAM_INITIATOR, 0) };
	struct dpl_stream_attr good = attr_of(DPL_STREAM_INITIATOR, 0), a;
	struct dpl_stream_result r;
	static char words[DPL_STREAM_PRIVATE + 1];
	int fd[2], lone = socket(AF_INET, SOCK_STREAM, 0), null = open("/dev/null", O_RDONLY);
	struct linger keep = { 1, 3 };
	socklen_t n = sizeof(keep);

	tcp_pair(fd);
	CHECK(!setsockopt(fd[0], SOL_SOCKET, SO_LINGER, &keep, n));
	CHECK(ask(roce, fd[0], good) == EOPNOTSUPP);
	CHECK(dpl_qp_stream_wait(e->qp, 0, &r, sizeof(r)) == ENOTCONN);
	CHECK(ask(e, fd[0], good) == EINVAL); /* RESET */
	CHECK(alive(fd));
	end_init(e);
	a = attr_of(3, 0);
	CHECK(ask(e, fd[0], a) == EINVAL);
	a = attr_of(DPL_STREAM_INITIATOR, 1 << 4);
	CHECK(ask(e, fd[0], a) == EINVAL);
	a = attr_of(DPL_STREAM_INITIATOR, DPL_STREAM_MARKERS_OUT);
	CHECK(ask(e, fd[0], a) == EINVAL);
	a = good;
	a.rtr = DPL_RTR_WRITE;
	CHECK(ask(e, fd[0], a) == EINVAL);
	a = good;
	a.private_data = words;
	a.private_len = sizeof(words);
	CHECK(ask(e, fd[0], a) == EINVAL);
	a.role = DPL_STREAM_NEGOTIATED;
	a.private_len = 1;
	CHECK(ask(e, fd[0], a) == EINVAL);
	longer.more[3] = 1;
	CHECK(dpl_qp_stream(e->qp, fd[0], &longer.a, sizeof(longer)) == EINVAL);
	CHECK(dpl_qp_stream(e->qp, fd[0], &good, 4) == EINVAL);
	CHECK(ask(e, lone, good) == ENOTCONN);
	CHECK(ask(e, null, good) == ENOTSOCK);
	CHECK(ask(e, -1, good) == EBADF);
	/* All the time the connection was left alone. */
	CHECK(alive(fd) && !getsockopt(fd[0], SOL_SOCKET, SO_LINGER, &keep, &n));
	CHECK(keep.l_onoff == 1 && keep.l_linger == 3);
	CHECK(!close(lone) && !close(null) && !close(fd[0]) && !close(fd[1]));
	end_free(roce);
	end_free(e);
}

/* The other end's act instead of an answer. */
static void bad_peers(void)
{
	struct dpl_stream_attr wait_for = attr_of(DPL_STREAM_RESPONDER, 0);
	struct dpl_stream_result r;
	struct end *e = end_make("dpl_iw_lo");
	int fd[2], rc;

	end_init(e);
	tcp_pair(fd);
	CHECK(ask(e, fd[0], wait_for) == 0);
	CHECK(dpl_qp_stream_wait(e->qp, 0, &r, sizeof(r)) == ETIMEDOUT);
	CHECK(dpl_qp_stream_wait(e->qp, 30, &r, sizeof(r)) == ETIMEDOUT && r.error == 0);
	CHECK(ask(e, fd[1], wait_for) == EISCONN);
	close(fd[1]);
	rc = dpl_qp_stream_wait(e->qp, 20000, &r, sizeof(r));
	CHECK(rc == ECONNRESET && r.error == rc);

	tcp_pair(fd);
	CHECK(ask(e, fd[0], wait_for) == 0);
	CHECK(send(fd[1], "GET / HTTP/1.0\r\nHost: here\r\n\r\n", 30, 0) == 30);
	rc = dpl_qp_stream_wait(e->qp, 20000, &r, sizeof(r));
	CHECK(rc == EPROTO && r.error == rc);
	close(fd[1]);

	/* The QP is still good for another try, which its end breaks off. */
	CHECK(state_of(e) == IBV_QPS_INIT);
	tcp_pair(fd);
	CHECK(ask(e, fd[0], wait_for) == 0);
	end_free(e);
	close(fd[1]);
}

int main(void)
{
	if (getenv("DAPPLE_ADAPTER"))
		unsetenv("DAPPLE_ADAPTER");
	in_two_processes(); /* forks, so before anything is open */
	refusals();
	bad_peers();
	all_framings();
	return 0;
}
