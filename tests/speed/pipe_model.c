/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * shm_pipe: two ends that sleep, one for news and one for room, as link/local/stream.c has them do it,
 * in every interleaving (explore.h). No end is left asleep, as many bytes arrive as were sent, and
 * the reader looks where the writer put them. Without the fences, without the second look before
 * sleep, if a late wake does not end a sleep, or if the base moves too early, a way must be found
 * that ends badly.
 *
 * And two pipes whose owner sleeps on its set until its wake fd is written, which shows each write once
 * (link/local/wakefd.h). If the owner's next round is not told that a write was taken, or only the pipes that have bytes
 * end their sleep behind it, a way must be found that ends badly.
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

/* --- two pipes and a wake fd --- */

static const int messages[2] = { 2, 1 };

static struct {
	struct shm_pipe out[2], in[2];
	struct shm_end peer[2], own[2];
	int sent[2], got[2];
	bool written; /* and not taken by a thread */
	bool took;    /* dev_driver_took_events() */
	bool untold, only_with_news;
} f;

static void send_by(int i)
{
	while (f.sent[i] < messages[i]) {
		f.sent[i]++;
		if (shm_pipe_commit(&f.out[i], 8) & SHM_PIPE_WAKE_FD) {
			mc_point("a write");
			f.written = true;
		}
	}
}

static void first(void)
{
	send_by(0);
}

static void second(void)
{
	send_by(1);
}

static bool is_written(void)
{
	return f.written;
}

static bool has_news(int i)
{
	return shm_pipe_end(&f.in[i]) != f.in[i].head;
}

static bool serve(int i)
{
	if (!has_news(i))
		return false;
	shm_pipe_wake(&f.in[i]);
	while (has_news(i)) {
		f.got[i]++;
		shm_pipe_consume(&f.in[i], 8);
	}
	return true;
}

/* Returns true if the owner may sleep behind it. */
static bool owners_round(void)
{
	bool idle = true;

	for (int i = 0; i < 2; i++)
		if (f.took && (!f.only_with_news || has_news(i)))
			shm_pipe_wake(&f.in[i]);
	f.took = false;
	for (int i = 0; i < 2; i++)
		idle &= !serve(i);
	for (int i = 0; i < 2; i++)
		if (!shm_pipe_sleeps(&f.in[i])) {
			shm_pipe_sleep(&f.in[i], SHM_PIPE_NEWS | SHM_PIPE_WAKE_FD);
			idle &= !has_news(i);
		}
	return idle;
}

static void owner(void)
{
	while (f.got[0] + f.got[1] < messages[0] + messages[1]) {
		if (!owners_round())
			continue;
		mc_until(is_written, "asleep");
		f.written = false;
		f.took = !f.untold;
		mc_point("awake");
		/* The message that it was woken for, without a round. */
		if (!serve(0))
			serve(1);
	}
}

static void reset_both(void)
{
	memset(f.own, 0, sizeof(f.own));
	memset(f.peer, 0, sizeof(f.peer));
	memset(f.in, 0, sizeof(f.in));
	memset(f.out, 0, sizeof(f.out));
	for (int i = 0; i < 2; i++) {
		f.in[i].own = f.own + i;
		f.in[i].peer = f.peer + i;
		f.out[i].own = f.peer + i;
		f.out[i].peer = f.own + i;
		f.sent[i] = f.got[i] = 0;
	}
	f.written = f.took = false;
}

static uint64_t state_of_both(void)
{
	uint64_t s = (uint64_t)f.written << 1 | f.took;

	for (int i = 0; i < 2; i++)
		s = s << 24 | (uint64_t)f.sent[i] << 22 | (uint64_t)f.got[i] << 20 | (uint64_t)f.in[i].sleeps << 12 | f.out[i].rung;
	return s;
}

static bool both_came(void)
{
	return f.got[0] == messages[0] && f.got[1] == messages[1];
}

static void search_both(const char *what, bool want)
{
	static const struct mc_model model = {
		"two pipes", 3, { first, second, owner }, reset_both, state_of_both, both_came
	};
	unsigned long states;
	bool good = mc_explore(&model, want, &states);

	printf("# two pipes, %s: %lu states, %s\n", what, states, good ? "all end well" : "a way that does not");
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
	for (int i = 0; i < 2; i++) {
		mc_watch(&f.peer[i].tail, sizeof(f.peer[i].tail), i ? "second's tail" : "first's tail");
		mc_watch(&f.own[i].head, sizeof(f.own[i].head), i ? "second's head" : "first's head");
		mc_watch(&f.own[i].asleep, sizeof(f.own[i].asleep), i ? "second asleep" : "first asleep");
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
	search_both("as it is", true);
	f.untold = true;
	search_both("the round is not told of a write that was taken", false);
	f.untold = false;
	f.only_with_news = true;
	search_both("pipes without news sleep on", false);
	f.only_with_news = false;
	mc_no_fences = true;
	search("without fences", false);
	return 0;
}
