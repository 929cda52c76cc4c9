/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Data both ways in every size, each octet checked. */
#include "peer.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HALF (PEER_MEM / 2)

static unsigned rounds(const struct peer *p)
{
	return p->a->count * p->a->nsizes;
}

static size_t size_of(const struct peer *p, unsigned round)
{
	return p->a->sizes[round % p->a->nsizes];
}

/* In the middle of a run one end may have something done to its interface. */
static void half_way(struct peer *p, unsigned round)
{
	if (round == rounds(p) / 2 && p->a->run)
		must(system(p->a->run) == 0, "%s failed", p->a->run);
}

/* --- Send: there and back --- */

static void send_loop(struct peer *p, unsigned code, unsigned flags)
{
	for (unsigned i = 0; i < rounds(p); i++) {
		size_t n = size_of(p, i);
		struct peer_op op = { .code = code, .at = 0, .len = n, .flags = flags,
				      .imm = htonl(0xabcd0000 + i) };
		struct ibv_wc wc;

		if (!p->a->passive) {
			peer_recv(p, HALF, n);
			half_way(p, i);
			peer_fill(p, 0, n, i);
			peer_post(p, &op);
			if (flags & IBV_SEND_INLINE)
				memset(p->mem, 0xff, n); /* was copied by the call */
			peer_ok(p, p->scq);
		}
		wc = peer_ok(p, p->rcq);
		must(wc.byte_len == n, "%u bytes of %zu", wc.byte_len, n);
		must((code == IBV_WR_SEND_WITH_IMM) == !!(wc.wc_flags & IBV_WC_WITH_IMM) &&
		     (code != IBV_WR_SEND_WITH_IMM || wc.imm_data == op.imm), "immediate data");
		peer_check(p, HALF, n, i + !p->a->passive);
		if (p->a->passive) {
			half_way(p, i);
			if (i + 1 < rounds(p))
				peer_recv(p, HALF, size_of(p, i + 1));
			peer_fill(p, 0, n, i + 1);
			peer_post(p, &op);
			if (flags & IBV_SEND_INLINE)
				memset(p->mem, 0xff, n);
			if (i + 1 < rounds(p))
				peer_ok(p, p->scq);
			else
				peer_went(p);
		}
	}
}

static void meet_with_receive(struct peer *p)
{
	if (p->a->passive) {
		peer_request(p);
		peer_recv(p, HALF, size_of(p, 0));
	}
	peer_meet(p);
}

static void end(struct peer *p)
{
	if (p->a->passive)
		peer_left(p);
	else
		peer_leave(p);
	peer_close(p);
}

static void sends(struct peer *p)
{
	peer_open(p, p->a);
	meet_with_receive(p);
	send_loop(p, IBV_WR_SEND, 0);
	end(p);
}

static void sends_imm(struct peer *p)
{
	peer_open(p, p->a);
	meet_with_receive(p);
	send_loop(p, IBV_WR_SEND_WITH_IMM, 0);
	end(p);
}

static void sends_inline(struct peer *p)
{
	peer_open(p, p->a);
	meet_with_receive(p);
	send_loop(p, IBV_WR_SEND, IBV_SEND_INLINE);
	end(p);
}

static void sends_srq(struct peer *p)
{
	p->use_srq = true;
	peer_open(p, p->a);
	meet_with_receive(p);
	send_loop(p, IBV_WR_SEND, 0);
	end(p);
}

/* --- one-sided: the active end writes or reads, the passive one looks --- */

static void write_passive(struct peer *p, bool imm)
{
	for (unsigned i = 0; i < rounds(p); i++) {
		struct ibv_wc wc;

		if (imm) {
			wc = peer_ok(p, p->rcq);
			must(wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && wc.imm_data == htonl(i) &&
			     wc.byte_len == size_of(p, i), "write with immediate: %u, %u bytes",
			     wc.opcode, wc.byte_len);
		} else {
			must(peer_hear(p) == i, "out of step");
		}
		half_way(p, i);
		peer_check(p, 0, size_of(p, i), i);
		if (i + 1 < rounds(p)) {
			peer_expect_word(p);
			peer_tell(p, i);
		} else {
			peer_tell_end(p, i);
		}
	}
}

static void write_active(struct peer *p, bool imm)
{
	for (unsigned i = 0; i < rounds(p); i++) {
		size_t n = size_of(p, i);
		struct peer_op op = { .code = imm ? IBV_WR_RDMA_WRITE_WITH_IMM : IBV_WR_RDMA_WRITE,
				      .len = n, .imm = htonl(i), .remote = p->far.addr,
				      .rkey = p->far.rkey };

		peer_expect_word(p);
		half_way(p, i);
		peer_fill(p, 0, n, i);
		peer_do(p, &op);
		if (!imm)
			peer_tell(p, i);
		must(peer_hear(p) == i, "out of step");
	}
}

static void meet_with_word(struct peer *p)
{
	peer_open(p, p->a);
	if (p->a->passive) {
		peer_request(p);
		peer_expect_word(p);
	}
	peer_meet(p);
}

static void writes(struct peer *p)
{
	meet_with_word(p);
	(p->a->passive ? write_passive : write_active)(p, false);
	end(p);
}

static void writes_imm(struct peer *p)
{
	meet_with_word(p);
	(p->a->passive ? write_passive : write_active)(p, true);
	end(p);
}

static void read_passive(struct peer *p)
{
	for (unsigned i = 0; i < rounds(p); i++) {
		must(peer_hear(p) == i, "out of step");
		half_way(p, i);
		peer_fill(p, 0, size_of(p, i), i);
		peer_expect_word(p);
		peer_tell(p, i);
	}
	peer_hear(p);
}

static void read_active(struct peer *p)
{
	for (unsigned i = 0; i < rounds(p); i++) {
		size_t n = size_of(p, i);

		peer_expect_word(p);
		half_way(p, i);
		peer_tell(p, i);
		must(peer_hear(p) == i, "out of step");
		memset(p->mem, 0, n);
		peer_do(p, &(struct peer_op){ .code = IBV_WR_RDMA_READ, .len = n,
					      .remote = p->far.addr, .rkey = p->far.rkey });
		peer_check(p, 0, n, i);
	}
	peer_tell(p, 0);
}

static void reads(struct peer *p)
{
	meet_with_word(p);
	(p->a->passive ? read_passive : read_active)(p);
	end(p);
}

/* --- atomics --- */

static uint64_t old(struct peer *p)
{
	uint64_t v;

	memcpy(&v, p->mem, 8);
	return v;
}

static void atomics_active(struct peer *p)
{
	struct peer_op op = { .len = 8, .remote = p->far.addr + 64, .rkey = p->far.rkey };

	op.code = IBV_WR_ATOMIC_FETCH_AND_ADD;
	for (unsigned i = 0; i < p->a->count; i++) {
		op.add = 1ull << 40 | 3;
		peer_do(p, &op);
		must(old(p) == 1000 + i * op.add, "fetch-and-add %u found %llu", i,
		     (unsigned long long)old(p));
	}
	op.code = IBV_WR_ATOMIC_CMP_AND_SWP;
	op.swap = 77;
	op.add = 5; /* is not there */
	peer_do(p, &op);
	op.add = old(p);
	must(op.add == 1000 + p->a->count * (1ull << 40 | 3), "a failing swap changed the word");
	peer_do(p, &op);
	must(old(p) == op.add, "compare-and-swap found %llu", (unsigned long long)old(p));
	peer_tell(p, 0);
}

static void atomics(struct peer *p)
{
	uint64_t v = 1000;

	peer_open(p, p->a);
	if (p->a->passive) {
		peer_request(p);
		memcpy(p->mem + 64, &v, 8);
		peer_expect_word(p);
	} else {
		peer_resolve(p, p->a->port);
		peer_expect_word(p);
	}
	peer_meet(p);
	/* Its word shows that no RTU is missing, which only time would bring. */
	if (p->a->passive)
		peer_tell(p, 1);
	else
		peer_hear(p);
	if (p->a->passive) {
		peer_hear(p);
		memcpy(&v, p->mem + 64, 8);
		must(v == 77, "the word is %llu", (unsigned long long)v);
	} else {
		atomics_active(p);
	}
	end(p);
}

const struct peer_scenario peer_data[] = {
	{ "send", "Sends there and back", sends, sends },
	{ "sendimm", "the same with immediate data", sends_imm, sends_imm },
	{ "inline", "the same inline", sends_inline, sends_inline },
	{ "srq", "the same into shared receive queues", sends_srq, sends_srq },
	{ "write", "Writes", writes, writes },
	{ "writeimm", "Writes with immediate data", writes_imm, writes_imm },
	{ "read", "Reads", reads, reads },
	{ "atomic", "fetch-and-add, compare-and-swap", atomics, atomics },
	{ 0 }
};
