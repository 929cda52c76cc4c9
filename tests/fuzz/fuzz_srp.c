/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What a peer of SRP may send, in both roles. The first byte says which: a command with immediate data at an offset, a
 * login, its answer or rejection, a task, a response, a short information unit, which are written as they were read;
 * CDBs with data for two small disks, which stay within what they say of themselves; or a MAD of device management to both ends.
 */
#include "input.h"

#include "ulp/srp/dm.h"
#include "ulp/srp/iu.h"
#include "ulp/srp/scsi.h"

#define UNIT_LEN 65536

static void command(struct input *in)
{
	static uint8_t out[65536 + 4096];
	struct srp_command c, again;
	size_t offset = in8(in), len = SIZE_MAX, back;
	const uint8_t *data = in_bytes(in, &len);

	if (srp_command_get(&c, data, len, offset))
		return;
	REQUIRE(c.cdb_len >= 16 && c.cdb_len <= SRP_CDB_MAX && c.out.nr_here <= c.out.nr && c.in.nr_here <= c.in.nr);
	REQUIRE(c.out.nr <= SRP_DESCRIPTORS_MAX && c.in.nr <= SRP_DESCRIPTORS_MAX);
	if (c.out.format == WIRE_SRP_FORMAT_IMMEDIATE)
		REQUIRE(c.out.data >= data && c.out.length <= len && c.out.data + c.out.length <= data + len);
	back = srp_command_put(out, &c, offset);
	REQUIRE(back <= len);
	if (c.out.format == WIRE_SRP_FORMAT_IMMEDIATE)
		memcpy(out + offset, c.out.data, c.out.length);
	REQUIRE(!srp_command_get(&again, out, back, offset));
	REQUIRE(again.tag == c.tag && again.lun == c.lun && again.attribute == c.attribute && again.cdb_len == c.cdb_len);
	REQUIRE(!memcmp(again.cdb, c.cdb, c.cdb_len) && again.out.format == c.out.format && again.in.format == c.in.format);
	REQUIRE(again.out.length == c.out.length && again.in.length == c.in.length && again.in.nr_here == c.in.nr_here);
	for (uint32_t i = 0; i < c.in.nr_here; i++) {
		struct srp_memory m = srp_memory_get(c.in.list + i * WIRE_SRP_MEMORY_LEN);

		REQUIRE(m.length == srp_memory_get(again.in.list + i * WIRE_SRP_MEMORY_LEN).length);
	}
}

static void table(struct input *in)
{
	struct srp_memory m[SRP_DESCRIPTORS_MAX];
	uint32_t length = in32(in), nr = 0;
	uint64_t sum = 0;

	while (in->at < in->end && nr < SRP_DESCRIPTORS_MAX) {
		m[nr] = (struct srp_memory){ .length = in32(in) };
		sum += m[nr++].length;
	}
	REQUIRE(!srp_table_check(m, nr, length) == (sum == length));
}

static void logins(struct input *in)
{
	uint8_t out[WIRE_SRP_LOGIN_REQ_LEN];
	size_t len = SIZE_MAX;
	const uint8_t *data = in_bytes(in, &len);
	struct srp_login l, again;
	struct srp_accepted a, b;

	if (!srp_login_get(&l, data, len)) {
		srp_login_put(out, &l);
		REQUIRE(!srp_login_get(&again, out, sizeof(out)) && again.tag == l.tag && again.it_length == l.it_length);
		REQUIRE(!memcmp(again.initiator, l.initiator, 32) && again.immediate_offset == l.immediate_offset);
	}
	if (!srp_accepted_get(&a, data, len)) {
		srp_accepted_put(out, &a);
		REQUIRE(!srp_accepted_get(&b, out, WIRE_SRP_LOGIN_RSP_LEN) && a.limit && b.limit == a.limit);
		REQUIRE(b.it_length == a.it_length && b.ti_length == a.ti_length && b.channels == a.channels);
	}
	REQUIRE(*srp_reject_text(srp_reject_get(data, len)));
}

static void answers(struct input *in)
{
	static uint8_t out[65536];
	size_t len = SIZE_MAX;
	const uint8_t *data = in_bytes(in, &len);
	struct srp_response r, again;
	struct srp_task t, u;
	struct srp_short s, v;

	if (!srp_response_get(&r, data, len)) {
		REQUIRE(r.sense >= data && r.sense + r.sense_len <= data + len);
		REQUIRE(!srp_response_get(&again, out, srp_response_put(out, &r)));
		REQUIRE(again.tag == r.tag && again.limit_delta == r.limit_delta && again.status == r.status);
		REQUIRE(again.sense_len == r.sense_len && !memcmp(again.sense, r.sense, r.sense_len) && again.code == r.code);
	}
	if (!srp_task_get(&t, data, len)) {
		srp_task_put(out, &t);
		REQUIRE(!srp_task_get(&u, out, WIRE_SRP_TSK_MGMT_LEN) && u.tag == t.tag && u.task_tag == t.task_tag && u.lun == t.lun);
	}
	if (!srp_short_get(&s, data, len)) {
		srp_short_put(out, &s);
		REQUIRE(!srp_short_get(&v, out, WIRE_SRP_SHORT_LEN) && v.type == s.type && v.tag == s.tag && v.number == s.number);
	}
}

static struct scsi_unit unit[2];
static struct scsi_unit *units[2] = { &unit[0], &unit[1] };

static void make_units(void)
{
	if (unit[0].blocks)
		return;
	REQUIRE(!srp_store_memory(&unit[0].store, UNIT_LEN) && scsi_unit_init(&unit[0], 512, 1));
	REQUIRE(!srp_store_memory(&unit[1].store, UNIT_LEN) && scsi_unit_init(&unit[1], 4096, 2));
	unit[1].store.read_only = true;
}

/* Each: 1 octet, of which the lowest bits are the number of the unit, 16 octets of a CDB, and data behind. */
static void disks(struct input *in)
{
	static uint8_t room[SCSI_TRANSFER_MAX];
	struct scsi_nexus x;
	struct scsi_result r;

	make_units();
	scsi_nexus_init(&x, units, 2);
	while (in->at < in->end) {
		uint8_t cdb[16] = { 0 }, first = in8(in), *data = room;
		uint64_t lun = (uint64_t)(first & 3) << 48 | (first & 0x40 ? 1ull << 62 : 0) | (first & 0x80 ? 1 : 0);
		size_t len = sizeof(cdb), have;
		const uint8_t *at = in_bytes(in, &len);
		struct scsi_plan p;

		memcpy(cdb, at, len);
		p = scsi_plan(&x, lun, cdb);
		REQUIRE(p.len <= SCSI_TRANSFER_MAX && (p.direction != SCSI_NO_DATA || !p.len));
		if (p.direction == SCSI_OUT && p.len) { /* as much as planned: what is read beyond is a fault */
			data = calloc(1, p.len);
			have = p.len < 64 ? p.len : 64;
			at = in_bytes(in, &have);
			memcpy(data, at, have);
		}
		scsi_run(&x, lun, cdb, data, &r);
		REQUIRE(r.len <= SCSI_TRANSFER_MAX && r.sense_len <= SCSI_SENSE_LEN && (r.status == SCSI_GOOD || !r.len));
		REQUIRE(!r.len || p.direction == SCSI_IN);
		if (first & 0x20)
			atomic_fetch_add(&unit[first & 1].resets, 1);
		if (data != room)
			free(data);
	}
}

/* A MAD to an agent, and the same as an answer of one. */
static void management(struct input *in)
{
	static const struct srp_dm_unit u = { .target = { 1, 2, 3 }, .service_id = 77, .send_size = 8276, .id = "a disk" };
	uint8_t mad[SRP_MAD_LEN] = { 0 }, asked[SRP_MAD_LEN];
	size_t len = SRP_MAD_LEN;
	const uint8_t *data = in_bytes(in, &len);
	struct srp_dm_controller c;
	struct srp_dm_service s;
	uint8_t id[16];

	memcpy(mad, data, len);
	memcpy(asked, mad, SRP_MAD_LEN);
	for (unsigned slot = 0; slot <= srp_dm_slots(mad) + 1; slot++)
		REQUIRE(!srp_dm_has_controller(mad, slot) || (slot && slot <= srp_dm_slots(mad)));
	srp_dm_controller_get(&c, mad);
	REQUIRE(strlen(c.id) <= 64);
	for (unsigned i = 0; i < WIRE_SERVICE_ENTRIES; i++) {
		srp_dm_service_get(&s, mad, i);
		REQUIRE(strlen(s.name) <= 40);
		REQUIRE(!srp_dm_target(id, &c, &s) || c.io_class == WIRE_SRP_IO_CLASS || c.io_class == WIRE_SRP_IO_CLASS_OLD);
	}
	if (srp_dm_answer(&u, mad))
		REQUIRE(mad[3] == 0x81 && !memcmp(mad + 8, asked + 8, 16) && !srp_dm_answer(&u, mad));
	else
		REQUIRE(!memcmp(mad, asked, SRP_MAD_LEN));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct input in = { data, data + size };

	switch (in8(&in) % 6) {
	case 0: command(&in); break;
	case 1: table(&in); break;
	case 2: logins(&in); break;
	case 3: answers(&in); break;
	case 4: disks(&in); break;
	default: management(&in); break;
	}
	return 0;
}
