/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Calls that few programs make: extended objects, groups, port spaces, migrate, devices. */
#include "cm.h"

#include <netinet/in.h>
#include <string.h>
#include <unistd.h>

/* --- extended objects --- */

static uint8_t memory[8192];

/* A domain of the program's own, and posting by calls on the queue pair itself. */
static void with_qp_ex(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1, .cap = { 8, 8, 1, 1, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.pd = cf_pd(id->verbs), .send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
	struct ibv_qp_init_attr_ex foreign = attr;

	foreign.pd = cf_pd(cf_open()); /* of another context */
	CF_ERR(rdma_create_qp_ex(id, &foreign), EINVAL);
	CF_OK(rdma_create_qp_ex(id, &attr));
	CF_TRUE(id->qp && id->qp->pd == attr.pd && id->pd == attr.pd);
	CF_TRUE(attr.send_cq == id->send_cq && attr.recv_cq == id->recv_cq);
	CF_ERR(rdma_create_qp_ex(id, &attr), EINVAL);
}

static void qp_ex(void)
{
	struct rdma_cm_event *req;
	struct ibv_qp_ex *qp;
	struct ibv_mr *src, *dst;
	struct cm_pair c;
	struct ibv_wc wc;

	cm_request_after(&c, with_qp_ex, &req);
	cm_accept(&c, req);
	src = cf_mr(c.a->pd, memory, 4096, IBV_ACCESS_LOCAL_WRITE);
	dst = cf_mr(c.p->pd, memory + 4096, 4096, IBV_ACCESS_LOCAL_WRITE);
	cf_fill(memory, 4096, 3);
	CF_OK(rdma_post_recv(c.p, NULL, memory + 4096, 4096, dst));
	qp = ibv_qp_to_qp_ex(c.a->qp);
	CF_TRUE(qp != NULL);
	ibv_wr_start(qp);
	qp->wr_id = 5;
	ibv_wr_send(qp);
	ibv_wr_set_sge(qp, src->lkey, (uintptr_t)memory, 4096);
	CF_OK(ibv_wr_complete(qp));
	CF_EQ(rdma_get_send_comp(c.a, &wc), 1);
	CF_TRUE(wc.status == IBV_WC_SUCCESS && wc.wr_id == 5);
	CF_EQ(rdma_get_recv_comp(c.p, &wc), 1);
	CF_EQ(wc.byte_len, 4096);
	cf_verify(memory + 4096, 4096, 3);
	cm_say(c.p, c.a, 4);
	rdma_destroy_qp(c.a);
	CF_TRUE(!c.a->qp && !c.a->send_cq && !c.a->recv_cq);
	cf_drop(src); /* before the domain, which came before the identifier's end */
	cf_drop(dst);
}

/* A shared receive queue of the identifier's is that of its queue pair. */
static void srq_by(bool extended)
{
	struct ibv_srq_init_attr_ex ex = {
		.attr = { .max_wr = 8, .max_sge = 1 }, .srq_type = IBV_SRQT_BASIC,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD,
	};
	struct ibv_srq_init_attr plain = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1,
					 .retry_count = 7, .rnr_retry_count = 7 };
	struct rdma_cm_event *req;
	struct ibv_recv_wr wr, *bad;
	struct ibv_sge sge;
	struct cm_pair c;
	struct ibv_wc wc;
	struct ibv_mr *src, *dst;

	cm_request(&c, AF_INET, &param, &req);
	ex.pd = c.p->pd;
	CF_OK(extended ? rdma_create_srq_ex(c.p, &ex) : rdma_create_srq(c.p, NULL, &plain));
	CF_TRUE(c.p->srq && (extended ? ex.attr.max_wr : plain.attr.max_wr) >= 8);
	CF_ERR(extended ? rdma_create_srq_ex(c.p, &ex) : rdma_create_srq(c.p, NULL, &plain), EINVAL);
	cm_qp(c.p);
	CF_TRUE(c.p->qp->srq == c.p->srq);
	src = cf_mr(c.a->pd, memory, 4096, IBV_ACCESS_LOCAL_WRITE);
	dst = cf_mr(c.p->pd, memory + 4096, 4096, IBV_ACCESS_LOCAL_WRITE);
	sge = (struct ibv_sge){ (uintptr_t)memory + 4096, 4096, dst->lkey };
	wr = (struct ibv_recv_wr){ .wr_id = 9, .sg_list = &sge, .num_sge = 1 };
	CF_OK(ibv_post_srq_recv(c.p->srq, &wr, &bad));
	cm_accept(&c, req);
	cf_fill(memory, 4096, 6);
	CF_OK(rdma_post_send(c.a, NULL, memory, 4096, src, 0));
	CF_EQ(rdma_get_send_comp(c.a, &wc), 1);
	CF_EQ(wc.status, IBV_WC_SUCCESS);
	CF_EQ(rdma_get_recv_comp(c.p, &wc), 1);
	CF_TRUE(wc.status == IBV_WC_SUCCESS && wc.wr_id == 9 && wc.byte_len == 4096);
	cf_verify(memory + 4096, 4096, 6);
	rdma_destroy_qp(c.p);
	rdma_destroy_srq(c.p);
	CF_TRUE(!c.p->srq);
}

static void srq_plain(void)
{
	srq_by(false);
}

static void srq_ex(void)
{
	srq_by(true);
}

/* --- groups: a send-only member receives nothing --- */

static struct rdma_cm_id *in_group(struct rdma_event_channel *ch, struct sockaddr_storage *g,
				   uint32_t how, struct ibv_ah **ah)
{
	struct sockaddr_storage here = cm_here(AF_INET, 0);
	struct rdma_cm_join_mc_attr_ex join = {
		.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS | RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS,
		.join_flags = how, .addr = cm_sa(g),
	};
	struct rdma_cm_id *id = cm_id(ch, RDMA_PS_UDP);
	struct rdma_cm_event *e;

	CF_OK(rdma_bind_addr(id, cm_sa(&here)));
	cm_qp(id);
	join.join_flags = RDMA_MC_JOIN_FLAG_RESERVED;
	CF_ERR(rdma_join_multicast_ex(id, &join, NULL), EINVAL);
	join.join_flags = how;
	join.comp_mask = RDMA_CM_JOIN_MC_ATTR_ADDRESS;
	CF_ERR(rdma_join_multicast_ex(id, &join, NULL), EINVAL);
	join.comp_mask |= RDMA_CM_JOIN_MC_ATTR_JOIN_FLAGS;
	CF_OK(rdma_join_multicast_ex(id, &join, id));
	e = cm_take(ch, MULTICAST_JOIN);
	CF_TRUE(e->status == 0 && e->param.ud.private_data == id);
	CF_EQ(e->param.ud.qp_num, 0xffffff);
	*ah = ibv_create_ah(id->pd, &e->param.ud.ah_attr);
	CF_TRUE(*ah != NULL);
	cf_keep((cf_undo)ibv_destroy_ah, *ah, "ibv_destroy_ah");
	CF_OK(rdma_ack_cm_event(e));
	return id;
}

static void groups(void)
{
	struct rdma_event_channel *ch = cm_channel();
	struct sockaddr_storage g = { .ss_family = AF_INET };
	struct ibv_ah *ah_member, *ah_sender;
	struct rdma_cm_id *member, *sender;
	struct ibv_mr *mr;
	struct ibv_wc wc;

	((struct sockaddr_in *)(void *)&g)->sin_addr.s_addr =
		htonl(0xeffe0000u | (getpid() & 0xffff));
	member = in_group(ch, &g, RDMA_MC_JOIN_FLAG_FULLMEMBER, &ah_member);
	sender = in_group(ch, &g, RDMA_MC_JOIN_FLAG_SENDONLY_FULLMEMBER, &ah_sender);
	mr = cf_mr(member->pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE);
	CF_OK(rdma_post_recv(member, NULL, memory, 1024, mr));
	CF_OK(rdma_post_recv(member, NULL, memory + 1024, 1024, mr));
	CF_OK(rdma_post_recv(sender, NULL, memory + 2048, 1024, mr));
	cf_fill(memory + 4096, 200, 1);
	CF_OK(rdma_post_ud_send(sender, NULL, memory + 4096, 200, mr, 0, ah_sender, 0xffffff));
	CF_EQ(rdma_get_recv_comp(member, &wc), 1);
	CF_TRUE(wc.status == IBV_WC_SUCCESS && wc.byte_len == 240 &&
		wc.src_qp == sender->qp->qp_num);
	cf_verify(memory + 40, 200, 1);
	CF_OK(rdma_post_ud_send(member, NULL, memory + 4096, 100, mr, 0, ah_member, 0xffffff));
	CF_EQ(rdma_get_recv_comp(member, &wc), 1); /* its own */
	CF_EQ(wc.byte_len, 140);
	cf_quiet(sender->recv_cq);
	CF_OK(rdma_leave_multicast(member, cm_sa(&g)));
	CF_OK(rdma_leave_multicast(sender, cm_sa(&g)));
	cm_silent(ch);
}

/* --- port spaces --- */

static const enum rdma_port_space spaces[] = { RDMA_PS_UDP, RDMA_PS_IB, RDMA_PS_IPOIB };
#define SPACES (sizeof(spaces) / sizeof(spaces[0]))

/* One number in all four; another process may have it in one. */
static bool same_number(struct rdma_event_channel *ch, struct rdma_cm_id *l[SPACES])
{
	struct sockaddr_storage at = cm_here(AF_INET, cm_port(cm_listen(ch, RDMA_PS_TCP, NULL)));
	size_t n = 0;

	for (; n < SPACES; n++) {
		l[n] = cm_id(ch, spaces[n]);
		if (rdma_bind_addr(l[n], cm_sa(&at))) {
			CF_EQ(errno, EADDRINUSE);
			return false;
		}
		CF_OK(rdma_listen(l[n], 4));
	}
	return true;
}

/* A request in a space meets its listener and none of the others. */
static void meets(struct rdma_event_channel *ch, struct rdma_cm_id *l)
{
	struct sockaddr_storage to = cm_here(AF_INET, cm_port(l));
	struct rdma_event_channel *ach = cm_channel();
	struct rdma_cm_id *id = cm_towards(ach, l->ps, &to);
	struct rdma_cm_event *e;

	cm_qp(id);
	CF_OK(rdma_connect(id, NULL));
	e = cm_take(ch, CONNECT_REQUEST);
	CF_TRUE(e->listen_id == l && e->id->ps == l->ps && e->id->qp_type == l->qp_type);
	cm_qp(cm_keep(e->id));
	CF_OK(rdma_accept(e->id, NULL));
	CF_OK(rdma_ack_cm_event(e));
	e = cm_take(ach, ESTABLISHED);
	if (l->qp_type == IBV_QPT_UD)
		CF_EQ(e->param.ud.qkey, l->ps == RDMA_PS_IPOIB ? 0x0b1b : RDMA_UDP_QKEY);
	CF_OK(rdma_ack_cm_event(e));
	if (l->qp_type == IBV_QPT_RC)
		CF_EQ(cm_event(ch, ESTABLISHED), 0);
	else
		cm_silent(ch);
}

static void port_spaces(void)
{
	struct rdma_event_channel *ch = cm_channel();
	struct rdma_cm_id *l[SPACES];
	struct sockaddr_storage here = cm_here(AF_INET, 0);
	int tries = 0;

	if (cm_is_iwarp()) {
		for (size_t i = 0; i < SPACES; i++)
			CF_ERR(rdma_bind_addr(cm_id(ch, spaces[i]), cm_sa(&here)), ENODEV);
		return;
	}
	while (!same_number(ch, l))
		CF_TRUE(++tries < 50);
	for (size_t i = 0; i < SPACES; i++)
		meets(ch, l[i]);
}

/* --- channels and devices --- */

/* Events of a connection go to the channel that the identifier has by then. */
static void migrated(void)
{
	struct rdma_event_channel *later = cm_channel();
	struct cm_pair c;

	cm_connect(&c, AF_INET);
	CF_OK(rdma_migrate_id(c.p, later));
	CF_TRUE(c.p->channel == later);
	CF_OK(rdma_migrate_id(c.a, NULL)); /* its calls wait from now on */
	CF_OK(rdma_disconnect(c.p));
	CF_OK(rdma_disconnect(c.a));
	CF_EQ(c.a->event->event, RDMA_CM_EVENT_DISCONNECTED);
	CF_EQ(cm_event(later, DISCONNECTED), 0);
	cm_silent(c.pch);
	cm_silent(c.ach);
}

static void devices(void)
{
	struct sockaddr_storage here = cm_here(AF_INET, 0);
	struct rdma_cm_id *id = cm_id(cm_channel(), RDMA_PS_TCP);
	struct ibv_context **v, **again;
	int n = 0, found = 0, total;
	struct ibv_device **list = ibv_get_device_list(&total);

	CF_TRUE(list != NULL);
	ibv_free_device_list(list);
	v = rdma_get_devices(&n);
	again = rdma_get_devices(NULL);
	CF_TRUE(v && again && n == total && !v[n]);
	CF_OK(rdma_bind_addr(id, cm_sa(&here)));
	for (int i = 0; i < n; i++) {
		CF_TRUE(v[i] == again[i]);
		found += v[i] == id->verbs;
	}
	CF_EQ(found, 1);
	rdma_free_devices(v);
	rdma_free_devices(again);
}

const struct cf_check cf_checks[] = {
	{ "+", "an extended queue pair", 0, qp_ex },
	{ "+", "a shared receive queue of the identifier", CF_SRQ, srq_plain },
	{ "+", "an extended one", CF_SRQ, srq_ex },
	{ "+", "members of a group, and one that only sends", CF_UD | CF_MCAST, groups },
	{ "+", "the same number in each port space", 0, port_spaces },
	{ "+", "a connection changes its channel", 0, migrated },
	{ "+", "devices", 0, devices },
	{ 0 }
};
