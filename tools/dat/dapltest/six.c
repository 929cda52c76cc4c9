/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "six.h"

#include <string.h>

#define VERSION 6
#define MESSAGE 8192

/* The first message of each end. */
enum {
	INFO_VERSION = 0,
	INFO_LITTLE = 4,
	CLIENT_TEST = 8,
	CLIENT_CONNECTIONS = 12,
	SERVER_FIRST = 8,
};

/* The plan of T, and its operations. */
enum {
	T_ITERATIONS = 264,
	T_THREADS = 268,
	T_ENDS = 272,
	T_RSP = 280,
	T_VERIFY = 288,
	T_OPS = 564,
	T_OP = 568,
	T_OP_SIZE = 20,
	OP_SERVER = 0,
	OP_TYPE = 4,
	OP_SEGMENTS = 8,
	OP_SIZE = 12,
	OP_LATE = 16,
};

/* That of P. */
enum {
	P_MODE = 528,		/* in the client's order, as the next but one */
	P_ITERATIONS = 532,
	P_WINDOW = 536,
	P_TYPE = 540,
	P_SIZE = 544,
	P_SEGMENTS = 548,
};

enum { TEST_T = 1, TEST_P = 2, TEST_Q = 4 };

static const enum dtt_type types[] = { DTT_RR, DTT_RW, DTT_SR };
static const unsigned char type_numbers[] = { [DTT_RR] = 0, [DTT_RW] = 1, [DTT_SR] = 2 };

static bool here_big(void)
{
	const uint16_t one = 1;

	return !*(const unsigned char *)&one;
}

static void put(unsigned char *p, uint64_t value, int bytes, bool big)
{
	int i;

	for (i = 0; i < bytes; i++)
		p[big ? bytes - 1 - i : i] = value >> (8 * i);
}

static uint64_t get(const unsigned char *p, int bytes, bool big)
{
	uint64_t value = 0;
	int i;

	for (i = 0; i < bytes; i++)
		value |= (uint64_t)p[big ? bytes - 1 - i : i] << (8 * i);
	return value;
}

static void put32(unsigned char *p, uint32_t value)
{
	put(p, value, 4, false);
}

static uint32_t get32(const unsigned char *p)
{
	return get(p, 4, false);
}

static bool is_send(const struct dtt_op *op, enum dtt_side side)
{
	return op->type == DTT_SR && op->side == side;
}

/* Whether the plan ends with the three messages that -V appends. */
static bool has_syncs(const struct dtt_plan *plan)
{
	uint32_t n = plan->n_ops;

	return n >= 3 && is_send(&plan->ops[n - 3], DTT_SERVER) && is_send(&plan->ops[n - 2], DTT_CLIENT) &&
	       is_send(&plan->ops[n - 1], DTT_SERVER);
}

const char *six_fault(const struct dtt_plan *plan)
{
	if (plan->n_ops > SIX_OPS_MAX)
		return "the peer's version of dapltest takes no more than 100 operations";
	if (plan->kind == 'T' && plan->verify && !has_syncs(plan))
		return "the plan lacks the three messages that -V appends";
	return NULL;
}

/* --- control messages --- */

static unsigned char *begin(struct ctl *c)
{
	return memset(ctl_room(c), 0, MESSAGE);
}

static void put_t(unsigned char *p, const struct dtt_plan *plan)
{
	uint32_t i;

	put32(p + T_ITERATIONS, plan->iterations);
	put32(p + T_THREADS, plan->threads);
	put32(p + T_ENDS, plan->ends);
	put32(p + T_RSP, plan->rsp);
	put32(p + T_VERIFY, plan->verify);
	put32(p + T_OPS, plan->n_ops);
	for (i = 0; i < plan->n_ops; i++) {
		unsigned char *op = p + T_OP + i * T_OP_SIZE;

		put32(op + OP_SERVER, plan->ops[i].side == DTT_SERVER);
		put32(op + OP_TYPE, type_numbers[plan->ops[i].type]);
		put32(op + OP_SEGMENTS, plan->ops[i].segments);
		put32(op + OP_SIZE, plan->ops[i].size);
		put32(op + OP_LATE, plan->ops[i].late);
	}
}

static void put_p(unsigned char *p, const struct dtt_plan *plan)
{
	put(p + P_MODE, plan->how == DTL_POLL, 4, here_big());
	put32(p + P_ITERATIONS, plan->iterations);
	put(p + P_WINDOW, plan->window, 4, here_big());
	put32(p + P_TYPE, type_numbers[plan->ops[0].type]);
	put32(p + P_SIZE, plan->ops[0].size);
	put32(p + P_SEGMENTS, plan->ops[0].segments);
}

int six_send_plan(struct ctl *c, const struct dtt_plan *plan)
{
	unsigned char *p = begin(c);

	put32(p + INFO_VERSION, VERSION);
	put32(p + INFO_LITTLE, !here_big());
	put32(p + CLIENT_TEST, plan->kind == 'T' ? TEST_T : plan->kind == 'P' ? TEST_P : TEST_Q);
	put32(p + CLIENT_CONNECTIONS, plan->kind == 'T' ? plan->threads * plan->ends : plan->kind == 'P');
	if (ctl_send(c, MESSAGE) != 0)
		return -1;
	p = begin(c);
	put32(p, VERSION);
	put32(p + 4, !here_big());
	if (plan->kind == 'T')
		put_t(p, plan);
	else if (plan->kind == 'P')
		put_p(p, plan);
	return ctl_send_last(c, MESSAGE);
}

static bool get_type(uint32_t number, enum dtt_type *ret)
{
	if (number >= sizeof(types) / sizeof(types[0]))
		return false;
	*ret = types[number];
	return true;
}

static int get_t(const unsigned char *p, struct dtt_plan *ret)
{
	uint32_t i;

	ret->kind = 'T';
	ret->iterations = get32(p + T_ITERATIONS);
	ret->threads = get32(p + T_THREADS);
	ret->ends = get32(p + T_ENDS);
	ret->rsp = get32(p + T_RSP);
	ret->verify = get32(p + T_VERIFY);
	ret->n_ops = get32(p + T_OPS);
	if (ret->n_ops > SIX_OPS_MAX)
		return -1;
	for (i = 0; i < ret->n_ops; i++) {
		const unsigned char *op = p + T_OP + i * T_OP_SIZE;

		ret->ops[i].side = get32(op + OP_SERVER) ? DTT_SERVER : DTT_CLIENT;
		ret->ops[i].segments = get32(op + OP_SEGMENTS);
		ret->ops[i].size = get32(op + OP_SIZE);
		ret->ops[i].late = get32(op + OP_LATE);
		if (!get_type(get32(op + OP_TYPE), &ret->ops[i].type))
			return -1;
	}
	return 0;
}

static int get_p(const unsigned char *p, struct dtt_plan *ret)
{
	ret->kind = 'P';
	ret->threads = 1;
	ret->ends = 1;
	ret->iterations = get32(p + P_ITERATIONS);
	ret->window = 1;	/* the server posts nothing beside */
	ret->n_ops = 1;
	ret->ops[0].segments = get32(p + P_SEGMENTS);
	ret->ops[0].size = get32(p + P_SIZE);
	return get_type(get32(p + P_TYPE), &ret->ops[0].type) && ret->ops[0].type != DTT_SR ? 0 : -1;
}

/* Returns 0, or -1 after a message. */
static int next_message(struct ctl *c, unsigned char **ret)
{
	int64_t length = ctl_next(c, ret);

	if (length == MESSAGE)
		return 0;
	if (length >= 0)
		dtl_complain("the peer sends control messages of %lld bytes, which no version of dapltest has: the test "
			     "fails; run a dapltest there", (long long)length);
	return -1;
}

static int check_version(const unsigned char *p)
{
	if (get32(p + INFO_VERSION) == VERSION)
		return 0;
	dtl_complain("the peer's dapltest speaks version %u of its protocol: the test fails; run one there that speaks "
		     "version %u", get32(p + INFO_VERSION), VERSION);
	return -1;
}

int six_recv_plan(struct ctl *c, struct dtt_plan *ret)
{
	unsigned char *p;
	uint32_t test;
	int r = 0;

	memset(ret, 0, sizeof(*ret));
	ret->six = true;
	if (next_message(c, &p) != 0 || check_version(p) != 0)
		return -1;
	ret->peer_big = !get32(p + INFO_LITTLE);
	test = get32(p + CLIENT_TEST);
	if (ctl_taken(c) != 0 || next_message(c, &p) != 0)
		return -1;
	if (test == TEST_Q)
		ret->kind = 'Q';
	else
		r = test == TEST_T ? get_t(p, ret) : test == TEST_P ? get_p(p, ret) : -1;
	if (r != 0)
		dtl_complain("the client's plan has a test or an operation that is unknown: the test fails; run T, P or Q "
			     "there");
	return ctl_taken(c) | r;
}

int six_send_first(struct ctl *c, uint64_t first)
{
	unsigned char *p = begin(c);

	put32(p + INFO_VERSION, VERSION);
	put32(p + INFO_LITTLE, !here_big());
	put32(p + SERVER_FIRST, first);
	return ctl_send(c, MESSAGE);
}

int six_recv_first(struct ctl *c, struct dtt_plan *plan, uint64_t *ret)
{
	unsigned char *p;

	if (next_message(c, &p) != 0 || check_version(p) != 0)
		return -1;
	plan->peer_big = !get32(p + INFO_LITTLE);
	*ret = get32(p + SERVER_FIRST);
	return 0;
}

/* --- memory --- */

static bool pair_big(const struct dtt_plan *plan, bool receiver_big)
{
	return plan->kind == 'P' ? plan->peer_big || here_big() : receiver_big;
}

void six_put_pair(char *at, const struct dtt_plan *plan, struct six_pair pair)
{
	bool big = pair_big(plan, plan->peer_big);
	unsigned char *p = (unsigned char *)at;

	put(p, pair.context, 4, big);
	put(p + 4, pair.address, 8, big);
}

struct six_pair six_get_pair(const char *at, const struct dtt_plan *plan)
{
	bool big = pair_big(plan, here_big());
	const unsigned char *p = (const unsigned char *)at;

	return (struct six_pair){ .context = get(p, 4, big), .address = get(p + 4, 8, big) };
}
