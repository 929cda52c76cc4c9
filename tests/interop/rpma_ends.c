/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two processes on librpma, with what its examples show, and every octet checked: Read, Write and Flush of both
 * types, an atomic Write, Write with immediate, messages with one and two completion queues, a shared receive
 * queue for several connections, a refused connection, and an access without a right.
 *
 * usage: rpma_ends ADDRESS CASE
 *
 * The parent listens; the child connects.
 */
#include <arpa/inet.h>
#include <librpma.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { AREA = 1 << 20, MESSAGE = 512, ROUNDS = 500, SHARERS = 3, NUMBER = 0x12345678, PORTS = 200, LIMIT_S = 100 };

#define MUST(call)                                                                                        \
	do {                                                                                              \
		int must_ret = (call);                                                                    \
		if (must_ret)                                                                             \
			end("%s: %s", #call, rpma_err_2str(must_ret));                                    \
	} while (0)

#define NEED(cond)                                                                                        \
	do {                                                                                              \
		if (!(cond))                                                                              \
			end("line %d: %s", __LINE__, #cond);                                              \
	} while (0)

#define end(...) (printf("%s: ", role), printf(__VA_ARGS__), putchar('\n'), fflush(stdout), _exit(1))

/* Private data of a server: its memory, and whether Writes to it are persistent. */
struct offer {
	uint8_t mr_size, cfg_size;
	char mr[32], cfg[8];
};

static const char *role = "server", *address;
static char port[8];
static struct rpma_peer *peer;
static struct rpma_ep *ep;
static uint8_t *area;
static struct rpma_mr_local *mr;

static uint8_t pattern(size_t i, int seed)
{
	return (uint8_t)(i * 37 + (size_t)seed * 11 + (i >> 8));
}

static void fill(uint8_t *p, size_t n, int seed)
{
	for (size_t i = 0; i < n; i++)
		p[i] = pattern(i, seed);
}

static void check(const uint8_t *p, size_t n, int seed, const char *what)
{
	for (size_t i = 0; i < n; i++)
		if (p[i] != pattern(i, seed))
			end("%s: corrupt octet %zu of %zu", what, i, n);
}

static struct ibv_wc next_wc(struct rpma_cq *cq)
{
	struct ibv_wc wc;
	int ret;

	while ((ret = rpma_cq_get_wc(cq, 1, &wc, NULL)) == RPMA_E_NO_COMPLETION)
		MUST(rpma_cq_wait(cq));
	MUST(ret);
	return wc;
}

static void good(struct rpma_cq *cq, enum ibv_wc_opcode opcode)
{
	struct ibv_wc wc = next_wc(cq);

	if (wc.status != IBV_WC_SUCCESS || wc.opcode != opcode)
		end("completion: status %d, opcode %d instead of %d", wc.status, wc.opcode, opcode);
}

static void event(struct rpma_conn *conn, enum rpma_conn_event want)
{
	enum rpma_conn_event got;

	MUST(rpma_conn_next_event(conn, &got));
	if (got != want)
		end("%s instead of %s", rpma_utils_conn_event_2str(got), rpma_utils_conn_event_2str(want));
}

static struct rpma_conn *serve(const struct rpma_conn_cfg *cfg, int receives, const struct offer *offer)
{
	struct rpma_conn_private_data data = { (void *)(uintptr_t)offer, sizeof(*offer) };
	struct rpma_conn_req *req;
	struct rpma_conn *conn;

	MUST(rpma_ep_next_conn_req(ep, cfg, &req));
	for (int i = 0; i < receives; i++)
		MUST(rpma_conn_req_recv(req, mr, (size_t)i * MESSAGE, MESSAGE, (void *)(uintptr_t)(i + 1)));
	MUST(rpma_conn_req_connect(&req, offer ? &data : NULL, &conn));
	event(conn, RPMA_CONN_ESTABLISHED);
	return conn;
}

static struct rpma_conn *join(const struct rpma_conn_cfg *cfg, int receives)
{
	struct rpma_conn_req *req;
	struct rpma_conn *conn;

	MUST(rpma_conn_req_new(peer, address, port, cfg, &req));
	for (int i = 0; i < receives; i++)
		MUST(rpma_conn_req_recv(req, mr, (size_t)i * MESSAGE, MESSAGE, (void *)(uintptr_t)(i + 1)));
	MUST(rpma_conn_req_connect(&req, NULL, &conn));
	event(conn, RPMA_CONN_ESTABLISHED);
	return conn;
}

/* The side that ends, and the one that hears it. */
static void leave(struct rpma_conn *conn)
{
	MUST(rpma_conn_disconnect(conn));
	event(conn, RPMA_CONN_CLOSED);
	MUST(rpma_conn_delete(&conn));
}

static void follow(struct rpma_conn *conn)
{
	event(conn, RPMA_CONN_CLOSED);
	MUST(rpma_conn_disconnect(conn));
	MUST(rpma_conn_delete(&conn));
}

static struct offer make_offer(void)
{
	struct rpma_peer_cfg *cfg;
	struct offer offer = { 0 };
	size_t size;

	MUST(rpma_mr_get_descriptor_size(mr, &size));
	NEED(size <= sizeof(offer.mr));
	offer.mr_size = (uint8_t)size;
	MUST(rpma_mr_get_descriptor(mr, offer.mr));
	MUST(rpma_peer_cfg_new(&cfg));
	MUST(rpma_peer_cfg_set_direct_write_to_pmem(cfg, true));
	MUST(rpma_peer_cfg_get_descriptor_size(cfg, &size));
	NEED(size <= sizeof(offer.cfg));
	offer.cfg_size = (uint8_t)size;
	MUST(rpma_peer_cfg_get_descriptor(cfg, offer.cfg));
	MUST(rpma_peer_cfg_delete(&cfg));
	return offer;
}

static struct rpma_mr_remote *take_offer(struct rpma_conn *conn)
{
	struct rpma_conn_private_data data;
	struct rpma_mr_remote *remote;
	struct rpma_peer_cfg *cfg;
	struct offer offer;
	size_t size;

	MUST(rpma_conn_get_private_data(conn, &data));
	NEED(data.ptr && data.len >= sizeof(offer));
	memcpy(&offer, data.ptr, sizeof(offer));
	MUST(rpma_mr_remote_from_descriptor(offer.mr, offer.mr_size, &remote));
	MUST(rpma_mr_remote_get_size(remote, &size));
	NEED(size == AREA);
	MUST(rpma_peer_cfg_from_descriptor(offer.cfg, offer.cfg_size, &cfg));
	MUST(rpma_conn_apply_remote_peer_cfg(conn, cfg));
	MUST(rpma_peer_cfg_delete(&cfg));
	return remote;
}

/* Read, Write, Flush, atomic Write, each with a completion, and the word that all is there. */
static void memory_server(void)
{
	struct offer offer = make_offer();
	struct rpma_conn *conn;
	uint64_t word;

	fill(area, AREA, 1);
	conn = serve(NULL, 0, &offer);
	event(conn, RPMA_CONN_CLOSED);
	check(area, AREA / 2, 2, "Write");
	memcpy(&word, area + AREA / 2, sizeof(word));
	NEED(word == 0x0102030405060708);
	for (size_t i = AREA / 2 + sizeof(word); i < AREA; i++)
		NEED(area[i] == pattern(i, 1));
	MUST(rpma_conn_disconnect(conn));
	MUST(rpma_conn_delete(&conn));
}

static void memory_client(void)
{
	struct rpma_conn *conn = join(NULL, 0);
	struct rpma_mr_remote *remote = take_offer(conn);
	uint64_t word = 0x0102030405060708;
	struct rpma_cq *cq;
	char octets[8];

	MUST(rpma_conn_get_cq(conn, &cq));
	MUST(rpma_read(conn, mr, 0, remote, 0, AREA, RPMA_F_COMPLETION_ALWAYS, NULL));
	good(cq, IBV_WC_RDMA_READ);
	check(area, AREA, 1, "Read");
	fill(area, AREA, 2);
	MUST(rpma_write(conn, remote, 0, mr, 0, AREA / 2, RPMA_F_COMPLETION_ON_ERROR, NULL));
	MUST(rpma_flush(conn, remote, 0, AREA / 2, RPMA_FLUSH_TYPE_PERSISTENT, RPMA_F_COMPLETION_ALWAYS, NULL));
	NEED(next_wc(cq).status == IBV_WC_SUCCESS);
	memcpy(octets, &word, sizeof(octets));
	MUST(rpma_atomic_write(conn, remote, AREA / 2, octets, RPMA_F_COMPLETION_ON_ERROR, NULL));
	MUST(rpma_flush(conn, remote, AREA / 2, sizeof(word), RPMA_FLUSH_TYPE_VISIBILITY, RPMA_F_COMPLETION_ALWAYS, NULL));
	NEED(next_wc(cq).status == IBV_WC_SUCCESS);
	MUST(rpma_mr_remote_delete(&remote));
	leave(conn);
}

/* Messages with a number, and Writes with one, between two queues of each end. */
static struct rpma_conn_cfg *two_queues(void)
{
	struct rpma_conn_cfg *cfg;

	MUST(rpma_conn_cfg_new(&cfg));
	MUST(rpma_conn_cfg_set_rcq_size(cfg, 16));
	return cfg;
}

static void numbers_server(void)
{
	struct rpma_conn_cfg *cfg = two_queues();
	struct offer offer = make_offer();
	struct rpma_conn *conn = serve(cfg, 2, &offer);
	struct rpma_cq *rcq;
	struct ibv_wc wc;

	MUST(rpma_conn_cfg_delete(&cfg));
	MUST(rpma_conn_get_rcq(conn, &rcq));
	NEED(rcq);
	wc = next_wc(rcq);
	NEED(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV && wc.wc_flags & IBV_WC_WITH_IMM);
	NEED(ntohl(wc.imm_data) == NUMBER && wc.byte_len == MESSAGE);
	check(area, MESSAGE, 3, "Send with a number");
	wc = next_wc(rcq);
	NEED(wc.status == IBV_WC_SUCCESS && wc.opcode == IBV_WC_RECV_RDMA_WITH_IMM && wc.wc_flags & IBV_WC_WITH_IMM);
	NEED(ntohl(wc.imm_data) == NUMBER + 1);
	check(area + AREA / 2, AREA / 4, 3, "Write with a number");
	follow(conn);
}

static void numbers_client(void)
{
	struct rpma_conn_cfg *cfg = two_queues();
	struct rpma_conn *conn = join(cfg, 0);
	struct rpma_mr_remote *remote = take_offer(conn);
	struct rpma_cq *cq;

	MUST(rpma_conn_cfg_delete(&cfg));
	MUST(rpma_conn_get_cq(conn, &cq));
	fill(area, AREA, 3);
	MUST(rpma_send_with_imm(conn, mr, 0, MESSAGE, RPMA_F_COMPLETION_ALWAYS, NUMBER, NULL));
	good(cq, IBV_WC_SEND);
	MUST(rpma_write_with_imm(conn, remote, AREA / 2, mr, 0, AREA / 4, RPMA_F_COMPLETION_ALWAYS, NUMBER + 1, NULL));
	good(cq, IBV_WC_RDMA_WRITE);
	MUST(rpma_mr_remote_delete(&remote));
	leave(conn);
}

/* Ping-pong: a receive is posted before the message that asks for the answer. */
static void messages_server(void)
{
	struct rpma_conn *conn = serve(NULL, 1, NULL);
	struct rpma_cq *cq;

	MUST(rpma_conn_get_cq(conn, &cq));
	for (int i = 0; i < ROUNDS; i++) {
		good(cq, IBV_WC_RECV);
		check(area, MESSAGE, i, "message");
		fill(area + MESSAGE, MESSAGE, i + 1);
		MUST(rpma_recv(conn, mr, 0, MESSAGE, NULL));
		MUST(rpma_send(conn, mr, MESSAGE, MESSAGE, RPMA_F_COMPLETION_ALWAYS, NULL));
		good(cq, IBV_WC_SEND);
	}
	follow(conn);
}

static void messages_client(void)
{
	struct rpma_conn_cfg *cfg = two_queues();
	struct rpma_conn *conn;
	struct rpma_cq *got;
	bool is_rcq;

	MUST(rpma_conn_cfg_set_compl_channel(cfg, true));
	conn = join(cfg, 0);
	MUST(rpma_conn_cfg_delete(&cfg));
	for (int i = 0; i < ROUNDS; i++) {
		int seen = 0;

		fill(area, MESSAGE, i);
		MUST(rpma_recv(conn, mr, MESSAGE, MESSAGE, NULL));
		MUST(rpma_send(conn, mr, 0, MESSAGE, RPMA_F_COMPLETION_ALWAYS, NULL));
		while (seen != 3) {
			struct ibv_wc wc;

			MUST(rpma_conn_wait(conn, 0, &got, &is_rcq));
			while (!rpma_cq_get_wc(got, 1, &wc, NULL)) {
				NEED(wc.status == IBV_WC_SUCCESS && wc.opcode == (is_rcq ? IBV_WC_RECV : IBV_WC_SEND));
				seen |= is_rcq ? 1 : 2;
			}
		}
		check(area + MESSAGE, MESSAGE, i + 1, "answer");
	}
	leave(conn);
}

/* Several connections with one receive queue. */
static void shared_server(void)
{
	struct rpma_conn *conns[SHARERS];
	struct rpma_srq_cfg *srq_cfg;
	struct rpma_conn_cfg *cfg;
	struct rpma_srq *srq;
	struct rpma_cq *rcq;
	int seen = 0;

	MUST(rpma_srq_cfg_new(&srq_cfg));
	MUST(rpma_srq_cfg_set_rq_size(srq_cfg, 16));
	MUST(rpma_srq_cfg_set_rcq_size(srq_cfg, 16));
	MUST(rpma_srq_new(peer, srq_cfg, &srq));
	MUST(rpma_srq_cfg_delete(&srq_cfg));
	for (int i = 0; i < SHARERS; i++)
		MUST(rpma_srq_recv(srq, mr, (size_t)i * MESSAGE, MESSAGE, (void *)(uintptr_t)i));
	MUST(rpma_srq_get_rcq(srq, &rcq));
	MUST(rpma_conn_cfg_new(&cfg));
	MUST(rpma_conn_cfg_set_srq(cfg, srq));
	for (int i = 0; i < SHARERS; i++)
		conns[i] = serve(cfg, 0, NULL);
	MUST(rpma_conn_cfg_delete(&cfg));
	for (int i = 0; i < SHARERS; i++) {
		struct ibv_wc wc = next_wc(rcq);
		uint8_t *message = area + wc.wr_id * MESSAGE;

		NEED(wc.status == IBV_WC_SUCCESS && wc.byte_len == MESSAGE && message[0] < SHARERS);
		NEED(!(seen & 1 << message[0]));
		seen |= 1 << message[0];
		check(message + 1, MESSAGE - 1, message[0], "message for the shared queue");
	}
	for (int i = 0; i < SHARERS; i++)
		follow(conns[i]);
	MUST(rpma_srq_delete(&srq));
}

static void shared_client(void)
{
	struct rpma_conn *conns[SHARERS];
	struct rpma_cq *cq;

	for (int i = 0; i < SHARERS; i++)
		conns[i] = join(NULL, 0);
	for (int i = SHARERS - 1; i >= 0; i--) {
		area[0] = (uint8_t)i;
		fill(area + 1, MESSAGE - 1, i);
		MUST(rpma_conn_get_cq(conns[i], &cq));
		MUST(rpma_send(conns[i], mr, 0, MESSAGE, RPMA_F_COMPLETION_ALWAYS, NULL));
		good(cq, IBV_WC_SEND);
	}
	for (int i = 0; i < SHARERS; i++)
		leave(conns[i]);
}

/* Memory that may be read and not be written. The Write must end with a status, and no octet may change. */
static void refused_server(void)
{
	enum rpma_conn_event got;
	struct rpma_conn *conn;
	struct offer offer;

	MUST(rpma_mr_dereg(&mr));
	MUST(rpma_mr_reg(peer, area, AREA, RPMA_MR_USAGE_READ_SRC, &mr));
	offer = make_offer();
	fill(area, AREA, 5);
	conn = serve(NULL, 0, &offer);
	MUST(rpma_conn_next_event(conn, &got));
	NEED(got == RPMA_CONN_CLOSED || got == RPMA_CONN_LOST);
	check(area, AREA, 5, "memory without a right");
	MUST(rpma_conn_disconnect(conn));
	MUST(rpma_conn_delete(&conn));
}

static void refused_client(void)
{
	struct rpma_conn *conn = join(NULL, 0);
	struct rpma_mr_remote *remote = take_offer(conn);
	enum rpma_conn_event got;
	struct rpma_conn_req *req;
	struct rpma_cq *cq;
	struct ibv_wc wc;

	MUST(rpma_conn_get_cq(conn, &cq));
	fill(area, AREA, 6);
	MUST(rpma_write(conn, remote, 0, mr, 0, MESSAGE, RPMA_F_COMPLETION_ALWAYS, NULL));
	MUST(rpma_read(conn, mr, 0, remote, 0, MESSAGE, RPMA_F_COMPLETION_ALWAYS, NULL));
	do
		wc = next_wc(cq);
	while (wc.status == IBV_WC_SUCCESS);
	NEED(wc.status == IBV_WC_REM_ACCESS_ERR || wc.status == IBV_WC_WR_FLUSH_ERR);
	MUST(rpma_mr_remote_delete(&remote));
	MUST(rpma_conn_disconnect(conn));
	MUST(rpma_conn_next_event(conn, &got));
	NEED(got == RPMA_CONN_CLOSED || got == RPMA_CONN_LOST);
	MUST(rpma_conn_delete(&conn));
	/* The server listens no more once it has heard of that; port 1 has no listener. */
	MUST(rpma_conn_req_new(peer, address, "1", NULL, &req));
	MUST(rpma_conn_req_connect(&req, NULL, &conn));
	event(conn, RPMA_CONN_REJECTED);
	MUST(rpma_conn_delete(&conn));
}

static const struct {
	const char *name;
	void (*server)(void), (*client)(void);
} cases[] = {
	{ "memory", memory_server, memory_client },	{ "numbers", numbers_server, numbers_client },
	{ "messages", messages_server, messages_client }, { "shared", shared_server, shared_client },
	{ "refused", refused_server, refused_client },
};

static void open_peer(enum rpma_util_ibv_context_type type)
{
	struct ibv_context *verbs;
	int odp;

	MUST(rpma_utils_get_ibv_context(address, type, &verbs));
	MUST(rpma_utils_ibv_context_is_odp_capable(verbs, &odp));
	MUST(rpma_peer_new(verbs, &peer));
	area = aligned_alloc(4096, AREA);
	NEED(area);
	memset(area, 0, AREA);
	MUST(rpma_mr_reg(peer, area, AREA, RPMA_MR_USAGE_READ_SRC | RPMA_MR_USAGE_READ_DST | RPMA_MR_USAGE_WRITE_SRC |
			 RPMA_MR_USAGE_WRITE_DST | RPMA_MR_USAGE_FLUSH_TYPE_VISIBILITY |
			 RPMA_MR_USAGE_FLUSH_TYPE_PERSISTENT | RPMA_MR_USAGE_SEND | RPMA_MR_USAGE_RECV, &mr));
	if (odp)
		MUST(rpma_mr_advise(mr, 0, AREA, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, IBV_ADVISE_MR_FLAG_FLUSH));
}

static void close_peer(void)
{
	MUST(rpma_mr_dereg(&mr));
	MUST(rpma_peer_delete(&peer));
	free(area);
}

/* A port that is free now; librpma cannot tell which one it got for 0. */
static void listen_somewhere(void)
{
	int ret = RPMA_E_PROVIDER;

	for (int i = 0; i < PORTS && ret; i++) {
		snprintf(port, sizeof(port), "%d", 10000 + (getpid() + i) % 20000);
		ret = rpma_ep_listen(peer, address, port, &ep);
	}
	MUST(ret);
}

int main(int argc, char **argv)
{
	unsigned nr = 0;
	int ready[2], status;
	pid_t child;

	while (argc == 3 && nr < sizeof(cases) / sizeof(cases[0]) && strcmp(cases[nr].name, argv[2]))
		nr++;
	if (argc != 3 || nr == sizeof(cases) / sizeof(cases[0])) {
		fprintf(stderr, "usage: rpma_ends ADDRESS memory|numbers|messages|shared|refused\n");
		return 2;
	}
	address = argv[1];
	NEED(!pipe(ready));
	child = fork();
	NEED(child >= 0);
	alarm(LIMIT_S);
	if (child == 0) {
		role = "client";
		close(ready[1]);
		NEED(read(ready[0], port, sizeof(port)) == sizeof(port));
		open_peer(RPMA_UTIL_IBV_CONTEXT_REMOTE);
		cases[nr].client();
		close_peer();
		return 0;
	}
	open_peer(RPMA_UTIL_IBV_CONTEXT_LOCAL);
	listen_somewhere();
	NEED(write(ready[1], port, sizeof(port)) == sizeof(port));
	cases[nr].server();
	MUST(rpma_ep_shutdown(&ep));
	close_peer();
	NEED(waitpid(child, &status, 0) == child);
	NEED(status == 0);
	printf("%s: ok\n", argv[2]);
	return 0;
}
