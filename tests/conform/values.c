/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Attribute values one beyond their limits; the attributes of a new queue pair; limits at create. */
#include "conf.h"

#include <stddef.h>
#include <string.h>

#define FIELD(f) offsetof(struct ibv_qp_attr, f), sizeof(((struct ibv_qp_attr *)0)->f)

/* One attribute, the step that takes it, a value that must be refused there. */
struct bad_value {
	const char *name;
	enum ibv_qp_state to;
	size_t off, size;
	long long value;
};

static void put(struct ibv_qp_attr *a, const struct bad_value *v)
{
	uint64_t x = v->value;

	memcpy((char *)a + v->off, &x, v->size); /* little endian, as all our machines */
}

static void one_bad(struct cf_side *s, const struct bad_value *v)
{
	struct cf_addr self = cf_addr_of(s);
	struct ibv_qp_attr a, before, after;
	int mask, rc;

	cf_move(s, IBV_QPS_RESET, NULL);
	for (int st = IBV_QPS_INIT; st < (int)v->to; st++)
		cf_move(s, st, &self);
	mask = cf_attr(s, v->to, &self, &a);
	put(&a, v);
	before = cf_query(s->qp);
	rc = ibv_modify_qp(s->qp, &a, mask);
	if (rc != EINVAL)
		CF_DIE("%s = %lld gave %d, not EINVAL", v->name, v->value, rc);
	after = cf_query(s->qp);
	if (memcmp(&before, &after, sizeof(before)))
		CF_DIE("%s = %lld was refused but changed something", v->name, v->value);
}

static void beyond_limits(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side s;

	cf_side(&s, &o);
	const struct ibv_device_attr *d = &cf.dev.orig_attr;
	const struct bad_value rows[] = {
		{ "port_num", IBV_QPS_INIT, FIELD(port_num), 0 },
		{ "port_num", IBV_QPS_INIT, FIELD(port_num), d->phys_port_cnt + 1 },
		{ "pkey_index", IBV_QPS_INIT, FIELD(pkey_index), cf.port.pkey_tbl_len },
		{ "ah_attr.port_num", IBV_QPS_RTR, FIELD(ah_attr.port_num), 0 },
		{ "ah_attr.port_num", IBV_QPS_RTR, FIELD(ah_attr.port_num), d->phys_port_cnt + 1 },
		{ "path_mtu", IBV_QPS_RTR, FIELD(path_mtu), 0 },
		{ "path_mtu", IBV_QPS_RTR, FIELD(path_mtu), 6 },
		{ "dest_qp_num", IBV_QPS_RTR, FIELD(dest_qp_num), 1 << 24 },
		{ "min_rnr_timer", IBV_QPS_RTR, FIELD(min_rnr_timer), 32 },
		{ "max_dest_rd_atomic", IBV_QPS_RTR, FIELD(max_dest_rd_atomic), d->max_qp_rd_atom + 1 },
		{ "timeout", IBV_QPS_RTS, FIELD(timeout), 32 },
		{ "retry_cnt", IBV_QPS_RTS, FIELD(retry_cnt), 8 },
		{ "rnr_retry", IBV_QPS_RTS, FIELD(rnr_retry), 8 },
		{ "max_rd_atomic", IBV_QPS_RTS, FIELD(max_rd_atomic), d->max_qp_init_rd_atom + 1 },
	};
	for (unsigned i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		/* The field is 8 bits wide: a limit of 255 has no value beyond. */
		if (rows[i].size == 1 && rows[i].value > 255)
			continue;
		one_bad(&s, &rows[i]);
	}
	if (cf.port.link_layer != IBV_LINK_LAYER_ETHERNET)
		return;
	one_bad(&s, &(struct bad_value){ "is_global", IBV_QPS_RTR, FIELD(ah_attr.is_global), 0 });
	one_bad(&s, &(struct bad_value){ "sgid_index", IBV_QPS_RTR, FIELD(ah_attr.grh.sgid_index),
					 cf.port.gid_tbl_len - 1 });
}

/* Alternate paths exist on InfiniBand links only. */
static void alternate_path(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side s;
	struct ibv_qp_attr a;
	struct cf_addr self;
	int mask;

	cf_side(&s, &o);
	if (cf.port.link_layer != IBV_LINK_LAYER_ETHERNET)
		cf_skip("an InfiniBand link");
	self = cf_addr_of(&s);
	cf_up(&s, IBV_QPS_INIT, &self);
	mask = cf_attr(&s, IBV_QPS_RTR, &self, &a);
	a.alt_ah_attr = a.ah_attr;
	a.alt_port_num = 1;
	CF_ERR(ibv_modify_qp(s.qp, &a, mask | IBV_QP_ALT_PATH), EINVAL);
	CF_EQ(cf_state(s.qp), IBV_QPS_INIT);
}

static enum ibv_mig_state migration(struct cf_side *s)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	CF_OK(ibv_query_qp(s->qp, &a, IBV_QP_PATH_MIG_STATE, &init));
	return a.path_mig_state;
}

/* One Send, so that the ends hear each other's state. */
static void send_one(struct cf_side *from, struct cf_side *to, uint64_t id)
{
	cf_recv(to, id, 0, 64);
	cf_post(from, .op = IBV_WR_SEND, .id = id, .len = 64);
	cf_wc(from->scq, id, SUCCESS);
	cf_wc(to->rcq, id, SUCCESS);
}

static void rearm(struct cf_side *s, uint8_t sl)
{
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_RTS, .path_mig_state = IBV_MIG_REARM, .alt_ah_attr = cf_ah_attr(),
				 .alt_port_num = 1, .alt_timeout = 17 };

	a.alt_ah_attr.sl = sl;
	CF_OK(ibv_modify_qp(s->qp, &a, IBV_QP_STATE | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE));
	CF_EQ(migration(s), IBV_MIG_REARM);
}

/* Both ends rearm, hear of it, and are armed; one migrates, and so does the other by the first packet that says so. */
static void migrates(void)
{
	struct cf_opt o = cf_opt();
	struct ibv_qp_attr m = { .qp_state = IBV_QPS_RTS, .path_mig_state = IBV_MIG_MIGRATED },
			   r = { .qp_state = IBV_QPS_RTS, .path_mig_state = IBV_MIG_REARM };
	struct cf_side a, b;

	cf_pair(&a, &b, &o);
	CF_EQ(migration(&a), IBV_MIG_MIGRATED);
	/* There is no path in reserve yet. */
	CF_ERR(ibv_modify_qp(a.qp, &r, IBV_QP_STATE | IBV_QP_PATH_MIG_STATE), EINVAL);
	send_one(&a, &b, 1);
	rearm(&a, 3);
	send_one(&a, &b, 2);
	CF_EQ(migration(&b), IBV_MIG_MIGRATED);
	CF_EQ(migration(&a), IBV_MIG_REARM);
	rearm(&b, 3);
	send_one(&a, &b, 3);
	send_one(&b, &a, 4);
	CF_EQ(migration(&a), IBV_MIG_ARMED);
	CF_EQ(migration(&b), IBV_MIG_ARMED);
	/* Armed already. */
	CF_ERR(ibv_modify_qp(a.qp, &r, IBV_QP_STATE | IBV_QP_PATH_MIG_STATE), EINVAL);
	CF_OK(ibv_modify_qp(a.qp, &m, IBV_QP_STATE | IBV_QP_PATH_MIG_STATE));
	cf_event(a.ctx, PATH_MIG);
	CF_EQ(migration(&a), IBV_MIG_MIGRATED);
	CF_EQ(cf_query(a.qp).ah_attr.sl, 3);
	send_one(&a, &b, 5);
	cf_event(b.ctx, PATH_MIG);
	CF_EQ(migration(&b), IBV_MIG_MIGRATED);
	CF_EQ(cf_query(b.qp).ah_attr.sl, 3);
	/* And back, since a path is loaded again. */
	rearm(&a, 0);
	rearm(&b, 0);
	send_one(&a, &b, 6);
	send_one(&b, &a, 7);
	CF_EQ(migration(&b), IBV_MIG_ARMED);
	send_one(&b, &a, 8);
	CF_EQ(migration(&a), IBV_MIG_ARMED);
	send_one(&b, &a, 9);
}

static void psn_masked(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side s;
	struct cf_addr self;
	struct ibv_qp_attr a;

	o.psn = 0x1ffffff;
	cf_side(&s, &o);
	self = cf_addr_of(&s);
	cf_up(&s, IBV_QPS_RTS, &self);
	a = cf_query(s.qp);
	CF_EQ(a.sq_psn, 0xffffff);
	CF_EQ(a.rq_psn, 0xffffff);
}

static void qkey_privilege(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side s;
	struct ibv_qp_attr a;

	o.type = IBV_QPT_UD;
	o.qkey = 0x80000001; /* root may; others get EPERM: both are answers of the kernel */
	cf_side(&s, &o);
	int mask = cf_attr(&s, IBV_QPS_INIT, NULL, &a);
	int rc = ibv_modify_qp(s.qp, &a, mask);

	if (rc != 0 && rc != EPERM)
		CF_DIE("a controlled Q_Key gave %d", rc);
}

static void new_qp_looks(struct ibv_qp *qp)
{
	struct ibv_qp_attr a = cf_query(qp);

	CF_EQ(a.qp_state, IBV_QPS_RESET);
	CF_EQ(a.path_mtu, IBV_MTU_256);
	CF_EQ(a.path_mig_state, IBV_MIG_MIGRATED);
	CF_EQ(a.qkey, 0);
	CF_EQ(a.rq_psn, 0);
	CF_EQ(a.sq_psn, 0);
	CF_EQ(a.dest_qp_num, 0);
	CF_EQ(a.qp_access_flags, 0);
	CF_EQ(a.max_rd_atomic, 0);
	CF_EQ(a.max_dest_rd_atomic, 0);
	CF_EQ(a.min_rnr_timer, 0);
	CF_EQ(a.port_num, 0);
	CF_EQ(a.timeout, 0);
	CF_EQ(a.retry_cnt, 0);
	CF_EQ(a.rnr_retry, 0);
	CF_EQ(a.sq_draining, 0);
	CF_EQ(a.ah_attr.is_global, 0);
}

static void query_new(void)
{
	struct cf_opt o = cf_opt();
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;
	struct cf_addr self;
	struct cf_side s;

	o.inl = 64;
	cf_side(&s, &o);
	new_qp_looks(s.qp);
	self = cf_addr_of(&s);
	cf_up(&s, IBV_QPS_RTS, &self);
	a = cf_query(s.qp);
	CF_EQ(a.qp_state, IBV_QPS_RTS);
	CF_EQ(a.cur_qp_state, IBV_QPS_RTS);
	CF_EQ(a.dest_qp_num, s.qp->qp_num);
	CF_EQ(a.timeout, o.timeout);
	CF_EQ(a.retry_cnt, o.retry);
	CF_EQ(a.min_rnr_timer, o.min_rnr);
	CF_EQ(a.path_mtu, cf.path_mtu);
	CF_EQ(a.qp_access_flags, o.access);
	CF_EQ(a.port_num, 1);
	CF_TRUE(!memcmp(&a.ah_attr.grh.dgid, &cf.gid, 16));
	cf_move(&s, IBV_QPS_RESET, NULL);
	new_qp_looks(s.qp);
	CF_OK(ibv_query_qp(s.qp, &a, IBV_QP_CAP, &init));
	CF_TRUE(init.cap.max_send_wr >= o.sq && init.cap.max_recv_wr >= o.rq);
	CF_TRUE(init.cap.max_send_sge >= o.sge && init.cap.max_recv_sge >= o.sge);
	CF_TRUE(init.cap.max_inline_data >= o.inl);
	CF_TRUE(!memcmp(&init.cap, &s.cap, sizeof(s.cap)));
	CF_TRUE(init.qp_type == IBV_QPT_RC && init.send_cq == s.scq && init.recv_cq == s.rcq);
}

static void create_limits(void)
{
	struct ibv_context *ctx = cf_open();
	struct ibv_pd *pd = cf_pd(ctx);
	struct ibv_cq *cq = cf_cq(ctx, 4, NULL);
	const struct ibv_device_attr *d = &cf.dev.orig_attr;
	uint32_t wr = d->max_qp_wr, sge = d->max_sge;
	const struct ibv_qp_cap bad[] = {
		{ wr + 1, 1, 1, 1, 0 }, { 1, wr + 1, 1, 1, 0 }, { 1, 1, sge + 1, 1, 0 },
		{ 1, 1, 1, sge + 1, 0 }, { UINT32_MAX, 1, 1, 1, 0 }, { 1, 1, 1, 1, 1 << 20 },
		{ 1, 1, 1, 1, UINT32_MAX }, { 1, UINT32_MAX, 1, UINT32_MAX, 0 },
	};
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq };

	for (unsigned i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		init.cap = bad[i];
		CF_NULL(ibv_create_qp(pd, &init), EINVAL);
	}
	init.cap = (struct ibv_qp_cap){ 0, 0, 0, 0, 0 };
	cf_qp(pd, &init);
	init.cap = (struct ibv_qp_cap){ wr, 1, sge, 1, 0 };
	cf_qp(pd, &init);
	init.cap = (struct ibv_qp_cap){ 1, wr, 1, sge, 0 };
	cf_qp(pd, &init);
	init.cap = (struct ibv_qp_cap){ 1, 1, 1, 1, 0 };
	init.qp_type = 77;
	CF_NULL(ibv_create_qp(pd, &init), EINVAL);
	init.qp_type = 1; /* GSI: not for user space */
	CF_NULL(ibv_create_qp(pd, &init), EINVAL);
}

/* libfabric finds the inline limit by doubling until create fails. */
static void inline_probe(void)
{
	struct ibv_context *ctx = cf_open();
	struct ibv_pd *pd = cf_pd(ctx);
	struct ibv_cq *cq = cf_cq(ctx, 4, NULL);
	uint32_t n, best = 0;

	for (n = 1; n <= 1u << 24; n *= 2) {
		struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC, .send_cq = cq, .recv_cq = cq,
						 .cap = { 1, 1, 1, 1, n } };
		struct ibv_qp *qp = ibv_create_qp(pd, &init);

		if (!qp)
			break;
		CF_TRUE(init.cap.max_inline_data >= n);
		best = n;
		CF_OK(ibv_destroy_qp(qp));
	}
	CF_EQ(errno, EINVAL);
	if (best < 256)
		CF_DIE("only %u bytes inline", best);
}

static void foreign_query_bits(void)
{
	struct cf_opt o = cf_opt();
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a, mark;
	struct cf_side s;

	cf_side(&s, &o);
	memset(&mark, 0x5a, sizeof(mark));
	a = mark;
	CF_ERR(ibv_query_qp(s.qp, &a, 1 << 25, &init), EOPNOTSUPP);
	CF_TRUE(!memcmp(&a, &mark, sizeof(a)));
	CF_ERR(ibv_modify_qp(s.qp, &a, IBV_QP_RATE_LIMIT), EOPNOTSUPP);
}

const struct cf_check cf_checks[] = {
	{ "6", "attribute values one beyond their limits", CF_STEPS, beyond_limits },
	{ "6", "an alternate path on RoCE is refused", CF_STEPS, alternate_path },
	{ "+", "a path that migrates", CF_ALT, migrates },
	{ "6", "PSNs of 25 bits are cut to 24", CF_PSN, psn_masked },
	{ "6", "a controlled Q_Key: done or EPERM", CF_UD, qkey_privilege },
	{ "7", "a new queue pair, and one after RESET", CF_STEPS, query_new },
	{ "7", "queue sizes and types at create, at and beyond the limits", 0, create_limits },
	{ "7", "big inline sizes are refused, not crashed over", 0, inline_probe },
	{ "7", "attribute bits above the standard set", 0, foreign_query_bits },
	{ 0 },
};
