/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rsockets' wire formats: golden bytes, and bytes that must be refused. */
#include "ulp/rsocket/msg.h"

#include "support/cases.h"
#include "support/check.h"

#include <arpa/inet.h>
#include <netinet/in.h>

static const struct rs_conn example = {
	.big_endian = false,
	.iomap = true,
	.credits = 384,
	.iomap_size = 5,
	.sgl = { 0x0102030405060708, 0xa1a2a3a4, 2 },
	.data = { 0x1112131415161718, 0xb1b2b3b4, 65536 },
};

static const uint8_t golden[RS_CONN_LEN] = {
	1, 2, 0x01, 0x80, 0, 0, 0, 5,
	1, 2, 3, 4, 5, 6, 7, 8, 0xa1, 0xa2, 0xa3, 0xa4, 0, 0, 0, 2,
	0x11, 0x12, 0x13, 0x14, 0x15, 0x16, 0x17, 0x18, 0xb1, 0xb2, 0xb3, 0xb4, 0, 1, 0, 0,
};

static void connection_data(void)
{
	uint8_t out[RS_CONN_LEN], longer[56] = { 0 };
	struct rs_conn got;

	rs_conn_put(out, &example);
	CHECK(!memcmp(out, golden, sizeof(golden)));
	/* The private data of a REQ is padded to its full length. */
	memcpy(longer, golden, sizeof(golden));
	CHECK(!rs_conn_get(&got, longer, sizeof(longer)));
	CHECK(got.iomap && !got.big_endian && got.credits == 384 && got.iomap_size == 5);
	CHECK(got.sgl.addr == example.sgl.addr && got.sgl.key == example.sgl.key);
	CHECK(got.data.addr == example.data.addr && got.data.length == 65536);
}

/* One byte or field wrong at a time. */
static void refused_connections(void)
{
	static const struct {
		size_t at, len;
		uint8_t value;
		int want;
	} rows[] = {
		{ 0, 1, 0, -EPROTONOSUPPORT }, { 0, 1, 2, -EPROTONOSUPPORT },
		{ 2, 2, 0, -EPROTO },    /* no credits */
		{ 20, 4, 0, -EPROTO },   /* no list */
		{ 20, 4, 1, -EPROTO },   /* a list beyond all reason */
		{ 36, 4, 0, -EPROTO },   /* no buffer */
		{ 36, 4, 0xff, -EPROTO },
		{ 8, 8, 0xff, -EPROTO }, /* the list wraps around the address space */
		{ 24, 8, 0xff, -EPROTO },
	};
	struct rs_conn got = { .credits = 7 };
	uint8_t bad[RS_CONN_LEN];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memcpy(bad, golden, sizeof(bad));
		memset(bad + rows[i].at, rows[i].value, rows[i].len);
		CHECK_MSG(rs_conn_get(&got, bad, sizeof(bad)) == rows[i].want, "row %zu", i);
	}
	for (size_t len = 0; len < RS_CONN_LEN; len++)
		CHECK(rs_conn_get(&got, golden, len) == -EPROTO);
	CHECK(rs_conn_get(&got, NULL, 0) == -EPROTO);
	CHECK(got.credits == 7);
}

static void messages(void)
{
	CHECK(rs_msg(RS_OP_CTRL, RS_CTRL_SHUTDOWN) == 0xe0000002);
	CHECK(rs_msg(RS_OP_SGL, 0x1234) == 0x80001234);
	CHECK(rs_msg(RS_OP_IOMAP, 3) == 0xc0000003);
	CHECK(rs_msg(RS_OP_DATA, 65536) == 0x00010000);
	CHECK(rs_msg_op(0xffffffff) == 7 && rs_msg_value(0xffffffff) == RS_MSG_VALUE_MAX);
}

/* Exact to 128, then in steps of 256, and never more than there is room for. */
static void scale(void)
{
	CHECK(rs_scale(0) == 0 && rs_scale(128) == 128 && rs_scale(256) == 129);
	CHECK(rs_unscale(129) == 256 && rs_unscale(255) == 127 << 8);
	for (unsigned v = 0; v <= UINT16_MAX; v++)
		CHECK(rs_unscale(rs_scale((uint16_t)v)) <= v || rs_scale((uint16_t)v) == 128);
	for (unsigned v = 0; v < 256; v++)
		CHECK(v == 128 || rs_scale(rs_unscale((uint8_t)v)) == v);
}

static void datagrams(void)
{
	static const uint8_t v4[] = { 4, 8, 0x12, 0x34, 10, 1, 2, 3 };
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(0x1234) };
	struct sockaddr_in6 in6 = { .sin6_family = AF_INET6, .sin6_port = htons(7) };
	uint8_t out[RS_DGRAM_HDR_MAX];
	struct sockaddr_storage from;
	size_t len;

	inet_pton(AF_INET, "10.1.2.3", &in.sin_addr);
	CHECK(rs_dgram_put(out, (struct sockaddr *)&in) == 8 && !memcmp(out, v4, 8));
	CHECK(rs_dgram_get(&from, out, 8) == 8);
	CHECK(rs_addr_equal((struct sockaddr *)&from, (struct sockaddr *)&in));
	for (len = 0; len < 8; len++)
		CHECK(rs_dgram_get(&from, out, len) == -EPROTO);
	inet_pton(AF_INET6, "fd00::9", &in6.sin6_addr);
	CHECK(rs_dgram_put(out, (struct sockaddr *)&in6) == 24 && out[0] == 6 && out[1] == 24);
	CHECK(rs_dgram_get(&from, out, 24) == 24);
	CHECK(rs_addr_equal((struct sockaddr *)&from, (struct sockaddr *)&in6));
	for (len = 0; len < 24; len++)
		CHECK(rs_dgram_get(&from, out, len) == -EPROTO);
	out[1] = 8;
	CHECK(rs_dgram_get(&from, out, 24) == -EPROTO);
}

static void side_channel(void)
{
	static const uint8_t v4[] = { 0x55, 0x55, 0x55, 0x55, 4, 7, 16, 0, 0, 0x12, 0x34, 0x56,
				      10, 1, 2, 3 };
	struct sockaddr_in in = { .sin_family = AF_INET };
	const struct rs_udp put = { RS_OP_CTRL, 0xff123456 };
	uint8_t out[RS_UDP_HDR_MAX];
	struct rs_udp got;
	size_t i;

	inet_pton(AF_INET, "10.1.2.3", &in.sin_addr);
	CHECK(rs_udp_put(out, &put, (struct sockaddr *)&in) == 16 && !memcmp(out, v4, 16));
	CHECK(rs_udp_get(&got, AF_INET, out, 16) == 16);
	CHECK(got.op == RS_OP_CTRL && got.qpn == 0x123456);
	CHECK(rs_udp_get(&got, AF_INET6, out, 16) == -EPROTO);
	for (i = 0; i < 16; i++)
		CHECK(rs_udp_get(&got, AF_INET, out, i) == -EPROTO);
	for (i = 0; i < 7; i++) {
		out[i] ^= 0x80;
		CHECK_MSG(rs_udp_get(&got, AF_INET, out, 16) == -EPROTO, "byte %zu", i);
		out[i] ^= 0x80;
	}
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "-", "connection data", connection_data },
		{ "-", "refused connections", refused_connections },
		{ "-", "messages", messages },
		{ "-", "scale", scale },
		{ "-", "datagrams", datagrams },
		{ "-", "side channel", side_channel },
	};

	return RUN_CASES(cases, argc, argv);
}
