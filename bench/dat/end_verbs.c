/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The end on verbs, connected by rdma_cm, as a careful program without DAT has it. */
#include "end.h"

#include <arpa/inet.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_cma.h>
#include <string.h>

enum { BATCH = 16 };

struct verbs {
	struct rdma_cm_id *id;
	struct ibv_cq *sent, *received;
	struct ibv_mr *mr;
};

static void post(struct end *e, enum ibv_wr_opcode op, uint32_t off, uint32_t len)
{
	struct verbs *v = e->impl;
	struct ibv_sge sge = { (uintptr_t)e->buf + off, len, v->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = off,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = op,
		.send_flags = IBV_SEND_SIGNALED | (len <= INLINE ? IBV_SEND_INLINE : 0),
		.wr.rdma = { e->peer_addr + off, e->peer_key },
	};

	MUST(!ibv_post_send(v->id->qp, &wr, &bad));
}

static void verbs_write(struct end *e, uint32_t off, uint32_t len)
{
	post(e, IBV_WR_RDMA_WRITE, off, len);
}

static void verbs_send(struct end *e, uint32_t off, uint32_t len)
{
	post(e, IBV_WR_SEND, off, len);
}

static void verbs_recv(struct end *e, uint32_t off, uint32_t len)
{
	struct verbs *v = e->impl;
	struct ibv_sge sge = { (uintptr_t)e->buf + off, len, v->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = off, .sg_list = &sge, .num_sge = 1 };

	MUST(!ibv_post_recv(v->id->qp, &wr, &bad));
}

static unsigned int poll_cq(struct ibv_cq *cq)
{
	struct ibv_wc wc[BATCH];
	int n = ibv_poll_cq(cq, BATCH, wc);

	MUST(n >= 0);
	for (int i = 0; i < n; i++)
		MUST(wc[i].status == IBV_WC_SUCCESS);
	return (unsigned int)n;
}

/* Poll, arm, poll again, sleep. */
static unsigned int reap(struct ibv_cq *cq, bool block)
{
	unsigned int n = poll_cq(cq);
	struct ibv_cq *which;
	void *ctx;

	while (!n && block) {
		MUST(!ibv_req_notify_cq(cq, 0));
		n = poll_cq(cq);
		if (n)
			break;
		MUST(!ibv_get_cq_event(cq->channel, &which, &ctx));
		ibv_ack_cq_events(which, 1);
		n = poll_cq(cq);
	}
	return n;
}

static unsigned int verbs_sent(struct end *e, bool block)
{
	return reap(((struct verbs *)e->impl)->sent, block);
}

static unsigned int verbs_received(struct end *e, bool block)
{
	return reap(((struct verbs *)e->impl)->received, block);
}

static struct rdma_cm_event *next(struct rdma_event_channel *ch, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *ev;

	MUST(!rdma_get_cm_event(ch, &ev));
	MUST(ev->event == type);
	return ev;
}

static void make_qp(struct end *e, struct verbs *v)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { 2 * DEPTH, 2 * DEPTH, 1, 1, INLINE },
	};
	struct ibv_pd *pd;

	attr.send_cq = v->sent = ibv_create_cq(v->id->verbs, 4 * DEPTH, NULL,
					       ibv_create_comp_channel(v->id->verbs), 0);
	attr.recv_cq = v->received = ibv_create_cq(v->id->verbs, 4 * DEPTH, NULL,
						   ibv_create_comp_channel(v->id->verbs), 0);
	pd = ibv_alloc_pd(v->id->verbs);
	MUST(v->sent && v->received && pd);
	MUST(!rdma_create_qp(v->id, pd, &attr));
	v->mr = ibv_reg_mr(pd, e->buf, BUFFER, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	MUST(v->mr);
}

static struct rdma_conn_param param(void)
{
	return (struct rdma_conn_param){ .responder_resources = 4, .initiator_depth = 4,
					 .retry_count = 7, .rnr_retry_count = 7 };
}

static void serve(struct end *e, struct verbs *v, struct rdma_event_channel *ch, int control)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rdma_conn_param p = param();
	struct rdma_cm_id *listen;
	struct rdma_cm_event *ev;
	uint16_t port;

	MUST(!rdma_create_id(ch, &listen, NULL, RDMA_PS_TCP));
	MUST(!rdma_bind_addr(listen, (struct sockaddr *)&at) && !rdma_listen(listen, 1));
	port = rdma_get_src_port(listen);
	tell(control, &port, sizeof(port));
	ev = next(ch, RDMA_CM_EVENT_CONNECT_REQUEST);
	v->id = ev->id;
	rdma_ack_cm_event(ev);
	make_qp(e, v);
	MUST(!rdma_accept(v->id, &p));
	rdma_ack_cm_event(next(ch, RDMA_CM_EVENT_ESTABLISHED));
}

static void connect_end(struct end *e, struct verbs *v, struct rdma_event_channel *ch, int control)
{
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct rdma_conn_param p = param();

	hear(control, &to.sin_port, sizeof(to.sin_port));
	MUST(!rdma_create_id(ch, &v->id, NULL, RDMA_PS_TCP));
	MUST(!rdma_resolve_addr(v->id, NULL, (struct sockaddr *)&to, 5000));
	rdma_ack_cm_event(next(ch, RDMA_CM_EVENT_ADDR_RESOLVED));
	MUST(!rdma_resolve_route(v->id, 5000));
	rdma_ack_cm_event(next(ch, RDMA_CM_EVENT_ROUTE_RESOLVED));
	make_qp(e, v);
	MUST(!rdma_connect(v->id, &p));
	rdma_ack_cm_event(next(ch, RDMA_CM_EVENT_ESTABLISHED));
}

void verbs_open(struct end *e, bool server, int control)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct verbs *v = calloc(1, sizeof(*v));

	MUST(ch && v && !posix_memalign((void **)&e->buf, 4096, BUFFER));
	memset(e->buf, 0, BUFFER);
	e->impl = v;
	e->write = verbs_write;
	e->send = verbs_send;
	e->recv = verbs_recv;
	e->reap_sent = verbs_sent;
	e->reap_received = verbs_received;
	(server ? serve : connect_end)(e, v, ch, control);
	swap_keys(e, control, v->mr->rkey);
}
