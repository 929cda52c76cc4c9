/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Both roles of RPC over RDMA against each other, in two processes: calls and replies inline, with read, write and
 * reply chunks and at position zero, under every setting; credits; the backward direction; and peers that
 * break the protocol, of which each byte is written by hand.
 */
#include "rpcrdma_ends.h"

#include "ulp/rpcrdma/header.h"
#include "ulp/rpcrdma/private.h"
#include "ulp/rpcrdma/rpc.h"
#include "wire/field.h"

#include <arpa/inet.h>
#include <rdma/rdma_verbs.h>

#define TIMEOUT_MS RPR_ENDS_MS

static struct ulp_listener *listener;

/* True while the connection lives. */
static bool step(void)
{
	if (rpr_ends_step())
		return true;
	fprintf(stderr, "# %s\n", rpr_conn_why(side.c));
	return false;
}

static void listen_on(struct ends *e)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

	rpr_ends_fill();
	listener = ulp_listen((struct sockaddr *)&at, RDMA_PS_TCP, -1, 8);
	if (!listener)
		SKIP("no RDMA device: %s", strerror(errno));
	CHECK(at.sin_port && write(e->out, &at, sizeof(at)) == sizeof(at));
}

static void accept_one_conn(const struct rpr_conf *conf)
{
	struct pollfd p = { ulp_listener_fd(listener), POLLIN, 0 };
	struct ulp_request q;
	char why[ULP_WHY_MAX];

	while (ulp_listener_next(listener, &q))
		CHECK(poll(&p, 1, TIMEOUT_MS) == 1);
	side.c = rpr_accept(q.id, q.data, q.len, conf, &rpr_ends_server, NULL, TIMEOUT_MS, why);
	CHECK_MSG(side.c, "%s", why);
}

static void serve(struct ends *e, struct rpr_conf conf)
{
	listen_on(e);
	accept_one_conn(&conf);
	while (step())
		;
	rpr_ends_close();
	ulp_listener_close(listener);
}

static struct sockaddr_in where(struct ends *e)
{
	struct sockaddr_in at;

	rpr_ends_fill();
	CHECK(read(e->in, &at, sizeof(at)) == sizeof(at));
	return at;
}

static void connect_to(struct ends *e, struct rpr_conf conf)
{
	struct sockaddr_in at = where(e);
	char why[ULP_WHY_MAX];

	side.c = rpr_connect((struct sockaddr *)&at, &conf, &rpr_ends_client, NULL, TIMEOUT_MS, why);
	CHECK_MSG(side.c, "%s", why);
}

static void call(size_t (*put)(uint8_t *p, uint32_t xid, uint32_t len), uint32_t xid, uint32_t len)
{
	CHECK_MSG(rpr_ends_call(put, xid, len), "%s", rpr_conn_why(side.c));
}

static void await_replies(unsigned n)
{
	CHECK_MSG(rpr_ends_await(n), "%s", rpr_conn_why(side.c));
}

static const uint32_t sizes[] = { 0, 1, 3, 4, 900, 1000, 3999, 4000, 4096, 5001, 65536, 1 << 20 };
#define NR_SIZES (sizeof(sizes) / sizeof(sizes[0]))

static void all_sizes(void)
{
	uint32_t xid = 0;

	for (unsigned i = 0; i < NR_SIZES; i++) {
		call(rpr_ends_write, xid++, sizes[i]);
		call(rpr_ends_read, xid++, sizes[i]);
		call(rpr_ends_echo, xid++, sizes[i]);
	}
	await_replies(xid);
}

/* --- the cases: a configuration for each end --- */

static struct rpr_conf conf_server, conf_client;

static void sizes_server(struct ends *e)
{
	serve(e, conf_server);
}

static void sizes_client(struct ends *e)
{
	const struct rpr_counts *n;

	connect_to(e, conf_client);
	all_sizes();
	n = rpr_conn_counts(side.c);
	CHECK(n->calls == 3 * NR_SIZES && n->replies == n->calls && !n->errors);
	CHECK(n->read_chunks && n->write_chunks && n->reply_chunks && n->long_calls);
	CHECK((n->remote_inv != 0) == (conf_client.remote_inv && conf_server.remote_inv && conf_client.windows));
	rpr_ends_close();
}

static void every_setting(void)
{
	struct rpr_conf ours = rpr_conf_ours();

	for (unsigned i = 0; i < 5; i++) {
		conf_server = conf_client = ours;
		if (i == 1)
			conf_client.windows = false;
		else if (i == 2)
			conf_server.remote_inv = false;
		else if (i == 3)
			conf_client.inline_size = 1024, conf_client.credits = 1;
		else if (i == 4)
			conf_server.inline_size = 1024, conf_server.credits = 2, conf_client.inline_size = 65536;
		ends_run("calls of every form and size", AF_INET, sizes_server, sizes_client);
	}
}

/* The server holds calls back until as many are out as it granted; no more come. */
static void credits_server(struct ends *e)
{
	struct rpr_conf conf = rpr_conf_ours();

	conf.credits = 5;
	listen_on(e);
	accept_one_conn(&conf);
	while (side.calls < 1)
		CHECK_MSG(step(), "%s", rpr_conn_why(side.c));
	side.hold = 4;
	while (step())
		;
	CHECK_MSG(side.most_out == 5, "%u", side.most_out);
	rpr_ends_close();
	ulp_listener_close(listener);
}

static void credits_client(struct ends *e)
{
	struct rpr_conf conf = rpr_conf_ours();

	conf.credits = 64;
	connect_to(e, conf);
	call(rpr_ends_write, 0, 1);
	await_replies(1);
	for (uint32_t xid = 1; xid < 61; xid++)
		call(rpr_ends_read, xid, 20000);
	await_replies(61);
	rpr_ends_close();
}

/* The server calls, in between calls of the client. */
static void back_server(struct ends *e)
{
	struct rpr_conf conf = rpr_conf_ours();
	struct rpr_buf *b;

	listen_on(e);
	accept_one_conn(&conf);
	while (side.calls < 1)
		CHECK_MSG(step(), "%s", rpr_conn_why(side.c));
	b = rpr_conn_buf(side.c);
	b->len = rpr_ends_put_call(b->data, 1, BACK_PROGRAM, 1, 1);
	b->len += rpr_ends_put_opaque(b->data + b->len, 5000);
	CHECK(rpr_conn_send(side.c, b) == -EMSGSIZE); /* it has to lie inline */
	rpr_conn_buf_put(side.c, b);
	for (unsigned i = 0; i < 40; i++) {
		b = rpr_conn_buf(side.c);
		b->len = rpr_ends_back_call(b->data, BACK_XID + i);
		CHECK(!rpr_conn_send(side.c, b));
		while (side.back_replies <= i)
			CHECK_MSG(step(), "%s", rpr_conn_why(side.c));
	}
	mark(e);
	while (step())
		;
	rpr_ends_close();
	ulp_listener_close(listener);
}

static void back_client(struct ends *e)
{
	connect_to(e, rpr_conf_ours());
	for (uint32_t xid = 0; xid < 20; xid++)
		call(rpr_ends_read, xid, 5000);
	while (side.back_calls < 40)
		CHECK_MSG(step(), "%s", rpr_conn_why(side.c));
	await_replies(20);
	await(e);
	rpr_ends_close();
}

/* A reply that is longer than its reply chunk fails this call alone. */
static void long_server(struct ends *e)
{
	struct rpr_conf conf = rpr_conf_ours();

	conf.max_message = 2 << 20;
	serve(e, conf);
}

static size_t put_too_long(uint8_t *p, uint32_t xid, uint32_t len)
{
	size_t n = rpr_ends_put_call(p, xid, ECHO_PROGRAM, 1, ECHO_TOO_LONG);

	wire_put32(p + n, len);
	side.expected[xid].failure = true;
	return n + 4;
}

static void long_client(struct ends *e)
{
	struct rpr_conf conf = rpr_conf_ours();

	conf.max_message = 1 << 20;
	connect_to(e, conf);
	call(put_too_long, 3, 3 << 19);
	await_replies(1);
	CHECK(rpr_conn_counts(side.c)->errors == 1);
	call(rpr_ends_echo, 4, 70000);
	await_replies(2);
	rpr_ends_close();
}

static void no_listener(void)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(1) };
	struct rpr_conf conf = rpr_conf_ours();
	char why[ULP_WHY_MAX] = "";

	CHECK(!rpr_connect((struct sockaddr *)&at, &conf, &rpr_ends_client, NULL, TIMEOUT_MS, why) && *why);
	conf.credits = 0;
	CHECK(!rpr_connect((struct sockaddr *)&at, &conf, &rpr_ends_client, NULL, TIMEOUT_MS, why) && *why);
}

/* --- peers that break the protocol: plain rdma_cm and verbs --- */

struct raw {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	uint8_t memory[65536];
};

static struct raw raw;

static void raw_open(struct ends *e)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = 128, .max_recv_wr = 64, .max_send_sge = 1, .max_recv_sge = 1 } };
	struct rdma_conn_param param = { .retry_count = 7, .rnr_retry_count = 7, .responder_resources = 4,
					 .initiator_depth = 4 };
	struct sockaddr_in at = where(e);

	CHECK(!rdma_create_id(NULL, &raw.id, NULL, RDMA_PS_TCP));
	CHECK(!rdma_resolve_addr(raw.id, NULL, (struct sockaddr *)&at, 20000));
	CHECK(!rdma_resolve_route(raw.id, 20000));
	CHECK(!rdma_create_qp(raw.id, NULL, &attr));
	raw.mr = ibv_reg_mr(raw.id->pd, raw.memory, sizeof(raw.memory),
			    IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE);
	CHECK(raw.mr);
	for (int i = 0; i < 32; i++)
		CHECK(!rdma_post_recv(raw.id, NULL, raw.memory + 32768 + 1024 * i, 1024, raw.mr));
	CHECK(!rdma_connect(raw.id, &param));
}

static void raw_close(void)
{
	rdma_disconnect(raw.id);
	rdma_destroy_qp(raw.id);
	rdma_dereg_mr(raw.mr);
	CHECK(!rdma_destroy_id(raw.id));
}

static void raw_send(size_t len)
{
	CHECK(!rdma_post_send(raw.id, NULL, raw.memory, len, raw.mr, 0));
}

static uint8_t *raw_reply(size_t *ret_len)
{
	static unsigned nr;
	struct ibv_wc wc;

	CHECK(rdma_get_recv_comp(raw.id, &wc) == 1 && wc.status == IBV_WC_SUCCESS);
	*ret_len = wc.byte_len;
	return raw.memory + 32768 + 1024 * nr++;
}

/* The other end ends the connection. */
static void raw_await_end(void)
{
	struct rdma_cm_event *ev;

	CHECK(!rdma_get_cm_event(raw.id->channel, &ev) && ev->event == RDMA_CM_EVENT_DISCONNECTED);
	rdma_ack_cm_event(ev);
}

static size_t raw_words(const uint32_t *words, size_t n)
{
	for (size_t i = 0; i < n; i++)
		wire_put32(raw.memory + 4 * i, words[i]);
	return 4 * n;
}

#define WORDS(...) raw_words((const uint32_t[]){ __VA_ARGS__ }, sizeof((const uint32_t[]){ __VA_ARGS__ }) / 4)

/* Each is answered by an error, and the connection goes on. */
static void answered_client(struct ends *e)
{
	const uint32_t key = 7;
	struct rpr_header h;
	uint8_t *p;
	size_t len, used;

	raw_open(e);
	for (unsigned i = 0; i < 9; i++) {
		switch (i) {
		case 0: len = WORDS(40, 2, 1, 0, 0, 0, 0); break;                 /* version */
		case 1: len = WORDS(41, 1, 1, 3, 0, 0, 0); break;                 /* RDMA_DONE */
		case 2: len = WORDS(42, 1, 1, 0, 0, 0); break;                    /* cut */
		case 3: len = WORDS(43, 1, 1, 0, 1, 5, key, 4, 0, 0, 0, 0, 0); break;     /* odd position */
		case 4: len = WORDS(44, 1, 1, 1, 0, 0, 0); break;                 /* no body */
		case 5: len = WORDS(45, 1, 1, 1, 1, 0, key, 0xfffffff0, 0, 0, 0, 0, 0); break; /* too long */
		case 6: len = WORDS(46, 1, 1, 0, 0, 0, 0, 99, 0, 2, 0, 0, 0); break;      /* other xid */
		case 7: len = WORDS(47, 1, 1, 0, 0, 0, 0, 1, 2); break;           /* no RPC message */
		default: len = WORDS(48, 1, 1, 0, 0, 0, 1, 1000, 0, 0, 0, 0); break;      /* segments */
		}
		raw_send(len);
		p = raw_reply(&len);
		CHECK_MSG(!rpr_header_get(&h, p, len, &used) && h.proc == RPR_ERROR && h.xid == 40 + i, "message %u", i);
		CHECK(h.error == (i ? RPR_ERR_CHUNK : RPR_ERR_VERS) && h.credits == RPR_CREDITS_OURS);
	}
	/* And a right one. */
	len = WORDS(50, 1, 1, 0, 0, 0, 0, 50, 0, 2, ECHO_PROGRAM, 1, 1, 0, 0, 0, 0, 1, 0x61000000);
	raw_send(len);
	p = raw_reply(&len);
	CHECK(!rpr_header_get(&h, p, len, &used) && h.proc == RPR_MSG && h.xid == 50 && len == used + 32);
	raw_close();
}

/* What cannot be answered ends the connection. */
static void short_client(struct ends *e)
{
	raw_open(e);
	raw_send(WORDS(1, 1, 1));
	raw_await_end();
	raw_close();
}

/* A key that opens nothing: the server's Read fails, and with it the connection. */
static void bad_key_client(struct ends *e)
{
	raw_open(e);
	raw_send(WORDS(1, 1, 1, 1, 1, 0, 0x1234, 64, 0, 4096, 0, 0, 0));
	raw_await_end();
	raw_close();
}

/* More calls than credits, to a server that answers none of them. */
static void flood_client(struct ends *e)
{
	size_t len;

	raw_open(e);
	for (uint32_t i = 0; i < RPR_CREDITS_OURS + 1; i++) {
		uint8_t *message = raw.memory + 128 * (i + 1); /* of its own: it may be sent behind the post */

		len = WORDS(i, 1, 1, 0, 0, 0, 0, i, 0, 2, ECHO_PROGRAM, 1, 1, 0, 0, 0, 0);
		memmove(message, raw.memory, len);
		CHECK(!rdma_post_send(raw.id, NULL, message, len, raw.mr, 0));
	}
	raw_await_end();
	raw_close();
}

static void hostile_server(struct ends *e)
{
	serve(e, rpr_conf_ours());
}

static void hostile_ended_server(struct ends *e)
{
	struct rpr_conf conf = rpr_conf_ours();

	side.hold = 63;
	listen_on(e);
	accept_one_conn(&conf);
	while (step())
		;
	CHECK(*rpr_conn_why(side.c));
	fprintf(stderr, "%s\n", rpr_conn_why(side.c));
	rpr_ends_close();
	ulp_listener_close(listener);
}

/* --- servers that break the protocol --- */

static struct rdma_cm_id *raw_listen(struct ends *e)
{
	struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = 64, .max_recv_wr = 64, .max_send_sge = 1, .max_recv_sge = 1 } };
	struct rdma_conn_param param = { .rnr_retry_count = 7, .responder_resources = 4, .initiator_depth = 4 };
	struct rdma_cm_id *l;

	CHECK(!rdma_create_id(NULL, &l, NULL, RDMA_PS_TCP) && !rdma_bind_addr(l, (struct sockaddr *)&at) &&
	      !rdma_listen(l, 4));
	at.sin_port = rdma_get_src_port(l);
	CHECK(write(e->out, &at, sizeof(at)) == sizeof(at));
	CHECK(!rdma_get_request(l, &raw.id));
	CHECK(!rdma_create_qp(raw.id, NULL, &attr));
	raw.mr = ibv_reg_mr(raw.id->pd, raw.memory, sizeof(raw.memory), IBV_ACCESS_LOCAL_WRITE);
	for (int i = 0; i < 32; i++)
		CHECK(!rdma_post_recv(raw.id, NULL, raw.memory + 32768 + 1024 * i, 1024, raw.mr));
	CHECK(!rdma_accept(raw.id, &param));
	return l;
}

static unsigned bad_reply;

/* The reply to an echo of 5 bytes, changed. */
static void lying_server(struct ends *e)
{
	struct rdma_cm_id *l = raw_listen(e);
	size_t len;

	raw_reply(&len);
	switch (bad_reply) {
	case 0: len = WORDS(7, 1, 1, 0, 0, 1, 1, 9, 100, 0, 0, 0, 0, 7, 1, 0, 0, 0, 0); break; /* a write chunk */
	case 1: len = WORDS(7, 1, 1, 1, 0, 0, 1, 1, 9, 0x7fffffff, 0, 0); break; /* more than the reply chunk */
	case 2: len = WORDS(7, 1, 1, 1, 0, 0, 0); break;                        /* nothing */
	case 3: len = WORDS(7, 1, 1, 0, 0, 0, 0, 8, 1, 0, 0, 0, 0); break;      /* the xid of another one */
	case 4: len = WORDS(7, 1, 1, 0, 0, 0, 0, 7); break;                     /* no RPC message */
	case 5: len = WORDS(7, 1, 1, 0, 1, 4, 1, 1, 0, 0, 0, 0, 0); break;      /* a read list */
	default: len = WORDS(7, 3, 1, 0, 0, 0, 0); break;                       /* version */
	}
	raw_send(len);
	raw_await_end();
	raw_close();
	rdma_destroy_id(l);
}

static void lied_to_client(struct ends *e)
{
	connect_to(e, rpr_conf_ours());
	call(rpr_ends_echo, 7, 5);
	while (step())
		;
	CHECK(!side.replies && strstr(rpr_conn_why(side.c), "RFC"));
	fprintf(stderr, "%s\n", rpr_conn_why(side.c));
	rpr_ends_close();
}

int main(void)
{
	every_setting();
	ends_run("credits", AF_INET, credits_server, credits_client);
	ends_run("the backward direction", AF_INET, back_server, back_client);
	ends_run("a reply that is too long", AF_INET, long_server, long_client);
	ends_run("messages that are answered by errors", AF_INET, hostile_server, answered_client);
	ends_run("a message without header", AF_INET, hostile_ended_server, short_client);
	ends_run("a key that opens nothing", AF_INET, hostile_ended_server, bad_key_client);
	ends_run("more calls than credits", AF_INET, hostile_ended_server, flood_client);
	for (bad_reply = 0; bad_reply < 7; bad_reply++)
		ends_run("replies that break the protocol", AF_INET, lying_server, lied_to_client);
	no_listener(); /* in this process, so behind the last fork */
	return 0;
}
