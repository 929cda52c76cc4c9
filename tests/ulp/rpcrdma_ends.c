/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "rpcrdma_ends.h"

#include "ulp/rpcrdma/rpc.h"
#include "wire/field.h"

_Thread_local struct side side;
static uint8_t pattern[3 << 20];

/* --- messages --- */

void rpr_ends_fill(void)
{
	for (size_t i = 0; i < sizeof(pattern); i++)
		pattern[i] = (uint8_t)(i * 2654435761u >> 9);
}

uint32_t rpr_ends_word(const uint8_t *data, size_t len, size_t at)
{
	CHECK(at + 4 <= len);
	return wire_get32(data + at);
}

static size_t put_words(uint8_t *p, const uint32_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		wire_put32(p + 4 * i, words[i]);
	return 4 * n;
}

size_t rpr_ends_put_call(uint8_t *p, uint32_t xid, uint32_t program, uint32_t version, uint32_t procedure)
{
	const uint32_t words[] = { xid, 0, 2, program, version, procedure, 0, 0, 0, 0 };

	return put_words(p, words, CALL_ARGS / 4);
}

size_t rpr_ends_put_reply(uint8_t *p, uint32_t xid)
{
	const uint32_t words[] = { xid, 1, 0, 0, 0, 0 };

	return put_words(p, words, REPLY_RESULTS / 4);
}

size_t rpr_ends_put_opaque(uint8_t *p, uint32_t len)
{
	wire_put32(p, len);
	memcpy(p + 4, pattern, len);
	memset(p + 4 + len, 0, -len & 3);
	return 4 + ((len + 3) & ~3u);
}

void rpr_ends_see_opaque(const uint8_t *data, size_t len, size_t at, uint32_t opaque)
{
	CHECK(rpr_ends_word(data, len, at) == opaque && len == at + 4 + ((opaque + 3) & ~3u));
	CHECK(!memcmp(data + at + 4, pattern, opaque));
	for (uint32_t i = opaque; i & 3; i++)
		CHECK(!data[at + 4 + i]);
}

size_t rpr_ends_write(uint8_t *p, uint32_t xid, uint32_t len)
{
	const uint32_t args[] = { 4, 0xf00d, 0, 0, len, 2 }; /* handle, offset, count, stable */
	size_t n = rpr_ends_put_call(p, xid, 100003, 3, 7);

	n += put_words(p + n, args, 6);
	side.expected[xid] = (struct rpr_expected){ .len = REPLY_RESULTS + 4 };
	return n + rpr_ends_put_opaque(p + n, len);
}

size_t rpr_ends_read(uint8_t *p, uint32_t xid, uint32_t len)
{
	const uint32_t args[] = { 4, 0xf00d, 0, 0, len }; /* handle, offset, count */
	size_t n = rpr_ends_put_call(p, xid, 100003, 3, 6);

	side.expected[xid] = (struct rpr_expected){ REPLY_RESULTS + 16 + 4 + ((len + 3) & ~3u), REPLY_RESULTS + 16, len, false };
	return n + put_words(p + n, args, 5);
}

size_t rpr_ends_echo(uint8_t *p, uint32_t xid, uint32_t len)
{
	size_t n = rpr_ends_put_call(p, xid, ECHO_PROGRAM, 1, 1);

	side.expected[xid] = (struct rpr_expected){ REPLY_RESULTS + 4 + ((len + 3) & ~3u), REPLY_RESULTS, len, false };
	return n + rpr_ends_put_opaque(p + n, len);
}

size_t rpr_ends_answer(uint8_t *p, const uint8_t *call, size_t len)
{
	uint32_t program = rpr_ends_word(call, len, 12), procedure = rpr_ends_word(call, len, 20), count;
	size_t n = rpr_ends_put_reply(p, rpr_ends_word(call, len, 0));

	if (program == ECHO_PROGRAM && procedure == ECHO_TOO_LONG)
		return n + rpr_ends_put_opaque(p + n, rpr_ends_word(call, len, CALL_ARGS));
	if (program == ECHO_PROGRAM) {
		memcpy(p + n, call + CALL_ARGS, len - CALL_ARGS);
		return n + len - CALL_ARGS;
	}
	count = rpr_ends_word(call, len, CALL_ARGS + 16);
	if (procedure == 7) { /* WRITE */
		rpr_ends_see_opaque(call, len, CALL_ARGS + 24, count);
		wire_put32(p + n, 0);
		return n + 4;
	}
	const uint32_t results[] = { 0, 0, count, 0 }; /* status, no attributes, count, eof */

	n += put_words(p + n, results, 4);
	return n + rpr_ends_put_opaque(p + n, count);
}

size_t rpr_ends_back_call(uint8_t *p, uint32_t xid)
{
	size_t n = rpr_ends_put_call(p, xid, BACK_PROGRAM, 1, 1);

	return n + rpr_ends_put_opaque(p + n, BACK_LEN);
}

size_t rpr_ends_back_answer(uint8_t *p, const uint8_t *call, size_t len)
{
	size_t n = rpr_ends_put_reply(p, rpr_ends_word(call, len, 0));

	rpr_ends_see_opaque(call, len, CALL_ARGS, BACK_LEN);
	return n + rpr_ends_put_opaque(p + n, BACK_LEN);
}

void rpr_ends_see_reply(const uint8_t *data, size_t len)
{
	uint32_t xid = rpr_ends_word(data, len, 0);
	const struct rpr_expected *x = &side.expected[xid % 256];

	CHECK(xid < 256);
	if (x->failure)
		CHECK(len == RPR_RPC_FAILED_LEN && rpr_ends_word(data, len, 20) == 5);
	else
		CHECK_MSG(len == x->len, "reply %u has %zu octets, not %u", xid, len, x->len);
	if (x->opaque)
		rpr_ends_see_opaque(data, len, x->opaque, x->bytes);
	side.replies++;
}

/* --- connections --- */

static void take_result(int r)
{
	CHECK_MSG(!r || side.may_fail, "%d: %s", r, rpr_conn_why(side.c));
	side.failed |= r != 0;
}

/* Answers by what `put` writes. */
static void answer(struct rpr_buf *call, size_t (*put)(uint8_t *p, const uint8_t *call, size_t len))
{
	struct rpr_buf *b = rpr_conn_buf(side.c);

	CHECK(b || side.may_fail);
	if (b) {
		b->len = put(b->data, call->data, call->len);
		take_result(rpr_conn_send(side.c, b));
	} else {
		side.failed = true;
	}
	rpr_conn_buf_put(side.c, call);
}

static void server_message(void *user, struct rpr_buf *b)
{
	(void)user;
	if (rpr_rpc_direction(b->data, b->len) == RPR_REPLY) {
		CHECK(rpr_ends_word(b->data, b->len, 0) == BACK_XID + side.back_replies);
		rpr_ends_see_opaque(b->data, b->len, REPLY_RESULTS, BACK_LEN);
		side.back_replies++;
		rpr_conn_buf_put(side.c, b);
		return;
	}
	side.calls++;
	side.held[side.nr_held++] = b;
	if (side.nr_held > side.most_out)
		side.most_out = side.nr_held;
	if (side.nr_held <= side.hold)
		return;
	/* The newest first: replies need no order. */
	while (side.nr_held)
		answer(side.held[--side.nr_held], rpr_ends_answer);
	side.hold = 0;
}

static void client_message(void *user, struct rpr_buf *b)
{
	(void)user;
	if (rpr_rpc_direction(b->data, b->len) == RPR_CALL) {
		side.back_calls++;
		answer(b, rpr_ends_back_answer);
		return;
	}
	rpr_ends_see_reply(b->data, b->len);
	rpr_conn_buf_put(side.c, b);
}

const struct rpr_ops rpr_ends_server = { server_message }, rpr_ends_client = { client_message };

bool rpr_ends_step(void)
{
	const struct timespec limit = { RPR_ENDS_MS / 1000, 0 };
	struct pollfd p[RPR_CONN_FDS];

	if (rpr_conn_has_ended(side.c))
		return false;
	rpr_conn_fds(side.c, p);
	CHECK(ppoll(p, RPR_CONN_FDS, &limit, NULL) > 0); /* not a poll() that nth.h lets fail */
	return !rpr_conn_progress(side.c);
}

bool rpr_ends_call(size_t (*put)(uint8_t *p, uint32_t xid, uint32_t len), uint32_t xid, uint32_t len)
{
	struct rpr_buf *b;
	int r;

	while (!(b = rpr_conn_buf(side.c)))
		if (!rpr_ends_step())
			return false;
	b->len = put(b->data, xid, len);
	while ((r = rpr_conn_send(side.c, b)) == -EAGAIN)
		if (!rpr_ends_step()) {
			rpr_conn_buf_put(side.c, b);
			return false;
		}
	take_result(r);
	return !r;
}

bool rpr_ends_await(unsigned replies)
{
	while (side.replies < replies)
		if (!rpr_ends_step())
			return false;
	return true;
}

void rpr_ends_close(void)
{
	while (side.nr_held)
		rpr_conn_buf_put(side.c, side.held[--side.nr_held]);
	rpr_conn_close(side.c);
}
