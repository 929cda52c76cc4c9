/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Errors that iWARP finds: the answer to each wrong message (RFC 5040 4.8 and figure 10, RFC 5041
 * 7, RFC 7306 8), and messages that look wrong but are not.
 */
#include "engine/mr.h"
#include "engine/pd.h"
#include "iwarp_peer.h"

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

/* --- answers to reads --- */

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

int main(int argc, char **argv)
{
	static const struct test_case cases[] = {
		{ "-", "wrong messages", all_wrongs },
		{ "-", "empty messages", empty_ones },
		{ "-", "wrong answers", wrong_answers },
		{ "-", "an empty answer that is not", answer_of_siw },
		{ "-", "an answer in two, then again", answer_twice },
		{ "-", "more reads than agreed", ird_exceeded },
	};

	return RUN_CASES(cases, argc, argv);
}
