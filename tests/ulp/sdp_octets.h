/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Streams of octets for the tests of SDP: what is sent and what has to come, by calls of the connection's copies or in memory of the
 * program. Octet n of stream s is a function of both.
 */
#ifndef TESTS_ULP_SDP_OCTETS_H
#define TESTS_ULP_SDP_OCTETS_H

#include "sdp_ends.h"

uint8_t octet(uint64_t n, unsigned s);

/* A direction of a connection each: octets of stream `out` that are sent, octets of stream `in` that have to come. */
struct stream {
	uint64_t to_send, sent, to_get, got;
	unsigned out, in;
	bool large;                     /* by advertisements */
};

/* Each returns true if octets have moved. */
bool push(struct sdp_conn *c, struct stream *s);
bool take(struct sdp_conn *c, struct stream *s);

void progress(struct sdp_conn *c);
/* Until both streams are through. */
void run(struct sdp_conn *c, struct stream *s);
/* Until the peer sends no more. */
void await_received_end(struct sdp_conn *c);
/* Both directions end in order, and the connection is closed. */
void finish(struct sdp_conn *c);

/* --- memory of the program, in which it sends and waits --- */

#define MEMORY (1 << 20)

struct memory {
	uint8_t out[MEMORY], in[MEMORY];
	struct ibv_mr *out_mr, *in_mr;
};

extern struct memory memory;

void memory_register(struct sdp_conn *c);
void memory_release(void);
/* True if the octets at `at` came without a copy. */
bool is_direct(const uint8_t *at);
/* As run(), with a sender that keeps its octets in memory of its own and a receiver that waits in such, for `want` octets. */
void run_direct(struct sdp_conn *c, struct stream *s, uint32_t want, unsigned *ret_direct);

#endif
