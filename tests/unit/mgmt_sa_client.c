/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The client of subnet administration: what it asks, keeps, repeats and forgets. */
#include "mgmt/sa_client.h"
#include "support/cases.h"
#include "support/check.h"
#include "util/clock.h"
#include "util/heap.h"
#include "wire/cm_fields.h"
#include "wire/sa_fields.h"

#include <errno.h>

#define BOX 16
#define TID_HIGH 0x00070000u

static const uint8_t here[16] = { 0xfe, 0x80, [15] = 1 }, there[16] = { 0xfe, 0x80, [15] = 2 },
		     mgid[16] = { 0xff, 0x12, 0x40, 0x01, 0xff, 0xff, [15] = 9 };

struct world {
	struct sac s;
	uint8_t sent[BOX][MAD_LEN];
	int n;
	uint64_t ticket[BOX];
	int status[BOX], answers;
	struct sac_path path;
	struct sac_group group;
	struct sac_name name;
	uint64_t now;
};

static void take(void *ctx, const uint8_t mad[MAD_LEN])
{
	struct world *w = ctx;

	CHECK(w->n < BOX);
	memcpy(w->sent[w->n++], mad, MAD_LEN);
}

static void answer(struct world *w, uint64_t ticket, int status)
{
	CHECK(w->answers < BOX);
	w->ticket[w->answers] = ticket;
	w->status[w->answers++] = status;
}

static void on_path(void *ctx, uint64_t ticket, int status, const struct sac_path *p)
{
	((struct world *)ctx)->path = *p;
	answer(ctx, ticket, status);
}

static void on_group(void *ctx, uint64_t ticket, int status, const struct sac_group *g)
{
	((struct world *)ctx)->group = *g;
	answer(ctx, ticket, status);
}

static void on_name(void *ctx, uint64_t ticket, int status, const struct sac_name *n)
{
	((struct world *)ctx)->name = *n;
	answer(ctx, ticket, status);
}

static const struct sac_ops ops = { take, on_path, on_group, on_name };

static void begin(struct world *w)
{
	memset(w, 0, sizeof(*w));
	w->now = 1000 * UT_S;
	sac_init(&w->s, &ops, w);
	sac_agent(&w->s, TID_HIGH);
}

static int ask(struct world *w, uint64_t generation, uint64_t ticket, struct sac_path *ret)
{
	return sac_path(&w->s, here, there, 0xffff, generation, 2000, ticket, w->now, ret);
}

/* The SA's answer to a question that was sent. */
static void respond(struct world *w, int to, uint16_t status, void (*fill)(uint8_t *rec))
{
	uint8_t mad[MAD_LEN];

	memcpy(mad, w->sent[to], MAD_LEN);
	wire_set_MAD_r(mad, 1);
	if (wire_get_MAD_method(mad) == MAD_SET)
		wire_set_MAD_method(mad, MAD_GET);
	wire_set_MAD_status(mad, status);
	if (fill)
		fill(mad + WIRE_SA_DATA);
	sac_receive(&w->s, mad, w->now);
}

static void fill_path(uint8_t *rec)
{
	wire_set_PATH_RECORD_slid(rec, 3);
	wire_set_PATH_RECORD_dlid(rec, 5);
	wire_set_PATH_RECORD_sl(rec, 4);
	wire_set_PATH_RECORD_mtu_selector(rec, 2);
	wire_set_PATH_RECORD_mtu(rec, 4);
	wire_set_PATH_RECORD_rate(rec, 7);
	wire_set_PATH_RECORD_life(rec, 18);
}

static void fill_group(uint8_t *rec)
{
	wire_set_MEMBER_RECORD_mlid(rec, 0xc004);
	wire_set_MEMBER_RECORD_sl(rec, 1);
	wire_set_MEMBER_RECORD_flow_label(rec, 0x12345);
	wire_set_MEMBER_RECORD_hop_limit(rec, 2);
}

static void paths(void)
{
	struct sac_path p;
	struct world w;

	begin(&w);
	CHECK(ask(&w, 1, 11, &p) == -EINPROGRESS && w.n == 1);
	CHECK(wire_get_MAD_mgmt_class(w.sent[0]) == MAD_CLASS_SA && wire_get_MAD_method(w.sent[0]) == MAD_GET &&
	      wire_get_MAD_class_version(w.sent[0]) == 2 && wire_get_MAD_attr_id(w.sent[0]) == 0x35);
	CHECK(wire_get_MAD_tid(w.sent[0]) >> 32 == TID_HIGH);
	/* IBTA 15.2.5.16: DGID, SGID, Reversible, NumbPath, P_Key */
	CHECK(wire_get_SA_mask(w.sent[0]) == (1 << 2 | 1 << 3 | 1 << 11 | 1 << 12 | 1 << 13));
	CHECK(!memcmp(w.sent[0] + 56 + 8, there, 16) && !memcmp(w.sent[0] + 56 + 24, here, 16));
	CHECK(w.sent[0][56 + 49] == 0x81 && w.sent[0][56 + 50] == 0xff && w.sent[0][56 + 51] == 0xff);
	/* The same question is asked once for both. */
	CHECK(ask(&w, 1, 12, &p) == -EINPROGRESS && w.n == 1);
	respond(&w, 0, 0, fill_path);
	CHECK(w.answers == 2 && w.ticket[0] == 11 && w.ticket[1] == 12 && !w.status[0] && !w.status[1]);
	CHECK(w.path.slid == 3 && w.path.dlid == 5 && w.path.sl == 4 && w.path.mtu == 4 && w.path.rate == 7 &&
	      w.path.life == 18 && w.path.pkey == 0xffff);
	/* Kept, until the fabric changes. */
	CHECK(ask(&w, 1, 13, &p) == 0 && p.dlid == 5 && w.n == 1);
	CHECK(sac_deadline(&w.s) == UT_NEVER);
	CHECK(ask(&w, 2, 14, &p) == -EINPROGRESS && w.n == 2);
	/* Answers to nothing. */
	respond(&w, 0, 0, fill_path);
	CHECK(w.answers == 2);
	respond(&w, 1, 0x0300, NULL); /* ERR_NO_RECORDS */
	CHECK(w.answers == 3 && w.ticket[2] == 14 && w.status[2] == -EHOSTUNREACH);
	sac_end(&w.s, -ENODEV);
	CHECK(w.answers == 3);
}

static void time_passes(void)
{
	struct sac_path p;
	struct world w;

	begin(&w);
	CHECK(ask(&w, 1, 1, &p) == -EINPROGRESS);
	CHECK(sac_deadline(&w.s) == w.now + SAC_REPEAT_MS * UT_MS);
	w.now += SAC_REPEAT_MS * UT_MS;
	sac_run(&w.s, w.now);
	CHECK(w.n == 2 && !memcmp(w.sent[0], w.sent[1], MAD_LEN));
	/* BUSY is no answer; it is asked again. */
	respond(&w, 1, MAD_BUSY, NULL);
	CHECK(w.answers == 0 && sac_deadline(&w.s) == w.now + SAC_REPEAT_MS * UT_MS);
	w.now += 1500 * UT_MS;
	sac_run(&w.s, w.now);
	CHECK(w.answers == 1 && w.status[0] == -ETIMEDOUT && sac_deadline(&w.s) == UT_NEVER);
	/* The port goes: each question ends. */
	CHECK(ask(&w, 1, 2, &p) == -EINPROGRESS);
	sac_end(&w.s, -ENODEV);
	CHECK(w.answers == 2 && w.ticket[1] == 2 && w.status[1] == -ENODEV);
}

static int join(struct world *w, uint64_t ticket)
{
	struct sac_group want = { .qkey = 0x01234567, .pkey = 0xffff, .join_state = 1 }, got;

	memcpy(want.mgid, mgid, 16);
	return sac_join(&w->s, here, &want, 2000, ticket, w->now, &got);
}

static void groups(void)
{
	struct world w;

	begin(&w);
	CHECK(join(&w, 1) == -EINPROGRESS && w.n == 1);
	CHECK(wire_get_MAD_method(w.sent[0]) == MAD_SET && wire_get_MAD_attr_id(w.sent[0]) == 0x38);
	/* IBTA 15.2.5.17: MGID, PortGID, Q_Key, TClass, P_Key, SL, FlowLabel, JoinState */
	CHECK(wire_get_SA_mask(w.sent[0]) == (1 << 0 | 1 << 1 | 1 << 2 | 1 << 6 | 1 << 7 | 1 << 12 | 1 << 13 | 1 << 16));
	CHECK(!memcmp(w.sent[0] + 56, mgid, 16) && !memcmp(w.sent[0] + 72, here, 16) && w.sent[0][56 + 48] == 0x01);
	CHECK(join(&w, 2) == -EINPROGRESS && w.n == 1);
	respond(&w, 0, 0, fill_group);
	CHECK(w.answers == 2 && !w.status[0] && w.group.mlid == 0xc004 && w.group.sl == 1 && w.group.qkey == 0x01234567 &&
	      w.group.flow_label == 0x12345 && w.group.hop_limit == 2);
	CHECK(join(&w, 3) == 0 && w.n == 1);
	/* A new subnet manager knows none. */
	sac_reregister(&w.s, here, w.now);
	CHECK(w.n == 2 && wire_get_MAD_method(w.sent[1]) == MAD_SET);
	sac_reregister(&w.s, here, w.now);
	CHECK(w.n == 2);
	respond(&w, 1, 0, fill_group);
	CHECK(w.answers == 2);
	/* Three users; the last one tells the SA. */
	sac_leave(&w.s, mgid, 1, true, w.now);
	sac_leave(&w.s, mgid, 1, true, w.now);
	CHECK(w.n == 2);
	sac_leave(&w.s, mgid, 1, true, w.now);
	CHECK(w.n == 3 && wire_get_MAD_method(w.sent[2]) == WIRE_SA_DELETE && !memcmp(w.sent[2] + 56, mgid, 16));
	respond(&w, 2, 0, NULL);
	CHECK(sac_deadline(&w.s) == UT_NEVER);
	/* Another process of the port is a member still. */
	CHECK(join(&w, 4) == -EINPROGRESS);
	respond(&w, 3, 0, fill_group);
	sac_leave(&w.s, mgid, 1, false, w.now);
	CHECK(w.n == 4);
	/* Left before the answer: what the SA has granted is given back. */
	CHECK(join(&w, 5) == -EINPROGRESS && w.n == 5);
	sac_leave(&w.s, mgid, 1, true, w.now);
	CHECK(w.n == 5);
	respond(&w, 4, 0, fill_group);
	CHECK(w.n == 6 && wire_get_MAD_method(w.sent[5]) == WIRE_SA_DELETE && w.status[w.answers - 1] == -ECANCELED);
	/* Refused: the port is no member. */
	CHECK(join(&w, 6) == -EINPROGRESS && w.n == 7);
	respond(&w, 6, 0x0200, NULL);
	CHECK(w.status[w.answers - 1] == -EHOSTUNREACH);
	sac_reregister(&w.s, here, w.now);
	CHECK(w.n == 7);
	sac_fini(&w.s);
}

/* IPoIB's joins: a group that must be there, and one that is made with all the attributes of the first (RFC 4391, 5). */
static void given_groups(void)
{
	struct sac_group want = { .join_state = 1, .joins_only = true }, got;
	const uint8_t *rec;
	struct world w;

	begin(&w);
	memcpy(want.mgid, mgid, 16);
	CHECK(sac_join(&w.s, here, &want, 2000, 1, w.now, &got) == -EINPROGRESS && w.n == 1);
	CHECK(wire_get_SA_mask(w.sent[0]) == (1 << 0 | 1 << 1 | 1 << 16));
	respond(&w, 0, 0, fill_group);
	/* Registered again, it still is not made. */
	sac_reregister(&w.s, here, w.now);
	CHECK(w.n == 2 && wire_get_SA_mask(w.sent[1]) == (1 << 0 | 1 << 1 | 1 << 16));
	want = (struct sac_group){ .join_state = 1, .is_exact = true, .qkey = 0xb1b, .pkey = 0x8001, .mtu = 4, .rate = 3, .sl = 2,
				   .flow_label = 0x12345, .hop_limit = 1, .tclass = 7 };
	memcpy(want.mgid, mgid, 16);
	want.mgid[15]++;
	CHECK(sac_join(&w.s, here, &want, 2000, 2, w.now, &got) == -EINPROGRESS && w.n == 3);
	CHECK(wire_get_SA_mask(w.sent[2]) == (1 << 0 | 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7 | 1 << 8 | 1 << 9 |
					      1 << 12 | 1 << 13 | 1 << 14 | 1 << 16));
	rec = w.sent[2] + 56;
	CHECK(rec[38] == (2 << 6 | 4) && rec[39] == 7 && rec[42] == (2 << 6 | 3) && rec[44] == 0x21 && rec[47] == 1);
	sac_fini(&w.s);
}

/* DAPL's Address Translation Service, version 1. */
static const uint8_t v4[16] = { [10] = 0xff, 0xff, 10, 1, 2, 3 }, data8[16] = { [12] = 10, 1, 2, 3 },
		     v6[16] = { 0xfd, [15] = 7 };

static void fill_v4(uint8_t *rec)
{
	wire_set_SERVICE_RECORD_gid(rec, there);
	wire_set_SERVICE_RECORD_data8(rec, data8);
}

static void fill_v6(uint8_t *rec)
{
	wire_set_SERVICE_RECORD_gid(rec, there);
	wire_set_SERVICE_RECORD_data8(rec, v6);
}

static struct sac_name half(const uint8_t addr[16], const uint8_t gid[16])
{
	struct sac_name n = { .gid = { 0 } };

	if (addr)
		memcpy(n.addr, addr, 16);
	if (gid)
		memcpy(n.gid, gid, 16);
	return n;
}

static void names(void)
{
	struct sac_name n = half(v4, here);
	const uint8_t *rec;
	struct world w;

	begin(&w);
	sac_reregister(&w.s, here, w.now);
	CHECK(w.n == 0);
	sac_register(&w.s, &n, 0xffff, w.now);
	CHECK(w.n == 1 && wire_get_MAD_method(w.sent[0]) == MAD_SET && wire_get_MAD_attr_id(w.sent[0]) == 0x31);
	/* ServiceID, GID, P_Key, lease, name, 16 octets of data */
	CHECK(wire_get_SA_mask(w.sent[0]) == (1 << 0 | 1 << 1 | 1 << 2 | 1 << 4 | 1 << 6 | 0xffff << 7));
	rec = w.sent[0] + 56;
	CHECK(!memcmp(rec, (const uint8_t[8]){ 0x10, 0, 0x0c, 0xe1, 0, 0x41, 0x54, 0x53 }, 8));
	CHECK(!memcmp(rec + 8, here, 16) && rec[24] == 0xff && rec[25] == 0xff && !memcmp(rec + 28, "\xff\xff\xff\xff", 4));
	CHECK(!strcmp((const char *)rec + 48, "DAPL Address Translation Service") && !memcmp(rec + 112, data8, 16));
	sac_register(&w.s, &n, 0xffff, w.now);
	CHECK(w.n == 1);
	/* Lost, asked again; a new subnet manager meanwhile is no second question. */
	w.now += SAC_REPEAT_MS * UT_MS;
	sac_run(&w.s, w.now);
	sac_reregister(&w.s, here, w.now);
	CHECK(w.n == 2);
	respond(&w, 1, 0, NULL);
	CHECK(sac_deadline(&w.s) == UT_NEVER && w.answers == 0);
	/* The next subnet manager, which gives another prefix. */
	sac_reregister(&w.s, there, w.now);
	CHECK(w.n == 3 && !memcmp(w.sent[2] + 56 + 8, there, 16) && !memcmp(w.sent[2] + 56 + 112, data8, 16));
	respond(&w, 2, 0x0200, NULL);

	/* By address, any service ID; by GID, that of the port's first address. */
	n = half(v4, NULL);
	CHECK(sac_find_name(&w.s, &n, false, 2000, 5, w.now) == -EINPROGRESS && w.n == 4);
	CHECK(wire_get_MAD_method(w.sent[3]) == MAD_GET && wire_get_SA_mask(w.sent[3]) == (1 << 6 | 0xffff << 7));
	CHECK(!memcmp(w.sent[3] + 56 + 112, data8, 16));
	respond(&w, 3, 0, fill_v4);
	CHECK(w.answers == 1 && w.ticket[0] == 5 && !w.status[0] && !memcmp(w.name.gid, there, 16) && !memcmp(w.name.addr, v4, 16));
	n = half(NULL, there);
	CHECK(sac_find_name(&w.s, &n, true, 2000, 6, w.now) == -EINPROGRESS);
	CHECK(wire_get_SA_mask(w.sent[4]) == (1 << 0 | 1 << 1 | 1 << 6) && !memcmp(w.sent[4] + 56 + 8, there, 16));
	respond(&w, 4, 0, fill_v6);
	CHECK(w.answers == 2 && !w.status[1] && !memcmp(w.name.addr, v6, 16));
	/* Two ports have it; none has it; no answer; the end. */
	n = half(v6, NULL);
	CHECK(sac_find_name(&w.s, &n, false, 2000, 7, w.now) == -EINPROGRESS && !memcmp(w.sent[5] + 56 + 112, v6, 16));
	respond(&w, 5, 0x0400, NULL);
	CHECK(w.status[2] == -ENOTUNIQ);
	CHECK(sac_find_name(&w.s, &n, false, 2000, 8, w.now) == -EINPROGRESS);
	respond(&w, 6, 0x0300, NULL);
	CHECK(w.status[3] == -EHOSTUNREACH);
	CHECK(sac_find_name(&w.s, &n, false, 100, 9, w.now) == -EINPROGRESS);
	w.now += 200 * UT_MS;
	sac_run(&w.s, w.now);
	CHECK(w.status[4] == -ETIMEDOUT);
	CHECK(sac_find_name(&w.s, &n, false, 2000, 10, w.now) == -EINPROGRESS);
	sac_end(&w.s, -ENODEV);
	CHECK(w.answers == 6 && w.status[5] == -ENODEV);
	/* What was registered ended with it. */
	sac_reregister(&w.s, here, w.now);
	CHECK(w.n == 9);
	sac_fini(&w.s);
}

static const struct test_case cases[] = {
	{ "-", "paths", paths },
	{ "-", "groups with given attributes", given_groups },
	{ "-", "time", time_passes },
	{ "-", "groups", groups },
	{ "-", "names", names },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}
