/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* GRH, IPv4, IPv6 and UDP rows against bytes written by hand; the IPv4 checksum. */
#include "wire/grh.h"

#include "wire_test.h"

/* Sum by hand in 16-bit words: 4502+0124+0000+4000+4011+0a4d+0001+0a4d+0002 = dad4; ~ = 252b. */
static const uint8_t golden4[40] = {
	[20] = 0x45, 0x02, 0x01, 0x24, 0x00, 0x00, 0x40, 0x00, 0x40, 0x11, 0x25, 0x2b,
	10, 77, 0, 1, 10, 77, 0, 2,
};

static const uint8_t golden6[40] = {
	0x60, 0x20, 0x00, 0x00, 0x01, 0x10, 0x11, 0x3f,
	0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1,
	0xfd, 0x77, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2,
};

static void check_headers(void)
{
	uint8_t grh[41];

	memset(grh, 0xaa, sizeof(grh));
	wire_grh_v4(grh, golden4 + 32, golden4 + 36, 2, 64, 264);
	CHECK(!memcmp(grh, golden4, 40) && grh[40] == 0xaa, "IPv4 header, checksum %02x%02x",
	      grh[30], grh[31]);
	memset(grh, 0xaa, sizeof(grh));
	wire_grh_v6(grh, golden6 + 8, golden6 + 24, 2, 63, 264);
	CHECK(!memcmp(grh, golden6, 40) && grh[40] == 0xaa, "IPv6 header");
}

/* The receiver's test: all ten words with the checksum sum to ones. */
static void check_checksum(void)
{
	uint64_t rnd = 5;

	for (int i = 0; i < 10000; i++) {
		uint8_t src[4], dst[4], grh[40];
		uint32_t sum = 0;
		uint64_t r = wire_random(&rnd);

		memcpy(src, &r, 4);
		memcpy(dst, (uint8_t *)&r + 4, 4);
		r = wire_random(&rnd);
		if (i == 0)
			memset(src, 0xff, 4), memset(dst, 0xff, 4);
		wire_grh_v4(grh, src, dst, (uint8_t)r, (uint8_t)(r >> 8), (r >> 16) % 65500);
		for (int k = 20; k < 40; k += 2)
			sum += (uint32_t)grh[k] << 8 | grh[k + 1];
		while (sum >> 16)
			sum = (sum & 0xffff) + (sum >> 16);
		CHECK(sum == 0xffff, "header %d sums to %04x", i, sum);
	}
}

/* Rows that no other function of this test writes. */
static void check_rows(void)
{
	static const uint8_t udp[8] = { 0xc1, 0x21, 0x12, 0xb7, 0x00, 0x24, 0xff, 0xfe };
	static const uint8_t grh[8] = { 0x6a, 0xb1, 0x23, 0x45, 0x01, 0x10, 0x1b, 0x40 };
	static const uint8_t ip[12] = { 0x45, 0, 0, 20, 0x12, 0x34, 0x20, 0x07, 1, 17, 0, 0 };

	CHECK(wire_get_UDP_sport(udp) == 49441 && wire_get_UDP_dport(udp) == 4791, "ports");
	CHECK(wire_get_UDP_length(udp) == 36 && wire_get_UDP_checksum(udp) == 0xfffe, "length");
	CHECK(wire_get_GRH_ipver(grh) == 6 && wire_get_GRH_tclass(grh) == 0xab, "class");
	CHECK(wire_get_GRH_flow_label(grh) == 0x12345, "flow label");
	CHECK(wire_get_GRH_pay_len(grh) == 272 && wire_get_GRH_nxt_hdr(grh) == 0x1b, "next header");
	CHECK(wire_get_GRH_hop_lmt(grh) == 64, "hop limit");
	CHECK(wire_get_IPv4_id(ip) == 0x1234 && wire_get_IPv4_frag_off(ip) == 7, "fragment");
	CHECK(wire_get_IPv4_mf(ip) && !wire_get_IPv4_df(ip) && !wire_get_IPv4_rsv1(ip), "flags");
}

int main(void)
{
	check_headers();
	check_checksum();
	check_rows();
	return wire_test_end();
}
