/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One end of ours and a peer written by hand, for the tests of iWARP's messages byte by byte. */
#ifndef TESTS_SIM_IWARP_PEER_H
#define TESTS_SIM_IWARP_PEER_H

#include "support/cases.h"
#include "support/check.h"
#include "support/iwworld.h"

#include <stdio.h>

#define FATAL IBV_EVENT_QP_FATAL

static struct iw_world *w;
static struct iw_end a;
static struct pipe_stream *peer;

static inline void begin(const struct iw_options *o)
{
	w = iw_open(5, 0);
	peer = iw_solo(w, &a, o, 65536);
}

static inline void end(void)
{
	iw_end_close(&a);
	iw_close(w);
}

static inline void post(const struct iw_op *o)
{
	CHECK(iw_post(&a, o) == 0);
	iw_run(w);
}

static inline uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* A read of 8 octets is under way; returns its sink tag. */
static inline uint32_t start_read(uint64_t id)
{
	uint32_t stag;

	post(&(struct iw_op){ .code = IBV_WR_RDMA_READ, .id = id, .at = 64, .len = 8, .rkey = 0x100,
			      .remote = 0x1000 });
	CHECK(peer->in_len >= 52 && peer->in[3] == 0x41);
	stag = get32(peer->in + peer->in_len - 32);
	peer->in_len = 0;
	return stag;
}

static inline void answer(uint32_t stag, uint64_t to, unsigned n, bool last)
{
	char hex[100];
	int at = sprintf(hex, "%s42 %08x %016llx", last ? "c1" : "81", stag, (long long)to);

	while (n--)
		at += sprintf(hex + at, "aa");
	iw_put(peer, hex);
}

#endif
