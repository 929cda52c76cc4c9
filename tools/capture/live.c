/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "live.h"

#include "wire/cm_fields.h"
#include "wire/ib_link.h"
#include "wire/ib_opcode.h"
#include "wire/iwarp_fields.h"
#include "wire/iwarp_opcode.h"
#include "wire/mpa_fields.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

const char *const live_group_names[LIVE_GROUPS] = {
	"send", "write", "read", "atomic", "ack", "nak", "cm", "terminate", "cnp", "other",
};

struct text {
	char *at;
	size_t left;
};

static void say(struct text *t, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static void say(struct text *t, const char *fmt, ...)
{
	va_list ap;
	int n;

	va_start(ap, fmt);
	n = vsnprintf(t->at, t->left, fmt, ap);
	va_end(ap);
	if (n < 0)
		return;
	if ((size_t)n >= t->left)
		n = t->left ? (int)t->left - 1 : 0;
	t->at += n;
	t->left -= (size_t)n;
}

/* "RC_SEND_ONLY": "RC send only". */
static void say_name(struct text *t, const char *name)
{
	const char *rest = strchr(name, '_');
	bool cls = rest && (rest - name) <= 3;

	for (const char *p = name; *p; p++)
		say(t, "%c", *p == '_' ? ' ' : cls && p < rest ? *p : tolower((unsigned char)*p));
}

/* Fields that are the same in all packets, or are said in other words. */
static bool is_plain(const char *name)
{
	static const char *const plain[] = { "opcode", "tver", "pkey", "migreq", "pad", "syndrome", "ulpdu_len", "tagged",
					     "dv", "rv", "dest_qpn", "aop", "mask", "cmask" };

	if (!strncmp(name, "rsv", 3))
		return true;
	for (size_t i = 0; i < sizeof(plain) / sizeof(plain[0]); i++)
		if (!strcmp(name, plain[i]))
			return true;
	return false;
}

/* Keys and addresses in hex; counts in decimal; single bits by their names, if they are set. */
static void say_field(struct text *t, const struct wire_field *f, const uint8_t *header)
{
	uint64_t v;

	if (is_plain(f->name) || f->width > 64)
		return;
	v = wire_get_bits(header, f->pos, f->width);
	if (f->width == 1) {
		if (v)
			say(t, ", %s", f->name);
		return;
	}
	if (strstr(f->name, "key") || strstr(f->name, "stag") || strstr(f->name, "va") || strstr(f->name, "qpn") ||
	    !strcmp(f->name, "to") || strstr(f->name, "_to") || !strcmp(f->name, "data"))
		say(t, ", %s 0x%" PRIx64, f->name, v);
	else if (v || strstr(f->name, "sn"))
		say(t, ", %s %" PRIu64, f->name, v);
}

static void say_header(struct text *t, const struct wire_header *h, const struct wire_field *fields, const uint8_t *at)
{
	for (unsigned i = 0; i < h->nr; i++)
		say_field(t, &fields[h->first + i], at);
}

/* IBTA table 44, 45. */
static enum live_group say_syndrome(struct text *t, unsigned syndrome)
{
	static const char *const naks[32] = { "PSN sequence error", "invalid request", "remote access error",
					      "remote operational error", "invalid RD request" };
	unsigned low = syndrome & 31;

	if (syndrome >> 5 == 0)
		return LIVE_ACK;
	if (syndrome >> 5 == 1)
		say(t, ", receiver not ready, timer code %u", low);
	else
		say(t, ", NAK: %s", naks[low] ? naks[low] : "reserved code");
	return LIVE_NAK;
}

static enum live_group group_of(uint16_t flags)
{
	return flags & WIRE_F_SEND ? LIVE_SEND : flags & WIRE_F_WRITE ? LIVE_WRITE : flags & WIRE_F_READ ? LIVE_READ :
	       flags & WIRE_F_ATOMIC ? LIVE_ATOMIC : LIVE_ACK;
}

/* A management datagram of the communication manager, behind BTH and DETH. */
static bool say_cm(struct text *t, const uint8_t *mad, uint32_t have)
{
	static const struct {
		uint16_t attribute;
		const char *name;
	} names[] = { { 0x10, "REQ" }, { 0x11, "MRA" }, { 0x12, "REJ" }, { 0x13, "REP" }, { 0x14, "RTU" }, { 0x15, "DREQ" },
		      { 0x16, "DREP" }, { 0x17, "SIDR_REQ" }, { 0x18, "SIDR_REP" }, { 0x19, "LAP" }, { 0x1a, "APR" } };
	unsigned attribute;

	if (have < 24 || mad[1] != 0x07)
		return false;
	attribute = (unsigned)mad[16] << 8 | mad[17];
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (names[i].attribute == attribute) {
			say(t, "CM %s, transaction 0x%" PRIx64, names[i].name, wire_get64(mad + 8));
			return true;
		}
	return false;
}

static enum live_group say_ib(struct text *t, const uint8_t *at, uint32_t have, uint32_t len)
{
	const struct wire_ib_shape *shape;
	enum live_group g = LIVE_OTHER;
	const uint8_t *p = at;
	uint32_t payload;

	if (have < WIRE_BTH_LEN)
		return g;
	shape = wire_ib_shape(at[0]);
	if (!shape->hdr_len || have < shape->hdr_len) {
		say(t, "opcode %u, %" PRIu32 " bytes", at[0], len);
		return g;
	}
	if (wire_get_BTH_dest_qpn(at) == 1 && say_cm(t, at + shape->hdr_len, have - shape->hdr_len))
		return LIVE_CM;
	payload = len > shape->hdr_len + 4u ? len - shape->hdr_len - 4 - (uint32_t)wire_get_BTH_pad(at) : 0;
	say_name(t, shape->name);
	say(t, " to QP 0x%06" PRIx64, wire_get_BTH_dest_qpn(at));
	if (shape->flags & WIRE_F_PAYLOAD)
		say(t, ", %" PRIu32 " bytes", payload);
	g = shape->cls == WIRE_CLASS_CNP ? LIVE_CNP : group_of(shape->flags);
	for (int i = 0; i < WIRE_NR_HDRS; i++) {
		if (!((shape->hdrs | WIRE_H_BTH) & 1u << i))
			continue;
		if (i == WIRE_HDR_AETH && say_syndrome(t, (unsigned)wire_get_AETH_syndrome(p)) == LIVE_NAK)
			g = LIVE_NAK;
		say_header(t, &wire_headers[i], wire_fields, p);
		p += wire_headers[i].length;
	}
	return g;
}

static enum live_group say_mpa(struct text *t, const uint8_t *at, bool request)
{
	say(t, "MPA %s", request ? "Request" : "Reply");
	say_header(t, &wire_mpa_headers[WIRE_HDR_MPA], wire_mpa_fields, at);
	return LIVE_CM;
}

static enum live_group say_iwarp(struct text *t, const uint8_t *at, uint32_t have)
{
	static const enum live_group groups[16] = {
		LIVE_WRITE, LIVE_READ, LIVE_READ, LIVE_SEND, LIVE_SEND, LIVE_SEND, LIVE_SEND, LIVE_TERMINATE, LIVE_SEND,
		LIVE_SEND, LIVE_ATOMIC, LIVE_ATOMIC, LIVE_OTHER, LIVE_OTHER, LIVE_OTHER, LIVE_OTHER,
	};
	/* By opcode: the header behind that of DDP. */
	static const struct {
		uint8_t opcode;
		enum wire_iwarp_hdr hdr;
	} further[] = { { WIRE_IW_READ_REQUEST, WIRE_HDR_ReadRequest }, { WIRE_IW_TERMINATE, WIRE_HDR_Terminate },
			{ WIRE_IW_ATOMIC_REQUEST, WIRE_HDR_AtomicRequest },
			{ WIRE_IW_ATOMIC_RESPONSE, WIRE_HDR_AtomicResponse } };
	bool tagged = have > 3 && wire_get_DDPTagged_tagged(at);
	enum wire_iwarp_hdr hdr = tagged ? WIRE_HDR_DDPTagged : WIRE_HDR_DDPUntagged;
	const struct wire_iwarp_shape *shape;
	uint32_t head = wire_iwarp_headers[hdr].length;
	unsigned opcode;

	if (have < head)
		return LIVE_OTHER;
	opcode = (unsigned)wire_get_DDPTagged_opcode(at);
	shape = wire_iwarp_shape(opcode);
	say_name(t, shape->name ? shape->name : "opcode unknown");
	if (shape->flags & WIRE_IWF_PAYLOAD)
		say(t, ", %" PRIu64 " bytes", wire_get_DDPTagged_ulpdu_len(at) + 2 - head);
	say_header(t, &wire_iwarp_headers[hdr], wire_iwarp_fields, at);
	for (size_t i = 0; i < sizeof(further) / sizeof(further[0]); i++)
		if (further[i].opcode == opcode && have >= head + wire_iwarp_headers[further[i].hdr].length)
			say_header(t, &wire_iwarp_headers[further[i].hdr], wire_iwarp_fields, at + head);
	return groups[opcode];
}

static enum live_group say_link(struct text *t, const uint8_t *data, uint32_t have, uint32_t len)
{
	struct wire_lrh l;
	uint32_t hdr;

	if (wire_lrh_get(data, have, &l) != 0)
		return LIVE_OTHER;
	hdr = l.lnh == WIRE_LNH_GLOBAL ? WIRE_LINK_HDRS_MAX : WIRE_LRH_LEN;
	if (have < hdr || len < hdr + WIRE_VCRC_LEN)
		return LIVE_OTHER;
	say(t, "LIDs %u %u, ", l.slid, l.dlid);
	return say_ib(t, data + hdr, have - hdr, len - hdr - WIRE_VCRC_LEN);
}

void live_text(char *out, size_t size, const uint8_t *data, uint32_t have, uint32_t len, bool lids,
	       enum live_group *ret_group)
{
	struct text t = { out, size };
	bool v4 = have && data[0] >> 4 == 4;
	uint32_t ip = v4 ? 20 : 40;
	uint8_t protocol;

	*out = 0;
	*ret_group = LIVE_OTHER;
	if (lids)
		*ret_group = say_link(&t, data, have, len);
	if (lids || have < ip + 20)
		return;
	protocol = v4 ? data[9] : data[6];
	if (protocol == 17) {
		*ret_group = say_ib(&t, data + ip + 8, have - ip - 8, len - ip - 8);
		return;
	}
	data += ip + 20;
	have -= ip + 20;
	if (have >= WIRE_MPA_LEN && !memcmp(data, wire_mpa_request_key, WIRE_MPA_KEY_LEN))
		*ret_group = say_mpa(&t, data, true);
	else if (have >= WIRE_MPA_LEN && !memcmp(data, wire_mpa_reply_key, WIRE_MPA_KEY_LEN))
		*ret_group = say_mpa(&t, data, false);
	else
		*ret_group = say_iwarp(&t, data, have);
}
