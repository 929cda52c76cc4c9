/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * In which order an iWARP end sends and acts while its socket is narrow: messages are not cut into
 * one another, answers come in the order of the requests and hold the memory at their turn, and a
 * request whose key has gone meanwhile is refused.
 */
#include "support/cases.h"
#include "support/check.h"
#include "support/iwworld.h"
#include "wire/iwarp_opcode.h"
#include "wire/mpa_fpdu.h"

#define MEMORY (4u << 20)
#define LONG (1u << 20)

static struct iw_world *w;
static struct iw_end a;
static struct pipe_stream *peer;

static void begin(size_t room)
{
	struct iw_options o = { 0 };

	w = iw_open(11, 0);
	peer = iw_solo(w, &a, &o, MEMORY);
	pipe_of(a.s)->room = room;
}

static void end(void)
{
	iw_end_close(&a);
	iw_close(w);
}

static void put_read(uint32_t msn, uint64_t from, uint32_t len)
{
	char hex[120];

	sprintf(hex, "4141 00000000 00000001 %08x 00000000 0000%04x 0000000000000000 %08x %08x "
		"%016llx", msn, msn, len, a.mr->key, (long long)from);
	iw_put(peer, hex);
}

static void put_add(uint32_t msn, uint64_t at, uint64_t add)
{
	char hex[200];

	sprintf(hex, "414a 00000000 00000001 %08x 00000000 00000000 %08x %08x %016llx %016llx "
		"0000000000000000 0000000000000000 ffffffffffffffff", msn, msn, a.mr->key,
		(long long)at, (long long)add);
	iw_put(peer, hex);
}

static void post(enum ibv_wr_opcode code, uint64_t id, uint32_t len)
{
	CHECK(iw_post(&a, &(struct iw_op){ .code = code, .id = id, .len = len, .rkey = 0x1234,
					   .remote = 0x100000 }) == 0);
}

/* All that is to come, a little at a time. */
static void let_flow(size_t step)
{
	size_t before;

	iw_run(w);
	do {
		before = peer->in_len;
		if (peer->mate) /* it has not been closed */
			peer->mate->room += step;
		iw_run(w);
	} while (peer->in_len != before);
}

struct seen {
	unsigned messages[16], segments;
	unsigned broken; /* segments that came inside another message */
};

/* Walks the FPDUs that came. */
static struct seen look(void)
{
	struct seen s = { 0 };
	int open = -1;
	size_t at = 0;

	while (at + 4 <= peer->in_len) {
		const uint8_t *h = peer->in + at;
		int op = (int)wire_get_DDPTagged_opcode(h);

		s.segments++;
		s.broken += open >= 0 && open != op;
		open = wire_get_DDPTagged_last(h) ? -1 : op;
		s.messages[op] += open < 0;
		at += wire_fpdu_len(at, (uint32_t)wire_get_DDPTagged_ulpdu_len(h), false);
	}
	CHECK(at == peer->in_len && open < 0);
	return s;
}

/* Answers wait for the end of the message that the send queue has begun, and the other way round. */
static void whole_messages(void)
{
	static const size_t rooms[] = { 1000, 40000, 300000 };

	for (size_t i = 0; i < sizeof(rooms) / sizeof(rooms[0]); i++) {
		struct seen s;

		begin(rooms[i]);
		for (uint64_t id = 0; id < 4; id++)
			post(id & 1 ? IBV_WR_SEND : IBV_WR_RDMA_WRITE, id, LONG);
		post(IBV_WR_RDMA_WRITE_WITH_IMM, 4, LONG);
		iw_run(w);
		for (uint32_t msn = 1; msn <= 4; msn++)
			put_read(msn, iw_at(&a, 0), msn & 1 ? LONG : 10);
		put_add(5, iw_at(&a, 8), 1);
		let_flow(rooms[i]);
		s = look();
		CHECK_MSG(!s.broken, "%u of %u segments inside another message", s.broken,
			  s.segments);
		CHECK(s.messages[WIRE_IW_RDMA_WRITE] == 3 && s.messages[WIRE_IW_SEND] == 2);
		CHECK(s.messages[WIRE_IW_READ_RESPONSE] == 4);
		CHECK(s.messages[WIRE_IW_ATOMIC_RESPONSE] == 1 && s.messages[WIRE_IW_IMMEDIATE] == 1);
		for (uint64_t id = 0; id < 5; id++)
			iw_wc(&a, a.scq, id, IBV_WC_SUCCESS);
		end();
	}
}

/* Segments of 1448 octets: the end of a long message ends one, so that the next message begins one. Short messages
 * share segments. */
static void aligned(void)
{
	struct pipe_stream *s;
	size_t before;

	begin(SIZE_MAX);
	s = pipe_of(a.s);
	before = s->sent;
	if (a.s->shm) { /* no segments */
		end();
		return;
	}
	for (uint64_t id = 0; id < 3; id++) {
		post(IBV_WR_RDMA_WRITE, id, 20);
		iw_run(w);
	}
	CHECK(s->n_apart == 0 && s->sent > before);
	post(IBV_WR_RDMA_WRITE, 3, 65536);
	post(IBV_WR_RDMA_WRITE, 4, 65536);
	post(IBV_WR_RDMA_WRITE, 5, 20);
	iw_run(w);
	CHECK(s->n_apart == 2);
	CHECK_MSG(s->sent - s->apart == wire_fpdu_len(0, 14 + 20, false), "the last message is %zu octets behind",
		  s->sent - s->apart);
	end();
}

/* A Read before an atomic shows the octets before it, one behind it the octets after it. */
static void reads_around_atomics(void)
{
	uint64_t *word = NULL;
	size_t at;

	begin(1);
	word = (uint64_t *)a.mem;
	*word = 7;
	put_read(1, iw_at(&a, 0), 8);
	put_add(2, iw_at(&a, 0), 5);
	put_read(3, iw_at(&a, 0), 8);
	put_add(4, iw_at(&a, 0), 100);
	iw_run(w);
	let_flow(3);
	CHECK(peer->in_len == 2 * (28 + 36));
	at = 16;
	CHECK(peer->in[3] == 0x42 && peer->in[at] == 7);
	at = 28 + 20 + 4 + 7;
	CHECK(peer->in[28 + 3] == 0x4b && peer->in[at] == 7);
	at = 64 + 16;
	CHECK(peer->in[64 + 3] == 0x42 && peer->in[at] == 12);
	at = 64 + 28 + 20 + 4 + 7;
	CHECK(peer->in[at] == 12 && *word == 112);

	end();
}

/* Between request and answer the right is taken away: no octet of it leaves any more. */
static void key_goes(bool atomic)
{
	size_t n;
	const uint8_t *t;

	begin(5000);
	put_read(1, iw_at(&a, 0), LONG);
	if (atomic)
		put_add(2, iw_at(&a, 16), 5);
	iw_run(w);
	/* The Read is under way; let it end if the request under test is an atomic. */
	if (atomic) {
		pipe_of(a.s)->room = 0;
		for (n = 0; a.qp && peer->in_len + 400000 < LONG; n++) {
			pipe_of(a.s)->room += 100000;
			iw_run(w);
		}
	}
	ut_lock(&a.h->dev.lock);
	a.mr->access &= ~(unsigned)(atomic ? IBV_ACCESS_REMOTE_ATOMIC : IBV_ACCESS_REMOTE_READ);
	ut_unlock(&a.h->dev.lock);
	let_flow(100000);
	CHECK(iw_state(&a) == IBV_QPS_ERR);
	/* Terminate 0/1/02; a Read's with the rest of the request, an atomic's without. */
	n = atomic ? 20 + 24 + 4 : 20 + 52 + 4;
	CHECK(peer->in_len > n);
	t = peer->in + peer->in_len - n;
	CHECK(t[3] == 0x47 && t[20] == 0x01 && t[21] == 0x02 && t[22] == (atomic ? 0xc0 : 0xe0));
	CHECK(t[27] == (atomic ? 0x4a : 0x41));
	CHECK(((uint64_t *)a.mem)[2] == 0);
	if (!atomic) {
		uint32_t left = wire_get32(t + 44 + 12);
		uint64_t from = wire_get64(t + 44 + 20), to = wire_get64(t + 44 + 4);

		CHECK(left < LONG && left > 0 && from == iw_at(&a, LONG - left));
		CHECK(to == LONG - left);
	}
	iw_event(a.h, IBV_EVENT_QP_ACCESS_ERR);
	end();
}

static void read_key_goes(void)
{
	key_goes(false);
}

static void atomic_key_goes(void)
{
	key_goes(true);
}

/* All segments of a Send have one opcode and one key to invalidate. */
static void one_kind(void)
{
	static const char *seconds[] = {
		"4144 00000000 00000000 00000001 00000002 bb",
		"4145 00000000 00000000 00000001 00000002 bb",
		"4143 00000007 00000000 00000001 00000002 bb",
		"4148 00000000 00000000 00000001 00000002 0000000000000000",
	};

	for (size_t i = 0; i < sizeof(seconds) / sizeof(seconds[0]); i++) {
		begin(SIZE_MAX);
		CHECK(iw_recv(&a, 1, 0, 100) == 0);
		iw_put(peer, "0143 00000000 00000000 00000001 00000000 aaaa");
		iw_put(peer, seconds[i]);
		iw_wc(&a, a.rcq, 1, IBV_WC_WR_FLUSH_ERR);
		CHECK(peer->in[3] == 0x47 && peer->in[20] == 0x02 && peer->in[21] == 0x06);
		iw_event(a.h, IBV_EVENT_QP_FATAL);
		end();
	}
}

/* No octet is sent behind a FIN, whatever arrives. */
static void mute_after_fin(void)
{
	begin(SIZE_MAX);
	CHECK(iwp_stream_ops.disconnect(a.qp) == 0);
	iw_run(w);
	iw_put(peer, "4143 00000000 00000000 00000009 00000000");
	iw_run(w);
	CHECK(peer->in_len == 0 && iw_state(&a) == IBV_QPS_ERR);
	iw_event(a.h, IBV_EVENT_QP_FATAL);
	end();
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "-", "whole messages", whole_messages },
		{ "-", "long messages end a segment", aligned },
		{ "-", "reads around atomics", reads_around_atomics },
		{ "-", "the key of a read goes", read_key_goes },
		{ "-", "the key of an atomic goes", atomic_key_goes },
		{ "-", "segments of one kind", one_kind },
		{ "-", "mute after FIN", mute_after_fin },
	};

	return RUN_CASES(cases, argc, argv);
}
