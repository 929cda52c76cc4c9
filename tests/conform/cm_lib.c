/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm.h"

#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>

#define MESSAGE 4096

bool cm_is_iwarp(void)
{
	return cf_open()->device->transport_type == IBV_TRANSPORT_IWARP;
}

bool cm_has_v6(void)
{
	return !getenv("CONFORM_ADDRESS");
}

const char *cm_host(int family)
{
	const char *v4 = getenv("CONFORM_ADDRESS");

	if (family == AF_INET)
		return v4 ? v4 : "127.0.0.1";
	if (v4)
		cf_skip("the adapter's addresses are IPv4");
	return "::1";
}

static struct sockaddr_storage address(int family, const char *text, uint16_t port)
{
	struct sockaddr_storage s = { .ss_family = (sa_family_t)family };
	struct sockaddr_in *v4 = (void *)&s;
	struct sockaddr_in6 *v6 = (void *)&s;

	/* The port stands at one place in both. */
	v4->sin_port = htons(port);
	CF_EQ(inet_pton(family, text, family == AF_INET ? (void *)&v4->sin_addr : &v6->sin6_addr), 1);
	return s;
}

struct sockaddr_storage cm_here(int family, uint16_t port)
{
	return address(family, cm_host(family), port);
}

struct sockaddr_storage cm_any(int family, uint16_t port)
{
	return address(family, family == AF_INET ? "0.0.0.0" : "::", port);
}

uint16_t cm_port(struct rdma_cm_id *id)
{
	return ntohs(rdma_get_src_port(id));
}

static int end_channel(void *ch)
{
	rdma_destroy_event_channel(ch);
	return 0;
}

struct rdma_event_channel *cm_channel(void)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();

	if (!ch)
		CF_DIE("no event channel: %s", strerror(errno));
	cf_keep(end_channel, ch, "rdma_destroy_event_channel");
	return ch;
}

static int end_id(void *p)
{
	struct rdma_cm_id *id = p;

	if (id->qp)
		rdma_destroy_qp(id);
	if (id->srq)
		rdma_destroy_srq(id);
	return rdma_destroy_id(id);
}

struct rdma_cm_id *cm_keep(struct rdma_cm_id *id)
{
	cf_keep(end_id, id, "rdma_destroy_id");
	return id;
}

struct rdma_cm_id *cm_id(struct rdma_event_channel *ch, enum rdma_port_space ps)
{
	struct rdma_cm_id *id;

	CF_OK(rdma_create_id(ch, &id, NULL, ps));
	return cm_keep(id);
}

void cm_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = id->qp_type,
		.sq_sig_all = 1,
	};

	CF_OK(rdma_create_qp(id, NULL, &attr));
}

struct rdma_cm_event *cm_take_at(const char *file, int line, struct rdma_event_channel *ch,
				 enum rdma_cm_event_type want)
{
	struct rdma_cm_event *e;

	if (!cf_readable(ch->fd, CF_WAIT_MS))
		cf_fail(file, line, "no %s came", rdma_event_str(want));
	if (rdma_get_cm_event(ch, &e))
		cf_fail(file, line, "no event taken: %s", strerror(errno));
	if (e->event != want)
		cf_fail(file, line, "%s (status %d) came instead of %s", rdma_event_str(e->event),
			e->status, rdma_event_str(want));
	return e;
}

int cm_event_at(const char *file, int line, struct rdma_event_channel *ch,
		enum rdma_cm_event_type want)
{
	struct rdma_cm_event *e = cm_take_at(file, line, ch, want);
	int status = e->status;

	CF_OK(rdma_ack_cm_event(e));
	return status;
}

void cm_silent(struct rdma_event_channel *ch)
{
	struct rdma_cm_event *e;

	if (!cf_readable(ch->fd, CF_QUIET_MS))
		return;
	CF_OK(rdma_get_cm_event(ch, &e));
	CF_DIE("%s (status %d) came for nothing", rdma_event_str(e->event), e->status);
}

struct rdma_cm_id *cm_listen(struct rdma_event_channel *ch, enum rdma_port_space ps,
			     struct sockaddr_storage *at)
{
	struct sockaddr_storage here = cm_here(AF_INET, 0);
	struct rdma_cm_id *id = cm_id(ch, ps);

	CF_OK(rdma_bind_addr(id, cm_sa(at ? at : &here)));
	CF_OK(rdma_listen(id, 64));
	CF_TRUE(cm_port(id) != 0);
	return id;
}

struct rdma_cm_id *cm_towards(struct rdma_event_channel *ch, enum rdma_port_space ps,
			      struct sockaddr_storage *to)
{
	struct rdma_cm_id *id = cm_id(ch, ps);

	CF_OK(rdma_resolve_addr(id, NULL, cm_sa(to), CF_WAIT_MS));
	CF_EQ(cm_event(ch, ADDR_RESOLVED), 0);
	CF_OK(rdma_resolve_route(id, CF_WAIT_MS));
	CF_EQ(cm_event(ch, ROUTE_RESOLVED), 0);
	return id;
}

void cm_visit(struct rdma_event_channel *ch, uint16_t port)
{
	struct rdma_conn_param p = { .retry_count = 7, .rnr_retry_count = 7 };
	struct sockaddr_storage to = cm_here(AF_INET, port);
	struct rdma_cm_id *id = cm_towards(ch, RDMA_PS_TCP, &to);

	cm_qp(id);
	CF_OK(rdma_connect(id, &p));
	CF_EQ(cm_event(ch, ESTABLISHED), 0);
	rdma_destroy_qp(id);
	cf_drop(id);
}

void cm_open(struct cm_pair *c, int family)
{
	struct sockaddr_storage at = cm_here(family, 0), to;

	c->ach = cm_channel();
	c->pch = cm_channel();
	c->listener = cm_listen(c->pch, RDMA_PS_TCP, &at);
	to = cm_here(family, cm_port(c->listener));
	c->a = cm_towards(c->ach, RDMA_PS_TCP, &to);
}

void cm_request(struct cm_pair *c, int family, struct rdma_conn_param *param,
		struct rdma_cm_event **req)
{
	cm_open(c, family);
	cm_qp(c->a);
	CF_OK(rdma_connect(c->a, param));
	*req = cm_take(c->pch, CONNECT_REQUEST);
	c->p = cm_keep((*req)->id);
}

void cm_connect(struct cm_pair *c, int family)
{
	struct rdma_conn_param param = { .responder_resources = 4, .initiator_depth = 4,
					 .retry_count = 7, .rnr_retry_count = 7 };
	struct rdma_cm_event *req;

	cm_request(c, family, &param, &req);
	cm_qp(c->p);
	CF_OK(rdma_accept(c->p, &param));
	CF_OK(rdma_ack_cm_event(req));
	CF_EQ(cm_event(c->ach, ESTABLISHED), 0);
	CF_EQ(cm_event(c->pch, ESTABLISHED), 0);
}

void cm_request_after(struct cm_pair *c, void (*step)(struct rdma_cm_id *id),
			  struct rdma_cm_event **req)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1,
					 .retry_count = 7, .rnr_retry_count = 7 };

	cm_open(c, AF_INET);
	step(c->a);
	if (!c->a->qp)
		cm_qp(c->a);
	CF_OK(rdma_connect(c->a, &param));
	*req = cm_take(c->pch, CONNECT_REQUEST);
	c->p = cm_keep((*req)->id);
}

void cm_accept(struct cm_pair *c, struct rdma_cm_event *req)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1,
					 .rnr_retry_count = 7 };

	if (!c->p->qp)
		cm_qp(c->p);
	CF_OK(rdma_accept(c->p, &param));
	CF_OK(rdma_ack_cm_event(req));
	CF_EQ(cm_event(c->ach, ESTABLISHED), 0);
	CF_EQ(cm_event(c->pch, ESTABLISHED), 0);
}

void cm_say(struct rdma_cm_id *from, struct rdma_cm_id *to, uint64_t seed)
{
	static uint8_t out[MESSAGE], in[MESSAGE];
	struct ibv_mr *src, *dst;
	struct ibv_wc wc;

	src = cf_mr(from->pd, out, sizeof(out), IBV_ACCESS_LOCAL_WRITE);
	dst = cf_mr(to->pd, in, sizeof(in), IBV_ACCESS_LOCAL_WRITE);
	cf_fill(out, sizeof(out), seed);
	CF_OK(rdma_post_recv(to, to, in, sizeof(in), dst));
	CF_OK(rdma_post_send(from, from, out, sizeof(out), src, 0));
	CF_EQ(rdma_get_send_comp(from, &wc), 1);
	CF_EQ(wc.status, IBV_WC_SUCCESS);
	CF_EQ(rdma_get_recv_comp(to, &wc), 1);
	CF_EQ(wc.status, IBV_WC_SUCCESS);
	CF_EQ(wc.byte_len, MESSAGE);
	cf_verify(in, sizeof(in), seed);
	cf_drop(src);
	cf_drop(dst);
}
