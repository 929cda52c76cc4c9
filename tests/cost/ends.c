/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ends.h"

#include "support/check.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct ends_shape ends_shape = { .depth = 4 };
struct rdma_event_channel *ends_channel;

struct rdma_cm_id *ends_event(enum rdma_cm_event_type want)
{
	struct rdma_cm_event *ev;
	struct rdma_cm_id *id;

	CHECK(!rdma_get_cm_event(ends_channel, &ev));
	CHECK_MSG(ev->event == want, "%s and not %s", rdma_event_str(ev->event),
		  rdma_event_str(want));
	id = ev->id;
	CHECK(!rdma_ack_cm_event(ev));
	return id;
}

static void equip(struct end *e)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .sq_sig_all = 1 };
	static struct ibv_cq *shared;
	uint32_t depth = ends_shape.depth;
	size_t bytes = ends_shape.bytes;

	e->cq = shared ? shared : ibv_create_cq(e->id->verbs, 4 * (int)depth, NULL, NULL, 0);
	CHECK(e->cq);
	if (ends_shape.one_cq)
		shared = e->cq;
	attr.send_cq = attr.recv_cq = e->cq;
	attr.cap = (struct ibv_qp_cap){ .max_send_wr = depth, .max_recv_wr = depth,
					.max_send_sge = 1, .max_recv_sge = 1 };
	CHECK(!rdma_create_qp(e->id, NULL, &attr));
	CHECK(!posix_memalign((void **)&e->buf, 4096, bytes < 8 ? 8 : bytes));
	memset(e->buf, 1, bytes);
	e->mr = ibv_reg_mr(e->id->pd, e->buf, bytes, IBV_ACCESS_LOCAL_WRITE |
			   IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			   IBV_ACCESS_REMOTE_ATOMIC);
	CHECK(e->mr);
}

static struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1,
					.retry_count = 7, .rnr_retry_count = 7 };

struct rdma_cm_id *ends_open(void)
{
	struct rdma_cm_id *id;

	ends_channel = rdma_create_event_channel();
	CHECK(ends_channel && !rdma_create_id(ends_channel, &id, NULL, RDMA_PS_TCP));
	return id;
}

uint16_t ends_listen(struct rdma_cm_id *id)
{
	struct sockaddr_in sin = { .sin_family = AF_INET,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	CHECK(!rdma_bind_addr(id, (struct sockaddr *)&sin) && !rdma_listen(id, 16));
	return rdma_get_src_port(id);
}

void ends_resolve(struct end *e, uint16_t port)
{
	struct sockaddr_in sin = { .sin_family = AF_INET, .sin_port = port,
				   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	CHECK(!rdma_resolve_addr(e->id, NULL, (struct sockaddr *)&sin, 10000));
	ends_event(RDMA_CM_EVENT_ADDR_RESOLVED);
	CHECK(!rdma_resolve_route(e->id, 10000));
	ends_event(RDMA_CM_EVENT_ROUTE_RESOLVED);
	equip(e);
}

void ends_connect(struct end *e)
{
	CHECK(!rdma_connect(e->id, &param));
}

void ends_accept(struct end *e)
{
	e->id = ends_event(RDMA_CM_EVENT_CONNECT_REQUEST);
	equip(e);
	CHECK(!rdma_accept(e->id, &param));
}

void ends_post_recv(struct end *e)
{
	struct ibv_sge at = { (uintptr_t)e->buf, (uint32_t)ends_shape.bytes, e->mr->lkey };
	struct ibv_recv_wr wr = { .sg_list = &at, .num_sge = 1 }, *bad;

	CHECK(!ibv_post_recv(e->id->qp, &wr, &bad));
}

void ends_post_send(struct end *e)
{
	struct ibv_sge at = { (uintptr_t)e->buf, (uint32_t)ends_shape.bytes, e->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &at, .num_sge = 1, .opcode = IBV_WR_SEND }, *bad;

	CHECK(!ibv_post_send(e->id->qp, &wr, &bad));
}

int ends_poll(struct end *e)
{
	struct ibv_wc wc[16];
	int n = ibv_poll_cq(e->cq, 16, wc);

	CHECK(n >= 0);
	for (int i = 0; i < n; i++)
		CHECK_MSG(!wc[i].status, "%s", ibv_wc_status_str(wc[i].status));
	return n;
}

void ends_poll_empty(struct end *e)
{
	for (int i = 0; i < 64; i++)
		CHECK(ends_poll(e) == 0);
}

void ends_pass(int fd, char word)
{
	CHECK(write(fd, &word, 1) == 1);
}

char ends_wait(int fd)
{
	char word;

	CHECK(read(fd, &word, 1) == 1);
	return word;
}
