/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shapes against a table of literals, row by row; field rows against their headers. */
#include <stdio.h>

#include "wire/ib_opcode.h"
#include "wire_test.h"

/*
 * Header lengths with BTH, by class; 0 where the class lacks the message.
 * Flags: q request, s response; F M L O first to only; S W R A K kind; i immediate, v invalidate; p
 * payload.
 */
static const struct {
	uint8_t low;
	const char *name;
	uint8_t rc, uc, rd, xrc;
	const char *headers;	/* of RC, after BTH */
	const char *flags;
} rows[] = {
	{ 0x00, "SEND_FIRST",                     12, 12, 24, 16, "",                  "qFSp" },
	{ 0x01, "SEND_MIDDLE",                    12, 12, 24, 16, "",                  "qMSp" },
	{ 0x02, "SEND_LAST",                      12, 12, 24, 16, "",                  "qLSp" },
	{ 0x03, "SEND_LAST_WITH_IMMEDIATE",       16, 16, 28, 20, "ImmDt ",            "qLSip" },
	{ 0x04, "SEND_ONLY",                      12, 12, 24, 16, "",                  "qOSp" },
	{ 0x05, "SEND_ONLY_WITH_IMMEDIATE",       16, 16, 28, 20, "ImmDt ",            "qOSip" },
	{ 0x06, "RDMA_WRITE_FIRST",               28, 28, 40, 32, "RETH ",             "qFWp" },
	{ 0x07, "RDMA_WRITE_MIDDLE",              12, 12, 24, 16, "",                  "qMWp" },
	{ 0x08, "RDMA_WRITE_LAST",                12, 12, 24, 16, "",                  "qLWp" },
	{ 0x09, "RDMA_WRITE_LAST_WITH_IMMEDIATE", 16, 16, 28, 20, "ImmDt ",            "qLWip" },
	{ 0x0a, "RDMA_WRITE_ONLY",                28, 28, 40, 32, "RETH ",             "qOWp" },
	{ 0x0b, "RDMA_WRITE_ONLY_WITH_IMMEDIATE", 32, 32, 44, 36, "RETH ImmDt ",       "qOWip" },
	{ 0x0c, "RDMA_READ_REQUEST",              28,  0, 40, 32, "RETH ",             "qOR" },
	{ 0x0d, "RDMA_READ_RESPONSE_FIRST",       16,  0, 20, 16, "AETH ",             "sFRp" },
	{ 0x0e, "RDMA_READ_RESPONSE_MIDDLE",      12,  0, 16, 12, "",                  "sMRp" },
	{ 0x0f, "RDMA_READ_RESPONSE_LAST",        16,  0, 20, 16, "AETH ",             "sLRp" },
	{ 0x10, "RDMA_READ_RESPONSE_ONLY",        16,  0, 20, 16, "AETH ",             "sORp" },
	{ 0x11, "ACKNOWLEDGE",                    16,  0, 20, 16, "AETH ",             "sOK" },
	{ 0x12, "ATOMIC_ACKNOWLEDGE",             24,  0, 28, 24, "AETH AtomicAckETH ", "sOAK" },
	{ 0x13, "COMPARE_SWAP",                   40,  0, 52, 44, "AtomicETH ",        "qOA" },
	{ 0x14, "FETCH_ADD",                      40,  0, 52, 44, "AtomicETH ",        "qOA" },
	{ 0x16, "SEND_LAST_WITH_INVALIDATE",      16,  0,  0, 20, "IETH ",             "qLSvp" },
	{ 0x17, "SEND_ONLY_WITH_INVALIDATE",      16,  0,  0, 20, "IETH ",             "qOSvp" },
};

static unsigned flags_of(const char *letters)
{
	static const char order[] = "qsFMLOSWRAKivp";
	unsigned flags = 0;

	for (; *letters; letters++)
		flags |= 1u << (strchr(order, *letters) - order);
	return flags;
}

static void check_shape(unsigned opcode, const char *cls, const char *name, unsigned len,
			const char *own, const char *headers, unsigned flags, unsigned qp_types)
{
	const struct wire_ib_shape *s = wire_ib_shape((uint8_t)opcode);
	char want[80], names[160] = "", *p = names;
	unsigned sum = 12;

	snprintf(want, sizeof(want), "%s_%s", cls, name);
	CHECK(s->name && !strcmp(s->name, want), "opcode %02x %s", opcode, want);
	CHECK(s->hdr_len == len, "%s: %u, not %u", want, s->hdr_len, len);
	CHECK(s->flags == flags, "%s: %x, not %x", want, s->flags, flags);
	CHECK(s->qp_types == qp_types, "%s: QP types %x", want, s->qp_types);
	CHECK(s->cls == (opcode & 0xe0), "%s: class %x", want, s->cls);
	for (unsigned i = 0; i < WIRE_NR_HDRS; i++)
		if (s->hdrs & 1u << i) {
			p += snprintf(p, sizeof(names) - (size_t)(p - names), "%s ",
				      wire_headers[i].name);
			sum += wire_headers[i].length;
		}
	snprintf(want, sizeof(want), "%s%s", own, headers);
	CHECK(!strcmp(names, want), "opcode %02x: %s, not %s", opcode, names, want);
	CHECK(sum == len, "opcode %02x: headers make %u", opcode, sum);
}

_Static_assert(WIRE_MSG_SEND_FIRST == 0x00 && WIRE_MSG_SEND_ONLY == 0x04 &&
	       WIRE_MSG_RDMA_WRITE_ONLY_WITH_IMMEDIATE == 0x0b && WIRE_MSG_ACKNOWLEDGE == 0x11 &&
	       WIRE_MSG_FETCH_ADD == 0x14 && WIRE_MSG_SEND_ONLY_WITH_INVALIDATE == 0x17 &&
	       (WIRE_CLASS_XRC | WIRE_MSG_SEND_LAST) == WIRE_XRC_SEND_LAST, "low five bits");

static unsigned check_rows(void)
{
	unsigned seen = 0;

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		unsigned f = flags_of(rows[i].flags), low = rows[i].low;
		int req = rows[i].flags[0] == 'q';

		CHECK(wire_ib_message((uint8_t)(0xa0 | low)) == low, "message %02x", low);
		check_shape(low, "RC", rows[i].name, rows[i].rc, "", rows[i].headers, f, 1 << 0);
		check_shape(0xa0 | low, "XRC", rows[i].name, rows[i].xrc, req ? "XRCETH " : "",
			    rows[i].headers, f, req ? 1 << 5 : 1 << 4);
		seen += 2;
		if (rows[i].uc)
			check_shape(0x20 | low, "UC", rows[i].name, rows[i].uc, "",
				    rows[i].headers, f, 1 << 1);
		if (rows[i].rd)
			check_shape(0x40 | low, "RD", rows[i].name, rows[i].rd,
				    req ? "RDETH DETH " : "RDETH ", rows[i].headers, f, 1 << 3);
		seen += !!rows[i].uc + !!rows[i].rd;
	}
	check_shape(0x64, "UD", "SEND_ONLY", 20, "DETH ", "", flags_of("qOSp"), 1 << 2);
	check_shape(0x65, "UD", "SEND_ONLY_WITH_IMMEDIATE", 24, "DETH ", "ImmDt ",
		    flags_of("qOSip"), 1 << 2);
	check_shape(0x81, "CNP", "NOTIFICATION", 28, "", "CNP ", flags_of("qO"), 0x3f);
	return seen + 3;
}

static void check_unknown(unsigned known)
{
	unsigned named = 0, longest = 0;

	for (unsigned i = 0; i < 256; i++) {
		const struct wire_ib_shape *s = wire_ib_shape((uint8_t)i);

		named += !!s->name;
		CHECK(!s->name == !s->hdr_len, "opcode %02x", i);
		longest = s->hdr_len > longest ? s->hdr_len : longest;
	}
	CHECK(named == known, "%u opcodes, %u rows", named, known);
	CHECK(longest == WIRE_IB_HDRS_MAX, "%u", longest);
	CHECK(!wire_ib_shape(0x80)->name && !wire_ib_shape(0x66)->name, "not RoCEv2");
}

/* Rows follow each other without gap or overlap and fill the header. */
static void check_fields(void)
{
	unsigned next = 0;

	for (unsigned h = 0; h < WIRE_NR_HDRS; h++) {
		unsigned pos = 0;

		CHECK(wire_headers[h].first == next, "%s", wire_headers[h].name);
		for (unsigned i = 0; i < wire_headers[h].nr; i++, next++) {
			const struct wire_field *f = &wire_fields[next];

			CHECK(f->header == h, "%s.%s", wire_headers[h].name, f->name);
			CHECK(f->pos == pos, "%s.%s at bit %u", wire_headers[h].name, f->name, pos);
			pos += f->width;
		}
		CHECK(pos == wire_headers[h].length * 8u, "%s: %u bits", wire_headers[h].name, pos);
	}
	CHECK(next == wire_nr_fields, "%u rows", next);
}

int main(void)
{
	check_fields();
	check_unknown(check_rows());
	return wire_test_end();
}
