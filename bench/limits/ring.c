/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A bare ring: one producer, one consumer, messages copied in and copied out, nothing checked.
 *
 *	bench-ring rate [BYTES] [SLOTS] [EVERY] [SECONDS]   messages per second; the tail is
 *	                                                    published after EVERY messages
 *	bench-ring trip [BYTES] [ROUNDS]                    round trip through two of them, in us
 *
 * Each end remembers the other's index and reads it again only when it must, so that the line
 * travels once per many messages.
 */
#include "limit.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct ring {
	_Alignas(128) _Atomic uint64_t tail; /* written by the producer */
	_Alignas(128) _Atomic uint64_t head; /* by the consumer */
	_Alignas(128) _Atomic int end;
	_Alignas(128) char slot[];
};

struct end {
	struct ring *r;
	uint64_t at, seen;
	size_t bytes, slots, every;
	char *message;
};

/* The other end may have the same processor: without the yield it would wait for the tick. */
static void look_again(unsigned *looks)
{
	if (++*looks % 256 == 0)
		sched_yield();
}

static void put(struct end *e)
{
	for (unsigned looks = 0; e->at - e->seen == e->slots; look_again(&looks)) {
		atomic_store_explicit(&e->r->tail, e->at, memory_order_release);
		e->seen = atomic_load_explicit(&e->r->head, memory_order_acquire);
	}
	memcpy(e->r->slot + e->at % e->slots * e->bytes, e->message, e->bytes);
	if (++e->at % e->every == 0)
		atomic_store_explicit(&e->r->tail, e->at, memory_order_release);
}

/* False when there is nothing and the producer has ended. */
static int get(struct end *e)
{
	for (unsigned looks = 0; e->at == e->seen; look_again(&looks)) {
		int over = atomic_load(&e->r->end);

		e->seen = atomic_load_explicit(&e->r->tail, memory_order_acquire);
		if (over && e->at == e->seen)
			return 0;
	}
	memcpy(e->message, e->r->slot + e->at % e->slots * e->bytes, e->bytes);
	if (++e->at % e->every == 0 || e->at == e->seen)
		atomic_store_explicit(&e->r->head, e->at, memory_order_release);
	return 1;
}

static struct end new_end(size_t bytes, size_t slots, size_t every)
{
	struct end e = { .bytes = bytes, .slots = slots, .every = every };

	e.r = lim_shared(sizeof(*e.r) + bytes * slots);
	e.message = calloc(1, bytes);
	if (!e.message)
		lim_fail("memory");
	return e;
}

static int rate(size_t bytes, size_t slots, size_t every, double seconds)
{
	struct end e = new_end(bytes, slots, every);
	pid_t child = lim_fork();
	double t;

	if (!child) {
		while (get(&e))
			;
		return 0;
	}
	for (t = lim_now(); lim_now() < t + seconds;)
		for (int i = 0; i < 1024; i++)
			put(&e);
	atomic_store(&e.r->tail, e.at);
	while (atomic_load(&e.r->head) != e.at)
		sched_yield();
	printf("%.0f\n", (double)e.at / (lim_now() - t));
	atomic_store(&e.r->end, 1);
	return lim_join(child);
}

static void trip_once(void *arg)
{
	struct end *ends = arg;

	put(&ends[0]);
	get(&ends[1]);
}

static int trip(size_t bytes, int rounds)
{
	struct end ends[2] = { new_end(bytes, 64, 1), new_end(bytes, 64, 1) };
	pid_t child = lim_fork();

	if (!child) {
		for (int i = 0; i < rounds; i++) {
			get(&ends[0]);
			put(&ends[1]);
		}
		return 0;
	}
	printf("%.4f\n", lim_median(trip_once, ends, rounds, 100));
	return lim_join(child);
}

int main(int argc, char **argv)
{
	size_t bytes = (size_t)lim_number(argc, argv, 2, 64);

	if (argc > 1 && !strcmp(argv[1], "rate"))
		return rate(bytes, (size_t)lim_number(argc, argv, 3, 8192),
			    (size_t)lim_number(argc, argv, 4, 32), lim_number(argc, argv, 5, 0.3));
	if (argc > 1 && !strcmp(argv[1], "trip"))
		return trip(bytes, (int)lim_number(argc, argv, 3, 100000) / 100 * 100);
	fprintf(stderr, "usage: bench-ring rate [BYTES] [SLOTS] [EVERY] [SECONDS]\n"
			"       bench-ring trip [BYTES] [ROUNDS]\n");
	return 2;
}
