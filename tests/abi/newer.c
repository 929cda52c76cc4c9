/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Programs built with other releases of rdma-core: calls that are younger than the headers at hand, with the
 * structures as those releases declare them, and the private nodes by which a provider of each is loaded.
 */
#include "conf.h"

#include <dlfcn.h>
#include <rdma/rdma_cma.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <unistd.h>

static void *verbs, *rdmacm, *umad;

static void *need(void *lib, const char *name, const char *node)
{
	void *f = dlvsym(lib, name, node);

	if (!f)
		CF_DIE("%s@%s: %s", name, node, dlerror());
	return f;
}

#define CALL(type, lib, name, node, args, ...) ((type(*) args)need(lib, name, node))(__VA_ARGS__)

/* libmlx5, libefa and others import these from the node of their own release. */
static void private_nodes(void)
{
	static const int nodes[] = { 25, 33, 34, 57, 59, 64, 65 };
	char node[40], name[40];

	for (size_t i = 0; i < sizeof(nodes) / sizeof(nodes[0]); i++) {
		snprintf(node, sizeof(node), "IBVERBS_PRIVATE_%d", nodes[i]);
		snprintf(name, sizeof(name), "verbs_register_driver_%d", nodes[i]);
		CALL(void, verbs, name, node, (const void *), NULL);
		CF_EQ(CALL(int, verbs, "ibv_cmd_alloc_pd", node, (void)), EOPNOTSUPP);
		need(verbs, "verbs_allow_disassociate_destroy", node);
	}
	CF_EQ(CALL(int, verbs, "ibv_cmd_create_cq_ex2", "IBVERBS_PRIVATE_34", (void)), EOPNOTSUPP);
	CF_EQ(strcmp(CALL(const char *, verbs, "ibv_wr_opcode_str", "IBVERBS_PRIVATE_65", (unsigned), IBV_WR_SEND),
		     "IBV_WR_SEND"), 0);
}

static void port_speed(void)
{
	struct ibv_context *c = cf_open();
	uint64_t speed = 0;

	CF_OK(CALL(int, verbs, "ibv_query_port_speed", "IBVERBS_1.16", (struct ibv_context *, uint32_t, uint64_t *),
		   c, 1, &speed));
	CF_TRUE(speed >= 25 && speed <= 8000);
	CF_EQ(CALL(int, verbs, "ibv_query_port_speed", "IBVERBS_1.16", (struct ibv_context *, uint32_t, uint64_t *),
		   c, 257, &speed), EINVAL);
}

/* struct ibv_mr_init_attr of release 65; 59 ends before `buf`. */
struct init_attr {
	size_t length;
	int access;
	uint64_t comp_mask, iova;
	void *addr;
	int fd;
	uint64_t fd_offset;
	void *dmah, *buf;
};

static struct ibv_mr *reg(struct ibv_pd *pd, struct init_attr *a)
{
	return CALL(struct ibv_mr *, verbs, "ibv_reg_mr_ex", "IBVERBS_1.15", (struct ibv_pd *, struct init_attr *), pd, a);
}

static void registration(void)
{
	struct ibv_pd *pd = cf_pd(cf_open());
	void *buf, *p = CALL(void *, verbs, "ibv_alloc_buf", "IBVERBS_1.17", (struct ibv_pd *, size_t, void **),
			     pd, 10000, &buf);
	struct init_attr a = { .length = 4096, .access = IBV_ACCESS_LOCAL_WRITE, .comp_mask = 1 | 2 | 32,
			       .iova = 0x1000, .addr = p, .buf = buf };
	struct ibv_mr *mr;

	CF_TRUE(p && !((uintptr_t)p % (size_t)sysconf(_SC_PAGESIZE)));
	memset(p, 1, 10000);
	mr = reg(pd, &a);
	CF_TRUE(mr && mr->length == 4096 && mr->addr == p);
	CF_OK(ibv_dereg_mr(mr));
	a.length = 10001;
	CF_NULL(reg(pd, &a), EINVAL);
	a = (struct init_attr){ .length = 8, .comp_mask = 4, .fd = 0 };
	CF_NULL(reg(pd, &a), EOPNOTSUPP);
	mr = CALL(struct ibv_mr *, verbs, "ibv_reg_buf_mr", "IBVERBS_1.17",
		  (struct ibv_pd *, void *, void *, size_t, int), pd, buf, (char *)p + 8, 100, 0);
	CF_TRUE(mr);
	CF_OK(ibv_dereg_mr(mr));
	CF_EQ(CALL(int, verbs, "ibv_export_buf_dmabuf_fd", "IBVERBS_1.18", (void *), buf), -1);
	CALL(void, verbs, "ibv_free_buf", "IBVERBS_1.17", (void *), buf);
}

/* Buffers of a parent domain that allows memory outside a confidential guest's protection: pages as others. */
static void unprotected(void)
{
	struct ibv_context *c = cf_open();
	struct ibv_pd *base = cf_pd(c), *pd;
	struct ibv_parent_domain_init_attr a = { .pd = base, .comp_mask = 1 << 2 };
	struct ibv_mr *mr;
	void *buf, *p;

	pd = ibv_alloc_parent_domain(c, &a);
	CF_TRUE(pd);
	p = CALL(void *, verbs, "ibv_alloc_buf", "IBVERBS_1.17", (struct ibv_pd *, size_t, void **), pd, 4096, &buf);
	CF_TRUE(p);
	memset(p, 1, 4096);
	mr = CALL(struct ibv_mr *, verbs, "ibv_reg_buf_mr", "IBVERBS_1.17",
		  (struct ibv_pd *, void *, void *, size_t, int), pd, buf, p, 4096, IBV_ACCESS_LOCAL_WRITE);
	CF_TRUE(mr && mr->pd == pd);
	CF_NULL(CALL(struct ibv_mr *, verbs, "ibv_reg_buf_mr", "IBVERBS_1.17",
		     (struct ibv_pd *, void *, void *, size_t, int), base, buf, p, 4096, IBV_ACCESS_LOCAL_WRITE), EINVAL);
	CF_OK(ibv_dereg_mr(mr));
	CALL(void, verbs, "ibv_free_buf", "IBVERBS_1.17", (void *), buf);
	CF_OK(ibv_dealloc_pd(pd));
	a.comp_mask = 1 << 3;
	CF_NULL(ibv_alloc_parent_domain(c, &a), EINVAL);
}

/* As by a device that does not have the feature. */
static void refused(void)
{
	struct ibv_context *c = cf_open();
	uint64_t caps[2] = { 1, 1 };

	CF_NULL(CALL(void *, verbs, "ibv_alloc_dmah", "IBVERBS_1.15", (struct ibv_context *, void *), c, NULL), EOPNOTSUPP);
	CF_NULL(CALL(void *, verbs, "ibv_create_comp_cntr", "IBVERBS_1.18", (struct ibv_context *, void *), c, NULL),
		EOPNOTSUPP);
	CF_EQ(CALL(int, verbs, "_ibv_query_comp_cntr_caps", "IBVERBS_1.18", (struct ibv_context *, void *, size_t), c, caps,
		   sizeof(caps)), EOPNOTSUPP);
	CF_TRUE(!caps[0] && !caps[1]);
}

/* FLUSH and ATOMIC WRITE: no queue pair is made for them, and their methods refuse on one that is made for others. */
static void flush(void)
{
	struct cf_opt o = cf_opt();
	struct ibv_qp_init_attr_ex a = {
		.qp_type = IBV_QPT_RC, .send_ops_flags = 1 << 11,
		.cap = { .max_send_wr = 2, .max_recv_wr = 2, .max_send_sge = 1, .max_recv_sge = 1 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	};
	void (*wr_flush)(struct ibv_qp_ex *, uint32_t, uint64_t, size_t, uint8_t, uint8_t);
	struct cf_side s, peer;
	struct ibv_qp_ex *x;
	struct ibv_qp *qp;

	cf_side(&s, &o);
	cf_side(&peer, &o);
	a.pd = s.pd;
	a.send_cq = s.scq;
	a.recv_cq = s.rcq;
	CF_NULL(ibv_create_qp_ex(s.ctx, &a), EOPNOTSUPP);
	a.send_ops_flags = IBV_QP_EX_WITH_ATOMIC_WRITE;
	CF_NULL(ibv_create_qp_ex(s.ctx, &a), EOPNOTSUPP);
	a.send_ops_flags = IBV_QP_EX_WITH_SEND;
	qp = ibv_create_qp_ex(s.ctx, &a);
	CF_TRUE(qp);
	s.qp = qp;
	cf_join(&s, &peer);
	x = ibv_qp_to_qp_ex(qp);
	memcpy(&wr_flush, (char *)x + offsetof(struct ibv_qp_ex, wr_atomic_write) + sizeof(void *), sizeof(wr_flush));
	ibv_wr_start(x);
	wr_flush(x, 1, 0, 8, 1, 0);
	CF_EQ(ibv_wr_complete(x), EOPNOTSUPP);
	ibv_wr_start(x);
	ibv_wr_atomic_write(x, 1, 0, "8 bytes");
	CF_EQ(ibv_wr_complete(x), EOPNOTSUPP);
	CF_OK(ibv_destroy_qp(qp));
}

static struct rdma_cm_event *next(struct rdma_event_channel *ch, int type)
{
	struct rdma_cm_event *e;

	CF_TRUE(cf_readable(ch->fd, CF_WAIT_MS));
	CF_OK(rdma_get_cm_event(ch, &e));
	CF_EQ(e->event, type);
	return e;
}

enum { ADDRINFO_RESOLVED = 16, USER = 18 };

static void user_event(void)
{
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_event *e;
	struct rdma_cm_id *id;
	uint64_t arg;

	CF_OK(rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
	CF_OK(CALL(int, rdmacm, "rdma_write_cm_event", "RDMACM_1.4", (struct rdma_cm_id *, int, int, uint64_t), id, USER, -7,
		   0x123456789abcull));
	e = next(ch, USER);
	memcpy(&arg, &e->param, sizeof(arg));
	CF_TRUE(e->id == id && e->status == -7 && arg == 0x123456789abcull);
	CF_OK(rdma_ack_cm_event(e));
	CF_EQ(CALL(int, rdmacm, "rdma_write_cm_event", "RDMACM_1.4", (struct rdma_cm_id *, int, int, uint64_t), id,
		   RDMA_CM_EVENT_ESTABLISHED, 0, 0), -1);
	CF_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(ch);
}

static int query(struct rdma_cm_id *id, struct rdma_addrinfo **ret)
{
	return CALL(int, rdmacm, "rdma_query_addrinfo", "RDMACM_1.4", (struct rdma_cm_id *, struct rdma_addrinfo **), id, ret);
}

static int resolve(struct rdma_cm_id *id, const char *node, const struct rdma_addrinfo *hints)
{
	return CALL(int, rdmacm, "rdma_resolve_addrinfo", "RDMACM_1.4",
		    (struct rdma_cm_id *, const char *, const char *, const struct rdma_addrinfo *), id, node, "7471", hints);
}

static void addrinfo_event(void)
{
	struct rdma_addrinfo hints = { .ai_flags = RAI_NUMERICHOST | 0x20 }, *info = NULL; /* RAI_DNS */
	struct rdma_event_channel *ch = rdma_create_event_channel();
	struct rdma_cm_id *id;

	CF_OK(rdma_create_id(ch, &id, NULL, RDMA_PS_TCP));
	CF_EQ(query(id, &info), -1);
	CF_OK(resolve(id, "127.0.0.1", &hints));
	CF_EQ(resolve(id, "127.0.0.1", &hints), -1); /* the first has not been taken */
	CF_EQ(errno, EBUSY);
	CF_OK(rdma_ack_cm_event(next(ch, ADDRINFO_RESOLVED)));
	CF_OK(query(id, &info));
	CF_TRUE(info && info->ai_dst_addr && info->ai_dst_addr->sa_family == AF_INET);
	rdma_freeaddrinfo(info);
	hints.ai_flags = 0x10; /* RAI_SA */
	CF_EQ(resolve(id, NULL, &hints), -1);
	CF_EQ(errno, EOPNOTSUPP);
	CF_OK(resolve(id, "127.0.0.1", NULL)); /* not taken: goes with the identifier */
	CF_OK(rdma_destroy_id(id));
	rdma_destroy_event_channel(ch);
}

static int ctl(int ep, int op, int fd, struct epoll_event *e)
{
	return CALL(int, rdmacm, "repoll_ctl", "RDMACM_1.5", (int, int, int, struct epoll_event *), ep, op, fd, e);
}

static int wait_for(int ep, struct epoll_event *e, int max, int ms)
{
	return CALL(int, rdmacm, "repoll_wait", "RDMACM_1.5", (int, struct epoll_event *, int, int), ep, e, max, ms);
}

static void sets_of_rsockets(void)
{
	int ep = CALL(int, rdmacm, "repoll_create", "RDMACM_1.5", (int), 0), fd = eventfd(0, 0);
	struct epoll_event e = { .events = EPOLLIN | EPOLLONESHOT, .data.u64 = 42 }, got[2];

	CF_TRUE(ep >= 0);
	CF_OK(ctl(ep, EPOLL_CTL_ADD, fd, &e));
	CF_EQ(ctl(ep, EPOLL_CTL_ADD, fd, &e), -1);
	CF_EQ(wait_for(ep, got, 2, 0), 0);
	CF_OK(eventfd_write(fd, 1));
	CF_EQ(wait_for(ep, got, 2, -1), 1);
	CF_TRUE(got[0].events == EPOLLIN && got[0].data.u64 == 42);
	CF_EQ(wait_for(ep, got, 2, 20), 0); /* once */
	CF_OK(ctl(ep, EPOLL_CTL_MOD, fd, &e));
	CF_EQ(wait_for(ep, got, 2, -1), 1);
	CF_OK(ctl(ep, EPOLL_CTL_DEL, fd, NULL));
	CF_EQ(wait_for(ep, got, 2, 20), 0);
	CF_OK(CALL(int, rdmacm, "rclose", "RDMACM_1.0", (int), ep));
	CF_EQ(wait_for(ep, got, 2, 0), -1);
	close(fd);
}

struct pair {
	char smi[20];
	uint32_t smi_port;
	char gsi[20];
	uint32_t gsi_port;
};

static void pairs(void)
{
	struct pair p[32], one;
	int n = CALL(int, umad, "umad_get_smi_gsi_pairs", "IBUMAD_1.4", (struct pair *, size_t), p, 32);

	CF_TRUE(n > 0 && !strcmp(p[0].smi, p[0].gsi));
	CF_OK(CALL(int, umad, "umad_get_smi_gsi_pair_by_ca_name", "IBUMAD_1.4",
		   (const char *, uint8_t, struct pair *, unsigned), p[n - 1].gsi, 1, &one, 0));
	CF_TRUE(!strcmp(one.gsi, p[n - 1].gsi) && one.gsi_port == 1 && one.smi_port == 1);
	CF_EQ(CALL(int, umad, "umad_get_smi_gsi_pair_by_ca_name", "IBUMAD_1.4",
		   (const char *, uint8_t, struct pair *, unsigned), "none", 1, &one, 0), 1);
	CF_TRUE(CALL(int, umad, "umad_open_smi_port", "IBUMAD_1.3", (const char *, int), p[0].smi, 1) < 0);
}

static void __attribute__((constructor)) open_libraries(void)
{
	verbs = dlopen("libibverbs.so.1", RTLD_NOW);
	rdmacm = dlopen("librdmacm.so.1", RTLD_NOW);
	umad = dlopen("libibumad.so.3", RTLD_NOW);
}

const struct cf_check cf_checks[] = {
	{ "+", "the private nodes of all releases", 0, private_nodes },
	{ "+", "port speed (62)", 0, port_speed },
	{ "+", "registration by structure (59), and of a buffer (64)", 0, registration },
	{ "+", "a parent domain that allows unprotected memory (65)", 0, unprotected },
	{ "+", "DMA handles (59) and completion counters (65) are refused", 0, refused },
	{ "+", "FLUSH and ATOMIC WRITE are refused", 0, flush },
	{ "+", "an event that the program writes (60)", 0, user_event },
	{ "+", "address information as an event (60)", 0, addrinfo_event },
	{ "+", "sets of rsockets (65)", 0, sets_of_rsockets },
	{ "+", "pairs of adapters (56), management by subnet port (54)", 0, pairs },
	{ 0 }
};
