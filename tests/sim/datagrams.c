/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * UC and UD under a bad network: messages may be missing, but each one that is delivered is whole,
 * and while the path only loses and damages they come in the order of sending, each once.
 *
 *	datagrams --type uc|ud [--seed N] [--messages N] [--rate PERMILLE] [--disorder]
 */
#include "support/check.h"
#include "support/engine.h"
#include "support/simhost.h"
#include "util/clock.h"

#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>

#define SLOTS 32
#define SLOT 8192u
#define GRH 40u
#define MTU 1024u

static struct sim_world world;
static struct sim_end a, b;
static struct eng_ah *ah;
static struct ut_rng rng;
static bool ud, disorder;
static uint64_t messages = 20000, sent, completed, received, recv_posted;
static uint64_t next_nr; /* the oldest that may still come, in an orderly run */

static uint8_t pattern(uint64_t nr, uint32_t i)
{
	return (uint8_t)((nr * 197 + i * 13 + (i >> 8)) ^ (nr >> 5));
}

static void post_receive(void)
{
	uint64_t k = recv_posted++;

	CHECK(sim_post_recv(&b, k, b.mem + k % SLOTS * SLOT, SLOT) == 0);
}

/* 8 bytes of number, 4 of length, then the pattern. */
static void send_one(void)
{
	uint8_t *at = a.mem + sent % SLOTS * SLOT;
	uint32_t len = 12 + ut_rng_below(&rng, ud ? MTU - 11 : ut_rng_below(&rng, 4) ? 600 : 7000);
	struct sim_op o = {
		.code = IBV_WR_SEND, .id = sent, .at = at, .len = len, .ah = ah,
		.qpn = b.qp->qpn, .qkey = 0x1234,
	};

	memcpy(at, &sent, 8);
	memcpy(at + 8, &len, 4);
	for (uint32_t i = 12; i < len; i++)
		at[i] = pattern(sent, i);
	CHECK(sim_post(&a, &o) == 0);
	sent++;
}

static void check_receive(const struct ibv_wc *wc)
{
	uint32_t skip = ud ? GRH : 0, len;
	const uint8_t *at = b.mem + received % SLOTS * SLOT + skip;
	uint64_t nr;

	CHECK_MSG(wc->status == IBV_WC_SUCCESS, "status %d", wc->status);
	CHECK(wc->wr_id == received++);
	memcpy(&nr, at, 8);
	memcpy(&len, at + 8, 4);
	CHECK_MSG(wc->byte_len == len + skip, "message %" PRIu64 ": %u bytes of %u", nr,
		  wc->byte_len - skip, len);
	CHECK(nr < sent && (disorder || nr >= next_nr));
	next_nr = nr + 1;
	for (uint32_t i = 12; i < len; i++)
		CHECK_MSG(at[i] == pattern(nr, i), "message %" PRIu64 ", byte %u of %u", nr, i, len);
}

static bool serve(void *arg)
{
	struct ibv_wc wc;

	while (eng_cq_held(a.scq) && eng_cq_poll(a.scq, 1, &wc) == 1) {
		CHECK(wc.status == IBV_WC_SUCCESS && wc.wr_id == completed);
		completed++;
	}
	while (eng_cq_held(b.rcq) && eng_cq_poll(b.rcq, 1, &wc) == 1) {
		check_receive(&wc);
		post_receive();
	}
	return false;
}

static void run(unsigned rate, uint64_t seed)
{
	struct sim_qp_options o = { .type = ud ? IBV_QPT_UD : IBV_QPT_UC };
	struct ibv_ah_attr attr = { .is_global = 1, .port_num = 1, .grh = { .hop_limit = 64 } };
	struct link_fault_rates rates = { .loss = rate, .corrupt = rate, .seed = seed };

	if (disorder)
		rates.dup = rates.reorder = rate;
	/* IPv6, whose ICRC check hides nothing: datagrams have no second line. */
	sim_world_open(&world, &(struct sim_options){ .seed = seed, .ipv6 = ud, .mtu_max = MTU,
		.net = { .rates = rates, .jitter = disorder ? 3000 : 0 } });
	sim_pair(&a, &world.host[0], &b, &world.host[1], &o);
	sim_end_memory(&a, SLOTS * SLOT);
	sim_end_memory(&b, SLOTS * SLOT);
	memcpy(attr.grh.dgid.raw, b.h->addr, 16);
	if (ud)
		CHECK(eng_ah_create(a.h->pd, &attr, &ah) == 0);
	for (int i = 0; i < SLOTS; i++)
		post_receive();
	/* Nothing but the clock keeps the sender from drowning the receives. */
	while (completed < messages) {
		uint64_t end = world.now + 5 * SIM_DELAY;

		for (int i = 0; i < SLOTS / 2 && sent < messages; i++)
			send_one();
		sim_run(&world, 5 * SIM_DELAY, serve, NULL);
		world.now = end;
	}
	sim_run(&world, UT_S, NULL, NULL);
	serve(NULL);
	CHECK_MSG(eng_qp_state(b.qp) == IBV_QPS_RTS && received > messages / (disorder ? 3 : 2),
		  "state %d, %" PRIu64 " received", eng_qp_state(b.qp), received);
	CHECK(rate || received == messages);
	printf("%" PRIu64 " sent, %" PRIu64 " delivered\n", sent, received);
	if (ud)
		eng_ah_destroy(ah);
	sim_end_close(&a);
	sim_end_close(&b);
	sim_world_close(&world);
}

int main(int argc, char **argv)
{
	static const struct option opts[] = {
		{ "type", 1, NULL, 't' }, { "seed", 1, NULL, 's' }, { "messages", 1, NULL, 'm' },
		{ "rate", 1, NULL, 'r' }, { "disorder", 0, NULL, 'd' }, { 0 },
	};
	uint64_t seed = ut_rng_seed() & 0xffffffff;
	unsigned rate = 30;
	int c;

	while ((c = getopt_long(argc, argv, "t:s:m:r:d", opts, NULL)) >= 0) {
		if (c == 't')
			ud = !strcmp(optarg, "ud");
		else if (c == 's')
			seed = strtoull(optarg, NULL, 0);
		else if (c == 'm')
			messages = strtoull(optarg, NULL, 0);
		else if (c == 'r')
			rate = (unsigned)strtoul(optarg, NULL, 0);
		else if (c == 'd')
			disorder = true;
		else
			return 2;
	}
	printf("datagrams --type %s --seed %" PRIu64 " --messages %" PRIu64 " --rate %u%s\n",
	       ud ? "ud" : "uc", seed, messages, rate, disorder ? " --disorder" : "");
	fflush(stdout);
	rng.state = seed;
	run(rate, seed);
	return 0;
}
