/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Initiator and target of SRP against each other, in two processes: data of every form, SCSI commands, credits, task
 * management, logins that are refused or repeated, targets that go and come back; and peers that break the protocol, of
 * which each information unit is written by hand.
 */
#include "listens.h"

#include "ulp/srp/disk.h"
#include "ulp/srp/serving.h"
#include "ulp/srp/target.h"

#include <arpa/inet.h>
#include <pthread.h>

#define TIMEOUT_MS 60000
#define UNIT_LEN (8u << 20)

static const uint8_t target_id[16] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16 };
static const uint8_t initiator_id[16] = { 0xaa, 1 };
static struct srp_target target;
static struct scsi_unit unit, fixed;

/* --- the target --- */

static void make_target(void)
{
	srp_target_init(&target);
	memcpy(target.id, target_id, 16);
	memcpy(target.allowed[0], initiator_id, 16);
	target.nr_allowed = 1;
	CHECK(!srp_store_memory(&unit.store, UNIT_LEN) && scsi_unit_init(&unit, 512, 0x1234));
	CHECK(!srp_store_memory(&fixed.store, UNIT_LEN / 8) && scsi_unit_init(&fixed, 4096, 0x5678));
	fixed.store.read_only = true;
	target.units[0] = &unit;
	target.units[1] = &fixed;
	target.nr_units = 2;
}

struct service {
	struct ulp_request q;
	struct ends *hold;              /* nothing is taken before the last message of a flood has arrived */
	pthread_t thread;
	struct srp_served served;
	int result;
	char why[ULP_WHY_MAX];
};

static void await_completion(struct ulp_conn *u)
{
	struct pollfd p = { u->channel->fd, POLLIN, 0 };
	struct ibv_cq *cq;
	void *context;

	CHECK(poll(&p, 1, TIMEOUT_MS) == 1 && !ibv_get_cq_event(u->channel, &cq, &context));
	ibv_ack_cq_events(cq, 1);
}

/*
 * The first message of a flood takes the event for which the queue is armed; the last one is solicited. All of them lie in the
 * completion queue then, which the completion of a Send over iWARP does not say.
 */
static void hold_flood(struct ulp_conn *u, struct ends *e)
{
	await_completion(u);
	CHECK(!ibv_req_notify_cq(u->cq, 1));
	mark(e);
	await_completion(u);
}

static void logged_in(const struct srp_served *served, void *user)
{
	struct service *s = user;
	struct srp_serving *serving = (struct srp_serving *)((char *)(uintptr_t)served - offsetof(struct srp_serving, served));

	CHECK(!memcmp(served->initiator, initiator_id, 16));
	if (s->hold)
		hold_flood(&serving->ch.rdma, s->hold);
}

static void *serve(void *arg)
{
	struct service *s = arg;

	s->result = srp_target_serve(&target, s->q.id, s->q.data, s->q.len, &s->served, logged_in, s, s->why);
	return NULL;
}

/* Serves so many logins, and returns when their sessions have ended. */
static void serve_from(struct ulp_listener *l, struct service *s, unsigned nr)
{
	for (unsigned i = 0; i < nr; i++) {
		ends_next_request(l, &s[i].q);
		CHECK(!pthread_create(&s[i].thread, NULL, serve, &s[i]));
	}
	for (unsigned i = 0; i < nr; i++)
		CHECK(!pthread_join(s[i].thread, NULL));
}

static void serve_logins(struct ends *e, struct service *s, unsigned nr)
{
	struct ulp_listener *l = ends_listen(e, RDMA_PS_TCP);

	serve_from(l, s, nr);
	ulp_listener_close(l);
}

static void serve_one(struct ends *e)
{
	struct service s = { 0 };

	make_target();
	serve_logins(e, &s, 1);
	CHECK_MSG(!s.result, "%s", s.why);
}

/* --- the initiator --- */

static struct srp_disk_conf disk_conf(struct ends *e)
{
	struct srp_disk_conf c = { .session = srp_conf_default, .timeout_ms = TIMEOUT_MS };

	CHECK(read(e->in, &e->addr, sizeof(e->addr)) == sizeof(e->addr));
	c.to = e->addr;
	memcpy(c.session.target, target_id, 16);
	memcpy(c.session.initiator, initiator_id, 16);
	return c;
}

static struct srp_disk *open_disk(const struct srp_disk_conf *c)
{
	char why[SRP_DISK_WHY_MAX];
	struct srp_disk *d = srp_disk_open(c, why);

	CHECK_MSG(d, "%s", why);
	return d;
}

static struct srp_session *log_in(const struct srp_disk_conf *c)
{
	char why[ULP_WHY_MAX];
	int err;
	struct srp_session *s = srp_login((const struct sockaddr *)&c->to, &c->session, TIMEOUT_MS, &err, why);

	CHECK_MSG(s, "%s", why);
	return s;
}

/* A command of a session, with the attention of a new one taken before. */
static void execute(struct srp_session *s, struct srp_io *io)
{
	int r = srp_execute(s, io, TIMEOUT_MS);

	CHECK_MSG(!r, "%s", srp_session_why(s));
	if (io->status == SCSI_CHECK_CONDITION && (io->sense[2] & 15) == SCSI_KEY_UNIT_ATTENTION)
		CHECK(!srp_execute(s, io, TIMEOUT_MS));
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
	struct srp_disk_conf c = disk_conf(e);
	struct srp_disk *d = open_disk(&c);
	const struct srp_disk_facts *f = srp_disk_facts(d);
	uint64_t luns[8];

	CHECK(f->type == 0 && f->block == 512 && f->blocks == UNIT_LEN / 512 && !f->read_only && f->zeroes && f->unmap_max);
	CHECK(!strcmp(f->vendor, "DAPPLE") && !strcmp(f->product, "SRP DISK") && !strcmp(f->serial, "0000000000001234"));
	CHECK(srp_disk_luns(d, luns, 8) == 2 && luns[0] == 0 && luns[1] == 1ull << 48);
	srp_disk_close(d);
}

static void lengths_client(struct ends *e)
{
	static const size_t lens[] = { 512, 1024, 8192, 8704, 65536, 262144, 262656, 3u << 20 };
	struct srp_disk_conf c = disk_conf(e);
	struct srp_disk *d = open_disk(&c);
	uint8_t *at = malloc(UNIT_LEN);

	for (size_t i = 0; i < sizeof(lens) / sizeof(lens[0]); i++) {
		uint64_t offset = 512 * (i * 7 + 1);

		fill(at, lens[i], offset, (unsigned)i);
		CHECK_MSG(!srp_disk_write(d, at, lens[i], offset), "%s", srp_disk_why(d));
		memset(at, 0, lens[i]);
		CHECK_MSG(!srp_disk_read(d, at, lens[i], offset), "%s", srp_disk_why(d));
		expect_bytes(at, lens[i], offset, (unsigned)i);
	}
	CHECK(!srp_disk_flush(d) && !srp_disk_unmap(d, 1u << 20, 512));
	CHECK(!srp_disk_read(d, at, 1u << 20, 512));
	CHECK(!at[0] && !memcmp(at, at + 1, (1u << 20) - 1));
	CHECK(srp_disk_read(d, at, 512, UNIT_LEN) == -EINVAL && srp_disk_read(d, at, 100, 0) == -EINVAL);
	CHECK(srp_session_counts(srp_disk_session(d))->immediate && srp_session_counts(srp_disk_session(d))->direct);
	srp_disk_close(d);
	free(at);
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
	struct srp_disk_conf c = disk_conf(e);
	struct srp_session *s;
	static const uint16_t here[] = { 255, 3 };

	c.session.immediate = false;
	for (unsigned i = 0; i < 2; i++) {
		c.session.pieces_here = here[i];
		s = log_in(&c);
		for (unsigned nr = 2; nr <= 256; nr *= 2)
			pieces(s, nr, nr + i);
		CHECK(srp_session_counts(s)->indirect >= 16);
		srp_logout(s);
	}
}

static void pieces_server(struct ends *e)
{
	struct service s[2] = { 0 };

	make_target();
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

	put_range(&io, 0x88, UNIT_LEN / 512, 1);
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
	struct srp_disk_conf c = disk_conf(e);
	struct srp_session *s = log_in(&c);

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
	struct service s = { 0 };

	make_target();
	target.limit = 12;
	target.first_limit = 2;
	serve_logins(e, &s, 1);
	CHECK_MSG(!s.result, "%s", s.why);
	CHECK(s.served.commands == MANY + 1 && s.served.written == MANY * 512);
}

static void run_many(struct srp_session *s, struct srp_io *io, unsigned nr)
{
	struct pollfd p[SRP_CHAN_FDS];
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
		srp_session_fds(s, p);
		if (done < nr && under_way)
			CHECK(poll(p, SRP_CHAN_FDS, TIMEOUT_MS) > 0);
		CHECK(!srp_session_progress(s));
	}
	CHECK_MSG(most > 2 && most <= 11, "%u commands under way", most);
}

static void credits_client(struct ends *e)
{
	struct srp_disk_conf c = disk_conf(e);
	struct srp_session *s = log_in(&c);
	struct srp_io *io = calloc(MANY, sizeof(*io)), ready = { .cdb_len = 6 };
	uint8_t at[512];
	struct iovec v = { at, sizeof(at) };

	CHECK(!srp_execute(s, &ready, TIMEOUT_MS)); /* with the attention */
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
	struct srp_disk_conf c = disk_conf(e);
	struct srp_session *s = log_in(&c);
	struct srp_io io = { .cdb_len = 6 };

	execute(s, &io);
	CHECK(!io.status);
	CHECK(srp_manage(s, WIRE_SRP_ABORT_TASK, 0, &io, TIMEOUT_MS) == WIRE_SRP_FUNCTION_COMPLETE);
	CHECK(srp_manage(s, WIRE_SRP_CLEAR_ACA, 0, NULL, TIMEOUT_MS) == WIRE_SRP_FUNCTION_UNSUPPORTED);
	CHECK(srp_manage(s, WIRE_SRP_ABORT_TASK_SET, 7ull << 48, NULL, TIMEOUT_MS) == WIRE_SRP_FUNCTION_FAILED);
	CHECK(srp_manage(s, WIRE_SRP_ABORT_TASK_SET, 0, NULL, TIMEOUT_MS) == WIRE_SRP_FUNCTION_COMPLETE);
	CHECK(srp_manage(s, WIRE_SRP_LUN_RESET, 0, NULL, TIMEOUT_MS) == WIRE_SRP_FUNCTION_COMPLETE);
	CHECK(!srp_execute(s, &io, TIMEOUT_MS));
	expect_sense(&io, SCSI_KEY_UNIT_ATTENTION, SCSI_ASC_RESET);
	CHECK(!srp_execute(s, &io, TIMEOUT_MS) && !io.status);
	srp_logout(s);
}

/* --- logins --- */

static void logins_server(struct ends *e)
{
	struct service s[4] = { 0 };
	struct ulp_listener *l;

	make_target();
	target.it_length = 300;
	l = ends_listen(e, RDMA_PS_TCP);
	serve_from(l, s, 4);
	ulp_listener_close(l);
	CHECK(s[0].result == -EACCES && strstr(s[0].why, "access list"));
	CHECK(s[1].result == -EACCES && strstr(s[1].why, "too long"));
	CHECK(s[2].result == -EACCES && strstr(s[2].why, "another target port"));
	CHECK_MSG(!s[3].result, "%s", s[3].why);
}

static void refused_login(const struct srp_disk_conf *c, const char *words)
{
	char why[ULP_WHY_MAX];
	int err;

	CHECK(!srp_login((const struct sockaddr *)&c->to, &c->session, TIMEOUT_MS, &err, why));
	CHECK_MSG(err == EACCES && strstr(why, words), "%s", why);
}

static void logins_client(struct ends *e)
{
	struct srp_disk_conf c = disk_conf(e);
	struct srp_session *s;

	c.session.it_length = 260;
	c.session.initiator[0] = 0xab;
	refused_login(&c, "0x10006");
	memcpy(c.session.initiator, initiator_id, 16);
	c.session.it_length = srp_conf_default.it_length; /* too long: asked again with less, to a wrong port */
	c.session.target[3] = 99;
	refused_login(&c, "0x10003");
	memcpy(c.session.target, target_id, 16);
	c.session.it_length = 64;
	s = log_in(&c);
	CHECK(srp_session_agreed(s)->it_length == 64);
	srp_logout(s);
}

/* The second login of an initiator ends the first one. */
static void again_server(struct ends *e)
{
	struct service s[3] = { 0 };

	make_target();
	serve_logins(e, s, 3);
	for (unsigned i = 0; i < 3; i++)
		CHECK_MSG(!s[i].result, "%s", s[i].why);
}

static void wait_for_end(struct srp_session *s)
{
	struct pollfd p[SRP_CHAN_FDS];

	while (!srp_session_progress(s)) {
		srp_session_fds(s, p);
		CHECK(poll(p, SRP_CHAN_FDS, TIMEOUT_MS) > 0);
	}
}

static void again_client(struct ends *e)
{
	struct srp_disk_conf c = disk_conf(e);
	struct srp_session *first = log_in(&c), *second, *third;

	second = log_in(&c);
	CHECK(srp_session_agreed(second)->channels == WIRE_SRP_CHANNELS_ENDED);
	wait_for_end(first);
	CHECK_MSG(strstr(srp_session_why(first), "logs out (reason 4)") || strstr(srp_session_why(first), "disconnected"), "%s",
		  srp_session_why(first));
	c.session.multi = true;
	third = log_in(&c);
	CHECK(srp_session_agreed(third)->channels == WIRE_SRP_CHANNELS_KEPT);
	CHECK(!srp_session_progress(second));
	srp_logout(first);
	srp_logout(second);
	srp_logout(third);
}

/* --- a target that goes and comes back --- */

static void back_server(struct ends *e)
{
	struct service s[2] = { 0 };
	struct ulp_listener *l;

	make_target();
	l = ends_listen(e, RDMA_PS_TCP);
	ends_next_request(l, &s[0].q);
	CHECK(!pthread_create(&s[0].thread, NULL, serve, &s[0]));
	await(e);
	srp_target_stop(&target, TIMEOUT_MS);
	CHECK(!pthread_join(s[0].thread, NULL));
	target.stopping = false;
	mark(e);
	serve_from(l, &s[1], 1);
	CHECK_MSG(!s[1].result, "%s", s[1].why);
	ulp_listener_close(l);
}

static void back_client(struct ends *e)
{
	struct srp_disk_conf c = disk_conf(e);
	struct srp_disk *d;
	uint8_t at[65536];

	c.reconnect_ms = TIMEOUT_MS;
	d = open_disk(&c);
	fill(at, sizeof(at), 0, 5);
	CHECK(!srp_disk_write(d, at, sizeof(at), 0));
	mark(e);
	await(e);
	memset(at, 0, sizeof(at));
	CHECK_MSG(!srp_disk_read(d, at, sizeof(at), 0), "%s", srp_disk_why(d));
	expect_bytes(at, sizeof(at), 0, 5);
	CHECK(srp_disk_reconnects(d) == 1);
	srp_disk_close(d);
}

/* --- hostile initiators --- */

/* A channel whose information units are written by hand. */
struct raw {
	struct srp_chan ch;
	uint8_t last[512];
	uint32_t last_len;
};

static struct raw *raw_of(struct srp_chan *ch)
{
	return (struct raw *)ch;
}

static int raw_event(struct ulp_conn *u, const struct rdma_cm_event *ev)
{
	struct srp_chan *ch = (struct srp_chan *)u;

	ch->established |= ev->event == RDMA_CM_EVENT_ESTABLISHED;
	if (ev->event == RDMA_CM_EVENT_DISCONNECTED)
		return ulp_end(u, ECONNRESET, "disconnected");
	return 0;
}

static int raw_done(struct srp_chan *ch, const struct srp_done *d)
{
	struct raw *w = raw_of(ch);

	if (d->kind != SRP_WORK_RECEIVE)
		return 0;
	w->last_len = d->len < sizeof(w->last) ? d->len : sizeof(w->last);
	memcpy(w->last, srp_chan_recv_at(ch, d->index), w->last_len);
	return srp_chan_post_recv(ch, d->index);
}

static const struct srp_chan_sizes raw_sizes = { 64, 1024, 64, 1024, 64 };

static void raw_connect(struct raw *w, struct ends *e)
{
	uint8_t data[WIRE_SRP_LOGIN_REQ_LEN];
	struct srp_login l = { .it_length = 1024, .formats = 6, .immediate = true, .immediate_offset = 68 };
	struct rdma_conn_param p = { .private_data = data, .private_data_len = sizeof(data), .responder_resources = 4,
				     .retry_count = 7, .rnr_retry_count = 7 };

	memset(w, 0, sizeof(*w));
	w->ch.rdma.take_event = raw_event;
	memcpy(l.initiator, initiator_id, 16);
	memcpy(l.target, target_id, 16);
	srp_login_put(data, &l);
	CHECK(!ulp_open(&w->ch.rdma) && !rdma_create_id(w->ch.rdma.events, &w->ch.rdma.id, w, RDMA_PS_TCP));
	CHECK(!ulp_resolve(&w->ch.rdma, (struct sockaddr *)&e->addr, TIMEOUT_MS) && !srp_chan_make(&w->ch, &raw_sizes));
	CHECK(!rdma_connect(w->ch.rdma.id, &p) && !ulp_await(&w->ch.rdma, RDMA_CM_EVENT_ESTABLISHED, TIMEOUT_MS));
}

static void raw_wait(struct raw *w)
{
	struct pollfd p[SRP_CHAN_FDS];

	while (!srp_chan_progress(&w->ch, raw_done)) {
		srp_chan_fds(&w->ch, p);
		CHECK(poll(p, SRP_CHAN_FDS, TIMEOUT_MS) > 0);
	}
}

static void raw_close(struct raw *w)
{
	srp_chan_end(&w->ch);
	srp_chan_free(&w->ch);
}

/* An inquiry whose command is then made worse. Returns its octets. */
static size_t good_command(uint8_t *out)
{
	static const uint8_t direct[16] = { 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0, 96 };
	struct srp_command c = { .tag = 1, .cdb_len = 16, .cdb = { 0x12, 0, 0, 0, 96 },
				 .in = { .format = WIRE_SRP_FORMAT_DIRECT, .length = 96, .nr = 1, .nr_here = 1, .list = direct } };

	return srp_command_put(out, &c, 0);
}

static size_t is_cut(uint8_t *out) { good_command(out); return 40; }
static size_t is_nothing(uint8_t *out) { out[0] = WIRE_SRP_CMD; return 1; }
static size_t has_bad_type(uint8_t *out) { good_command(out); out[0] = 0x77; return 64; }
static size_t has_no_room(uint8_t *out) { good_command(out); return 63; }
static size_t has_bad_format(uint8_t *out) { good_command(out); out[5] = 0x04; return 64; }
static size_t has_bad_key(uint8_t *out) { return good_command(out); }
static size_t has_long_cdb(uint8_t *out) { good_command(out); out[31] = 0xfc; return 1024; }

/* An indirect buffer: count in the command, table length, length of all; one descriptor of 96 octets. */
static size_t indirect(uint8_t *out, uint8_t count, uint32_t table, uint32_t length)
{
	good_command(out);
	out[5] = 0x02;
	out[7] = count;
	wire_put32(out + 48 + 12, table);
	wire_put32(out + 48 + 16, length);
	memset(out + 68, 0, 956);
	wire_put32(out + 68 + 12, 96);
	return 1024;
}

static size_t has_odd_table(uint8_t *out) { return indirect(out, 1, 17, 96); }
static size_t has_long_table(uint8_t *out) { return indirect(out, 1, 16 * 257, 96); }
static size_t has_huge_table(uint8_t *out) { return indirect(out, 1, 0xfffffff0, 96); }
static size_t has_many_here(uint8_t *out) { return indirect(out, 2, 16, 96); }
static size_t has_bad_sum(uint8_t *out) { return indirect(out, 1, 16, 97); }
static size_t has_foreign_table(uint8_t *out) { return indirect(out, 1, 32, 96); }

static size_t immediate(uint8_t *out, uint32_t length)
{
	good_command(out);
	out[5] = 0x30;
	out[32] = 0x2a;
	out[32 + 8] = 1;
	wire_put32(out + 48, length);
	return 100;
}

static size_t has_short_immediate(uint8_t *out) { return immediate(out, 33); }
static size_t has_huge_immediate(uint8_t *out) { return immediate(out, 0xffffffff); }

static const struct hostile {
	const char *name;
	size_t (*make)(uint8_t *out);
	const char *why;                /* of the target */
} hostiles[] = {
	{ "cut", is_cut, "shorter than its table" },
	{ "one octet", is_nothing, "shorter than its table" },
	{ "type", has_bad_type, "table 7" },
	{ "no room for descriptors", has_no_room, "do not fit" },
	{ "format", has_bad_format, "not supported" },
	{ "long CDB", has_long_cdb, "48 octets" },
	{ "length of a table", has_odd_table, "multiple of 16" },
	{ "long table", has_long_table, "256 descriptors" },
	{ "huge table", has_huge_table, "256 descriptors" },
	{ "more here than in the table", has_many_here, "more descriptors" },
	{ "sum of a table", has_bad_sum, "add up" },
	{ "table at a foreign key", has_foreign_table, "an operation fails" },
	{ "data at a foreign key", has_bad_key, "an operation fails" },
	{ "short immediate data", has_short_immediate, "before its immediate data" },
	{ "huge immediate data", has_huge_immediate, "before its immediate data" },
};

#define NR_HOSTILE (sizeof(hostiles) / sizeof(hostiles[0]))

#define FLOOD 13

static void hostile_server(struct ends *e)
{
	struct ulp_listener *l;

	make_target();
	target.limit = FLOOD - 1;
	l = ends_listen(e, RDMA_PS_TCP);
	for (size_t i = 0; i < NR_HOSTILE + 1; i++) {
		struct service s = { .hold = i == NR_HOSTILE ? e : NULL };

		serve_from(l, &s, 1);
		/* The end that refuses a key disconnects, which the other one may see first. */
		if (i < NR_HOSTILE)
			CHECK_MSG((s.result && strstr(s.why, hostiles[i].why)) ||
				  (strstr(hostiles[i].name, "foreign key") && strstr(s.why, "disconnected")),
				  "%s: %d, %s", hostiles[i].name, s.result, s.why);
		else
			CHECK_MSG(s.result == -EPROTO && strstr(s.why, "request limit"), "%s", s.why);
	}
	ulp_listener_close(l);
}

/* The last message of a flood announces itself. */
static void send_last(struct raw *w, uint32_t i)
{
	struct ibv_sge sge = { (uintptr_t)srp_chan_send_at(&w->ch, i), WIRE_SRP_TSK_MGMT_LEN, w->ch.rdma.mr->lkey };
	struct ibv_send_wr wr = { .wr_id = 1ull << 32, .opcode = IBV_WR_SEND, .sg_list = &sge, .num_sge = 1,
				  .send_flags = IBV_SEND_SOLICITED }, *bad;

	CHECK(!ibv_post_send(w->ch.rdma.id->qp, &wr, &bad));
}

/* More requests than the limit, which the receives for answers take. */
static void flood(struct raw *w, struct ends *e)
{
	for (uint32_t i = 0; i < FLOOD; i++) {
		uint8_t *at = srp_chan_send_at(&w->ch, i);

		good_command(at);
		at[0] = WIRE_SRP_TSK_MGMT;
		at[30] = WIRE_SRP_CLEAR_ACA;
		if (i + 1 < FLOOD)
			CHECK(!srp_chan_send(&w->ch, i, WIRE_SRP_TSK_MGMT_LEN, 1));
		else
			send_last(w, i);
		if (!i)
			await(e);
	}
}

static void hostile_client(struct ends *e)
{
	struct raw w;

	CHECK(read(e->in, &e->addr, sizeof(e->addr)) == sizeof(e->addr));
	for (size_t i = 0; i < NR_HOSTILE; i++) {
		size_t len;

		raw_connect(&w, e);
		len = hostiles[i].make(srp_chan_send_at(&w.ch, 0));
		CHECK(!srp_chan_send(&w.ch, 0, len, 1));
		raw_wait(&w);
		raw_close(&w);
	}
	raw_connect(&w, e);
	flood(&w, e);
	raw_wait(&w);
	raw_close(&w);
}

/* --- hostile targets --- */

/* Answers every command by a response that is then made worse. */
static size_t good_response(uint8_t *out, uint64_t tag)
{
	static const uint8_t sense[18] = { 0x70 };
	struct srp_response r = { .tag = tag, .limit_delta = 1, .status = 2, .sense = sense, .sense_len = 18 };

	return srp_response_put(out, &r);
}

static size_t answer_short(uint8_t *out, uint64_t tag) { return good_response(out, tag) - 40; }
static size_t answer_long_sense(uint8_t *out, uint64_t tag) { size_t n = good_response(out, tag); out[31] = 19; return n; }
static size_t answer_huge_sense(uint8_t *out, uint64_t tag) { size_t n = good_response(out, tag); out[28] = 0xff; return n; }
static size_t answer_delta(uint8_t *out, uint64_t tag) { size_t n = good_response(out, tag); out[4] = 0xff; return n; }
static size_t answer_type(uint8_t *out, uint64_t tag) { size_t n = good_response(out, tag); out[0] = 0x55; return n; }
static size_t answer_residual(uint8_t *out, uint64_t tag)
{
	size_t n = good_response(out, tag);

	out[18] |= 0x20;
	wire_put32(out + 24, 97);
	return n;
}

static size_t answer_logout(uint8_t *out, uint64_t tag)
{
	struct srp_short q = { .type = WIRE_SRP_T_LOGOUT, .tag = tag, .number = 1 };

	srp_short_put(out, &q);
	return WIRE_SRP_SHORT_LEN;
}

static size_t answer_event(uint8_t *out, uint64_t tag)
{
	struct srp_short q = { .type = WIRE_SRP_AER_REQ, .tag = tag };

	srp_short_put(out, &q);
	return WIRE_SRP_SHORT_LEN;
}

static const struct answer {
	size_t (*make)(uint8_t *out, uint64_t tag);
	const char *why;
} answers[] = {
	{ answer_short, "shorter than its table" },
	{ answer_long_sense, "response data and sense data" },
	{ answer_huge_sense, "response data and sense data" },
	{ answer_delta, "65,536" },
	{ answer_type, "table 7" },
	{ answer_residual, "residual" },
	{ answer_logout, "reason 1" },
	{ answer_event, "shorter than its table" },
};

#define NR_ANSWERS (sizeof(answers) / sizeof(answers[0]))

static void raw_accept(struct raw *w, struct ulp_listener *l, uint32_t limit, uint32_t ti_length)
{
	uint8_t data[WIRE_SRP_LOGIN_RSP_LEN];
	struct srp_accepted a = { .limit = limit, .it_length = 1024, .ti_length = ti_length, .formats = 6 };
	struct rdma_conn_param p = { .private_data = data, .private_data_len = sizeof(data), .initiator_depth = 4,
				     .responder_resources = 4, .rnr_retry_count = 7 };
	struct ulp_request q;

	memset(w, 0, sizeof(*w));
	w->ch.rdma.take_event = raw_event;
	ends_next_request(l, &q);
	srp_accepted_put(data, &a);
	CHECK(!ulp_adopt(&w->ch.rdma, q.id) && !srp_chan_make(&w->ch, &raw_sizes) && !rdma_accept(w->ch.rdma.id, &p));
	CHECK(!ulp_await(&w->ch.rdma, RDMA_CM_EVENT_ESTABLISHED, TIMEOUT_MS));
}

static void wait_for_unit(struct raw *w)
{
	struct pollfd p[SRP_CHAN_FDS];

	while (!srp_chan_progress(&w->ch, raw_done) && !w->last_len) {
		srp_chan_fds(&w->ch, p);
		CHECK(poll(p, SRP_CHAN_FDS, TIMEOUT_MS) > 0);
	}
	CHECK(w->last_len >= 48);
}

static void bad_target(struct ends *e)
{
	struct ulp_listener *l = ends_listen(e, RDMA_PS_TCP);
	struct raw w;

	for (size_t i = 0; i < NR_ANSWERS; i++) {
		raw_accept(&w, l, 8, 1024);
		wait_for_unit(&w);
		CHECK(!srp_chan_send(&w.ch, 0, answers[i].make(srp_chan_send_at(&w.ch, 0), wire_get_SRP_CMD_tag(w.last)), 1));
		raw_wait(&w);
		raw_close(&w);
	}
	raw_accept(&w, l, 0, 1024);
	raw_wait(&w);
	raw_close(&w);
	raw_accept(&w, l, 8, 1u << 20);
	raw_wait(&w);
	raw_close(&w);
	ulp_listener_close(l);
}

static void bad_login(const struct srp_disk_conf *c, const char *words)
{
	char why[ULP_WHY_MAX];
	int err;

	CHECK(!srp_login((const struct sockaddr *)&c->to, &c->session, TIMEOUT_MS, &err, why));
	CHECK_MSG(strstr(why, words), "%s", why);
}

static void against_bad_target(struct ends *e)
{
	struct srp_disk_conf c = disk_conf(e);
	uint8_t at[96];
	struct iovec v = { at, sizeof(at) };

	for (size_t i = 0; i < NR_ANSWERS; i++) {
		struct srp_session *s = log_in(&c);
		struct srp_io io = { .cdb_len = 6, .cdb = { 0x12, 0, 0, 0, 96 }, .in = &v, .nr_in = 1 };

		CHECK(srp_execute(s, &io, TIMEOUT_MS) < 0);
		CHECK(io.done && io.error);
		CHECK_MSG(strstr(srp_session_why(s), answers[i].why), "%zu: %s", i, srp_session_why(s));
		srp_logout(s);
	}
	bad_login(&c, "request limit of 0");
	bad_login(&c, "1048576 octets");
}

int main(void)
{
	ends_run("what a disk says", AF_INET, serve_one, facts_client);
	ends_run("data of every length", AF_INET, serve_one, lengths_client);
	ends_run("data in pieces", AF_INET, pieces_server, pieces_client);
	ends_run("commands and their refusals", AF_INET, serve_one, commands_client);
	ends_run("credits", AF_INET, credits_server, credits_client);
	ends_run("task management", AF_INET, serve_one, manage_client);
	ends_run("logins that are rejected", AF_INET, logins_server, logins_client);
	ends_run("a second login", AF_INET, again_server, again_client);
	ends_run("a target that comes back", AF_INET, back_server, back_client);
	ends_run("initiators that break the protocol", AF_INET, hostile_server, hostile_client);
	ends_run("targets that break the protocol", AF_INET, bad_target, against_bad_target);
	return 0;
}
