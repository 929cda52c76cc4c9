/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Frames of IP over InfiniBand against the figures and examples of the RFCs. */
#include "frame.h"

#include <arpa/inet.h>
#include <stdint.h>

#include "support/cases.h"
#include "support/check.h"
#include "util/ip.h"

static void v4(uint8_t ip[16], const char *text)
{
	struct in_addr in;

	CHECK(inet_pton(AF_INET, text, &in) == 1);
	ut_ip_set_v4(ip, &in);
}

static void v6(uint8_t ip[16], const char *text)
{
	CHECK(inet_pton(AF_INET6, text, ip) == 1);
}

static void is_gid(const uint8_t gid[16], const char *text)
{
	uint8_t other[16];

	v6(other, text);
	CHECK_MSG(!memcmp(gid, other, 16), "%s", text);
}

/* RFC 4391, 4: MGIDs of groups and of the broadcast address. */
static void mgids(void)
{
	uint8_t ip[16], mgid[16];

	v4(ip, "255.255.255.255");
	frame_mgid(ip, 0xffff, mgid);
	is_gid(mgid, "ff12:401b:ffff::ffff:ffff");
	v4(ip, "224.0.0.1");
	frame_mgid(ip, 0x8001, mgid);
	is_gid(mgid, "ff12:401b:8001::1");
	v4(ip, "239.255.1.2"); /* the low 28 bits */
	frame_mgid(ip, 0xffff, mgid);
	is_gid(mgid, "ff12:401b:ffff::fff:102");
	v6(ip, "ff02::1:ff12:3456"); /* the low 80 bits */
	frame_mgid(ip, 0xffff, mgid);
	is_gid(mgid, "ff12:601b:ffff::1:ff12:3456");
}

static void hw(uint8_t at[HW_LEN], uint32_t qpn, uint8_t last)
{
	const uint8_t gid[16] = { 0xfe, 0x80, [8] = 0xda, [15] = last };

	hw_make(at, qpn, gid, false);
}

/* RFC 4391, 9.1: a request as bytes, and its answer. */
static void arp(void)
{
	static const uint8_t request[] = {
		0x08, 0x06, 0, 0, 0, 32, 0x08, 0, 20, 4, 0, 1, 0, 0x01, 0x02, 0x03, 0xfe, 0x80, 0, 0, 0, 0, 0, 0, 0xda, 0, 0, 0, 0, 0,
		0, 7, 198, 18, 0, 2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 198, 18, 0, 3 };
	struct resolution r = { .has_hw = true }, got;
	uint8_t frame[FRAME_SHORT], to[16], other[HW_LEN];
	size_t n;

	v4(r.sender, "198.18.0.2");
	v4(r.target, "198.18.0.3");
	hw(r.hw, 0x010203, 7);
	n = frame_resolution(frame, &r, to, NULL);
	CHECK(n == sizeof(request) && !memcmp(frame, request, n));
	CHECK(frame_read_resolution(frame, n, &got) && !got.is_answer && !got.is_probe && got.has_hw);
	CHECK(!memcmp(got.sender, r.sender, 16) && !memcmp(got.target, r.target, 16) && !memcmp(got.hw, r.hw, HW_LEN));
	for (size_t cut = 0; cut < n; cut++)
		CHECK(!frame_read_resolution(frame, cut, &got));
	frame[4 + 1] = 1; /* Ethernet */
	CHECK(!frame_read_resolution(frame, n, &got));

	/* The answer is about its sender. */
	hw(other, 0x040506, 9);
	r = (struct resolution){ .is_answer = true, .has_hw = true };
	v4(r.sender, "198.18.0.3");
	v4(r.target, "198.18.0.3");
	v4(to, "198.18.0.2");
	hw(r.hw, 0x010203, 7);
	n = frame_resolution(frame, &r, to, other);
	CHECK(frame_read_resolution(frame, n, &got) && got.is_answer && !memcmp(got.target, r.target, 16));
	CHECK(frame[4 + 7] == 2 && !memcmp(frame + 4 + 32, other, HW_LEN) && frame[4 + 55] == 2);
}

static void discovery(void)
{
	struct resolution r = { .has_hw = true }, got;
	uint8_t frame[FRAME_SHORT], to[16];
	size_t n;

	v6(r.sender, "fe80::1");
	v6(r.target, "fe80::d802:0:12:3456");
	frame_solicited_node(r.target, to);
	is_gid(to, "ff02::1:ff12:3456");
	hw(r.hw, 0x010203, 7);
	n = frame_resolution(frame, &r, to, NULL);
	CHECK(n == 4 + 40 + 24 + 24 && frame[0] == 0x86 && frame[1] == 0xdd);
	/* RFC 4391, 9.2: type 1, three units, two reserved octets, the address. */
	CHECK(frame[68] == 1 && frame[69] == 3 && !frame[70] && !frame[71] && !memcmp(frame + 72, r.hw, HW_LEN));
	CHECK(frame_read_resolution(frame, n, &got) && !got.is_answer && got.has_hw && !memcmp(got.hw, r.hw, HW_LEN));
	for (size_t cut = 0; cut < n; cut++)
		CHECK(!frame_read_resolution(frame, cut, &got));
	frame[n - 1] ^= 1; /* the checksum is wrong */
	CHECK(!frame_read_resolution(frame, n, &got));
	frame[n - 1] ^= 1;
	frame[4 + 7] = 254; /* it came over a router (RFC 4861, 7.1.1) */
	CHECK(!frame_read_resolution(frame, n, &got));

	r.is_answer = true;
	v6(to, "fe80::2");
	n = frame_resolution(frame, &r, to, NULL);
	CHECK(frame_read_resolution(frame, n, &got) && got.is_answer && !memcmp(got.target, r.target, 16));
	CHECK(frame[44] == 136 && frame[48] == 0x60 && frame[68] == 2); /* solicited, override */
}

struct heard {
	uint8_t ip[4][16];
	bool joins[4];
	int n;
};

static void hear(void *arg, const uint8_t group[16], bool joins)
{
	struct heard *h = arg;

	CHECK(h->n < 4);
	memcpy(h->ip[h->n], group, 16);
	h->joins[h->n++] = joins;
}

/* RFC 3376, 4.2: two records, one that joins and one that leaves, behind an IP header with the router alert. */
static void reports(void)
{
	uint8_t frame[] = { 0x08, 0, 0, 0, 0x46, 0, 0, 48, 0, 0, 0, 0, 1, 2, 0, 0, 198, 18, 0, 2, 224, 0, 0, 22, 0x94, 4, 0, 0,
			    0x22, 0, 0, 0, 0, 0, 0, 2, 4, 0, 0, 0, 239, 1, 2, 3, 3, 0, 0, 0, 239, 1, 2, 4 };
	struct heard h = { .n = 0 };
	uint8_t ip[16];

	frame_reports(frame, sizeof(frame), hear, &h);
	CHECK(h.n == 2 && h.joins[0] && !h.joins[1]);
	v4(ip, "239.1.2.3");
	CHECK(!memcmp(h.ip[0], ip, 16));
	v4(ip, "239.1.2.4");
	CHECK(!memcmp(h.ip[1], ip, 16));
	/* Cut anywhere, it is read as far as it goes and no further. */
	for (size_t cut = 0; cut < sizeof(frame); cut++) {
		uint8_t *copy = malloc(cut + !cut);

		CHECK(copy);
		memcpy(copy, frame, cut);
		h.n = 0;
		frame_reports(copy, cut, hear, &h);
		free(copy);
	}
	/* Version 2: a report and a leave. */
	frame[28] = 0x16;
	memcpy(frame + 32, frame + 40, 4);
	h.n = 0;
	frame_reports(frame, 36, hear, &h);
	CHECK(h.n == 1 && h.joins[0]);
	frame[28] = 0x17;
	frame_reports(frame, 36, hear, &h);
	CHECK(h.n == 2 && !h.joins[1]);
}

static void listeners(void)
{
	/* RFC 3810, 5.2, behind hop-by-hop options: mode EXCLUDE without sources. */
	static const uint8_t frame[4 + 40 + 8 + 8 + 20] = {
		0x86, 0xdd, 0, 0, 0x60, 0, 0, 0, 0, 36, 0, 1, [4 + 24] = 0xff, 0x02, [4 + 39] = 0x16, [44] = 58, 0, 5, 2, 0, 0, 1, 0,
		[52] = 143, [59] = 1, [60] = 4, 0, 0, 0, 0xff, 0x02, [79] = 0xfb };
	struct heard h = { .n = 0 };

	frame_reports(frame, sizeof(frame), hear, &h);
	CHECK(h.n == 1 && h.joins[0]);
	is_gid(h.ip[0], "ff02::fb");
}

static void unreachable(void)
{
	uint8_t frame[4 + 20 + 30] = { 0x08, 0, 0, 0, 0x45, 0, 0, 50, 0, 0, 0, 0, 64, 17, 0, 0, 198, 18, 0, 2, 198, 18, 0, 9 };
	uint8_t ip[FRAME_SHORT];
	uint32_t s = 0;
	size_t n = frame_unreachable(ip, frame, sizeof(frame));

	CHECK(n == 20 + 8 + 28 && ip[9] == 1 && ip[20] == 3 && ip[21] == 1);
	CHECK(!memcmp(ip + 16, frame + 4 + 12, 4) && !memcmp(ip + 28, frame + 4, 28));
	for (size_t i = 20; i < n; i += 2)
		s += (uint32_t)ip[i] << 8 | ip[i + 1];
	CHECK((s & 0xffff) + (s >> 16) == 0xffff);
	frame[4] = 0x4f; /* a header that is longer than the packet */
	CHECK(!frame_unreachable(ip, frame, 4 + 20));
}

static void too_big(void)
{
	uint8_t frame[4 + 40 + 90] = { 0x08, 0, 0, 0, 0x45, 0, 0, 50, 0, 0, 0, 0, 64, 6, 0, 0, 198, 18, 0, 2, 198, 18, 0, 9 };
	uint8_t ip[FRAME_SHORT], hw[HW_LEN];
	size_t n = frame_too_big(ip, frame, 4 + 20 + 30, 2044);

	CHECK(n == 20 + 8 + 28 && ip[20] == 3 && ip[21] == 4 && ip[26] == 2044 >> 8 && ip[27] == (2044 & 255));
	CHECK(!memcmp(ip + 12, frame + 4 + 16, 4) && !memcmp(ip + 28, frame + 4, 28));
	memset(frame, 0, sizeof(frame));
	frame[0] = 0x86;
	frame[1] = 0xdd;
	frame[4] = 0x60;
	frame[4 + 8] = 0xfe;
	frame[4 + 8 + 16] = 0xfd;
	n = frame_too_big(ip, frame, sizeof(frame), 2044);
	CHECK(n == 40 + 8 + 72 && ip[6] == 58 && ip[40] == 2 && ip[41] == 0 && ip[46] == 2044 >> 8 && ip[47] == (2044 & 255));
	CHECK(ip[8] == 0xfd && ip[24] == 0xfe && !memcmp(ip + 48, frame + 4, 72));
	frame[1] = 6; /* no IP packet has an answer */
	frame[0] = 8;
	CHECK(!frame_too_big(ip, frame, sizeof(frame), 2044));
	hw_make(hw, 0x123456, frame + 4, true);
	CHECK(hw[0] == 0x80 && hw[1] == 0x12 && hw[3] == 0x56 && hw_has_rc(hw));
	hw[0] = 0x40; /* UC alone */
	CHECK(!hw_has_rc(hw));
}

static const struct test_case cases[] = {
	{ "-", "groups as MGIDs", mgids }, { "-", "address resolution", arp }, { "-", "neighbour discovery", discovery },
	{ "-", "reports of IGMP", reports }, { "-", "reports of MLD", listeners }, { "-", "host unreachable", unreachable }, { "-", "packet too big", too_big },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}
