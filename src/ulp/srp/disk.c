/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/srp/disk.h"
#include "ulp/clock.h"
#include "ulp/srp/sense.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define WINDOW 8                        /* commands of a transfer under way */
#define ATTENTIONS 8                    /* how often a unit may have one before a command */
#define PAUSE_MS 50                     /* between attempts at a busy unit */
#define LOOK_MS 1000                    /* the longest sleep of the leader */
#define RECONNECT_PAUSE_MS 200

/* A command of a call that waits. */
struct task {
	struct srp_io io;
	struct iovec v;
	bool sent, over;
	bool overdue;                   /* it has been aborted, as no response came in time */
	int error;                      /* of a task that is over: negative errno; 0: it has a status */
	unsigned attentions;
	int64_t end;                    /* while it is sent: when it has to be done */
	int64_t not_before, busy_end;   /* a busy unit: the next attempt, and the last one */
	struct task *next;
};

struct srp_disk {
	struct srp_disk_conf conf;
	struct srp_disk_facts facts;    /* all 0: none were asked for */
	atomic_uint reconnects;
	pthread_mutex_t lock;           /* guards all below */
	pthread_cond_t moved;           /* the leader has taken something, or is none any more */
	struct srp_session *session;    /* NULL: it is lost */
	bool led;                       /* a thread is the leader */
	struct task *tasks;             /* under way, the oldest one first */
	int lost_error;                 /* why there is none, */
	char lost[SRP_DISK_WHY_MAX];    /* and the sentence */
};

static _Thread_local char disk_why[SRP_DISK_WHY_MAX];

static int fail(int err, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

static int fail(int err, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(disk_why, sizeof(disk_why), fmt, ap);
	va_end(ap);
	return -(err ? err : EIO);
}

const char *srp_disk_why(void)
{
	return disk_why;
}

/* --- the session: called with the lock held, by the leader or without one --- */

static struct srp_unit unit_of(struct srp_disk *d)
{
	return (struct srp_unit){ d->session, d->conf.lun, d->conf.timeout_ms, disk_why, sizeof(disk_why) };
}

static void log_out(struct srp_disk *d)
{
	srp_logout(d->session);
	d->session = NULL;
}

/* The unit has to be the one that was there before. */
static int look_at_unit(struct srp_disk *d)
{
	struct srp_unit u = unit_of(d);
	struct srp_disk_facts now = { 0 };
	int r = srp_unit_facts(&u, &now);

	if (r || srp_facts_are_same(&now, &d->facts))
		return r;
	return fail(ESTALE, "another logical unit is in its place: serial number %s with %llu blocks of %u octets, before it was %s with "
		    "%llu of %u", now.serial, (unsigned long long)now.blocks, now.block, d->facts.serial,
		    (unsigned long long)d->facts.blocks, d->facts.block);
}

static int log_in(struct srp_disk *d)
{
	char why[ULP_WHY_MAX];
	int err, r;

	d->session = srp_login((const struct sockaddr *)&d->conf.to, &d->conf.session, d->conf.timeout_ms, &err, why);
	if (!d->session)
		return fail(err, "%s", why);
	r = d->facts.block ? look_at_unit(d) : 0;
	if (r)
		log_out(d);
	return r;
}

static bool may_come_back(int r)
{
	return r != -EACCES && r != -EPROTO && r != -EINVAL && r != -ESTALE;
}

/* Makes a lost session again. Returns 0, or why there is none. */
static int reconnect(struct srp_disk *d)
{
	const struct timespec pause = { 0, RECONNECT_PAUSE_MS * 1000000L };
	int64_t end = ulp_now_ms() + d->conf.reconnect_ms;
	int r = fail(ECONNRESET, "the session is lost: %s", srp_session_why(d->session));

	log_out(d);
	while (d->conf.reconnect_ms && ulp_now_ms() < end) {
		r = log_in(d);
		if (!r)
			atomic_fetch_add(&d->reconnects, 1);
		if (!r || !may_come_back(r))
			break;
		nanosleep(&pause, NULL);
	}
	snprintf(d->lost, sizeof(d->lost), "%s", disk_why);
	d->lost_error = r;
	return r;
}

/* A session that a call before has lost is tried once more. */
static int have_session(struct srp_disk *d)
{
	return d->session ? 0 : log_in(d);
}

/* --- tasks: called with the lock held --- */

static void add(struct srp_disk *d, struct task *t)
{
	struct task **at = &d->tasks;

	t->busy_end = ulp_now_ms() + d->conf.timeout_ms;
	while (*at)
		at = &(*at)->next;
	*at = t;
}

static void take_out(struct srp_disk *d, const struct task *t)
{
	struct task **at = &d->tasks;

	while (*at != t)
		at = &(*at)->next;
	*at = t->next;
}

static void end(struct task *t, int error)
{
	t->over = true;
	t->error = error;
}

/* Sends what may be sent. */
static void push(struct srp_disk *d)
{
	int64_t now = ulp_now_ms();

	for (struct task *t = d->tasks; t; t = t->next) {
		int r;

		if (t->over || t->sent || t->not_before > now)
			continue;
		t->io.out = t->io.in = &t->v;
		r = srp_submit(d->session, &t->io);
		t->sent = !r;
		t->end = now + d->conf.timeout_ms;
		if (r == -EMSGSIZE)
			end(t, r);
		else if (r)
			return;
	}
}

/* What becomes of a task whose command is done. */
static void settle(struct task *t)
{
	t->sent = false;
	if (t->io.error && t->overdue)
		end(t, -ETIMEDOUT);
	else if (t->io.error) /* the session has ended: the command is sent again, or all tasks end */
		return;
	else if (srp_has_attention(&t->io) && t->attentions++ < ATTENTIONS)
		return;
	else if (srp_is_busy(&t->io) && ulp_now_ms() < t->busy_end)
		t->not_before = ulp_now_ms() + PAUSE_MS;
	else
		end(t, 0);
}

static void settle_all(struct srp_disk *d)
{
	for (struct task *t = d->tasks; t; t = t->next)
		if (t->sent && t->io.done)
			settle(t);
}

/* Aborts the commands that have not been answered in time. */
static void abort_overdue(struct srp_disk *d)
{
	for (struct task *t = d->tasks; t; t = t->next) {
		if (!t->sent || t->io.done || t->end > ulp_now_ms())
			continue;
		t->overdue = true;
		srp_abort(d->session, &t->io);
	}
}

static int sleep_ms(const struct srp_disk *d)
{
	int64_t now = ulp_now_ms(), first = now + LOOK_MS;

	for (const struct task *t = d->tasks; t; t = t->next) {
		int64_t at = t->sent ? t->end : t->not_before;

		if (!t->over && at > now && at < first)
			first = at;
	}
	return (int)(first - now);
}

/* The session is lost, and no task is answered any more. */
static void end_all(struct srp_disk *d)
{
	for (struct task *t = d->tasks; t; t = t->next)
		if (!t->over)
			end(t, d->lost_error);
}

/* Sleeps until the session has something, and takes it. The lock is free meanwhile: other threads add tasks and send them. */
static void lead(struct srp_disk *d)
{
	const struct srp_session *s = d->session; /* the leader alone ends it */
	int ms = sleep_ms(d), r;

	d->led = true;
	pthread_mutex_unlock(&d->lock);
	srp_session_sleep(s, ms);
	pthread_mutex_lock(&d->lock);
	r = srp_session_progress(d->session);
	settle_all(d);
	if (!r) {
		abort_overdue(d);
		settle_all(d);
		r = srp_session_progress(d->session);
		settle_all(d);
	}
	if (r)
		r = reconnect(d);
	if (r)
		end_all(d);
	d->led = false;
	pthread_cond_broadcast(&d->moved);
}

/* Sends, and waits until something has moved. A task of the caller is not over. */
static void step(struct srp_disk *d)
{
	/* Commands of a transfer that had others behind it when the session was lost. The next call makes another session. */
	if (!d->session) {
		end_all(d);
		return;
	}
	push(d);
	if (d->led)
		pthread_cond_wait(&d->moved, &d->lock);
	else
		lead(d);
}

/* The outcome of a task that is over: 0 if its status is GOOD. */
static int outcome(struct srp_disk *d, const struct task *t, const char *name)
{
	char text[96];

	if (t->error == -ETIMEDOUT && t->overdue)
		return fail(ETIMEDOUT, "%s is not answered in time", name);
	if (t->error == -EMSGSIZE)
		return fail(EMSGSIZE, "%s has too many pieces of data", name);
	if (t->error)
		return fail(-t->error, "%s", d->lost);
	if (t->io.status)
		return fail(srp_is_unsupported(&t->io) ? EOPNOTSUPP : EIO, "%s ends with %s", name,
			    srp_status_text(text, sizeof(text), &t->io));
	return 0;
}

/* Executes one command with data to the unit, or none. */
static int command(struct srp_disk *d, struct task *t, const char *name)
{
	int r;

	t->io.lun = d->conf.lun;
	pthread_mutex_lock(&d->lock);
	r = have_session(d);
	if (!r) {
		add(d, t);
		while (!t->over)
			step(d);
		take_out(d, t);
		r = outcome(d, t, name);
	}
	pthread_mutex_unlock(&d->lock);
	return r;
}

/* --- opening --- */

static struct srp_disk *open_session(const struct srp_disk_conf *conf)
{
	struct srp_disk *d = calloc(1, sizeof(*d));

	if (!d) {
		fail(ENOMEM, "no memory");
		return NULL;
	}
	d->conf = *conf;
	pthread_mutex_init(&d->lock, NULL);
	pthread_cond_init(&d->moved, NULL);
	if (!log_in(d))
		return d;
	srp_disk_close(d);
	return NULL;
}

struct srp_disk *srp_disk_open_session(const struct srp_disk_conf *conf, char why[SRP_DISK_WHY_MAX])
{
	struct srp_disk *d = open_session(conf);

	if (!d)
		snprintf(why, SRP_DISK_WHY_MAX, "%s", disk_why);
	return d;
}

/* Asks for the facts, again over a further session if this one is lost meanwhile. */
static int ask_facts(struct srp_disk *d)
{
	int64_t end = ulp_now_ms() + d->conf.reconnect_ms;
	struct srp_disk_facts facts;
	struct srp_unit u;
	int r;

	do {
		facts = (struct srp_disk_facts){ 0 };
		u = unit_of(d);
		r = srp_unit_facts(&u, &facts);
		if (!r)
			d->facts = facts;
		if (!r || !srp_session_progress(d->session) || ulp_now_ms() >= end)
			return r;
		r = reconnect(d);
	} while (!r);
	return r;
}

struct srp_disk *srp_disk_open(const struct srp_disk_conf *conf, char why[SRP_DISK_WHY_MAX])
{
	struct srp_disk *d = open_session(conf);

	if (d) {
		if (!ask_facts(d))
			return d;
		srp_disk_close(d);
	}
	snprintf(why, SRP_DISK_WHY_MAX, "%s", disk_why);
	return NULL;
}

void srp_disk_close(struct srp_disk *d)
{
	if (d->session)
		log_out(d);
	pthread_cond_destroy(&d->moved);
	pthread_mutex_destroy(&d->lock);
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

unsigned srp_disk_reconnects(const struct srp_disk *d)
{
	return atomic_load(&d->reconnects);
}

int srp_disk_luns(struct srp_disk *d, uint64_t *ret_luns, unsigned max)
{
	struct srp_unit u = unit_of(d);
	int r = have_session(d);

	return r ? r : srp_unit_luns(&u, ret_luns, max);
}

/* --- transfers --- */

struct transfer {
	struct srp_disk *d;
	struct task tasks[WINDOW];
	bool used[WINDOW];
	uint8_t *at;
	uint64_t offset;
	size_t left;
	bool write, fua;
	int error;
};

static void fill(struct transfer *t, struct task *k)
{
	const struct srp_disk_facts *f = &t->d->facts;
	size_t len = t->left < f->transfer_max ? t->left : f->transfer_max;

	*k = (struct task){ .v = { t->at, len } };
	k->io.lun = t->d->conf.lun;
	k->io.cdb_len = 16;
	k->io.cdb[0] = t->write ? 0x8a : 0x88;
	k->io.cdb[1] = t->fua ? 0x08 : 0;
	wire_put64(k->io.cdb + 2, t->offset / f->block);
	wire_put32(k->io.cdb + 10, (uint32_t)(len / f->block));
	k->io.nr_out = t->write;
	k->io.nr_in = !t->write;
	t->at += len;
	t->offset += len;
	t->left -= len;
	add(t->d, k);
}

static void finish(struct transfer *t, struct task *k)
{
	char name[40];
	int r;

	snprintf(name, sizeof(name), "%s of block %llu", t->write ? "WRITE" : "READ", (unsigned long long)wire_get64(k->io.cdb + 2));
	take_out(t->d, k);
	if (t->error)
		return;
	r = outcome(t->d, k, name);
	if (!r && k->io.moved != k->v.iov_len)
		r = fail(EIO, "%s moves %u octets of %zu", name, k->io.moved, k->v.iov_len);
	t->error = r;
}

/* Takes the tasks that are over, and begins further ones. Returns how many are under way. */
static unsigned turn(struct transfer *t)
{
	unsigned n = 0;

	for (unsigned i = 0; i < WINDOW; i++) {
		if (t->used[i] && t->tasks[i].over) {
			finish(t, &t->tasks[i]);
			t->used[i] = false;
		}
		if (!t->used[i] && t->left && !t->error) {
			fill(t, &t->tasks[i]);
			t->used[i] = true;
		}
		n += t->used[i];
	}
	return n;
}

static bool is_in(const struct srp_disk_facts *f, uint64_t len, uint64_t offset)
{
	return f->block && len % f->block == 0 && offset % f->block == 0 && offset / f->block <= f->blocks &&
	       len / f->block <= f->blocks - offset / f->block;
}

static int misplaced(uint64_t len, uint64_t offset)
{
	return fail(EINVAL, "%llu octets at %llu are no whole blocks of the disk", (unsigned long long)len, (unsigned long long)offset);
}

static int transfer(struct srp_disk *d, bool write, bool fua, void *at, size_t len, uint64_t offset)
{
	struct transfer t = { .d = d, .at = at, .offset = offset, .left = len, .write = write, .fua = fua };

	if (!is_in(&d->facts, len, offset))
		return misplaced(len, offset);
	pthread_mutex_lock(&d->lock);
	t.error = have_session(d);
	while (turn(&t))
		step(d);
	pthread_mutex_unlock(&d->lock);
	return t.error;
}

int srp_disk_read(struct srp_disk *d, void *at, size_t len, uint64_t offset)
{
	return transfer(d, false, false, at, len, offset);
}

int srp_disk_write(struct srp_disk *d, const void *at, size_t len, uint64_t offset, bool fua)
{
	if (fua && !d->facts.fua)
		return fail(EOPNOTSUPP, "the disk has no forced unit access");
	return transfer(d, true, fua, (void *)(uintptr_t)at, len, offset);
}

/* --- the rest --- */

int srp_disk_flush(struct srp_disk *d)
{
	struct task t = { .io = srp_unit_question(d->conf.lun, NULL, 0x35, 10) };

	return command(d, &t, "SYNCHRONIZE CACHE");
}

static int zero_some(struct srp_disk *d, uint64_t lba, uint32_t blocks, bool unmap, const uint8_t *zeroes)
{
	struct task t = { .io = srp_unit_question(d->conf.lun, NULL, 0x93, 16), .v = { (void *)(uintptr_t)zeroes, d->facts.block } };

	t.io.cdb[1] = unmap ? 0x08 : 0;
	wire_put64(t.io.cdb + 2, lba);
	wire_put32(t.io.cdb + 10, blocks);
	t.io.nr_out = 1;
	return command(d, &t, "WRITE SAME");
}

int srp_disk_zero(struct srp_disk *d, uint64_t len, uint64_t offset, bool may_unmap, bool fua)
{
	uint8_t *zeroes = calloc(1, d->facts.block);
	int r = is_in(&d->facts, len, offset) ? 0 : misplaced(len, offset);
	uint64_t lba, blocks;

	if (!r && !zeroes)
		r = fail(ENOMEM, "no memory");
	lba = r ? 0 : offset / d->facts.block;
	blocks = r ? 0 : len / d->facts.block;
	while (blocks && !r) {
		uint32_t n = blocks < d->facts.same_max ? (uint32_t)blocks : d->facts.same_max;

		r = zero_some(d, lba, n, may_unmap && d->facts.same_unmaps, zeroes);
		lba += n;
		blocks -= n;
	}
	free(zeroes);
	return r || !fua ? r : srp_disk_flush(d);
}

static int unmap_some(struct srp_disk *d, uint64_t lba, uint32_t blocks)
{
	uint8_t at[24] = { 0 };
	struct task t = { .io = srp_unit_question(d->conf.lun, NULL, 0x42, 10), .v = { at, sizeof(at) } };

	wire_put16(at, sizeof(at) - 2);
	wire_put16(at + 2, 16);
	wire_put64(at + 8, lba);
	wire_put32(at + 16, blocks);
	wire_put16(t.io.cdb + 7, sizeof(at));
	t.io.nr_out = 1;
	return command(d, &t, "UNMAP");
}

int srp_disk_unmap(struct srp_disk *d, uint64_t len, uint64_t offset)
{
	uint64_t lba, blocks;
	int r = 0;

	if (!d->facts.unmap_max)
		return fail(EOPNOTSUPP, "the disk has no UNMAP");
	if (!is_in(&d->facts, len, offset))
		return misplaced(len, offset);
	lba = offset / d->facts.block;
	blocks = len / d->facts.block;
	while (blocks && !r) {
		uint32_t n = blocks < d->facts.unmap_max ? (uint32_t)blocks : d->facts.unmap_max;

		r = unmap_some(d, lba, n);
		lba += n;
		blocks -= n;
	}
	return r;
}
