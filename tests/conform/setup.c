/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Opening the adapter, making objects, bringing queue pairs up. */
#include "conf.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

unsigned long cf_resident(void)
{
	unsigned long pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	CF_TRUE(f && fscanf(f, "%*u %lu", &pages) == 1);
	fclose(f);
	return pages * (unsigned long)sysconf(_SC_PAGESIZE);
}

static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;

/* The first RoCE v2 GID of an IPv4 address, else the first of all. */
static void choose_gid(struct ibv_context *ctx)
{
	struct ibv_gid_entry e;
	bool found = false;

	for (int i = 0; i < cf.port.gid_tbl_len; i++) {
		if (ibv_query_gid_ex(ctx, 1, i, &e, 0))
			continue;
		bool v4 = !memcmp(e.gid.raw, "\0\0\0\0\0\0\0\0\0\0\xff\xff", 12);

		if (!found || (e.gid_type == IBV_GID_TYPE_ROCE_V2 && v4)) {
			cf.gid = e.gid;
			cf.gid_index = i;
			found = true;
		}
		if (e.gid_type == IBV_GID_TYPE_ROCE_V2 && v4)
			return;
	}
	if (!found && cf.port.link_layer == IBV_LINK_LAYER_ETHERNET)
		CF_DIE("%s has no GID", cf.name);
}

static void learn(struct ibv_context *ctx)
{
	const char *cap = getenv("CONFORM_MTU");

	cf.iwarp = ctx->device->transport_type == IBV_TRANSPORT_IWARP;
	CF_OK(ibv_query_device_ex(ctx, NULL, &cf.dev));
	CF_OK(ibv_query_port(ctx, 1, &cf.port));
	if (cf.port.state != IBV_PORT_ACTIVE)
		cf_skip("port 1 of %s is not active", cf.name);
	choose_gid(ctx);
	cf.path_mtu = cf.port.active_mtu;
	while (cap && cf.path_mtu > IBV_MTU_256 && 128 << cf.path_mtu > atoi(cap))
		cf.path_mtu--;
}

int cf_wanted(struct ibv_device **list, int n)
{
	const char *want = getenv("CONFORM_DEVICE");
	int i = 0;

	while (want && i < n && strcmp(want, ibv_get_device_name(list[i])))
		i++;
	if (want && i == n)
		CF_DIE("no adapter is called %s", want);
	return i;
}

struct ibv_context *cf_open(void)
{
	struct ibv_context *ctx = NULL;
	struct ibv_device **list;
	int n = 0, i;

	list = ibv_get_device_list(&n);
	if (!list || !n) {
		if (getenv("CONFORM_STRICT"))
			CF_DIE("the library lists no adapter: %s", strerror(errno));
		cf_skip("no adapter");
	}
	i = cf_wanted(list, n);
	ctx = ibv_open_device(list[i]);
	if (!ctx)
		CF_DIE("cannot open %s: %s", ibv_get_device_name(list[i]), strerror(errno));
	pthread_mutex_lock(&once);
	if (!cf.name) {
		cf.name = strdup(ibv_get_device_name(list[i]));
		learn(ctx);
	}
	pthread_mutex_unlock(&once);
	ibv_free_device_list(list);
	cf_keep((cf_undo)ibv_close_device, ctx, "ibv_close_device");
	return ctx;
}

#define KEEP(obj, undo)                                                   \
	do {                                                              \
		if (!(obj))                                               \
			CF_DIE("cannot create for " #undo ": %s", strerror(errno)); \
		cf_keep((cf_undo)undo, obj, #undo);                       \
		return obj;                                               \
	} while (0)

struct ibv_pd *cf_pd(struct ibv_context *ctx)
{
	struct ibv_pd *pd = ibv_alloc_pd(ctx);

	KEEP(pd, ibv_dealloc_pd);
}

struct ibv_comp_channel *cf_chan(struct ibv_context *ctx)
{
	struct ibv_comp_channel *c = ibv_create_comp_channel(ctx);

	KEEP(c, ibv_destroy_comp_channel);
}

struct ibv_cq *cf_cq(struct ibv_context *ctx, int cqe, struct ibv_comp_channel *chan)
{
	struct ibv_cq *cq = ibv_create_cq(ctx, cqe, NULL, chan, 0);

	KEEP(cq, ibv_destroy_cq);
}

struct ibv_mr *cf_mr(struct ibv_pd *pd, void *buf, size_t len, int access)
{
	/* A plain call, not the header's macro for constant flags. */
	struct ibv_mr *mr = (ibv_reg_mr)(pd, buf, len, access);

	KEEP(mr, ibv_dereg_mr);
}

struct ibv_srq *cf_srq(struct ibv_pd *pd, uint32_t wr, uint32_t sge)
{
	struct ibv_srq *s = ibv_create_srq(pd, &(struct ibv_srq_init_attr){
		.attr = { .max_wr = wr, .max_sge = sge } });

	KEEP(s, ibv_destroy_srq);
}

struct ibv_qp *cf_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *init)
{
	struct ibv_qp *qp = ibv_create_qp(pd, init);

	KEEP(qp, ibv_destroy_qp);
}

struct ibv_ah_attr cf_ah_attr(void)
{
	struct ibv_ah_attr a = { .port_num = 1, .dlid = cf.port.lid };

	if (cf.port.link_layer == IBV_LINK_LAYER_ETHERNET) {
		a.is_global = 1;
		a.grh.dgid = cf.gid;
		a.grh.sgid_index = cf.gid_index;
		a.grh.hop_limit = 64;
	}
	return a;
}

struct ibv_ah *cf_ah(struct ibv_pd *pd)
{
	struct ibv_ah_attr attr = cf_ah_attr();
	struct ibv_ah *ah = ibv_create_ah(pd, &attr);

	KEEP(ah, ibv_destroy_ah);
}

struct ibv_mw *cf_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw = ibv_alloc_mw(pd, type);

	KEEP(mw, ibv_dealloc_mw);
}

void *cf_pages(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		CF_DIE("mmap of %zu bytes: %s", len, strerror(errno));
	return p;
}

/* The calls of the adapter's own library, which the programs here are not linked with. */
void *cf_buffer(size_t len)
{
	void *(*make)(size_t) = (void *(*)(size_t))dlsym(RTLD_DEFAULT, "dpl_alloc_shared");
	int (*undo)(void *) = (int (*)(void *))dlsym(RTLD_DEFAULT, "dpl_free_shared");
	void *p;

	if (!getenv("CONFORM_EXPORTED"))
		return cf_pages(len);
	CF_TRUE(make && undo);
	p = make(len);
	CF_TRUE(p);
	cf_keep(undo, p, "exported memory");
	return p;
}

struct cf_opt cf_opt(void)
{
	return (struct cf_opt){
		.type = IBV_QPT_RC, .sq = 32, .rq = 32, .sge = 4, .cqe = 256,
		.access = CF_QP_ACCESS, .mr_access = CF_ALL_ACCESS, .len = 65536,
		/* 1.07 s, eight times: one that waits for a processor is still there */
		.timeout = 18, .retry = 7, .rnr = 7, .min_rnr = 12, .rd = 4,
		.psn = 0x123456, .qkey = 0x11111111, .up = IBV_QPS_RTS,
	};
}

static void side_qp(struct cf_side *s)
{
	struct ibv_qp_init_attr init = {
		.qp_type = s->o.type, .sq_sig_all = s->o.sig_all, .srq = s->srq,
		.cap = { s->o.sq, s->o.rq, s->o.sge, s->o.sge, s->o.inl },
	};

	s->scq = cf_cq(s->ctx, s->o.cqe, s->chan);
	s->rcq = cf_cq(s->ctx, s->o.cqe, s->chan);
	init.send_cq = s->scq;
	init.recv_cq = s->rcq;
	s->qp = cf_qp(s->pd, &init);
	s->cap = init.cap;
}

void cf_side(struct cf_side *s, const struct cf_opt *o)
{
	memset(s, 0, sizeof(*s));
	s->o = *o;
	s->ctx = cf_open();
	s->pd = cf_pd(s->ctx);
	if (o->chan)
		s->chan = cf_chan(s->ctx);
	if (o->srq)
		s->srq = cf_srq(s->pd, o->rq, o->sge);
	s->buf = cf_buffer(o->len);
	s->mr = cf_mr(s->pd, s->buf, o->len, o->mr_access);
	side_qp(s);
}

void cf_side_again(struct cf_side *s, const struct cf_side *like)
{
	*s = *like;
	side_qp(s);
}

struct cf_addr cf_addr_of(const struct cf_side *s)
{
	return (struct cf_addr){ cf.gid, s->qp->qp_num, s->o.psn, s->mr->rkey, (uintptr_t)s->buf };
}

static int attr_init(const struct cf_side *s, struct ibv_qp_attr *a)
{
	a->port_num = 1;
	a->qkey = s->o.qkey;
	a->qp_access_flags = s->o.access;
	return IBV_QP_PKEY_INDEX | IBV_QP_PORT |
	       (s->o.type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
}

static int attr_rtr(const struct cf_side *s, const struct cf_addr *peer, struct ibv_qp_attr *a)
{
	if (s->o.type == IBV_QPT_UD)
		return 0;
	a->ah_attr = cf_ah_attr();
	a->ah_attr.grh.dgid = peer->gid;
	a->path_mtu = s->o.mtu ? s->o.mtu : cf.path_mtu;
	a->dest_qp_num = peer->qpn;
	a->rq_psn = peer->psn;
	a->max_dest_rd_atomic = s->o.rd;
	a->min_rnr_timer = s->o.min_rnr;
	return IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
	       (s->o.type == IBV_QPT_UC ? 0 : IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
}

static int attr_rts(const struct cf_side *s, struct ibv_qp_attr *a)
{
	a->sq_psn = s->o.psn;
	a->timeout = s->o.timeout;
	a->retry_cnt = s->o.retry;
	a->rnr_retry = s->o.rnr;
	a->max_rd_atomic = s->o.rd;
	if (s->o.type == IBV_QPT_UC || s->o.type == IBV_QPT_UD)
		return IBV_QP_SQ_PSN;
	return IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
	       IBV_QP_MAX_QP_RD_ATOMIC;
}

int cf_attr(const struct cf_side *s, enum ibv_qp_state to, const struct cf_addr *peer,
	    struct ibv_qp_attr *a)
{
	memset(a, 0, sizeof(*a));
	a->qp_state = to;
	switch (to) {
	case IBV_QPS_INIT: return IBV_QP_STATE | attr_init(s, a);
	case IBV_QPS_RTR:  return IBV_QP_STATE | attr_rtr(s, peer, a);
	case IBV_QPS_RTS:  return IBV_QP_STATE | attr_rts(s, a);
	default:           return IBV_QP_STATE;
	}
}

void cf_move(struct cf_side *s, enum ibv_qp_state to, const struct cf_addr *peer)
{
	struct ibv_qp_attr a;
	int mask = cf_attr(s, to, peer, &a);
	int rc = ibv_modify_qp(s->qp, &a, mask);

	if (rc)
		CF_DIE("QP type %d cannot move to state %d with mask 0x%x: %s (%d)", s->o.type, to,
		       mask, strerror(rc), rc);
}

void cf_up(struct cf_side *s, enum ibv_qp_state to, const struct cf_addr *peer)
{
	for (int st = IBV_QPS_INIT; st <= (int)to; st++)
		cf_move(s, st, peer);
}

void cf_join(struct cf_side *a, struct cf_side *b)
{
	struct cf_addr pa = cf_addr_of(a), pb = cf_addr_of(b);
	int fd[2];

	if (!cf.iwarp) {
		cf_up(a, IBV_QPS_RTS, &pb);
		cf_up(b, IBV_QPS_RTS, &pa);
		return;
	}
	cf_up(a, IBV_QPS_INIT, NULL);
	cf_up(b, IBV_QPS_INIT, NULL);
	cf_tcp_pair(fd);
	cf_stream_begin(a, fd[0], true);
	cf_stream_begin(b, fd[1], false);
	cf_stream_wait(a);
	cf_stream_wait(b);
}

void cf_pair(struct cf_side *a, struct cf_side *b, const struct cf_opt *o)
{
	struct cf_addr pa, pb;

	cf_side(a, o);
	cf_side(b, o);
	if (o->up == IBV_QPS_RTS) {
		cf_join(a, b);
		return;
	}
	pa = cf_addr_of(a);
	pb = cf_addr_of(b);
	cf_up(a, o->up, &pb);
	cf_up(b, o->up, &pa);
}

void cf_loop(struct cf_side *s, struct cf_side *end)
{
	struct cf_addr self = cf_addr_of(s);

	if (cf.iwarp) {
		cf_side_again(end, s);
		cf_join(s, end);
	} else {
		cf_up(s, IBV_QPS_RTS, &self);
		*end = *s;
	}
}

void cf_stuck_pair(struct cf_side *a, struct cf_side *b, const struct cf_opt *o)
{
	cf_side(a, o);
	cf_side(b, o);
	if (cf.iwarp)
		cf_stream_bare(a);
	else
		cf_join(a, b);
}

void cf_post_stuck(struct cf_side *a, uint64_t id, bool quiet)
{
	cf_post(a, .op = cf.iwarp ? IBV_WR_RDMA_READ : IBV_WR_SEND, .id = id, .len = 64,
		.quiet = quiet);
}

void cf_again(struct cf_side *a, struct cf_side *b)
{
	cf_move(a, IBV_QPS_RESET, NULL);
	cf_move(b, IBV_QPS_RESET, NULL);
	cf_drain(a->scq), cf_drain(a->rcq);
	cf_drain(b->scq), cf_drain(b->rcq);
	cf_drop_events(a->ctx);
	cf_drop_events(b->ctx);
	cf_join(a, b);
}

#define STANDARD_MASK 0x1fffff

struct ibv_qp_attr cf_query(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	memset(&a, 0, sizeof(a));
	CF_OK(ibv_query_qp(qp, &a, STANDARD_MASK, &init));
	return a;
}

enum ibv_qp_state cf_state(struct ibv_qp *qp)
{
	return cf_query(qp).qp_state;
}

void cf_await_state(struct ibv_qp *qp, enum ibv_qp_state want)
{
	uint64_t end = cf_ns() + CF_WAIT_MS * 1000000ull;
	enum ibv_qp_state st;

	while ((st = cf_state(qp)) != want)
		if (cf_ns() > end)
			CF_DIE("the QP stays in state %d, %d awaited", st, want);
}
