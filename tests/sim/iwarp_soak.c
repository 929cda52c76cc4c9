/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two iWARP ends that do everything to each other at once, in batches; after each batch every
 * octet of both memories is as the requests say.
 *
 *	sim-iwarp_soak [--seed N] [--batches N]
 *
 * Each request has its own slots of memory, so that their order does not matter, except where it
 * is asserted: receives come in order, completions come in order.
 */
#include "support/check.h"
#include "support/iwworld.h"
#include "util/clock.h"

#include <stdbool.h>

enum { SLOTS = 24, SLOT = 80 << 10, PART = SLOTS * SLOT };

/* The parts of a memory: local buffers, buffers of the peer's RDMA, receives. */
enum { OURS, THEIRS, RECEIVED, PARTS };

struct side {
	struct iw_end e;
	uint8_t *want; /* the memory as it must be */
	struct eng_mkey *mw;
	int n, sent, received;
	struct iw_op op[SLOTS];
	int receives[SLOTS], nr; /* operations of ours that take one there */
};

static struct iw_world *w;
static struct side side[2];
static struct ut_rng rng;

static uint32_t below(uint32_t n)
{
	return ut_rng_below(&rng, n);
}

static size_t place(int part, int slot)
{
	return (size_t)part * PART + (size_t)slot * SLOT;
}

static void scribble(uint8_t *p, size_t n)
{
	for (size_t i = 0; i < n; i += 8) {
		uint64_t r = ut_rng_u64(&rng);

		memcpy(p + i, &r, n - i < 8 ? n - i : 8);
	}
}

static uint32_t some_length(void)
{
	switch (below(6)) {
	case 0: return below(4);
	case 1: return 1400 + below(60);
	case 2: return 65530 + below(12);
	case 3: return below(SLOT - 64);
	default: return below(3000);
	}
}

/* A request of side s in slot i, and its result. */
static void draw(int s, int i)
{
	static const enum ibv_wr_opcode codes[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_READ,
		IBV_WR_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_RDMA_READ,
	};
	struct side *x = &side[s], *y = &side[!s];
	struct iw_op *o = &x->op[i];
	bool atomic;

	*o = (struct iw_op){ .code = codes[below(7)], .id = (uint64_t)i, .len = some_length(),
			     .rkey = y->e.mr->key, .imm = (uint32_t)ut_rng_u64(&rng) };
	o->at = place(OURS, i) + below(32);
	atomic = o->code == IBV_WR_ATOMIC_FETCH_AND_ADD || o->code == IBV_WR_ATOMIC_CMP_AND_SWP;
	if (atomic)
		o->len = 8;
	o->remote = iw_at(&y->e, place(THEIRS, i) + (atomic ? 8 * below(4) : below(32)));
	o->pieces = !o->len ? 0 : 1 + (int)below(o->len < 8 ? 1 : IW_SGE);
	o->flags = (below(4) ? 0 : IBV_SEND_FENCE) | (below(4) ? 0 : IBV_SEND_SOLICITED);
	if (o->len <= 64 && o->code < IBV_WR_RDMA_READ && below(2))
		o->flags |= IBV_SEND_INLINE;
	o->quiet = i != x->n - 1 && !below(3);
	o->add = below(2) ? 0 : ut_rng_u64(&rng);
	o->swap = ut_rng_u64(&rng);
	if (o->code == IBV_WR_SEND || o->code == IBV_WR_RDMA_WRITE_WITH_IMM)
		x->receives[x->nr++] = i;
}

static void atomic_result(struct iw_op *o, uint8_t *mine, uint8_t *theirs)
{
	uint64_t old, new;

	memcpy(&old, theirs, 8);
	if (o->code == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		new = old + o->add;
	} else {
		if (o->flags & IBV_SEND_SOLICITED)
			o->add = old;
		new = old == o->add ? o->swap : old;
	}
	memcpy(mine, &old, 8);
	memcpy(theirs, &new, 8);
}

static void expect(int s, int i, int nth_receive)
{
	struct side *x = &side[s], *y = &side[!s];
	struct iw_op *o = &x->op[i];
	uint8_t *mine = x->want + o->at, *theirs = y->want + (o->remote - iw_at(&y->e, 0));

	switch (o->code) {
	case IBV_WR_SEND:
		memcpy(y->want + place(RECEIVED, nth_receive), mine, o->len);
		break;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		memcpy(theirs, mine, o->len);
		break;
	case IBV_WR_RDMA_READ:
		memcpy(mine, theirs, o->len);
		break;
	default:
		atomic_result(o, mine, theirs);
	}
}

static void prepare(int s)
{
	struct side *x = &side[s];
	int r = 0;

	x->n = 1 + (int)below(SLOTS);
	x->nr = x->sent = x->received = 0;
	for (int i = 0; i < x->n; i++)
		draw(s, i);
	for (int i = 0; i < x->n; i++) {
		bool takes = r < x->nr && x->receives[r] == i;

		expect(s, i, r);
		r += takes;
	}
}

static void take_sent(struct side *x)
{
	struct ibv_wc wc;

	while (eng_cq_poll(x->e.scq, 1, &wc) == 1) {
		CHECK_MSG(wc.status == IBV_WC_SUCCESS, "request %d ended with %d (%u)", (int)wc.wr_id,
			  wc.status, wc.vendor_err);
		while (x->sent < (int)wc.wr_id)
			CHECK(x->op[x->sent++].quiet);
		CHECK(x->sent++ == (int)wc.wr_id);
	}
}

static void take_received(struct side *x, const struct side *y)
{
	struct ibv_wc wc;

	while (eng_cq_poll(x->e.rcq, 1, &wc) == 1) {
		const struct iw_op *o = &y->op[y->receives[x->received]];

		CHECK(x->received < y->nr && wc.wr_id == (uint64_t)x->received);
		CHECK(wc.status == IBV_WC_SUCCESS);
		CHECK_MSG(wc.byte_len == o->len, "%u octets of %u", wc.byte_len, o->len);
		CHECK((wc.opcode == IBV_WC_RECV) == (o->code == IBV_WR_SEND));
		CHECK(o->code == IBV_WR_SEND || wc.imm_data == o->imm);
		x->received++;
	}
}

static bool finished(void)
{
	for (int s = 0; s < 2; s++) {
		take_sent(&side[s]);
		take_received(&side[s], &side[!s]);
	}
	return side[0].sent == side[0].n && side[1].sent == side[1].n &&
	       side[0].received == side[1].nr && side[1].received == side[0].nr;
}

static void compare(const struct side *x, int s)
{
	if (!memcmp(x->e.mem, x->want, PARTS * PART))
		return;
	for (size_t i = 0; i < PARTS * PART; i++)
		CHECK_MSG(x->e.mem[i] == x->want[i], "side %d, part %zu, slot %zu, octet %zu", s,
			  i / PART, i % PART / SLOT, i % SLOT);
}

/* A Write is complete when TCP has it, so one at the end of a batch may still be on its way. */
static bool arrived(void)
{
	return !memcmp(side[0].e.mem, side[0].want, PARTS * PART) &&
	       !memcmp(side[1].e.mem, side[1].want, PARTS * PART);
}

static void batch(void)
{
	for (int s = 0; s < 2; s++)
		prepare(s);
	for (int s = 0; s < 2; s++)
		for (int r = 0; r < side[!s].nr; r++)
			CHECK(iw_recv(&side[s].e, (uint64_t)r, place(RECEIVED, r), SLOT) == 0);
	for (int i = 0; i < SLOTS; i++)
		for (int s = 0; s < 2; s++)
			if (i < side[s].n)
				CHECK(iw_post(&side[s].e, &side[s].op[i]) == 0);
	for (int turns = 0; !finished(); turns++) {
		CHECK_MSG(turns < 100, "sent %d of %d and %d of %d, received %d of %d and %d of %d",
			  side[0].sent, side[0].n, side[1].sent, side[1].n, side[0].received,
			  side[1].nr, side[1].received, side[0].nr);
		iw_pass(w, UT_MS);
	}
	for (int turns = 0; turns < 100 && !arrived(); turns++)
		iw_pass(w, UT_MS);
	compare(&side[0], 0);
	compare(&side[1], 1);
	CHECK(!side[0].e.ended && !side[1].e.ended);
}

static void open_world(uint64_t seed)
{
	struct iw_options o = { .no_crc = below(2), .markers_a = below(2), .markers_b = below(2),
				.ird = (uint16_t)(1 + below(16)), .awaits_first = below(2),
				.rtr = (enum proto_rtr)below(3), .initiator_b = below(2) };
	static const uint32_t mss[] = { 100, 536, 1448, 8948, 65483 };

	o.ord = o.ird;
	w = iw_open(seed, below(3) ? 0 : 128 + below(3000));
	w->net.mss = mss[below(5)];
	w->net.cut = below(3) ? 1 + below(20000) : 0;
	w->net.ragged = below(2);
	w->net.lazy = below(2) ? below(900) : 0;
	w->net.window = below(2) ? (66 << 10) + below(300000) : 0;
	iw_pair(w, &side[0].e, &side[1].e, &o, PARTS * PART);
	for (int s = 0; s < 2; s++) {
		side[s].want = malloc(PARTS * PART);
		CHECK(side[s].want);
		scribble(side[s].e.mem, PARTS * PART);
		memcpy(side[s].want, side[s].e.mem, PARTS * PART);
	}
}

static void close_world(void)
{
	for (int s = 0; s < 2; s++) {
		iw_end_close(&side[s].e);
		free(side[s].want);
	}
	iw_close(w);
}

int main(int argc, char **argv)
{
	uint64_t seed = ut_rng_seed();
	int batches = 200;

	for (int i = 1; i + 1 < argc; i += 2) {
		if (!strcmp(argv[i], "--seed"))
			seed = strtoull(argv[i + 1], NULL, 0);
		else if (!strcmp(argv[i], "--batches"))
			batches = atoi(argv[i + 1]);
	}
	fprintf(stderr, "--seed %llu --batches %d\n", (unsigned long long)seed, batches);
	rng.state = seed;
	for (int i = 0; i < batches; i++) {
		if (i % 10 == 0)
			open_world(seed + (uint64_t)i);
		batch();
		if (i % 10 == 9 || i == batches - 1)
			close_world();
	}
	printf("ok %d batches\n", batches);
	return 0;
}
