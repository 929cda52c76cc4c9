/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Captured messages that leave together have one time, that of the first one, in whatever way that leaves. */
#include "observe/tap.h"

#include "host/shm/channel.h"
#include "proto/ib/frame_shm.h"
#include "support/check.h"
#include "util/syscall.h"
#include "wire/ib_opcode.h"

static uint64_t header[OBS_HEADER / 8];

static int reserve(struct shm_channel *c, const struct ut_flow *f, uint32_t qpn, uint32_t bytes, struct shm_reservation *ret)
{
	(void)c;
	(void)f;
	(void)qpn;
	(void)bytes;
	*ret = (struct shm_reservation){ .header = (uint8_t *)header };
	return 0;
}

static void commit(struct shm_channel *c, struct shm_reservation *at, uint32_t bytes)
{
	(void)c;
	(void)at;
	(void)bytes;
}

static const struct shm_channel_ops ops = { .reserve = reserve, .commit = commit };

static uint64_t next_time(struct obs_reader *r)
{
	struct obs_record h;
	uint8_t bytes[64];

	CHECK(obs_reader_next(r, &h, bytes, sizeof(bytes)) == 1 && h.kind == OBS_MESSAGE && h.out);
	return h.time;
}

int main(void)
{
	const struct obs_config cfg = { .ring_bytes = 1 << 16, .out = true };
	struct shm_channel c = { .ops = &ops };
	struct shm_reservation at;
	struct ut_ticks_clock clock;
	struct obs_reader reader;
	struct ut_flow f = { 0 };
	struct obs_tap *t;
	uint64_t first;
	int fd = obs_tap_make(&t, &cfg, "test");

	((uint8_t *)header)[0] = WIRE_RC_SEND_ONLY;
	((uint8_t *)header)[IBP_HEADER_UNIT_AT] = IBP_UNIT;
	CHECK(fd >= 0);
	ut_ticks_clock_begin(&clock);
	CHECK(!obs_reader_open(&reader, fd, &clock));
	ut_close(fd);
	obs_tap_channel(t, &c);

	/* The group began before the capture. */
	c.ops->watch(&c, &f, (uint8_t *)header, NULL, 0, true);
	first = next_time(&reader);
	CHECK(first > 0);
	c.ops->watch(&c, &f, (uint8_t *)header, NULL, 0, true);
	CHECK(next_time(&reader) == first);

	/* The first one of a later group leaves by commit(). */
	CHECK(!c.ops->reserve(&c, &f, 1, 0, &at));
	c.ops->commit(&c, &at, 0);
	c.ops->watch(&c, &f, (uint8_t *)header, NULL, 0, true);
	first = next_time(&reader);
	CHECK(next_time(&reader) == first);

	obs_tap_leave(t);
	CHECK(c.ops == &ops);
	obs_reader_close(&reader);
	obs_tap_free(t);
	return 0;
}
