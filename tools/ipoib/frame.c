/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "frame.h"

#include <string.h>

#include "util/ip.h"
#include "wire/ipoib_fields.h"

/* Signatures of MGIDs (RFC 4391, 4), in a transient group of link-local scope (IBTA 4.1.1). */
#define SIGNATURE_V4 0x401b
#define SIGNATURE_V6 0x601b

#define FLAG_RC 0x80  /* RFC 4755, 3.1 */

bool hw_has_rc(const uint8_t hw[HW_LEN])
{
	return wire_get_IPOIB_ADDR_flags(hw) & FLAG_RC;
}

void hw_make(uint8_t hw[HW_LEN], uint32_t qpn, const uint8_t gid[16], bool has_rc)
{
	memset(hw, 0, HW_LEN);
	wire_set_IPOIB_ADDR_flags(hw, has_rc ? FLAG_RC : 0);
	wire_set_IPOIB_ADDR_qpn(hw, qpn);
	wire_set_IPOIB_ADDR_gid(hw, gid);
}

static bool is_broadcast(const uint8_t ip[16])
{
	static const uint8_t all[4] = { 0xff, 0xff, 0xff, 0xff };

	return ut_ip_is_v4(ip) && !memcmp(ip + 12, all, 4);
}

void frame_mgid(const uint8_t group[16], uint16_t pkey, uint8_t mgid[16])
{
	bool v4 = ut_ip_is_v4(group);

	memset(mgid, 0, 16);
	mgid[0] = 0xff;
	mgid[1] = 0x12;
	wire_put16(mgid + 2, v4 ? SIGNATURE_V4 : SIGNATURE_V6);
	wire_put16(mgid + 4, pkey);
	if (!v4)
		memcpy(mgid + 6, group + 6, 10);	/* the group's low 80 bits */
	else
		memcpy(mgid + 12, group + 12, 4);
	if (v4 && !is_broadcast(group))
		mgid[12] &= 0x0f;			/* its low 28 bits */
}

/* --- IP --- */

static const uint8_t *packet_of(const uint8_t *frame)
{
	return frame + WIRE_IPOIB_LEN;
}

static unsigned type_of(const uint8_t *frame, size_t len)
{
	unsigned type = len >= WIRE_IPOIB_LEN ? (unsigned)wire_get_IPOIB_type(frame) : 0;

	if (type == WIRE_IPOIB_IPV4 && len >= WIRE_IPOIB_LEN + WIRE_IPV4_LEN)
		return type;
	if (type == WIRE_IPOIB_IPV6 && len >= WIRE_IPOIB_LEN + WIRE_IPV6_LEN)
		return type;
	return type == WIRE_IPOIB_ARP && len >= WIRE_IPOIB_LEN + WIRE_ARP_LEN ? type : 0;
}

bool frame_wrap(uint8_t *frame, size_t len)
{
	unsigned version = len > WIRE_IPOIB_LEN ? packet_of(frame)[0] >> 4 : 0;

	memset(frame, 0, WIRE_IPOIB_LEN);
	wire_set_IPOIB_type(frame, version == 4 ? WIRE_IPOIB_IPV4 : WIRE_IPOIB_IPV6);
	return version == 4 || version == 6;
}

bool frame_destination(const uint8_t *frame, size_t len, uint8_t ret[16])
{
	unsigned type = type_of(frame, len);

	if (type == WIRE_IPOIB_IPV4)
		ut_ip_set_v4(ret, wire_get_IPV4_destination(packet_of(frame)));
	else if (type == WIRE_IPOIB_IPV6)
		memcpy(ret, wire_get_IPV6_destination(packet_of(frame)), 16);
	return type == WIRE_IPOIB_IPV4 || type == WIRE_IPOIB_IPV6;
}

bool frame_source(const uint8_t *frame, size_t len, uint8_t ret[16])
{
	unsigned type = type_of(frame, len);

	if (type == WIRE_IPOIB_IPV4)
		ut_ip_set_v4(ret, wire_get_IPV4_source(packet_of(frame)));
	else if (type == WIRE_IPOIB_IPV6)
		memcpy(ret, wire_get_IPV6_source(packet_of(frame)), 16);
	return type == WIRE_IPOIB_IPV4 || type == WIRE_IPOIB_IPV6;
}

/* The Internet checksum (RFC 1071), not yet folded. */
static uint32_t sum(uint32_t s, const uint8_t *at, size_t len)
{
	size_t i;

	for (i = 0; i + 1 < len; i += 2)
		s += wire_get16(at + i);
	return len & 1 ? s + ((uint32_t)at[len - 1] << 8) : s;
}

static uint16_t fold(uint32_t s)
{
	while (s >> 16)
		s = (s & 0xffff) + (s >> 16);
	return (uint16_t)~s;
}

/* Over the pseudo-header of RFC 8200, 8.1, and an upper-layer packet; 0 for one whose checksum is right. */
static uint16_t icmp6_checksum(const uint8_t *ip, const uint8_t *body, size_t len)
{
	uint32_t s = sum(0, wire_get_IPV6_source(ip), 32);

	return fold(sum(s + (uint32_t)len + WIRE_IP_ICMPV6, body, len));
}

/* --- address resolution --- */

static size_t build_arp(uint8_t *frame, const struct resolution *r, const uint8_t to[16], const uint8_t to_hw[HW_LEN])
{
	uint8_t *a = frame + WIRE_IPOIB_LEN;

	wire_set_IPOIB_type(frame, WIRE_IPOIB_ARP);
	wire_set_ARP_hardware(a, WIRE_ARP_INFINIBAND);
	wire_set_ARP_protocol(a, WIRE_IPOIB_IPV4);
	wire_set_ARP_hw_len(a, HW_LEN);
	wire_set_ARP_proto_len(a, 4);
	wire_set_ARP_op(a, r->is_answer ? WIRE_ARP_REPLY : WIRE_ARP_REQUEST);
	wire_set_ARP_sender_hw(a, r->hw);
	wire_set_ARP_sender_ip(a, wire_get32(r->sender + 12));
	if (to_hw)
		wire_set_ARP_target_hw(a, to_hw);
	wire_set_ARP_target_ip(a, wire_get32((r->is_answer ? to : r->target) + 12));
	return WIRE_IPOIB_LEN + WIRE_ARP_LEN;
}

static size_t build_nd(uint8_t *frame, const struct resolution *r, const uint8_t to[16])
{
	static const uint8_t any[16];
	uint8_t *ip = frame + WIRE_IPOIB_LEN, *nd = ip + WIRE_IPV6_LEN, *o = nd + WIRE_ND_LEN;

	wire_set_IPOIB_type(frame, WIRE_IPOIB_IPV6);
	wire_set_IPV6_version(ip, 6);
	wire_set_IPV6_length(ip, WIRE_ND_LEN + WIRE_ND_OPTION_LEN);
	wire_set_IPV6_next(ip, WIRE_IP_ICMPV6);
	wire_set_IPV6_hops(ip, 255);
	wire_set_IPV6_source(ip, r->sender);
	wire_set_IPV6_destination(ip, to);
	wire_set_ND_type(nd, r->is_answer ? WIRE_ND_ADVERTISEMENT : WIRE_ND_SOLICITATION);
	wire_set_ND_solicited(nd, r->is_answer && !ut_ip_is_group(to) && memcmp(to, any, 16));
	wire_set_ND_override(nd, r->is_answer);
	wire_set_ND_target(nd, r->target);
	wire_set_ND_OPTION_type(o, r->is_answer ? WIRE_ND_TARGET_HW : WIRE_ND_SOURCE_HW);
	wire_set_ND_OPTION_length(o, WIRE_ND_OPTION_LEN / 8);
	wire_set_ND_OPTION_hw(o, r->hw);
	wire_set_ND_checksum(nd, icmp6_checksum(ip, nd, WIRE_ND_LEN + WIRE_ND_OPTION_LEN));
	return WIRE_IPOIB_LEN + WIRE_IPV6_LEN + WIRE_ND_LEN + WIRE_ND_OPTION_LEN;
}

size_t frame_resolution(uint8_t frame[FRAME_SHORT], const struct resolution *r, const uint8_t to[16], const uint8_t to_hw[HW_LEN])
{
	memset(frame, 0, FRAME_SHORT);
	return ut_ip_is_v4(r->target) ? build_arp(frame, r, to, to_hw) : build_nd(frame, r, to);
}

static bool read_arp(const uint8_t *a, struct resolution *ret)
{
	uint64_t op = wire_get_ARP_op(a);
	uint8_t v4[4];

	if (wire_get_ARP_hardware(a) != WIRE_ARP_INFINIBAND || wire_get_ARP_protocol(a) != WIRE_IPOIB_IPV4 ||
	    wire_get_ARP_hw_len(a) != HW_LEN || wire_get_ARP_proto_len(a) != 4 ||
	    (op != WIRE_ARP_REQUEST && op != WIRE_ARP_REPLY))
		return false;
	ret->is_answer = op == WIRE_ARP_REPLY;
	ret->has_hw = true;
	memcpy(ret->hw, wire_get_ARP_sender_hw(a), HW_LEN);
	wire_put32(v4, (uint32_t)wire_get_ARP_sender_ip(a));
	ut_ip_set_v4(ret->sender, v4);
	ret->is_probe = ut_ip_is_any(ret->sender);
	if (!ret->is_answer)
		wire_put32(v4, (uint32_t)wire_get_ARP_target_ip(a));
	ut_ip_set_v4(ret->target, v4);	/* an answer is about its sender */
	return true;
}

static bool read_options(const uint8_t *o, size_t len, unsigned type, struct resolution *ret)
{
	while (len) {
		size_t part = len >= 2 ? (size_t)wire_get_ND_OPTION_length(o) * 8 : 0;

		if (!part || part > len)
			return false;
		if (wire_get_ND_OPTION_type(o) == type && part >= WIRE_ND_OPTION_LEN) {
			ret->has_hw = true;
			memcpy(ret->hw, wire_get_ND_OPTION_hw(o), HW_LEN);
		}
		o += part;
		len -= part;
	}
	return true;
}

static bool read_nd(const uint8_t *ip, size_t len, struct resolution *ret)
{
	const uint8_t *nd = ip + WIRE_IPV6_LEN;
	size_t body = (size_t)wire_get_IPV6_length(ip);
	unsigned type;

	if (wire_get_IPV6_next(ip) != WIRE_IP_ICMPV6 || body < WIRE_ND_LEN || body > len - WIRE_IPV6_LEN)
		return false;
	type = (unsigned)wire_get_ND_type(nd);
	if ((type != WIRE_ND_SOLICITATION && type != WIRE_ND_ADVERTISEMENT) || wire_get_ND_code(nd) ||
	    wire_get_IPV6_hops(ip) != 255 || icmp6_checksum(ip, nd, body) || ut_ip_is_group(wire_get_ND_target(nd)))
		return false;
	ret->is_answer = type == WIRE_ND_ADVERTISEMENT;
	memcpy(ret->sender, wire_get_IPV6_source(ip), 16);
	memcpy(ret->target, wire_get_ND_target(nd), 16);
	ret->is_probe = ut_ip_is_any(ret->sender);
	return read_options(nd + WIRE_ND_LEN, body - WIRE_ND_LEN, ret->is_answer ? WIRE_ND_TARGET_HW : WIRE_ND_SOURCE_HW, ret);
}

bool frame_read_resolution(const uint8_t *frame, size_t len, struct resolution *ret)
{
	unsigned type = type_of(frame, len);

	memset(ret, 0, sizeof(*ret));
	if (type == WIRE_IPOIB_ARP)
		return read_arp(packet_of(frame), ret);
	return type == WIRE_IPOIB_IPV6 && read_nd(packet_of(frame), len - WIRE_IPOIB_LEN, ret);
}

void frame_solicited_node(const uint8_t ip[16], uint8_t group[16])
{
	static const uint8_t prefix[13] = { 0xff, 0x02, [11] = 1, [12] = 0xff };

	memcpy(group, prefix, sizeof(prefix));
	memcpy(group + 13, ip + 13, 3);
}

/* --- reports of membership --- */

/* Types of IGMP (RFC 2236, 2; RFC 3376, 4) and MLD (RFC 2710, 3; RFC 3810, 5), and of the records in reports of the last
 * version (RFC 3376, 4.2.12). */
enum { IGMP_REPORT1 = 0x12, IGMP_REPORT2 = 0x16, IGMP_LEAVE = 0x17, IGMP_REPORT3 = 0x22 };
enum { MLD_REPORT = 131, MLD_DONE = 132, MLD_REPORT2 = 143 };
enum { IS_INCLUDE = 1, IS_EXCLUDE, TO_INCLUDE, TO_EXCLUDE, ALLOW_NEW, BLOCK_OLD };
enum { RECORD_LEN = 4 }; /* before the group: type, words of auxiliary data, sources */

struct reader {
	void (*each)(void *arg, const uint8_t group[16], bool joins);
	void *arg;
	bool v4;
};

static void tell(const struct reader *r, const uint8_t *group, bool joins)
{
	uint8_t ip[16];

	if (r->v4)
		ut_ip_set_v4(ip, group);
	else
		memcpy(ip, group, 16);
	if (ut_ip_is_group(ip))
		r->each(r->arg, ip, joins);
}

/* A group without sources in mode INCLUDE is left. Which sources are wanted is the host's own filter. */
static bool record_joins(unsigned type, unsigned sources)
{
	return type == IS_EXCLUDE || type == TO_EXCLUDE || type == ALLOW_NEW || sources;
}

static void read_records(const struct reader *r, const uint8_t *at, size_t len, unsigned n)
{
	size_t address = r->v4 ? 4 : 16;

	while (n-- && len >= RECORD_LEN + address) {
		unsigned sources = wire_get16(at + 2);
		size_t part = RECORD_LEN + address + sources * address + at[1] * 4u;

		if (at[0] != BLOCK_OLD)
			tell(r, at + RECORD_LEN, record_joins(at[0], sources));
		if (part > len)
			return;
		at += part;
		len -= part;
	}
}

static void read_igmp(const struct reader *r, const uint8_t *at, size_t len)
{
	if (len < 8)
		return;
	if (at[0] == IGMP_REPORT3)
		read_records(r, at + 8, len - 8, wire_get16(at + 6));
	else if (at[0] == IGMP_REPORT1 || at[0] == IGMP_REPORT2 || at[0] == IGMP_LEAVE)
		tell(r, at + 4, at[0] != IGMP_LEAVE);
}

static void read_mld(const struct reader *r, const uint8_t *at, size_t len)
{
	if (len >= 8 && at[0] == MLD_REPORT2)
		read_records(r, at + 8, len - 8, wire_get16(at + 6));
	else if (len >= 24 && (at[0] == MLD_REPORT || at[0] == MLD_DONE))
		tell(r, at + 8, at[0] == MLD_REPORT);
}

/* MLD has hop-by-hop options with the router alert before it (RFC 2710, 3). */
static void read_ip6(const struct reader *r, const uint8_t *ip, size_t len)
{
	const uint8_t *at = ip + WIRE_IPV6_LEN;
	unsigned next = (unsigned)wire_get_IPV6_next(ip);

	len -= WIRE_IPV6_LEN;
	if (next == WIRE_IP_HOP_OPTIONS && len >= 8 && (at[1] + 1u) * 8 <= len) {
		size_t part = (at[1] + 1u) * 8;

		next = at[0];
		at += part;
		len -= part;
	}
	if (next == WIRE_IP_ICMPV6)
		read_mld(r, at, len);
}

void frame_reports(const uint8_t *frame, size_t len, void (*each)(void *arg, const uint8_t group[16], bool joins), void *arg)
{
	unsigned type = type_of(frame, len);
	const uint8_t *ip = packet_of(frame);
	struct reader r = { each, arg, type == WIRE_IPOIB_IPV4 };
	size_t head;

	len -= WIRE_IPOIB_LEN;
	if (type == WIRE_IPOIB_IPV6)
		read_ip6(&r, ip, len);
	if (type != WIRE_IPOIB_IPV4 || wire_get_IPV4_protocol(ip) != WIRE_IP_IGMP)
		return;
	head = (size_t)wire_get_IPV4_words(ip) * 4;
	if (head >= WIRE_IPV4_LEN && head <= len)
		read_igmp(&r, ip + head, len - head);
}

/* --- errors to the own host --- */

enum { ICMP_UNREACHABLE = 3, ICMP_HOST = 1, ICMP_FRAGMENTATION = 4, ICMP_LEN = 8, ICMP_QUOTED = 8, ICMP_TTL = 64,
       ICMPV6_TOO_BIG = 2, ICMPV6_QUOTED = WIRE_IPV6_LEN + 32 };

/* mtu 0: none is told. */
static size_t unreachable_v4(uint8_t ret[FRAME_SHORT], const uint8_t *ip, size_t len, uint8_t code, unsigned mtu)
{
	size_t head = (size_t)wire_get_IPV4_words(ip) * 4, quoted, n;
	uint8_t *icmp = ret + WIRE_IPV4_LEN;

	if (head < WIRE_IPV4_LEN || head > len)
		return 0;
	quoted = len - head < ICMP_QUOTED ? len : head + ICMP_QUOTED;
	n = WIRE_IPV4_LEN + ICMP_LEN + quoted;
	memset(ret, 0, FRAME_SHORT);
	wire_set_IPV4_version(ret, 4);
	wire_set_IPV4_words(ret, WIRE_IPV4_LEN / 4);
	wire_set_IPV4_length(ret, n);
	wire_set_IPV4_ttl(ret, ICMP_TTL);
	wire_set_IPV4_protocol(ret, WIRE_IP_ICMP);
	/* The kernel takes no packet from an address of its own. */
	wire_set_IPV4_source(ret, wire_get_IPV4_destination(ip));
	wire_set_IPV4_destination(ret, wire_get_IPV4_source(ip));
	wire_set_IPV4_checksum(ret, fold(sum(0, ret, WIRE_IPV4_LEN)));
	icmp[0] = ICMP_UNREACHABLE;
	icmp[1] = code;
	wire_put16(icmp + 6, (uint16_t)mtu);
	memcpy(icmp + ICMP_LEN, ip, quoted);
	wire_put16(icmp + 2, fold(sum(0, icmp, ICMP_LEN + quoted)));
	return n;
}

static size_t too_big_v6(uint8_t ret[FRAME_SHORT], const uint8_t *ip, size_t len, unsigned mtu)
{
	size_t quoted = len < ICMPV6_QUOTED ? len : ICMPV6_QUOTED;
	uint8_t *icmp = ret + WIRE_IPV6_LEN;

	memset(ret, 0, FRAME_SHORT);
	wire_set_IPV6_version(ret, 6);
	wire_set_IPV6_length(ret, ICMP_LEN + quoted);
	wire_set_IPV6_next(ret, WIRE_IP_ICMPV6);
	wire_set_IPV6_hops(ret, ICMP_TTL);
	wire_set_IPV6_source(ret, wire_get_IPV6_destination(ip));
	wire_set_IPV6_destination(ret, wire_get_IPV6_source(ip));
	icmp[0] = ICMPV6_TOO_BIG;
	wire_put16(icmp + 6, (uint16_t)mtu);
	memcpy(icmp + ICMP_LEN, ip, quoted);
	wire_put16(icmp + 2, icmp6_checksum(ret, icmp, ICMP_LEN + quoted));
	return WIRE_IPV6_LEN + ICMP_LEN + quoted;
}

size_t frame_unreachable(uint8_t ret[FRAME_SHORT], const uint8_t *frame, size_t len)
{
	if (type_of(frame, len) != WIRE_IPOIB_IPV4)
		return 0;
	return unreachable_v4(ret, packet_of(frame), len - WIRE_IPOIB_LEN, ICMP_HOST, 0);
}

size_t frame_too_big(uint8_t ret[FRAME_SHORT], const uint8_t *frame, size_t len, unsigned mtu)
{
	unsigned type = type_of(frame, len);

	if (type == WIRE_IPOIB_IPV6)
		return too_big_v6(ret, packet_of(frame), len - WIRE_IPOIB_LEN, mtu);
	if (type != WIRE_IPOIB_IPV4)
		return 0;
	return unreachable_v4(ret, packet_of(frame), len - WIRE_IPOIB_LEN, ICMP_FRAGMENTATION, mtu);
}
