/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The extended polling API. start_poll to end_poll belongs to one thread; the
 * polling lock is held between them unless the queue was declared
 * single-threaded. start_poll that finds nothing holds nothing.
 */
#include "abi/verbs/cq_ex.h"

#include "engine/cq.h"

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
		return EINVAL;
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

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *pub)
{
	return cur(pub)->opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *pub)
{
	return cur(pub)->vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *pub)
{
	return cur(pub)->byte_len;
}

static __be32 read_imm_data(struct ibv_cq_ex *pub)
{
	return cur(pub)->imm;
}

static uint32_t read_qp_num(struct ibv_cq_ex *pub)
{
	return cur(pub)->qpn;
}

static uint32_t read_src_qp(struct ibv_cq_ex *pub)
{
	return cur(pub)->src_qp;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *pub)
{
	return cur(pub)->wc_flags;
}

static uint32_t read_slid(struct ibv_cq_ex *pub)
{
	return cur(pub)->slid;
}

static uint8_t read_sl(struct ibv_cq_ex *pub)
{
	return cur(pub)->sl;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *pub)
{
	return cur(pub)->dlid_path_bits;
}

static uint64_t read_completion_ts(struct ibv_cq_ex *pub)
{
	return cur(pub)->ts;
}

static uint64_t read_completion_wallclock_ns(struct ibv_cq_ex *pub)
{
	return cur(pub)->wallclock;
}

/* Fields that no queue of ours is made with: reading them is against the
 * manual, but must not be a jump to nowhere. */
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
