/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a protocol shows to an observer that no link below it can tell from its bytes: frames in a byte stream, and
 * direct accesses, which no link carries. A port has a pointer to a tap, which is NULL while no observer is there;
 * packets and messages of datagram links and of the shm channel are seen by an overlay of their operations
 * (observe/tap.h).
 *
 * Called with the progress lock held. Nothing is kept: memory that an argument names is read before the return.
 */
#ifndef LINK_TAP_H
#define LINK_TAP_H

#include "util/flow.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>

struct link_stream;

/* The words of a direct access have the form of a message's header (proto/ib/frame_shm.h). */
#define LINK_TAP_WORDS 5

/* A Read, Write or atomic that its requester has executed alone in the responder's memory. */
struct link_tap_access {
	const struct ut_flow *flow;
	uint64_t header[LINK_TAP_WORDS];
	uint64_t compare_add, swap; /* of an atomic */
	const struct iovec *data;   /* Write: its payload. Read, atomic: the data that were returned */
	int n_data;
	uint32_t length;
	bool atomic;
	bool stores; /* by loads and stores, and not by a copy of the kernel */
};

struct link_tap {
	/* An FPDU without markers and CRC, from its ULPDU_Length on: len octets of them, of which the first `have` lie
	 * at data. out: this end sends it. */
	void (*fpdu)(struct link_tap *t, const struct link_stream *s, bool out, uint32_t qpn, const uint8_t *data,
		     uint32_t have, uint32_t len);
	/* A whole MPA Request or Reply. */
	void (*frame)(struct link_tap *t, const struct link_stream *s, bool out, const uint8_t *data, uint32_t len);
	void (*access)(struct link_tap *t, const struct link_tap_access *x);
};

#endif
