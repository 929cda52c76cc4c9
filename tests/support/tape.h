/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The packets that passed on a simulated net, and a judge that interferes with chosen ones; and the
 * usual rig of tests with two ends.
 */
#ifndef TESTS_SUPPORT_TAPE_H
#define TESTS_SUPPORT_TAPE_H

#include "support/simhost.h"
#include "wire/ib_packet.h"

#define TAPE_MAX 16384

struct tape_packet {
	struct wire_ib_packet p; /* payload and icrc point nowhere */
	uint64_t at;
	const struct link *from;
	uint16_t sport;
	uint8_t tos;
	int copies; /* 0 = was dropped */
};

struct tape {
	struct sim_world *w;
	int n;
	struct tape_packet v[TAPE_MAX];
	/* Says how many copies of a packet arrive; may change it. NULL: one of each. */
	int (*judge)(struct tape *t, const struct tape_packet *x, struct sim_packet *raw);
	int k;     /* for judges: the packet meant, counted from 0 */
	uint64_t delay;
	uint32_t mask; /* free for judges */
};

void tape_start(struct tape *t, struct sim_world *w);
/* The k-th packet with this opcode, or NULL. */
const struct tape_packet *tape_find(const struct tape *t, uint8_t opcode, int k);
int tape_count(const struct tape *t, uint8_t opcode);
/* ACKNOWLEDGE packets with this syndrome (an exact byte). */
int tape_syndromes(const struct tape *t, uint8_t syndrome);

/* Judges: on packet k only. */
int tape_drop(struct tape *t, const struct tape_packet *x, struct sim_packet *raw);
int tape_double(struct tape *t, const struct tape_packet *x, struct sim_packet *raw);
int tape_late(struct tape *t, const struct tape_packet *x, struct sim_packet *raw);

struct rig {
	struct sim_world w;
	struct sim_end a, b;
	struct tape tape;
};

/* Two hosts, a connected pair with `bytes` of memory each, a running tape. */
struct rig *rig_open(const struct sim_qp_options *qo, size_t bytes);
struct rig *rig_open_on(const struct sim_options *so, const struct sim_qp_options *qo, size_t bytes);
void rig_close(struct rig *r);
/* b's receive `id` of len bytes at offset. */
void rig_recv(struct rig *r, uint64_t id, size_t off, uint32_t len);
/* a posts; remote offset in b's memory, local in a's. */
void rig_op(struct rig *r, enum ibv_wr_opcode code, uint64_t id, size_t off, size_t remote,
	    uint32_t len, unsigned flags);
void rig_run(struct rig *r, uint64_t ns);

/* Recognisable bytes, and the proof that they are there. */
void pattern_fill(uint8_t *p, size_t n, unsigned seed);
void pattern_check(const uint8_t *p, size_t n, unsigned seed);
void bytes_are(const uint8_t *p, size_t n, uint8_t value);

#endif
