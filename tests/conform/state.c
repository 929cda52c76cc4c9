/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The attribute table of ibv_modify_qp, row by row and bit by bit, on every
 * queue pair type. A queue pair connected to itself serves: no packet flows.
 */
#include "conf.h"
#include "transitions.h"

#include <string.h>

struct kind {
	const char *name;
	enum ibv_qp_type type;
	const struct step *steps;
	int ignored; /* bits that are accepted anywhere and mean nothing */
};

static const struct kind kinds[] = {
	{ "RC", IBV_QPT_RC, rc_steps, 0 },
	{ "UC", IBV_QPT_UC, uc_steps, 0 },
	{ "UD", IBV_QPT_UD, ud_steps, 0 },
	{ "XRC_INI", IBV_QPT_XRC_SEND, ini_steps, INI_IGNORED },
	{ "XRC_TGT", IBV_QPT_XRC_RECV, tgt_steps, TGT_IGNORED },
};

/* A QP that plays all states, and values that are right for every bit. */
struct subject {
	const struct kind *k;
	struct cf_side s;
	struct ibv_qp_attr good;
};

static struct ibv_qp *make_xrc(struct cf_side *s, enum ibv_qp_type type)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = type, .send_cq = s->scq, .recv_cq = s->rcq,
		.cap = { 8, 0, 2, 0, 0 }, .comp_mask = IBV_QP_INIT_ATTR_PD, .pd = s->pd,
	};
	struct ibv_qp *qp;

	if (type == IBV_QPT_XRC_RECV) {
		init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
		init.xrcd = ibv_open_xrcd(s->ctx, &(struct ibv_xrcd_init_attr){
			.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS, .fd = -1 });
		if (!init.xrcd)
			CF_DIE("ibv_open_xrcd: %s", strerror(errno));
		cf_keep((cf_undo)ibv_close_xrcd, init.xrcd, "ibv_close_xrcd");
	}
	qp = ibv_create_qp_ex(s->ctx, &init);
	if (!qp)
		CF_DIE("cannot create a QP of type %d: %s", type, strerror(errno));
	cf_keep((cf_undo)ibv_destroy_qp, qp, "ibv_destroy_qp");
	return qp;
}

static void subject(struct subject *x, const struct kind *k)
{
	struct cf_opt o = cf_opt();
	struct ibv_qp_attr *g = &x->good;
	bool xrc = k->type == IBV_QPT_XRC_SEND || k->type == IBV_QPT_XRC_RECV;

	memset(x, 0, sizeof(*x));
	x->k = k;
	o.type = xrc ? IBV_QPT_RC : k->type;
	cf_side(&x->s, &o);
	if (xrc) {
		x->s.qp = make_xrc(&x->s, k->type);
		x->s.o.type = k->type;
	}
	g->port_num = 1;
	g->qp_access_flags = IBV_ACCESS_REMOTE_READ;
	g->qkey = 0x1234;
	g->path_mtu = IBV_MTU_256;
	g->dest_qp_num = x->s.qp->qp_num;
	g->rq_psn = g->sq_psn = 0x10;
	g->max_rd_atomic = g->max_dest_rd_atomic = 1;
	g->min_rnr_timer = 1;
	g->timeout = 10;
	g->retry_cnt = g->rnr_retry = 1;
	g->ah_attr = g->alt_ah_attr = cf_ah_attr();
	g->alt_port_num = 1;
	g->path_mig_state = IBV_MIG_MIGRATED;
	g->cap.max_send_wr = 1;
}

static const struct step *step_of(const struct kind *k, int from, int to)
{
	for (const struct step *p = k->steps; (int)p->from >= 0; p++)
		if ((int)p->from == from && (int)p->to == to)
			return p;
	return NULL;
}

static int try(struct subject *x, int from, int to, int mask)
{
	struct ibv_qp_attr a = x->good;

	a.qp_state = to;
	a.cur_qp_state = from;
	return ibv_modify_qp(x->s.qp, &a, mask | IBV_QP_STATE);
}

static void step(struct subject *x, int from, int to)
{
	int rc = try(x, from, to, step_of(x->k, from, to)->need);

	if (rc)
		CF_DIE("%s %d -> %d with what it needs: %s", x->k->name, from, to, strerror(rc));
}

/* Only a failed send leads to SQE; only unconnected and unreliable queue pairs get there. */
static bool to_sqe(struct subject *x)
{
	struct ibv_sge bad = { (uintptr_t)x->s.buf, 16, 0xffffff00 };

	if (x->k->type != IBV_QPT_UC && x->k->type != IBV_QPT_UD)
		return false;
	cf_post(&x->s, .op = IBV_WR_SEND, .id = 1, .sge = &bad, .n = 1,
		.ah = x->k->type == IBV_QPT_UD ? cf_ah(x->s.pd) : NULL, .qpn = x->s.qp->qp_num);
	cf_wc(x->s.scq, 1, LOC_PROT_ERR);
	cf_await_state(x->s.qp, SQE);
	return true;
}

static bool bring(struct subject *x, int state)
{
	static const int way[] = { RESET, INIT, RTR, RTS };

	step(x, cf_state(x->s.qp), RESET);
	if (state == ERR) {
		step(x, RESET, INIT);
		step(x, INIT, ERR);
		return true;
	}
	for (int i = 0; i < 3 && way[i] != state; i++)
		step(x, way[i], way[i + 1]);
	if (state == SQD)
		step(x, RTS, SQD);
	return state != SQE || to_sqe(x);
}

/* Tries a mask that must be refused and looks whether it left a trace. */
static void refused(struct subject *x, int from, int to, int mask)
{
	struct ibv_qp_attr before = cf_query(x->s.qp), after;
	int rc = try(x, from, to, mask);

	if (rc != EINVAL)
		CF_DIE("%s %d -> %d with mask 0x%x gave %d, not EINVAL", x->k->name, from, to, mask, rc);
	after = cf_query(x->s.qp);
	if (memcmp(&before, &after, sizeof(before)))
		CF_DIE("%s %d -> %d with mask 0x%x was refused but changed something", x->k->name,
		       from, to, mask);
}

static void each_row(void (*fn)(struct subject *, const struct step *))
{
	for (unsigned i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct subject x;

		if (kinds[i].type >= IBV_QPT_XRC_SEND)
			break; /* these have checks of their own: not every adapter has them */
		subject(&x, &kinds[i]);
		for (const struct step *p = kinds[i].steps; (int)p->from >= 0; p++)
			if (bring(&x, p->from))
				fn(&x, p);
	}
}

static void without_each(struct subject *x, const struct step *p)
{
	for (int bit = 1; bit < 1 << 21; bit <<= 1)
		if (p->need & bit)
			refused(x, p->from, p->to, p->need & ~bit);
	step(x, p->from, p->to);
	CF_EQ(cf_state(x->s.qp), p->to);
}

static void with_each_foreign(struct subject *x, const struct step *p)
{
	int fine = p->need | p->may | IBV_QP_STATE | x->k->ignored;

	for (int bit = 1; bit < 1 << 21; bit <<= 1)
		if (!(fine & bit))
			refused(x, p->from, p->to, p->need | bit);
}

static void with_each_allowed(struct subject *x, const struct step *p)
{
	int rc;

	/* Alternate paths and migration are refused on RoCE (check 6) and elsewhere. */
	for (int bit = 1; bit < 1 << 21; bit <<= 1) {
		if (!(p->may & bit & ~(ALT | MIG)))
			continue;
		CF_TRUE(bring(x, p->from));
		rc = try(x, p->from, p->to, p->need | bit);
		if (rc)
			CF_DIE("%s %d -> %d with bit 0x%x gave %s", x->k->name, p->from, p->to, bit,
			       strerror(rc));
	}
}

static void required_bits(void)  { each_row(without_each); }
static void foreign_bits(void)   { each_row(with_each_foreign); }
static void optional_bits(void)  { each_row(with_each_allowed); }

static void invalid_of(const struct kind *k)
{
	struct subject x;

	subject(&x, k);
	for (int from = RESET; from <= ERR; from++) {
		for (int to = RESET; to <= ERR; to++) {
			if (step_of(k, from, to) || !bring(&x, from))
				continue;
			refused(&x, from, to, 0);
			refused(&x, from, to, PKI | PORT | ACC);
			refused(&x, from, to, AV | MTU | DQ | RPSN | MDRA | MINR);
			refused(&x, from, to, TO | RTY | RNR | SPSN | MRA);
		}
	}
	CF_TRUE(bring(&x, RTS));
	refused(&x, RTS, 7, 0);
	refused(&x, RTS, 255, 0);
}

static void invalid_pairs(void)
{
	invalid_of(&kinds[0]);
}

static void invalid_pairs_uc(void)
{
	invalid_of(&kinds[1]);
}

static void invalid_pairs_ud(void)
{
	invalid_of(&kinds[2]);
}

static void cur_state(void)
{
	static const int states[] = { RESET, INIT, RTR, SQD, SQE, ERR };
	struct subject x;

	subject(&x, &kinds[0]);
	for (unsigned i = 0; i < sizeof(states) / sizeof(*states); i++) {
		struct ibv_qp_attr a = x.good;

		CF_TRUE(bring(&x, RTS));
		a.qp_state = RTS;
		a.cur_qp_state = states[i]; /* a lie */
		CF_ERR(ibv_modify_qp(x.s.qp, &a, IBV_QP_STATE | IBV_QP_CUR_STATE), EINVAL);
		CF_EQ(cf_state(x.s.qp), RTS);
	}
	/* Without a state change the mask may be empty. */
	CF_OK(ibv_modify_qp(x.s.qp, &x.good, 0));
	CF_TRUE(bring(&x, INIT));
	refused(&x, INIT, INIT, CUR);
}

static void xrc_rows(void)
{
	for (int i = 3; i < 5; i++) {
		struct subject x;

		subject(&x, &kinds[i]);
		for (const struct step *p = kinds[i].steps; (int)p->from >= 0; p++) {
			if (!bring(&x, p->from))
				continue;
			with_each_foreign(&x, p);
			without_each(&x, p);
		}
		/* Programs pass the mask of RC. */
		CF_TRUE(bring(&x, INIT));
		CF_OK(try(&x, INIT, RTR, rc_steps[2].need));
		CF_OK(try(&x, RTR, RTS, rc_steps[3].need));
	}
}

const struct cf_check cf_checks[] = {
	{ "1", "each required attribute missing", CF_STEPS | CF_UC | CF_UD, required_bits },
	{ "2", "each attribute that does not belong to the step", CF_STEPS | CF_UC | CF_UD, foreign_bits },
	{ "2", "each optional attribute is taken", CF_STEPS | CF_UC | CF_UD, optional_bits },
	{ "3", "steps that do not exist, RC", CF_STEPS, invalid_pairs },
	{ "3", "steps that do not exist, UC", CF_UC, invalid_pairs_uc },
	{ "3", "steps that do not exist, UD", CF_UD, invalid_pairs_ud },
	{ "4", "a false current state", CF_STEPS, cur_state },
	{ "5", "XRC: the same, and the full mask of RC", CF_XRC, xrc_rows },
	{ 0 },
};
