/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Properties of iWARP alone: states that a stream moves, its end, Terminate messages, reads into
 * memory without remote write. A peer that must misbehave or be silent is a plain TCP socket, and
 * sends frames that are checked elsewhere.
 */
#include "conf.h"

#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define RESET IBV_QPS_RESET
#define INIT IBV_QPS_INIT
#define RTR IBV_QPS_RTR
#define RTS IBV_QPS_RTS
#define SQD IBV_QPS_SQD
#define SQE IBV_QPS_SQE
#define ERR IBV_QPS_ERR

/* --- states --- */

/* Transitions of ibv_modify_qp. RTS is left only, but for the step that stays there. */
static const bool steps[7][7] = {
	/*              RESET  INIT   RTR    RTS    SQD    SQE    ERR */
	[RESET] =     { true,  true,  false, false, false, false, false },
	[INIT] =      { true,  true,  true,  false, false, false, true },
	[RTR] =       { true,  false, true,  false, false, false, true },
	[RTS] =       { true,  false, false, true,  true,  false, true },
	[SQD] =       { true,  false, false, false, true,  false, true },
	[ERR] =       { true,  false, false, false, false, false, true },
};

/* With attributes that InfiniBand asks for, and a socket that stays open and mute. */
static void bring(struct cf_side *s, int state)
{
	cf_move(s, RESET, NULL);
	CF_EQ(cf_state(s->qp), INIT); /* as RNICs report a queue pair that is idle */
	if (state == RESET)
		return;
	if (state == RTS || state == SQD)
		cf_stream_bare(s);
	else
		cf_up(s, INIT, NULL);
	if (state != RTS && state != INIT)
		cf_move(s, state, &(struct cf_addr){ .gid = cf.gid });
	CF_EQ(cf_state(s->qp), state);
}

static void each_step(void)
{
	struct cf_opt o = cf_opt();
	struct cf_addr no_peer = { 0 };
	struct cf_side s;

	cf_side(&s, &o);
	for (int from = RESET; from <= ERR; from++) {
		for (int to = RESET; from != SQE && to <= ERR; to++) {
			struct ibv_qp_attr a, before, after;
			int mask, rc;

			bring(&s, from);
			before = cf_query(s.qp);
			mask = cf_attr(&s, to, &no_peer, &a);
			rc = ibv_modify_qp(s.qp, &a, mask);
			if (rc != (steps[from][to] ? 0 : EINVAL))
				CF_DIE("%d -> %d gave %d", from, to, rc);
			after = cf_query(s.qp);
			if (rc && memcmp(&before, &after, sizeof(before)))
				CF_DIE("%d -> %d was refused but changed something", from, to);
		}
	}
	bring(&s, INIT);
	for (int to = 7; to < 256; to += 248)
		CF_ERR(ibv_modify_qp(s.qp, &(struct ibv_qp_attr){ .qp_state = to }, IBV_QP_STATE),
		       EINVAL);
}

static void posts_by_state(void)
{
	struct cf_opt o = cf_opt();
	struct cf_wr w = { .op = IBV_WR_SEND, .len = 10 };
	struct cf_side a, b;

	cf_side(&a, &o);
	cf_side(&b, &o);
	CF_ERR(cf_recv_try(&b, 1, 0, 100, 0), EINVAL);
	CF_ERR(cf_post_try(&a, &w), EINVAL);
	cf_up(&a, INIT, NULL);
	cf_up(&b, INIT, NULL);
	CF_ERR(cf_post_try(&a, &w), EINVAL);
	cf_recv(&b, 2, 0, 100);
	cf_join(&a, &b);
	cf_quiet(a.scq);
	cf_post(&a, .op = IBV_WR_SEND, .id = 7, .len = 20);
	cf_wc(a.scq, 7, SUCCESS);
	CF_EQ(cf_wc(b.rcq, 2, SUCCESS).byte_len, 20);
	cf_quiet(a.scq);
}

/* --- the end --- */

static void ended(struct cf_side *s, uint64_t rid)
{
	cf_wc(s->rcq, rid, WR_FLUSH_ERR);
	cf_await_state(s->qp, ERR);
	cf_no_event(s->ctx);
}

/* Everything that was posted arrives, then the stream ends at both. */
static void graceful(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	o.len = 1 << 20;
	cf_pair(&a, &b, &o);
	cf_fill(a.buf, o.len, 4);
	cf_recv(&a, 9, 0, 64);
	cf_recv(&b, 1, 0, 64);
	cf_recv(&b, 2, 0, 64);
	cf_post(&a, .op = IBV_WR_RDMA_WRITE, .id = 3, .len = o.len, .to = &b);
	cf_post(&a, .op = IBV_WR_SEND, .id = 4, .len = 64);
	cf_move(&a, SQD, NULL);
	cf_wc(a.scq, 3, SUCCESS);
	cf_wc(a.scq, 4, SUCCESS);
	cf_wc(b.rcq, 1, SUCCESS);
	CF_TRUE(!memcmp(b.buf + 64, a.buf + 64, o.len - 64));
	ended(&b, 2);
	cf_wc(a.rcq, 9, WR_FLUSH_ERR);
	cf_await_state(a.qp, ERR);
}

static void by_err(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	cf_pair(&a, &b, &o);
	cf_recv(&a, 1, 0, 64);
	cf_recv(&b, 2, 0, 64);
	cf_move(&a, ERR, NULL);
	ended(&a, 1);
	ended(&b, 2);
}

static void by_reset(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	cf_pair(&a, &b, &o);
	cf_recv(&a, 1, 0, 64);
	cf_recv(&b, 2, 0, 64);
	cf_move(&a, RESET, NULL);
	ended(&b, 2);
	cf_quiet(a.rcq);
	cf_again(&a, &b);
	cf_recv(&b, 3, 0, 64);
	cf_post(&a, .op = IBV_WR_SEND, .id = 4, .len = 64);
	cf_wc(a.scq, 4, SUCCESS);
	cf_wc(b.rcq, 3, SUCCESS);
}

static void by_destroy(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	cf_pair(&a, &b, &o);
	cf_recv(&b, 2, 0, 64);
	cf_post(&b, .op = IBV_WR_RDMA_WRITE, .id = 3, .len = 64, .to = &a);
	cf_wc(b.scq, 3, SUCCESS);
	cf_drop(a.qp);
	ended(&b, 2);
}

/* --- the peer is a socket --- */

static size_t unhex(const char *hex, uint8_t *out)
{
	size_t n = strlen(hex) / 2;
	unsigned x;

	for (size_t i = 0; i < n; i++) {
		char two[3] = { hex[2 * i], hex[2 * i + 1], 0 };

		x = strtoul(two, NULL, 16);
		out[i] = x;
	}
	return n;
}

static void say(int fd, const char *hex)
{
	uint8_t frame[256];
	size_t n = unhex(hex, frame);

	if (send(fd, frame, n, MSG_NOSIGNAL) != (ssize_t)n)
		CF_DIE("the stream is gone");
}

/* One FPDU without markers; 0 = the stream has ended. */
static size_t hear_any(int fd, uint8_t *frame, size_t room)
{
	size_t have = 0, want = 2;

	while (have < want) {
		ssize_t n;

		if (!cf_readable(fd, CF_WAIT_MS))
			CF_DIE("the stream is silent");
		n = read(fd, frame + have, want - have);
		if (n <= 0 && have)
			CF_DIE("the stream ends within a frame");
		if (n <= 0)
			return 0;
		have += n;
		if (have == 2)
			want = ((2 + (frame[0] << 8 | frame[1]) + 3) & ~3) + 4;
		CF_TRUE(want <= room);
	}
	return have;
}

/* A Write without octets: a peer that says nothing gets a few of them (proto/iwarp/qp.c). */
static bool is_nudge(const uint8_t *frame, size_t n)
{
	return n == 20 && (frame[2] & 0x80) && (frame[3] & 15) == 0;
}

static size_t hear(int fd, uint8_t *frame, size_t room)
{
	size_t n;

	do
		n = hear_any(fd, frame, room);
	while (is_nudge(frame, n));
	return n;
}

static void hear_nothing(int fd)
{
	uint8_t f[256];

	while (cf_readable(fd, CF_QUIET_MS))
		CF_TRUE(is_nudge(f, hear_any(fd, f, sizeof(f))));
}

/* The last frame of the stream is this Terminate. */
static void hear_terminate(int fd, int term)
{
	uint8_t f[2048];

	if (!hear(fd, f, sizeof(f)))
		CF_DIE("no Terminate 0x%04x", term);
	CF_EQ(f[3] & 15, 7);
	CF_EQ(f[20] << 8 | f[21], term);
	CF_EQ(hear(fd, f, sizeof(f)), 0);
}

/* Frames with MSN 1 and key 00abcd01, which no region has. CRCs are of an independent table. */
#define SEND_HELLO "001741430000000000000000000000010000000068656c6c6f000000b990b10c"
#define WRITE_NOTHING "000ec140000000010000000000000000ebd34c5f"
#define WRITE_ABCD "0012c14000abcd010000000000010000414243441f65e35e"
#define READ_4 "002e41410000000000000001000000010000000000005501000000000000200000" \
	"00000400abcd010000000000010000bac10dcc"
#define TERM_CRC "0016414700000000000000020000000100000000200200007fe42585"
#define SEND_BAD_CRC "001741430000000000000000000000010000000068656c6c6f000000b990b10d"

static const struct wrong {
	const char *name, *frame;
	bool recv; /* one is posted */
	int status; /* of that */
	int event, term;
} wrongs[] = {
	{ "a Send for which no receive is posted", SEND_HELLO, false, 0, IBV_EVENT_QP_FATAL, 0x1202 },
	{ "a CRC", SEND_BAD_CRC, true, IBV_WC_WR_FLUSH_ERR, IBV_EVENT_QP_FATAL, 0x2002 },
	{ "the key of a Write", WRITE_ABCD, true, IBV_WC_WR_FLUSH_ERR, IBV_EVENT_QP_ACCESS_ERR,
	  0x1100 },
	{ "the key of a Read", READ_4, true, IBV_WC_WR_FLUSH_ERR, IBV_EVENT_QP_ACCESS_ERR, 0x0100 },
};

static void wrong_frames(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side s;

	cf_side(&s, &o);
	for (unsigned i = 0; i < sizeof(wrongs) / sizeof(*wrongs); i++) {
		const struct wrong *w = &wrongs[i];
		int fd;

		cf_move(&s, RESET, NULL);
		cf_drop_events(s.ctx);
		fd = cf_stream_bare(&s);
		if (w->recv)
			cf_recv(&s, i, 0, 64);
		say(fd, WRITE_NOTHING);
		say(fd, w->frame);
		hear_terminate(fd, w->term);
		if (w->recv)
			cf_wc_at(__FILE__, __LINE__, s.rcq, i, w->status);
		CF_TRUE(cf_event_at(__FILE__, __LINE__, s.ctx, w->event).element.qp == s.qp);
		cf_await_state(s.qp, ERR);
		cf_no_event(s.ctx);
		cf_all_zero(s.buf, 64);
	}
}

static uint32_t crc32c(const uint8_t *p, size_t n)
{
	uint32_t c = UINT32_MAX;

	while (n--) {
		c ^= *p++;
		for (int i = 0; i < 8; i++)
			c = c >> 1 ^ (c & 1 ? 0x82f63b78 : 0);
	}
	return htole32(~c);
}

/* Remote protection, STag; with the headers of the Read Request. */
static void say_refused(int fd, const uint8_t *request)
{
	uint8_t f[76] = { 0, 70, 0x41, 0x47, [11] = 2, [15] = 1, [20] = 0x01, 0, 0xe0, 0, 0, 46 };
	uint32_t crc;

	memcpy(f + 26, request + 2, 18 + 28);
	crc = crc32c(f, 72);
	memcpy(f + 72, &crc, 4);
	CF_EQ(send(fd, f, sizeof(f), MSG_NOSIGNAL), sizeof(f));
}

/* A Terminate that names a read ends that read with the reason; everything else is flushed.
 * named: 0 the first, 1 the second; -1: none, the Terminate is about a CRC. */
static void terminated_for(int named)
{
	struct cf_opt o = cf_opt();
	uint8_t f[2][256];
	struct cf_side s;
	int fd;

	cf_side(&s, &o);
	fd = cf_stream_bare(&s);
	cf_recv(&s, 1, 0, 64);
	for (int k = 0; k < 3; k++)
		cf_post(&s, .op = IBV_WR_RDMA_READ, .id = k, .len = 16);
	for (int k = 0; k < 2; k++)
		CF_EQ(hear(fd, f[k], sizeof(f[k])), 52);
	if (named < 0)
		say(fd, TERM_CRC);
	else
		say_refused(fd, f[named]);
	for (int k = 0; k < 3; k++)
		cf_wc_at(__FILE__, __LINE__, s.scq, k, k == named ? IBV_WC_REM_ACCESS_ERR :
			 IBV_WC_WR_FLUSH_ERR);
	cf_wc(s.rcq, 1, WR_FLUSH_ERR);
	cf_event(s.ctx, QP_FATAL);
	cf_await_state(s.qp, ERR);
	cf_no_event(s.ctx);
}

static void terminated(void)
{
	for (int named = -1; named < 2; named++)
		terminated_for(named);
}

/* FIN and reset, between frames and within one. */
static void cut_off(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side s;

	cf_side(&s, &o);
	for (int i = 0; i < 4; i++) {
		struct linger reset = { 1, 0 };
		int fd;

		cf_move(&s, RESET, NULL);
		fd = cf_stream_bare(&s);
		cf_recv(&s, 1, 0, 64);
		cf_post_stuck(&s, 2, false);
		if (i & 1)
			say(fd, "00174143000000000000");
		if (i & 2)
			CF_OK(setsockopt(fd, SOL_SOCKET, SO_LINGER, &reset, sizeof(reset)));
		cf_drop((void *)(intptr_t)fd);
		cf_wc(s.scq, 2, WR_FLUSH_ERR);
		ended(&s, 1);
	}
}

/* --- work --- */

static void no_receive(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	cf_pair(&a, &b, &o);
	cf_recv(&a, 1, 0, 64);
	cf_post(&a, .op = IBV_WR_SEND, .id = 2, .len = 64);
	cf_wc(a.scq, 2, SUCCESS);
	cf_event(b.ctx, QP_FATAL);
	cf_event(a.ctx, QP_FATAL);
	cf_wc(a.rcq, 1, WR_FLUSH_ERR);
	cf_await_state(a.qp, ERR);
	cf_await_state(b.qp, ERR);
}

static void no_send_with_imm(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct ibv_send_wr wr[2] = {
		{ .wr_id = 1, .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED, .next = &wr[1] },
		{ .wr_id = 2, .opcode = IBV_WR_SEND_WITH_IMM, .send_flags = IBV_SEND_SIGNALED },
	}, *bad = NULL;

	cf_pair(&a, &b, &o);
	for (int i = 0; i < 2; i++)
		cf_recv(&b, i, 0, 64);
	CF_ERR(ibv_post_send(a.qp, wr, &bad), EINVAL);
	CF_TRUE(bad == &wr[1]);
	cf_wc(a.scq, 1, SUCCESS);
	cf_wc(b.rcq, 0, SUCCESS);
	cf_post(&a, .op = IBV_WR_SEND, .id = 3, .len = 8);
	cf_wc(a.scq, 3, SUCCESS);
	cf_wc(b.rcq, 1, SUCCESS);
}

/* The sink of a read is open to that read only. */
static void read_sink(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	o.mr_access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ;
	cf_pair(&a, &b, &o);
	cf_fill(b.buf, 50000, 3);
	cf_post(&a, .op = IBV_WR_RDMA_READ, .id = 1, .len = 50000, .to = &b);
	cf_wc(a.scq, 1, SUCCESS);
	cf_verify(a.buf, 50000, 3);
	cf_post(&b, .op = IBV_WR_RDMA_WRITE, .id = 2, .len = 64, .to = &a, .roff = 60000,
		.rkey = a.mr->lkey);
	cf_fails(&b, 2, &a, CF_NO_RECV, CF_BAD_WRITE);
	cf_all_zero(a.buf + 60000, 64);
}

/* Pieces of several regions, none of which is as long as a segment. */
static void read_in_pieces(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;
	struct ibv_sge sge[4];
	uint8_t flat[4 * 3001];

	cf_pair(&a, &b, &o);
	CF_TRUE(cf.dev.orig_attr.max_sge_rd >= 4);
	cf_fill(b.buf, sizeof(flat), 6);
	for (int i = 0; i < 4; i++) {
		uint8_t *p = a.buf + 5000 * i + i;

		sge[i] = (struct ibv_sge){ (uintptr_t)p, 3001,
					   cf_mr(a.pd, p, 3001, IBV_ACCESS_LOCAL_WRITE)->lkey };
	}
	cf_post(&a, .op = IBV_WR_RDMA_READ, .id = 1, .sge = sge, .n = 4, .to = &b);
	CF_EQ(cf_wc(a.scq, 1, SUCCESS).byte_len, sizeof(flat));
	for (int i = 0; i < 4; i++)
		memcpy(flat + 3001 * i, (void *)(uintptr_t)sge[i].addr, 3001);
	cf_verify(flat, sizeof(flat), 6);
	CF_EQ(a.buf[3001], 0);
}

static void own_sink_bad(void)
{
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	cf_pair(&a, &b, &o);
	cf_recv(&b, 1, 0, 64);
	cf_post(&a, .op = IBV_WR_RDMA_READ, .id = 2, .len = 64, .lkey = a.mr->lkey ^ 0xff0000,
		.to = &b);
	cf_wc(a.scq, 2, LOC_PROT_ERR);
	cf_event(a.ctx, QP_FATAL);
	cf_peer_of_local_error(&b, 1);
}

/* Never more requests in flight than were agreed; later requests wait, in order. */
static void ord(void)
{
	struct cf_opt o = cf_opt();
	uint8_t f[256];
	struct cf_side s;
	int fd;

	o.rd = 2;
	cf_side(&s, &o);
	fd = cf_stream_bare(&s);
	for (int i = 0; i < 5; i++)
		cf_post(&s, .op = IBV_WR_RDMA_READ, .id = i, .len = 16);
	cf_post(&s, .op = IBV_WR_RDMA_WRITE, .id = 9, .len = 16);
	for (int i = 0; i < 2; i++) {
		CF_EQ(hear(fd, f, sizeof(f)), 52);
		CF_EQ(f[3] & 15, 1);
		CF_EQ(f[15], i + 1); /* MSN */
	}
	hear_nothing(fd);
	cf_quiet(s.scq);
}

static void fence(void)
{
	struct cf_opt o = cf_opt();
	uint8_t f[256];
	struct cf_side s;
	int fd;

	cf_side(&s, &o);
	fd = cf_stream_bare(&s);
	cf_post(&s, .op = IBV_WR_RDMA_READ, .id = 1, .len = 16);
	cf_post(&s, .op = IBV_WR_RDMA_WRITE, .id = 2, .len = 16);
	cf_post(&s, .op = IBV_WR_SEND, .id = 3, .len = 16, .flags = IBV_SEND_FENCE);
	CF_EQ(hear(fd, f, sizeof(f)), 52);
	CF_EQ(f[3] & 15, 1);
	CF_EQ(hear(fd, f, sizeof(f)), 36);
	CF_EQ(f[3] & 15, 0);
	hear_nothing(fd);
	cf_quiet(s.scq); /* completions keep their order */
}

/* The count is of the Write, and begins anew with each message. */
static void imm_length(void)
{
	static const uint32_t sizes[] = { 1000, 0, 65536, 1 };
	struct cf_opt o = cf_opt();
	struct cf_side a, b;

	cf_pair(&a, &b, &o);
	for (unsigned i = 0; i < 8; i++) {
		uint32_t n = sizes[i % 4];
		struct ibv_wc wc;

		cf_recv(&b, i, 0, i & 1 ? 0 : 64);
		cf_post(&a, .op = IBV_WR_RDMA_WRITE_WITH_IMM, .id = i, .len = n, .to = &b,
			.imm = htobe32(0xfeed0000 + i));
		cf_wc(a.scq, i, SUCCESS);
		wc = cf_wc(b.rcq, i, SUCCESS);
		CF_EQ(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
		CF_EQ(wc.byte_len, n);
		CF_EQ(be32toh(wc.imm_data), 0xfeed0000 + i);
		cf_recv(&b, 100 + i, 0, 64);
		cf_post(&a, .op = IBV_WR_SEND, .id = 200 + i, .len = 33);
		cf_wc(a.scq, 200 + i, SUCCESS);
		wc = cf_wc(b.rcq, 100 + i, SUCCESS);
		CF_EQ(wc.byte_len, 33);
		CF_TRUE(!(wc.wc_flags & IBV_WC_WITH_IMM));
	}
}

/* More than the queue holds: the first one too many is named. */
static void full_queue(void)
{
	struct ibv_send_wr wr[600], *bad = NULL;
	struct cf_opt o = cf_opt();
	struct cf_side s;

	o.sq = 16;
	o.cqe = 2000;
	cf_side(&s, &o);
	cf_stream_bare(&s);
	CF_TRUE(s.cap.max_send_wr < 600);
	for (int i = 0; i < 600; i++)
		wr[i] = (struct ibv_send_wr){ .wr_id = i, .opcode = IBV_WR_RDMA_READ,
					      .next = i < 599 ? &wr[i + 1] : NULL };
	CF_ERR(ibv_post_send(s.qp, wr, &bad), ENOMEM);
	CF_EQ(bad - wr, s.cap.max_send_wr);
	cf_move(&s, ERR, NULL);
	for (uint32_t i = 0; i < s.cap.max_send_wr; i++)
		cf_wc(s.scq, i, WR_FLUSH_ERR);
	cf_quiet(s.scq);
}

/* --- verbs that do not exist --- */

static void absent(void)
{
	static const enum ibv_qp_type types[] = { IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_RAW_PACKET };
	struct ibv_context *ctx = cf_open();
	struct ibv_pd *pd = cf_pd(ctx);
	struct ibv_cq *cq = cf_cq(ctx, 4, NULL);
	struct ibv_ah_attr ah = cf_ah_attr();
	uint16_t pkey;

	for (int i = 0; i < 3; i++)
		CF_NULL(ibv_create_qp(pd, &(struct ibv_qp_init_attr){ .qp_type = types[i],
			.send_cq = cq, .recv_cq = cq, .cap = { 1, 1, 1, 1, 0 } }), EOPNOTSUPP);
	CF_NULL(ibv_create_ah(pd, &ah), EOPNOTSUPP);
	CF_TRUE(ibv_query_pkey(ctx, 1, 0, &pkey) != 0);
	CF_EQ(cf.port.pkey_tbl_len, 0);
	CF_EQ(cf.dev.orig_attr.max_ah, 0);
	CF_EQ(cf.dev.orig_attr.max_mcast_grp, 0);
	CF_EQ(cf.dev.orig_attr.max_pkeys, 0);
	CF_TRUE(!(cf.dev.orig_attr.device_cap_flags & (IBV_DEVICE_XRC | IBV_DEVICE_RC_RNR_NAK_GEN)));
	CF_EQ(ctx->device->node_type, IBV_NODE_RNIC);
	CF_EQ(cf.port.link_layer, IBV_LINK_LAYER_ETHERNET);
	CF_EQ(cf.port.gid_tbl_len, 1);
	cf_all_zero(cf.gid.raw + 6, 10);
}

const struct cf_check cf_checks[] = {
	{ "1 2 3 4", "each step of a stream's queue pair", CF_STREAM, each_step },
	{ "8 9", "posts before the stream", CF_STREAM, posts_by_state },
	{ "14 15", "SQD sends the rest and ends the stream", CF_STREAM, graceful },
	{ "11", "ERR ends the stream", CF_STREAM, by_err },
	{ "13", "RESET ends the stream; another may follow", CF_STREAM, by_reset },
	{ "13 100", "destroy ends the stream", CF_STREAM, by_destroy },
	{ "56", "wrong frames: Terminate, event, flush", CF_STREAM, wrong_frames },
	{ "56", "a Terminate comes", CF_STREAM, terminated },
	{ "56", "the stream is cut off", CF_STREAM, cut_off },
	{ "90", "a Send without a receive", CF_STREAM, no_receive },
	{ "+", "Send with immediate is refused", CF_STREAM, no_send_with_imm },
	{ "+", "a read's sink needs no remote right and gives none", CF_STREAM, read_sink },
	{ "80", "a read into pieces of several regions", CF_STREAM, read_in_pieces },
	{ "46", "a read into memory that is not ours", CF_STREAM, own_sink_bad },
	{ "37", "reads beyond ORD wait", CF_STREAM, ord },
	{ "38 39", "a fence on the wire", CF_STREAM, fence },
	{ "50", "length and data of WRITE with immediate", CF_STREAM, imm_length },
	{ "81", "a full queue", CF_STREAM, full_queue },
	{ "+", "verbs that do not exist on iWARP", CF_STREAM, absent },
	{ 0 },
};
