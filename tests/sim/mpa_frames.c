/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Request and Reply as bytes: golden vectors, every cut, every single bit. */
#include "cm/mpa/frame.h"
#include "proto/stream.h"
#include "support/cases.h"
#include "support/check.h"

#define REQ "4d504120494420526571204672616d65"
#define REP "4d504120494420526570204672616d65"
#define RTR(kind) (1u << PROTO_RTR_##kind)

static size_t hex(const char *text, uint8_t *out)
{
	size_t n = 0;
	unsigned v;

	for (; *text; text += 2) {
		CHECK(sscanf(text, "%2x", &v) == 1);
		out[n++] = (uint8_t)v;
	}
	return n;
}

struct golden {
	const char *bytes;
	struct mpa_frame f;
};

/* spec: RFC 5044 7.1.1, RFC 6581 9. */
static const struct golden golden[] = {
	{ REQ "40010000", { .kind = MPA_REQUEST, .rev = 1, .crc = true } },
	{ REQ "500200048004c008", { .kind = MPA_REQUEST, .rev = 2, .crc = true, .enhanced = true,
		.peer_to_peer = true, .rtr = RTR(WRITE) | RTR(READ), .ird = 4, .ord = 8 } },
	{ REP "50020006800880046869", { .kind = MPA_REPLY, .rev = 2, .crc = true, .enhanced = true,
		.peer_to_peer = true, .rtr = RTR(WRITE), .ird = 8, .ord = 4,
		.data = (const uint8_t *)"hi", .len = 2 } },
	{ REQ "1002000400010001", { .kind = MPA_REQUEST, .rev = 2, .enhanced = true, .ird = 1,
		.ord = 1 } },
	{ REP "a0010003616263", { .kind = MPA_REPLY, .rev = 1, .markers = true, .reject = true,
		.data = (const uint8_t *)"abc", .len = 3 } },
};
#define NGOLDEN (sizeof(golden) / sizeof(*golden))

static void same(const struct mpa_frame *a, const struct mpa_frame *b)
{
	CHECK(a->kind == b->kind && a->rev == b->rev && a->markers == b->markers);
	CHECK(a->crc == b->crc && a->reject == b->reject && a->enhanced == b->enhanced);
	CHECK(a->peer_to_peer == b->peer_to_peer && a->rtr == b->rtr);
	CHECK(a->ird == b->ird && a->ord == b->ord && a->len == b->len);
	CHECK(!a->len || !memcmp(a->data, b->data, a->len));
}

static void golden_vectors(void)
{
	for (size_t i = 0; i < NGOLDEN; i++) {
		uint8_t want[600], got[600];
		size_t n = hex(golden[i].bytes, want);
		struct mpa_frame f;

		CHECK(mpa_frame_build(&golden[i].f, got) == n && !memcmp(got, want, n));
		for (size_t cut = 0; cut < n; cut++)
			CHECK(mpa_frame_parse(golden[i].f.kind, want, cut, &f) == 0);
		CHECK(mpa_frame_parse(golden[i].f.kind, want, n, &f) == (int)n);
		same(&f, &golden[i].f);
		CHECK(mpa_frame_parse(!golden[i].f.kind, want, n, &f) == -EPROTO);
	}
}

/* The result of one flipped bit of a fixed part, computed a second time in another way. */
static int expect(const uint8_t *p, const uint8_t *key, bool reply, size_t whole)
{
	size_t pd = (size_t)p[18] << 8 | p[19];

	if (memcmp(p, key, 16) || pd > 512 || (p[17] != 1 && p[17] != 2))
		return -EPROTO;
	if (p[17] == 2 && p[16] & 0x10 && pd < 4 && (reply ? !(p[16] & 0x20) : true))
		return -EPROTO;
	return 20 + pd <= whole ? (int)(20 + pd) : 0;
}

static void every_bit(void)
{
	for (size_t i = 0; i < NGOLDEN; i++) {
		uint8_t key[16], p[600];
		size_t n = hex(golden[i].bytes, p);
		struct mpa_frame f;

		hex(golden[i].f.kind == MPA_REQUEST ? REQ : REP, key);
		for (size_t bit = 0; bit < 8 * n; bit++) {
			int r, want;

			p[bit / 8] ^= (uint8_t)(1u << bit % 8);
			want = expect(p, key, golden[i].f.kind == MPA_REPLY, n);
			r = mpa_frame_parse(golden[i].f.kind, p, n, &f);
			CHECK_MSG(r == want, "vector %zu bit %zu: %d, wanted %d", i, bit, r, want);
			p[bit / 8] ^= (uint8_t)(1u << bit % 8);
		}
	}
}

/* A wrong key is seen at its first wrong byte, a wrong length before anything of it came. */
static void early(void)
{
	uint8_t p[600];
	struct mpa_frame f;

	hex(REQ "40010000", p);
	for (size_t k = 0; k < 16; k++) {
		p[k] ^= 0x80;
		CHECK(mpa_frame_parse(MPA_REQUEST, p, k, &f) == 0);
		CHECK(mpa_frame_parse(MPA_REQUEST, p, k + 1, &f) == -EPROTO);
		p[k] ^= 0x80;
	}
	hex(REQ "40010201", p);
	CHECK(mpa_frame_parse(MPA_REQUEST, p, 19, &f) == 0);
	CHECK(mpa_frame_parse(MPA_REQUEST, p, 20, &f) == -EPROTO);
	hex(REQ "40010200", p);
	CHECK(mpa_frame_parse(MPA_REQUEST, p, 531, &f) == 0);
	CHECK(mpa_frame_parse(MPA_REQUEST, p, 532, &f) == 532 && f.len == 512);
	hex(REQ "50020003", p);
	CHECK(mpa_frame_parse(MPA_REQUEST, p, 20, &f) == -EPROTO);
	hex(REP "30020000", p);
	CHECK(mpa_frame_parse(MPA_REPLY, p, 20, &f) == 20 && f.reject && f.len == 0);
}

static void liberties(void)
{
	uint8_t p[600];
	struct mpa_frame f;

	/* Reserved bits, R in a Request, S of revision 1 mean nothing. */
	hex(REQ "7f010000", p);
	CHECK(mpa_frame_parse(MPA_REQUEST, p, 20, &f) == 20);
	CHECK(!f.reject && !f.enhanced && f.crc && !f.markers);
	/* Nor do kinds of RTR without peer-to-peer. */
	hex(REQ "100200044003c005", p);
	CHECK(mpa_frame_parse(MPA_REQUEST, p, 24, &f) == 24);
	CHECK(!f.peer_to_peer && f.rtr == 0 && f.ird == 3 && f.ord == 5);
	hex(REQ "10020004ffffffff", p);
	CHECK(mpa_frame_parse(MPA_REQUEST, p, 24, &f) == 24);
	CHECK(f.peer_to_peer && f.rtr == (RTR(WRITE) | RTR(READ) | RTR(SEND)));
	CHECK(f.ird == 0x3fff && f.ord == 0x3fff);
	/* Revision 2 may do without the enhanced form. */
	hex(REQ "40020002abcd", p);
	CHECK(mpa_frame_parse(MPA_REQUEST, p, 22, &f) == 22 && !f.enhanced && f.len == 2);
}

static const struct test_case cases[] = {
	{ "-", "golden vectors at every cut", golden_vectors },
	{ "-", "every bit of every vector", every_bit },
	{ "-", "bytes that cannot become a frame are refused early", early },
	{ "-", "bits that must not matter", liberties },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}
