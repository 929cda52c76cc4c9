/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sends, immediate data and Writes in. A TCP stream is in order, so a conforming peer's segments
 * are too: MO and MSN must be the next ones. Keys are looked up for each segment, so that nothing
 * lands after a deregistration that came between two of them.
 */
#include "proto/iwarp/place.h"

#include "engine/complete.h"
#include "engine/mw.h"

#include <string.h>

bool iwp_scatter(struct iwp_qp *q, const struct iwp_rx *rx, struct iovec *iov, int n)
{
	struct ut_stage *st = rx->stage;

	if (!rx->len)
		return true;
	if (rx->last)
		n = ut_stage_tail(iov, n);
	if (rx->shared)
		return ut_stage_store_user(st, rx->shared, rx->len, iov, n) == (ssize_t)rx->len;
	if (st->pages_checked_at && rx->len >= IWP_TAKE)
		return ut_stage_scatter_user(st, rx->off, iov, n) == (ssize_t)rx->len;
	if (rx->len >= IWP_TAKE && q->port->ops->take(q->s, rx->off, iov, n, rx->len))
		return true;
	return ut_stage_scatter(st, rx->off, iov, n) == (ssize_t)rx->len;
}

enum eng_verdict iwp_remote_right(struct iwp_qp *q, uint32_t stag, uint64_t to, uint32_t len,
				  unsigned need, struct eng_mkey **ret_mk, uint64_t *ret_off)
{
	enum eng_verdict v = eng_mkey_remote(q->port->dev, q->qp->pd, q->qp, stag, to, len, need,
					     ret_mk, ret_off);

	return v == ENG_V_RX_BOUNDS && to + len < to ? ENG_V_RX_WRAP : v;
}

enum eng_verdict iwp_remote(struct iwp_qp *q, uint32_t stag, uint64_t to, uint32_t len,
			    unsigned need, struct iovec *iov, int *ret_n)
{
	struct eng_mkey *mk;
	uint64_t off;
	enum eng_verdict v = iwp_remote_right(q, stag, to, len, need, &mk, &off);

	if (v)
		return v;
	*ret_n = eng_mkey_iov(mk, off, len, iov, IWP_IOV - 1);
	return *ret_n < 0 ? ENG_V_RX_BOUNDS : ENG_OK;
}

static enum eng_verdict take_receive(struct iwp_qp *q)
{
	if (!q->have_rwqe)
		q->have_rwqe = eng_recv_take(q->qp, q->rwqe);
	return q->have_rwqe ? ENG_OK : ENG_V_RX_NO_BUFFER;
}

static void receive_done(struct iwp_qp *q, struct eng_cqe *e)
{
	q->have_rwqe = false;
	q->rx_off = 0;
	q->written = 0;
	eng_recv_done(q->qp, q->qp->recv_cq, q->rwqe->wr_id, e);
}

static enum eng_verdict place(struct iwp_qp *q, const struct iwp_rx *rx)
{
	struct eng_pd *pd = q->qp->srq ? q->qp->srq->pd : q->qp->pd;
	struct ut_stage *st = rx->stage;
	struct iovec iov[IWP_IOV];
	int n;

	if (!rx->len)
		return ENG_OK;
	n = eng_sge_iov(pd, q->rwqe->sge, (int)q->rwqe->num_sge, q->rx_off, rx->len, true, iov,
			IWP_IOV - 1);
	if (n < 0)
		return (enum eng_verdict)-n;
	/* A small message of its own. */
	if (rx->last && !q->rx_off && st->pages_checked_at && !rx->shared)
		return ut_stage_scatter_user(st, rx->off, iov, n) == (ssize_t)rx->len
			       ? ENG_OK : ENG_V_LOC_FAULT;
	return iwp_scatter(q, rx, iov, n) ? ENG_OK : ENG_V_LOC_FAULT;
}

/* A Send does not tell whether a Write went before it; the sender's verbs always count one. */
static enum eng_verdict immediate(struct iwp_qp *q, const struct iwp_rx *rx)
{
	struct eng_cqe e = { .opcode = IBV_WC_RECV_RDMA_WITH_IMM, .wc_flags = IBV_WC_WITH_IMM,
			     .byte_len = (uint32_t)q->written,
			     .solicited = !!(rx->shape->flags & WIRE_IWF_SE) };

	memcpy(&e.imm, rx->data + 4, 4);
	receive_done(q, &e);
	return ENG_OK;
}

static enum eng_verdict send_ends(struct iwp_qp *q, const struct iwp_rx *rx)
{
	struct eng_cqe e = { .opcode = IBV_WC_RECV, .byte_len = (uint32_t)q->rx_off,
			     .solicited = !!(rx->shape->flags & WIRE_IWF_SE) };

	if (rx->shape->flags & WIRE_IWF_INV) {
		e.wc_flags = IBV_WC_WITH_INV;
		e.imm = wire_get_DDPUntagged_inv_stag(rx->h);
		if (eng_mkey_invalidate(q->qp, e.imm) != ENG_OK)
			return ENG_V_RX_INV_STAG;
	}
	receive_done(q, &e);
	return ENG_OK;
}

/* Segments of a message have one opcode and one STag to invalidate (RFC 5041 4.3). */
static bool same_message(struct iwp_qp *q, const struct iwp_rx *rx)
{
	uint32_t inv = wire_get_DDPUntagged_inv_stag(rx->h);

	if (!q->rx_off) {
		q->rx_opcode = rx->opcode;
		q->rx_inv = inv;
	}
	return q->rx_opcode == rx->opcode && q->rx_inv == inv;
}

enum eng_verdict iwp_take_send(struct iwp_qp *q, const struct iwp_rx *rx)
{
	enum eng_verdict v;

	if (wire_get_DDPUntagged_msn(rx->h) != q->rx_msn0)
		return ENG_V_RX_MSN;
	v = take_receive(q);
	if (v)
		return v;
	if (wire_get_DDPUntagged_mo(rx->h) != (uint32_t)q->rx_off)
		return ENG_V_RX_MO;
	if (!same_message(q, rx))
		return ENG_V_RX_OPCODE;
	if (rx->shape->len != WIRE_IW_VARIES) {
		v = immediate(q, rx);
	} else {
		if (q->rx_off + rx->len > q->rwqe->length)
			return ENG_V_RX_TOO_LONG;
		v = place(q, rx);
		if (v)
			return v;
		q->rx_off += rx->len;
		if (rx->last)
			v = send_ends(q, rx);
	}
	if (!v && rx->last)
		q->rx_msn0++;
	return v;
}

enum eng_verdict iwp_take_write(struct iwp_qp *q, const struct iwp_rx *rx)
{
	struct iovec iov[IWP_IOV];
	enum eng_verdict v;
	int n;

	if (q->write_over)
		q->written = 0;
	q->write_over = rx->last;
	/* For an empty segment neither STag nor TO is checked (RFC 5041 7.1). */
	if (!rx->len)
		return ENG_OK;
	if (!(q->qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_WRITE))
		return ENG_V_RX_DISABLED;
	v = iwp_remote(q, wire_get_DDPTagged_stag(rx->h), wire_get_DDPTagged_to(rx->h), rx->len,
		       IBV_ACCESS_REMOTE_WRITE, iov, &n);
	if (v)
		return v;
	q->written += rx->len;
	return iwp_scatter(q, rx, iov, n) ? ENG_OK : ENG_V_RX_FAULT;
}
