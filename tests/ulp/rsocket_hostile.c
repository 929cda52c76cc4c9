/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A peer that breaks the protocol: invalid connection data is rejected before the
 * program sees it; a message beyond the grant ends the connection with EPROTO. The peer is plain
 * rdma_cm and verbs.
 */
#include "ends.h"

#include <arpa/inet.h>
#include <fcntl.h>

#include <rdma/rdma_cma.h>
#include <rdma/rdma_verbs.h>

struct raw {
	struct rdma_cm_id *id;
	struct ibv_mr *mr;
	uint8_t memory[4096] __attribute__((aligned(16)));
	uint8_t data[40];
};

static struct raw raw;

static void put(uint8_t *p, uint64_t v, int len)
{
	while (len--) {
		p[len] = (uint8_t)v;
		v >>= 8;
	}
}

/* Good data: 64 credits, a list of two and a buffer, both in local memory. */
static void good_data(void)
{
	memset(raw.data, 0, sizeof(raw.data));
	raw.data[0] = 1;
	put(raw.data + 2, 64, 2);
	put(raw.data + 8, (uintptr_t)raw.memory, 8);
	put(raw.data + 16, raw.mr->rkey, 4);
	put(raw.data + 20, 2, 4);
	put(raw.data + 24, (uintptr_t)raw.memory + 64, 8);
	put(raw.data + 32, raw.mr->rkey, 4);
	put(raw.data + 36, 2048, 4);
}

static void open_raw(struct ends *e)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC, .sq_sig_all = 1,
		.cap = { .max_send_wr = 16, .max_recv_wr = 64, .max_send_sge = 1,
			 .max_recv_sge = 1 } };

	CHECK(!rdma_create_id(NULL, &raw.id, NULL, RDMA_PS_TCP));
	CHECK(!rdma_resolve_addr(raw.id, NULL, (struct sockaddr *)&e->addr, 20000));
	CHECK(!rdma_resolve_route(raw.id, 20000));
	CHECK(!rdma_create_qp(raw.id, NULL, &attr));
	raw.mr = rdma_reg_write(raw.id, raw.memory, sizeof(raw.memory));
	CHECK(raw.mr);
	/* The server's messages may come first; on iWARP each is a Send of four bytes. */
	for (int i = 0; i < 64; i++)
		CHECK(!rdma_post_recv(raw.id, NULL, raw.memory + 192, 4, raw.mr));
	good_data();
}

static int connect_raw(size_t len)
{
	struct rdma_conn_param param = { .private_data = raw.data, .private_data_len = (uint8_t)len,
					 .retry_count = 7, .rnr_retry_count = 7 };

	return rdma_connect(raw.id, &param);
}

static void close_raw(void)
{
	rdma_dereg_mr(raw.mr);
	rdma_destroy_qp(raw.id);
	CHECK(!rdma_destroy_id(raw.id));
}

static bool iwarp(void)
{
	return raw.id->verbs->device->transport_type == IBV_TRANSPORT_IWARP;
}

/* Offset, bytes and value of the invalid field. */
static const struct {
	int at, len;
	uint64_t value;
} bad_data[] = {
	{ 0, 1, 0 }, { 0, 1, 2 },                       /* version */
	{ 2, 2, 0 },                                    /* no credits */
	{ 20, 4, 0 }, { 20, 4, 65 }, { 20, 4, ~0u },    /* size of the list */
	{ 8, 8, ~0ull },                                /* list at the end of the address space */
	{ 36, 4, 0 }, { 36, 4, 0x80000000 },            /* buffer */
	{ 24, 8, ~0ull - 5 },
};

#define NR_BAD (sizeof(bad_data) / sizeof(bad_data[0]))

static void data_server(struct ends *e)
{
	int lfd = listen_here(e, SOCK_STREAM, NULL), fd;
	struct pollfd p[2] = { { lfd, POLLIN, 0 }, { e->in, POLLIN, 0 } };

	/* Rejected requests arrive during this sleep and do not end it. */
	CHECK(rpoll(p, 2, -1) == 1 && p[1].revents && !p[0].revents);
	CHECK(!rfcntl(lfd, F_SETFL, O_NONBLOCK));
	CHECK(raccept(lfd, NULL, NULL) == -1 && errno == EAGAIN);
	CHECK(!rfcntl(lfd, F_SETFL, 0));
	await(e);
	mark(e);
	fd = accept_one(e, lfd);
	recv_all(fd, 10, 1);
	CHECK(!rclose(fd));
	CHECK(!rclose(lfd));
}

static void data_client(struct ends *e)
{
	int fd;

	await_addr(e);
	for (size_t i = 0; i < NR_BAD; i++) {
		open_raw(e);
		put(raw.data + bad_data[i].at, bad_data[i].value, bad_data[i].len);
		CHECK_MSG(connect_raw(40) && errno == ECONNREFUSED, "row %zu", i);
		close_raw();
	}
	open_raw(e);
	CHECK(connect_raw(0) && errno == ECONNREFUSED);
	close_raw();
	mark(e);
	await(e);
	fd = connect_there(e, NULL);
	send_all(fd, 10, 1);
	CHECK(!rclose(fd));
}

static uint32_t msg(uint32_t op, uint32_t value)
{
	return op << 29 | value;
}

static uint32_t bad_message(int i)
{
	switch (i) {
	case 0: return msg(0, 0);               /* data of no length */
	case 1: return msg(0, 0x1fffffff);      /* more than was granted */
	case 2: return msg(4, 65);              /* more than this end can queue */
	case 3: return msg(4, 0xffff);          /* credits that go back */
	case 4: return msg(6, 0);               /* an I/O map that is not there */
	case 5: return msg(7, 3);               /* no such control message */
	case 6: return msg(1, 1);
	case 7: return msg(2, 1);
	case 8: return msg(3, 1);
	case 9: return msg(5, 1);
	default: return 0;
	}
}

#define NR_MESSAGES 10

static void message_server(struct ends *e)
{
	int lfd = listen_here(e, SOCK_STREAM, NULL);

	for (int i = 0; i < NR_MESSAGES; i++) {
		int fd = accept_one(e, lfd);
		ssize_t n;
		char c;

		errno = 0;
		n = rrecv(fd, &c, 1, 0);
		CHECK_MSG(n == -1 && errno == EPROTO, "message %d: %zd", i, n);
		CHECK(rrecv(fd, &c, 1, 0) == 0);
		CHECK(rsend(fd, &c, 1, 0) == -1 && errno == ECONNRESET);
		CHECK(!rclose(fd));
		mark(e);
	}
	CHECK(!rclose(lfd));
}

/* On iWARP the message is a Send of four bytes. */
static void send_message(uint32_t m)
{
	struct ibv_sge sg = { (uintptr_t)raw.memory + 128, 4, raw.mr->lkey };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE_WITH_IMM, .imm_data = htonl(m) }, *bad;

	if (iwarp()) {
		memcpy(raw.memory + 128, &m, 4);
		wr.opcode = IBV_WR_SEND;
		wr.sg_list = &sg;
		wr.num_sge = 1;
	}
	CHECK(!ibv_post_send(raw.id->qp, &wr, &bad));
}

static void message_client(struct ends *e)
{
	await_addr(e);
	for (int i = 0; i < NR_MESSAGES; i++) {
		struct ibv_wc wc;

		open_raw(e);
		CHECK(!connect_raw(40));
		send_message(bad_message(i));
		CHECK(rdma_get_send_comp(raw.id, &wc) == 1);
		await(e);
		rdma_disconnect(raw.id);
		close_raw();
	}
}

int main(void)
{
	ends_run("connection data", AF_INET, data_server, data_client);
	ends_run("messages", AF_INET, message_server, message_client);
	return 0;
}
