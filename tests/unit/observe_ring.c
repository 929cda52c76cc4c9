/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The observation ring: what a reader gets is what was written, in order, and the rest is counted; whatever the sizes of
 * records, the number of flows, and the reader's delay.
 */
#include "observe/ring.h"

#include "support/check.h"
#include "util/rng.h"
#include "util/syscall.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define BYTES_MOST 5000u
#define OFTEN 20000u
#define AT_ONCE 300000u

static struct obs_ring ring;
static struct obs_reader reader;
static struct ut_ticks_clock ticks;
static uint64_t began;

static void begin(size_t bytes)
{
	int fd = obs_ring_make(&ring, bytes, "test");

	CHECK(fd >= 0);
	ut_ticks_clock_begin(&ticks);
	CHECK(obs_reader_open(&reader, fd, &ticks) == 0);
	ut_close(fd);
	began = ut_now();
}

static void end(void)
{
	obs_reader_close(&reader);
	obs_ring_free(&ring);
}

/* Everything of record i follows from i. */
static struct obs_flow flow_of(uint64_t i, uint32_t flows)
{
	return (struct obs_flow){ .src = { 1 }, .dst = { 2 }, .sport = (uint16_t)(i % flows), .qpn = (uint32_t)(i % flows) * 7 };
}

static uint32_t bytes_of(uint64_t i)
{
	return i % 3 ? OBS_HEADER : (uint32_t)(i * 2654435761u % BYTES_MOST);
}

static void put(uint64_t i, uint32_t flows)
{
	static uint8_t bytes[BYTES_MOST];
	uint32_t n = bytes_of(i), cut = n / 3;
	struct obs_record h = { .kind = 1 + i % 5, .way = i % OBS_WAYS, .out = i & 1, .time = obs_ring_now(&ring),
				.len = n + 5, .have = n, .flow = flow_of(i, flows) };
	struct iovec v[2] = { { bytes, cut }, { bytes + cut, n - cut } };

	for (uint32_t k = 0; k < n; k++)
		bytes[k] = (uint8_t)(i + k);
	obs_ring_put(&ring, &h, v, 2);
}

static void check_record(const struct obs_record *h, const uint8_t *bytes, uint32_t flows)
{
	struct obs_flow f = flow_of(h->number, flows);
	uint64_t i = h->number;

	CHECK(h->have == bytes_of(i) && h->len == h->have + 5);
	CHECK(h->kind == 1 + i % 5 && h->way == i % OBS_WAYS && h->out == (i & 1));
	CHECK(!memcmp(&h->flow, &f, sizeof(f)));
	for (uint32_t k = 0; k < h->have; k++)
		CHECK(bytes[k] == (uint8_t)(i + k));
}

/* Reads all that is there. Returns the number of records. */
static uint64_t read_all(uint32_t flows)
{
	static uint8_t bytes[BYTES_MOST];
	struct obs_record h;
	uint64_t n = 0;
	int r;

	for (; (r = obs_reader_next(&reader, &h, bytes, sizeof(bytes))) == 1; n++)
		check_record(&h, bytes, flows);
	CHECK(r == 0);
	return n;
}

static void followed(uint32_t flows)
{
	uint64_t n = 0;

	begin(1 << 20);
	for (uint64_t i = 0; i < OFTEN; i++) {
		put(i, flows);
		if (i % 100 == 0)
			n += read_all(flows);
	}
	n += read_all(flows);
	CHECK(n == OFTEN && reader.lost == 0);
	end();
}

static void overtaken(void)
{
	uint64_t n = 0;

	begin(OBS_RING_LEAST);
	for (uint64_t i = 0; i < OFTEN; i++) {
		put(i, 3);
		if (i % 1000 == 999 || i % 1000 == 10)
			n += read_all(3);
	}
	n += read_all(3);
	CHECK(reader.lost && n && n + reader.lost <= OFTEN);
	put(OFTEN, 3);
	CHECK(read_all(3) == 1 && n + 1 + reader.lost == OFTEN + 1);
	put(OFTEN + 1, 3);
	put(OFTEN + 2, 3);
	obs_reader_end(&reader);
	CHECK(n + 1 + reader.lost == OFTEN + 3);
	end();
}

static void *write_all(void *arg)
{
	for (uint64_t i = 0; i < AT_ONCE; i++)
		put(i, 2000);
	return arg;
}

static void at_once(void)
{
	uint64_t n = 0;
	pthread_t t;

	begin(OBS_RING_LEAST);
	CHECK(pthread_create(&t, NULL, write_all, NULL) == 0);
	while (atomic_load(&ring.page->number) < AT_ONCE)
		n += read_all(2000);
	pthread_join(t, NULL);
	n += read_all(2000);
	obs_reader_end(&reader);
	CHECK(n + reader.lost == AT_ONCE);
	end();
}

static void times(void)
{
	uint64_t before = 0, slack = UT_MS;
	struct obs_record h;
	uint8_t bytes[OBS_HEADER];

	begin(1 << 20);
	for (uint64_t i = 1; i < 1000; i += 3) {
		uint64_t from = ut_now(), to;

		put(i, 1);
		to = ut_now();
		ut_ticks_clock_sync(&ticks);
		CHECK(obs_reader_next(&reader, &h, bytes, sizeof(bytes)) == 1);
		CHECK(h.time + slack >= from && h.time <= to + slack && h.time + slack >= before);
		before = h.time;
	}
	CHECK(llabs(obs_reader_offset(&reader) - (int64_t)(reader.page->realtime - reader.page->monotonic)) < (int64_t)slack);
	end();
}

/* A ring whose writer has gone mad is no longer read. */
static void impossible(void)
{
	static const struct obs_stored forged[] = {
		{ .kind_way = 0, .len = 16 }, { .kind_way = OBS_KINDS }, { .kind_way = 1 | OBS_WAYS << 4 },
		{ .kind_way = 1, .flow = OBS_FLOWS }, { .kind_way = 1, .len = 8, .have = 16 },
		{ .kind_way = 1, .len = UINT32_MAX, .have = UINT32_MAX }, { .kind_way = 1, .len = 4000, .have = 4000 },
	};
	uint8_t bytes[64];
	struct obs_record h;

	for (size_t i = 0; i < sizeof(forged) / sizeof(forged[0]); i++) {
		begin(OBS_RING_LEAST);
		put(1, 1);
		memcpy(ring.data, &forged[i], sizeof(forged[i]));
		CHECK(obs_reader_next(&reader, &h, bytes, sizeof(bytes)) == -EPROTO);
		end();
	}
}

int main(void)
{
	followed(1);
	followed(3000); /* more than the table takes */
	overtaken();
	at_once();
	times();
	impossible();
	return 0;
}
