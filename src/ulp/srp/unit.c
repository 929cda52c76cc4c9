/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/srp/unit.h"
#include "ulp/srp/sense.h"
#include "ulp/clock.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define TRANSFER_DEFAULT (256 * 1024)
#define ANSWER_LEN 4096
#define ATTENTIONS 8                    /* how often a unit may have one before a command */
#define PAUSE_MS 50                     /* between attempts at a busy unit */

static int fail(const struct srp_unit *u, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static int fail(const struct srp_unit *u, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(u->why, u->why_len, fmt, ap);
	va_end(ap);
	return -(err ? err : EIO);
}

struct srp_io srp_unit_question(uint64_t lun, const struct iovec *v, uint8_t opcode, uint8_t len)
{
	struct srp_io io = { .lun = lun, .cdb_len = len, .in = v, .nr_in = v != NULL };

	io.cdb[0] = opcode;
	return io;
}

/* Executes a command, again while the unit is busy or has an attention. */
static int execute(const struct srp_unit *u, struct srp_io *io)
{
	const struct timespec pause = { 0, PAUSE_MS * 1000000L };
	int64_t end = ulp_now_ms() + u->timeout_ms;
	unsigned attentions = 0;
	int r;

	for (;;) {
		r = srp_execute(u->session, io, u->timeout_ms);
		if (r)
			return fail(u, -r, r == -ETIMEDOUT ? "a command is not answered in time" : "the session is lost: %s",
				    srp_session_why(u->session));
		if (srp_has_attention(io) && attentions++ < ATTENTIONS)
			continue;
		if (!srp_is_busy(io) || ulp_now_ms() >= end)
			return 0;
		nanosleep(&pause, NULL);
	}
}

/* A command whose status has to be GOOD. */
static int ask(const struct srp_unit *u, struct srp_io *io, const char *name)
{
	char text[96];
	int r = execute(u, io);

	if (r || !io->status)
		return r;
	return fail(u, EIO, "%s ends with %s", name, srp_status_text(text, sizeof(text), io));
}

static void copy_text(char *out, const uint8_t *at, size_t len)
{
	while (len && (at[len - 1] == ' ' || !at[len - 1]))
		len--;
	for (size_t i = 0; i < len; i++)
		out[i] = at[i] >= ' ' && at[i] < 0x7f ? (char)at[i] : '?';
	out[len] = '\0';
}

/* Asks for a page of vital product data. Returns its octets, 0 if there is none, or a negative errno. */
static int ask_page(const struct srp_unit *u, uint8_t page, uint8_t *at)
{
	struct iovec v = { at, 252 };
	struct srp_io io = srp_unit_question(u->lun, &v, 0x12, 6);
	int r;

	memset(at, 0, 252);
	io.cdb[1] = 1;
	io.cdb[2] = page;
	io.cdb[4] = 252;
	r = execute(u, &io);
	if (r || io.status || io.moved < 4 || at[1] != page)
		return r;
	return (int)(io.moved < wire_get16(at + 2) + 4u ? io.moved : wire_get16(at + 2) + 4u);
}

static int ask_inquiry(const struct srp_unit *u, struct srp_disk_facts *f, uint8_t *at)
{
	struct iovec v = { at, 96 };
	struct srp_io io = srp_unit_question(u->lun, &v, 0x12, 6);
	int r;

	io.cdb[4] = 96;
	r = ask(u, &io, "INQUIRY");
	if (r)
		return r;
	if (io.moved < 36)
		return fail(u, EPROTO, "the answer to INQUIRY has %u octets", io.moved);
	if (at[0] >> 5)
		return fail(u, ENXIO, "the target has no logical unit of this number");
	f->type = at[0] & 0x1f;
	copy_text(f->vendor, at + 8, 8);
	copy_text(f->product, at + 16, 16);
	copy_text(f->revision, at + 32, 4);
	return 0;
}

static int ask_capacity(const struct srp_unit *u, struct srp_disk_facts *f, uint8_t *at)
{
	struct iovec v = { at, 32 };
	struct srp_io io = srp_unit_question(u->lun, &v, 0x9e, 16);
	int r;

	io.cdb[1] = 0x10;
	wire_put32(io.cdb + 10, 32);
	r = execute(u, &io);
	if (!r && !io.status && io.moved >= 16) {
		f->blocks = wire_get64(at) + 1;
		f->block = wire_get32(at + 8);
		f->zeroes = (at[14] & 0xc0) == 0xc0;
		return 0;
	}
	v.iov_len = 8;
	io = srp_unit_question(u->lun, &v, 0x25, 10);
	r = r ? r : ask(u, &io, "READ CAPACITY");
	if (r || io.moved < 8)
		return r ? r : fail(u, EPROTO, "the answer to READ CAPACITY has %u octets", io.moved);
	f->blocks = (uint64_t)wire_get32(at) + 1;
	f->block = wire_get32(at + 4);
	return 0;
}

/* Pages B0 and B2 (SBC-3, 6.5.3 and 6.5.4). */
static int ask_limits(const struct srp_unit *u, struct srp_disk_facts *f, uint8_t *at)
{
	int len = ask_page(u, 0xb0, at);
	uint64_t same;
	uint32_t max;

	if (len < 0)
		return len;
	f->transfer_max = TRANSFER_DEFAULT;
	f->same_max = UINT32_MAX;
	if (len >= 32) {
		max = wire_get32(at + 8);
		if (max && max < TRANSFER_DEFAULT / f->block)
			f->transfer_max = max * f->block;
		f->unmap_max = wire_get32(at + 24) ? wire_get32(at + 20) : 0;
		same = len >= 44 ? wire_get64(at + 36) : 0;
		f->same_max = same && same < UINT32_MAX ? (uint32_t)same : UINT32_MAX;
	}
	len = ask_page(u, 0xb2, at);
	f->same_unmaps = len >= 6 && at[5] & 0x40;
	return len < 0 ? len : 0;
}

static int ask_serial(const struct srp_unit *u, struct srp_disk_facts *f, uint8_t *at)
{
	int len = ask_page(u, 0x80, at);

	if (len > 4)
		copy_text(f->serial, at + 4, len - 4 < 64 ? (size_t)len - 4 : 64);
	return len < 0 ? len : 0;
}

/* The device-specific parameter of the mode parameter header (SBC-3, 6.4.1): WP, DPOFUA. */
static int ask_modes(const struct srp_unit *u, struct srp_disk_facts *f, uint8_t *at)
{
	struct iovec v = { at, 192 };
	struct srp_io io = srp_unit_question(u->lun, &v, 0x1a, 6);
	int r;

	io.cdb[2] = 0x3f;
	io.cdb[4] = 192;
	r = execute(u, &io);
	if (!r && !io.status && io.moved >= 4) {
		f->read_only = at[2] & 0x80;
		f->fua = at[2] & 0x10;
	}
	return r;
}

int srp_unit_facts(const struct srp_unit *u, struct srp_disk_facts *ret)
{
	uint8_t *at = malloc(ANSWER_LEN);
	int r = at ? ask_inquiry(u, ret, at) : fail(u, ENOMEM, "no memory");
	bool disk = !r && ret->type == 0;

	if (disk)
		r = ask_capacity(u, ret, at);
	if (disk && !r && (ret->block < 512 || ret->block > 65536 || ret->block & (ret->block - 1)))
		r = fail(u, EPROTO, "logical blocks of %u octets are not supported", ret->block);
	if (disk && !r)
		r = ask_limits(u, ret, at);
	if (disk && !r)
		r = ask_modes(u, ret, at);
	if (!r)
		r = ask_serial(u, ret, at);
	free(at);
	return r;
}

int srp_unit_luns(const struct srp_unit *u, uint64_t *ret_luns, unsigned max)
{
	uint8_t *at = malloc(ANSWER_LEN);
	struct iovec v = { at, ANSWER_LEN };
	struct srp_io io = srp_unit_question(0, &v, 0xa0, 12);
	uint32_t nr = 0;
	int r;

	if (!at)
		return fail(u, ENOMEM, "no memory");
	wire_put32(io.cdb + 6, ANSWER_LEN);
	r = ask(u, &io, "REPORT LUNS");
	if (!r && io.moved >= 8)
		nr = wire_get32(at) / 8 < (io.moved - 8) / 8 ? wire_get32(at) / 8 : (io.moved - 8) / 8;
	if (nr > max)
		nr = max;
	for (uint32_t i = 0; i < nr; i++)
		ret_luns[i] = wire_get64(at + 8 + 8 * i);
	free(at);
	return r ? r : (int)nr;
}

bool srp_facts_are_same(const struct srp_disk_facts *a, const struct srp_disk_facts *b)
{
	return a->type == b->type && a->block == b->block && a->blocks == b->blocks && !strcmp(a->vendor, b->vendor) &&
	       !strcmp(a->product, b->product) && !strcmp(a->serial, b->serial);
}
