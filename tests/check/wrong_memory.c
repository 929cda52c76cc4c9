/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Mistakes with buffers and regions. */
#include "world.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

CASE(send_source_changed)
{
	world_pair();
	ibv_post_send(w.qp, &w.send, &w.bad_send); /* wrong: source-changed */
	strcpy(w.buf, "the next message");
	while (world_reap(w.cq).wr_id != w.send.wr_id)
		;
}

CASE(write_source_changed)
{
	struct ibv_send_wr wr = world_remote(IBV_WR_RDMA_WRITE);

	world_pair();
	ibv_post_send(w.qp, &wr, &w.bad_send); /* wrong: source-changed */
	w.buf[63]++;
	world_reap(w.cq);
}

CASE(unsignaled_source_changed)
{
	struct ibv_send_wr first = world_remote(IBV_WR_RDMA_WRITE), second;

	world_pair();
	first.send_flags = 0;
	ibv_post_send(w.qp, &first, &w.bad_send); /* wrong: source-changed */
	w.buf[0] = 'x';
	w.sge.addr += 64;
	second = world_remote(IBV_WR_RDMA_WRITE);
	ibv_post_send(w.qp, &second, &w.bad_send);
	world_reap(w.cq);
}

CASE(second_piece_changed)
{
	struct ibv_sge s[2] = { w.sge, { w.sge.addr + 1024, 32, w.sge.lkey } };
	struct ibv_send_wr wr = world_remote(IBV_WR_RDMA_WRITE);

	world_pair();
	wr.sg_list = s;
	wr.num_sge = 2;
	ibv_post_send(w.qp, &wr, &w.bad_send); /* wrong: source-changed */
	w.buf[1024] = 'x';
	world_reap(w.cq);
}

CASE(deregistered_receive)
{
	world_pair();
	ibv_post_recv(w.qp, &w.recv, &w.bad_recv);
	ibv_dereg_mr(w.mr); /* wrong: deregistered-in-flight */
}

CASE(deregistered_read)
{
	struct ibv_send_wr wr = world_remote(IBV_WR_RDMA_READ);

	world_pair();
	ibv_post_send(w.qp, &wr, &w.bad_send);
	ibv_dereg_mr(w.mr); /* wrong: deregistered-in-flight */
}

CASE(deregistered_under_srq)
{
	struct ibv_srq_init_attr a = { .attr = { .max_wr = 4, .max_sge = 1 } };
	struct ibv_srq *srq = ibv_create_srq(w.pd, &a);

	ibv_post_srq_recv(srq, &w.recv, &w.bad_recv);
	ibv_dereg_mr(w.mr); /* wrong: deregistered-in-flight */
}

CASE(free_of_receive)
{
	world_pair();
	ibv_post_recv(w.qp, &w.recv, &w.bad_recv);
	free(w.buf); /* wrong: freed-in-flight */
}

CASE(free_of_source)
{
	world_pair();
	ibv_post_send(w.qp, &w.send, &w.bad_send);
	free(w.buf); /* wrong: freed-in-flight */
}

CASE(realloc_of_receive)
{
	char *to;

	world_pair();
	ibv_post_recv(w.qp, &w.recv, &w.bad_recv);
	to = realloc(w.buf, (size_t)64 << 20); /* wrong: freed-in-flight */
	free(to);
}

CASE(unmapped_receive)
{
	char *m = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr = ibv_reg_mr(w.pd, m, 8192, IBV_ACCESS_LOCAL_WRITE);

	world_pair();
	w.sge = (struct ibv_sge){ (uintptr_t)m + 4096, 64, mr->lkey };
	ibv_post_recv(w.qp, &w.recv, &w.bad_recv);
	munmap(m, 8192); /* wrong: freed-in-flight */
}

CASE(freed_before_send)
{
	world_pair();
	free(w.buf);
	ibv_post_send(w.qp, &w.send, &w.bad_send); /* wrong: freed-memory-posted */
}

CASE(freed_before_receive)
{
	world_pair();
	free(w.buf);
	ibv_post_recv(w.qp, &w.recv, &w.bad_recv); /* wrong: freed-memory-posted */
}

CASE(unmapped_before_send)
{
	char *m = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct ibv_mr *mr = ibv_reg_mr(w.pd, m, 8192, IBV_ACCESS_LOCAL_WRITE);

	world_pair();
	munmap(m, 8192);
	w.sge = (struct ibv_sge){ (uintptr_t)m, 64, mr->lkey };
	ibv_post_send(w.qp, &w.send, &w.bad_send); /* wrong: freed-memory-posted */
}

CASE(registered_over_freed)
{
	char *m = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	ibv_reg_mr(w.pd, m, 8192, IBV_ACCESS_LOCAL_WRITE);
	munmap(m, 8192);
	m = mmap(m, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	ibv_reg_mr(w.pd, m, 4096, IBV_ACCESS_LOCAL_WRITE); /* wrong: overlaps-freed-region */
}

CASE(lkey_of_nothing)
{
	world_pair();
	w.sge.lkey ^= 0x5a5a00;
	ibv_post_send(w.qp, &w.send, &w.bad_send); /* wrong: unknown-lkey */
}

CASE(lkey_of_gone_region)
{
	world_pair();
	ibv_dereg_mr(w.mr);
	ibv_post_recv(w.qp, &w.recv, &w.bad_recv); /* wrong: unknown-lkey */
}

CASE(lkey_missing)
{
	world_pair();
	w.sge.lkey = 0;
	ibv_post_send(w.qp, &w.send, &w.bad_send); /* wrong: unknown-lkey */
}

CASE(send_beyond_region)
{
	world_pair();
	w.sge.addr = (uintptr_t)w.buf + ROOM - 32;
	ibv_post_send(w.qp, &w.send, &w.bad_send); /* wrong: outside-region */
}

CASE(receive_before_region)
{
	world_pair();
	w.sge.addr -= 8;
	ibv_post_recv(w.qp, &w.recv, &w.bad_recv); /* wrong: outside-region */
}

CASE(second_piece_beyond_region)
{
	struct ibv_sge s[2] = { w.sge, { (uintptr_t)w.buf + 64, ROOM, w.sge.lkey } };

	world_pair();
	w.recv.sg_list = s;
	w.recv.num_sge = 2;
	ibv_post_recv(w.qp, &w.recv, &w.bad_recv); /* wrong: outside-region */
}

CASE(send_of_other_domain)
{
	struct ibv_pd *pd = ibv_alloc_pd(w.ctx);
	struct ibv_mr *mr = ibv_reg_mr(pd, w.buf, ROOM, IBV_ACCESS_LOCAL_WRITE);

	world_pair();
	w.sge.lkey = mr->lkey;
	ibv_post_send(w.qp, &w.send, &w.bad_send); /* wrong: other-domain */
}

CASE(receive_of_other_domain)
{
	struct ibv_pd *pd = ibv_alloc_pd(w.ctx);
	struct ibv_mr *mr = ibv_reg_mr(pd, w.buf, ROOM, IBV_ACCESS_LOCAL_WRITE);

	world_pair();
	w.sge.lkey = mr->lkey;
	ibv_post_recv(w.qp, &w.recv, &w.bad_recv); /* wrong: other-domain */
}

CASE(receive_into_read_only)
{
	struct ibv_mr *mr = ibv_reg_mr(w.pd, w.buf, ROOM, 0);

	world_pair();
	w.sge.lkey = mr->lkey;
	ibv_post_recv(w.qp, &w.recv, &w.bad_recv); /* wrong: not-writable */
}

CASE(read_into_read_only)
{
	struct ibv_mr *mr = ibv_reg_mr(w.pd, w.buf, ROOM, IBV_ACCESS_REMOTE_READ);
	struct ibv_send_wr wr = world_remote(IBV_WR_RDMA_READ);

	world_pair();
	w.sge.lkey = mr->lkey;
	ibv_post_send(w.qp, &wr, &w.bad_send); /* wrong: not-writable */
}

CASE(atomic_into_read_only)
{
	struct ibv_mr *mr = ibv_reg_mr(w.pd, w.buf, ROOM, 0);
	struct ibv_send_wr wr = world_remote(IBV_WR_ATOMIC_FETCH_AND_ADD);

	world_pair();
	w.sge.lkey = mr->lkey;
	ibv_post_send(w.qp, &wr, &w.bad_send); /* wrong: not-writable */
}

CASE(remote_write_alone)
{
	ibv_reg_mr(w.pd, w.buf, ROOM, IBV_ACCESS_REMOTE_WRITE); /* wrong: remote-without-local */
}

CASE(remote_atomic_alone)
{
	ibv_reg_mr(w.pd, w.buf, ROOM, IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC); /* wrong: remote-without-local */
}

CASE(fork_with_regions)
{
	pid_t child = fork(); /* wrong: fork-without-support */

	if (child == 0)
		_exit(0);
	waitpid(child, NULL, 0);
}

/* A value whose octets may come before those of the rest of the message. */
static void *write_late(void *arg)
{
	struct ibv_send_wr wr = world_remote(IBV_WR_RDMA_WRITE);
	clockid_t clock = *(clockid_t *)arg;
	struct timespec used = { 0 };

	while (used.tv_sec < 3 && !clock_gettime(clock, &used))
		sched_yield();
	ibv_post_send(w.qp, &wr, &w.bad_send);
	world_reap(w.cq);
	return NULL;
}

/* Lets the peer's Write come once this thread has used its processor for three seconds. */
static pthread_t begin_late_write(void)
{
	static clockid_t clock;
	pthread_t t;

	world_pair();
	memset(w.buf, 1, 64);
	memset(w.buf + ROOM / 2, 0, 64);
	pthread_getcpuclockid(pthread_self(), &clock);
	if (pthread_create(&t, NULL, write_late, &clock))
		abort();
	return t;
}

CASE(polls_last_octet)
{
	volatile char *last = w.buf + ROOM / 2 + 63;
	pthread_t t = begin_late_write();

	while (!*last); /* wrong: polled-memory */
	pthread_join(t, NULL);
}

/* Long work on memory that a peer may write is none. */
static unsigned add_up(void)
{
	volatile unsigned sum = 0;
	struct timespec used = { 0 };

	while (used.tv_sec < 1) {
		for (int i = 0; i < ROOM; i++)
			sum += (unsigned char)w.buf[i];
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
	}
	return sum;
}

CASE(polls_word_behind_work)
{
	volatile uint32_t *words = (volatile uint32_t *)(w.buf + ROOM / 2);
	pthread_t t;

	add_up();
	t = begin_late_write();
	while (words[15] == 0); /* wrong: polled-memory */
	pthread_join(t, NULL);
}
