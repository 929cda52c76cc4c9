/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Responder: READ and atomics, and requests that come a second time.
 *
 * Each READ or atomic takes one of max_dest_rd_atomic entries, oldest first.
 * An entry outlives its answer, so that a repeated READ is read again and a
 * repeated atomic is answered from memory, never executed again (9.7.5.1.5).
 */
#include "proto/ib/port.h"

static uint32_t depth(const struct ibp_qp *q)
{
	uint32_t n = q->qp->attr.max_dest_rd_atomic;

	return n < IBP_RD_ATOMIC ? n : IBP_RD_ATOMIC;
}

static uint32_t responses(const struct ibp_qp *q, uint32_t len)
{
	return len ? (uint32_t)(((uint64_t)len + q->conn.resp.mtu - 1) / q->conn.resp.mtu) : 1;
}

/* The oldest entry, unless its answer has not left yet. */
static struct ibp_rdres *new_entry(struct ibp_qp *q)
{
	struct ibp_resp *r = &q->conn.resp;
	struct ibp_rdres *e;

	if (!depth(q))
		return NULL;
	e = &r->res[r->res_next % depth(q)];
	return e->used && e->pending && !e->replay ? NULL : e;
}

static void publish(struct ibp_qp *q, struct ibp_rdres *e, uint32_t n)
{
	struct ibp_resp *r = &q->conn.resp;

	r->msn = psn_add(r->msn, 1);
	e->first_psn = e->tx_start = e->tx_psn = r->epsn;
	e->last_psn = e->tx_end = psn_add(r->epsn, n - 1);
	e->msn = r->msn;
	e->used = e->pending = true;
	r->res_used = true;
	r->res_next = (r->res_next + 1) % depth(q);
	r->epsn = psn_add(r->epsn, n);
	/* The answer acknowledges all that came before. */
	r->ack_due = false;
	ibp_activate(q);
}

int ibp_resp_read(struct ibp_qp *q, const struct wire_ib_packet *p)
{
	struct ibp_rdres *e;
	struct eng_mkey *mk;
	uint64_t off;
	int v;

	if (!(q->qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_READ))
		return ENG_V_RX_DISABLED;
	if (p->dma_len > 1u << 31)
		return ENG_V_RX_LENGTH;
	e = new_entry(q);
	if (!e)
		return ENG_V_RX_RD_DEPTH;
	if (p->dma_len) {
		v = eng_mkey_remote(q->port->dev, q->recv.pd, q->qp, p->rkey, p->va, p->dma_len,
				    IBV_ACCESS_REMOTE_READ, &mk, &off);
		if (v != ENG_OK)
			return v;
		ibp_export(q, mk, p->rkey);
	}
	*e = (struct ibp_rdres){ .va = p->va, .rkey = p->rkey, .length = p->dma_len,
				 .tx_bytes = p->dma_len,
				 .pd = q->recv.pd };
	publish(q, e, responses(q, p->dma_len));
	return ENG_OK;
}

static uint64_t execute_atomic(uint64_t *at, const struct wire_ib_packet *p)
{
	uint64_t old = p->compare;

	if (wire_ib_message(p->opcode) == WIRE_MSG_FETCH_ADD)
		return __atomic_fetch_add(at, p->swap_add, __ATOMIC_SEQ_CST);
	__atomic_compare_exchange_n(at, &old, p->swap_add, false, __ATOMIC_SEQ_CST,
				    __ATOMIC_SEQ_CST);
	return old;
}

int ibp_resp_atomic(struct ibp_qp *q, const struct wire_ib_packet *p)
{
	struct ibp_rdres *e;
	struct eng_mkey *mk;
	struct iovec iov[2];
	uint8_t *scratch;
	uint64_t off;
	int v;

	if (!(q->qp->attr.qp_access_flags & IBV_ACCESS_REMOTE_ATOMIC))
		return ENG_V_RX_DISABLED;
	e = new_entry(q);
	if (!e)
		return ENG_V_RX_RD_DEPTH;
	if (p->va & 7)
		return ENG_V_RX_ALIGN;
	v = eng_mkey_remote(q->port->dev, q->recv.pd, q->qp, p->rkey, p->va, 8,
			    IBV_ACCESS_REMOTE_ATOMIC, &mk, &off);
	if (v != ENG_OK)
		return v;
	ibp_export(q, mk, p->rkey);
	if (eng_mkey_iov(mk, off, 8, iov, 2) != 1 || ((uintptr_t)iov[0].iov_base & 7))
		return ENG_V_RX_ALIGN;
	if (!ut_stage_word(&q->port->train.stage, ibp_scratch(q->port, &scratch),
			   iov[0].iov_base))
		return ENG_V_RX_FAULT;
	*e = (struct ibp_rdres){ .atomic = true, .orig = execute_atomic(iov[0].iov_base, p) };
	publish(q, e, 1);
	return ENG_OK;
}

static struct ibp_rdres *find_entry(struct ibp_qp *q, uint32_t psn)
{
	for (uint32_t i = 0; i < depth(q); i++) {
		struct ibp_rdres *e = &q->conn.resp.res[i];

		if (e->used && psn_diff(psn, e->first_psn) >= 0 && psn_diff(psn, e->last_psn) <= 0)
			return e;
	}
	return NULL;
}

static void read_again(struct ibp_qp *q, const struct wire_ib_packet *p)
{
	struct ibp_rdres *e = find_entry(q, p->psn);
	uint32_t end = psn_add(p->psn, responses(q, p->dma_len) - 1);
	uint64_t off;
	bool plain;

	if (!e || e->atomic || p->payload_len || psn_diff(end, e->last_psn) > 0)
		return;
	off = (uint64_t)psn_diff(p->psn, e->first_psn) * q->conn.resp.mtu;
	if (p->rkey != e->rkey || p->va != e->va + off || p->dma_len > e->length - off)
		return;
	/* The first answer could not be fetched, so it was none. */
	plain = q->port->shm.rx && q->port->shm.plain;
	e->plain |= plain;
	/* What has not been sent yet is on its way anyhow. */
	if (e->pending && psn_diff(p->psn, e->tx_psn) >= 0)
		return;
	/* An answer still under way may not become shorter. */
	if (!e->pending || off + p->dma_len > e->tx_bytes) {
		e->tx_end = end;
		e->tx_bytes = (uint32_t)(off + p->dma_len);
	}
	e->tx_start = e->tx_psn = p->psn;
	e->replay |= !e->pending && !plain;
	e->pending = true;
	ibp_activate(q);
}

void ibp_resp_duplicate(struct ibp_qp *q, const struct wire_ib_packet *p)
{
	uint16_t f = p->shape->flags;
	struct ibp_rdres *e;

	if (f & WIRE_F_READ) {
		read_again(q, p);
	} else if (f & WIRE_F_ATOMIC) {
		e = find_entry(q, p->psn);
		if (e && e->atomic && !e->pending) {
			e->pending = e->replay = true;
			e->tx_psn = e->first_psn;
			ibp_activate(q);
		}
	} else if (p->ack_req) {
		ibp_resp_owe(q);
	}
}
