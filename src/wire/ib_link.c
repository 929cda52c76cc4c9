/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "wire/ib_link.h"

#include "wire/ib_packet.h"

int wire_lrh_get(const uint8_t *buf, size_t len, struct wire_lrh *ret)
{
	if (len < WIRE_LRH_LEN)
		return WIRE_DROP_LRH;
	*ret = (struct wire_lrh){
		.dlid = (uint16_t)wire_get_LRH_dlid(buf),
		.slid = (uint16_t)wire_get_LRH_slid(buf),
		.pkt_len = (uint16_t)wire_get_LRH_pkt_len(buf),
		.vl = (uint8_t)wire_get_LRH_vl(buf),
		.lver = (uint8_t)wire_get_LRH_lver(buf),
		.sl = (uint8_t)wire_get_LRH_sl(buf),
		.lnh = (uint8_t)wire_get_LRH_lnh(buf),
	};
	return WIRE_OK;
}

size_t wire_lrh_put(uint8_t *buf, size_t room, const struct wire_lrh *lrh)
{
	if (room < WIRE_LRH_LEN)
		return 0;
	memset(buf, 0, WIRE_LRH_LEN);
	wire_set_LRH_vl(buf, lrh->vl);
	wire_set_LRH_lver(buf, lrh->lver);
	wire_set_LRH_sl(buf, lrh->sl);
	wire_set_LRH_lnh(buf, lrh->lnh);
	wire_set_LRH_dlid(buf, lrh->dlid);
	wire_set_LRH_pkt_len(buf, lrh->pkt_len);
	wire_set_LRH_slid(buf, lrh->slid);
	return WIRE_LRH_LEN;
}

/* The GRH must have version 6, an IBA transport as next header, and the length of the packet. */
static int get_grh(struct wire_link_packet *p)
{
	int drop = wire_grh_get(p->ib, p->ib_len, &p->grh);

	if (drop)
		return drop;
	p->ib += WIRE_GRH_LEN;
	p->ib_len -= WIRE_GRH_LEN;
	if (p->grh.ipver != 6 || p->grh.nxt_hdr != WIRE_NXT_HDR_IBA || p->grh.pay_len != p->ib_len)
		return WIRE_DROP_GRH;
	return WIRE_OK;
}

int wire_link_parse(const uint8_t *buf, size_t len, struct wire_link_packet *ret)
{
	int drop = wire_lrh_get(buf, len, &ret->lrh);

	if (drop)
		return drop;
	if (ret->lrh.lver)
		return WIRE_DROP_LVER;
	if (ret->lrh.lnh < WIRE_LNH_LOCAL)
		return WIRE_DROP_LNH;
	if (len != (size_t)ret->lrh.pkt_len * 4)
		return WIRE_DROP_PKTLEN;
	ret->ib = buf + WIRE_LRH_LEN;
	ret->ib_len = len - WIRE_LRH_LEN;
	return ret->lrh.lnh == WIRE_LNH_GLOBAL ? get_grh(ret) : WIRE_OK;
}

size_t wire_link_build(uint8_t *buf, size_t room, const struct wire_link_packet *p)
{
	size_t n = p->lrh.lnh == WIRE_LNH_GLOBAL ? WIRE_LINK_HDRS_MAX : WIRE_LRH_LEN;
	struct wire_lrh lrh = p->lrh;
	struct wire_grh grh = p->grh;

	if (lrh.lnh < WIRE_LNH_LOCAL || lrh.lnh > WIRE_LNH_GLOBAL || room < n || p->ib_len % 4 ||
	    p->ib_len > WIRE_LINK_PACKET_MAX - n)
		return 0;
	lrh.pkt_len = (uint16_t)((n + p->ib_len) / 4);
	wire_lrh_put(buf, room, &lrh);
	if (lrh.lnh == WIRE_LNH_GLOBAL) {
		grh.ipver = 6;
		grh.pay_len = (uint16_t)p->ib_len;
		grh.nxt_hdr = WIRE_NXT_HDR_IBA;
		wire_grh_put(buf + WIRE_LRH_LEN, room - WIRE_LRH_LEN, &grh);
	}
	return n;
}

/*
 * The remainder of one byte modulo x^16 + x^12 + x^3 + x + 1 (0x100b), reflected as the CRC-32 is:
 * the sum of the remainders of its bits.
 */
#define R1(b)                                                                                  \
	(((b) & 1 ? 0x1ba1 : 0) ^ ((b) & 2 ? 0x3742 : 0) ^ ((b) & 4 ? 0x6e84 : 0) ^            \
	 ((b) & 8 ? 0xdd08 : 0) ^ ((b) & 16 ? 0x1a01 : 0) ^ ((b) & 32 ? 0x3402 : 0) ^          \
	 ((b) & 64 ? 0x6804 : 0) ^ ((b) & 128 ? 0xd008 : 0))
#define R4(b) R1(b), R1((b) + 1), R1((b) + 2), R1((b) + 3)
#define R16(b) R4(b), R4((b) + 4), R4((b) + 8), R4((b) + 12)
#define R64(b) R16(b), R16((b) + 16), R16((b) + 32), R16((b) + 48)

static const uint16_t remainders[256] = { R64(0), R64(64), R64(128), R64(192) };

uint16_t wire_vcrc(const uint8_t *buf, size_t len)
{
	uint32_t state = 0xffff;

	for (; len; len--)
		state = state >> 8 ^ remainders[(state ^ *buf++) & 0xff];
	return (uint16_t)~state;
}

void wire_vcrc_fill(uint8_t *buf, size_t len)
{
	wire_put_vcrc(buf + len, wire_vcrc(buf, len));
}

int wire_vcrc_check(const uint8_t *buf, size_t len)
{
	if (len < WIRE_VCRC_LEN)
		return WIRE_DROP_VCRC;
	len -= WIRE_VCRC_LEN;
	return wire_get_vcrc(buf + len) == wire_vcrc(buf, len) ? WIRE_OK : WIRE_DROP_VCRC;
}
