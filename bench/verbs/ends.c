/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ends.h"

#include <arpa/inet.h>
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../limits/limit.h"

void ends_need(bool good, const char *operation)
{
	if (!good)
		lim_fail(operation);
}

static struct ibv_comp_channel *channel_of(struct ends *e, struct ibv_context *c)
{
	struct ibv_comp_channel *ch = e->sleeps ? ibv_create_comp_channel(c) : NULL;

	ends_need(ch || !e->sleeps, "completion channel");
	return ch;
}

static void make_queues(struct ends *e, struct rdma_cm_id *id, int depth)
{
	struct ibv_srq_init_attr sa = { .attr = { .max_wr = ENDS_RECEIVES, .max_sge = 1 } };
	int entries = depth * e->n + 16;

	e->channel = channel_of(e, id->verbs);
	e->rchannel = channel_of(e, id->verbs);
	e->cq = ibv_create_cq(id->verbs, entries < 65536 ? entries : 65536, NULL, e->channel, 0);
	e->rcq = ibv_create_cq(id->verbs, ENDS_RECEIVES, NULL, e->rchannel, 0);
	e->srq = ibv_create_srq(id->pd, &sa);
	ends_need(e->cq && e->rcq && e->srq, "queues");
	e->buf = mmap(NULL, 2 * e->size + 4096, PROT_READ | PROT_WRITE,
		      MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
	ends_need(e->buf != MAP_FAILED, "mmap");
	e->mr = ibv_reg_mr(id->pd, e->buf, 2 * e->size + 4096,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
			   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC);
	ends_need(e->mr != NULL, "memory registration");
	e->shared->addr[e->me] = (uintptr_t)e->buf;
	e->shared->rkey[e->me] = e->mr->rkey;
	if (e->sleeps)
		ends_need(!ibv_req_notify_cq(e->cq, 0) && !ibv_req_notify_cq(e->rcq, 0), "notify");
}

static void make_qp(struct ends *e, struct rdma_cm_id *id, int i, int depth)
{
	struct ibv_qp_init_attr a = { .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = (uint32_t)depth, .max_send_sge = 1 } };

	if (!e->cq)
		make_queues(e, id, depth);
	a.send_cq = e->cq;
	a.recv_cq = e->rcq;
	a.srq = e->srq;
	ends_need(!rdma_create_qp(id, id->pd, &a), "queue pair");
	e->id[i] = id;
	e->qp[i] = id->qp;
}

static struct rdma_cm_id *expect(struct rdma_event_channel *ch, enum rdma_cm_event_type kind)
{
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;

	ends_need(!rdma_get_cm_event(ch, &ev), "event");
	id = ev->id;
	if (ev->event != kind) {
		fprintf(stderr, "bench-verbs: %s instead of %s\n", rdma_event_str(ev->event),
			rdma_event_str(kind));
		exit(1);
	}
	rdma_ack_cm_event(ev);
	return id;
}

static struct sockaddr_in loopback(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = port,
				     .sin_addr = { htonl(INADDR_LOOPBACK) } };
}

static struct rdma_conn_param params = { .retry_count = 7, .rnr_retry_count = 7,
	.responder_resources = 16, .initiator_depth = 16 };

static void serve_all(struct ends *e, int depth)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct sockaddr_in a = loopback(0);
	struct rdma_cm_id *l = NULL;

	ends_need(ch && !rdma_create_id(ch, &l, NULL, RDMA_PS_TCP) &&
		  !rdma_bind_addr(l, (struct sockaddr *)&a) && !rdma_listen(l, 64), "listen");
	e->shared->port = rdma_get_src_port(l);
	atomic_store(&e->shared->ready, 1);
	for (int i = 0; i < e->n; i++) {
		make_qp(e, expect(ch, RDMA_CM_EVENT_CONNECT_REQUEST), i, depth);
		for (int k = i ? ENDS_RECEIVES : 0; k < ENDS_RECEIVES; k++)
			ends_post_recv(e);
		ends_need(!rdma_accept(e->id[i], &params), "accept");
		expect(ch, RDMA_CM_EVENT_ESTABLISHED);
	}
}

static void connect_all(struct ends *e, int depth)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct sockaddr_in to = loopback(e->shared->port);

	for (int i = 0; i < e->n; i++) {
		struct rdma_cm_id *id = NULL;

		ends_need(ch && !rdma_create_id(ch, &id, NULL, RDMA_PS_TCP) &&
			  !rdma_resolve_addr(id, NULL, (struct sockaddr *)&to, 5000), "resolve");
		expect(ch, RDMA_CM_EVENT_ADDR_RESOLVED);
		ends_need(!rdma_resolve_route(id, 5000), "route");
		expect(ch, RDMA_CM_EVENT_ROUTE_RESOLVED);
		make_qp(e, id, i, depth);
		for (int k = i ? ENDS_RECEIVES : 0; k < ENDS_RECEIVES; k++)
			ends_post_recv(e);
		ends_need(!rdma_connect(id, &params), "connect");
		expect(ch, RDMA_CM_EVENT_ESTABLISHED);
	}
}

static void quit(int sig)
{
	_exit(sig != SIGTERM);
}

void ends_open(struct ends *e, int n, uint64_t size, int depth, bool sleeps)
{
	*e = (struct ends){ .n = n, .size = size, .sleeps = sleeps,
		.shared = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0),
		.id = calloc((size_t)n, sizeof(*e->id)), .qp = calloc((size_t)n, sizeof(*e->qp)) };

	ends_need(e->shared != MAP_FAILED && e->id && e->qp, "memory");
	e->other = lim_fork();
	if (e->other == 0) {
		e->me = 1;
		signal(SIGTERM, quit);
		serve_all(e, depth);
	} else {
		while (!atomic_load(&e->shared->ready)) {
			ends_need(waitpid(e->other, NULL, WNOHANG) == 0, "the server ended");
			usleep(200);
		}
		connect_all(e, depth);
	}
	atomic_fetch_add(&e->shared->ready, 1);
	while (atomic_load(&e->shared->ready) != 3)
		sched_yield();
}

int ends_close(struct ends *e)
{
	if (e->me == 1)
		exit(0);
	atomic_store(&e->shared->over, 1);
	if (e->sleeps) /* it waits in a call */
		kill(e->other, SIGTERM);
	return lim_join(e->other);
}

static void sleep_for(struct ends *e, struct ibv_cq *cq)
{
	struct ibv_comp_channel *ch = cq == e->cq ? e->channel : e->rchannel;
	struct ibv_cq *got;
	void *context;

	ends_need(!ibv_get_cq_event(ch, &got, &context), "completion event");
	ibv_ack_cq_events(got, 1);
	ends_need(!ibv_req_notify_cq(got, 0), "notify");
}

int ends_wait(struct ends *e, struct ibv_cq *cq, struct ibv_wc *wc, int max)
{
	int n;

	while ((n = ibv_poll_cq(cq, max, wc)) == 0) {
		if (e->sleeps)
			sleep_for(e, cq);
		else if (e->me == 1 && atomic_load_explicit(&e->shared->over, memory_order_relaxed))
			exit(0);
	}
	ends_need(n > 0, "poll");
	for (int i = 0; i < n; i++)
		if (wc[i].status) {
			fprintf(stderr, "bench-verbs: %s\n", ibv_wc_status_str(wc[i].status));
			exit(1);
		}
	return n;
}

void ends_post_recv(struct ends *e)
{
	struct ibv_sge sge = { (uintptr_t)e->buf + e->size, (uint32_t)e->size, e->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;

	ends_need(!ibv_post_srq_recv(e->srq, &wr, &bad), "receive");
}

void ends_post(struct ends *e, int qp, enum ibv_wr_opcode op, uint64_t bytes, bool signalled)
{
	struct ibv_sge sge = { (uintptr_t)e->buf, (uint32_t)bytes, e->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = (uint64_t)qp, .sg_list = &sge, .num_sge = 1, .opcode = op,
		.send_flags = signalled ? IBV_SEND_SIGNALED : 0 }, *bad;

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = e->shared->addr[!e->me] + e->size;
		wr.wr.atomic.rkey = e->shared->rkey[!e->me];
		wr.wr.atomic.compare_add = 1;
	} else if (op != IBV_WR_SEND) {
		wr.wr.rdma.remote_addr = e->shared->addr[!e->me] + e->size;
		wr.wr.rdma.rkey = e->shared->rkey[!e->me];
	}
	ends_need(!ibv_post_send(e->qp[qp], &wr, &bad), "post");
}
