/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The line of a packet: content, and never more bytes than given. */
#include "wire/ib_text.h"

#include "wire_test.h"

static const uint8_t write_imm[] = {
	0x0b, 0xa0, 0xff, 0xff, 0x40, 0x00, 0xab, 0xcd, 0x80, 0xff, 0xff, 0xfe,
	0x00, 0x11, 0x22, 0x33, 0x44, 0x55, 0x66, 0x77, 0x89, 0xab, 0xcd, 0xef,
	0x00, 0x00, 0x00, 0x02, 0xde, 0xad, 0xbe, 0xef, 'o', 'k', 0, 0, 1, 2, 3, 4,
};

static const char line[] =
	"RC_RDMA_WRITE_ONLY_WITH_IMMEDIATE, BTH opcode 0xb se 1 pad 2 pkey 0xffff becn 1 "
	"dest_qpn 0xabcd ack_req 1 psn 0xfffffe, RETH va 0x11223344556677 rkey 0x89abcdef "
	"dma_len 0x2, ImmDt imm 0xdeadbeef, payload length 2 icrc 0x4030201";

static void check_line(const uint8_t *buf, size_t len, const char *want)
{
	char out[512];
	size_t n = wire_ib_text(out, sizeof(out), buf, len);

	CHECK(n == strlen(want) && !strcmp(out, want), "\n%s\n%s", out, want);
}

int main(void)
{
	const uint8_t tver[16] = { 0x04, 1 }, unknown[16] = { 0xff };

	check_line(write_imm, sizeof(write_imm), line);
	check_line(write_imm, 37,
		   "dropped: shorter than its headers, pad and CRC length 37 opcode 0xb");
	check_line(tver, 16, "dropped: transport version is not 0 length 16 opcode 0x4");
	check_line(unknown, 16, "dropped: opcode unknown length 16 opcode 0xff");
	check_line(unknown, 0,
		   "dropped: shorter than a base transport header and a CRC length 0");
	for (size_t size = 0; size < sizeof(line) + 4; size++) {
		char out[sizeof(line) + 8];
		size_t n, want = size > strlen(line) ? strlen(line) : size ? size - 1 : 0;

		memset(out, '#', sizeof(out));
		n = wire_ib_text(out, size, write_imm, sizeof(write_imm));
		CHECK(n == want && !memcmp(out, line, n), "cut to %zu", size);
		CHECK(!size || out[n] == 0, "no end at %zu", size);
		CHECK(out[size] == '#', "wrote behind %zu", size);
	}
	return wire_test_end();
}
