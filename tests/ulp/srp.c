/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Initiator and target of SRP against each other, in two processes: data of every form, SCSI commands, credits, task
 * management, logins that are refused or repeated, targets that go and come back.
 */
#include "srp_ends.h"

#include <stdatomic.h>

#include <arpa/inet.h>

/* --- the target --- */

static void serve_logins(struct ends *e, struct srp_service *s, unsigned nr)
{
	struct ulp_listener *l = ends_listen(e, RDMA_PS_TCP);

	srp_ends_serve(l, s, nr);
	ulp_listener_close(l);
}

static void serve_one(struct ends *e)
{
	struct srp_service s = { 0 };

	srp_ends_make_target();
	serve_logins(e, &s, 1);
	CHECK_MSG(!s.result, "%s", s.why);
}

/* --- the initiator --- */

static struct srp_disk *open_disk(const struct srp_disk_conf *c)
{
	char why[SRP_DISK_WHY_MAX];
	struct srp_disk *d = srp_disk_open(c, why);

	CHECK_MSG(d, "%s", why);
	return d;
}

/* A command of a session, with the attention of a new one taken before. */
static void execute(struct srp_session *s, struct srp_io *io)
{
	int r = srp_execute(s, io, SRP_ENDS_MS);

	CHECK_MSG(!r, "%s", srp_session_why(s));
	if (io->status == SCSI_CHECK_CONDITION && (io->sense[2] & 15) == SCSI_KEY_UNIT_ATTENTION)
		CHECK(!srp_execute(s, io, SRP_ENDS_MS));
}

static void put_range(struct srp_io *io, uint8_t opcode, uint64_t lba, uint32_t blocks)
{
	memset(io->cdb, 0, sizeof(io->cdb));
	io->cdb[0] = opcode;
	io->cdb_len = 16;
	wire_put64(io->cdb + 2, lba);
	wire_put32(io->cdb + 10, blocks);
}

static void expect_sense(const struct srp_io *io, uint8_t key, uint16_t code)
{
	CHECK_MSG(io->status == SCSI_CHECK_CONDITION && io->sense_len == 18, "status %#x", io->status);
	CHECK_MSG(io->sense[2] == key && wire_get16(io->sense + 12) == code, "%x/%02x/%02x", io->sense[2], io->sense[12],
		  io->sense[13]);
}

/* --- what a disk says, and what it keeps --- */

static void facts_client(struct ends *e)
{
	struct srp_disk_conf c = srp_ends_conf(e);
	struct srp_disk *d = open_disk(&c);
	const struct srp_disk_facts *f = srp_disk_facts(d);
	uint64_t luns[8];

	CHECK(f->type == 0 && f->block == 512 && f->blocks == SRP_ENDS_UNIT / 512 && !f->read_only && f->zeroes && f->unmap_max);
	CHECK(!strcmp(f->vendor, "DAPPLE") && !strcmp(f->product, "SRP DISK") && !strcmp(f->serial, "0000000000001234"));
	CHECK(srp_disk_luns(d, luns, 8) == 2 && luns[0] == 0 && luns[1] == 1ull << 48);
	srp_disk_close(d);
}

static void lengths_client(struct ends *e)
{
	static const size_t lens[] = { 512, 1024, 8192, 8704, 65536, 262144, 262656, 3u << 20 };
	struct srp_disk_conf c = srp_ends_conf(e);
	struct srp_disk *d = open_disk(&c);
	uint8_t *at = malloc(SRP_ENDS_UNIT);

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		uint64_t offset = 512 * (i * 7 + 1);

		fill(at, lens[i], offset, (unsigned)i);
		CHECK_MSG(!srp_disk_write(d, at, lens[i], offset, false), "%s", srp_disk_why());
		memset(at, 0, lens[i]);
		CHECK_MSG(!srp_disk_read(d, at, lens[i], offset), "%s", srp_disk_why());
		expect_bytes(at, lens[i], offset, (unsigned)i);
	}
	CHECK(!srp_disk_flush(d) && !srp_disk_unmap(d, 1u << 20, 512));
	CHECK(!srp_disk_read(d, at, 1u << 20, 512));
	CHECK(!at[0] && !memcmp(at, at + 1, (1u << 20) - 1));
	CHECK(srp_disk_read(d, at, 512, SRP_ENDS_UNIT) == -EINVAL && srp_disk_read(d, at, 100, 0) == -EINVAL);
	CHECK(srp_session_counts(srp_disk_session(d))->immediate && srp_session_counts(srp_disk_session(d))->direct);
	srp_disk_close(d);
	free(at);
}

static void zeroes_client(struct ends *e)
{
	struct srp_disk_conf c = srp_ends_conf(e);
	struct srp_disk *d = open_disk(&c);
	uint8_t at[65536];

	CHECK(srp_disk_facts(d)->fua && srp_disk_facts(d)->same_unmaps);
	fill(at, sizeof(at), 0, 3);
	CHECK_MSG(!srp_disk_write(d, at, sizeof(at), 0, true), "%s", srp_disk_why());
	for (unsigned unmap = 0; unmap < 2; unmap++) {
		CHECK_MSG(!srp_disk_zero(d, 8192, 4096 + 16384 * unmap, unmap, unmap), "%s", srp_disk_why());
		memset(at + 4096 + 16384 * unmap, 0, 8192);
	}
	CHECK(!srp_disk_zero(d, SRP_ENDS_UNIT - 131072, 131072, true, false));
	CHECK(srp_disk_zero(d, 100, 0, false, false) == -EINVAL && srp_disk_zero(d, 512, SRP_ENDS_UNIT, false, false) == -EINVAL);
	CHECK(srp_disk_unmap(d, 512, SRP_ENDS_UNIT) == -EINVAL);
	for (size_t i = 0; i < sizeof(at); i += 512) {
		uint8_t block[512];

		CHECK(!srp_disk_read(d, block, 512, i));
		CHECK_MSG(!memcmp(block, at + i, 512), "octet %zu", i);
	}
	srp_disk_close(d);
}

/* --- a disk with several threads --- */

#define THREADS 6
#define ROUNDS 40

struct share {
	struct srp_disk *d;
	unsigned nr;
	pthread_t thread;
};

/* Writes, reads back and flushes in a part of the disk that is this thread's. */
static void *use_share(void *arg)
{
	struct share *s = arg;
	uint64_t base = (uint64_t)s->nr << 20;
	uint8_t *at = malloc(1 << 20);

	for (unsigned i = 0; i < ROUNDS; i++) {
		size_t len = (size_t)512 << (i % 11);
		uint64_t offset = base + (i * 7919 * 512 % ((1 << 20) - len + 512)) / 512 * 512;

		fill(at, len, offset, i * THREADS + s->nr);
		CHECK_MSG(!srp_disk_write(s->d, at, len, offset, i % 5 == 0), "%s", srp_disk_why());
		memset(at, 0, len);
		CHECK_MSG(!srp_disk_read(s->d, at, len, offset), "%s", srp_disk_why());
		expect_bytes(at, len, offset, i * THREADS + s->nr);
		CHECK(!srp_disk_flush(s->d));
		/* The sentence of a failure is the thread's own. */
		CHECK(srp_disk_read(s->d, at, 512, SRP_ENDS_UNIT + 512 * s->nr) == -EINVAL);
		CHECK_MSG(strtoull(strstr(srp_disk_why(), "at ") + 3, NULL, 10) == SRP_ENDS_UNIT + 512 * s->nr, "%s", srp_disk_why());
	}
	free(at);
	return NULL;
}

static void threads_client(struct ends *e)
{
	struct srp_disk_conf c = srp_ends_conf(e);
	struct srp_disk *d = open_disk(&c);
	struct share s[THREADS];

	for (unsigned i = 0; i < THREADS; i++) {
		s[i] = (struct share){ .d = d, .nr = i };
		CHECK(!pthread_create(&s[i].thread, NULL, use_share, &s[i]));
	}
	for (unsigned i = 0; i < THREADS; i++)
		CHECK(!pthread_join(s[i].thread, NULL));
	srp_disk_close(d);
}

/* Data in many pieces, of which the command has all descriptors, or some, and the table the rest. */
static void pieces(struct srp_session *s, unsigned nr, unsigned seed)
{
	struct iovec v[SRP_PIECES_MAX];
	struct srp_io io = { .nr_out = nr, .out = v };
	uint8_t *at = malloc(nr * 1024);
	uint64_t offset = 0;

	fill(at, nr * 1024, 0, seed);
	for (unsigned i = 0; i < nr; i++) { /* of 1, 2047, 1, 2047 octets */
		v[i] = (struct iovec){ at + offset, i % 2 ? 2047 : 1 };
		offset += v[i].iov_len;
	}
	put_range(&io, 0x8a, 0, (uint32_t)(offset / 512));
	execute(s, &io);
	CHECK(!io.status && io.moved == offset);
	memset(at, 0, nr * 1024);
	io.nr_out = 0;
	io.in = v;
	io.nr_in = nr;
	put_range(&io, 0x88, 0, (uint32_t)(offset / 512));
	execute(s, &io);
	CHECK(!io.status && io.moved == offset);
	expect_bytes(at, offset, 0, seed);
	free(at);
}

static void pieces_client(struct ends *e)
{
	struct srp_disk_conf c = srp_ends_conf(e);
	struct srp_session *s;
	static const uint16_t here[] = { 255, 3 };

	c.session.immediate = false;
	for (unsigned i = 0; i < 2; i++) {
		c.session.pieces_here = here[i];
		s = srp_ends_log_in(&c);
		for (unsigned nr = 2; nr <= 256; nr *= 2)
			pieces(s, nr, nr + i);
		CHECK(srp_session_counts(s)->indirect >= 16);
		srp_logout(s);
	}
}

static void pieces_server(struct ends *e)
{
	struct srp_service s[2] = { 0 };

	srp_ends_make_target();
	serve_logins(e, s, 2);
	CHECK_MSG(!s[0].result && !s[1].result, "%s, %s", s[0].why, s[1].why);
}

/* --- commands --- */

static void unit_1(struct srp_session *s)
{
	uint8_t at[4096];
	struct iovec v = { at, sizeof(at) };
	struct srp_io io = { .lun = 1ull << 48, .out = &v, .nr_out = 1 };

	put_range(&io, 0x8a, 0, 1);
	execute(s, &io);
	expect_sense(&io, 7, 0x2700); /* it is read-only */
	io.lun = 2ull << 48;
	execute(s, &io);
	expect_sense(&io, 5, 0x2500); /* there is none */
}

static void same_and_verify(struct srp_session *s)
{
	uint8_t at[1024];
	struct iovec v = { at, 512 };
	struct srp_io io = { .out = &v, .nr_out = 1 };

	fill(at, 512, 0, 9);
	memcpy(at + 512, at, 512);
	put_range(&io, 0x93, 100, 50); /* WRITE SAME */
	execute(s, &io);
	CHECK(!io.status);
	v.iov_len = 1024;
	put_range(&io, 0x8f, 148, 2); /* VERIFY */
	io.cdb[1] = 2;
	execute(s, &io);
	CHECK(!io.status);
	put_range(&io, 0x8f, 149, 2);
	io.cdb[1] = 2;
	execute(s, &io);
	expect_sense(&io, 0xe, 0x1d00);
}

static void residuals(struct srp_session *s)
{
	uint8_t at[4096];
	struct iovec v = { at, 4096 };
	struct srp_io io = { .in = &v, .nr_in = 1 };

	put_range(&io, 0x88, 0, 2); /* READ of less than the buffer */
	execute(s, &io);
	CHECK(!io.status && io.moved == 1024);
	put_range(&io, 0x88, 0, 16); /* of more */
	execute(s, &io);
	CHECK(!io.status && io.moved == 4096);
	io = (struct srp_io){ .out = &v, .nr_out = 1 };
	put_range(&io, 0x8a, 0, 16); /* WRITE of more than there is */
	execute(s, &io);
	expect_sense(&io, SCSI_KEY_ABORTED_COMMAND, SCSI_ASC_DATA_PHASE);
}

static void refused(struct srp_session *s)
{
	uint8_t at[512];
	struct iovec v = { at, 512 };
	struct srp_io io = { .in = &v, .nr_in = 1 };

	put_range(&io, 0x88, SRP_ENDS_UNIT / 512, 1);
	execute(s, &io);
	expect_sense(&io, 5, 0x2100);
	put_range(&io, 0x88, UINT64_MAX, 1);
	execute(s, &io);
	expect_sense(&io, 5, 0x2100);
	put_range(&io, 0x88, 0, 4096); /* 2 MiB at once */
	execute(s, &io);
	expect_sense(&io, 5, 0x2400);
	put_range(&io, 0x5f, 0, 0);
	execute(s, &io);
	expect_sense(&io, 5, 0x2000);
	io.nr_in = 0;
	io.cdb_len = 0;
	CHECK(srp_submit(s, &io) == -EMSGSIZE);
}

static void commands_client(struct ends *e)
{
	struct srp_disk_conf c = srp_ends_conf(e);
	struct srp_session *s = srp_ends_log_in(&c);

	unit_1(s);
	same_and_verify(s);
	residuals(s);
	refused(s);
	srp_logout(s);
}

/* --- credits --- */

#define MANY 200

static void credits_server(struct ends *e)
{
	struct srp_service s = { 0 };

	srp_ends_make_target();
	target.limit = 12;
	target.first_limit = 2;
	serve_logins(e, &s, 1);
	CHECK_MSG(!s.result, "%s", s.why);
	CHECK(s.served.commands == MANY + 1 && s.served.written == MANY * 512);
}

static void run_many(struct srp_session *s, struct srp_io *io, unsigned nr)
{
	unsigned sent = 0, done = 0, under_way = 0, most = 0;
	int r = 0;

	while (done < nr) {
		while (sent < nr && !(r = srp_submit(s, &io[sent])))
			sent++;
		CHECK_MSG(!r || r == -EAGAIN, "%s", srp_session_why(s));
		under_way = 0;
		for (unsigned i = 0; i < sent; i++)
			under_way += !io[i].done;
		done = sent - under_way;
		most = under_way > most ? under_way : most;
		if (done < nr && under_way)
			CHECK(srp_session_sleep(s, SRP_ENDS_MS) > 0);
		CHECK(!srp_session_progress(s));
	}
	CHECK_MSG(most > 2 && most <= 11, "%u commands under way", most);
}

static void credits_client(struct ends *e)
{
	struct srp_disk_conf c = srp_ends_conf(e);
	struct srp_session *s = srp_ends_log_in(&c);
	struct srp_io *io = calloc(MANY, sizeof(*io)), ready = { .cdb_len = 6 };
	uint8_t at[512];
	struct iovec v = { at, sizeof(at) };

	CHECK(!srp_execute(s, &ready, SRP_ENDS_MS)); /* with the attention */
	for (unsigned i = 0; i < MANY; i++) {
		io[i].out = &v;
		io[i].nr_out = 1;
		put_range(&io[i], 0x8a, i, 1);
	}
	run_many(s, io, MANY);
	for (unsigned i = 0; i < MANY; i++)
		CHECK(!io[i].error && !io[i].status && io[i].moved == 512);
	CHECK(srp_session_agreed(s)->limit == 2 && srp_session_counts(s)->credit_requests == 1);
	srp_logout(s);
	free(io);
}

/* --- task management --- */

static void manage_client(struct ends *e)
{
	struct srp_disk_conf c = srp_ends_conf(e);
	struct srp_session *s = srp_ends_log_in(&c);
	struct srp_io io = { .cdb_len = 6 };

	execute(s, &io);
	CHECK(!io.status);
	CHECK(srp_manage(s, WIRE_SRP_ABORT_TASK, 0, &io, SRP_ENDS_MS) == WIRE_SRP_FUNCTION_COMPLETE);
	CHECK(srp_manage(s, WIRE_SRP_CLEAR_ACA, 0, NULL, SRP_ENDS_MS) == WIRE_SRP_FUNCTION_UNSUPPORTED);
	CHECK(srp_manage(s, WIRE_SRP_ABORT_TASK_SET, 7ull << 48, NULL, SRP_ENDS_MS) == WIRE_SRP_FUNCTION_FAILED);
	CHECK(srp_manage(s, WIRE_SRP_ABORT_TASK_SET, 0, NULL, SRP_ENDS_MS) == WIRE_SRP_FUNCTION_COMPLETE);
	CHECK(srp_manage(s, WIRE_SRP_LUN_RESET, 0, NULL, SRP_ENDS_MS) == WIRE_SRP_FUNCTION_COMPLETE);
	CHECK(!srp_execute(s, &io, SRP_ENDS_MS));
	expect_sense(&io, SCSI_KEY_UNIT_ATTENTION, SCSI_ASC_RESET);
	CHECK(!srp_execute(s, &io, SRP_ENDS_MS) && !io.status);
	srp_logout(s);
}

/* --- logins --- */

static void logins_server(struct ends *e)
{
	struct srp_service s[4] = { 0 };
	struct ulp_listener *l;

	srp_ends_make_target();
	target.it_length = 300;
	l = ends_listen(e, RDMA_PS_TCP);
	srp_ends_serve(l, s, 4);
	ulp_listener_close(l);
	CHECK(s[0].result == -EACCES && strstr(s[0].why, "access list"));
	CHECK(s[1].result == -EACCES && strstr(s[1].why, "too long"));
	CHECK(s[2].result == -EACCES && strstr(s[2].why, "another target port"));
	CHECK_MSG(!s[3].result, "%s", s[3].why);
}

static void logins_client(struct ends *e)
{
	struct srp_disk_conf c = srp_ends_conf(e);
	struct srp_session *s;

	c.session.it_length = 260;
	c.session.initiator[0] = 0xab;
	CHECK(srp_ends_refused(&c, "0x10006") == EACCES);
	memcpy(c.session.initiator, srp_ends_initiator, 16);
	c.session.it_length = srp_conf_default.it_length; /* too long: asked again with less, to a wrong port */
	c.session.target[3] = 99;
	CHECK(srp_ends_refused(&c, "0x10003") == EACCES);
	memcpy(c.session.target, srp_ends_target, 16);
	c.session.it_length = 64;
	s = srp_ends_log_in(&c);
	CHECK(srp_session_agreed(s)->it_length == 64);
	srp_logout(s);
}

/* The second login of an initiator ends the first one. */
static void again_server(struct ends *e)
{
	struct srp_service s[3] = { 0 };

	srp_ends_make_target();
	serve_logins(e, s, 3);
	for (unsigned i = 0; i < 3; i++)
		CHECK_MSG(!s[i].result, "%s", s[i].why);
}

static void wait_for_end(struct srp_session *s)
{
	while (!srp_session_progress(s))
		CHECK(srp_session_sleep(s, SRP_ENDS_MS) > 0);
}

static void again_client(struct ends *e)
{
	struct srp_disk_conf c = srp_ends_conf(e);
	struct srp_session *first = srp_ends_log_in(&c), *second, *third;

	second = srp_ends_log_in(&c);
	CHECK(srp_session_agreed(second)->channels == WIRE_SRP_CHANNELS_ENDED);
	wait_for_end(first);
	CHECK_MSG(strstr(srp_session_why(first), "logs out (reason 4)") || strstr(srp_session_why(first), "disconnected"), "%s",
		  srp_session_why(first));
	c.session.multi = true;
	third = srp_ends_log_in(&c);
	CHECK(srp_session_agreed(third)->channels == WIRE_SRP_CHANNELS_KEPT);
	CHECK(!srp_session_progress(second));
	srp_logout(first);
	srp_logout(second);
	srp_logout(third);
}

/* --- a target that goes and comes back --- */

static void back_server(struct ends *e)
{
	struct srp_service s[2] = { 0 };
	struct ulp_listener *l;

	srp_ends_make_target();
	l = ends_listen(e, RDMA_PS_TCP);
	ends_next_request(l, &s[0].q);
	srp_ends_begin(&s[0]);
	await(e);
	srp_target_stop(&target, SRP_ENDS_MS);
	CHECK(!pthread_join(s[0].thread, NULL));
	target.stopping = false;
	mark(e);
	srp_ends_serve(l, &s[1], 1);
	CHECK_MSG(!s[1].result, "%s", s[1].why);
	ulp_listener_close(l);
}

static void back_client(struct ends *e)
{
	struct srp_disk_conf c = srp_ends_conf(e);
	struct srp_disk *d;
	uint8_t at[65536];

	c.reconnect_ms = SRP_ENDS_MS;
	d = open_disk(&c);
	fill(at, sizeof(at), 0, 5);
	CHECK(!srp_disk_write(d, at, sizeof(at), 0, false));
	mark(e);
	await(e);
	memset(at, 0, sizeof(at));
	CHECK_MSG(!srp_disk_read(d, at, sizeof(at), 0), "%s", srp_disk_why());
	expect_bytes(at, sizeof(at), 0, 5);
	CHECK(srp_disk_reconnects(d) == 1);
	srp_disk_close(d);
}

/* --- a session that is lost while a transfer has some of its commands behind it and others to come --- */

#define LOSSES 80

/* A disk whose transfer had just ended logs in once more. */
static void losses_server(struct ends *e)
{
	static struct srp_service s[3 * LOSSES];
	struct ulp_listener *l = ends_listen(e, RDMA_PS_TCP);
	struct pollfd p[] = { { ulp_listener_fd(l), POLLIN, 0 }, { e->in, POLLIN, 0 } };
	unsigned n = 0;

	srp_ends_make_target();
	while (poll(p, 2, -1) > 0 && !p[1].revents) {
		CHECK(n < 3 * LOSSES);
		if (!ulp_listener_next(l, &s[n].q))
			srp_ends_begin(&s[n++]);
	}
	await(e);
	while (n--)
		CHECK(!pthread_join(s[n].thread, NULL));
	ulp_listener_close(l);
}

static atomic_bool has_lost;

static void *read_until_lost(void *arg)
{
	static uint8_t at[SRP_ENDS_UNIT];
	int r;

	do
		r = srp_disk_read(arg, at, sizeof(at), 0);
	while (!r && !atomic_load(&has_lost));
	CHECK_MSG(!r || (r == -ECONNRESET && strstr(srp_disk_why(), "the session is lost")), "%d %s", r, srp_disk_why());
	return NULL;
}

static void losses_client(struct ends *e)
{
	struct srp_disk_conf c = srp_ends_conf(e);
	struct srp_disk *d;
	pthread_t t;

	for (int i = 0; i < LOSSES; i++) {
		d = open_disk(&c);
		atomic_store(&has_lost, false);
		CHECK(!pthread_create(&t, NULL, read_until_lost, d));
		/* The target ends the first session for the second one. */
		srp_logout(srp_ends_log_in(&c));
		atomic_store(&has_lost, true);
		CHECK(!pthread_join(t, NULL));
		srp_disk_close(d);
	}
	mark(e);
}

int main(void)
{
	ends_run("what a disk says", AF_INET, serve_one, facts_client);
	ends_run("data of every length", AF_INET, serve_one, lengths_client);
	ends_run("zeroes and forced access", AF_INET, serve_one, zeroes_client);
	ends_run("several threads", AF_INET, serve_one, threads_client);
	ends_run("data in pieces", AF_INET, pieces_server, pieces_client);
	ends_run("commands and their refusals", AF_INET, serve_one, commands_client);
	ends_run("credits", AF_INET, credits_server, credits_client);
	ends_run("task management", AF_INET, serve_one, manage_client);
	ends_run("logins that are rejected", AF_INET, logins_server, logins_client);
	ends_run("a second login", AF_INET, again_server, again_client);
	ends_run("a target that comes back", AF_INET, back_server, back_client);
	ends_run("sessions lost amid transfers", AF_INET, losses_server, losses_client);
	return 0;
}
