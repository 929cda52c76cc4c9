/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two ends of a soak over RC, by public calls alone: messages of random lengths, all bytes of which the receiver checks, over a
 * connection that is made anew whenever it ends.
 *
 *	soak_ends serve ADDRESS PORT                 until a message says that it was the last
 *	soak_ends send ADDRESS PORT SECONDS MESSAGES SEED
 *
 * A message is its number, its length and bytes that follow from both. Numbers go up: after a connection that has ended they go
 * on with the first that was not acknowledged, so a receiver may see some again, and none is left out.
 */
#include <endian.h>
#include <errno.h>
#include <inttypes.h>
#include <rdma/rdma_verbs.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MOST 4096u
#define WINDOW 32u
#define LAST (1ull << 63)

struct head {
	uint64_t number, len;
};

static uint8_t memory[2 * WINDOW][MOST];
static uint64_t expected, connections, again;

static void die(const char *what)
{
	printf("FAULT: %s (%s)\n", what, strerror(errno));
	exit(1);
}

static uint8_t byte_of(uint64_t number, uint64_t at)
{
	uint64_t x = (number * 0x9e3779b97f4a7c15u) ^ (at * 0xbf58476d1ce4e5b9u);

	return (uint8_t)(x >> 56 ^ x >> 24);
}

static void fill(uint8_t *m, uint64_t number, uint64_t len)
{
	struct head h = { number, len };

	memcpy(m, &h, sizeof(h));
	for (uint64_t i = sizeof(h); i < len; i++)
		m[i] = byte_of(number, i);
}

/* Returns true after the last message. */
static bool check(const uint8_t *m, uint32_t got)
{
	struct head h;

	memcpy(&h, m, sizeof(h));
	if (h.len != got || (h.number & ~LAST) > expected)
		die("a message has another length, or one is left out");
	for (uint64_t i = sizeof(h); i < h.len; i++)
		if (m[i] != byte_of(h.number, i))
			die("a byte is another one");
	again += (h.number & ~LAST) < expected;
	expected = (h.number & ~LAST) + 1;
	return h.number & LAST;
}

static struct rdma_cm_id *endpoint(const char *address, const char *port, bool passive)
{
	struct rdma_addrinfo hints = { .ai_flags = passive ? RAI_PASSIVE : 0, .ai_port_space = RDMA_PS_TCP }, *info;
	struct ibv_qp_init_attr init = { .cap = { WINDOW, WINDOW, 1, 1, 0 }, .qp_type = IBV_QPT_RC, .sq_sig_all = 1 };
	struct rdma_cm_id *id;
	int r;

	if (rdma_getaddrinfo(address, port, &hints, &info))
		die("rdma_getaddrinfo");
	r = rdma_create_ep(&id, info, NULL, &init);
	rdma_freeaddrinfo(info);
	return r ? NULL : id;
}

/* --- receives --- */

static bool serve_one(struct rdma_cm_id *id)
{
	struct ibv_mr *mr = rdma_reg_msgs(id, memory, sizeof(memory));
	struct rdma_conn_param p = { .responder_resources = 1, .initiator_depth = 1, .rnr_retry_count = 7 };
	bool is_last = false;
	struct ibv_wc wc;

	if (!mr)
		die("rdma_reg_msgs");
	for (uint64_t i = 0; i < WINDOW; i++)
		if (rdma_post_recv(id, (void *)i, memory[i], MOST, mr))
			die("rdma_post_recv");
	if (rdma_accept(id, &p) == 0)
		while (!is_last && rdma_get_recv_comp(id, &wc) == 1 && wc.status == IBV_WC_SUCCESS) {
			is_last = check(memory[wc.wr_id], wc.byte_len);
			if (rdma_post_recv(id, (void *)wc.wr_id, memory[wc.wr_id], MOST, mr))
				break;
		}
	connections++;
	rdma_disconnect(id);
	rdma_dereg_mr(mr);
	rdma_destroy_ep(id);
	return is_last;
}

static int serve(char **words)
{
	struct rdma_cm_id *listener = endpoint(words[0], words[1], true), *id;

	if (!listener || rdma_listen(listener, 8))
		die("rdma_listen");
	puts("listens");
	fflush(stdout);
	do
		if (rdma_get_request(listener, &id))
			die("rdma_get_request");
	while (!serve_one(id));
	printf("received %" PRIu64 " messages over %" PRIu64 " connections, %" PRIu64 " of them again\n", expected, connections, again);
	rdma_destroy_ep(listener);
	return 0;
}

/* --- sends --- */

static uint64_t seed, most, acked;
static time_t until;

static uint64_t random_length(uint64_t number)
{
	uint64_t x = (number ^ seed) * 0x9e3779b97f4a7c15u;

	x ^= x >> 29;
	return sizeof(struct head) + x % (MOST - sizeof(struct head) + 1);
}

static bool is_last(uint64_t number)
{
	return number + 1 >= most || time(NULL) >= until;
}

/* Sends from the first message that has no acknowledgement on. Returns true after the last one. */
static bool send_over(struct rdma_cm_id *id, struct ibv_mr *mr)
{
	uint64_t next = acked, last = UINT64_MAX;
	struct ibv_wc wc;

	for (;;) {
		while (next - acked < WINDOW && last == UINT64_MAX) {
			uint64_t len = random_length(next);

			if (is_last(next))
				last = next;
			fill(memory[WINDOW + next % WINDOW], next | (last == next ? LAST : 0), len);
			if (rdma_post_send(id, NULL, memory[WINDOW + next % WINDOW], len, mr, 0))
				return false;
			next++;
		}
		if (rdma_get_send_comp(id, &wc) != 1 || wc.status != IBV_WC_SUCCESS)
			return false;
		if (acked++ == last)
			return true;
	}
}

static bool send_once(char **words)
{
	struct rdma_conn_param p = { .responder_resources = 1, .initiator_depth = 1, .retry_count = 7, .rnr_retry_count = 7 };
	struct rdma_cm_id *id = endpoint(words[0], words[1], false);
	struct ibv_mr *mr = id ? rdma_reg_msgs(id, memory, sizeof(memory)) : NULL;
	bool is_over = false;

	if (!id)
		return false;
	if (!mr)
		die("rdma_reg_msgs");
	if (rdma_connect(id, &p) == 0) {
		connections++;
		is_over = send_over(id, mr);
	}
	rdma_disconnect(id);
	rdma_dereg_mr(mr);
	rdma_destroy_ep(id);
	return is_over;
}

static int send_all(char **words)
{
	struct timespec pause = { .tv_nsec = 50000000 };

	until = time(NULL) + atol(words[2]);
	most = strtoull(words[3], NULL, 10);
	seed = strtoull(words[4], NULL, 10);
	/* A link that is down refuses the route for as long as it is. */
	for (unsigned refused = 0; !send_once(words); refused++) {
		if (refused == 2400)
			die("no connection is made");
		nanosleep(&pause, NULL);
	}
	printf("sent %" PRIu64 " messages over %" PRIu64 " connections, seed %" PRIu64 "\n", acked, connections, seed);
	return 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "serve"))
		return serve(argv + 2);
	if (argc == 7 && !strcmp(argv[1], "send"))
		return send_all(argv + 2);
	fputs("usage: soak_ends serve ADDRESS PORT | send ADDRESS PORT SECONDS MESSAGES SEED\n", stderr);
	return 2;
}
