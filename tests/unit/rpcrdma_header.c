/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Transport headers and private data of RPC over RDMA: golden bytes, and bytes that must be refused. */
#include "ulp/rpcrdma/header.h"
#include "ulp/rpcrdma/private.h"

#include "support/cases.h"
#include "support/check.h"

/* xid, version, credits, RDMA_MSG; one read segment; one write chunk of two segments; a reply chunk. */
static const uint8_t golden[] = {
	0xd1, 0xd2, 0xd3, 0xd4, 0, 0, 0, 1, 0, 0, 0, 32, 0, 0, 0, 0,
	0, 0, 0, 1, 0, 0, 0, 0x98, 0xaa, 0xbb, 0xcc, 0xdd, 0, 0, 0x10, 0, 1, 2, 3, 4, 5, 6, 7, 8,
	0, 0, 0, 0,
	0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 7, 0, 0, 0x20, 0, 0, 0, 0, 0, 0xde, 0xad, 0xbe, 0xef,
	0, 0, 0, 9, 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 0,
	0, 0, 0, 0,
	0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 3, 0, 1, 0, 0, 0, 0, 0x7f, 0xff, 0, 0, 0, 0,
};

static struct rpr_header h;

static void read_golden(void)
{
	size_t len;

	CHECK(rpr_header_get(&h, golden, sizeof(golden), &len) == RPR_GOOD && len == sizeof(golden));
	CHECK(h.xid == 0xd1d2d3d4 && h.credits == 32 && h.proc == RPR_MSG);
	CHECK(h.nr_reads == 1 && h.reads[0].position == 0x98 && h.reads[0].segment.handle == 0xaabbccdd);
	CHECK(h.reads[0].segment.length == 0x1000 && h.reads[0].segment.offset == 0x0102030405060708);
	CHECK(h.nr_writes == 1 && h.writes[0].nr == 2 && rpr_chunk_len(&h, h.writes[0]) == 0x2005);
	CHECK(h.segments[1].handle == 9 && h.segments[1].offset == 0x100000000);
	CHECK(h.has_reply && h.reply.nr == 1 && rpr_chunk_len(&h, h.reply) == 0x10000);
}

static void write_golden(void)
{
	uint8_t out[sizeof(golden)];

	rpr_header_init(&h, 0xd1d2d3d4, 32, RPR_MSG);
	CHECK(rpr_header_add_read(&h, 0x98, (struct rpr_segment){ 0xaabbccdd, 0x1000, 0x0102030405060708 }));
	CHECK(rpr_header_add_write(&h, (struct rpr_segment){ 7, 0x2000, 0xdeadbeef }, true));
	CHECK(rpr_header_add_write(&h, (struct rpr_segment){ 9, 5, 0x100000000 }, false));
	CHECK(rpr_header_add_reply(&h, (struct rpr_segment){ 3, 0x10000, 0x7fff00000000 }));
	CHECK(rpr_header_put(&h, out, sizeof(out) - 1) == 0);
	CHECK(rpr_header_put(&h, out, sizeof(out)) == sizeof(out) && !memcmp(out, golden, sizeof(out)));
}

/* RFC 8166, 4.5. */
static void errors(void)
{
	static const uint8_t vers[] = { 0, 0, 0, 5, 0, 0, 0, 1, 0, 0, 0, 8, 0, 0, 0, 4,
					0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1 };
	uint8_t out[sizeof(vers)];
	size_t len;

	CHECK(!rpr_header_get(&h, vers, sizeof(vers), &len) && len == sizeof(vers));
	CHECK(h.proc == RPR_ERROR && h.error == RPR_ERR_VERS && h.low == 1 && h.high == 1);
	CHECK(rpr_header_put(&h, out, sizeof(out)) == sizeof(vers) && !memcmp(out, vers, sizeof(vers)));
	CHECK(rpr_header_get(&h, vers, sizeof(vers) - 1, &len) == RPR_CUT);
	h.error = RPR_ERR_CHUNK;
	CHECK(rpr_header_put(&h, out, sizeof(out)) == 20);
	CHECK(!rpr_header_get(&h, out, 20, &len) && len == 20 && h.error == RPR_ERR_CHUNK);
}

static enum rpr_verdict changed(size_t at, uint32_t word)
{
	uint8_t bad[sizeof(golden)];
	size_t len;

	memcpy(bad, golden, sizeof(bad));
	wire_put32(bad + at, word);
	return rpr_header_get(&h, bad, sizeof(bad), &len);
}

/* One word wrong at a time. */
static void refused(void)
{
	static const struct {
		size_t at;
		uint32_t word;
		enum rpr_verdict want;
	} rows[] = {
		{ 4, 0, RPR_BAD_VERSION }, { 4, 2, RPR_BAD_VERSION },
		{ 12, 2, RPR_BAD_PROC }, { 12, 3, RPR_BAD_PROC }, { 12, 5, RPR_BAD_PROC },
		{ 16, 2, RPR_BAD_WORD }, { 44, 0xffffffff, RPR_BAD_WORD },
		{ 20, 0x99, RPR_BAD_POSITION },
		{ 48, 257, RPR_MANY_SEGMENTS }, { 48, 0xffffffff, RPR_MANY_SEGMENTS },
		{ 48, 200, RPR_CUT },
	};

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		CHECK_MSG(changed(rows[i].at, rows[i].word) == rows[i].want, "row %zu: %d", i,
			  changed(rows[i].at, rows[i].word));
	}
}

/* A header that ends anywhere is refused, and no byte behind its end is read. */
static void cut(void)
{
	size_t len;

	for (size_t n = 0; n < sizeof(golden); n++) {
		uint8_t *exact = malloc(n ? n : 1);

		memcpy(exact, golden, n);
		CHECK(rpr_header_get(&h, exact, n, &len) == (n < 16 ? RPR_SHORT : RPR_CUT));
		free(exact);
	}
}

static void wraps(void)
{
	uint8_t bad[sizeof(golden)];
	size_t len;

	memcpy(bad, golden, sizeof(bad));
	memset(bad + 32, 0xff, 8); /* offset of the read segment */
	CHECK(rpr_header_get(&h, bad, sizeof(bad), &len) == RPR_BAD_SEGMENT);
}

static void too_many(void)
{
	uint8_t *big = calloc(1, 16 + 200 * 24);
	size_t len;

	memcpy(big, golden, 16);
	for (unsigned i = 0; i < 200; i++)
		big[16 + i * 24 + 3] = 1;
	CHECK(rpr_header_get(&h, big, 16 + 200 * 24, &len) == RPR_MANY_READS);
	memset(big + 16, 0, 4);
	for (unsigned i = 0; i < 200; i++) /* empty write chunks */
		memcpy(big + 20 + i * 8, "\0\0\0\1\0\0\0", 8);
	CHECK(rpr_header_get(&h, big, 16 + 200 * 24, &len) == RPR_MANY_WRITES);
	free(big);
}

static void used(void)
{
	read_golden();
	CHECK(rpr_chunk_use(&h, h.writes[0], 0x2003));
	CHECK(h.segments[0].length == 0x2000 && h.segments[1].length == 3);
	CHECK(!rpr_chunk_use(&h, h.writes[0], 0x2004));
	read_golden();
	CHECK(rpr_chunk_use(&h, h.writes[0], 0) && !h.segments[0].length && !h.segments[1].length);
}

/* What Linux 6.1 sends: 4 KiB both ways, remote invalidation. */
static void private_data(void)
{
	static const uint8_t seen[8] = { 0xf6, 0xab, 0x0e, 0x18, 1, 1, 3, 3 };
	uint8_t out[8], longer[56] = { 0 };
	struct rpr_private p;

	memcpy(longer, seen, sizeof(seen));
	CHECK(rpr_private_get(&p, longer, sizeof(longer)));
	CHECK(p.send_size == 4096 && p.receive_size == 4096 && p.remote_inv);
	rpr_private_put(out, &p);
	CHECK(!memcmp(out, seen, sizeof(seen)));
	p = (struct rpr_private){ 1 << 20, 10, false };
	rpr_private_put(out, &p);
	CHECK(out[5] == 0 && out[6] == 255 && out[7] == 0);
	longer[4] = 2;
	CHECK(!rpr_private_get(&p, longer, sizeof(longer)) && p.send_size == 1024 && !p.remote_inv);
	CHECK(!rpr_private_get(&p, seen, 7) && !rpr_private_get(&p, NULL, 0) && p.receive_size == 1024);
}

/* Each verdict has its row, and what can be answered is told apart from what ends the connection. */
static void rules(void)
{
	for (int v = 0; v < RPR_NR_VERDICTS; v++)
		CHECK(rpr_rules[v].sentence && rpr_rules[v].answer <= RPR_ERR_CHUNK);
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "RFC8166-4.3", "a golden header is read", read_golden },
		{ "RFC8166-4.3", "and written", write_golden },
		{ "RFC8166-4.5", "errors", errors },
		{ "RFC8166-4.5", "one wrong word", refused },
		{ "RFC8166-4.3", "a cut header", cut },
		{ "RFC8166-3.4.3", "a segment that wraps", wraps },
		{ "-", "too many elements", too_many },
		{ "RFC8166-4.4", "lengths that a responder returns", used },
		{ "RFC8797-4", "private data", private_data },
		{ "-", "every verdict has a rule", rules },
	};

	return RUN_CASES(cases, argc, argv);
}
