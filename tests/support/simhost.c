/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "engine/gid.h"
#include "engine/mr.h"
#include "engine/pd.h"
#include "engine/pending.h"
#include "engine/post.h"
#include "engine/qp_state.h"
#include "proto/ib/post.h"
#include "support/engine.h"
#include "support/simhost.h"

#include "support/check.h"
#include "support/localnet.h"
#include "util/clock.h"
#include "util/heap.h"

#include <string.h>
#include <sys/mman.h>

#define BATCH 64

static int progress(struct eng_dev *dev)
{
	struct sim_host *h = dev->device;
	struct link_rx rx[BATCH];
	struct link_err err;
	struct eng_qp *qp;
	int n, did = 0;
	bool more;

	eng_dev_held(dev);
	if (h->stopped) {
		/* What was posted waits in the protocol: the caller repeats while queue pairs are pending. */
		while ((qp = eng_dev_pop_pending(dev)))
			dev->proto->qp_kick(qp);
		return 0;
	}
	if (h->world->own)
		h->link->rx_stage->pages_checked_at = h->world->now;
	while ((n = ibp_poll_messages(dev, h->world->now, &more)) > 0)
		did += n;
	while ((n = h->link->ops->recv(h->link, rx, BATCH)) > 0) {
		ibp_receive(dev, rx, n, h->world->now);
		did += n;
	}
	while (h->link->ops->error(h->link, &err) > 0)
		ibp_unreachable(dev, &err, h->world->now);
	while ((qp = eng_dev_pop_pending(dev))) {
		dev->proto->qp_kick(qp);
		did++;
	}
	do {
		n = ibp_transmit(dev, h->world->now, false);
		did += n;
	} while (n && ibp_busy(dev) && did < 100000);
	return did;
}

static int no_wait(struct eng_dev *dev, struct pollfd *fds, unsigned n, uint64_t until)
{
	(void)dev;
	(void)fds;
	(void)n;
	(void)until;
	return 0;
}

static int attach(struct eng_dev *dev)
{
	struct sim_host *h = dev->device;

	eng_dev_held(dev);
	dev->qpn_fixed = h->world->slots ? (uint32_t)(h - h->world->host + 1) << 16 : 0;
	dev->qpn_mask = h->world->slots ? 0xffff : 0xffffff;
	return 0;
}

static int join(struct eng_dev *dev, const union ibv_gid *g)
{
	struct sim_host *h = dev->device;

	return h->link->ops->join(h->link, g->raw, 1);
}

static void leave(struct eng_dev *dev, const union ibv_gid *g)
{
	struct sim_host *h = dev->device;

	h->link->ops->leave(h->link, g->raw, 1);
}

static void why(struct eng_dev *dev, enum ut_say level, const char *sentence)
{
	struct sim_host *h = ut_container(dev, struct sim_host, dev);

	snprintf(h->said, sizeof(h->said), "%s", sentence);
}

bool sim_post_fast(struct eng_qp *qp, bool batch)
{
	enum proto_posted r = ibp_post(qp, PROTO_POST_SEND | (batch ? PROTO_POST_BATCH : 0), 0);

	return r == PROTO_SENT || r == PROTO_SENT_SELF;
}

/* Half of the posts take the fast path, as beside a polling thread, half of those in a batch. */
static bool posted(struct eng_dev *dev, struct eng_qp *qp)
{
	struct sim_host *h = dev->device;

	return (h->world->local || h->world->own) && !h->stopped && h->posts++ % 2 &&
	       sim_post_fast(qp, h->posts % 4 == 0);
}

static const struct eng_dev_ops ops = {
	.progress = progress, .post_fast = posted, .wait = no_wait, .wait_comp = eng_dev_wait_comp, .poll = eng_dev_poll_by_round, .attach = attach,
	.mcast_join = join, .mcast_leave = leave, .query_port = eng_port_known, .why = why,
};

/* Public handles are the engine's objects themselves here. */
static struct eng_ah *as_ah(struct ibv_ah *ah)
{
	return (struct eng_ah *)ah;
}

static struct eng_mkey *as_mw(struct ibv_mw *mw)
{
	return (struct eng_mkey *)mw;
}

static struct eng_mkey *as_mr(struct ibv_mr *mr)
{
	return (struct eng_mkey *)mr;
}

static const struct eng_objects objects = { as_ah, as_mw, as_mr };

static void set_limits(struct eng_dev *dev)
{
	struct ibv_device_attr *a = &dev->attr.orig_attr;

	a->max_qp = a->max_cq = a->max_mr = a->max_pd = a->max_mw = a->max_srq = a->max_ah = 4096;
	a->max_qp_wr = a->max_srq_wr = 16384;
	a->max_sge = a->max_srq_sge = 32;
	a->max_cqe = 131072;
	a->max_mr_size = UINT64_MAX;
	a->max_qp_rd_atom = a->max_qp_init_rd_atom = 16;
	a->max_mcast_grp = a->max_mcast_qp_attach = a->max_total_mcast_qp_attach = 64;
	a->max_pkeys = 4;
	a->phys_port_cnt = 1;
	a->atomic_cap = IBV_ATOMIC_HCA;
	dev->max_inline = 256;
	dev->max_msg_sz = 1u << 30;
}

/* As a subnet manager sets a port up. */
static void become_ib(struct sim_host *h, int i)
{
	struct eng_port *p = &h->dev.port;

	eng_dev_held(&h->dev);
	p->link_layer = IBV_LINK_LAYER_INFINIBAND;
	p->state = IBV_PORT_ACTIVE;
	h->lid = p->lid = (uint16_t)((i + 1) << (SIM_LMC + 1));
	p->lmc = SIM_LMC;
	p->n_pkeys = 4;
	sim_link_lids(h->link, p->lid, p->lmc);
}

static int dev_open(struct sim_host *h, int i, const struct sim_options *o)
{
	struct ibp_config cfg = { .seed = o->seed + (uint64_t)i, .mtu_max = o->mtu_max ? o->mtu_max
									     : 4096,
				  .rate_control = o->rate_control, .link = h->link, .chan = h->chan,
				  .gsi = o->gsi };
	struct eng_gid g = { .type = IBV_GID_TYPE_ROCE_V2, .ifindex = 1, .valid = true };
	int r = eng_dev_init(&h->dev, "sim", &ops, &ibp_proto_ops, o->seed * 31 + (uint64_t)i);

	if (r < 0)
		return r;
	h->dev.device = h;
	set_limits(&h->dev);
	if (o->lids)
		become_ib(h, i);
	r = ibp_port_init(&h->dev, &cfg);
	if (r < 0) {
		eng_dev_fini(&h->dev);
		return r;
	}
	h->ready = true;
	memcpy(g.gid.raw, h->addr, 16);
	ut_lock(&h->dev.lock);
	r = eng_gid_add(&h->dev, &g);
	ut_unlock(&h->dev.lock);
	return r < 0 ? r : 0;
}

/* A failure leaves the rest to host_close(). */
static int host_open(struct sim_world *w, int i, const struct sim_options *o)
{
	struct sim_host *h = &w->host[i];
	static const uint8_t v4[16] = { [10] = 0xff, [11] = 0xff, [12] = 10, [15] = 1 };
	static const uint8_t v6[16] = { 0xfd, [15] = 1 };
	int r;

	h->world = w;
	memcpy(h->addr, o->ipv6 || o->lids ? v6 : v4, 16);
	h->addr[15] = (uint8_t)(i + 1);
	r = sim_link_open(w->net, h->addr, &h->link);
	h->chan = w->local ? local_net_join(w->local, i) : &shm_channel_none;
	if (r == 0)
		r = dev_open(h, i, o);
	if (r == 0)
		r = eng_ctx_open(&h->dev, &h->ctx);
	if (r < 0)
		return r;
	h->ctx->objects = &objects;
	return eng_pd_alloc(&h->dev, &h->pd);
}

static void host_close(struct sim_host *h)
{
	if (h->pd)
		CHECK(eng_pd_dealloc(h->pd) == 0);
	if (h->ctx)
		eng_ctx_close(h->ctx);
	if (h->ready) {
		ibp_port_fini(&h->dev);
		eng_dev_fini(&h->dev);
	}
	if (h->link)
		h->link->ops->close(h->link);
}

int sim_world_try(struct sim_world *w, const struct sim_options *o)
{
	struct sim_config net = o->net;
	int r;

	memset(w, 0, sizeof(*w));
	if (!net.delay)
		net.delay = SIM_DELAY;
	r = sim_net_open(&net, &w->net);
	if (r < 0)
		return r;
	w->now = 1000 * UT_S;
	w->n = o->hosts ? o->hosts : 2;
	w->slots = o->slots;
	w->own = o->own;
	w->lids = o->lids;
	if (o->messages)
		w->local = local_net_open(w);
	for (int i = 0; i < w->n && r == 0; i++)
		r = host_open(w, i, o);
	if (r < 0)
		sim_world_close(w);
	return r;
}

void sim_world_open(struct sim_world *w, const struct sim_options *o)
{
	CHECK(sim_world_try(w, o) == 0);
}

void sim_world_close(struct sim_world *w)
{
	for (int i = 0; i < w->n; i++)
		host_close(&w->host[i]);
	sim_net_close(w->net);
	if (w->local)
		local_net_close(w->local);
	w->local = NULL;
}

bool sim_round(struct sim_world *w)
{
	bool did = sim_net_deliver(w->net, w->now) > 0;

	for (int i = 0; i < w->n; i++) {
		struct sim_host *h = &w->host[i];

		if (h->stopped)
			continue;
		ut_lock(&h->dev.lock);
		did |= progress(&h->dev) > 0;
		ut_unlock(&h->dev.lock);
	}
	if (w->each_round)
		w->each_round(w->each_round_arg);
	return did;
}

static uint64_t next_event(struct sim_world *w)
{
	uint64_t at = sim_net_next(w->net);

	for (int i = 0; i < w->n; i++) {
		uint64_t d = w->host[i].stopped ? UT_NEVER : ibp_deadline(&w->host[i].dev);

		if (d < at)
			at = d;
	}
	return at;
}

bool sim_run(struct sim_world *w, uint64_t limit, bool (*done)(void *), void *arg)
{
	uint64_t end = w->now + limit, at;

	for (;;) {
		while (sim_round(w) && !(done && done(arg)))
			;
		if (done && done(arg))
			return true;
		at = next_event(w);
		if (at == UT_NEVER || at > end)
			break;
		if (at > w->now)
			w->now = at;
	}
	if (w->now < end && at != UT_NEVER)
		w->now = end;
	return done && done(arg);
}

void sim_end_create(struct sim_end *e, struct sim_host *h, const struct sim_qp_options *o)
{
	uint32_t depth = o->depth ? o->depth : 64;
	struct eng_qp_spec spec = {
		.type = o->type ? o->type : IBV_QPT_RC, .pd = h->pd, .srq = o->srq,
		.xrcd = o->xrcd, .gsi = o->gsi,
		.cap = { .max_send_wr = depth, .max_recv_wr = o->srq ? 0 : depth,
			 .max_send_sge = o->sge ? o->sge : 4, .max_recv_sge = o->sge ? o->sge : 4,
			 .max_inline_data = o->inline_data ? o->inline_data : 64 },
	};
	struct ibv_qp_attr init = {
		.qp_state = IBV_QPS_INIT, .port_num = 1, .pkey_index = o->pkey_index,
		.qkey = o->gsi ? ENG_GSI_QKEY : 0x1234,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
				   IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC,
	};
	int mask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | (o->gsi ? 0 : IBV_QP_PORT);

	*e = (struct sim_end){ .h = h };
	CHECK(eng_cq_create(h->ctx, 4 * depth, NULL, false, &e->scq) == 0);
	CHECK(eng_cq_create(h->ctx, 4 * depth, NULL, false, &e->rcq) == 0);
	spec.send_cq = e->scq;
	spec.recv_cq = e->rcq;
	if (spec.type == IBV_QPT_XRC_RECV)
		spec.pd = NULL;
	if (spec.type == IBV_QPT_XRC_SEND || spec.type == IBV_QPT_XRC_RECV)
		spec.recv_cq = NULL;
	if (spec.type == IBV_QPT_XRC_RECV)
		spec.send_cq = NULL;
	CHECK(eng_qp_create(h->ctx, &spec, &e->qp) == 0);
	e->qp->user = e;
	mask |= spec.type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS;
	if (spec.type == IBV_QPT_UC)
		init.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
	CHECK(eng_qp_modify(e->qp, &init, mask) == 0);
}

static uint8_t pick(uint8_t v, uint8_t def, bool zero)
{
	return zero ? 0 : v ? v : def;
}

static struct ibv_ah_attr by_gid(const uint8_t addr[16], const struct sim_qp_options *o)
{
	struct ibv_ah_attr ah = { .is_global = 1, .port_num = 1,
				  .grh = { .hop_limit = 64, .traffic_class = o->traffic_class } };

	memcpy(ah.grh.dgid.raw, addr, 16);
	return ah;
}

struct ibv_ah_attr sim_way(const struct sim_host *h, const struct sim_qp_options *o)
{
	struct ibv_ah_attr ah = by_gid(h->addr, o);

	if (!h->world->lids)
		return ah;
	if (!o->grh)
		ah = (struct ibv_ah_attr){ .port_num = 1 };
	ah.dlid = (uint16_t)(h->lid + o->path_bits);
	ah.src_path_bits = o->path_bits;
	ah.sl = o->sl;
	return ah;
}

static void aim(struct sim_end *e, const struct ibv_ah_attr *ah, uint32_t qpn, uint32_t my_psn, uint32_t peer_psn,
		const struct sim_qp_options *o)
{
	struct ibv_qp_attr a = {
		.qp_state = IBV_QPS_RTR, .path_mtu = o->mtu ? o->mtu : IBV_MTU_1024,
		.dest_qp_num = qpn, .rq_psn = peer_psn, .sq_psn = my_psn,
		.max_rd_atomic = pick(o->rd_atomic, 8, o->rd_atomic_zero),
		.max_dest_rd_atomic = pick(o->rd_atomic, 8, o->rd_atomic_zero),
		.min_rnr_timer = pick(o->min_rnr, 1, o->min_rnr_zero),
		.timeout = pick(o->timeout, 8, o->timeout_zero),
		.retry_cnt = pick(o->retry, 7, o->retry_zero),
		.rnr_retry = pick(o->rnr_retry, 7, o->rnr_zero),
		.ah_attr = *ah,
	};
	enum ibv_qp_type t = e->qp->type;
	int rtr = IBV_QP_STATE, rts = IBV_QP_STATE | IBV_QP_SQ_PSN;

	if (t != IBV_QPT_UD)
		rtr |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
	if (t == IBV_QPT_RC || t == IBV_QPT_XRC_RECV)
		rtr |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	if (t == IBV_QPT_RC || t == IBV_QPT_XRC_SEND)
		rts |= IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
	if (t != IBV_QPT_UC && t != IBV_QPT_UD)
		rts |= IBV_QP_TIMEOUT;
	CHECK(eng_qp_modify(e->qp, &a, rtr) == 0);
	a.qp_state = IBV_QPS_RTS;
	CHECK(eng_qp_modify(e->qp, &a, rts) == 0);
}

void sim_end_connect(struct sim_end *e, const struct sim_end *peer, uint32_t my_psn,
		     uint32_t peer_psn, const struct sim_qp_options *o)
{
	struct ibv_ah_attr ah = sim_way(peer->h, o);

	aim(e, &ah, peer->qp->qpn, my_psn, peer_psn, o);
}

void sim_end_aim(struct sim_end *e, const uint8_t addr[16], uint32_t qpn, uint32_t my_psn,
		 uint32_t peer_psn, const struct sim_qp_options *o)
{
	struct ibv_ah_attr ah = by_gid(addr, o);

	aim(e, &ah, qpn, my_psn, peer_psn, o);
}

void sim_pair(struct sim_end *a, struct sim_host *ha, struct sim_end *b, struct sim_host *hb,
	      const struct sim_qp_options *o)
{
	sim_end_create(a, ha, o);
	sim_end_create(b, hb, o);
	sim_end_connect(a, b, o->psn_a, o->psn_b, o);
	sim_end_connect(b, a, o->psn_b, o->psn_a, o);
}

void sim_end_close(struct sim_end *e)
{
	CHECK(eng_qp_destroy(e->qp) == 0);
	CHECK(eng_cq_destroy(e->scq) == 0);
	CHECK(eng_cq_destroy(e->rcq) == 0);
	if (e->mr)
		CHECK(eng_mr_dereg(e->mr) == 0);
	if (e->mem)
		munmap(e->mem, e->mem_len);
}

void sim_end_memory(struct sim_end *e, size_t len)
{
	e->mem_len = (len + 4095) & ~4095ull;
	e->mem = mmap(NULL, e->mem_len, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	CHECK(e->mem != MAP_FAILED);
	e->mr = sim_reg(e->h, e->mem, e->mem_len);
}

struct eng_mkey *sim_reg(struct sim_host *h, void *buf, size_t len)
{
	struct eng_mr_spec s = {
		.addr = (uintptr_t)buf, .iova = (uintptr_t)buf, .length = len,
		.access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
			  IBV_ACCESS_REMOTE_ATOMIC | IBV_ACCESS_MW_BIND,
	};
	struct eng_mkey *mr;

	CHECK(eng_mr_reg(h->pd, &s, &mr) == 0);
	return mr;
}

static void fill_target(struct ibv_send_wr *wr, const struct sim_op *o)
{
	if (o->ah) {
		wr->wr.ud.ah = (struct ibv_ah *)o->ah;
		wr->wr.ud.remote_qpn = o->qpn;
		wr->wr.ud.remote_qkey = o->qkey;
	} else if (o->code == IBV_WR_ATOMIC_CMP_AND_SWP || o->code == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.remote_addr = (uintptr_t)o->remote;
		wr->wr.atomic.rkey = o->rkey;
		wr->wr.atomic.compare_add = o->add;
		wr->wr.atomic.swap = o->swap;
	} else {
		wr->wr.rdma.remote_addr = (uintptr_t)o->remote;
		wr->wr.rdma.rkey = o->rkey;
	}
}

int sim_post(struct sim_end *e, const struct sim_op *o)
{
	struct ibv_sge sge = { (uintptr_t)o->at, o->len,
			       o->lkey ? o->lkey : e->mr ? e->mr->key : 0 };
	struct ibv_send_wr *bad, wr = {
		.wr_id = o->id, .sg_list = &sge, .num_sge = o->len ? 1 : 0, .opcode = o->code,
		.send_flags = o->flags | IBV_SEND_SIGNALED, .imm_data = o->imm,
	};

	fill_target(&wr, o);
	wr.qp_type.xrc.remote_srqn = o->srqn;
	return eng_post_send(e->qp, &wr, &bad);
}

int sim_post_recv(struct sim_end *e, uint64_t id, void *at, uint32_t len)
{
	struct ibv_sge sge = { (uintptr_t)at, len, e->mr->key };
	struct ibv_recv_wr wr = { .wr_id = id, .sg_list = &sge, .num_sge = len ? 1 : 0 }, *bad;

	return eng_post_recv(e->qp, &wr, &bad);
}

struct wait {
	struct eng_cq *cq;
	struct ibv_wc wc;
	bool got;
};

static bool took(void *arg)
{
	struct wait *x = arg;

	if (!x->got && eng_cq_held(x->cq))
		x->got = eng_cq_poll(x->cq, 1, &x->wc) == 1;
	return x->got;
}

struct ibv_wc sim_wc(struct sim_world *w, struct eng_cq *cq)
{
	struct wait x = { .cq = cq };

	CHECK_MSG(sim_run(w, 100 * UT_S, took, &x), "no completion came");
	return x.wc;
}

struct ibv_wc sim_wc_is(struct sim_world *w, struct eng_cq *cq, enum ibv_wc_status status)
{
	struct ibv_wc wc = sim_wc(w, cq);

	CHECK_MSG(wc.status == status, "request %llu ended with status %d, not %d",
		  (unsigned long long)wc.wr_id, wc.status, status);
	return wc;
}

void sim_no_wc(struct sim_world *w, struct eng_cq *cq, uint64_t ns)
{
	struct wait x = { .cq = cq };

	CHECK_MSG(!sim_run(w, ns, took, &x), "request %llu completed with status %d",
		  (unsigned long long)x.wc.wr_id, x.wc.status);
}

bool sim_event(struct sim_host *h, enum ibv_event_type type)
{
	struct eng_event e;

	while (eng_async_get(h->ctx, &e) == 0)
		if (e.type == type)
			return true;
	return false;
}

uint64_t sim_counter(struct sim_host *h, enum eng_counter k)
{
	uint64_t v;

	ut_lock(&h->dev.lock);
	v = h->dev.counters[k];
	ut_unlock(&h->dev.lock);
	return v;
}
