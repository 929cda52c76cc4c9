/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Golden vectors of each header, round trips of random packets, truncation at every length. */
#include "wire/ib_packet.h"

#include "wire_test.h"

/*
 * One packet for each header, written out by hand from the layouts named in ib_fields.h: headers,
 * then payload, pad and four bytes instead of the ICRC.
 */
static const struct golden {
	const char *what;
	struct wire_ib_packet p;
	uint8_t len, hdr_len;
	uint8_t bytes[64];
} goldens[] = {
	{ "BTH alone", { .opcode = WIRE_RC_SEND_MIDDLE, .pkey = 0xffff, .dest_qpn = 0x123456,
	  .psn = 0xfedcba, .payload_len = 4 }, 20, 12,
	  { 0x01, 0x00, 0xff, 0xff, 0x00, 0x12, 0x34, 0x56, 0x00, 0xfe, 0xdc, 0xba,
	    'd', 'a', 't', 'a', 1, 2, 3, 4 } },
	{ "BTH, each flag", { .opcode = WIRE_UC_SEND_ONLY, .se = true, .migreq = true, .pad = 3,
	  .pkey = 0x8001, .fecn = true, .becn = true, .dest_qpn = 1, .ack_req = true, .psn = 2,
	  .payload_len = 1 }, 20, 12,
	  { 0x24, 0xf0, 0x80, 0x01, 0xc0, 0x00, 0x00, 0x01, 0x80, 0x00, 0x00, 0x02,
	    'x', 0, 0, 0, 1, 2, 3, 4 } },
	{ "BTH, SE only", { .opcode = WIRE_RC_SEND_ONLY, .se = true }, 16, 12,
	  { 0x04, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4 } },
	{ "BTH, FECN only", { .opcode = WIRE_RC_SEND_ONLY, .fecn = true }, 16, 12,
	  { 0x04, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4 } },
	{ "DETH", { .opcode = WIRE_UD_SEND_ONLY, .pkey = 0xffff, .dest_qpn = 1, .ack_req = true,
	  .psn = 5, .qkey = 0x80010000, .src_qpn = 0xabcdef }, 24, 20,
	  { 0x64, 0x00, 0xff, 0xff, 0x00, 0x00, 0x00, 0x01, 0x80, 0x00, 0x00, 0x05,
	    0x80, 0x01, 0x00, 0x00, 0x00, 0xab, 0xcd, 0xef, 1, 2, 3, 4 } },
	{ "RDETH, DETH", { .opcode = WIRE_RD_SEND_ONLY, .eecn = 0x010203, .qkey = 0x11121314,
	  .src_qpn = 0x212223 }, 28, 24,
	  { 0x44, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x00, 0x01, 0x02, 0x03,
	    0x11, 0x12, 0x13, 0x14, 0x00, 0x21, 0x22, 0x23, 1, 2, 3, 4 } },
	{ "XRCETH", { .opcode = WIRE_XRC_SEND_FIRST, .srqn = 0x424344 }, 20, 16,
	  { 0xa0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x00, 0x42, 0x43, 0x44, 1, 2, 3, 4 } },
	{ "RETH", { .opcode = WIRE_RC_RDMA_READ_REQUEST, .va = 0x0011223344556677, .rkey = 0x89abcdef,
	  .dma_len = 0x80000000 }, 32, 28,
	  { 0x0c, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
	    0x89, 0xab, 0xcd, 0xef, 0x80, 0x00, 0x00, 0x00, 1, 2, 3, 4 } },
	{ "AtomicETH", { .opcode = WIRE_RC_COMPARE_SWAP, .va = 0x0011223344556677,
	  .rkey = 0x89abcdef, .swap_add = 0xa0a1a2a3a4a5a6a7, .compare = 0xc0c1c2c3c4c5c6c7 }, 44, 40,
	  { 0x13, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77,
	    0x89, 0xab, 0xcd, 0xef, 0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7,
	    0xc0, 0xc1, 0xc2, 0xc3, 0xc4, 0xc5, 0xc6, 0xc7, 1, 2, 3, 4 } },
	{ "AETH, AtomicAckETH", { .opcode = WIRE_RC_ATOMIC_ACKNOWLEDGE, .syndrome = 0x1f,
	  .msn = 0x313233, .orig = 0xa0a1a2a3a4a5a6a7 }, 28, 24,
	  { 0x12, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x1f, 0x31, 0x32, 0x33,
	    0xa0, 0xa1, 0xa2, 0xa3, 0xa4, 0xa5, 0xa6, 0xa7, 1, 2, 3, 4 } },
	{ "IETH", { .opcode = WIRE_XRC_SEND_ONLY_WITH_INVALIDATE, .srqn = 1, .inv_rkey = 0x51525354 },
	  24, 20,
	  { 0xb7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0x51, 0x52, 0x53, 0x54, 1, 2, 3, 4 } },
	/* The congestion notification as Annex A17.9.3 and the vendor's published dump have it. */
	{ "CNP", { .opcode = WIRE_CNP_NOTIFICATION, .pkey = 0xffff, .becn = true, .dest_qpn = 0xd2 },
	  32, 28,
	  { 0x81, 0x00, 0xff, 0xff, 0x40, 0x00, 0x00, 0xd2, 0x00, 0x00, 0x00, 0x00,
	    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4 } },
};

/* Compares the fields of the headers that the shape has. */
static void same(const char *what, const struct wire_ib_packet *a, const struct wire_ib_packet *b)
{
	const unsigned h = wire_ib_shape(a->opcode)->hdrs | WIRE_H_BTH;

#define SAME(hdrs, field)                                                                      \
	CHECK(!(h & (hdrs)) || a->field == b->field, "%s, opcode %02x", what, a->opcode)
	SAME(WIRE_H_BTH, opcode);
	SAME(WIRE_H_BTH, se);
	SAME(WIRE_H_BTH, migreq);
	SAME(WIRE_H_BTH, pad);
	SAME(WIRE_H_BTH, tver);
	SAME(WIRE_H_BTH, pkey);
	SAME(WIRE_H_BTH, fecn);
	SAME(WIRE_H_BTH, becn);
	SAME(WIRE_H_BTH, dest_qpn);
	SAME(WIRE_H_BTH, ack_req);
	SAME(WIRE_H_BTH, psn);
	SAME(WIRE_H_BTH, payload_len);
	SAME(WIRE_H_RDETH, eecn);
	SAME(WIRE_H_DETH, qkey);
	SAME(WIRE_H_DETH, src_qpn);
	SAME(WIRE_H_XRCETH, srqn);
	SAME(WIRE_H_RETH | WIRE_H_AtomicETH, va);
	SAME(WIRE_H_RETH | WIRE_H_AtomicETH, rkey);
	SAME(WIRE_H_RETH, dma_len);
	SAME(WIRE_H_AtomicETH, swap_add);
	SAME(WIRE_H_AtomicETH, compare);
	SAME(WIRE_H_AETH, syndrome);
	SAME(WIRE_H_AETH, msn);
	SAME(WIRE_H_AtomicAckETH, orig);
	SAME(WIRE_H_ImmDt, imm);
	SAME(WIRE_H_IETH, inv_rkey);
#undef SAME
}

static void check_golden(const struct golden *g)
{
	struct wire_ib_packet p;
	uint8_t out[64];

	memset(out, 0xaa, sizeof(out));
	CHECK(wire_ib_build(out, &g->p) == g->hdr_len, "%s", g->what);
	CHECK(!memcmp(out, g->bytes, g->hdr_len), "%s", g->what);
	CHECK(out[g->hdr_len] == 0xaa, "%s: wrote behind its headers", g->what);
	CHECK(wire_ib_parse(g->bytes, g->len, &p) == WIRE_OK, "%s", g->what);
	same(g->what, &g->p, &p);
	CHECK(p.payload == g->bytes + g->hdr_len, "%s", g->what);
	CHECK(p.icrc == g->bytes + g->len - 4, "%s", g->what);
	CHECK(p.shape == wire_ib_shape(g->bytes[0]), "%s", g->what);
}

/* Immediate data is four bytes, whatever the byte order of the host. */
static void check_immediate(void)
{
	static const uint8_t bytes[] = { 0x05, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
					 0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4 };
	struct wire_ib_packet p, q = { .opcode = WIRE_RC_SEND_ONLY_WITH_IMMEDIATE };
	uint8_t out[16];

	CHECK(wire_ib_parse(bytes, sizeof(bytes), &p) == WIRE_OK, "immediate");
	CHECK(!memcmp(&p.imm, bytes + 12, 4), "immediate");
	memcpy(&q.imm, bytes + 12, 4);
	CHECK(wire_ib_build(out, &q) == 16 && !memcmp(out, bytes, 16), "immediate");
}

static struct wire_ib_packet random_packet(uint8_t opcode, uint64_t *rnd)
{
	unsigned h = wire_ib_shape(opcode)->hdrs;
	uint64_t noise[sizeof(struct wire_ib_packet) / 8];
	struct wire_ib_packet p;

	for (size_t i = 0; i < sizeof(p) / 8; i++)
		noise[i] = wire_random(rnd);
	memcpy(&p, noise, sizeof(p));
	p.opcode = opcode;
	p.pad &= 3;
	p.tver = 0;
	p.dest_qpn &= 0xffffff;
	p.psn &= 0xffffff;
	p.src_qpn &= 0xffffff;
	p.payload_len %= 5000;
	if (h & (WIRE_H_XRCETH | WIRE_H_RDETH))
		p.srqn &= 0xffffff;
	if (h & WIRE_H_AETH)
		p.msn &= 0xffffff;
	p.se = wire_random(rnd) & 1;
	p.migreq = wire_random(rnd) & 1;
	p.fecn = wire_random(rnd) & 1;
	p.becn = wire_random(rnd) & 1;
	p.ack_req = wire_random(rnd) & 1;
	return p;
}

static void check_round_trips(uint8_t *end, uint64_t *rnd)
{
	for (int i = 0; i < 100 * 256; i++) {
		struct wire_ib_packet p, q;
		size_t len;
		uint8_t *buf;

		if (!wire_ib_shape((uint8_t)i)->name)
			continue;
		p = random_packet((uint8_t)i, rnd);
		len = wire_ib_shape(p.opcode)->hdr_len + p.payload_len + p.pad + 4;
		buf = end - len;
		CHECK(wire_ib_build(buf, &p) == wire_ib_shape(p.opcode)->hdr_len, "%02x", p.opcode);
		CHECK(wire_ib_parse(buf, len, &q) == WIRE_OK, "%02x", p.opcode);
		same("random", &p, &q);
		CHECK(q.payload + q.payload_len + q.pad == q.icrc, "%02x", p.opcode);
	}
}

/* Each prefix of the longest packet of each opcode; the page behind it cannot be read. */
static void check_truncation(uint8_t *end, uint64_t *rnd)
{
	for (int op = 0; op < 256; op++) {
		const struct wire_ib_shape *s = wire_ib_shape((uint8_t)op);
		struct wire_ib_packet p, q;
		uint8_t full[80];

		if (!s->name)
			continue;
		memset(full, 0, sizeof(full));
		p = random_packet((uint8_t)op, rnd);
		wire_ib_build(full, &p);
		for (size_t len = 0; len <= s->hdr_len + 8u; len++) {
			int want = len < 16 ? WIRE_DROP_SHORT :
				   len < s->hdr_len + p.pad + 4u ? WIRE_DROP_LENGTH : WIRE_OK;

			memcpy(end - len, full, len);
			CHECK(wire_ib_parse(end - len, len, &q) == want, "%s cut to %zu", s->name, len);
		}
	}
}

static void check_drops(void)
{
	uint8_t buf[16] = { WIRE_RC_SEND_ONLY };
	struct wire_ib_packet p;

	CHECK(wire_ib_parse(buf, 16, &p) == WIRE_OK && p.payload_len == 0, "empty message");
	buf[1] = 0x30;
	CHECK(wire_ib_parse(buf, 16, &p) == WIRE_DROP_LENGTH, "pad without room");
	for (uint8_t tver = 1; tver < 16; tver++) {
		buf[1] = tver;
		CHECK(wire_ib_parse(buf, 16, &p) == WIRE_DROP_TVER, "TVer %u", tver);
	}
	buf[1] = 0;
	for (int op = 0; op < 256; op++) {
		buf[0] = (uint8_t)op;
		if (!wire_ib_shape((uint8_t)op)->name) {
			CHECK(wire_ib_parse(buf, 16, &p) == WIRE_DROP_OPCODE, "%02x", op);
			p.opcode = (uint8_t)op;
			CHECK(wire_ib_build(buf, &p) == 0, "built %02x", op);
		}
	}
	for (int d = 1; d < WIRE_NR_DROPS; d++)
		CHECK(wire_drop_text(d)[0], "drop %d has no sentence", d);
	CHECK(!wire_drop_text(0)[0] && !wire_drop_text(-1)[0] && !wire_drop_text(99)[0], "no drop");
}

int main(void)
{
	uint8_t *end = wire_fence();
	uint64_t rnd = 42;

	CHECK(end, "no memory");
	if (!end)
		return 1;
	for (size_t i = 0; i < sizeof(goldens) / sizeof(*goldens); i++)
		check_golden(&goldens[i]);
	check_immediate();
	check_round_trips(end, &rnd);
	check_truncation(end, &rnd);
	check_drops();
	return wire_test_end();
}
