/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared by the tests of this folder beside the conformance suite's support: a seed that is printed
 * and replays (SPEED_SEED), counts of a process's resources, memory that changes hands.
 */
#ifndef TESTS_SPEED_H
#define TESTS_SPEED_H

#include "../conform/conf.h"

#include <stdatomic.h>
#include <stdio.h>

struct sp_rng {
	uint64_t state;
};

/* SPEED_SEED, or a new one; printed with its purpose. */
uint64_t sp_seed(const char *what);
uint64_t sp_rand(struct sp_rng *r);
static inline uint32_t sp_below(struct sp_rng *r, uint32_t n)
{
	return (uint32_t)((sp_rand(r) >> 32) * n >> 32);
}
/* From least to most, each order of magnitude as likely as the next. */
uint32_t sp_size(struct sp_rng *r, uint32_t least, uint32_t most);
/* Keeps the processor for so long. */
void sp_busy(uint64_t ns);

static inline int sp_times(int usual, int full)
{
	return cf.full ? full : usual;
}

/*
 * Resources of this process now. A consumer page of the local path counts apart: an asker that dies
 * before it opens its ring leaves one behind for a minute; from SP_CONSUMERS on for a second.
 */
#define SP_CONSUMERS 512
struct sp_held {
	unsigned fds, threads;
	unsigned maps, consumers; /* mappings of files; those without one are malloc()'s, which the kernel joins and splits */
	unsigned long resident;
};
struct sp_held sp_held(void);
/* Waits until there is no more than that, and a little memory; fails otherwise. */
void sp_no_more_than(const struct sp_held *before, unsigned long slack);

/* True if all are this byte. */
bool sp_all(const volatile uint8_t *p, size_t n, uint8_t byte);
/* Private pages at a fixed place, which another mapping may take over any time. */
uint8_t *sp_area(size_t len);
void sp_remap(uint8_t *at, size_t len, uint8_t fill);

/* RTS, or not, without failing the check: the other end may be dead. fd: a stream's, which is
 * taken (and -1 where there are none). */
bool sp_try_connect(struct cf_side *s, const struct cf_addr *peer, int fd, bool initiator);

#define SP_UNTIL(cond, ...)                                                    \
	do {                                                                   \
		struct cf_timeout p_ = { 0 };                                 \
		for (unsigned i_ = 0; !(cond); i_++) {                         \
			if (i_ % 64 == 63 && cf_over(&p_, CF_WAIT_MS * 1000000ull)) \
				CF_DIE(__VA_ARGS__);                           \
			if (i_ % 16 == 15)                                     \
				sched_yield();                                 \
		}                                                              \
	} while (0)

#endif
