/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ibv_wr_* calls. Entries are built in place in the send queue; the lock
 * that serialises posting is held from wr_start to wr_complete or wr_abort.
 * After an error within a batch wr_complete refuses all of it, as the manual demands; the engine checks the
 * entries there.
 */
#include "abi/verbs/qp_ex.h"

#include "engine/post.h"
#include "engine/qp.h"
#include "engine/refuse.h"

#include <stddef.h>
#include <string.h>

#define OPS_UD (IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM)
#define OPS_UC                                                                            \
	(OPS_UD | IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM |        \
	 IBV_QP_EX_WITH_BIND_MW | IBV_QP_EX_WITH_LOCAL_INV)
#define OPS_RC                                                                            \
	(OPS_UC | IBV_QP_EX_WITH_RDMA_READ | IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP |          \
	 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD | IBV_QP_EX_WITH_SEND_WITH_INV)

uint64_t vrb_legal_ops(enum ibv_qp_type type)
{
	switch (type) {
	case IBV_QPT_RC:
	case IBV_QPT_XRC_SEND:
		return OPS_RC;
	case IBV_QPT_UC:
		return OPS_UC;
	case IBV_QPT_UD:
		return OPS_UD;
	default:
		return 0;
	}
}

/* The first error of a batch is the one that wr_complete reports. */
static void fail(struct ibv_qp_ex *pub, int rc)
{
	struct eng_qp *qp = vrb_of(pub, vrb_qp)->qp;

	if (!qp->wr_error)
		qp->wr_error = rc;
	vrb_of(pub, vrb_qp)->cur = NULL;
}

/* Returns the next entry, or NULL if the batch has failed already. */
static struct eng_swqe *begin(struct ibv_qp_ex *pub, enum ibv_wr_opcode op)
{
	struct vrb_qp *qp = vrb_of(pub, vrb_qp);
	struct eng_swqe *w = eng_batch_next(qp->qp);

	qp->cur = w;
	if (!w)
		return NULL;
	w->wr_id = pub->wr_id;
	w->flags = (uint8_t)(pub->wr_flags & ~(unsigned)IBV_SEND_INLINE);
	w->opcode = (uint8_t)op;
	return w;
}

static void remote(struct eng_swqe *w, uint32_t rkey, uint64_t addr)
{
	w->rkey = rkey;
	w->remote_addr = addr;
}

static void wr_send(struct ibv_qp_ex *qp)
{
	begin(qp, IBV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *qp, __be32 imm)
{
	struct eng_swqe *w = begin(qp, IBV_WR_SEND_WITH_IMM);

	if (w)
		w->imm = imm;
}

static void wr_send_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
	struct eng_swqe *w = begin(qp, IBV_WR_SEND_WITH_INV);

	if (w)
		w->imm = rkey;
}

static void wr_rdma_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
	struct eng_swqe *w = begin(qp, IBV_WR_RDMA_WRITE);

	if (w)
		remote(w, rkey, addr);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, __be32 imm)
{
	struct eng_swqe *w = begin(qp, IBV_WR_RDMA_WRITE_WITH_IMM);

	if (w) {
		remote(w, rkey, addr);
		w->imm = imm;
	}
}

static void wr_rdma_read(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
	struct eng_swqe *w = begin(qp, IBV_WR_RDMA_READ);

	if (w)
		remote(w, rkey, addr);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t compare,
			      uint64_t swap)
{
	struct eng_swqe *w = begin(qp, IBV_WR_ATOMIC_CMP_AND_SWP);

	if (w) {
		remote(w, rkey, addr);
		w->atomic.compare_add = compare;
		w->atomic.swap = swap;
	}
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t add)
{
	struct eng_swqe *w = begin(qp, IBV_WR_ATOMIC_FETCH_AND_ADD);

	if (w) {
		remote(w, rkey, addr);
		w->atomic.compare_add = add;
	}
}

static void wr_local_inv(struct ibv_qp_ex *qp, uint32_t rkey)
{
	struct eng_swqe *w = begin(qp, IBV_WR_LOCAL_INV);

	if (w)
		w->imm = rkey;
}

static void wr_bind_mw(struct ibv_qp_ex *qp, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct eng_swqe *w = begin(qp, IBV_WR_BIND_MW);

	if (!w)
		return;
	w->bind.mw = vrb_of(mw, vrb_mw)->mk;
	w->bind.key = rkey;
	w->bind.info = *info;
	w->bind.mr = info->mr ? vrb_of(info->mr, vrb_mr)->mk : NULL;
}

/* Operations that the queue pair was not created for: refused at wr_complete. */
static void refuse(struct ibv_qp_ex *qp)
{
	fail(qp, eng_refuse_qp(vrb_of(qp, vrb_qp)->qp, ENG_R_WR_UNASKED));
}

static void no_send_imm(struct ibv_qp_ex *qp, __be32 imm)
{
	refuse(qp);
}

static void no_key(struct ibv_qp_ex *qp, uint32_t rkey)
{
	refuse(qp);
}

static void no_rdma(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr)
{
	refuse(qp);
}

static void no_write_imm(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, __be32 imm)
{
	refuse(qp);
}

static void no_cmp_swp(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t compare,
		       uint64_t swap)
{
	refuse(qp);
}

static void no_fetch_add(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, uint64_t add)
{
	refuse(qp);
}

static void no_bind(struct ibv_qp_ex *qp, struct ibv_mw *mw, uint32_t rkey,
		    const struct ibv_mw_bind_info *info)
{
	refuse(qp);
}

static void no_tso(struct ibv_qp_ex *qp, void *hdr, uint16_t hdr_sz, uint16_t mss)
{
	refuse(qp);
}

static void no_atomic_write(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t addr, const void *data)
{
	refuse(qp);
}

static void wr_set_ud_addr(struct ibv_qp_ex *qp, struct ibv_ah *pub, uint32_t qpn, uint32_t qkey)
{
	struct eng_swqe *w = vrb_of(qp, vrb_qp)->cur;
	struct eng_ah *ah = vrb_of(pub, vrb_ah)->ah;

	if (!w)
		return;
	w->ud.av = ah->av;
	w->ud.pd = ah->pd;
	w->ud.qpn = qpn;
	w->ud.qkey = qkey;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *qp, uint32_t srqn)
{
	struct eng_swqe *w = vrb_of(qp, vrb_qp)->cur;

	if (w)
		w->srqn = srqn;
}

static void wr_set_sge_list(struct ibv_qp_ex *pub, size_t n, const struct ibv_sge *sg)
{
	struct vrb_qp *qp = vrb_of(pub, vrb_qp);
	struct eng_swqe *w = qp->cur;

	if (!w)
		return;
	if (n > qp->qp->cap.max_send_sge) {
		fail(pub, eng_refuse_qp(qp->qp, ENG_R_SEND_SGES));
		return;
	}
	w->num_sge = (uint8_t)n;
	memcpy(w->sge, sg, n * sizeof(*sg));
}

static void wr_set_sge(struct ibv_qp_ex *qp, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sg = { .addr = addr, .length = length, .lkey = lkey };

	wr_set_sge_list(qp, 1, &sg);
}

static void wr_set_inline_data_list(struct ibv_qp_ex *pub, size_t n, const struct ibv_data_buf *v)
{
	struct vrb_qp *qp = vrb_of(pub, vrb_qp);
	struct eng_swqe *w = qp->cur;
	size_t room = qp->qp->cap.max_inline_data;
	uint8_t *p;

	if (!w)
		return;
	p = eng_swqe_inline(w);
	w->length = 0;
	for (size_t i = 0; i < n; i++) {
		if (v[i].length > room) {
			fail(pub, eng_refuse_qp(qp->qp, ENG_R_SEND_INLINE));
			return;
		}
		memcpy(p, v[i].addr, v[i].length);
		p += v[i].length;
		room -= v[i].length;
		w->length += v[i].length;
	}
	w->num_sge = 0;
	w->flags |= IBV_SEND_INLINE;
}

static void wr_set_inline_data(struct ibv_qp_ex *qp, void *addr, size_t length)
{
	const struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(qp, length ? 1 : 0, &buf);
}

static void wr_start(struct ibv_qp_ex *pub) UT_NO_TSA
{
	struct vrb_qp *qp = vrb_of(pub, vrb_qp);

	if (!vrb_live(pub->qp_base.context))
		return; /* the builders find no entry in qp->cur; wr_complete returns EIO */
	eng_batch_begin(qp->qp);
	qp->cur = NULL;
}

static int wr_complete(struct ibv_qp_ex *pub) UT_NO_TSA
{
	struct vrb_qp *qp = vrb_of(pub, vrb_qp);
	int rc, keep = errno;

	if (!vrb_live(pub->qp_base.context))
		return EIO;
	rc = eng_batch_end(qp->qp, true);
	errno = keep;
	return -rc;
}

static void wr_abort(struct ibv_qp_ex *pub) UT_NO_TSA
{
	struct vrb_qp *qp = vrb_of(pub, vrb_qp);

	if (!vrb_live(pub->qp_base.context))
		return;
	qp->cur = NULL;
	eng_batch_end(qp->qp, false);
}

/* rdma-core 44 and later have the method wr_flush after wr_atomic_write in struct ibv_qp_ex. The headers that this library is
 * built with may be older, so the place is computed. The arguments of wr_flush are not read: it refuses. */
static void fill_flush(struct ibv_qp_ex *qp)
{
	void (*no)(struct ibv_qp_ex *) = refuse;
	const size_t at = offsetof(struct ibv_qp_ex, wr_atomic_write) + sizeof(qp->wr_atomic_write);

	memcpy((char *)vrb_of(qp, vrb_qp) + at, &no, sizeof(no));
}

#define PICK(flag, yes, no) ((ops & IBV_QP_EX_WITH_##flag) ? (yes) : (no))

void vrb_fill_qp_ex(struct ibv_qp_ex *qp, enum ibv_qp_type type, uint64_t ops)
{
	qp->wr_send = PICK(SEND, wr_send, refuse);
	qp->wr_send_imm = PICK(SEND_WITH_IMM, wr_send_imm, no_send_imm);
	qp->wr_send_inv = PICK(SEND_WITH_INV, wr_send_inv, no_key);
	qp->wr_rdma_write = PICK(RDMA_WRITE, wr_rdma_write, no_rdma);
	qp->wr_rdma_write_imm = PICK(RDMA_WRITE_WITH_IMM, wr_rdma_write_imm, no_write_imm);
	qp->wr_rdma_read = PICK(RDMA_READ, wr_rdma_read, no_rdma);
	qp->wr_atomic_cmp_swp = PICK(ATOMIC_CMP_AND_SWP, wr_atomic_cmp_swp, no_cmp_swp);
	qp->wr_atomic_fetch_add = PICK(ATOMIC_FETCH_AND_ADD, wr_atomic_fetch_add, no_fetch_add);
	qp->wr_local_inv = PICK(LOCAL_INV, wr_local_inv, no_key);
	qp->wr_bind_mw = PICK(BIND_MW, wr_bind_mw, no_bind);
	qp->wr_send_tso = no_tso;
	qp->wr_atomic_write = no_atomic_write;
	fill_flush(qp);
	qp->wr_set_ud_addr = wr_set_ud_addr;
	qp->wr_set_xrc_srqn = wr_set_xrc_srqn;
	qp->wr_set_sge = wr_set_sge;
	qp->wr_set_sge_list = wr_set_sge_list;
	qp->wr_set_inline_data = wr_set_inline_data;
	qp->wr_set_inline_data_list = wr_set_inline_data_list;
	qp->wr_start = wr_start;
	qp->wr_complete = wr_complete;
	qp->wr_abort = wr_abort;
}
