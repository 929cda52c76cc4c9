/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * iWARP against a peer written by hand: what each message looks like, byte by byte, and what each
 * wrong one is answered with (RFC 5040 4.8 and figure 10, RFC 5041 7, RFC 7306 8).
 */
#include "support/cases.h"
#include "support/check.h"
#include "support/iwworld.h"
#include "util/clock.h"

#include <sys/mman.h>

static struct iw_world *w;
static struct iw_end a;
static struct pipe_stream *peer;

static void begin(const struct iw_options *o)
{
	w = iw_open(5, 0);
	peer = iw_solo(w, &a, o, 65536);
}

static void end(void)
{
	iw_end_close(&a);
	iw_close(w);
}

/* The region becomes known as `key` from address `iova` on. */
static void rename_region(uint32_t key, uint64_t iova)
{
	struct eng_dev *dev = &a.h->dev;

	ut_lock(&dev->lock);
	ut_idtab_del(&dev->mkeys, a.mr->key >> 8);
	a.mr->key = key;
	a.mr->iova = iova;
	CHECK(ut_idtab_add(&dev->mkeys, key >> 8, a.mr) == 0);
	ut_unlock(&dev->lock);
}

static void post(const struct iw_op *o)
{
	CHECK(iw_post(&a, o) == 0);
	iw_run(w);
}

/* --- golden vectors --- */

#define G4 "001741430000000000000000000000010000000068656c6c6f000000b990b10c"
#define G5 "000ec140000000010000000000000000ebd34c5f"
#define G6 "0012c14000abcd010000000000010000414243441f65e35e"
#define G7 "002e4141000000000000000100000001000000000000550100000000000020000000000400abcd01" \
	   "0000000000010000bac10dcc"
#define G8 "0012c14200005501000000000000200041424344fe6c5616"
#define G9 "0012414600abcd010000000000000002000000005ebf889d"
#define G10 "00464147000000000000000200000001000000000100e000002e414100000000000000010000000100" \
	    "00000000005501000000000000200000000010001234000000000000001000f7886818"
#define G11 "0016414700000000000000020000000100000000200200007fe42585"
#define G12 "0046414a00000000000000010000000200000000000000000000001100abcd010000000000010000" \
	    "000000000000000500000000000000000000000000000000ffffffffffffffff2689dc52"
#define G13 "0046414a00000000000000010000000300000000000000020000001200abcd010000000000010008" \
	    "0000000000000099ffffffffffffffff0000000000000007ffffffffffffffff2fe2c14e"
#define G14 "001e414b00000000000000030000000100000000000000111122334455667788d1249cae"
#define G15 "001a414900000000000000000000000300000000000000000102030469134ee1"
#define G19 "002e4141000000000000000100000001000000000000000100000000000000000000000000000001" \
	    "000000000000000027dbd7e7"

static void golden_out(void)
{
	struct iw_options o = { .rtr = PROTO_RTR_WRITE };

	begin(&o);
	iw_run(w);
	iw_got_hex(peer, G5);
	memcpy(a.mem, "helloABCD", 9);
	post(&(struct iw_op){ .code = IBV_WR_SEND, .len = 5 });
	iw_got_hex(peer, G4);
	post(&(struct iw_op){ .code = IBV_WR_RDMA_WRITE, .at = 5, .len = 4, .rkey = 0xabcd01,
			      .remote = 0x10000 });
	iw_got_hex(peer, G6);
	post(&(struct iw_op){ .code = IBV_WR_SEND_WITH_INV, .flags = IBV_SEND_SOLICITED,
			      .imm = 0xabcd01 });
	iw_got_hex(peer, G9);
	post(&(struct iw_op){ .code = IBV_WR_RDMA_WRITE_WITH_IMM, .flags = IBV_SEND_SOLICITED,
			      .imm = htobe32(0x01020304) });
	iw_got_hex(peer, "000ec140000000000000000000000000a30572ab" G15);
	end();
}

/* The sink tag is random: the one of the example is put in its place. */
static void golden_requests(void)
{
	static const uint8_t sink[12] = { 0, 0, 0x55, 1, 0, 0, 0, 0, 0, 0, 0x20, 0 };
	struct iw_options o = { 0 };
	uint8_t want[128];
	size_t n;

	begin(&o);
	post(&(struct iw_op){ .code = IBV_WR_RDMA_READ, .len = 4, .rkey = 0xabcd01,
			      .remote = 0x10000 });
	n = iw_hex(G7, want, sizeof(want)) - 4;
	CHECK(peer->in_len == n + 4);
	memcpy(peer->in + 20, sink, 12);
	CHECK(!memcmp(peer->in, want, n));
	peer->in_len = 0;
	post(&(struct iw_op){ .code = IBV_WR_ATOMIC_FETCH_AND_ADD, .len = 8, .rkey = 0xabcd01,
			      .remote = 0x10000, .add = 5 });
	n = iw_hex(G12, want, sizeof(want)) - 4;
	CHECK(peer->in_len == n + 4);
	memcpy(peer->in + 24, want + 24, 4);
	CHECK(!memcmp(peer->in, want, n));
	peer->in_len = 0;
	post(&(struct iw_op){ .code = IBV_WR_ATOMIC_CMP_AND_SWP, .len = 8, .rkey = 0xabcd01,
			      .remote = 0x10008, .add = 7, .swap = 0x99 });
	n = iw_hex(G13, want, sizeof(want)) - 4;
	CHECK(peer->in_len == n + 4);
	memcpy(peer->in + 24, want + 24, 4);
	CHECK(!memcmp(peer->in, want, n));
	peer->in_len = 0;
	end();
}

static void golden_in(void)
{
	struct iw_options o = { .initiator_b = true, .rtr = PROTO_RTR_READ };
	uint64_t *word;

	begin(&o);
	rename_region(0xabcd01, 0x10000);
	word = (uint64_t *)a.mem;
	CHECK(iw_recv(&a, 1, 4096, 0) == 0); /* its region is elsewhere now: no octets */
	iw_put_hex(peer, G6);
	iw_run(w);
	CHECK(!memcmp(a.mem, "ABCD", 4) && a.ready == 1);
	iw_put_hex(peer, G7);
	iw_run(w);
	iw_got_hex(peer, G8);
	*word = 0x1122334455667788;
	iw_put_hex(peer, G12);
	iw_run(w);
	iw_got_hex(peer, G14);
	CHECK(*word == 0x112233445566778d);
	word[1] = 7;
	iw_put_hex(peer, G13);
	iw_run(w);
	iw_got(peer, "414b00000000000000030000000200000000 00000012 0000000000000007");
	CHECK(word[1] == 0x99);
	iw_put(peer, "4143 00000000 00000000 00000001 00000000");
	iw_put_hex(peer, G9); /* no window of ours: refused */
	iw_run(w);
	iw_wc(&a, a.rcq, 1, IBV_WC_SUCCESS);
	CHECK(iw_state(&a) == IBV_QPS_ERR);
	end();
}

/*
 * What no verb of ours asks for, and a peer may: masks. An add whose mask marks the top bits of
 * fields carries into none of them; a compare sees, and a swap changes, only the bits of its mask.
 */
static void masked_atomics(void)
{
	static const struct {
		const char *kind, *data, *mask, *compare, *cmask;
		uint64_t before, after;
	} v[] = {
		/* four fields of 16 bits, each one from its end */
		{ "00000000", "0001000100010001", "8000800080008000", "0000000000000000",
		  "ffffffffffffffff", 0xffff7ffffffe0000, 0x00008000ffff0001 },
		/* bytes; the lowest wraps alone */
		{ "00000000", "00000000000000ff", "8080808080808080", "0000000000000000",
		  "ffffffffffffffff", 0x0102030405060708, 0x0102030405060707 },
		/* every bit a field: exclusive or */
		{ "00000000", "ff00ff00ff00ff00", "ffffffffffffffff", "0000000000000000",
		  "ffffffffffffffff", 0x0ff00ff00ff00ff0, 0xf0f0f0f0f0f0f0f0 },
		/* the upper half is compared, the lower one changed */
		{ "00000002", "aaaaaaaabbbbbbbb", "00000000ffffffff", "1111111199999999",
		  "ffffffff00000000", 0x1111111122222222, 0x11111111bbbbbbbb },
		{ "00000002", "aaaaaaaabbbbbbbb", "00000000ffffffff", "1111111022222222",
		  "ffffffff00000000", 0x1111111122222222, 0x1111111122222222 },
		/* nothing compared: a swap */
		{ "00000002", "aaaaaaaabbbbbbbb", "ffffffffffffffff", "0000000000000000",
		  "0000000000000000", 0x1111111122222222, 0xaaaaaaaabbbbbbbb },
	};
	struct iw_options o = { .initiator_b = true, .rtr = PROTO_RTR_READ };
	uint64_t *word;
	char hex[256];

	begin(&o);
	rename_region(0xabcd01, 0x10000);
	word = (uint64_t *)a.mem;
	iw_put_hex(peer, G19); /* the announced first message */
	iw_run(w);
	peer->in_len = 0;
	for (unsigned k = 0; k < sizeof(v) / sizeof(v[0]); k++) {
		*word = v[k].before;
		snprintf(hex, sizeof(hex), "414a 00000000 00000001 %08x 00000000 %s 00000011 00abcd01"
			 " 0000000000010000 %s %s %s %s", k + 2, v[k].kind, v[k].data, v[k].mask,
			 v[k].compare, v[k].cmask);
		iw_put(peer, hex);
		iw_run(w);
		CHECK_MSG(*word == v[k].after, "row %u: %016llx", k, (unsigned long long)*word);
		snprintf(hex, sizeof(hex), "414b 00000000 00000003 %08x 00000000 00000011 %016llx",
			 k + 1, (unsigned long long)v[k].before);
		iw_got(peer, hex);
	}
	end();
}

static void golden_read_rtr(void)
{
	struct iw_options o = { .initiator_b = true, .rtr = PROTO_RTR_READ };
	struct iw_options i = { .rtr = PROTO_RTR_READ };

	begin(&o);
	post(&(struct iw_op){ .code = IBV_WR_SEND, .len = 1 });
	iw_got_hex(peer, ""); /* nothing before the peer's word */
	iw_put_hex(peer, G19);
	iw_run(w);
	CHECK(a.ready == 1);
	CHECK(peer->in_len == 20 + 28 && peer->in[3] == 0x42);
	peer->in_len = 0;
	end();

	begin(&i);
	iw_run(w);
	CHECK(peer->in_len == 52 && peer->in[3] == 0x41 && peer->in[20 + 15] == 0);
	{
		uint8_t answer[14] = { 0xc1, 0x42 };

		memcpy(answer + 2, peer->in + 20, 4);
		iw_put_bytes(peer, answer, 14);
	}
	peer->in_len = 0;
	iw_run(w);
	CHECK(iw_state(&a) == IBV_QPS_RTS);
	iw_no_wc(&a, a.scq);
	end();
}

/* --- markers --- */

static void append(char *to, const char *hex, int times)
{
	while (times--)
		strcat(to, hex);
}

static char g16[2200], g17[2200], g18[2200];

static void marker_vectors(void)
{
	char byte[3];

	g16[0] = 0;
	append(g16, "0000000001e04143000000000000000000000001" "00000000", 1);
	for (int i = 0; i < 462; i++) {
		snprintf(byte, sizeof(byte), "%02x", i & 255);
		strcat(g16, byte);
	}
	strcat(g16, "0000" "e2a93b50");
	strcat(g16, "002a41430000000000000000000000020000000000000014" "00000000");
	append(g16, "00", 20);
	strcat(g16, "84925898");

	g17[0] = 0;
	append(g17, "0000000001fa4143000000000000000000000001" "00000000", 1);
	append(g17, "00", 488);
	strcat(g17, "000001fc" "38cf64e8");

	g18[0] = 0;
	append(g18, "0000000001f24143000000000000000000000001" "00000000", 1);
	append(g18, "00", 480);
	strcat(g18, "67126e0c");
	strcat(g18, "00174143" "00000004" "000000000000000000000002" "00000000" "68656c6c6f"
		    "000000" "57cd95ee");
}

static void markers_one(const char *hex, uint32_t first, uint32_t second)
{
	struct iw_options out = { .markers_a = true, .rtr = PROTO_RTR_NONE };
	struct iw_options in = { .markers_b = true, .initiator_b = true };
	struct ibv_wc wc;

	begin(&out);
	if (hex == g16)
		for (uint32_t i = 0; i < first; i++)
			a.mem[i] = (uint8_t)i;
	memcpy(a.mem + 1024, "hello", second == 5 ? 5 : 0);
	post(&(struct iw_op){ .code = IBV_WR_SEND, .len = first });
	if (second)
		post(&(struct iw_op){ .code = IBV_WR_SEND, .at = 1024, .len = second });
	iw_got_hex(peer, hex);
	end();

	for (size_t cut = 0; cut < 6; cut++) {
		begin(&in);
		w->net.cut = cut;
		CHECK(iw_recv(&a, 1, 0, 512) == 0 && iw_recv(&a, 2, 1024, 512) == 0);
		iw_put_hex(peer, hex);
		wc = iw_wc(&a, a.rcq, 1, IBV_WC_SUCCESS);
		CHECK(wc.byte_len == first);
		if (second) {
			wc = iw_wc(&a, a.rcq, 2, IBV_WC_SUCCESS);
			CHECK(wc.byte_len == second);
		}
		for (uint32_t i = 0; i < first; i++)
			CHECK(a.mem[i] == (hex == g16 ? (uint8_t)i : 0));
		end();
	}
}

static void golden_markers(void)
{
	marker_vectors();
	markers_one(g16, 462, 24);
	markers_one(g17, 488, 0);
	markers_one(g18, 480, 5);
}

/* Every marker points where it should, or the stream is damaged: 2/0/03. */
static void wrong_marker(void)
{
	struct iw_options in = { .markers_b = true, .initiator_b = true, .no_crc = true };

	marker_vectors();
	for (int bit = 2; bit < 16; bit++) {
		uint8_t bytes[1100];
		size_t n = iw_hex(g16, bytes, sizeof(bytes));

		begin(&in);
		CHECK(iw_recv(&a, 1, 0, 512) == 0 && iw_recv(&a, 2, 1024, 512) == 0);
		bytes[514 + (bit < 8)] ^= (uint8_t)(1 << bit % 8);
		pipe_put(peer, bytes, n);
		iw_wc(&a, a.rcq, 1, IBV_WC_SUCCESS);
		iw_wc(&a, a.rcq, 2, IBV_WC_WR_FLUSH_ERR);
		CHECK(peer->in_len == 28 && peer->in[20] == 0x20 && peer->in[21] == 3);
		iw_event(a.h, IBV_EVENT_QP_FATAL);
		end();
	}
}

/* --- the table of wrong messages --- */

enum { FLUSHED = -1, NO_RECEIVE = -2 };

struct wrong {
	const char *name;
	const char *ulpdu;
	int term;          /* layer, type, code */
	int head;          /* octets of the DDP header repeated, then of the Read Request */
	int read;
	uint32_t room;     /* of the receive */
	int receive;       /* its status, FLUSHED, or NO_RECEIVE: none is posted */
	enum ibv_event_type event;
	unsigned access;   /* of the QP; 0 = all */
};

#define S "00000000"
#define FATAL IBV_EVENT_QP_FATAL
#define ACCESS IBV_EVENT_QP_ACCESS_ERR

/* {K} key, {A} address of the region, {E} 4 octets before its end, {O} key of another domain */
static const struct wrong wrongs[] = {
	{ "tagged DDP version", "c240 {K} {A} 01", 0x1104, 14, 0, 64, FLUSHED, FATAL, 0 },
	{ "untagged DDP version", "4243" S S "00000001" S, 0x1206, 18, 0, 64, FLUSHED, FATAL, 0 },
	{ "RDMAP version", "4183" S S "00000001" S, 0x0205, 18, 0, 64, FLUSHED, FATAL, 0 },
	{ "RDMAP version of a Write", "c100 {K} {A} 01", 0x0205, 14, 0, 64, FLUSHED, FATAL, 0 },
	{ "opcode c", "414c" S S "00000001" S, 0x0206, 18, 0, 64, FLUSHED, FATAL, 0 },
	{ "opcode f", "414f" S S "00000001" S, 0x0206, 18, 0, 64, FLUSHED, FATAL, 0 },
	{ "tagged opcode d", "c14d {K} {A}", 0x0206, 14, 0, 64, FLUSHED, FATAL, 0 },
	{ "Send as tagged", "c143 {K} {A}", 0x0206, 14, 0, 64, FLUSHED, FATAL, 0 },
	{ "Write as untagged", "4140" S S "00000001" S, 0x0206, 18, 0, 64, FLUSHED, FATAL, 0 },
	{ "queue 4", "4143" S "00000004" "00000001" S, 0x1201, 18, 0, 64, FLUSHED, FATAL, 0 },
	{ "queue ffffffff", "4143" S "ffffffff" "00000001" S, 0x1201, 18, 0, 64, FLUSHED, FATAL,
	  0 },
	{ "Send on queue 1", "4143" S "00000001" "00000001" S, 0x1201, 18, 0, 64, FLUSHED, FATAL,
	  0 },
	{ "Read Request on queue 0", "4141" S S "00000001" S "00000005 0000000000000000 00000004 {K} {A}",
	  0x1201, 18, 0, 64, FLUSHED, FATAL, 0 },
	{ "Send message 2 first", "4143" S S "00000002" S "01", 0x1203, 18, 0, 64, FLUSHED, FATAL,
	  0 },
	{ "Send message 0", "4143" S S "00000000" S "01", 0x1203, 18, 0, 64, FLUSHED, FATAL, 0 },
	{ "no receive", "4143" S S "00000001" S "01", 0x1202, 18, 0, 0, NO_RECEIVE, FATAL, 0 },
	{ "no receive, empty", "4143" S S "00000001" S, 0x1202, 18, 0, 0, NO_RECEIVE, FATAL, 0 },
	{ "no receive for immediate data", "4148" S S "00000001" S "0000000000000001", 0x1202, 18,
	  0, 0, NO_RECEIVE, FATAL, 0 },
	{ "offset 1 first", "4143" S S "00000001" "00000001" "01", 0x1204, 18, 0, 64,
	  IBV_WC_WR_FLUSH_ERR, FATAL, 0 },
	{ "Send too long", "4143" S S "00000001" S "0102", 0x1205, 18, 0, 1, IBV_WC_LOC_LEN_ERR,
	  FATAL, 0 },
	{ "Send to a receive of nothing", "4143" S S "00000001" S "01", 0x1205, 18, 0, 0,
	  IBV_WC_LOC_LEN_ERR, FATAL, 0 },
	{ "immediate data too long", "4148" S S "00000001" S "000000000000000001", 0x1205, 18, 0,
	  64, FLUSHED, FATAL, 0 },
	{ "immediate data too short", "4148" S S "00000001" S "00000000000000", 0x02ff, 18, 0, 64,
	  FLUSHED, FATAL, 0 },
	{ "immediate data in two", "0148" S S "00000001" S "0000000000000001", 0x1205, 18, 0, 64,
	  FLUSHED, FATAL, 0 },
	{ "Write to no key", "c140 00123400 {A} 01020304", 0x1100, 14, 0, 64, FLUSHED, ACCESS, 0 },
	{ "Write to a foreign key", "c140 {O} {A} 01", 0x1102, 14, 0, 64, FLUSHED, ACCESS, 0 },
	{ "Write across the end", "c140 {K} {E} 0102030405", 0x1101, 14, 0, 64, FLUSHED, ACCESS,
	  0 },
	{ "Write to address 0", "c140 {K} 0000000000000000 01", 0x1101, 14, 0, 64, FLUSHED, ACCESS,
	  0 },
	{ "Write that wraps", "c140 {K} ffffffffffffffff 0102", 0x1103, 14, 0, 64, FLUSHED, ACCESS,
	  0 },
	{ "Write, QP forbids", "c140 {K} {A} 01", 0x1100, 14, 0, 64, FLUSHED, ACCESS,
	  IBV_ACCESS_REMOTE_READ },
	{ "Write, region forbids", "c140 {R} {A} 01", 0x1100, 14, 0, 64, FLUSHED, ACCESS, 0 },
	{ "Read of no key", "4141" S "00000001" "00000001" S
	  "00005501 0000000000002000 00000010 00123400 0000000000001000", 0x0100, 18, 28, 64, FLUSHED,
	  ACCESS, 0 },
	{ "Read of a foreign key", "4141" S "00000001" "00000001" S
	  "00005501 0000000000002000 00000010 {O} {A}", 0x0103, 18, 28, 64, FLUSHED, ACCESS, 0 },
	{ "Read across the end", "4141" S "00000001" "00000001" S
	  "00005501 0000000000002000 00000005 {K} {E}", 0x0101, 18, 28, 64, FLUSHED, ACCESS, 0 },
	{ "Read that wraps", "4141" S "00000001" "00000001" S
	  "00005501 0000000000002000 00000005 {K} fffffffffffffffe", 0x0104, 18, 28, 64, FLUSHED,
	  ACCESS, 0 },
	{ "Read, region forbids", "4141" S "00000001" "00000001" S
	  "00005501 0000000000002000 00000005 {W} {A}", 0x0102, 18, 28, 64, FLUSHED, ACCESS, 0 },
	{ "Read, QP forbids", "4141" S "00000001" "00000001" S
	  "00005501 0000000000002000 00000005 {K} {A}", 0x0102, 18, 28, 64, FLUSHED, ACCESS,
	  IBV_ACCESS_REMOTE_WRITE },
	{ "Read message 2 first", "4141" S "00000001" "00000002" S
	  "00005501 0000000000002000 00000005 {K} {A}", 0x1203, 18, 0, 64, FLUSHED, FATAL, 0 },
	{ "Read at an offset", "4141" S "00000001" "00000001" "00000004"
	  "00005501 0000000000002000 00000005 {K} {A}", 0x1204, 18, 0, 64, FLUSHED, FATAL, 0 },
	{ "Read Request too long", "4141" S "00000001" "00000001" S
	  "00005501 0000000000002000 00000005 {K} {A} 00", 0x1205, 18, 0, 64, FLUSHED, FATAL, 0 },
	{ "Read Request too short", "4141" S "00000001" "00000001" S "00005501", 0x02ff, 18, 0, 64,
	  FLUSHED, FATAL, 0 },
	{ "atomic on no key", "414a" S "00000001" "00000001" S "00000000 00000011 00123400 {A}"
	  "0000000000000005 0000000000000000 0000000000000000 ffffffffffffffff", 0x0100, 18, 0, 64,
	  FLUSHED, ACCESS, 0 },
	{ "atomic, QP forbids", "414a" S "00000001" "00000001" S "00000000 00000011 {K} {A}"
	  "0000000000000005 0000000000000000 0000000000000000 ffffffffffffffff", 0x0102, 18, 0, 64,
	  FLUSHED, ACCESS, IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ },
	{ "atomic, region forbids", "414a" S "00000001" "00000001" S "00000000 00000011 {W} {A}"
	  "0000000000000005 0000000000000000 0000000000000000 ffffffffffffffff", 0x0102, 18, 0, 64,
	  FLUSHED, ACCESS, 0 },
	{ "atomic past the end", "414a" S "00000001" "00000001" S "00000000 00000011 {K} {Z}"
	  "0000000000000005 0000000000000000 0000000000000000 ffffffffffffffff", 0x0101, 18, 0, 64,
	  FLUSHED, ACCESS, 0 },
	{ "atomic, crooked", "414a" S "00000001" "00000001" S "00000000 00000011 {K} {E}"
	  "0000000000000005 0000000000000000 0000000000000000 ffffffffffffffff", 0x0207, 18, 0, 64,
	  FLUSHED, IBV_EVENT_QP_REQ_ERR, 0 },
	{ "atomic of unknown kind", "414a" S "00000001" "00000001" S "00000001 00000011 {K} {A}"
	  "0000000000000005 0000000000000000 0000000000000000 ffffffffffffffff", 0x0206, 18, 0, 64,
	  FLUSHED, FATAL, 0 },
	{ "Read Response unasked", "c142 00005501 0000000000002000 01", 0x1100, 14, 0, 64, FLUSHED,
	  FATAL, 0 },
	{ "Atomic Response unasked", "414b" S "00000003" "00000001" S "00000011 0000000000000001",
	  0x02ff, 18, 0, 64, FLUSHED, FATAL, 0 },
	{ "Atomic Response message 2", "414b" S "00000003" "00000002" S "00000011 0000000000000001",
	  0x1203, 18, 0, 64, FLUSHED, FATAL, 0 },
	{ "Invalidate of no key", "4144 00123400" S "00000001" S "01", 0x0109, 18, 0, 64,
	  IBV_WC_REM_INV_REQ_ERR, ACCESS, 0 },
	{ "Invalidate of a region", "4146 {K}" S "00000001" S "01", 0x0109, 18, 0, 64,
	  IBV_WC_REM_INV_REQ_ERR, ACCESS, 0 },
	{ "too short for untagged", "4143" S S "00000001 0000", 0x2003, 0, 0, 64, FLUSHED, FATAL,
	  0 },
	{ "too short for tagged", "c140 {K} 00000000000000", 0x2003, 0, 0, 64, FLUSHED, FATAL, 0 },
	{ "nothing at all", "", 0x2003, 0, 0, 64, FLUSHED, FATAL, 0 },
};

struct names {
	struct eng_pd *pd;
	struct eng_mkey *other, *readable, *writable;
};

static struct eng_mkey *region(struct eng_pd *pd, unsigned access)
{
	struct eng_mr_spec s = { .addr = (uintptr_t)a.mem, .iova = (uintptr_t)a.mem,
				 .length = a.mem_len, .access = access };
	struct eng_mkey *mr;

	CHECK(eng_mr_reg(pd, &s, &mr) == 0);
	return mr;
}

static void names_make(struct names *n)
{
	CHECK(eng_pd_alloc(&a.h->dev, &n->pd) == 0);
	n->other = region(n->pd, 15);
	n->readable = region(a.h->pd, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);
	n->writable = region(a.h->pd, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
}

static void names_free(struct names *n)
{
	CHECK(eng_mr_dereg(n->other) == 0 && eng_mr_dereg(n->readable) == 0 &&
	      eng_mr_dereg(n->writable) == 0);
	CHECK(eng_pd_dealloc(n->pd) == 0);
}

/* Puts the names of this run into a message. */
static size_t message(const struct names *n, const char *text, uint8_t *out)
{
	char hex[512], *at = hex;

	for (; *text; text++) {
		if (*text != '{') {
			*at++ = *text;
			continue;
		}
		switch (text[1]) {
		case 'K': at += sprintf(at, "%08x", a.mr->key); break;
		case 'O': at += sprintf(at, "%08x", n->other->key); break;
		case 'R': at += sprintf(at, "%08x", n->readable->key); break;
		case 'W': at += sprintf(at, "%08x", n->writable->key); break;
		case 'A': at += sprintf(at, "%016llx", (long long)iw_at(&a, 256)); break;
		case 'E': at += sprintf(at, "%016llx", (long long)iw_at(&a, a.mem_len - 4)); break;
		case 'Z': at += sprintf(at, "%016llx", (long long)iw_at(&a, a.mem_len)); break;
		}
		text += 2;
	}
	*at = 0;
	return iw_hex(hex, out, 256);
}

static void want_terminate(const struct wrong *x, const uint8_t *ulpdu, size_t n)
{
	static const uint8_t head[] = { 0x41, 0x47, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 0 };
	uint8_t want[128];
	char hex[300];
	size_t at = sizeof(head);

	memcpy(want, head, at);
	want[at++] = (uint8_t)(x->term >> 8);
	want[at++] = (uint8_t)x->term;
	want[at++] = x->read ? 0xe0 : x->head ? 0xc0 : 0;
	want[at++] = 0;
	if (x->head) {
		want[at++] = (uint8_t)(n >> 8);
		want[at++] = (uint8_t)n;
		memcpy(want + at, ulpdu, (size_t)(x->head + x->read));
		at += (size_t)(x->head + x->read);
	}
	for (size_t i = 0; i < at; i++)
		sprintf(hex + 2 * i, "%02x", want[i]);
	iw_got(peer, hex);
}

static void one_wrong(const struct wrong *x, size_t cut)
{
	struct iw_options o = { .initiator_b = true, .access = x->access };
	struct names n;
	uint8_t ulpdu[256];
	size_t len;

	begin(&o);
	w->net.cut = cut;
	names_make(&n);
	len = message(&n, x->ulpdu, ulpdu);
	if (x->receive != NO_RECEIVE) {
		CHECK(iw_recv(&a, 1, 0, x->room) == 0);
		CHECK(iw_recv(&a, 2, 64, 64) == 0);
	}
	memset(a.mem, 0xee, a.mem_len);
	iw_put_bytes(peer, ulpdu, len);
	iw_run(w);
	want_terminate(x, ulpdu, len);
	iw_event(a.h, x->event);
	iw_event(a.h, -1);
	if (x->receive != NO_RECEIVE) {
		iw_wc(&a, a.rcq, 1, x->receive == FLUSHED ? IBV_WC_WR_FLUSH_ERR
							   : (enum ibv_wc_status)x->receive);
		iw_wc(&a, a.rcq, 2, IBV_WC_WR_FLUSH_ERR);
	}
	iw_no_wc(&a, a.rcq);
	CHECK(iw_state(&a) == IBV_QPS_ERR);
	iw_ended(&a, ECONNABORTED);
	CHECK(peer->fin && !peer->error);
	for (size_t i = 64; i < a.mem_len; i++)
		CHECK(a.mem[i] == 0xee);
	names_free(&n);
	end();
}

static void all_wrongs(void)
{
	for (size_t i = 0; i < sizeof(wrongs) / sizeof(*wrongs); i++)
		for (size_t cut = 0; cut < 2; cut++) {
			fprintf(stderr, "  %s\n", wrongs[i].name);
			one_wrong(&wrongs[i], cut);
		}
}

static void golden_terminates(void)
{
	struct iw_options o = { .initiator_b = true };
	uint8_t bad[64];
	size_t n;

	begin(&o);
	iw_put(peer, "4141 00000000 00000001 00000001 00000000 00005501 0000000000002000 00000010"
		     "00123400 0000000000001000");
	iw_run(w);
	iw_got_hex(peer, G10);
	end();
	begin(&o);
	n = iw_hex(G4, bad, sizeof(bad));
	bad[25] ^= 1;
	pipe_put(peer, bad, n);
	iw_run(w);
	iw_got_hex(peer, G11);
	end();
}

/* Of empty tagged messages neither key nor place is looked at; reads of nothing are answered. */
static void empty_ones(void)
{
	struct iw_options o = { .initiator_b = true, .access = IBV_ACCESS_LOCAL_WRITE };
	struct ibv_wc wc;

	begin(&o);
	iw_put(peer, "c140 00123400 ffffffffffffffff");
	iw_put(peer, "4141 00000000 00000001 00000001 00000000 00005501 0000000000002000 00000000"
		     "00123400 0000000000001000");
	iw_run(w);
	iw_got(peer, "c142 00005501 0000000000002000");
	CHECK(iw_recv(&a, 7, 0, 0) == 0);
	iw_put(peer, "4143 00000000 00000000 00000001 00000000");
	wc = iw_wc(&a, a.rcq, 7, IBV_WC_SUCCESS);
	CHECK(wc.byte_len == 0 && wc.opcode == IBV_WC_RECV);
	CHECK(iw_state(&a) == IBV_QPS_RTS);
	end();
}

/* --- the requester --- */

static uint32_t get32(const uint8_t *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

/* A read of 8 octets is under way; returns its sink tag. */
static uint32_t start_read(uint64_t id)
{
	uint32_t stag;

	post(&(struct iw_op){ .code = IBV_WR_RDMA_READ, .id = id, .at = 64, .len = 8, .rkey = 0x100,
			      .remote = 0x1000 });
	CHECK(peer->in_len >= 52 && peer->in[3] == 0x41);
	stag = get32(peer->in + peer->in_len - 32);
	peer->in_len = 0;
	return stag;
}

static void answer(uint32_t stag, uint64_t to, unsigned n, bool last)
{
	char hex[100];
	int at = sprintf(hex, "%s42 %08x %016llx", last ? "c1" : "81", stag, (long long)to);

	while (n--)
		at += sprintf(hex + at, "aa");
	iw_put(peer, hex);
}

static void wrong_answers(void)
{
	static const struct {
		uint32_t stag_diff;
		uint64_t to;
		unsigned n;
		bool last;
		int code;
	} rows[] = {
		{ 1, 0, 8, true, 0 },  { 0x100, 0, 8, true, 0 }, { 0, 1, 8, true, 1 },
		{ 0, 0, 7, true, 1 },  { 0, 0, 9, true, 1 },     { 0, 0, 8, false, 1 },
		{ 0, ~0ull, 8, true, 1 }, { 0, 0, 0, true, 1 },
	};
	struct iw_options o = { 0 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		uint32_t stag;

		begin(&o);
		stag = start_read(1);
		CHECK(iw_post(&a, &(struct iw_op){ .code = IBV_WR_SEND, .id = 2, .len = 1,
						   .flags = IBV_SEND_FENCE }) == 0);
		answer(stag + rows[i].stag_diff, rows[i].to, rows[i].n, rows[i].last);
		iw_wc(&a, a.scq, 1, IBV_WC_BAD_RESP_ERR);
		iw_wc(&a, a.scq, 2, IBV_WC_WR_FLUSH_ERR);
		CHECK(peer->in[20] == 0x11 && peer->in[21] == rows[i].code &&
		      peer->in[22] == 0xc0);
		iw_event(a.h, FATAL);
		end();
	}
}

/* As captured: siw that was busy with a Send of four octets (2a000000) when a Read of none came. */
static void answer_of_siw(void)
{
	struct iw_options o = { 0 };
	char hex[64];

	begin(&o);
	post(&(struct iw_op){ .code = IBV_WR_RDMA_READ, .id = 1, .rkey = 0x100, .remote = 0x1000 });
	CHECK(peer->in_len == 52 && get32(peer->in + 32) == 0);
	sprintf(hex, "c142 %08x 0000000000000000 2a000000", get32(peer->in + 20));
	peer->in_len = 0;
	iw_put(peer, hex);
	iw_wc(&a, a.scq, 1, IBV_WC_BAD_RESP_ERR);
	CHECK(peer->in[20] == 0x11 && peer->in[21] == 1 && peer->in[22] == 0xc0);
	iw_event(a.h, FATAL);
	end();
}

static void answer_twice(void)
{
	struct iw_options o = { 0 };
	uint32_t stag;

	begin(&o);
	stag = start_read(1);
	answer(stag, 0, 3, false);
	answer(stag, 3, 5, true);
	iw_wc(&a, a.scq, 1, IBV_WC_SUCCESS);
	CHECK(a.mem[63] == 0 && a.mem[64] == 0xaa && a.mem[71] == 0xaa && a.mem[72] == 0);
	answer(stag, 0, 8, true);
	iw_run(w);
	CHECK(iw_state(&a) == IBV_QPS_ERR && peer->in[20] == 0x11 && peer->in[21] == 0);
	end();
}

/* A Terminate names a read by its sink tag, else by its number. */
static void terminate_names(void)
{
	static const struct {
		const char *bits; /* layer, type, code, flags */
		bool read_header;
		enum ibv_wc_status want;
	} rows[] = {
		{ "0100 e000", true, IBV_WC_REM_ACCESS_ERR },
		{ "0102 e000", true, IBV_WC_REM_ACCESS_ERR },
		{ "0206 c000", false, IBV_WC_REM_INV_REQ_ERR },
		{ "0207 c000", false, IBV_WC_REM_OP_ERR },
		{ "1203 c000", false, IBV_WC_REM_OP_ERR },
		{ "1007 0700", true, IBV_WC_REM_ACCESS_ERR }, /* as siw writes it */
	};
	struct iw_options o = { 0 };

	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		for (int which = 0; which < 3; which++) {
			bool siw = rows[i].bits[0] == '1' && rows[i].bits[5] == '0';
			uint32_t stag[3];
			char hex[400], why[500];
			int n;

			begin(&o);
			for (int k = 0; k < 3; k++)
				stag[k] = start_read((uint64_t)k + 1);
			n = sprintf(hex, "4147 00000000 00000002 00000001 00000000 %s 002e 4141"
				    "00000000 00000001 %08x 00000000", rows[i].bits,
				    siw ? 8 : which + 1);
			if (rows[i].read_header)
				sprintf(hex + n, "%08x 0000000000000000 00000008 00000100"
					"0000000000001000", stag[which]);
			iw_put(peer, hex);
			for (int k = 0; k < 3; k++)
				iw_wc(&a, a.scq, (uint64_t)k + 1,
				      k == which ? rows[i].want : IBV_WC_WR_FLUSH_ERR);
			iw_event(a.h, FATAL);
			iw_got_hex(peer, "");
			iw_ended(&a, ECONNABORTED);
			CHECK(eng_why_last(&a.h->dev, 0, why, sizeof(why)) == 0);
			CHECK_MSG(!strncmp(why, "the peer answered: ", 19) &&
				  strstr(why, "10.0.0.3"), "%s", why);
			end();
		}
}

/* The first word of a siw initiator that gives up the set-up is MPA's, not RDMAP's. */
static void terminate_first(void)
{
	struct iw_options o = { .initiator_b = true };
	uint32_t stag;

	begin(&o);
	stag = start_read(1);
	(void)stag;
	iw_put(peer, "4147 00000000 00000002 00000001 00000000 02060000 00000000");
	iw_wc(&a, a.scq, 1, IBV_WC_WR_FLUSH_ERR);
	iw_event(a.h, FATAL);
	end();
}

static void terminate_bare(void)
{
	struct iw_options o = { 0 };

	begin(&o);
	iw_put(peer, "c140 00000001 0000000000000000");
	start_read(1);
	CHECK(iw_recv(&a, 9, 0, 8) == 0);
	iw_put_hex(peer, "0016414700000000000000020000000100000000200600006540fb1b"); /* siw: 0/2/06 */
	iw_wc(&a, a.scq, 1, IBV_WC_REM_INV_REQ_ERR);
	iw_wc(&a, a.rcq, 9, IBV_WC_WR_FLUSH_ERR);
	end();
	begin(&o);
	iw_put_hex(peer, "0026414700000000000000020000000100000000110003000004c140001234000000000000000000b3659bdc");
	iw_run(w);
	CHECK(iw_state(&a) == IBV_QPS_ERR);
	end();
}

/* --- local faults --- */

static void local_faults(void)
{
	struct iw_options o = { 0 };

	begin(&o); /* a bad key of a Send behind a good one */
	CHECK(iw_post(&a, &(struct iw_op){ .code = IBV_WR_SEND, .id = 1, .len = 1 }) == 0);
	CHECK(iw_post(&a, &(struct iw_op){ .code = IBV_WR_SEND, .id = 2, .len = 1, .lkey = 77 }) == 0);
	iw_wc(&a, a.scq, 1, IBV_WC_SUCCESS);
	iw_wc(&a, a.scq, 2, IBV_WC_LOC_PROT_ERR);
	iw_event(a.h, FATAL);
	iw_run(w);
	CHECK(peer->in_len == 28 + 28 && peer->in[28 + 20] == 0 && peer->in[28 + 22] == 0);
	iw_ended(&a, ECONNABORTED);
	end();

	begin(&o); /* ... and behind a read, whose turn comes first */
	{
		uint32_t stag = start_read(1);

		CHECK(iw_post(&a, &(struct iw_op){ .code = IBV_WR_SEND, .id = 2, .len = 1,
						   .lkey = 77 }) == 0);
		CHECK(iw_post(&a, &(struct iw_op){ .code = IBV_WR_SEND, .id = 3, .len = 1 }) == 0);
		iw_no_wc(&a, a.scq);
		answer(stag, 0, 8, true);
		/* Something wrong right behind does not change whose fault it was. */
		iw_put(peer, "414f 00000000 00000000 00000001 00000000");
		iw_wc(&a, a.scq, 1, IBV_WC_SUCCESS);
		iw_wc(&a, a.scq, 2, IBV_WC_LOC_PROT_ERR);
		iw_wc(&a, a.scq, 3, IBV_WC_WR_FLUSH_ERR);
	}
	end();

	begin(&o); /* the sink of a read */
	post(&(struct iw_op){ .code = IBV_WR_RDMA_READ, .id = 1, .len = 8, .lkey = 77, .rkey = 1 });
	answer(get32(peer->in + 20), 0, 8, true);
	iw_wc(&a, a.scq, 1, IBV_WC_LOC_PROT_ERR);
	end();

	begin(&o); /* the buffer of a receive */
	{
		struct ibv_sge sge = { iw_at(&a, 0), 8, 77 };
		struct ibv_recv_wr wr = { .wr_id = 5, .sg_list = &sge, .num_sge = 1 }, *bad;

		CHECK(eng_post_recv(a.qp, &wr, &bad) == 0);
	}
	iw_put(peer, "4143 00000000 00000000 00000001 00000000 01");
	iw_wc(&a, a.rcq, 5, IBV_WC_LOC_PROT_ERR);
	CHECK(peer->in[20] == 0 && peer->in[22] == 0);
	end();

	begin(&o); /* pages that are gone */
	CHECK(munmap(a.mem + 8192, 4096) == 0);
	post(&(struct iw_op){ .code = IBV_WR_RDMA_WRITE, .id = 1, .at = 4096, .len = 8192 });
	iw_wc(&a, a.scq, 1, IBV_WC_LOC_PROT_ERR);
	end();
}

/* A read that was half answered when its memory went: the rest is what the Terminate names. */
static void read_cut_off(void)
{
	struct iw_options o = { .initiator_b = true };
	uint8_t req[64];
	char hex[200];
	size_t n;

	begin(&o);
	CHECK(munmap(a.mem + 8192, 4096) == 0);
	sprintf(hex, "4141 00000000 00000001 00000001 00000000 00005501 0000000000002000 00003000"
		"%08x %016llx", a.mr->key, (long long)iw_at(&a, 0));
	n = iw_hex(hex, req, sizeof(req));
	iw_put_bytes(peer, req, n);
	iw_run(w);
	/* Five whole segments of 1428 octets, the sixth touches the hole. */
	CHECK(peer->in_len == 5 * 1448 + 20 + 4 + 2 + 18 + 28 + 4);
	peer->in += 5 * 1448;
	peer->in_len -= 5 * 1448;
	sprintf(hex, "4147 00000000 00000002 00000001 00000000 0100 e000 002e 4141 00000000 00000001"
		"00000001 00000000 00005501 %016x %08x %08x %016llx", 0x2000 + 5 * 1428,
		0x3000 - 5 * 1428, a.mr->key, (long long)iw_at(&a, 5 * 1428));
	iw_got(peer, hex);
	end();
}

/* --- depth --- */

static void ird_exceeded(void)
{
	struct iw_options o = { .initiator_b = true, .ird = 2 };
	char hex[200];

	begin(&o);
	peer->mate->room = 0; /* answers cannot leave */
	for (unsigned i = 1; i <= 3; i++) {
		sprintf(hex, "4141 00000000 00000001 %08x 00000000 00005501 0000000000002000 00000004"
			"%08x %016llx", i, a.mr->key, (long long)iw_at(&a, 0));
		iw_put(peer, hex);
	}
	iw_run(w);
	iw_event(a.h, FATAL);
	peer->mate->room = SIZE_MAX;
	iw_run(w);
	CHECK(peer->in_len == 48 && peer->in[20] == 2 && peer->in[21] == 7 && peer->in[22] == 0xc0);
	end();
}

static void ord_kept(void)
{
	struct iw_options o = { .ord = 2 };
	uint32_t stag;

	begin(&o);
	for (uint64_t i = 1; i <= 5; i++)
		CHECK(iw_post(&a, &(struct iw_op){ .code = IBV_WR_RDMA_READ, .id = i, .len = 1,
						   .rkey = 1 }) == 0);
	for (uint64_t i = 1; i <= 5; i++) {
		iw_run(w);
		CHECK(peer->in_len == (i < 5 ? 104 : 52));
		stag = get32(peer->in + 20);
		peer->in += 52;
		peer->in_len -= 52;
		answer(stag, 0, 1, true);
		iw_wc(&a, a.scq, i, IBV_WC_SUCCESS);
	}
	end();
}

/* Numbers go round. */
static void numbers_wrap(void)
{
	struct iw_options o = { 0 };
	uint32_t msn = 1;

	begin(&o);
	for (int i = 0; i < 3; i++) {
		char hex[100];

		CHECK(iw_recv(&a, 1, 0, 8) == 0);
		sprintf(hex, "4143 00000000 00000000 %08x 00000000 01", msn++);
		iw_put(peer, hex);
		iw_wc(&a, a.rcq, 1, IBV_WC_SUCCESS);
	}
	end();
}

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "-", "golden vectors out", golden_out },
		{ "-", "golden requests", golden_requests },
		{ "-", "golden vectors in", golden_in },
	{ "-", "atomics with masks", masked_atomics },
		{ "-", "Read as ready to receive", golden_read_rtr },
		{ "-", "golden vectors with markers", golden_markers },
		{ "-", "a marker that points elsewhere", wrong_marker },
		{ "-", "golden Terminates", golden_terminates },
		{ "-", "wrong messages", all_wrongs },
		{ "-", "empty messages", empty_ones },
		{ "-", "wrong answers", wrong_answers },
		{ "-", "an empty answer that is not", answer_of_siw },
		{ "-", "an answer in two, then again", answer_twice },
		{ "-", "a Terminate names a read", terminate_names },
		{ "-", "a Terminate as first word", terminate_first },
		{ "-", "Terminates of siw", terminate_bare },
		{ "-", "local faults", local_faults },
		{ "-", "a read cut off", read_cut_off },
		{ "-", "more reads than agreed", ird_exceeded },
		{ "-", "no more reads than agreed", ord_kept },
		{ "-", "numbers", numbers_wrap },
	};

	return RUN_CASES(cases, argc, argv);
}
