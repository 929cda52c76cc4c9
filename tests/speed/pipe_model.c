/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * shm_pipe: two ends that sleep, one for news and one for room, as link/local/stream.c has them do it,
 * in every interleaving (explore.h). No end is left asleep, as many bytes arrive as were sent, and
 * the reader looks where the writer put them. Without the fences, without the second look before
 * sleep, if a late wake does not end a sleep, or if the base moves too early, a way must be found
 * that ends badly.
 */
#include "model_atomics.h"

#include "support/shims/shm_pipe.c"

#include "support/check.h"

#include <stdio.h>
#include <string.h>

#define MESSAGES 3
#define BYTES (SHM_PIPE_BYTES / 2) /* two fit */

static struct {
	struct shm_end end[2];
	struct shm_pipe pipe[2]; /* the sender's, the receiver's */
	int wakes[2];            /* bytes in the socket of each */
	size_t where[MESSAGES];  /* the sender put each */
	bool hasty;              /* the sender moves its base though something is unread */
	int sent, got;
	bool trusting;           /* no end looks again */
	bool sleepy;             /* the receiver sleeps on under the same number behind a late wake */
} w;

static void ring(int whose)
{
	mc_point("a wake");
	w.wakes[whose]++;
}

static bool rung0(void)
{
	return w.wakes[0];
}

static bool rung1(void)
{
	return w.wakes[1];
}

/* On the descriptor; wake-ups are consumed before the next look. */
static void sleep_on(int end)
{
	mc_until(end ? rung1 : rung0, "asleep");
	w.wakes[end] = 0;
	mc_point("awake");
}

static bool room(void)
{
	return shm_pipe_room(&w.pipe[0], BYTES) >= BYTES;
}

static bool news(void)
{
	return shm_pipe_end(&w.pipe[1]) != w.pipe[1].head;
}

static void sender(void)
{
	while (w.sent < MESSAGES) {
		if (room()) {
			shm_pipe_begin(&w.pipe[0]);
			if (w.hasty)
				atomic_store_explicit(&w.end[0].base, w.pipe[0].base = w.pipe[0].tail,
						      memory_order_relaxed);
			w.where[w.sent++] = (w.pipe[0].tail - w.pipe[0].base) % SHM_PIPE_BYTES;
			if (shm_pipe_commit(&w.pipe[0], BYTES))
				ring(1);
			continue;
		}
		shm_pipe_sleep(&w.pipe[0], SHM_PIPE_NEWS | SHM_PIPE_ROOM);
		if (w.trusting || !room())
			sleep_on(0);
		shm_pipe_wake(&w.pipe[0]);
	}
}

static void receiver(void)
{
	while (w.got < MESSAGES) {
		if (news()) {
			mc_must(shm_pipe_sane(&w.pipe[1], shm_pipe_end(&w.pipe[1])), "sane");
			mc_must(shm_pipe_offset(&w.pipe[1]) == w.where[w.got], "elsewhere");
			w.got++;
			if (shm_pipe_consume(&w.pipe[1], BYTES))
				ring(0);
			continue;
		}
		shm_pipe_sleep(&w.pipe[1], SHM_PIPE_NEWS);
		if (w.trusting || !news())
			sleep_on(1);
		while (w.sleepy && !news())
			sleep_on(1);
		shm_pipe_wake(&w.pipe[1]);
	}
}

static void reset(void)
{
	memset(w.end, 0, sizeof(w.end));
	memset(w.pipe, 0, sizeof(w.pipe));
	for (int i = 0; i < 2; i++) {
		w.pipe[i].own = &w.end[i];
		w.pipe[i].peer = &w.end[!i];
		w.wakes[i] = 0;
	}
	w.sent = w.got = 0;
}

static uint64_t state(void)
{
	const struct shm_pipe *a = &w.pipe[0], *b = &w.pipe[1];

	return (uint64_t)w.sent << 60 | (uint64_t)w.got << 56 | (uint64_t)w.wakes[0] << 52 |
	       (uint64_t)w.wakes[1] << 48 | (a->peer_head / BYTES) << 40 | (uint64_t)a->sleeps << 32 |
	       (uint64_t)b->sleeps << 24 | (uint64_t)(a->rung & 0xfff) << 12 | (b->rung & 0xfff);
}

static bool all_came(void)
{
	return w.sent == MESSAGES && w.got == MESSAGES;
}

static void search(const char *what, bool want)
{
	static const struct mc_model model = {
		"a pipe", 2, { sender, receiver }, reset, state, all_came
	};
	unsigned long states;
	bool good = mc_explore(&model, want, &states);

	printf("# %s: %lu states, %s\n", what, states, good ? "all end well" : "a way that does not");
	fflush(stdout);
	CHECK(good == want);
}

int main(void)
{
	static const char *const names[2][4] = { { "sender's tail", "sender's head", "sender asleep",
						   "sender's base" },
						 { "receiver's tail", "receiver's head",
						   "receiver asleep", "receiver's base" } };

	reset();
	for (int i = 0; i < 2; i++) {
		mc_watch(&w.end[i].tail, sizeof(w.end[i].tail), names[i][0]);
		mc_watch(&w.end[i].head, sizeof(w.end[i].head), names[i][1]);
		mc_watch(&w.end[i].asleep, sizeof(w.end[i].asleep), names[i][2]);
		mc_watch(&w.end[i].base, sizeof(w.end[i].base), names[i][3]);
	}
	search("as it is", true);
	w.trusting = true;
	search("without a second look", false);
	w.trusting = false;
	w.sleepy = true;
	search("a late wake is ignored", false);
	w.sleepy = false;
	w.hasty = true;
	search("the base moves while something is unread", false);
	w.hasty = false;
	mc_no_fences = true;
	search("without fences", false);
	return 0;
}
