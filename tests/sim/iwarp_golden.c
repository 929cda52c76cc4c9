/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Golden vectors of iWARP: each message byte by byte, out and in, with markers and without (RFC
 * 5040 4, RFC 5041 4, RFC 5044 4, RFC 7306 4..6).
 */
#include "iwarp_peer.h"

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
 * Masks, which a peer may send though no verb of ours does. An add whose mask marks the top bits of
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
	iw_got_hex(peer, ""); /* nothing before the peer's message */
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
	};

	return RUN_CASES(cases, argc, argv);
}
