/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Reads and atomics, both roles. The requester opens a sink tag of its own for each, random and
 * valid for that message only: the application's buffers need no remote right, may be many, and
 * a Write cannot reach them. The responder fetches what it sends piece by piece; a request for
 * four gigabytes costs an entry.
 */
#include "proto/iwarp/read.h"

#include "engine/ring.h"
#include "proto/iwarp/end.h"
#include "proto/iwarp/place.h"
#include "proto/iwarp/tx.h"

#include <string.h>

/* --- requester --- */

struct iwp_read *iwp_read_new(struct iwp_qp *q, uint32_t index)
{
	struct iwp_read *rd = &q->rd[(q->rd_head + q->rd_count++) % IWP_RD];

	*rd = (struct iwp_read){ .index = index, .msn = q->read_msn++ };
	do
		rd->stag = (uint32_t)(ut_rng_u64(&q->port->rng) >> 32);
	while (!rd->stag); /* 0 is never given out as an STag */
	return rd;
}

static void read_done(struct iwp_qp *q, const struct iwp_read *rd)
{
	if (rd->index != IWP_NO_WQE)
		((struct eng_swqe *)eng_ring_at(&q->qp->sq, rd->index))->done = 1;
	q->rd_head = (q->rd_head + 1) % IWP_RD;
	q->rd_count--;
	iwp_activate(q); /* requests behind it may have waited for ORD or a fence */
}

static enum eng_verdict place_answer(struct iwp_qp *q, const struct iwp_read *rd,
				     const struct iwp_rx *rx)
{
	struct eng_swqe *w;
	struct iovec iov[IWP_IOV];
	int n;

	if (!rx->len)
		return ENG_OK;
	if (rd->index == IWP_NO_WQE)
		return ENG_V_RESP_BOUNDS;
	w = eng_ring_at(&q->qp->sq, rd->index);
	n = eng_sge_iov(q->qp->pd, w->sge, w->num_sge, rd->got, rx->len, true, iov,
			IWP_IOV - 1);
	if (n < 0)
		return (enum eng_verdict)-n;
	return iwp_scatter(q, rx, iov, n) ? ENG_OK : ENG_V_LOC_FAULT;
}

enum eng_verdict iwp_take_response(struct iwp_qp *q, const struct iwp_rx *rx)
{
	struct iwp_read *rd = &q->rd[q->rd_head];
	enum eng_verdict v;

	if (!q->rd_count || rd->atomic || wire_get_DDPTagged_stag(rx->h) != rd->stag)
		return ENG_V_RESP_STAG;
	if (wire_get_DDPTagged_to(rx->h) != rd->got || rx->len > rd->size - rd->got ||
	    rx->last != (rd->got + rx->len == rd->size))
		return ENG_V_RESP_BOUNDS;
	v = place_answer(q, rd, rx);
	if (v)
		return v;
	rd->got += rx->len;
	if (rx->last)
		read_done(q, rd);
	return ENG_OK;
}

/* The answer passes through the transmit stage, which holds no chunk in work now. */
enum eng_verdict iwp_take_atomic_response(struct iwp_qp *q, const struct iwp_rx *rx)
{
	struct iwp_read *rd = &q->rd[q->rd_head];
	struct eng_swqe *w;
	struct iovec iov[IWP_IOV];
	uint64_t orig;
	int n;

	if (wire_get_DDPUntagged_msn(rx->h) != q->rx_msn3)
		return ENG_V_RX_MSN;
	if (wire_get_DDPUntagged_mo(rx->h))
		return ENG_V_RX_MO;
	if (!q->rd_count || !rd->atomic || wire_get_AtomicResponse_id(rx->data) != rd->stag)
		return ENG_V_RESP_ATOMIC;
	q->rx_msn3++;
	w = eng_ring_at(&q->qp->sq, rd->index);
	orig = wire_get_AtomicResponse_orig(rx->data);
	memcpy(q->port->stage.base, &orig, 8);
	n = eng_sge_iov(q->qp->pd, w->sge, w->num_sge, 0, 8, true, iov, IWP_IOV);
	if (n < 0)
		return (enum eng_verdict)-n;
	if (ut_stage_scatter(&q->port->stage, 0, iov, n) != 8)
		return ENG_V_LOC_FAULT;
	read_done(q, rd);
	return ENG_OK;
}

/* --- responder --- */

static enum eng_verdict new_answer(struct iwp_qp *q, const struct iwp_rx *rx,
				   struct iwp_answer **ret)
{
	if (wire_get_DDPUntagged_msn(rx->h) != q->rx_msn1)
		return ENG_V_RX_MSN;
	if (wire_get_DDPUntagged_mo(rx->h))
		return ENG_V_RX_MO;
	if (q->an_count >= q->par.ird)
		return ENG_V_RX_RD_DEPTH;
	*ret = &q->an[(q->an_head + q->an_count) % IWP_RD];
	**ret = (struct iwp_answer){ .msn = q->rx_msn1 };
	return ENG_OK;
}

static void publish(struct iwp_qp *q)
{
	q->rx_msn1++;
	q->an_count++;
	iwp_activate(q);
}

enum eng_verdict iwp_take_request(struct iwp_qp *q, const struct iwp_rx *rx)
{
	const uint8_t *r = rx->data;
	struct iwp_answer *a;
	enum eng_verdict v = new_answer(q, rx, &a);
	struct eng_mkey *mk;
	uint64_t off;

	if (v)
		return v;
	a->sink_stag = wire_get_ReadRequest_sink_stag(r);
	a->sink_to = wire_get_ReadRequest_sink_to(r);
	a->size = wire_get_ReadRequest_size(r);
	a->src_stag = wire_get_ReadRequest_src_stag(r);
	a->src_to = wire_get_ReadRequest_src_to(r);
	if (a->size) {
		if (!(q->qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_READ))
			return ENG_V_RX_DISABLED;
		v = iwp_remote_right(q, a->src_stag, a->src_to, a->size, IBV_ACCESS_REMOTE_READ,
				     &mk, &off);
	}
	if (!v)
		publish(q);
	return v;
}

/* The top bit of each field adds without its carry (RFC 7306 5.1.1). */
static uint64_t masked_sum(uint64_t a, uint64_t b, uint64_t tops)
{
	return ((a & ~tops) + (b & ~tops)) ^ ((a ^ b) & tops);
}

static uint64_t execute(uint64_t *at, const uint8_t *a)
{
	uint64_t data = wire_get_AtomicRequest_data(a), mask = wire_get_AtomicRequest_mask(a);
	uint64_t cmp = wire_get_AtomicRequest_compare(a), cmask = wire_get_AtomicRequest_cmask(a);
	uint64_t old = __atomic_load_n(at, __ATOMIC_SEQ_CST), new;

	do {
		if (wire_get_AtomicRequest_aop(a) == WIRE_AOP_FETCH_ADD)
			new = masked_sum(old, data, mask);
		else if ((old ^ cmp) & cmask)
			return old;
		else
			new = (old & ~mask) | (data & mask);
	} while (!__atomic_compare_exchange_n(at, &old, new, false, __ATOMIC_SEQ_CST,
					      __ATOMIC_SEQ_CST));
	return old;
}

/* The eight octets that a request names, if the peer has the right to them and their pages are
 * present. */
static enum eng_verdict atomic_word(struct iwp_qp *q, const uint8_t *r, size_t scratch,
				    uint64_t **ret)
{
	struct iovec iov[IWP_IOV];
	uint64_t to = wire_get_AtomicRequest_to(r);
	enum eng_verdict v;
	int n;

	if (to & 7)
		return ENG_V_RX_ALIGN;
	v = iwp_remote(q, wire_get_AtomicRequest_stag(r), to, 8, IBV_ACCESS_REMOTE_ATOMIC, iov,
		       &n);
	if (v)
		return v;
	if (n != 1 || ((uintptr_t)iov[0].iov_base & 7))
		return ENG_V_RX_ALIGN;
	*ret = iov[0].iov_base;
	return ut_stage_word(&q->port->stage, scratch, *ret) ? ENG_OK : ENG_V_RX_FAULT;
}

/* Not executed yet: the answers to earlier Reads show those octets as they were before. */
enum eng_verdict iwp_take_atomic(struct iwp_qp *q, const struct iwp_rx *rx)
{
	unsigned aop = wire_get_AtomicRequest_aop(rx->data);
	struct iwp_answer *a;
	enum eng_verdict v = new_answer(q, rx, &a);
	uint64_t *word;

	if (v)
		return v;
	if (aop != WIRE_AOP_FETCH_ADD && aop != WIRE_AOP_CMP_SWAP)
		return ENG_V_RX_OPCODE;
	if (!(q->qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_ATOMIC))
		return ENG_V_RX_DISABLED;
	v = atomic_word(q, rx->data, 0, &word);
	if (v)
		return v;
	a->atomic = true;
	memcpy(a->request, rx->data, sizeof(a->request));
	publish(q);
	return ENG_OK;
}

/* --- answers out --- */

/* The key has ended since the request was taken; a Terminate names its segment (RFC 7306 8.1). */
static void fail_atomic(struct iwp_qp *q, const struct iwp_answer *a, enum eng_verdict v)
{
	uint8_t h[WIRE_DDPUntagged_LEN];
	struct iwp_rx rx = { .h = h, .shape = wire_iwarp_shape(WIRE_IW_ATOMIC_REQUEST),
			     .opcode = WIRE_IW_ATOMIC_REQUEST };

	iwp_untagged(h, WIRE_IW_ATOMIC_REQUEST, 0, a->msn, 0, true);
	wire_set_DDPUntagged_ulpdu_len(h, sizeof(h) - 2 + WIRE_AtomicRequest_LEN);
	iwp_tx_close(q);
	iwp_fail(q, v, &rx, NULL);
}

/* The request as a Terminate names it: the part that is not answered yet (RFC 5040 4.8). */
static void fail_answer(struct iwp_qp *q, const struct iwp_answer *a, enum eng_verdict v)
{
	uint8_t h[WIRE_DDPUntagged_LEN], r[WIRE_ReadRequest_LEN];
	struct iwp_rx rx = { .h = h, .shape = wire_iwarp_shape(WIRE_IW_READ_REQUEST),
			     .opcode = WIRE_IW_READ_REQUEST };

	iwp_untagged(h, WIRE_IW_READ_REQUEST, 0, a->msn, 0, true);
	wire_set_DDPUntagged_ulpdu_len(h, sizeof(h) - 2 + sizeof(r));
	wire_set_ReadRequest_sink_stag(r, a->sink_stag);
	wire_set_ReadRequest_sink_to(r, a->sink_to + a->off);
	wire_set_ReadRequest_size(r, a->size - a->off);
	wire_set_ReadRequest_src_stag(r, a->src_stag);
	wire_set_ReadRequest_src_to(r, a->src_to + a->off);
	iwp_tx_close(q);
	iwp_fail(q, v, &rx, r);
}

/* 1: a segment is in the chunk; 0: no room; -1: the QP has failed. */
static int answer_segment(struct iwp_qp *q, struct iwp_answer *a)
{
	uint32_t max = q->mulpdu - (WIRE_DDPTagged_LEN - 2), left = a->size - a->off;
	struct iovec iov[IWP_IOV];
	enum eng_verdict v;
	uint32_t n;
	int pieces;
	size_t at;
	uint8_t *h;

	if (!iwp_tx_share(q, WIRE_DDPTagged_LEN, max, left, &n))
		return 0;
	h = iwp_tx_begin(q, &at);
	if (n) {
		/* The key may have ended since the request was taken. */
		v = iwp_remote(q, a->src_stag, a->src_to + a->off, n, IBV_ACCESS_REMOTE_READ, iov,
			       &pieces);
		if (!v && !iwp_tx_gather(q, at, WIRE_DDPTagged_LEN, iov, pieces, n, false))
			v = ENG_V_RX_FAULT;
		if (v) {
			fail_answer(q, a, v);
			return -1;
		}
	}
	iwp_tagged(h, WIRE_IW_READ_RESPONSE, a->sink_stag, a->sink_to + a->off, n == left);
	iwp_tx_end(q, WIRE_DDPTagged_LEN - 2 + n);
	a->off += n;
	return 1;
}

static int atomic_answer(struct iwp_qp *q, const struct iwp_answer *a)
{
	uint32_t ulpdu = WIRE_DDPUntagged_LEN - 2 + WIRE_AtomicResponse_LEN;
	enum eng_verdict v;
	uint64_t *word;
	uint8_t *h;
	size_t at;

	if (!iwp_tx_fits(q, ulpdu))
		return 0;
	h = iwp_tx_begin(q, &at);
	v = atomic_word(q, a->request, at, &word);
	if (v) {
		fail_atomic(q, a, v);
		return -1;
	}
	iwp_untagged(h, WIRE_IW_ATOMIC_RESPONSE, 0, q->resp_msn++, 0, true);
	wire_set_AtomicResponse_id(h + WIRE_DDPUntagged_LEN, wire_get_AtomicRequest_id(a->request));
	wire_set_AtomicResponse_orig(h + WIRE_DDPUntagged_LEN, execute(word, a->request));
	iwp_tx_end(q, ulpdu);
	return 1;
}

bool iwp_answers_run(struct iwp_qp *q, uint32_t budget)
{
	uint32_t before = q->port->sent;

	while (q->an_count && q->port->sent - before < budget) {
		struct iwp_answer *a = &q->an[q->an_head];
		int r = a->atomic ? atomic_answer(q, a) : answer_segment(q, a);

		if (r < 0)
			return false;
		if (r == 0)
			break;
		if (a->atomic || a->off == a->size) {
			q->an_head = (q->an_head + 1) % IWP_RD;
			q->an_count--;
		}
	}
	return true;
}
