/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The extended polling API. start_poll to end_poll belongs to one thread; the
 * polling lock is held between them unless the queue was declared
 * single-threaded. A start_poll without a completion does not hold it.
 */
#include "abi/verbs/cq_ex.h"

#include "engine/cq.h"
#include "engine/refuse.h"

/* The lock is held from one call of the program to another, which the analysis of a single function
 * cannot see. */
static void enter(struct vrb_cq *cq) UT_NO_TSA
{
	if (!cq->single_threaded)
		ut_lock(&cq->polling);
}

static void leave(struct vrb_cq *cq) UT_NO_TSA
{
	if (!cq->single_threaded)
		ut_unlock(&cq->polling);
}

static int found(struct vrb_cq *cq, int rc)
{
	if (rc == 0)
		return ENOENT;
	if (rc < 0)
		return -rc;
	cq->pub.status = cq->cur.status;
	cq->pub.wr_id = cq->cur.wr_id;
	return 0;
}

static int start_poll(struct ibv_cq_ex *pub, struct ibv_poll_cq_attr *attr)
{
	struct vrb_cq *cq = vrb_of(pub, vrb_cq);
	int keep = errno, rc;

	if (!vrb_live(pub->context))
		return EIO;
	if (attr && attr->comp_mask)
		return -eng_refuse(vrb_ctx(pub->context)->dev, ENG_R_CQ_POLL);
	enter(cq);
	rc = found(cq, eng_cq_poll_one(cq->cq, &cq->cur));
	errno = keep;
	if (rc)
		leave(cq);
	return rc;
}

static int next_poll(struct ibv_cq_ex *pub)
{
	struct vrb_cq *cq = vrb_of(pub, vrb_cq);

	return found(cq, eng_cq_take(cq->cq, &cq->cur));
}

static void end_poll(struct ibv_cq_ex *pub)
{
	leave(vrb_of(pub, vrb_cq));
}

static inline const struct eng_cqe *cur(struct ibv_cq_ex *pub)
{
	return &vrb_of(pub, vrb_cq)->cur;
}

#define READ(type, name, member)                          \
	static type read_##name(struct ibv_cq_ex *pub)    \
	{                                                 \
		return (type)cur(pub)->member;            \
	}
READ(enum ibv_wc_opcode, opcode, opcode)
READ(uint32_t, vendor_err, vendor_err)
READ(uint32_t, byte_len, byte_len)
READ(__be32, imm_data, imm)
READ(uint32_t, qp_num, qpn)
READ(uint32_t, src_qp, src_qp)
READ(unsigned int, wc_flags, wc_flags)
READ(uint32_t, slid, slid)
READ(uint8_t, sl, sl)
READ(uint8_t, dlid_path_bits, dlid_path_bits)
READ(uint64_t, completion_ts, ts)
READ(uint64_t, completion_wallclock_ns, wallclock)
#undef READ

/* Fields that no queue is created with. Reading them is against the manual, but must not jump through NULL. */
static uint16_t read_cvlan(struct ibv_cq_ex *pub)
{
	return 0;
}

static uint32_t read_flow_tag(struct ibv_cq_ex *pub)
{
	return 0;
}

static void read_tm_info(struct ibv_cq_ex *pub, struct ibv_wc_tm_info *info)
{
	*info = (struct ibv_wc_tm_info){ 0 };
}

void vrb_fill_cq_ex(struct ibv_cq_ex *cq)
{
	cq->start_poll = start_poll;
	cq->next_poll = next_poll;
	cq->end_poll = end_poll;
	cq->read_opcode = read_opcode;
	cq->read_vendor_err = read_vendor_err;
	cq->read_byte_len = read_byte_len;
	cq->read_imm_data = read_imm_data;
	cq->read_qp_num = read_qp_num;
	cq->read_src_qp = read_src_qp;
	cq->read_wc_flags = read_wc_flags;
	cq->read_slid = read_slid;
	cq->read_sl = read_sl;
	cq->read_dlid_path_bits = read_dlid_path_bits;
	cq->read_completion_ts = read_completion_ts;
	cq->read_completion_wallclock_ns = read_completion_wallclock_ns;
	cq->read_cvlan = read_cvlan;
	cq->read_flow_tag = read_flow_tag;
	cq->read_tm_info = read_tm_info;
}
