/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/srp/disk.h"
#include "ulp/clock.h"
#include "ulp/srp/scsi.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WINDOW 8                        /* commands of a transfer under way */
#define TRANSFER_DEFAULT (256 * 1024)
#define ANSWER_LEN 4096
#define ATTENTIONS 8                    /* how often a unit may have one before a command */
#define PAUSE_MS 50                     /* between attempts at a busy unit */
#define RECONNECT_PAUSE_MS 200
#define LUNS_MAX 511                    /* of one answer */

struct srp_disk {
	struct srp_disk_conf conf;
	struct srp_session *session;    /* NULL: it is lost */
	struct srp_disk_facts facts;
	unsigned reconnects;
	char why[SRP_DISK_WHY_MAX];
};

static int fail(struct srp_disk *d, int err, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

static int fail(struct srp_disk *d, int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(d->why, sizeof(d->why), fmt, ap);
	va_end(ap);
	return -(err ? err : EIO);
}

static void rest(int ms)
{
	struct timespec t = { ms / 1000, ms % 1000 * 1000000L };

	nanosleep(&t, NULL);
}

/* --- status in words --- */

const char *srp_status_text(char *text, size_t len, const struct srp_io *io)
{
	static const char *const keys[] = { "NO SENSE", "RECOVERED ERROR", "NOT READY", "MEDIUM ERROR", "HARDWARE ERROR",
		"ILLEGAL REQUEST", "UNIT ATTENTION", "DATA PROTECT", "BLANK CHECK", "VENDOR SPECIFIC", "COPY ABORTED",
		"ABORTED COMMAND", "RESERVED", "VOLUME OVERFLOW", "MISCOMPARE", "COMPLETED" };
	bool fixed = io->sense_len >= 14 && (io->sense[0] & 0x7e) == 0x70;
	unsigned key = fixed ? io->sense[2] & 15 : io->sense_len >= 4 ? io->sense[1] & 15 : 0;

	if (io->status != SCSI_CHECK_CONDITION)
		snprintf(text, len, "status %#x%s", io->status, io->status == SCSI_BUSY ? ", BUSY" :
			 io->status == SCSI_TASK_SET_FULL ? ", TASK SET FULL" : io->status == 0x18 ? ", RESERVATION CONFLICT" : "");
	else if (io->sense_len < 4)
		snprintf(text, len, "CHECK CONDITION without sense data");
	else
		snprintf(text, len, "CHECK CONDITION, %s (%x/%02x/%02x)", keys[key], key, io->sense[fixed ? 12 : 2],
			 io->sense[fixed ? 13 : 3]);
	return text;
}

static bool has_attention(const struct srp_io *io)
{
	bool fixed = io->sense_len >= 14 && (io->sense[0] & 0x7e) == 0x70;

	return io->status == SCSI_CHECK_CONDITION && io->sense_len >= 4 &&
	       (io->sense[fixed ? 2 : 1] & 15) == SCSI_KEY_UNIT_ATTENTION;
}

static bool is_busy(const struct srp_io *io)
{
	return io->status == SCSI_BUSY || io->status == SCSI_TASK_SET_FULL;
}

/* --- the session --- */

static int log_in(struct srp_disk *d)
{
	char why[ULP_WHY_MAX];
	int err;

	d->session = srp_login((const struct sockaddr *)&d->conf.to, &d->conf.session, d->conf.timeout_ms, &err, why);
	return d->session ? 0 : fail(d, err, "%s", why);
}

static bool may_come_back(int r)
{
	return r != -EACCES && r != -EPROTO && r != -EINVAL;
}

/* Makes a lost session again. Returns 0, or why there is none. */
static int reconnect(struct srp_disk *d)
{
	int64_t end = ulp_now_ms() + d->conf.reconnect_ms;
	int r = fail(d, ECONNRESET, "the session is lost: %s", srp_session_why(d->session));

	srp_logout(d->session);
	d->session = NULL;
	while (d->conf.reconnect_ms && ulp_now_ms() < end) {
		r = log_in(d);
		d->reconnects += !r;
		if (!r || !may_come_back(r))
			break;
		rest(RECONNECT_PAUSE_MS);
	}
	return r;
}

/* A session that a call before has lost is tried once more. */
static int have_session(struct srp_disk *d)
{
	return d->session ? 0 : log_in(d);
}

int srp_disk_command(struct srp_disk *d, struct srp_io *io)
{
	int64_t end = ulp_now_ms() + d->conf.timeout_ms;
	unsigned attentions = 0;
	int r = have_session(d);

	while (!r) {
		r = srp_execute(d->session, io, d->conf.timeout_ms);
		if (r == -EMSGSIZE)
			return fail(d, -r, "a command has too many pieces of data");
		if (r == -ETIMEDOUT)
			return fail(d, -r, "a command is not answered in time");
		if (r) {
			r = reconnect(d);
			continue;
		}
		if (has_attention(io) && attentions++ < ATTENTIONS)
			continue;
		if (!is_busy(io) || ulp_now_ms() >= end)
			return 0;
		rest(PAUSE_MS);
	}
	return r;
}

/* A command whose status has to be GOOD. */
static int ask(struct srp_disk *d, struct srp_io *io, const char *name)
{
	char text[96];
	int r = srp_disk_command(d, io);

	if (r || !io->status)
		return r;
	return fail(d, EIO, "%s ends with %s", name, srp_status_text(text, sizeof(text), io));
}

/* --- facts --- */

static void copy_text(char *out, const uint8_t *at, size_t len)
{
	while (len && (at[len - 1] == ' ' || !at[len - 1]))
		len--;
	for (size_t i = 0; i < len; i++)
		out[i] = at[i] >= ' ' && at[i] < 0x7f ? (char)at[i] : '?';
	out[len] = '\0';
}

static struct srp_io question(const struct srp_disk *d, const struct iovec *v, uint8_t opcode, uint8_t len)
{
	struct srp_io io = { .lun = d->conf.lun, .cdb_len = len, .in = v, .nr_in = v != NULL };

	io.cdb[0] = opcode;
	return io;
}

/* Asks for a page of vital product data. Returns its octets; 0: there is none. */
static uint32_t ask_page(struct srp_disk *d, uint8_t page, uint8_t *at)
{
	struct iovec v = { at, 252 };
	struct srp_io io = question(d, &v, 0x12, 6);

	memset(at, 0, 252);
	io.cdb[1] = 1;
	io.cdb[2] = page;
	io.cdb[4] = 252;
	if (srp_disk_command(d, &io) || io.status || io.moved < 4 || at[1] != page)
		return 0;
	return io.moved < wire_get16(at + 2) + 4u ? io.moved : wire_get16(at + 2) + 4u;
}

static int ask_inquiry(struct srp_disk *d, uint8_t *at)
{
	struct iovec v = { at, 96 };
	struct srp_io io = question(d, &v, 0x12, 6);
	int r;

	io.cdb[4] = 96;
	r = ask(d, &io, "INQUIRY");
	if (r)
		return r;
	if (io.moved < 36)
		return fail(d, EPROTO, "the answer to INQUIRY has %u octets", io.moved);
	if (at[0] >> 5)
		return fail(d, ENXIO, "the target has no logical unit of this number");
	d->facts.type = at[0] & 0x1f;
	copy_text(d->facts.vendor, at + 8, 8);
	copy_text(d->facts.product, at + 16, 16);
	copy_text(d->facts.revision, at + 32, 4);
	return 0;
}

static int ask_capacity(struct srp_disk *d, uint8_t *at)
{
	struct iovec v = { at, 32 };
	struct srp_io io = question(d, &v, 0x9e, 16);
	int r;

	io.cdb[1] = 0x10;
	wire_put32(io.cdb + 10, 32);
	r = srp_disk_command(d, &io);
	if (!r && !io.status && io.moved >= 16) {
		d->facts.blocks = wire_get64(at) + 1;
		d->facts.block = wire_get32(at + 8);
		d->facts.zeroes = (at[14] & 0xc0) == 0xc0;
		return 0;
	}
	v.iov_len = 8;
	io = question(d, &v, 0x25, 10);
	r = r ? r : ask(d, &io, "READ CAPACITY");
	if (r || io.moved < 8)
		return r ? r : fail(d, EPROTO, "the answer to READ CAPACITY has %u octets", io.moved);
	d->facts.blocks = (uint64_t)wire_get32(at) + 1;
	d->facts.block = wire_get32(at + 4);
	return 0;
}

static void ask_limits(struct srp_disk *d, uint8_t *at)
{
	uint32_t len = ask_page(d, 0xb0, at), max;

	d->facts.transfer_max = TRANSFER_DEFAULT;
	if (len < 32)
		return;
	max = wire_get32(at + 8);
	if (max && max < TRANSFER_DEFAULT / d->facts.block)
		d->facts.transfer_max = max * d->facts.block;
	d->facts.unmap_max = wire_get32(at + 24) ? wire_get32(at + 20) : 0;
}

static void ask_serial(struct srp_disk *d, uint8_t *at)
{
	uint32_t len = ask_page(d, 0x80, at);

	if (len > 4)
		copy_text(d->facts.serial, at + 4, len - 4 < 64 ? len - 4 : 64);
}

static void ask_protection(struct srp_disk *d, uint8_t *at)
{
	struct iovec v = { at, 192 };
	struct srp_io io = question(d, &v, 0x1a, 6);

	io.cdb[2] = 0x3f;
	io.cdb[4] = 192;
	if (!srp_disk_command(d, &io) && !io.status && io.moved >= 4)
		d->facts.read_only = at[2] & 0x80;
}

static int ask_facts(struct srp_disk *d)
{
	uint8_t *at = malloc(ANSWER_LEN);
	int r = at ? ask_inquiry(d, at) : fail(d, ENOMEM, "no memory");

	if (!r && d->facts.type == 0)
		r = ask_capacity(d, at);
	if (!r && d->facts.type == 0 && (d->facts.block < 512 || d->facts.block > 65536 || d->facts.block & (d->facts.block - 1)))
		r = fail(d, EPROTO, "logical blocks of %u octets are not supported", d->facts.block);
	if (!r && d->facts.type == 0) {
		ask_limits(d, at);
		ask_protection(d, at);
	}
	if (!r)
		ask_serial(d, at);
	free(at);
	return r;
}

int srp_disk_luns(struct srp_disk *d, uint64_t *ret_luns, unsigned max)
{
	uint8_t *at = malloc(ANSWER_LEN);
	struct iovec v = { at, ANSWER_LEN };
	struct srp_io io = question(d, &v, 0xa0, 12);
	uint32_t nr = 0;
	int r;

	if (!at)
		return fail(d, ENOMEM, "no memory");
	io.lun = 0;
	wire_put32(io.cdb + 6, ANSWER_LEN);
	r = ask(d, &io, "REPORT LUNS");
	if (!r && io.moved >= 8)
		nr = wire_get32(at) / 8 < (io.moved - 8) / 8 ? wire_get32(at) / 8 : (io.moved - 8) / 8;
	if (nr > max)
		nr = max;
	for (uint32_t i = 0; i < nr; i++)
		ret_luns[i] = wire_get64(at + 8 + 8 * i);
	free(at);
	return r ? r : (int)nr;
}

/* --- opening --- */

struct srp_disk *srp_disk_open_session(const struct srp_disk_conf *conf, char why[SRP_DISK_WHY_MAX])
{
	struct srp_disk *d = calloc(1, sizeof(*d));

	if (!d) {
		snprintf(why, SRP_DISK_WHY_MAX, "no memory");
		return NULL;
	}
	d->conf = *conf;
	if (!log_in(d))
		return d;
	snprintf(why, SRP_DISK_WHY_MAX, "%s", d->why);
	free(d);
	return NULL;
}

struct srp_disk *srp_disk_open(const struct srp_disk_conf *conf, char why[SRP_DISK_WHY_MAX])
{
	struct srp_disk *d = srp_disk_open_session(conf, why);

	if (!d || !ask_facts(d))
		return d;
	snprintf(why, SRP_DISK_WHY_MAX, "%s", d->why);
	srp_disk_close(d);
	return NULL;
}

void srp_disk_close(struct srp_disk *d)
{
	if (d->session)
		srp_logout(d->session);
	free(d);
}

const struct srp_disk_facts *srp_disk_facts(const struct srp_disk *d)
{
	return &d->facts;
}

const struct srp_session *srp_disk_session(const struct srp_disk *d)
{
	return d->session;
}

const char *srp_disk_why(const struct srp_disk *d)
{
	return d->why;
}

unsigned srp_disk_reconnects(const struct srp_disk *d)
{
	return d->reconnects;
}

/* --- transfers --- */

/* A piece of a transfer. */
struct piece {
	struct srp_io io;
	struct iovec v;
	bool used, sent;
	unsigned attentions;
};

struct transfer {
	struct srp_disk *d;
	struct piece piece[WINDOW];
	uint8_t *at;
	uint64_t offset;
	size_t left;
	bool write;
	unsigned used;
	int64_t end;                    /* when the next command has to be done */
	int error;
};

static void fill(struct transfer *t, struct piece *p)
{
	const struct srp_disk_facts *f = &t->d->facts;
	size_t len = t->left < f->transfer_max ? t->left : f->transfer_max;

	*p = (struct piece){ .v = { t->at, len }, .used = true };
	p->io.lun = t->d->conf.lun;
	p->io.cdb_len = 16;
	p->io.cdb[0] = t->write ? 0x8a : 0x88;
	wire_put64(p->io.cdb + 2, t->offset / f->block);
	wire_put32(p->io.cdb + 10, (uint32_t)(len / f->block));
	p->io.out = p->io.in = &p->v;
	p->io.nr_out = t->write;
	p->io.nr_in = !t->write;
	t->used++;
	t->at += len;
	t->offset += len;
	t->left -= len;
}

static void send_pieces(struct transfer *t)
{
	for (unsigned i = 0; i < WINDOW; i++) {
		struct piece *p = &t->piece[i];

		if (!p->used && t->left && !t->error)
			fill(t, p);
		if (p->used && !p->sent)
			p->sent = !srp_submit(t->d->session, &p->io);
	}
}

static void take_outcome(struct transfer *t, struct piece *p)
{
	struct srp_disk *d = t->d;
	char text[96];

	p->sent = false;
	if (p->io.error) /* the session is lost: it is sent again, or the transfer ends */
		return;
	if (has_attention(&p->io) && p->attentions++ < ATTENTIONS)
		return;
	if (is_busy(&p->io) && ulp_now_ms() < t->end) {
		rest(PAUSE_MS);
		return;
	}
	t->end = ulp_now_ms() + d->conf.timeout_ms;
	p->used = false;
	t->used--;
	if (t->error)
		return;
	if (p->io.status)
		t->error = fail(d, EIO, "%s of block %llu ends with %s", t->write ? "WRITE" : "READ",
				(unsigned long long)wire_get64(p->io.cdb + 2), srp_status_text(text, sizeof(text), &p->io));
	else if (p->io.moved != p->v.iov_len)
		t->error = fail(d, EIO, "%s of %zu octets moves %u", t->write ? "WRITE" : "READ", p->v.iov_len, p->io.moved);
}

static int take_outcomes(struct transfer *t, int r)
{
	for (unsigned i = 0; i < WINDOW; i++)
		if (t->piece[i].used && t->piece[i].sent && t->piece[i].io.done)
			take_outcome(t, &t->piece[i]);
	if (!r)
		return 0;
	/* All are done now: none of them is under way when the session is made again. */
	t->end = ulp_now_ms() + t->d->conf.timeout_ms;
	return t->error ? t->error : reconnect(t->d);
}

/* A command of the transfer is not answered: the session cannot be used further. */
static int give_up(struct transfer *t)
{
	struct srp_disk *d = t->d;

	srp_logout(d->session);
	d->session = NULL;
	return fail(d, ETIMEDOUT, "%s is not answered in time", t->write ? "WRITE" : "READ");
}

static int run(struct transfer *t)
{
	struct pollfd p[SRP_CHAN_FDS];
	int64_t left;
	int r = 0;

	while (!r && (t->used || (t->left && !t->error))) {
		send_pieces(t);
		left = t->end - ulp_now_ms();
		if (left <= 0)
			return give_up(t);
		srp_session_fds(t->d->session, p);
		poll(p, SRP_CHAN_FDS, left < PAUSE_MS * 20 ? (int)left : PAUSE_MS * 20);
		r = take_outcomes(t, srp_session_progress(t->d->session));
		if (!r && t->error)
			for (unsigned i = 0; i < WINDOW; i++)
				if (t->piece[i].used && !t->piece[i].sent) {
					t->piece[i].used = false;
					t->used--;
				}
	}
	return r ? r : t->error;
}

static int transfer(struct srp_disk *d, bool write, void *at, size_t len, uint64_t offset)
{
	struct transfer *t;
	int r;

	if (len % d->facts.block || offset % d->facts.block || offset / d->facts.block > d->facts.blocks ||
	    len / d->facts.block > d->facts.blocks - offset / d->facts.block)
		return fail(d, EINVAL, "%zu octets at %llu are no whole blocks of the disk", len, (unsigned long long)offset);
	r = have_session(d);
	if (r || !len)
		return r;
	t = calloc(1, sizeof(*t));
	if (!t)
		return fail(d, ENOMEM, "no memory");
	*t = (struct transfer){ .d = d, .at = at, .offset = offset, .left = len, .write = write,
				.end = ulp_now_ms() + d->conf.timeout_ms };
	r = run(t);
	free(t);
	return r;
}

int srp_disk_read(struct srp_disk *d, void *at, size_t len, uint64_t offset)
{
	return transfer(d, false, at, len, offset);
}

int srp_disk_write(struct srp_disk *d, const void *at, size_t len, uint64_t offset)
{
	return transfer(d, true, (void *)(uintptr_t)at, len, offset);
}

int srp_disk_flush(struct srp_disk *d)
{
	struct srp_io io = question(d, NULL, 0x35, 10);

	return ask(d, &io, "SYNCHRONIZE CACHE");
}

static int unmap_some(struct srp_disk *d, uint64_t lba, uint32_t blocks)
{
	uint8_t at[24] = { 0 };
	struct iovec v = { at, sizeof(at) };
	struct srp_io io = question(d, NULL, 0x42, 10);

	wire_put16(at, sizeof(at) - 2);
	wire_put16(at + 2, 16);
	wire_put64(at + 8, lba);
	wire_put32(at + 16, blocks);
	wire_put16(io.cdb + 7, sizeof(at));
	io.out = &v;
	io.nr_out = 1;
	return ask(d, &io, "UNMAP");
}

int srp_disk_unmap(struct srp_disk *d, uint64_t len, uint64_t offset)
{
	uint64_t lba = offset / d->facts.block, blocks = len / d->facts.block;
	int r = 0;

	if (!d->facts.unmap_max)
		return fail(d, EOPNOTSUPP, "the disk has no UNMAP");
	while (blocks && !r) {
		uint32_t n = blocks < d->facts.unmap_max ? (uint32_t)blocks : d->facts.unmap_max;

		r = unmap_some(d, lba, n);
		lba += n;
		blocks -= n;
	}
	return r;
}
