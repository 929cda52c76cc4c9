/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Parser and builder walk the header set of the shape in wire order. */
#include "wire/ib_packet.h"

_Static_assert(sizeof(struct wire_ib_packet) == 96, "the packet on everybody's stack");

/* buf may alias *ret; a copy of the header on the stack may not, and stays in registers. */
static void get_bth(const uint8_t *buf, struct wire_ib_packet *ret)
{
	uint8_t h[WIRE_BTH_LEN];

	memcpy(h, buf, sizeof(h));
	ret->opcode = (uint8_t)wire_get_BTH_opcode(h);
	ret->se = wire_get_BTH_se(h);
	ret->migreq = wire_get_BTH_migreq(h);
	ret->pad = (uint8_t)wire_get_BTH_pad(h);
	ret->tver = (uint8_t)wire_get_BTH_tver(h);
	ret->pkey = (uint16_t)wire_get_BTH_pkey(h);
	ret->fecn = wire_get_BTH_fecn(h);
	ret->becn = wire_get_BTH_becn(h);
	ret->dest_qpn = (uint32_t)wire_get_BTH_dest_qpn(h);
	ret->ack_req = wire_get_BTH_ack_req(h);
	ret->psn = (uint32_t)wire_get_BTH_psn(h);
}

/* Headers of the class, then address headers of requests. Returns the next header. */
static const uint8_t *get_request(const uint8_t *h, unsigned hdrs, struct wire_ib_packet *ret)
{
	if (hdrs & WIRE_H_RDETH) {
		ret->eecn = (uint32_t)wire_get_RDETH_eecn(h);
		h += WIRE_RDETH_LEN;
	}
	if (hdrs & WIRE_H_DETH) {
		ret->qkey = (uint32_t)wire_get_DETH_qkey(h);
		ret->src_qpn = (uint32_t)wire_get_DETH_src_qpn(h);
		h += WIRE_DETH_LEN;
	}
	if (hdrs & WIRE_H_XRCETH) {
		ret->srqn = (uint32_t)wire_get_XRCETH_srqn(h);
		h += WIRE_XRCETH_LEN;
	}
	if (hdrs & WIRE_H_RETH) {
		ret->va = wire_get_RETH_va(h);
		ret->rkey = (uint32_t)wire_get_RETH_rkey(h);
		ret->dma_len = (uint32_t)wire_get_RETH_dma_len(h);
		h += WIRE_RETH_LEN;
	}
	if (hdrs & WIRE_H_AtomicETH) {
		ret->va = wire_get_AtomicETH_va(h);
		ret->rkey = (uint32_t)wire_get_AtomicETH_rkey(h);
		ret->swap_add = wire_get_AtomicETH_swap_add(h);
		ret->compare = wire_get_AtomicETH_compare(h);
		h += WIRE_AtomicETH_LEN;
	}
	return h;
}

/* Headers of responses, then the four bytes of an immediate or a key. */
static void get_rest(const uint8_t *h, unsigned hdrs, struct wire_ib_packet *ret)
{
	if (hdrs & WIRE_H_AETH) {
		ret->syndrome = (uint8_t)wire_get_AETH_syndrome(h);
		ret->msn = (uint32_t)wire_get_AETH_msn(h);
		h += WIRE_AETH_LEN;
	}
	if (hdrs & WIRE_H_AtomicAckETH)
		ret->orig = wire_get_AtomicAckETH_orig(h);
	if (hdrs & WIRE_H_ImmDt)
		memcpy(&ret->imm, h, sizeof(ret->imm));
	if (hdrs & WIRE_H_IETH)
		ret->inv_rkey = (uint32_t)wire_get_IETH_inv_rkey(h);
}

int wire_ib_parse(const uint8_t *buf, size_t len, struct wire_ib_packet *ret)
{
	const struct wire_ib_shape *shape;
	const uint8_t *h = buf + WIRE_BTH_LEN;
	size_t around;

	if (len < WIRE_BTH_LEN + WIRE_ICRC_LEN)
		return WIRE_DROP_SHORT;
	get_bth(buf, ret);
	if (ret->tver)
		return WIRE_DROP_TVER;
	shape = wire_ib_shape(ret->opcode);
	if (!shape->name)
		return WIRE_DROP_OPCODE;
	around = (size_t)shape->hdr_len + ret->pad + WIRE_ICRC_LEN;
	if (len < around)
		return WIRE_DROP_LENGTH;

	ret->shape = shape;
	ret->payload = buf + shape->hdr_len;
	ret->payload_len = (uint32_t)(len - around);
	ret->icrc = buf + len - WIRE_ICRC_LEN;
	if (shape->hdrs) {
		h = get_request(h, shape->hdrs, ret);
		get_rest(h, shape->hdrs, ret);
	}
	return WIRE_OK;
}

static void put_bth(uint8_t *buf, const struct wire_ib_packet *p)
{
	uint8_t h[WIRE_BTH_LEN] = { 0 };

	wire_set_BTH_opcode(h, p->opcode);
	wire_set_BTH_se(h, p->se);
	wire_set_BTH_migreq(h, p->migreq);
	wire_set_BTH_pad(h, p->pad);
	wire_set_BTH_tver(h, p->tver);
	wire_set_BTH_pkey(h, p->pkey);
	wire_set_BTH_fecn(h, p->fecn);
	wire_set_BTH_becn(h, p->becn);
	wire_set_BTH_dest_qpn(h, p->dest_qpn);
	wire_set_BTH_ack_req(h, p->ack_req);
	wire_set_BTH_psn(h, p->psn);
	memcpy(buf, h, sizeof(h));
}

static uint8_t *put_request(uint8_t *h, unsigned hdrs, const struct wire_ib_packet *p)
{
	if (hdrs & WIRE_H_RDETH) {
		wire_put32(h, 0);
		wire_set_RDETH_eecn(h, p->eecn);
		h += WIRE_RDETH_LEN;
	}
	if (hdrs & WIRE_H_DETH) {
		memset(h, 0, WIRE_DETH_LEN);
		wire_set_DETH_qkey(h, p->qkey);
		wire_set_DETH_src_qpn(h, p->src_qpn);
		h += WIRE_DETH_LEN;
	}
	if (hdrs & WIRE_H_XRCETH) {
		wire_put32(h, 0);
		wire_set_XRCETH_srqn(h, p->srqn);
		h += WIRE_XRCETH_LEN;
	}
	if (hdrs & WIRE_H_RETH) {
		wire_set_RETH_va(h, p->va);
		wire_set_RETH_rkey(h, p->rkey);
		wire_set_RETH_dma_len(h, p->dma_len);
		h += WIRE_RETH_LEN;
	}
	if (hdrs & WIRE_H_AtomicETH) {
		wire_set_AtomicETH_va(h, p->va);
		wire_set_AtomicETH_rkey(h, p->rkey);
		wire_set_AtomicETH_swap_add(h, p->swap_add);
		wire_set_AtomicETH_compare(h, p->compare);
		h += WIRE_AtomicETH_LEN;
	}
	return h;
}

static void put_rest(uint8_t *h, unsigned hdrs, const struct wire_ib_packet *p)
{
	if (hdrs & WIRE_H_AETH) {
		wire_set_AETH_syndrome(h, p->syndrome);
		wire_set_AETH_msn(h, p->msn);
		h += WIRE_AETH_LEN;
	}
	if (hdrs & WIRE_H_AtomicAckETH)
		wire_set_AtomicAckETH_orig(h, p->orig);
	if (hdrs & WIRE_H_ImmDt)
		memcpy(h, &p->imm, sizeof(p->imm));
	if (hdrs & WIRE_H_IETH)
		wire_set_IETH_inv_rkey(h, p->inv_rkey);
	if (hdrs & WIRE_H_CNP)
		memset(h, 0, WIRE_CNP_LEN);
}

size_t wire_ib_build(uint8_t *buf, const struct wire_ib_packet *p)
{
	const struct wire_ib_shape *shape = wire_ib_shape(p->opcode);

	if (!shape->name)
		return 0;
	put_bth(buf, p);
	if (shape->hdrs) {
		uint8_t *rest = put_request(buf + WIRE_BTH_LEN, shape->hdrs, p);

		put_rest(rest, shape->hdrs, p);
	}
	return shape->hdr_len;
}

const char *wire_drop_text(int drop)
{
	static const char *const text[WIRE_NR_DROPS] = {
		[WIRE_OK] = "",
#define D(name, sentence) [WIRE_DROP_##name] = sentence,
		WIRE_DROPS(D)
#undef D
	};

	return drop >= 0 && drop < WIRE_NR_DROPS ? text[drop] : "";
}
