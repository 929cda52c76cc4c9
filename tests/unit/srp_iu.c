/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Information units of SRP: golden octets in both directions, and octets that must be refused. */
#include "ulp/srp/dm.h"
#include "ulp/srp/iu.h"

#include "support/cases.h"
#include "support/check.h"

#define PORT 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16

/* As ib_srp of Linux 6.1 sends it by the RDMA connection manager. */
static const uint8_t login[56] = {
	0, 0, 0, 0, 0, 0, 0, 0, 0x00, 0x06, 0x80, 0x00, 0x00, 0x00, 0x20, 0x44,
	PORT,
	0x50, 0x54, 0, 0xff, 0xfe, 0x77, 0, 1, 0x50, 0x54, 0, 0xff, 0xfe, 0x77, 0, 1,
	0x00, 0x44,
};

/* As ib_srpt answers it. */
static const uint8_t accepted[52] = {
	0xc0, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x20, 0x54, 0, 0, 0x20, 0x44, 0x00, 0x06, 0x80,
};

static const uint8_t rejected[32] = { 0xc2, 0, 0, 0, 0, 1, 0, 6, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0x00, 0x06 };

/* READ(10) of 8 blocks into a direct buffer. */
static const uint8_t direct[64] = {
	0x02, 0, 0, 0, 0, 0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0x28, 0, 0, 0, 0, 1, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0x7f, 0, 0, 0, 0x10, 0, 0xaa, 0xbb, 0xcc, 0xdd, 0, 0, 0x10, 0,
};

/* WRITE(10) from an indirect buffer of two pieces, of which the command has the first one. */
static const uint8_t indirect[84] = {
	0x02, 0, 0, 0, 0, 0x20, 1, 0, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0x2a, 0, 0, 0, 0, 1, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 0, 0, 0, 0x50, 0, 0, 0, 0, 5, 0, 0, 0, 32, 0, 0, 4, 0,
	0, 0, 0, 0, 0, 0, 0x60, 0, 0, 0, 0, 6, 0, 0, 1, 0,
};

/* SRP-2: WRITE(10) with 4 octets of immediate data at offset 68. */
static const uint8_t immediate[72] = {
	0x02, 0, 0, 0, 0, 0x30, 0, 0, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
	0x2a, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
	0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 'd', 'a', 't', 'a',
};

static const uint8_t abort_task[48] = {
	0x01, 0, 0, 0, 0, 0, 0, 0, 0x80, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0, 0x01, 0,
	0, 0, 0, 0, 0, 0, 0, 9,
};

/* CHECK CONDITION, 512 octets fewer of data-in, sense data. */
static const uint8_t response[54] = {
	0xc1, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0x22, 0x02, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 18, 0, 0, 0, 0,
	0x70, 0, 5, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0x24, 0, 0, 0, 0, 0,
};

static const uint8_t managed[40] = {
	0xc1, 0, 0, 0, 0, 0, 0, 3, 0x80, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0x01, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4,
	0, 0, 0, 5,
};

static const uint8_t credit[16] = { 0x81, 0, 0, 0, 0, 0, 0, 10, 0, 0, 0, 0, 0, 0, 0, 2 };

static void logins(void)
{
	struct srp_login l;
	struct srp_accepted a;
	uint8_t out[56];

	CHECK(!srp_login_get(&l, login, sizeof(login)));
	CHECK(l.it_length == 8260 && l.formats == 6 && l.immediate && !l.multi && l.immediate_offset == 68);
	CHECK(l.initiator[15] == 16 && l.target[0] == 0x50);
	srp_login_put(out, &l);
	CHECK(!memcmp(out, login, sizeof(login)));
	CHECK(!srp_accepted_get(&a, accepted, sizeof(accepted)));
	CHECK(a.limit == 128 && a.it_length == 0x2054 && a.ti_length == 8260 && a.formats == 6 && a.immediate);
	srp_accepted_put(out, &a);
	CHECK(!memcmp(out, accepted, sizeof(accepted)));
	CHECK(srp_reject_get(rejected, sizeof(rejected)) == WIRE_SRP_REJ_CHANNEL_LIMIT);
	srp_reject_put(out, 9, WIRE_SRP_REJ_CHANNEL_LIMIT);
	CHECK(!memcmp(out, rejected, sizeof(rejected)));
}

static void bad_logins(void)
{
	struct srp_login l;
	struct srp_accepted a;
	uint8_t bad[56];

	CHECK(srp_login_get(&l, login, 55) == SRP_BAD_LOGIN);
	memcpy(bad, login, 56);
	bad[11] = 0xc0;
	CHECK(srp_login_get(&l, bad, 56) == SRP_BAD_LOGIN);
	bad[11] = 0;
	bad[10] = 3;
	CHECK(srp_login_get(&l, bad, 56) == SRP_BAD_LOGIN);
	CHECK(srp_accepted_get(&a, accepted, 51) == SRP_BAD_LOGIN && srp_accepted_get(&a, NULL, 52) == SRP_BAD_LOGIN);
	CHECK(srp_accepted_get(&a, rejected, 32) == SRP_BAD_LOGIN);
	memcpy(bad, accepted, 52);
	bad[7] = 0;
	CHECK(srp_accepted_get(&a, bad, 52) == SRP_NO_LIMIT);
	bad[18] = 0;
	bad[19] = 63;
	CHECK(srp_accepted_get(&a, bad, 52) == SRP_BAD_LENGTHS);
	CHECK(!srp_reject_get(rejected, 31) && !srp_reject_get(accepted, 52) && !srp_reject_get(NULL, 0));
}

static void a_direct_command(void)
{
	struct srp_command c;
	uint8_t out[64];

	CHECK(!srp_command_get(&c, direct, sizeof(direct), 0));
	CHECK(c.tag == 7 && c.lun == 1ull << 48 && c.cdb_len == 16 && c.cdb[0] == 0x28 && !c.out.format);
	CHECK(c.in.format == WIRE_SRP_FORMAT_DIRECT && c.in.length == 4096 && c.in.nr == 1 && c.in.nr_here == 1);
	CHECK(srp_memory_get(c.in.list).address == 0x7f0000001000 && srp_memory_get(c.in.list).key == 0xaabbccdd);
	CHECK(srp_command_put(out, &c, 0) == 64 && !memcmp(out, direct, 64));
	CHECK(srp_command_get(&c, direct, 63, 0) == SRP_SHORT_DESCRIPTORS && srp_command_get(&c, direct, 47, 0) == SRP_SHORT);
}

static void an_indirect_command(void)
{
	struct srp_memory table[2] = { { 0, 0, 256 }, { 0, 0, 768 } };
	struct srp_command c;
	uint8_t out[84], bad[84];

	CHECK(!srp_command_get(&c, indirect, sizeof(indirect), 0));
	CHECK(c.out.format == WIRE_SRP_FORMAT_INDIRECT && c.out.length == 1024 && c.out.nr == 2 && c.out.nr_here == 1);
	CHECK(c.out.table.address == 0x5000 && c.out.table.key == 5 && srp_memory_get(c.out.list).length == 256);
	CHECK(srp_command_put(out, &c, 0) == 84 && !memcmp(out, indirect, 84));
	CHECK(!srp_table_check(table, 2, 1024) && srp_table_check(table, 2, 1023) == SRP_TABLE_SUM);
	table[0].length = table[1].length = 0x80000200; /* the sum does not wrap */
	CHECK(srp_table_check(table, 2, 1024) == SRP_TABLE_SUM);
	memcpy(bad, indirect, 84);
	bad[6] = 3;
	CHECK(srp_command_get(&c, bad, 84, 0) == SRP_SHORT_DESCRIPTORS);
	bad[6] = 1;
	bad[63] = 31;
	CHECK(srp_command_get(&c, bad, 84, 0) == SRP_TABLE_LENGTH);
	bad[63] = 0;
	CHECK(srp_command_get(&c, bad, 84, 0) == SRP_TABLE_COUNT);
	bad[60] = 0x10;
	CHECK(srp_command_get(&c, bad, 84, 0) == SRP_TABLE_LONG);
}

static void immediate_data(void)
{
	struct srp_command c;
	uint8_t out[72], bad[72];

	CHECK(!srp_command_get(&c, immediate, sizeof(immediate), 68));
	CHECK(c.out.format == WIRE_SRP_FORMAT_IMMEDIATE && c.out.length == 4 && !memcmp(c.out.data, "data", 4));
	memcpy(out + 68, "data", 4);
	CHECK(srp_command_put(out, &c, 68) == 72 && !memcmp(out, immediate, 72));
	CHECK(srp_command_get(&c, immediate, 72, 0) == SRP_NO_IMMEDIATE);
	CHECK(srp_command_get(&c, immediate, 72, 48) == SRP_IMMEDIATE_PLACE);
	CHECK(srp_command_get(&c, immediate, 71, 68) == SRP_IMMEDIATE_SHORT);
	CHECK(srp_command_get(&c, immediate, 72, 73) == SRP_IMMEDIATE_SHORT);
	memcpy(bad, immediate, 72);
	bad[5] = 0x03;
	CHECK(srp_command_get(&c, bad, 72, 68) == SRP_BAD_FORMAT);
	bad[5] = 0x40;
	CHECK(srp_command_get(&c, bad, 72, 68) == SRP_BAD_FORMAT);
}

static void long_cdbs(void)
{
	struct srp_command c = { .cdb_len = 32 }, d;
	uint8_t out[64];

	memset(c.cdb, 0x7f, 32);
	CHECK(srp_command_put(out, &c, 0) == 64 && out[31] == 4 << 2);
	CHECK(!srp_command_get(&d, out, 64, 0) && d.cdb_len == 32 && d.cdb[31] == 0x7f);
	CHECK(srp_command_get(&d, out, 63, 0) == SRP_SHORT);
	out[31] = 9 << 2;
	CHECK(srp_command_get(&d, out, 64, 0) == SRP_LONG_CDB);
}

static void tasks(void)
{
	struct srp_task t;
	uint8_t out[48];

	CHECK(!srp_task_get(&t, abort_task, 48));
	CHECK(t.tag == 0x8000000000000001 && t.lun == 3ull << 48 && t.function == WIRE_SRP_ABORT_TASK && t.task_tag == 9);
	srp_task_put(out, &t);
	CHECK(!memcmp(out, abort_task, 48) && srp_task_get(&t, abort_task, 47) == SRP_SHORT);
}

static void responses(void)
{
	struct srp_response r;
	uint8_t out[64];

	CHECK(!srp_response_get(&r, response, sizeof(response)));
	CHECK(r.tag == 7 && r.limit_delta == 1 && r.status == 2 && r.in_under && !r.in_over && r.in_residual == 512);
	CHECK(!r.has_code && r.sense_len == 18 && r.sense[2] == 5 && r.sense[12] == 0x24);
	CHECK(srp_response_put(out, &r) == 54 && !memcmp(out, response, 54));
	CHECK(srp_response_get(&r, response, 53) == SRP_SENSE_SHORT && srp_response_get(&r, response, 35) == SRP_SHORT);
	CHECK(!srp_response_get(&r, managed, sizeof(managed)) && r.has_code && r.code == WIRE_SRP_FUNCTION_FAILED);
	CHECK(srp_response_put(out, &r) == 40 && !memcmp(out, managed, 40));
}

static void short_ones(void)
{
	struct srp_short q;
	uint8_t out[16];

	CHECK(!srp_short_get(&q, credit, 16) && q.type == WIRE_SRP_CRED_REQ && q.number == 10 && q.tag == 2);
	srp_short_put(out, &q);
	CHECK(!memcmp(out, credit, 16) && srp_short_get(&q, credit, 15) == SRP_SHORT);
}

/* --- device management --- */

static const struct srp_dm_unit io_unit = { .target = { 1, 2, 3, 4, 5, 6, 7, 8, 0, 2, 0xc9, 3, 0, 0xaa, 0xbb, 1 }, .service_id = 0x10615b3,
					    .send_size = 8276, .transfer_size = 1048576, .depth = 64, .id = "Dapple SRP 10.0.0.7:5555" };

static void ask_unit(uint8_t mad[SRP_MAD_LEN], uint16_t attribute, uint32_t modifier, unsigned status)
{
	srp_dm_ask(mad, 7, attribute, modifier);
	CHECK(srp_dm_refusal(mad, 7, attribute)); /* it is a request */
	CHECK(srp_dm_answer(&io_unit, mad) && !srp_dm_answer(&io_unit, mad));
	CHECK_MSG((mad[4] << 8 | mad[5]) == (int)status, "status %#x", mad[4] << 8 | mad[5]);
	CHECK(!srp_dm_refusal(mad, 7, attribute) == !status && srp_dm_refusal(mad, 8, attribute) && srp_dm_refusal(mad, 7, attribute + 1));
}

static void an_io_unit(void)
{
	/* IOControllerProfile and one entry of ServiceEntries, by hand from 16.3.3.4 and 16.3.3.5. */
	static const uint8_t profile[64] = { 0, 2, 0xc9, 3, 0, 0xaa, 0xbb, 1, 0, 0, 0, 0, 0, 0, 0x53, 0x52, 0, 1, [28] = 1, 0, 0x60, 0x9e, 1, 8, 0, 1,
					     [41] = 64, [43] = 4, [46] = 0x20, 0x54, [49] = 0x10, [52] = 0x2b, [54] = 1 };
	uint8_t mad[SRP_MAD_LEN], id[16];
	struct srp_dm_controller c;
	struct srp_dm_service s;

	ask_unit(mad, WIRE_DM_CLASS_PORT_INFO, 0, 0);
	CHECK(mad[64] == 1 && mad[65] == 1);
	ask_unit(mad, WIRE_DM_IO_UNIT, 0, 0);
	CHECK(srp_dm_slots(mad) == 1 && srp_dm_has_controller(mad, 1) && !srp_dm_has_controller(mad, 2) && !srp_dm_has_controller(mad, 0));
	ask_unit(mad, WIRE_DM_IOC, srp_dm_slot(1), 0);
	CHECK(!memcmp(mad + 64, profile, 64) && !strcmp((char *)mad + 128, io_unit.id));
	srp_dm_controller_get(&c, mad);
	CHECK(c.guid == 0x2c90300aabb01 && c.send_size == 8276 && c.services == 1 && !strcmp(c.id, io_unit.id));
	ask_unit(mad, WIRE_DM_SERVICES, srp_dm_services(1, 0, 0), 0);
	CHECK(!memcmp(mad + 64, "SRP.T10:0102030405060708\0", 25) && wire_get64(mad + 104) == 0x10615b3);
	srp_dm_service_get(&s, mad, 0);
	CHECK(srp_dm_target(id, &c, &s) && !memcmp(id, io_unit.target, 16));
	c.io_class = WIRE_SRP_IO_CLASS_OLD;
	CHECK(srp_dm_target(id, &c, &s) && !memcmp(id, io_unit.target + 8, 8) && !memcmp(id + 8, io_unit.target, 8));
	c.io_class = 0x0200;
	CHECK(!srp_dm_target(id, &c, &s));
	ask_unit(mad, WIRE_DM_IOC, srp_dm_slot(2), 7 << 2);
	ask_unit(mad, WIRE_DM_SERVICES, srp_dm_services(1, 4, 7), 7 << 2);
	ask_unit(mad, 0x20, 0, 3 << 2);
}

static void every_rule_has_a_sentence(void)
{
	for (int i = 0; i < SRP_NR_VERDICTS; i++)
		CHECK(srp_rules[i] && *srp_rules[i]);
	for (uint32_t i = WIRE_SRP_REJ_NO_CHANNEL; i <= WIRE_SRP_REJ_CHANNEL_LIMIT; i++)
		CHECK(strcmp(srp_reject_text(i), srp_reject_text(0)));
}

static const struct test_case cases[] = {
	{ "-", "logins", logins },
	{ "-", "bad logins", bad_logins },
	{ "-", "a direct command", a_direct_command },
	{ "-", "an indirect command", an_indirect_command },
	{ "-", "immediate data", immediate_data },
	{ "-", "long CDBs", long_cdbs },
	{ "-", "tasks", tasks },
	{ "-", "responses", responses },
	{ "-", "short ones", short_ones },
	{ "-", "an I/O unit", an_io_unit },
	{ "-", "every rule has a sentence", every_rule_has_a_sentence },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}
