/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Peers that break the protocol of SRP: initiators and targets of which each information unit is written by hand.
 */
#include "srp_ends.h"

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

static void raw_request(struct raw *w, struct ends *e)
{
	uint8_t data[WIRE_SRP_LOGIN_REQ_LEN];
	struct srp_login l = { .it_length = 1024, .formats = 6, .immediate = true, .immediate_offset = 68 };
	struct rdma_conn_param p = { .private_data = data, .private_data_len = sizeof(data), .responder_resources = 4,
				     .retry_count = 7, .rnr_retry_count = 7 };

	memset(w, 0, sizeof(*w));
	w->ch.rdma.take_event = raw_event;
	memcpy(l.initiator, srp_ends_initiator, 16);
	memcpy(l.target, srp_ends_target, 16);
	srp_login_put(data, &l);
	CHECK(!ulp_open(&w->ch.rdma) && !rdma_create_id(w->ch.rdma.events, &w->ch.rdma.id, w, RDMA_PS_TCP));
	CHECK(!ulp_resolve(&w->ch.rdma, (struct sockaddr *)&e->addr, SRP_ENDS_MS) && !srp_chan_make(&w->ch, &raw_sizes));
	CHECK(!rdma_connect(w->ch.rdma.id, &p));
}

static void raw_connect(struct raw *w, struct ends *e)
{
	raw_request(w, e);
	CHECK(!ulp_await(&w->ch.rdma, RDMA_CM_EVENT_ESTABLISHED, SRP_ENDS_MS));
}

static void raw_wait(struct raw *w)
{
	struct pollfd p[SRP_CHAN_FDS];

	while (!srp_chan_progress(&w->ch, raw_done)) {
		srp_chan_fds(&w->ch, p);
		CHECK(poll(p, SRP_CHAN_FDS, SRP_ENDS_MS) > 0);
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

static void await_completion(struct ulp_conn *u)
{
	struct pollfd p = { u->channel->fd, POLLIN, 0 };
	struct ibv_cq *cq;
	void *context;

	CHECK(poll(&p, 1, SRP_ENDS_MS) == 1 && !ibv_get_cq_event(u->channel, &cq, &context));
	ibv_ack_cq_events(cq, 1);
}

/*
 * The first message of a flood takes the event for which the queue is armed; the last one is solicited. All of them lie in the
 * completion queue then, which the completion of a Send over iWARP does not say.
 */
static void hold_flood(struct ulp_conn *u, void *user)
{
	await_completion(u);
	CHECK(!ibv_req_notify_cq(u->cq, 1));
	mark(user);
	await_completion(u);
}

static void hostile_server(struct ends *e)
{
	struct ulp_listener *l;

	srp_ends_make_target();
	target.limit = FLOOD - 1;
	l = ends_listen(e, RDMA_PS_TCP);
	for (size_t i = 0; i < NR_HOSTILE + 1; i++) {
		struct srp_service s = { .logged_in = i == NR_HOSTILE ? hold_flood : NULL, .user = e };

		srp_ends_serve(l, &s, 1);
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
	CHECK(!ulp_await(&w->ch.rdma, RDMA_CM_EVENT_ESTABLISHED, SRP_ENDS_MS));
}

static void wait_for_unit(struct raw *w)
{
	struct pollfd p[SRP_CHAN_FDS];

	while (!srp_chan_progress(&w->ch, raw_done) && !w->last_len) {
		srp_chan_fds(&w->ch, p);
		CHECK(poll(p, SRP_CHAN_FDS, SRP_ENDS_MS) > 0);
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

static void against_bad_target(struct ends *e)
{
	struct srp_disk_conf c = srp_ends_conf(e);
	uint8_t at[96];
	struct iovec v = { at, sizeof(at) };

	for (size_t i = 0; i < NR_ANSWERS; i++) {
		struct srp_session *s = srp_ends_log_in(&c);
		struct srp_io io = { .cdb_len = 6, .cdb = { 0x12, 0, 0, 0, 96 }, .in = &v, .nr_in = 1 };

		CHECK(srp_execute(s, &io, SRP_ENDS_MS) < 0);
		CHECK(io.done && io.error);
		CHECK_MSG(strstr(srp_session_why(s), answers[i].why), "%zu: %s", i, srp_session_why(s));
		srp_logout(s);
	}
	srp_ends_refused(&c, "request limit of 0");
	srp_ends_refused(&c, "1048576 octets");
}

/* --- a login that was given up, whose request comes behind that of the next one --- */

static void late_server(struct ends *e)
{
	struct srp_service s = { 0 }, late = { 0 };
	struct ulp_listener *l;

	srp_ends_make_target();
	l = ends_listen(e, RDMA_PS_TCP);
	ends_next_request(l, &late.q);
	mark(e);
	ends_next_request(l, &s.q);
	srp_ends_begin(&s);
	await(e);
	srp_ends_begin(&late);
	CHECK(!pthread_join(late.thread, NULL));
	CHECK(late.result);
	mark(e);
	CHECK(!pthread_join(s.thread, NULL));
	CHECK_MSG(!s.result, "%s", s.why);
	ulp_listener_close(l);
}

static void late_client(struct ends *e)
{
	struct srp_disk_conf c = srp_ends_conf(e);
	char why[SRP_DISK_WHY_MAX];
	uint8_t at[65536];
	struct srp_disk *d;
	struct raw w;

	raw_request(&w, e);
	await(e);
	raw_close(&w);
	d = srp_disk_open(&c, why);
	CHECK_MSG(d, "%s", why);
	mark(e);
	await(e);
	fill(at, sizeof(at), 0, 6);
	CHECK_MSG(!srp_disk_write(d, at, sizeof(at), 0, false), "%s", srp_disk_why());
	srp_disk_close(d);
}

int main(void)
{
	ends_run("a login that was given up", AF_INET, late_server, late_client);
	ends_run("initiators that break the protocol", AF_INET, hostile_server, hostile_client);
	ends_run("targets that break the protocol", AF_INET, bad_target, against_bad_target);
	return 0;
}
