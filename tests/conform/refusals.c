/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Refused calls: each provokes one refusal, and expects its errno and a sentence in `dapple why` that names the call,
 * the cause, the errno and the remedy. The sentences are read from a runtime directory of the check's own.
 */
#include "conf.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char dir[108] = "/tmp/conform-refusals-XXXXXX";

struct stand {
	struct cf_side s;
	struct cf_addr self;
	struct ibv_srq *srq;
	struct ibv_srq_init_attr srq_attr;
};

static int remove_dir(void *unused)
{
	static const char *const names[] = { "why", "why.old" };
	char path[128];

	(void)unused;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		snprintf(path, sizeof(path), "%s/%s", dir, names[i]);
		unlink(path);
	}
	rmdir(dir); /* other files belong to the adapter, which is still open */
	return 0;
}

/* What was said since the last call; "": nothing. */
static void take_said(char *buf, size_t n)
{
	char path[128];
	ssize_t got = 0;
	int fd;

	snprintf(path, sizeof(path), "%s/why", dir);
	fd = open(path, O_RDONLY);
	if (fd >= 0) {
		got = read(fd, buf, n - 1);
		close(fd);
		unlink(path);
	}
	buf[got > 0 ? got : 0] = 0;
}

/* A fabric is found by its runtime folder, which is the row's own. */
static void own_dir(void)
{
	const char *given = getenv("DAPPLE_RUNTIME_DIR");
	char before[4096];

	if (getenv("DAPPLE_FABRIC") && given) {
		snprintf(dir, sizeof(dir), "%s", given);
		take_said(before, sizeof(before));
		return;
	}
	CF_TRUE(mkdtemp(dir));
	CF_OK(setenv("DAPPLE_RUNTIME_DIR", dir, 1));
	cf_keep(remove_dir, dir, "the runtime directory");
}

static int null(const void *p)
{
	return p ? 0 : errno;
}

/* --- modify_qp --- */

static int step(struct stand *t, enum ibv_qp_state to, void (*spoil)(struct ibv_qp_attr *, int *))
{
	struct ibv_qp_attr a;
	int mask;

	cf_move(&t->s, IBV_QPS_RESET, NULL);
	for (int st = IBV_QPS_INIT; st < (int)to; st++)
		cf_move(&t->s, st, &t->self);
	mask = cf_attr(&t->s, to, &t->self, &a);
	spoil(&a, &mask);
	return ibv_modify_qp(t->s.qp, &a, mask);
}

#define STEP(name, to, ...)                                                   \
	static void name##_spoil(struct ibv_qp_attr *a, int *mask)            \
	{                                                                     \
		(void)a, (void)mask;                                          \
		__VA_ARGS__;                                                  \
	}                                                                     \
	static int name(struct stand *t)                                      \
	{                                                                     \
		return step(t, IBV_QPS_##to, name##_spoil);                   \
	}

STEP(no_grh, RTR, a->ah_attr.is_global = 0)
STEP(no_gid, RTR, (a->ah_attr.is_global = 1, a->ah_attr.grh.sgid_index = 200))
STEP(other_family, RTR, memset(a->ah_attr.grh.dgid.raw, 0xfd, 16))
STEP(wrong_mtu, RTR, a->path_mtu = (enum ibv_mtu)6)
STEP(wrong_dest, RTR, a->dest_qp_num = 1 << 24)
STEP(much_rd_atomic, RTR, a->max_dest_rd_atomic = 255)
STEP(lacks_psn, RTR, *mask &= ~IBV_QP_RQ_PSN)
STEP(foreign_psn, INIT, *mask |= IBV_QP_RQ_PSN)
STEP(alternate, RTR, *mask |= IBV_QP_ALT_PATH)
STEP(migration, RTS, (*mask |= IBV_QP_PATH_MIG_STATE, a->path_mig_state = IBV_MIG_ARMED))
STEP(long_timeout, RTS, a->timeout = 32)
STEP(wrong_port, INIT, a->port_num = 9)
STEP(wrong_pkey, INIT, a->pkey_index = 999)
STEP(backwards, INIT, a->qp_state = IBV_QPS_RTS)
STEP(not_current, INIT, (*mask |= IBV_QP_CUR_STATE, a->cur_qp_state = IBV_QPS_SQE))
STEP(unknown_attr, INIT, *mask |= IBV_QP_RATE_LIMIT)

/* --- creation --- */

static int qp_with(struct stand *t, enum ibv_qp_type type, uint32_t wr, struct ibv_cq *cq)
{
	struct ibv_qp_init_attr a = {
		.qp_type = type, .send_cq = cq, .recv_cq = cq, .cap = { .max_send_wr = wr, .max_send_sge = 1 },
	};

	return null(ibv_create_qp(t->s.pd, &a));
}

static int qp_no_cq(struct stand *t) { return qp_with(t, IBV_QPT_RC, 1, NULL); }
static int qp_long(struct stand *t) { return qp_with(t, IBV_QPT_RC, UINT_MAX, t->s.scq); }
static int qp_raw(struct stand *t) { return qp_with(t, IBV_QPT_RAW_PACKET, 1, t->s.scq); }
static int qp_type(struct stand *t) { return qp_with(t, (enum ibv_qp_type)77, 1, t->s.scq); }
static int qp_ud(struct stand *t) { return qp_with(t, IBV_QPT_UD, 1, t->s.scq); }
static int cq_empty(struct stand *t) { return null(ibv_create_cq(t->s.ctx, 0, NULL, NULL, 0)); }
static int cq_negative(struct stand *t) { return null(ibv_create_cq(t->s.ctx, -1, NULL, NULL, 0)); }
static int cq_vast(struct stand *t) { return null(ibv_create_cq(t->s.ctx, INT_MAX, NULL, NULL, 0)); }
static int cq_vector(struct stand *t) { return null(ibv_create_cq(t->s.ctx, 1, NULL, NULL, INT_MAX)); }
static int cq_used(struct stand *t) { return ibv_destroy_cq(t->s.scq); }
static int cq_resize(struct stand *t) { return ibv_resize_cq(t->s.scq, INT_MAX); }
static int pd_used(struct stand *t) { return ibv_dealloc_pd(t->s.pd); }

static int cq_flags(struct stand *t)
{
	struct ibv_cq_init_attr_ex a = { .cqe = 1, .wc_flags = 1ull << 62 };

	return null(ibv_create_cq_ex(t->s.ctx, &a));
}

static int srq_empty(struct stand *t)
{
	struct ibv_srq_init_attr a = { .attr = { .max_wr = 0, .max_sge = 1 } };

	return null(ibv_create_srq(t->s.pd, &a));
}

static int srq_limit(struct stand *t)
{
	struct ibv_srq_attr a = { .srq_limit = UINT_MAX };

	return ibv_modify_srq(t->srq, &a, IBV_SRQ_LIMIT);
}

static int srq_mask(struct stand *t)
{
	struct ibv_srq_attr a = { .srq_limit = 0 };

	return ibv_modify_srq(t->srq, &a, 1 << 20);
}

static int srq_long(struct stand *t)
{
	struct ibv_recv_wr wr = { .num_sge = 99 }, *bad;

	return ibv_post_srq_recv(t->srq, &wr, &bad);
}

static int mr_rights(struct stand *t)
{
	return null(ibv_reg_mr(t->s.pd, t->s.buf, 8, IBV_ACCESS_REMOTE_WRITE));
}

static int mr_wraps(struct stand *t)
{
	return null(ibv_reg_mr(t->s.pd, (void *)-4096, 8192, IBV_ACCESS_LOCAL_WRITE));
}

static int ah_no_grh(struct stand *t)
{
	struct ibv_ah_attr a = { .port_num = 1 };

	return null(ibv_create_ah(t->s.pd, &a));
}

static int ah_port(struct stand *t)
{
	struct ibv_ah_attr a = { .port_num = 9 };

	return null(ibv_create_ah(t->s.pd, &a));
}

static int mw_type(struct stand *t)
{
	return null(ibv_alloc_mw(t->s.pd, (enum ibv_mw_type)9));
}

/* --- posting --- */

static int post(struct stand *t, struct ibv_send_wr wr)
{
	struct ibv_send_wr *bad = NULL;
	int rc = ibv_post_send(t->s.qp, &wr, &bad);

	CF_TRUE(bad == &wr);
	return rc;
}

static int ready(struct stand *t)
{
	cf_move(&t->s, IBV_QPS_RESET, NULL);
	cf_up(&t->s, IBV_QPS_RTS, &t->self);
	return 0;
}

static int send_early(struct stand *t)
{
	cf_move(&t->s, IBV_QPS_RESET, NULL);
	return post(t, (struct ibv_send_wr){ .opcode = IBV_WR_SEND });
}

static int send_opcode(struct stand *t)
{
	ready(t);
	return post(t, (struct ibv_send_wr){ .opcode = IBV_WR_TSO });
}

static int send_sges(struct stand *t)
{
	ready(t);
	return post(t, (struct ibv_send_wr){ .opcode = IBV_WR_SEND, .num_sge = 99 });
}

static int send_inline(struct stand *t)
{
	struct ibv_sge sge = { (uintptr_t)t->s.buf, 1 << 20, 0 };

	ready(t);
	return post(t, (struct ibv_send_wr){ .opcode = IBV_WR_SEND, .num_sge = 1, .sg_list = &sge,
					     .send_flags = IBV_SEND_INLINE });
}

static int recv_sges(struct stand *t)
{
	struct ibv_recv_wr wr = { .num_sge = 99 }, *bad;

	ready(t);
	return ibv_post_recv(t->s.qp, &wr, &bad);
}

static int recv_reset(struct stand *t)
{
	struct ibv_recv_wr wr = { .num_sge = 0 }, *bad;

	cf_move(&t->s, IBV_QPS_RESET, NULL);
	return ibv_post_recv(t->s.qp, &wr, &bad);
}

static int recv_full(struct stand *t)
{
	struct ibv_recv_wr wr = { .num_sge = 0 }, *bad;
	int rc;

	ready(t);
	while (!(rc = ibv_post_recv(t->s.qp, &wr, &bad)))
		;
	return rc;
}

/* The adapters that refuse it, or in these words. */
enum where { ROCE = 1, IB = 2, IWARP = 4, PACKETS = ROCE | IB, ALL = PACKETS | IWARP };

static const struct row {
	const char *name;
	enum where where;
	int (*provoke)(struct stand *);
	int err;
	const char *words[3];
} rows[] = {
	{ "RTR without a GRH", ROCE, no_grh, EINVAL, { "modify_qp to RTR refused: no GRH", "-g 0", "DAPPLE_NO_GRH=self" } },
	{ "RTR, no such GID", PACKETS, no_gid, EINVAL, { "RTR refused: sgid_index", "dapple devices", "QP 0x" } },
	{ "RTR, families differ", ROCE, other_family, EINVAL, { "RTR refused: source", "family", "GID index" } },
	{ "path MTU", PACKETS, wrong_mtu, EINVAL, { "modify_qp refused: path_mtu", "active_mtu" } },
	{ "destination", PACKETS, wrong_dest, EINVAL, { "modify_qp refused: dest_qp_num", "host byte order" } },
	{ "depth of Reads", PACKETS, much_rd_atomic, EINVAL, { "modify_qp refused: max_rd_atomic", "max_qp_rd_atom" } },
	{ "required bit", PACKETS, lacks_psn, EINVAL, { "modify_qp refused: the mask lacks", "ibv_modify_qp(3)" } },
	{ "foreign bit", PACKETS, foreign_psn, EINVAL, { "modify_qp refused: the mask has", "ibv_modify_qp(3)" } },
	{ "alternate path", ROCE, alternate, EINVAL, { "modify_qp refused: an alternate path", "leave out" } },
	{ "migration", PACKETS, migration, EINVAL, { "modify_qp refused: path_mig_state", "leave out" } },
	{ "timeout", PACKETS, long_timeout, EINVAL, { "modify_qp refused: a timer", "up to 31" } },
	{ "port", PACKETS, wrong_port, EINVAL, { "modify_qp refused: the port number", "port 1" } },
	{ "P_Key", PACKETS, wrong_pkey, EINVAL, { "modify_qp refused: pkey_index", "index 0" } },
	{ "transition", PACKETS, backwards, EINVAL, { "modify_qp refused: no transition", "RESET, INIT, RTR" } },
	{ "current state", PACKETS, not_current, EINVAL, { "modify_qp refused: cur_qp_state", "ibv_query_qp" } },
	{ "unknown attribute", ALL, unknown_attr, EOPNOTSUPP, { "modify_qp refused: the mask", "leave out" } },
	{ "QP without a CQ", ALL, qp_no_cq, EINVAL, { "create_qp refused: PD, CQ", "context" } },
	{ "long queue", ALL, qp_long, EINVAL, { "create_qp refused: a queue", "max_qp_wr" } },
	{ "raw packets", ALL, qp_raw, EOPNOTSUPP, { "create_qp refused: this transport lacks", "use RC" } },
	{ "unknown type", ALL, qp_type, EINVAL, { "create_qp refused: qp_type", "enum ibv_qp_type" } },
	{ "UD over iWARP", IWARP, qp_ud, EOPNOTSUPP, { "create_qp refused: this transport lacks", "RoCE" } },
	{ "empty CQ", ALL, cq_empty, EINVAL, { "create_cq refused", "0 asked, at most", "max_cqe" } },
	{ "negative CQ", ALL, cq_negative, EINVAL, { "create_cq refused", "max_cqe" } },
	{ "vast CQ", ALL, cq_vast, EINVAL, { "create_cq refused", "2147483647 asked, at most", "max_cqe" } },
	{ "vector", ALL, cq_vector, EINVAL, { "create_cq refused: comp_vector", "vector 0" } },
	{ "flags of a CQ", ALL, cq_flags, EOPNOTSUPP, { "create_cq_ex refused: the adapter lacks", "leave it out" } },
	{ "CQ in use", ALL, cq_used, EBUSY, { "destroy_cq refused: a QP", "destroy these first" } },
	{ "larger CQ", ALL, cq_resize, EINVAL, { "resize_cq refused", "max_cqe" } },
	{ "PD in use", ALL, pd_used, EBUSY, { "dealloc_pd refused", "destroy its QPs" } },
	{ "empty SRQ", ALL, srq_empty, EINVAL, { "create_srq refused: max_wr", "max_srq_wr" } },
	{ "limit of an SRQ", ALL, srq_limit, EINVAL, { "modify_srq refused: max_wr or srq_limit", "keep" } },
	{ "mask of an SRQ", ALL, srq_mask, EINVAL, { "modify_srq refused: the mask", "IBV_SRQ_LIMIT" } },
	{ "pieces for an SRQ", ALL, srq_long, EINVAL, { "post_srq_recv refused: the scatter list", "max_sge" } },
	{ "rights", ALL, mr_rights, EINVAL, { "reg_mr refused: the access flags", "IBV_ACCESS_LOCAL_WRITE" } },
	{ "range", ALL, mr_wraps, EINVAL, { "reg_mr refused: the range", "correct address" } },
	{ "AH without a GRH", ROCE, ah_no_grh, EINVAL, { "create_ah refused: no GRH", "-g 0" } },
	{ "AH without a LID", IB, ah_no_grh, EINVAL, { "create_ah refused: the path has no LID", "ibv_port_attr" } },
	{ "AH over iWARP", IWARP, ah_no_grh, EOPNOTSUPP, { "create_ah refused: iWARP", "RoCE" } },
	{ "port of an AH", ALL, ah_port, EINVAL, { "create_ah refused: the port number", "port 1" } },
	{ "window", ALL, mw_type, EINVAL, { "alloc_mw refused: the type", "IBV_MW_TYPE_1" } },
	{ "send before RTS", ALL, send_early, EINVAL, { "post_send refused: the QP is not in RTS", "QP 0x" } },
	{ "opcode", PACKETS, send_opcode, EINVAL, { "post_send refused: the QP type lacks", "ibv_post_send(3)" } },
	{ "pieces to send", PACKETS, send_sges, EINVAL, { "post_send refused: the gather list", "max_send_sge" } },
	{ "inline data", PACKETS, send_inline, EINVAL, { "post_send refused: the inline data", "max_inline_data" } },
	{ "receive in RESET", PACKETS, recv_reset, EINVAL, { "post_recv refused: the QP is in RESET", "INIT" } },
	{ "pieces to receive", PACKETS, recv_sges, EINVAL, { "post_recv refused: the scatter list", "max_recv_sge" } },
	{ "receive queue", PACKETS, recv_full, ENOMEM, { "post_recv refused: the receive queue is full", "larger" } },
};

static const char *errno_name(int err)
{
	return err == EINVAL ? "EINVAL" : err == EOPNOTSUPP ? "EOPNOTSUPP" : err == EBUSY ? "EBUSY" : "ENOMEM";
}

static void expect_said(const char *name, int err, const char *const words[3])
{
	char said[4096], fails[64];

	take_said(said, sizeof(said));
	snprintf(fails, sizeof(fails), "the call fails with %s; ", errno_name(err));
	if (!strstr(said, fails))
		CF_DIE("%s: \"%s\" lacks \"%s\"", name, said, fails);
	for (int i = 0; i < 3 && words[i]; i++)
		if (!strstr(said, words[i]))
			CF_DIE("%s: \"%s\" lacks \"%s\"", name, said, words[i]);
}

static enum where here(void)
{
	if (cf.iwarp)
		return IWARP;
	return cf.port.link_layer == IBV_LINK_LAYER_INFINIBAND ? IB : ROCE;
}

static void table(void)
{
	struct cf_opt o = cf_opt();
	struct stand t = { 0 };
	char said[4096];

	own_dir();
	cf_side(&t.s, &o);
	t.self = cf_addr_of(&t.s);
	t.srq = cf_srq(t.s.pd, 4, 1);
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		int rc;

		if (!(r->where & here()))
			continue;
		take_said(said, sizeof(said));
		errno = 0;
		rc = r->provoke(&t);
		if (rc != r->err)
			CF_DIE("%s gave %d, not %s", r->name, rc, errno_name(r->err));
		expect_said(r->name, r->err, r->words);
	}
}

/* A program that repeats a refused call fills no file. */
static void repeated(void)
{
	struct cf_opt o = cf_opt();
	struct stand t = { 0 };
	char said[16384];
	int lines = 0;

	own_dir();
	cf_side(&t.s, &o);
	for (int i = 0; i < 1000; i++)
		CF_EQ(cq_vast(&t), EINVAL);
	take_said(said, sizeof(said));
	for (const char *p = said; (p = strchr(p, '\n')); p++)
		lines++;
	CF_EQ(lines, 8 + 6); /* then the 16th, 32nd, ... 512th */
}

static void umad(void)
{
	static const char *const words[3] = { "umad_open_port refused", "QP1", "rdma_cm" };
	void *lib = dlopen("libibumad.so.3", RTLD_NOW);
	int (*open_port)(const char *, int);

	if (!lib)
		cf_skip("libibumad is not built");
	if (getenv("DAPPLE_FABRIC"))
		cf_skip("the port of a fabric's node opens");
	own_dir();
	*(void **)&open_port = dlsym(lib, "umad_open_port");
	CF_TRUE(open_port);
	CF_EQ(open_port(NULL, 0), -EOPNOTSUPP);
	expect_said("umad_open_port", EOPNOTSUPP, words);
}

const struct cf_check cf_checks[] = {
	{ "+", "a refused call leaves its sentence", 0, table },
	{ "+", "repeated refusals are said now and then", 0, repeated },
	{ "+", "umad says that no port opens", 0, umad },
	{ 0 },
};
