/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Direct access beside the end of a registration, in every interleaving (explore.h): the sources of host/shm themselves.
 *
 *	again		a requester that uses a grant which it has kept
 *	asks		a requester that looks at the exported tables for each access
 *	no area		the same, of a key without an area: it reads the key again behind a fence of its own
 *	revokes		an exporter that revokes a key, gives the memory back, and exports other memory by the same key
 *	leaves		an exporter that reads no more of the requester, and gives its memory back
 *
 * No memory is reached that was given back, and none by a grant for other memory, whether the requester has a full fence or the
 * exporter executes it. Without the fences the search must find how it is reached.
 */
#include "model_atomics.h"

#include <sched.h>

#define ut_barrier_host mc_fence_all
static int wait_a_little(void);
#define sched_yield wait_a_little
#include "support/shims/shm_access.c"
#undef sched_yield

#include "support/check.h"

#include <stdio.h>
#include <stdlib.h>

#define KEY 0x100u
#define QPN 1u
#define ACCESSES 2

static struct {
	struct shm_chan requester, exporter;
	struct shm_page page[2]; /* of these */
	struct shm_consumer consumer;
	struct shm_ring *ring;
	struct shm_peer_tx tx;
	struct shm_peer_rx rx;
	struct shm_grant grant;
	unsigned grant_is_of; /* the memory */
	/* the scenario */
	bool fenced, asks, leaves, no_area;
	/* the events so far */
	unsigned memory; /* that the key stands for; 0: it was given back */
	unsigned reached, granted;
	uint64_t seen;
	bool ended;
} w;

static struct shm_export *tables(void)
{
	return &w.page[1].export;
}

static _Atomic uint32_t *key(void)
{
	return &tables()->keys[(KEY >> 8) % SHM_EXPORTS].key;
}

static bool has_moved(void)
{
	return *(volatile uint64_t *)&w.page[0].access != w.seen;
}

static int wait_a_little(void)
{
	w.seen = *(volatile uint64_t *)&w.page[0].access;
	if (w.seen)
		mc_until(has_moved, "waits for the access");
	return 0;
}

/* --- the requester --- */

static void reach(unsigned memory)
{
	mc_must(w.memory && w.memory == memory, "memory that was given back is reached");
	mc_point("loads and stores");
	mc_must(w.memory == memory, "memory is given back under an access");
	w.reached++;
}

static bool by_grant(void)
{
	if (w.asks || !shm_grant_holds(&w.requester.base, &w.grant) || !shm_grant_begin(&w.requester.base, &w.grant))
		return false;
	w.granted++;
	reach(w.grant_is_of);
	shm_grant_end(&w.grant);
	return true;
}

static bool has_key(void)
{
	return atomic_load_explicit(key(), memory_order_acquire) == KEY;
}

/* As access_part() of proto/ib/direct.c. */
static bool has_key_still(void)
{
	atomic_thread_fence(memory_order_seq_cst);
	return has_key();
}

static void by_tables(void)
{
	const struct ut_flow flow = { 0 };
	struct shm_access v;

	if (!shm_access_begin(&w.requester.base, &flow, QPN, &v))
		return;
	if (has_key() && (!w.no_area || has_key_still())) {
		/* The entry does not change from here on. */
		unsigned memory = w.memory;

		reach(memory);
		if (!w.no_area)
			w.grant = v.grant;
		w.grant_is_of = memory;
	}
	shm_access_end(&w.requester.base);
}

static void requester(void)
{
	for (int i = 0; i < ACCESSES; i++)
		if (!by_grant())
			by_tables();
}

/* --- the exporter --- */

static void exporter(void)
{
	if (w.leaves) {
		atomic_store(&w.consumer.gone, 1);
		shm_export_quiesce_one(&w.exporter, &w.rx);
		w.memory = 0;
		w.ended = true;
		return;
	}
	atomic_store_explicit(key(), 0, memory_order_relaxed);
	if (!w.no_area)
		shm_export_end_grants(&w.exporter.base);
	shm_export_quiesce(&w.exporter.base);
	w.memory = 0;
	mc_point("the memory is given back");
	w.memory = 2;
	atomic_store_explicit(key(), KEY, memory_order_release);
	w.ended = true;
}

/* --- the world --- */

static void reset(void)
{
	w.page[0].access = 0;
	tables()->revoked = 7;
	tables()->fences = w.fenced;
	*key() = KEY;
	w.consumer.gone = 0;
	w.tx.ring.fenced_by_peer = w.fenced;
	w.requester.base.accesses = 0;
	w.grant = (struct shm_grant){ .word = &w.page[0].access, .tables = tables(), .revoked = 7, .exporter = w.page[1].id,
				      .epoch = 1, .fenced = w.fenced };
	w.memory = w.grant_is_of = 1;
	w.reached = 0;
	w.seen = 0;
	w.ended = false;
}

static uint64_t state(void)
{
	return (uint64_t)w.memory << 32 | w.grant_is_of << 24 | w.grant.revoked << 16 | w.requester.base.accesses << 8 |
	       w.reached << 1 | w.ended;
}

static bool all_done(void)
{
	return w.ended && !w.page[0].access;
}

static void make_world(void)
{
	for (int i = 0; i < 2; i++)
		w.page[i].id = 3 + (uint32_t)i;
	w.requester.page = &w.page[0];
	w.exporter.page = &w.page[1];
	w.exporter.base.export = tables();
	w.requester.base.epoch = 1;
	ut_list_init(&w.exporter.rx);
	ut_list_add_tail(&w.exporter.rx, &w.rx.node);
	w.rx.page = &w.page[0];
	w.rx.peer.fd = -1;
	w.ring = calloc(1, sizeof(*w.ring));
	CHECK(w.ring);
	w.tx.ring = (struct shm_tx){ .ring = w.ring, .consumer = &w.consumer, .page = &w.page[1] };
	w.tx.slot = (uint16_t)shm_peer_slot(QPN);
	w.tx.state = SHM_PEER_OPEN;
	w.tx.seen = true;
	w.requester.last = &w.tx;
	mc_watch(&w.page[0].access, sizeof(w.page[0].access), "access");
	mc_watch(&tables()->revoked, sizeof(tables()->revoked), "revoked");
	mc_watch(key(), sizeof(*key()), "key");
	mc_watch(&w.consumer.gone, sizeof(w.consumer.gone), "gone");
}

static void search(bool want)
{
	static const struct mc_model model = { "direct access", 2, { requester, exporter }, reset, state, all_done };
	unsigned long states;
	bool good;

	w.granted = 0;
	good = mc_explore(&model, want, &states);
	printf("# %s, %s, %s%s: %lu states, %u by a grant, %s\n", w.no_area ? "no area" : w.asks ? "asks" : "again", w.leaves ? "leaves" : "revokes",
	       w.fenced ? "fenced by the exporter" : "a full fence", mc_no_fences ? ", without it" : "", states, w.granted,
	       good ? "all end well" : "a way that does not");
	fflush(stdout);
	CHECK(good == want && (w.asks || w.granted));
}

int main(void)
{
	make_world();
	for (int i = 0; i < 16; i++) {
		w.fenced = i & 1;
		w.asks = i & 2;
		w.leaves = i & 4;
		mc_no_fences = i & 8;
		search(!mc_no_fences);
		w.no_area = w.asks && !w.leaves;
		if (w.no_area)
			search(!mc_no_fences);
		w.no_area = false;
	}
	return 0;
}
