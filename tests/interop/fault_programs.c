/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Three programs in one, for `dapple fault try`: a client sends numbers and reads the sum of them back from the server's memory.
 *
 *   right   looks at each result, and ends with 1 where one is bad
 *   blind   takes each completion for a good one: prints what happens to be in its memory
 *   stuck   waits for good completions alone: for ever, once a bad one has come
 *
 *   fault_programs right|blind|stuck PORT [ADDRESS]
 */
#include <errno.h>
#include <inttypes.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBERS 8u

enum manner { RIGHT, BLIND, STUCK };

struct offer {
	uint64_t address;
	uint32_t rkey;
};

static enum manner manner;
static uint64_t room[4];

static void fail(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(1);
}

/* Takes one completion, in the manner of the program. */
static void complete(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n;

	for (;;) {
		do
			n = ibv_poll_cq(cq, 1, &wc);
		while (n == 0);
		if (n < 0)
			fail("ibv_poll_cq");
		if (wc.status == IBV_WC_SUCCESS || manner == BLIND)
			return;
		if (manner == RIGHT) {
			fprintf(stderr, "a completion says: %s\n", ibv_wc_status_str(wc.status));
			exit(1);
		}
	}
}

static struct rdma_cm_id *make(const char *port, const char *address)
{
	struct rdma_addrinfo hints = { .ai_port_space = RDMA_PS_TCP, .ai_flags = address ? 0 : RAI_PASSIVE }, *ai;
	struct ibv_qp_init_attr attr = {
		.cap = { .max_send_wr = 4, .max_recv_wr = 4, .max_send_sge = 1, .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC, .sq_sig_all = 1,
	};
	struct rdma_cm_id *id = NULL;

	if (rdma_getaddrinfo(address, port, &hints, &ai))
		fail("rdma_getaddrinfo");
	if (rdma_create_ep(&id, ai, NULL, &attr))
		fail("rdma_create_ep");
	rdma_freeaddrinfo(ai);
	return id;
}

static struct ibv_mr *reg(struct rdma_cm_id *id)
{
	struct ibv_mr *mr = ibv_reg_mr(id->pd, room, sizeof(room), IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ);

	if (!mr)
		fail("ibv_reg_mr");
	return mr;
}

static void post_recv(struct rdma_cm_id *id, uint64_t *to, struct ibv_mr *mr)
{
	if (rdma_post_recv(id, NULL, to, sizeof(*to), mr))
		fail("rdma_post_recv");
}

/* Until then the peer may miss an acknowledgement, and send again. */
static void await_end(struct rdma_cm_id *id)
{
	struct rdma_cm_event *e;
	enum rdma_cm_event_type type;

	do {
		if (rdma_get_cm_event(id->channel, &e))
			fail("rdma_get_cm_event");
		type = e->event;
		rdma_ack_cm_event(e);
	} while (type != RDMA_CM_EVENT_DISCONNECTED && type != RDMA_CM_EVENT_TIMEWAIT_EXIT);
}

/* The client's numbers come one by one, each answered; room[0] is their sum. */
static int serve(struct rdma_cm_id *listener)
{
	struct offer offer;
	struct rdma_conn_param param = { .private_data = &offer, .private_data_len = sizeof(offer), .responder_resources = 1,
					 .initiator_depth = 1, .rnr_retry_count = 7 };
	struct rdma_cm_id *id = NULL;
	struct ibv_mr *mr;

	if (rdma_listen(listener, 1) || rdma_get_request(listener, &id))
		fail("rdma_get_request");
	mr = reg(id);
	offer = (struct offer){ (uintptr_t)&room[0], mr->rkey };
	post_recv(id, &room[1], mr);
	if (rdma_accept(id, &param))
		fail("rdma_accept");
	for (unsigned i = 0; i < NUMBERS; i++) {
		complete(id->recv_cq);
		room[0] += room[1];
		if (i + 1 < NUMBERS)
			post_recv(id, &room[1], mr);
		else
			post_recv(id, &room[3], mr); /* the client has read the sum */
		if (rdma_post_send(id, NULL, &room[0], sizeof(room[0]), mr, 0))
			fail("rdma_post_send");
		complete(id->send_cq);
	}
	complete(id->recv_cq);
	await_end(id);
	printf("all of them have come\n");
	rdma_disconnect(id);
	return 0;
}

static int ask(struct rdma_cm_id *id)
{
	struct rdma_conn_param param = { .responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7 };
	struct ibv_mr *mr = reg(id);
	struct offer offer;

	post_recv(id, &room[1], mr);
	if (rdma_connect(id, &param))
		fail("rdma_connect");
	memcpy(&offer, id->event->param.conn.private_data, sizeof(offer));
	for (unsigned i = 0; i < NUMBERS; i++) {
		room[0] = 1000 + i;
		if (rdma_post_send(id, NULL, &room[0], sizeof(room[0]), mr, 0))
			fail("rdma_post_send");
		complete(id->send_cq);
		complete(id->recv_cq);
		if (i + 1 < NUMBERS)
			post_recv(id, &room[1], mr);
		if (rdma_post_read(id, NULL, &room[2], sizeof(room[2]), mr, 0, offer.address, offer.rkey))
			fail("rdma_post_read");
		complete(id->send_cq);
	}
	if (rdma_post_send(id, NULL, &room[0], sizeof(room[0]), mr, 0))
		fail("rdma_post_send");
	complete(id->send_cq);
	printf("the sum is %" PRIu64 "\n", room[2]);
	rdma_disconnect(id);
	return 0;
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "right", "blind", "stuck" };
	struct rdma_cm_id *id;

	if (argc < 3)
		return 2;
	for (int i = 0; i < 3; i++)
		if (!strcmp(argv[1], names[i]))
			manner = (enum manner)i;
	id = make(argv[2], argv[3]);
	return argv[3] ? ask(id) : serve(id);
}
