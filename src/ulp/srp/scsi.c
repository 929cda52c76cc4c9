/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/srp/scsi.h"
#include "wire/field.h"

#include <stdio.h>
#include <stdlib.h>

#define VENDOR "DAPPLE  "
#define PRODUCT "SRP DISK        "
#define REVISION "0001"
#define UNMAP_BLOCKS_MAX (1u << 22)
#define UNMAP_DESCRIPTORS_MAX 256
#define ALL_PAGES 0x3f

enum { OUT_OF_RANGE = 0x2100, NO_UNIT = 0x2500, LIST_FIELD = 0x2600, LIST_LENGTH = 0x1a00,
       WRITE_PROTECTED = 0x2700, SAVING_UNSUPPORTED = 0x3900, READ_ERROR = 0x1100, WRITE_ERROR = 0x0c00, MISCOMPARE = 0x1d00 };
enum { KEY_DATA_PROTECT = 7, KEY_MISCOMPARE = 0xe };

/* A command that is being executed. */
struct run {
	struct scsi_nexus *x;
	struct scsi_unit *u;
	unsigned number;
	const uint8_t *cdb;
	uint8_t *data;
	struct scsi_result *r;
};

/* --- units --- */

bool scsi_unit_init(struct scsi_unit *u, uint32_t block, uint64_t id)
{
	u->block = block;
	u->blocks = u->store.len / block;
	snprintf(u->serial, sizeof(u->serial), "%016llx", (unsigned long long)id);
	atomic_init(&u->resets, 0);
	return u->blocks > 0 && u->store.len <= INT64_MAX;
}

void scsi_nexus_init(struct scsi_nexus *x, struct scsi_unit **units, unsigned nr)
{
	*x = (struct scsi_nexus){ .units = units, .nr = nr };
	for (unsigned i = 0; i < nr; i++) {
		x->attention[i] = SCSI_ASC_NEXUS_LOSS;
		x->resets[i] = atomic_load(&units[i]->resets);
	}
}

/* Peripheral device addressing of bus 0, and flat space addressing (SAM-5, 4.7). */
int scsi_lun_number(uint64_t lun)
{
	unsigned first = (unsigned)(lun >> 48);

	if (lun << 16)
		return -1;
	if (first >> 14 == 1)
		return first & 0x3fff;
	return first <= 0xff ? (int)first : -1;
}

static struct scsi_unit *unit_of(const struct scsi_nexus *x, uint64_t lun)
{
	int n = scsi_lun_number(lun);

	return n >= 0 && (unsigned)n < x->nr ? x->units[n] : NULL;
}

void scsi_sense(struct scsi_result *r, uint8_t key, uint16_t code)
{
	memset(r->sense, 0, sizeof(r->sense));
	r->sense[0] = 0x70;
	r->sense[2] = key;
	r->sense[7] = SCSI_SENSE_LEN - 8;
	wire_put16(r->sense + 12, code);
	r->sense_len = SCSI_SENSE_LEN;
	r->status = SCSI_CHECK_CONDITION;
	r->len = 0;
}

static void illegal(struct run *c, uint16_t code)
{
	scsi_sense(c->r, SCSI_KEY_ILLEGAL_REQUEST, code);
}

/* --- where and how much --- */

struct range {
	uint64_t lba, blocks;
};

/* Group code of an operation code: 6, 10, 16, 12 octets. */
static struct range range_of(const uint8_t *cdb)
{
	switch (cdb[0] >> 5) {
	case 0: return (struct range){ wire_get32(cdb) & 0x1fffff, cdb[4] ? cdb[4] : 256 };
	case 1: case 2: return (struct range){ wire_get32(cdb + 2), wire_get16(cdb + 7) };
	case 5: return (struct range){ wire_get32(cdb + 2), wire_get32(cdb + 6) };
	default: return (struct range){ wire_get64(cdb + 2), wire_get32(cdb + 10) };
	}
}

static bool is_in(const struct scsi_unit *u, struct range g)
{
	return g.lba <= u->blocks && g.blocks <= u->blocks - g.lba;
}

/* A range that can be moved at once; refuses others. */
static bool movable(struct run *c, struct range g)
{
	if (!is_in(c->u, g))
		illegal(c, OUT_OF_RANGE);
	else if (g.blocks > SCSI_TRANSFER_MAX / c->u->block)
		illegal(c, SCSI_ASC_INVALID_FIELD);
	else
		return true;
	return false;
}

static uint32_t octets(const struct scsi_unit *u, const uint8_t *cdb)
{
	uint64_t n = range_of(cdb).blocks;

	return n <= SCSI_TRANSFER_MAX / u->block ? (uint32_t)n * u->block : 0;
}

/* Gives len octets of data, cut to what the CDB allows. */
static void give(struct run *c, uint32_t len, uint32_t allowed)
{
	c->r->len = len < allowed ? len : allowed;
}

static void medium_result(struct run *c, int r, uint16_t code)
{
	if (r)
		scsi_sense(c->r, SCSI_KEY_MEDIUM_ERROR, code);
}

/* --- commands of every device (SPC-4) --- */

static void pad(uint8_t *at, const char *text, size_t len)
{
	memset(at, ' ', len);
	memcpy(at, text, strlen(text) < len ? strlen(text) : len);
}

static uint32_t page_identifiers(const struct scsi_unit *u, uint8_t *d)
{
	/* T10 vendor identification: code set ASCII, of the unit. */
	d[4] = 2;
	d[5] = 1;
	d[7] = 8 + 16;
	pad(d + 8, VENDOR, 8);
	pad(d + 16, u->serial, 16);
	/* NAA 3h, locally assigned. */
	d[32] = 1;
	d[33] = 3;
	d[35] = 8;
	wire_put64(d + 36, 3ull << 60 | strtoull(u->serial, NULL, 16) >> 4);
	return 44;
}

static uint32_t page_limits(const struct scsi_unit *u, uint8_t *d)
{
	wire_put32(d + 8, SCSI_TRANSFER_MAX / u->block);
	wire_put32(d + 12, SCSI_TRANSFER_MAX / u->block);
	wire_put32(d + 20, UNMAP_BLOCKS_MAX);
	wire_put32(d + 24, UNMAP_DESCRIPTORS_MAX);
	wire_put64(d + 36, UNMAP_BLOCKS_MAX);
	return 64;
}

static uint32_t vital_page(const struct scsi_unit *u, uint8_t page, uint8_t *d)
{
	static const uint8_t pages[] = { 0x00, 0x80, 0x83, 0xb0, 0xb1, 0xb2 };

	switch (page) {
	case 0x00: memcpy(d + 4, pages, sizeof(pages)); return 4 + sizeof(pages);
	case 0x80: pad(d + 4, u->serial, 16); return 20;
	case 0x83: return page_identifiers(u, d);
	case 0xb0: return page_limits(u, d);
	case 0xb1: d[5] = 1; return 64; /* it does not rotate */
	case 0xb2: d[5] = 0x80 | 0x40 | 0x20 | 0x04; d[6] = 2; return 8; /* UNMAP, WRITE SAME 16 and 10, zeroes, thin */
	default: return 0;
	}
}

static void do_inquiry(struct run *c)
{
	uint8_t *d = c->data;
	uint32_t len, allowed = wire_get16(c->cdb + 3);

	memset(d, 0, 256);
	if (!c->u) {
		d[0] = 0x7f; /* no device can be there */
		d[2] = 6;
		d[4] = 36 - 5;
		give(c, 36, allowed);
		return;
	}
	if (c->cdb[1] & 1) {
		len = vital_page(c->u, c->cdb[2], d);
		if (!len) {
			illegal(c, SCSI_ASC_INVALID_FIELD);
			return;
		}
		d[1] = c->cdb[2];
		wire_put16(d + 2, (uint16_t)(len - 4));
		give(c, len, allowed);
		return;
	}
	if (c->cdb[2]) {
		illegal(c, SCSI_ASC_INVALID_FIELD);
		return;
	}
	d[2] = 6;       /* SPC-4 */
	d[3] = 2;
	d[4] = 36 - 5;
	d[7] = 2;       /* command queueing */
	pad(d + 8, VENDOR, 8);
	pad(d + 16, PRODUCT, 16);
	pad(d + 32, REVISION, 4);
	give(c, 36, allowed);
}

static void do_report_luns(struct run *c)
{
	uint32_t allowed = wire_get32(c->cdb + 6);

	if (allowed < 16 || c->cdb[2] > 2) {
		illegal(c, SCSI_ASC_INVALID_FIELD);
		return;
	}
	memset(c->data, 0, 8 + 8 * (size_t)c->x->nr);
	if (c->cdb[2] == 1) { /* well known units alone: there are none */
		give(c, 8, allowed);
		return;
	}
	wire_put32(c->data, 8 * c->x->nr);
	for (unsigned i = 0; i < c->x->nr; i++)
		c->data[8 + 8 * i + 1] = (uint8_t)i;
	give(c, 8 + 8 * c->x->nr, allowed);
}

static void do_request_sense(struct run *c)
{
	struct scsi_result none = { 0 };

	if (!c->u) {
		scsi_sense(&none, SCSI_KEY_ILLEGAL_REQUEST, NO_UNIT);
	} else {
		scsi_sense(&none, c->x->attention[c->number] ? SCSI_KEY_UNIT_ATTENTION : 0, c->x->attention[c->number]);
		c->x->attention[c->number] = 0;
	}
	memcpy(c->data, none.sense, SCSI_SENSE_LEN);
	give(c, SCSI_SENSE_LEN, c->cdb[4]);
}

static void do_nothing(struct run *c)
{
	(void)c;
}

/* Caching and control mode pages: nothing of them can be changed. */
static uint32_t mode_pages(uint8_t page, bool changeable, uint8_t *d)
{
	uint32_t len = 0;

	if (page == 0x08 || page == ALL_PAGES) {
		memset(d, 0, 20);
		d[0] = 0x08;
		d[1] = 18;
		d[2] = changeable ? 0 : 0x04; /* the write cache is on */
		len += 20;
	}
	if (page == 0x0a || page == ALL_PAGES) {
		memset(d + len, 0, 12);
		d[len] = 0x0a;
		d[len + 1] = 10;
		d[len + 3] = changeable ? 0 : 0x10; /* commands may be reordered */
		len += 12;
	}
	return len;
}

static void do_mode_sense(struct run *c)
{
	bool ten = c->cdb[0] == 0x5a;
	uint8_t *d = c->data, page = c->cdb[2] & 0x3f, control = c->cdb[2] >> 6, specific;
	uint32_t header = ten ? 8 : 4, len;

	specific = (uint8_t)((c->u->store.read_only ? 0x80 : 0) | 0x10); /* write protected; DPO and FUA */
	memset(d, 0, 8);
	len = control == 3 || c->cdb[3] ? 0 : mode_pages(page, control == 1, d + header);
	if (!len) {
		illegal(c, control == 3 ? SAVING_UNSUPPORTED : SCSI_ASC_INVALID_FIELD);
		return;
	}
	len += header;
	d[ten ? 3 : 2] = specific;
	if (ten)
		wire_put16(d, (uint16_t)(len - 2));
	else
		d[0] = (uint8_t)(len - 1);
	give(c, len, ten ? wire_get16(c->cdb + 7) : c->cdb[4]);
}

/* --- commands of disks (SBC-3) --- */

static void do_capacity10(struct run *c)
{
	uint64_t last = c->u->blocks - 1;

	wire_put32(c->data, last < UINT32_MAX ? (uint32_t)last : UINT32_MAX);
	wire_put32(c->data + 4, c->u->block);
	give(c, 8, 8);
}

static void do_service_in(struct run *c)
{
	if ((c->cdb[1] & 0x1f) != 0x10) {
		illegal(c, SCSI_ASC_INVALID_FIELD);
		return;
	}
	memset(c->data, 0, 32);
	wire_put64(c->data, c->u->blocks - 1);
	wire_put32(c->data + 8, c->u->block);
	c->data[14] = 0x80 | 0x40; /* thin; unmapped blocks read as zeroes */
	give(c, 32, wire_get32(c->cdb + 10));
}

static void do_read(struct run *c)
{
	struct range g = range_of(c->cdb);

	if (!movable(c, g))
		return;
	medium_result(c, srp_store_read(&c->u->store, c->data, (size_t)(g.blocks * c->u->block), g.lba * c->u->block), READ_ERROR);
	if (!c->r->status)
		c->r->len = (uint32_t)g.blocks * c->u->block;
}

/* Force unit access. */
static bool fua(const uint8_t *cdb)
{
	return cdb[0] >> 5 && cdb[1] & 0x08;
}

static void do_write(struct run *c)
{
	struct range g = range_of(c->cdb);
	int r;

	if (!movable(c, g))
		return;
	r = srp_store_write(&c->u->store, c->data, (size_t)(g.blocks * c->u->block), g.lba * c->u->block);
	if (!r && fua(c->cdb))
		r = srp_store_sync(&c->u->store);
	medium_result(c, r, WRITE_ERROR);
}

/* Compares with octets of the initiator (BYTCHK 01b), or reads alone. */
static void do_verify(struct run *c)
{
	struct range g = range_of(c->cdb);
	uint8_t have[4096];
	uint64_t at = g.lba * c->u->block, len = g.blocks * c->u->block;
	unsigned check = c->cdb[1] >> 1 & 3;

	if (check > 1)
		illegal(c, SCSI_ASC_INVALID_FIELD);
	else if (!is_in(c->u, g))
		illegal(c, OUT_OF_RANGE);
	else if (!check || !movable(c, g))
		return;
	for (uint64_t done = 0; done < len && !c->r->status; done += sizeof(have)) {
		size_t n = len - done < sizeof(have) ? (size_t)(len - done) : sizeof(have);

		medium_result(c, srp_store_read(&c->u->store, have, n, at + done), READ_ERROR);
		if (!c->r->status && memcmp(have, c->data + done, n))
			scsi_sense(c->r, KEY_MISCOMPARE, MISCOMPARE);
	}
}

static void do_sync(struct run *c)
{
	struct range g = range_of(c->cdb);

	if (!is_in(c->u, g))
		illegal(c, OUT_OF_RANGE);
	else
		medium_result(c, srp_store_sync(&c->u->store), WRITE_ERROR);
}

static bool is_zero(const uint8_t *at, size_t len)
{
	return !at[0] && !memcmp(at, at + 1, len - 1);
}

static void do_write_same(struct run *c)
{
	struct range g = range_of(c->cdb);
	struct scsi_unit *u = c->u;
	bool unmap = c->cdb[1] & 0x08;
	int r = 0;

	if (c->cdb[1] & 0xe0 || c->cdb[1] & 0x17) { /* protection, ANCHOR, NDOB and the obsolete ones */
		illegal(c, SCSI_ASC_INVALID_FIELD);
		return;
	}
	if (!g.blocks || g.blocks > UNMAP_BLOCKS_MAX) {
		illegal(c, SCSI_ASC_INVALID_FIELD);
		return;
	}
	if (!is_in(u, g)) {
		illegal(c, OUT_OF_RANGE);
		return;
	}
	if (is_zero(c->data, u->block))
		r = srp_store_zero(&u->store, g.lba * u->block, g.blocks * u->block, unmap);
	else
		for (uint64_t i = 0; i < g.blocks && !r; i++)
			r = srp_store_write(&u->store, c->data, u->block, (g.lba + i) * u->block);
	medium_result(c, r, WRITE_ERROR);
}

static void do_unmap(struct run *c)
{
	uint32_t len = wire_get16(c->cdb + 7), nr;
	int r = 0;

	if (c->cdb[1] & 1) {
		illegal(c, SCSI_ASC_INVALID_FIELD);
		return;
	}
	if (!len)
		return;
	nr = len < 8 ? 0 : wire_get16(c->data + 2) / 16u;
	if (len < 8 || nr > (len - 8) / 16 || nr > UNMAP_DESCRIPTORS_MAX) {
		illegal(c, len < 8 ? LIST_LENGTH : LIST_FIELD);
		return;
	}
	for (uint32_t i = 0; i < nr; i++) {
		struct range g = { wire_get64(c->data + 8 + 16 * i), wire_get32(c->data + 16 + 16 * i) };

		if (!is_in(c->u, g) || g.blocks > UNMAP_BLOCKS_MAX) {
			illegal(c, is_in(c->u, g) ? LIST_FIELD : OUT_OF_RANGE);
			return;
		}
	}
	for (uint32_t i = 0; i < nr && !r; i++)
		r = srp_store_zero(&c->u->store, wire_get64(c->data + 8 + 16 * i) * c->u->block,
				   (uint64_t)wire_get32(c->data + 16 + 16 * i) * c->u->block, true);
	medium_result(c, r, WRITE_ERROR);
}

/* --- the table --- */

enum { WRITES = 1, WITHOUT_UNIT = 2, NO_ATTENTION = 4 };
enum moves { NOTHING, BLOCKS_IN, BLOCKS_OUT, ONE_BLOCK_OUT, PARAMETERS_OUT, CHECKED_OUT, ANSWER_IN };

static const struct command {
	void (*run)(struct run *c);
	uint8_t opcode;
	uint8_t flags;
	enum moves moves;
} commands[] = {
	{ do_nothing, 0x00, 0, NOTHING },                               /* TEST UNIT READY */
	{ do_request_sense, 0x03, WITHOUT_UNIT | NO_ATTENTION, ANSWER_IN },
	{ do_read, 0x08, 0, BLOCKS_IN },
	{ do_write, 0x0a, WRITES, BLOCKS_OUT },
	{ do_inquiry, 0x12, WITHOUT_UNIT | NO_ATTENTION, ANSWER_IN },
	{ do_mode_sense, 0x1a, 0, ANSWER_IN },
	{ do_nothing, 0x1b, 0, NOTHING },                               /* START STOP UNIT */
	{ do_capacity10, 0x25, 0, ANSWER_IN },
	{ do_read, 0x28, 0, BLOCKS_IN },
	{ do_write, 0x2a, WRITES, BLOCKS_OUT },
	{ do_verify, 0x2f, 0, CHECKED_OUT },
	{ do_sync, 0x35, 0, NOTHING },
	{ do_write_same, 0x41, WRITES, ONE_BLOCK_OUT },
	{ do_unmap, 0x42, WRITES, PARAMETERS_OUT },
	{ do_mode_sense, 0x5a, 0, ANSWER_IN },
	{ do_read, 0x88, 0, BLOCKS_IN },
	{ do_write, 0x8a, WRITES, BLOCKS_OUT },
	{ do_verify, 0x8f, 0, CHECKED_OUT },
	{ do_sync, 0x91, 0, NOTHING },
	{ do_write_same, 0x93, WRITES, ONE_BLOCK_OUT },
	{ do_service_in, 0x9e, 0, ANSWER_IN },
	{ do_report_luns, 0xa0, WITHOUT_UNIT | NO_ATTENTION, ANSWER_IN },
	{ do_read, 0xa8, 0, BLOCKS_IN },
	{ do_write, 0xaa, WRITES, BLOCKS_OUT },
};

static const struct command *find(uint8_t opcode)
{
	for (size_t i = 0; i < sizeof(commands) / sizeof(commands[0]); i++)
		if (commands[i].opcode == opcode)
			return &commands[i];
	return NULL;
}

struct scsi_plan scsi_plan(const struct scsi_nexus *x, uint64_t lun, const uint8_t *cdb)
{
	const struct command *k = find(cdb[0]);
	const struct scsi_unit *u = unit_of(x, lun);

	if (!k || (!u && !(k->flags & WITHOUT_UNIT)))
		return (struct scsi_plan){ SCSI_NO_DATA, 0 };
	switch (k->moves) {
	case BLOCKS_IN: return (struct scsi_plan){ SCSI_IN, octets(u, cdb) };
	case BLOCKS_OUT: return (struct scsi_plan){ SCSI_OUT, octets(u, cdb) };
	case ONE_BLOCK_OUT: return (struct scsi_plan){ SCSI_OUT, u->block };
	case PARAMETERS_OUT: return (struct scsi_plan){ SCSI_OUT, wire_get16(cdb + 7) };
	case CHECKED_OUT: return (struct scsi_plan){ (cdb[1] >> 1 & 3) == 1 ? SCSI_OUT : SCSI_NO_DATA,
						     (cdb[1] >> 1 & 3) == 1 ? octets(u, cdb) : 0 };
	case ANSWER_IN: return (struct scsi_plan){ SCSI_IN, SCSI_TRANSFER_MAX };
	default: return (struct scsi_plan){ SCSI_NO_DATA, 0 };
	}
}

static void look_for_resets(struct scsi_nexus *x, unsigned number)
{
	unsigned now = atomic_load(&x->units[number]->resets);

	if (now != x->resets[number])
		x->attention[number] = SCSI_ASC_RESET;
	x->resets[number] = now;
}

void scsi_run(struct scsi_nexus *x, uint64_t lun, const uint8_t *cdb, uint8_t *data, struct scsi_result *r)
{
	struct run c = { x, unit_of(x, lun), 0, cdb, data, r };
	const struct command *k = find(cdb[0]);

	*r = (struct scsi_result){ .status = SCSI_GOOD };
	if (c.u) {
		c.number = (unsigned)scsi_lun_number(lun);
		look_for_resets(x, c.number);
	}
	if (!c.u && !(k && k->flags & WITHOUT_UNIT)) {
		illegal(&c, NO_UNIT);
	} else if (c.u && x->attention[c.number] && !(k && k->flags & NO_ATTENTION)) {
		scsi_sense(r, SCSI_KEY_UNIT_ATTENTION, x->attention[c.number]);
		x->attention[c.number] = 0;
	} else if (!k) {
		illegal(&c, SCSI_ASC_INVALID_OPCODE);
	} else if (k->flags & WRITES && c.u->store.read_only) {
		scsi_sense(r, KEY_DATA_PROTECT, WRITE_PROTECTED);
	} else {
		k->run(&c);
	}
}
