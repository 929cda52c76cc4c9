/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One pass: the rebuilt headers and BTH, with its masked byte, from the stack, chained with the rest
 * of the packet in place.
 */
#include "wire/icrc.h"

#include <string.h>

#include "util/crc.h"
#include "wire/ib_link.h"
#include "wire/ib_packet.h"

enum {
	/* RoCEv2: all ones where the LRH would be. */
	V4_HEAD = WIRE_LRH_LEN + WIRE_IPv4_LEN + WIRE_UDP_LEN,
	V6_HEAD = WIRE_LRH_LEN + WIRE_IPv6_LEN + WIRE_UDP_LEN,
	V4_ID = WIRE_LRH_LEN + WIRE_IPv4_id_OFFSET,
	V4_DF = 0x40,			/* in the byte after the identification */
	BTH_MASKED = WIRE_BTH_fecn_OFFSET,
	IPPROTO_IS_UDP = 17,
	MAX_PACKET = 65535 - WIRE_IPv4_LEN - WIRE_UDP_LEN,
};
_Static_assert((int)V6_HEAD <= (int)sizeof(((struct wire_icrc_flow *)0)->head), "template fits");

void wire_icrc_flow_v4(struct wire_icrc_flow *flow, const uint8_t *src, const uint8_t *dst)
{
	uint8_t *ip = flow->head + WIRE_LRH_LEN;

	flow->kind = WIRE_ICRC_V4;
	flow->head_len = V4_HEAD;
	memset(flow->head, 0, sizeof(flow->head));
	memset(flow->head, 0xff, WIRE_LRH_LEN);
	wire_set_IPv4_version(ip, 4);
	wire_set_IPv4_ihl(ip, WIRE_IPv4_LEN / 4);
	wire_set_IPv4_tos(ip, 0xff);
	wire_set_IPv4_ttl(ip, 0xff);
	wire_set_IPv4_protocol(ip, IPPROTO_IS_UDP);
	wire_set_IPv4_checksum(ip, 0xffff);
	wire_set_IPv4_src(ip, src);
	wire_set_IPv4_dst(ip, dst);
	wire_set_UDP_checksum(ip + WIRE_IPv4_LEN, 0xffff);
}

void wire_icrc_flow_v6(struct wire_icrc_flow *flow, const uint8_t *src, const uint8_t *dst)
{
	uint8_t *ip = flow->head + WIRE_LRH_LEN;

	flow->kind = WIRE_ICRC_V6;
	flow->head_len = V6_HEAD;
	memset(flow->head, 0, sizeof(flow->head));
	memset(flow->head, 0xff, WIRE_LRH_LEN);
	wire_set_IPv6_version(ip, 6);
	wire_set_IPv6_tclass(ip, 0xff);
	wire_set_IPv6_flow_label(ip, 0xfffff);
	wire_set_IPv6_nxt_hdr(ip, IPPROTO_IS_UDP);
	wire_set_IPv6_hop_limit(ip, 0xff);
	wire_set_IPv6_src(ip, src);
	wire_set_IPv6_dst(ip, dst);
	wire_set_UDP_checksum(ip + WIRE_IPv6_LEN, 0xffff);
}

void wire_icrc_flow_local(struct wire_icrc_flow *flow, uint16_t slid, uint16_t dlid, uint8_t sl)
{
	const struct wire_lrh lrh = { .vl = 0xf, .sl = sl, .lnh = WIRE_LNH_LOCAL, .dlid = dlid, .slid = slid };

	*flow = (struct wire_icrc_flow){ .kind = WIRE_ICRC_LOCAL, .head_len = WIRE_LRH_LEN };
	wire_lrh_put(flow->head, WIRE_LRH_LEN, &lrh);
}

void wire_icrc_flow_global(struct wire_icrc_flow *flow, const uint8_t *sgid, const uint8_t *dgid)
{
	struct wire_grh grh = { .ipver = 6, .tclass = 0xff, .flow_label = 0xfffff, .nxt_hdr = WIRE_NXT_HDR_IBA,
				.hop_lmt = 0xff };

	*flow = (struct wire_icrc_flow){ .kind = WIRE_ICRC_GLOBAL, .head_len = WIRE_LINK_HDRS_MAX };
	memset(flow->head, 0xff, WIRE_LRH_LEN);
	memcpy(grh.sgid, sgid, 16);
	memcpy(grh.dgid, dgid, 16);
	wire_grh_put(flow->head + WIRE_LRH_LEN, WIRE_GRH_LEN, &grh);
}

/* FECN, BECN and the reserved bits behind them are one byte. */
static void mask_bth(uint8_t *bth, const uint8_t *ib)
{
	memcpy(bth, ib, WIRE_BTH_LEN);
	bth[BTH_MASKED] = 0xff;
}

static void rebuild_udp(uint8_t *udp, uint16_t sport, uint16_t dport, uint64_t udp_len)
{
	wire_set_UDP_sport(udp, sport);
	wire_set_UDP_dport(udp, dport);
	wire_set_UDP_length(udp, udp_len);
}

/* The headers as the ICRC sees them, up to BTH. Returns their length. */
static size_t rebuild(uint8_t *head, const struct wire_icrc_flow *flow, uint16_t sport,
		      uint16_t dport, uint16_t id, bool df, const uint8_t *ib, size_t len)
{
	const uint64_t ib_len = len + WIRE_ICRC_LEN, udp_len = WIRE_UDP_LEN + ib_len;
	uint8_t *bth = head + flow->head_len, *second = head + WIRE_LRH_LEN;

	memcpy(head, flow->head, sizeof(flow->head));
	switch (flow->kind) {
	case WIRE_ICRC_LOCAL:
		wire_set_LRH_pkt_len(head, (WIRE_LRH_LEN + ib_len) / 4);
		break;
	case WIRE_ICRC_GLOBAL:
		wire_set_GRH_pay_len(second, ib_len);
		break;
	case WIRE_ICRC_V6:
		wire_set_IPv6_pay_len(second, udp_len);
		rebuild_udp(bth - WIRE_UDP_LEN, sport, dport, udp_len);
		break;
	default:
		wire_set_IPv4_total_len(second, WIRE_IPv4_LEN + udp_len);
		wire_set_IPv4_id(second, id);
		wire_set_IPv4_df(second, df);
		rebuild_udp(bth - WIRE_UDP_LEN, sport, dport, udp_len);
	}
	mask_bth(bth, ib);
	return flow->head_len + WIRE_BTH_LEN;
}

uint32_t wire_icrc_compute(const struct wire_icrc_flow *flow, uint16_t sport, uint16_t dport,
			   uint16_t id, bool df, const uint8_t *ib, size_t len)
{
	uint8_t head[sizeof(flow->head) + WIRE_BTH_LEN];
	size_t n = rebuild(head, flow, sport, dport, id, df, ib, len);

	return ut_crc32_two(head, n, ib + WIRE_BTH_LEN, len - WIRE_BTH_LEN);
}

/* The change of the CRC of an IPv4 pseudo header by bit k of the identification. */
static const uint32_t id_bit[16] = {
	0x9b73ead4, 0xed96d3e9, 0x005ca193, 0x00b94326, 0x0172864c, 0x02e50c98,
	0x05ca1930, 0x0b943260, 0x81256527, 0xd93bcc0f, 0x69069e5f, 0xd20d3cbe,
	0x7f6b7f3d, 0xfed6fe7a, 0x26dcfab5, 0x4db9f56a,
};

__attribute__((noinline))
static uint32_t remember(const struct wire_icrc_flow *flow, struct wire_icrc_memo *m, uint16_t sport,
			 uint16_t dport, const uint8_t *ib, size_t len)
{
	uint8_t head[sizeof(flow->head) + WIRE_BTH_LEN];

	rebuild(head, flow, sport, dport, 0, true, ib, len);
	*m = (struct wire_icrc_memo){ .crc = ut_crc32(0, head, flow->head_len),
				      .len = (uint32_t)len, .sport = sport, .dport = dport };
	return m->crc;
}

static inline uint32_t up_to_bth(const struct wire_icrc_flow *flow, struct wire_icrc_memo *m,
				 uint16_t sport, uint16_t dport, const uint8_t *ib, size_t len)
{
	return m->len == len && m->sport == sport && m->dport == dport
		       ? m->crc : remember(flow, m, sport, dport, ib, len);
}

uint32_t wire_icrc_again(const struct wire_icrc_flow *flow, struct wire_icrc_memo *memo, uint16_t sport,
			 uint16_t dport, uint16_t id, const uint8_t *ib, size_t len)
{
	static const uint8_t masked[16] = { [BTH_MASKED] = 0xff };
	uint32_t crc = up_to_bth(flow, memo, sport, dport, ib, len);
	uint8_t few[16];

	for (unsigned bits = flow->kind == WIRE_ICRC_V4 ? id : 0u; bits; bits &= bits - 1)
		crc ^= id_bit[__builtin_ctz(bits)];
	if (len >= sizeof(masked))
		return ut_crc32_or(crc, masked, ib, len);
	memcpy(few, ib, len);
	few[BTH_MASKED] = 0xff;
	return ut_crc32(crc, few, len);
}

void wire_icrc_copy(const struct wire_icrc_flow *flow, struct wire_icrc_memo *memo, uint16_t sport, uint16_t dport,
		    uint16_t id, uint8_t *ib, size_t hdr, const void *payload, size_t n, size_t pad)
{
	uint8_t head[sizeof(flow->head) + WIRE_BTH_LEN], *at = ib + hdr;
	size_t len = hdr + n + pad, m;
	uint32_t crc;

	if (ut_crc_copies_first()) {
		memmove(at, payload, n); /* memcpy() becomes string instructions, slow when unaligned */
		memset(at + n, 0, pad);
		wire_put_icrc(ib + len, wire_icrc_again(flow, memo, sport, dport, id, ib, len));
		return;
	}
	m = rebuild(head, flow, sport, dport, id, true, ib, len);
	crc = ut_crc32_two(head, m, ib + WIRE_BTH_LEN, hdr - WIRE_BTH_LEN);
	crc = ut_crc32_copy(crc, at, payload, n);
	memset(at + n, 0, pad);
	wire_put_icrc(at + n + pad, ut_crc32(crc, at + n, pad));
}

void wire_icrc_fill(const struct wire_icrc_flow *flow, uint16_t sport, uint16_t dport, uint16_t id,
		    bool df, uint8_t *ib, size_t len)
{
	wire_put_icrc(ib + len, wire_icrc_compute(flow, sport, dport, id, df, ib, len));
}

/* Finds the identification that explains the difference between the received and the computed CRC. */
static int solve(const struct wire_icrc_flow *flow, uint32_t diff, size_t len, uint16_t *id)
{
	uint32_t bits;

	if (!diff)
		return WIRE_OK;
	if (flow->kind != WIRE_ICRC_V4)
		return WIRE_DROP_ICRC;

	/* Four header bytes, the first lowest: identification, then flags and fragment offset. */
	bits = ut_crc32_retreat(diff, V4_HEAD - V4_ID + len);
	if (bits >> 16 && bits >> 16 != V4_DF)
		return WIRE_DROP_ICRC;
	*id ^= (uint16_t)((bits & 0xff) << 8 | (bits >> 8 & 0xff));
	return WIRE_OK;
}

static bool has_length(size_t len)
{
	return len >= WIRE_BTH_LEN + WIRE_ICRC_LEN && len <= MAX_PACKET;
}

int wire_icrc_check(const struct wire_icrc_flow *flow, struct wire_icrc_memo *memo, uint16_t sport,
		    uint16_t dport, const uint8_t *ib, size_t len, uint16_t *id)
{
	if (!has_length(len))
		return WIRE_DROP_ICRC;
	len -= WIRE_ICRC_LEN;
	return solve(flow, wire_get_icrc(ib + len) ^
			   wire_icrc_again(flow, memo, sport, dport, *id, ib, len), len, id);
}

/* The headers of an InfiniBand packet as the ICRC sees them, LRH to BTH. Returns their length. */
static size_t mask_link(uint8_t head[WIRE_LINK_HDRS_MAX + WIRE_BTH_LEN], const uint8_t *lrh)
{
	uint8_t *grh = head + WIRE_LRH_LEN;

	if (wire_get_LRH_lnh(lrh) != WIRE_LNH_GLOBAL) {
		memcpy(head, lrh, WIRE_LRH_LEN);
		wire_set_LRH_vl(head, 0xf);
		mask_bth(head + WIRE_LRH_LEN, lrh + WIRE_LRH_LEN);
		return WIRE_LRH_LEN + WIRE_BTH_LEN;
	}
	memset(head, 0xff, WIRE_LRH_LEN);
	memcpy(grh, lrh + WIRE_LRH_LEN, WIRE_GRH_LEN);
	wire_set_GRH_tclass(grh, 0xff);
	wire_set_GRH_flow_label(grh, 0xfffff);
	wire_set_GRH_hop_lmt(grh, 0xff);
	mask_bth(grh + WIRE_GRH_LEN, lrh + WIRE_LINK_HDRS_MAX);
	return WIRE_LINK_HDRS_MAX + WIRE_BTH_LEN;
}

uint32_t wire_icrc_link(const uint8_t *lrh, size_t len)
{
	uint8_t head[WIRE_LINK_HDRS_MAX + WIRE_BTH_LEN];
	size_t n = mask_link(head, lrh);

	return ut_crc32_two(head, n, lrh + n, len - n);
}

void wire_icrc_link_fill(uint8_t *lrh, size_t len)
{
	wire_put_icrc(lrh + len, wire_icrc_link(lrh, len));
}

int wire_icrc_link_check(const uint8_t *lrh, size_t len)
{
	size_t least = WIRE_LRH_LEN + WIRE_BTH_LEN + WIRE_ICRC_LEN;
	struct wire_lrh h;

	if (wire_lrh_get(lrh, len, &h) || h.lnh < WIRE_LNH_LOCAL)
		return WIRE_DROP_ICRC;
	if (len < least + (h.lnh == WIRE_LNH_GLOBAL ? WIRE_GRH_LEN : 0))
		return WIRE_DROP_ICRC;
	len -= WIRE_ICRC_LEN;
	return wire_get_icrc(lrh + len) == wire_icrc_link(lrh, len) ? WIRE_OK : WIRE_DROP_ICRC;
}
