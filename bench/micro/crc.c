/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Cost of CRC, ICRC, parser and builder per packet; best of several rounds, each about 20 ms. */
#include "util/crc.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "wire/ib_packet.h"
#include "wire/icrc.h"

enum { ROUNDS = 7 };

static uint8_t data[1 << 16];
static struct wire_icrc_flow flow4, flow6;
static volatile uint32_t sink;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void run_crc32(size_t len)
{
	sink = ut_crc32(sink, data, len);
}

static void run_crc32c(size_t len)
{
	sink = ut_crc32c(sink, data, len);
}

static void run_icrc4(size_t len)
{
	sink = wire_icrc_compute(&flow4, 49441, 4791, 0, true, data, len);
}

static void run_icrc6(size_t len)
{
	sink = wire_icrc_compute(&flow6, 49441, 4791, 0, true, data, len);
}

/* A wrong guess each time: the identification has to be solved for. */
static void run_solve(size_t len)
{
	static uint16_t flip;
	struct wire_icrc_memo memo = { 0 };
	uint16_t id = flip ^= 0x5aa5;

	sink = (uint32_t)wire_icrc_check(&flow4, &memo, 49441, 4791, data, len + 4, &id);
}

static void run_parse(size_t len)
{
	struct wire_ib_packet p;

	sink = (uint32_t)wire_ib_parse(data, len, &p) + p.psn;
}

static void run_build(size_t len)
{
	static struct wire_ib_packet p = { .opcode = WIRE_RC_RDMA_WRITE_ONLY };
	uint8_t out[WIRE_IB_HDRS_MAX];

	p.psn++;
	p.dma_len = (uint32_t)len;
	sink = (uint32_t)wire_ib_build(out, &p) + out[0];
}

static void measure(const char *name, void (*fn)(size_t), size_t len)
{
	double best = 1e18;
	unsigned n = 1000;

	for (int round = 0; round < ROUNDS; round++) {
		double start = now(), each;

		for (unsigned i = 0; i < n; i++)
			fn(len);
		each = (now() - start) / n;
		best = each < best ? each : best;
		n = (unsigned)(20e6 / best) + 1;
	}
	printf("%-22s %6zu B %9.1f ns %8.2f GB/s\n", name, len, best, (double)len / best);
}

int main(void)
{
	static const size_t lengths[] = { 16, 64, 128, 256, 1024, 4096, 65536 };
	static const uint8_t addr[16] = { 127, 0, 0, 1 };

	wire_icrc_flow_v4(&flow4, addr, addr);
	wire_icrc_flow_v6(&flow6, addr, addr);
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (uint8_t)(i * 131);
	memset(data, 0, 64);
	data[0] = WIRE_RC_RDMA_WRITE_ONLY;
	for (size_t i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		measure("crc32", run_crc32, lengths[i]);
		measure("crc32c", run_crc32c, lengths[i]);
		if (lengths[i] > 4200)
			continue;
		measure("icrc ipv4", run_icrc4, lengths[i] + 16);
		measure("icrc ipv6", run_icrc6, lengths[i] + 16);
		wire_icrc_fill(&flow4, 49441, 4791, 0x1234, true, data, lengths[i] + 16);
		measure("icrc check, unknown id", run_solve, lengths[i] + 16);
	}
	measure("parse write only", run_parse, 1056);
	measure("build write only", run_build, 1056);
	if (ut_crc_use(UT_CRC_FOLD) == UT_CRC_FOLD)
		measure("crc32, one lane", run_crc32, 65536);
	if (ut_crc_use(UT_CRC_PORTABLE) == UT_CRC_PORTABLE)
		measure("crc32 portable", run_crc32, 4096);
	return 0;
}
