/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * iWARP streams and MPA frames built from the rows, against golden vectors, most of them checked by
 * tshark; the rows and opcode shapes.
 */
#include "wire/iwarp_opcode.h"
#include "wire/iwarp_term.h"
#include "wire/mpa_fields.h"
#include "wire/mpa_fpdu.h"
#include "wire_test.h"

static size_t from_hex(const char *text, uint8_t *out, size_t max)
{
	size_t n = 0;
	unsigned byte;

	for (; *text && n < max; text += 2, n++) {
		if (sscanf(text, "%2x", &byte) != 1)
			break;
		out[n] = (uint8_t)byte;
	}
	return n;
}

static void same(const char *id, const uint8_t *got, size_t n, const char *hex)
{
	uint8_t want[1024];
	size_t len = from_hex(hex, want, sizeof(want));

	CHECK(n == len, "%s: %zu octets, not %zu", id, n, len);
	for (size_t i = 0; i < n && i < len; i++)
		if (got[i] != want[i]) {
			CHECK(false, "%s: octet %zu is %02x, not %02x", id, i, got[i], want[i]);
			return;
		}
}

/* --- composing --- */

/* A stream as a sender makes it; the test inserts markers by code of its own. */
struct out {
	uint8_t buf[2048];
	size_t n;
	bool markers;
};

static void put(struct out *o, size_t field, const uint8_t *p, size_t n)
{
	while (n--) {
		if (o->markers && o->n % WIRE_MARKER_INTERVAL == 0) {
			uint8_t m[WIRE_Marker_LEN] = { 0 };

			wire_set_Marker_fpduptr(m, o->n > field ? o->n - field : 0);
			memcpy(o->buf + o->n, m, sizeof(m));
			o->n += sizeof(m);
		}
		o->buf[o->n++] = *p++;
	}
}

/* fpdu: from the length field on, with room for pad. */
static void put_fpdu(struct out *o, uint8_t *fpdu, uint32_t ulpdu)
{
	size_t start = o->n, field = o->markers && start % WIRE_MARKER_INTERVAL == 0 ? start + 4
										      : start;
	uint8_t crc[WIRE_MPA_CRC_LEN];
	uint32_t want = wire_fpdu_len(start, ulpdu, o->markers);

	wire_set_DDPTagged_ulpdu_len(fpdu, ulpdu);
	memset(fpdu + 2 + ulpdu, 0, wire_fpdu_body(ulpdu) - 2 - ulpdu);
	put(o, field, fpdu, wire_fpdu_body(ulpdu));
	if (o->markers && o->n % WIRE_MARKER_INTERVAL == 0) {
		uint8_t m[WIRE_Marker_LEN] = { 0 };

		wire_set_Marker_fpduptr(m, o->n - field);
		memcpy(o->buf + o->n, m, sizeof(m));
		o->n += sizeof(m);
	}
	wire_put_icrc(crc, wire_mpa_crc(o->buf + start, o->n - start));
	memcpy(o->buf + o->n, crc, sizeof(crc));
	o->n += sizeof(crc);
	CHECK(o->n - start == want, "%zu octets at %zu, not %u", o->n - start, start, want);
}

static void control(uint8_t *h, unsigned op)
{
	memset(h, 0, WIRE_DDPUntagged_LEN);
	wire_set_DDPTagged_tagged(h, !!(wire_iwarp_shape(op)->flags & WIRE_IWF_TAGGED));
	wire_set_DDPTagged_last(h, 1);
	wire_set_DDPTagged_dv(h, 1);
	wire_set_DDPTagged_rv(h, 1);
	wire_set_DDPTagged_opcode(h, op);
}

static void tagged(struct out *o, unsigned op, uint32_t stag, uint64_t to, const void *data,
		   uint32_t n)
{
	uint8_t f[1024];

	control(f, op);
	wire_set_DDPTagged_stag(f, stag);
	wire_set_DDPTagged_to(f, to);
	if (n)
		memcpy(f + WIRE_DDPTagged_LEN, data, n);
	put_fpdu(o, f, WIRE_DDPTagged_LEN - 2 + n);
}

static void untagged(struct out *o, unsigned op, uint32_t inv, uint32_t msn, const void *data,
		     uint32_t n)
{
	uint8_t f[1024];

	control(f, op);
	wire_set_DDPUntagged_inv_stag(f, inv);
	wire_set_DDPUntagged_qn(f, wire_iwarp_shape(op)->qn);
	wire_set_DDPUntagged_msn(f, msn);
	if (n)
		memcpy(f + WIRE_DDPUntagged_LEN, data, n);
	put_fpdu(o, f, WIRE_DDPUntagged_LEN - 2 + n);
}

static void read_request(uint8_t *r, uint32_t sink, uint64_t sink_to, uint32_t size, uint32_t src,
			 uint64_t src_to)
{
	wire_set_ReadRequest_sink_stag(r, sink);
	wire_set_ReadRequest_sink_to(r, sink_to);
	wire_set_ReadRequest_size(r, size);
	wire_set_ReadRequest_src_stag(r, src);
	wire_set_ReadRequest_src_to(r, src_to);
}

static void atomic_request(uint8_t *r, unsigned aop, uint32_t id, uint64_t to, uint64_t data,
			   uint64_t mask, uint64_t compare)
{
	memset(r, 0, WIRE_AtomicRequest_LEN);
	wire_set_AtomicRequest_aop(r, aop);
	wire_set_AtomicRequest_id(r, id);
	wire_set_AtomicRequest_stag(r, 0x00abcd01);
	wire_set_AtomicRequest_to(r, to);
	wire_set_AtomicRequest_data(r, data);
	wire_set_AtomicRequest_mask(r, mask);
	wire_set_AtomicRequest_compare(r, compare);
	wire_set_AtomicRequest_cmask(r, UINT64_MAX);
}

#define VECTOR(id, make, hex)                                                                  \
	do {                                                                                   \
		struct out o = { .n = 0 };                                                     \
		make;                                                                          \
		same(id, o.buf, o.n, hex);                                                     \
	} while (0)

static void sends_and_writes(void)
{
	static const uint8_t imm[8] = { [4] = 1, 2, 3, 4 };

	VECTOR("G4", untagged(&o, WIRE_IW_SEND, 0, 1, "hello", 5),
	       "001741430000000000000000000000010000000068656c6c6f000000b990b10c");
	VECTOR("G5", tagged(&o, WIRE_IW_RDMA_WRITE, 1, 0, NULL, 0),
	       "000ec140000000010000000000000000ebd34c5f");
	VECTOR("G6", tagged(&o, WIRE_IW_RDMA_WRITE, 0xabcd01, 0x10000, "ABCD", 4),
	       "0012c14000abcd010000000000010000414243441f65e35e");
	VECTOR("G8", tagged(&o, WIRE_IW_READ_RESPONSE, 0x5501, 0x2000, "ABCD", 4),
	       "0012c14200005501000000000000200041424344fe6c5616");
	VECTOR("G9", untagged(&o, WIRE_IW_SEND_SE_INVALIDATE, 0xabcd01, 2, NULL, 0),
	       "0012414600abcd010000000000000002000000005ebf889d");
	VECTOR("G15", untagged(&o, WIRE_IW_IMMEDIATE_SE, 0, 3, imm, 8),
	       "001a414900000000000000000000000300000000000000000102030469134ee1");
}

static void requests(void)
{
	uint8_t r[WIRE_AtomicRequest_LEN];

	read_request(r, 0x5501, 0x2000, 4, 0xabcd01, 0x10000);
	VECTOR("G7", untagged(&o, WIRE_IW_READ_REQUEST, 0, 1, r, WIRE_ReadRequest_LEN),
	       "002e4141000000000000000100000001000000000000550100000000000020000000000400abcd010000"
	       "000000010000bac10dcc");
	read_request(r, 1, 0, 0, 1, 0);
	VECTOR("G19", untagged(&o, WIRE_IW_READ_REQUEST, 0, 1, r, WIRE_ReadRequest_LEN),
	       "002e41410000000000000001000000010000000000000001000000000000000000000000000000010000"
	       "00000000000027dbd7e7");
	atomic_request(r, WIRE_AOP_FETCH_ADD, 0x11, 0x10000, 5, 0, 0);
	VECTOR("G12", untagged(&o, WIRE_IW_ATOMIC_REQUEST, 0, 2, r, sizeof(r)),
	       "0046414a00000000000000010000000200000000000000000000001100abcd0100000000000100000000"
	       "00000000000500000000000000000000000000000000ffffffffffffffff2689dc52");
	atomic_request(r, WIRE_AOP_CMP_SWAP, 0x12, 0x10008, 0x99, UINT64_MAX, 7);
	VECTOR("G13", untagged(&o, WIRE_IW_ATOMIC_REQUEST, 0, 3, r, sizeof(r)),
	       "0046414a00000000000000010000000300000000000000020000001200abcd0100000000000100080000"
	       "000000000099ffffffffffffffff0000000000000007ffffffffffffffff2fe2c14e");
	wire_set_AtomicResponse_id(r, 0x11);
	wire_set_AtomicResponse_orig(r, 0x1122334455667788);
	VECTOR("G14", untagged(&o, WIRE_IW_ATOMIC_RESPONSE, 0, 1, r, WIRE_AtomicResponse_LEN),
	       "001e414b00000000000000030000000100000000000000111122334455667788d1249cae");
}

/* --- Terminates --- */

static void terminates_built(void)
{
	uint8_t seg[WIRE_DDPUntagged_LEN + WIRE_ReadRequest_LEN], t[WIRE_TERM_MAX];
	struct wire_term term = { .etype = 1, .ddp = seg, .read = seg + WIRE_DDPUntagged_LEN };
	size_t n;

	control(seg, WIRE_IW_READ_REQUEST);
	wire_set_DDPUntagged_ulpdu_len(seg, 46);
	wire_set_DDPUntagged_qn(seg, 1);
	wire_set_DDPUntagged_msn(seg, 1);
	read_request(seg + WIRE_DDPUntagged_LEN, 0x5501, 0x2000, 16, 0x123400, 0x1000);
	n = wire_term_build(t, &term);
	VECTOR("G10", untagged(&o, WIRE_IW_TERMINATE, 0, 1, t, (uint32_t)n),
	       "00464147000000000000000200000001000000000100e000002e41410000000000000001000000010000"
	       "000000005501000000000000200000000010001234000000000000001000f7886818");
	term = (struct wire_term){ .layer = 2, .code = 2 };
	n = wire_term_build(t, &term);
	VECTOR("G11", untagged(&o, WIRE_IW_TERMINATE, 0, 1, t, (uint32_t)n),
	       "0016414700000000000000020000000100000000200200007fe42585");
}

/* No message may be read beyond its end. */
static void terminates_random(void)
{
	uint64_t seed = 7;
	uint8_t *end = wire_fence();
	struct wire_term t;

	for (int i = 0; end && i < 200000; i++) {
		uint64_t r = wire_random(&seed);
		size_t n = r % 64;

		for (size_t k = 0; k < n; k++)
			end[k - n] = (uint8_t)wire_random(&seed);
		if (!wire_term_parse(&t, end - n, n, r >> 63))
			continue;
		CHECK(!t.ddp || (t.ddp >= end - n && t.ddp + WIRE_DDPTagged_LEN <= end), "%zu", n);
		CHECK(!t.read || t.read + WIRE_ReadRequest_LEN <= end, "%zu", n);
	}
}

/* --- markers --- */

static void markers(void)
{
	struct out o = { .markers = true };
	uint8_t data[512];

	for (unsigned i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)i;
	untagged(&o, WIRE_IW_SEND, 0, 1, data, 462);
	CHECK(o.n == 492, "G16: %zu", o.n);
	same("G16 start", o.buf, 28, "0000000001e041430000000000000000000000010000000000010203");
	same("G16 end", o.buf + o.n - 8, 8, "cccd0000e2a93b50");
	memset(data, 0, sizeof(data));
	untagged(&o, WIRE_IW_SEND, 0, 2, data, 24);
	same("G16 second", o.buf + 492, o.n - 492,
	     "002a41430000000000000000000000020000000000000014" "00000000" "00000000000000000000"
	     "00000000000000000000" "84925898");

	o.n = 0;
	untagged(&o, WIRE_IW_SEND, 0, 1, data, 488);
	CHECK(o.n == 520, "G17: %zu", o.n);
	same("G17 start", o.buf, 8, "0000000001fa4143");
	same("G17 end", o.buf + 512, 8, "000001fc38cf64e8");

	o.n = 0;
	untagged(&o, WIRE_IW_SEND, 0, 1, data, 480);
	same("G18 first", o.buf + o.n - 4, 4, "67126e0c");
	CHECK(o.n == 508, "G18: %zu", o.n);
	untagged(&o, WIRE_IW_SEND, 0, 2, "hello", 5);
	same("G18 second", o.buf + 508, o.n - 508,
	     "00174143000000040000000000000000000000020000000068656c6c6f00000057cd95ee");
}

/* --- MPA frames and tables --- */

static void frames(void)
{
	uint8_t f[WIRE_MPA_FRAME_MAX] = { 0 }, *e = f + WIRE_MPA_LEN;

	wire_set_MPA_key(f, wire_mpa_request_key);
	wire_set_MPA_crc(f, 1);
	wire_set_MPA_rev(f, 1);
	same("G1", f, WIRE_MPA_LEN, "4d504120494420526571204672616d6540010000");
	wire_set_MPA_enhanced(f, 1);
	wire_set_MPA_rev(f, 2);
	wire_set_MPA_pd_length(f, WIRE_MPAEnhanced_LEN);
	wire_set_MPAEnhanced_peer_to_peer(e, 1);
	wire_set_MPAEnhanced_ird(e, 4);
	wire_set_MPAEnhanced_rtr_write(e, 1);
	wire_set_MPAEnhanced_rtr_read(e, 1);
	wire_set_MPAEnhanced_ord(e, 8);
	same("G2", f, WIRE_MPA_LEN + 4, "4d504120494420526571204672616d65500200048004c008");
	wire_set_MPA_key(f, wire_mpa_reply_key);
	wire_set_MPA_pd_length(f, WIRE_MPAEnhanced_LEN + 2);
	wire_set_MPAEnhanced_ird(e, 8);
	wire_set_MPAEnhanced_rtr_read(e, 0);
	wire_set_MPAEnhanced_ord(e, 4);
	memcpy(e + 4, "hi", 2);
	same("G3", f, WIRE_MPA_LEN + 6, "4d504120494420526570204672616d6550020006800880046869");
}

/* Rows follow each other without gap or overlap and fill the header. */
static void rows_fill(const struct wire_header *h, unsigned headers, const struct wire_field *f,
		      unsigned fields)
{
	unsigned next = 0;

	for (unsigned i = 0; i < headers; i++) {
		unsigned pos = 0;

		CHECK(h[i].first == next, "%s", h[i].name);
		for (unsigned k = 0; k < h[i].nr; k++, next++) {
			CHECK(f[next].header == i && f[next].pos == pos, "%s.%s at bit %u",
			      h[i].name, f[next].name, pos);
			pos += f[next].width;
		}
		CHECK(pos == h[i].length * 8u, "%s: %u bits", h[i].name, pos);
	}
	CHECK(next == fields, "%u rows", next);
}

static void opcodes(void)
{
	/* First two octets of a last segment, RFC 5040 figure 2. */
	static const char *first[] = { "c140", "4141", "c142", "4143", "4144", "4145", "4146",
				       "4147", "4148", "4149", "414a", "414b" };
	static const uint8_t qn[] = { 0, 1, 0, 0, 0, 0, 0, 2, 0, 0, 1, 3 };

	for (unsigned op = 0; op < 16; op++) {
		const struct wire_iwarp_shape *s = wire_iwarp_shape(op);
		uint8_t h[WIRE_DDPUntagged_LEN];

		CHECK(!!s->name == (op < 12), "%u", op);
		if (op >= 12)
			continue;
		control(h, op);
		same(s->name, h + 2, 2, first[op]);
		CHECK(s->qn == qn[op], "%s: queue %u", s->name, s->qn);
	}
}

int main(void)
{
	sends_and_writes();
	requests();
	terminates_built();
	terminates_random();
	markers();
	frames();
	rows_fill(wire_iwarp_headers, WIRE_NR_IWARP_HDRS, wire_iwarp_fields, wire_nr_iwarp_fields);
	rows_fill(wire_mpa_headers, WIRE_NR_MPA_HDRS, wire_mpa_fields, wire_nr_mpa_fields);
	opcodes();
	return wire_test_end();
}
