/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * shm_take_inline(): a reader beside the tail's cache line while the writer writes the next message into
 * it, in every interleaving (explore.h). Each message that it takes is whole, and the one that is due. A
 * reader that trusts the tail alone must be found to take halves.
 */
#include "explore.h"

static bool blind(const void *p, uint64_t *ret);

#define MC_LOAD(p)                                       \
	({                                               \
		uint64_t v_;                             \
		if (!blind((p), &v_))                    \
			v_ = mc_load((p), sizeof(*(p))); \
		v_;                                      \
	})
#include "model_atomics.h"

#include "support/shims/shm_ring.c"

/* The model links nothing of the core. */
const uint8_t host_layout = 1;

#include "support/check.h"

#include <stdlib.h>

#define RECORDS 3
#define BYTES 8u

static struct {
	struct shm_ring *ring;
	struct shm_consumer consumer;
	struct shm_page page;
	struct shm_tx tx;
	struct shm_rx rx;
	int got, by_slot;
	bool trusting; /* the reader does not look again */
} w;

static bool blind(const void *p, uint64_t *ret)
{
	if (!w.trusting || p != &w.ring->newest)
		return false;
	*ret = shm_lines(w.rx.head + SHM_LINE);
	return true;
}

static void writer(void)
{
	for (int i = 0; i < RECORDS; i++) {
		enum shm_put why;
		uint64_t skip;
		struct shm_record *at = shm_reserve(&w.tx, BYTES, &skip, &why);

		mc_must(at != NULL, "there is room");
		*at = (struct shm_record){ .bytes = BYTES };
		memset(at->header, i + 1, SHM_HEADER_BYTES);
		memset(at + 1, i + 1, BYTES);
		shm_commit(&w.tx, at, skip);
	}
}

static bool more(void)
{
	return w.ring->tail != w.rx.head;
}

static void take(const uint8_t *note, uint32_t bytes)
{
	/* The two words that are watched: stores to the others would be seen too early. */
	bool whole = bytes == BYTES && note[0] == w.got + 1 && note[SHM_HEADER_BYTES] == w.got + 1;

	mc_must(whole, "a message is whole, and in its turn");
	w.got++;
	shm_release(&w.rx);
}

static void reader(void)
{
	while (w.got < RECORDS) {
		struct shm_record h;
		const uint8_t *at;
		uint32_t bytes;

		mc_until(more, "waits for a message");
		at = shm_take_inline(&w.rx, &bytes);
		w.by_slot += at != NULL;
		if (at)
			take(at, bytes);
		else if (shm_peek(&w.rx, &h) > 0)
			take(shm_hold(&w.rx, &h), h.bytes);
	}
}

static void reset(void)
{
	memset(w.ring, 0, SHM_RING_SEG);
	shm_ring_init(w.ring);
	memset(&w.consumer, 0, sizeof(w.consumer));
	w.tx = (struct shm_tx){ .ring = w.ring, .consumer = &w.consumer, .page = &w.page };
	w.rx = (struct shm_rx){ .ring = w.ring, .consumer = &w.consumer };
	w.got = 0;
}

/* The messages taken, and the words in flight, are in the pasts of the threads. */
static uint64_t state(void)
{
	return w.rx.head << 8 | (uint64_t)w.got << 1 | w.rx.held;
}

static bool all_came(void)
{
	return w.got == RECORDS;
}

static void search(const char *what, bool want)
{
	static const struct mc_model model = {
		"a inline_slot", 2, { writer, reader }, reset, state, all_came
	};
	unsigned long states;
	bool good = mc_explore(&model, want, &states);

	printf("# %s: %lu states, %d by the inline slot, %s\n", what, states, w.by_slot,
	       good ? "all end well" : "a way that does not");
	fflush(stdout);
	CHECK(good == want && w.by_slot);
}

int main(void)
{
	w.ring = aligned_alloc(4096, SHM_RING_SEG + 4096 - SHM_RING_SEG % 4096);
	CHECK(w.ring);
	reset();
	mc_watch(&w.ring->tail, sizeof(w.ring->tail), "tail");
	mc_watch(&w.ring->newest, sizeof(w.ring->newest), "newest");
	mc_watch(&w.ring->inline_slot[0], sizeof(w.ring->inline_slot[0]), "its first word");
	mc_watch(&w.ring->inline_slot[SHM_INLINE_WORDS - 1], sizeof(w.ring->inline_slot[0]), "its last word");
	search("looked at again", true);
	w.trusting = true;
	search("the tail is trusted", false);
	return 0;
}
