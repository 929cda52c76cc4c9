/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two ends of one rdma_cm connection that loads alternate paths, for migrate.sh. Each message carries its number, and the
 * server sends it back; both compare every octet.
 *
 *	path-ends serve PORT
 *	path-ends first ADDRESS PORT	the alternate path goes with the REQ
 *	path-ends later ADDRESS PORT	it is loaded by a LAP
 *	path-ends back ADDRESS PORT	it is loaded by a LAP of the server
 *	path-ends refused ADDRESS PORT	paths that cannot be loaded
 *
 * Lines on standard output: "armed SLID DLID" when both ends have the path in reserve, "migrated SLID DLID" when the
 * connection has changed to it. Afterwards a thousand messages more; then the client disconnects.
 */
#include <endian.h>
#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <rdma/rdma_cma.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SIZE 3000u
#define DEPTH 4
#define ACK_TIMEOUT 14 /* 67 ms: seven repetitions in half a second to two */
#define AFTER 1000u
#define WAIT_S 60

static const char *role;
static struct rdma_event_channel *ch;
static struct rdma_cm_id *id;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static uint8_t *memory; /* DEPTH receives, one send */
static bool migrated;

static void fail(const char *format, ...)
{
	int error = errno;
	va_list args;

	va_start(args, format);
	fprintf(stderr, "%s: ", role);
	vfprintf(stderr, format, args);
	fprintf(stderr, " (%s)\n", strerror(error));
	va_end(args);
	exit(1);
}

static void must(bool ok, const char *what)
{
	if (!ok)
		fail("%s", what);
}

static struct rdma_cm_event *take(enum rdma_cm_event_type want)
{
	struct pollfd p = { .fd = ch->fd, .events = POLLIN };
	struct rdma_cm_event *e;

	errno = 0;
	must(poll(&p, 1, WAIT_S * 1000) == 1, rdma_event_str(want));
	must(rdma_get_cm_event(ch, &e) == 0, "rdma_get_cm_event");
	if (e->event != want)
		fail("event %s, status %d, in place of %s", rdma_event_str(e->event), e->status, rdma_event_str(want));
	return e;
}

static int expect(enum rdma_cm_event_type want)
{
	struct rdma_cm_event *e = take(want);
	int status = e->status;

	rdma_ack_cm_event(e);
	return status;
}

static void post_receive(unsigned slot)
{
	struct ibv_sge sge = { (uintptr_t)(memory + slot * SIZE), SIZE, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = slot, .sg_list = &sge, .num_sge = 1 }, *bad;

	must(ibv_post_recv(id->qp, &wr, &bad) == 0, "ibv_post_recv");
}

static void make_qp(void)
{
	struct ibv_qp_init_attr a = { .qp_type = IBV_QPT_RC, .cap = { 4, DEPTH, 1, 1, 0 } };
	struct ibv_pd *pd = ibv_alloc_pd(id->verbs);

	memory = calloc(DEPTH + 1, SIZE);
	cq = ibv_create_cq(id->verbs, 4 * DEPTH, NULL, NULL, 0);
	must(pd && cq && memory, "ibv_create_cq");
	mr = ibv_reg_mr(pd, memory, (DEPTH + 1) * SIZE, IBV_ACCESS_LOCAL_WRITE);
	a.send_cq = a.recv_cq = cq;
	must(mr && rdma_create_qp(id, pd, &a) == 0, "rdma_create_qp");
	for (unsigned i = 0; i < DEPTH; i++)
		post_receive(i);
}

static struct ibv_qp_attr look(void)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr a;

	must(ibv_query_qp(id->qp, &a, IBV_QP_PATH_MIG_STATE | IBV_QP_AV | IBV_QP_ALT_PATH, &init) == 0, "ibv_query_qp");
	return a;
}

static unsigned own_lid(void)
{
	struct ibv_port_attr a;

	must(ibv_query_port(id->verbs, 1, &a) == 0, "ibv_query_port");
	return a.lid;
}

static void say(const char *word, const struct ibv_ah_attr *ah)
{
	printf("%s %u %u\n", word, own_lid() + ah->src_path_bits, ah->dlid);
	fflush(stdout);
}

static void hear(void)
{
	struct pollfd p = { .fd = id->verbs->async_fd, .events = POLLIN };
	struct ibv_async_event e;
	struct ibv_qp_attr a;

	while (poll(&p, 1, 0) == 1) {
		must(ibv_get_async_event(id->verbs, &e) == 0, "ibv_get_async_event");
		ibv_ack_async_event(&e);
		if (e.event_type == IBV_EVENT_PATH_MIG) {
			a = look();
			must(!migrated && a.path_mig_state == IBV_MIG_MIGRATED && !a.alt_port_num, "one migration to the alternate path");
			must(rdma_notify(id, IBV_EVENT_PATH_MIG) == 0, "rdma_notify of IBV_EVENT_PATH_MIG");
			migrated = true;
			say("migrated", &a.ah_attr);
		}
	}
}

static void fill(uint8_t *at, uint32_t n)
{
	for (unsigned i = 0; i < SIZE; i++)
		at[i] = (uint8_t)(n * 31 + i * 7 + (i >> 8));
	memcpy(at, &n, sizeof(n));
}

static void send_number(uint32_t n)
{
	uint8_t *at = memory + DEPTH * SIZE;
	struct ibv_sge sge = { (uintptr_t)at, SIZE, mr->lkey };
	struct ibv_send_wr wr = { .wr_id = DEPTH, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED }, *bad;

	fill(at, n);
	must(ibv_post_send(id->qp, &wr, &bad) == 0, "ibv_post_send");
}

static bool has_event(void)
{
	struct pollfd p = { .fd = ch->fd, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/* The next completion; returns its slot, or -1: the connection manager has an event, and nothing has completed. */
static int completion(bool events_too)
{
	time_t end = time(NULL) + WAIT_S;
	struct ibv_wc wc;

	for (;;) {
		int r = ibv_poll_cq(cq, 1, &wc);

		must(r >= 0, "ibv_poll_cq");
		if (r == 1 && wc.status != IBV_WC_SUCCESS)
			fail("completion of %llu: %s", (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status));
		if (r == 1)
			return (int)wc.wr_id;
		hear();
		if (events_too && has_event())
			return -1;
		must(time(NULL) < end, "a completion");
	}
}

/* Takes message `want`; a completed send is passed over. */
static bool receive(uint32_t want, bool events_too, bool *sent)
{
	static uint8_t good[SIZE];
	int slot;

	while ((slot = completion(events_too)) == DEPTH)
		*sent = true;
	if (slot < 0)
		return false;
	fill(good, want);
	must(memcmp(memory + (unsigned)slot * SIZE, good, SIZE) == 0, "the octets of a message");
	post_receive((unsigned)slot);
	return true;
}

static void await_sent(bool *sent)
{
	while (!*sent)
		if (completion(false) == DEPTH)
			*sent = true;
		else
			fail("a message out of turn");
}

static void ping(uint32_t n)
{
	bool sent = false;

	send_number(n);
	receive(n, false, &sent);
	await_sent(&sent);
}

/* --- paths --- */

/* The path of the other LIDs of both ports: their low bit selects the path. */
static struct ibv_path_data other_path(void)
{
	const struct ibv_sa_path_rec *now = id->route.path_rec;
	struct ibv_path_data d = { .flags = IBV_PATH_FLAG_ALTERNATE | IBV_PATH_FLAG_BIDIRECTIONAL };

	d.path.slid = now->slid ^ htobe16(1);
	d.path.dlid = now->dlid ^ htobe16(1);
	d.path.pkey = now->pkey;
	d.path.qosclass_sl = htobe16(now->sl);
	d.path.mtu = now->mtu;
	d.path.rate = now->rate;
	d.path.packetlifetime = now->packet_life_time;
	d.path.flowlabel_hoplimit = htobe32(now->hop_limit);
	return d;
}

static int give(const struct ibv_path_data *v, size_t n)
{
	return rdma_set_option(id, RDMA_OPTION_IB, RDMA_OPTION_IB_PATH, (void *)v, n * sizeof(*v));
}

static void load(void)
{
	struct ibv_path_data d = other_path();

	must(give(&d, 1) == 0, "rdma_set_option of an alternate path");
	must(expect(RDMA_CM_EVENT_ROUTE_RESOLVED) == 0, "the path is loaded");
}

static void refused(void)
{
	struct ibv_path_data d = other_path(), same = d;

	d.path.dlid = htobe16(0xbfff);
	must(give(&d, 1) == -1 && errno == EINVAL, "a LID of no port is refused");
	same.path.slid ^= htobe16(1);
	same.path.dlid ^= htobe16(1);
	must(give(&same, 1) == 0, "rdma_set_option of the path itself");
	must(expect(RDMA_CM_EVENT_ROUTE_ERROR) == 5, "the path of the connection is no alternate one (APR status 5)");
	same.flags = IBV_PATH_FLAG_GMP;
	must(give(&same, 1) == -1 && errno == EINVAL, "flags of no path");
	must(look().path_mig_state == IBV_MIG_MIGRATED, "nothing is loaded");
}

static void await_armed(uint32_t *n)
{
	struct ibv_qp_attr a;

	/* Each end hears of the other's state by its next packet. */
	for (time_t end = time(NULL) + WAIT_S; (a = look()).path_mig_state != IBV_MIG_ARMED;) {
		must(time(NULL) < end && a.path_mig_state == IBV_MIG_REARM, "the state ARMED");
		ping((*n)++);
	}
	ping((*n)++);
	say("armed", &a.alt_ah_attr);
}

/* --- the ends --- */

static void resolve(const char *address, const char *port)
{
	struct addrinfo hint = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *ai;

	must(getaddrinfo(address, port, &hint, &ai) == 0, "getaddrinfo");
	must(rdma_resolve_addr(id, NULL, ai->ai_addr, WAIT_S * 1000) == 0, "rdma_resolve_addr");
	expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	must(rdma_resolve_route(id, WAIT_S * 1000) == 0, "rdma_resolve_route");
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	freeaddrinfo(ai);
}

/* A second identifier is given both paths before it connects. */
static void with_both_paths(const char *address, const char *port)
{
	struct addrinfo hint = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM }, *ai;
	struct ibv_path_data v[2] = { other_path(), other_path() };
	struct rdma_cm_id *old = id;

	v[0].flags = IBV_PATH_FLAG_GMP | IBV_PATH_FLAG_PRIMARY | IBV_PATH_FLAG_BIDIRECTIONAL;
	v[0].path.slid ^= htobe16(1);
	v[0].path.dlid ^= htobe16(1);
	must(getaddrinfo(address, port, &hint, &ai) == 0, "getaddrinfo");
	must(rdma_create_id(ch, &id, NULL, RDMA_PS_TCP) == 0, "rdma_create_id");
	must(rdma_resolve_addr(id, NULL, ai->ai_addr, WAIT_S * 1000) == 0, "rdma_resolve_addr");
	expect(RDMA_CM_EVENT_ADDR_RESOLVED);
	must(give(v, 2) == 0, "rdma_set_option of two paths");
	expect(RDMA_CM_EVENT_ROUTE_RESOLVED);
	freeaddrinfo(ai);
	rdma_destroy_id(old);
}

static int client(const char *address, const char *port)
{
	struct rdma_conn_param p = { .retry_count = 7, .rnr_retry_count = 7, .private_data = role, .private_data_len = 8 };
	uint8_t timeout = ACK_TIMEOUT;
	uint32_t n = 0, end;

	must(rdma_create_id(ch, &id, NULL, RDMA_PS_TCP) == 0, "rdma_create_id");
	resolve(address, port);
	if (strcmp(role, "first") == 0)
		with_both_paths(address, port);
	must(rdma_set_option(id, RDMA_OPTION_ID, RDMA_OPTION_ID_ACK_TIMEOUT, &timeout, 1) == 0, "the ACK timeout");
	make_qp();
	must(rdma_connect(id, &p) == 0, "rdma_connect");
	expect(RDMA_CM_EVENT_ESTABLISHED);
	ping(n++);
	if (strcmp(role, "refused") == 0) {
		refused();
	} else {
		if (strcmp(role, "later") == 0)
			load();
		while (strcmp(role, "back") == 0 && look().path_mig_state == IBV_MIG_MIGRATED && n < 1000000)
			ping(n++);
		await_armed(&n);
		for (time_t t = time(NULL) + WAIT_S; !migrated; must(time(NULL) < t, "a migration"))
			ping(n++);
	}
	for (end = n + AFTER; n < end;)
		ping(n++);
	must(rdma_disconnect(id) == 0, "rdma_disconnect");
	expect(RDMA_CM_EVENT_DISCONNECTED);
	printf("%u messages\n", n);
	return 0;
}

static void serve_messages(bool loads)
{
	bool sent = true, loading = false;
	uint32_t n = 0;

	for (;;) {
		if (receive(n, true, &sent)) {
			await_sent(&sent);
			sent = false;
			send_number(n++);
		} else if (loading) {
			must(expect(RDMA_CM_EVENT_ROUTE_RESOLVED) == 0, "the path is loaded");
			loading = false;
		} else {
			expect(RDMA_CM_EVENT_DISCONNECTED);
			break;
		}
		if (loads && n == 10) {
			struct ibv_path_data d = other_path();

			must(give(&d, 1) == 0, "rdma_set_option of an alternate path");
			loading = true;
			loads = false;
		}
	}
	rdma_disconnect(id);
	printf("%u messages\n", n);
}

static int server(const char *port)
{
	struct sockaddr_in any = { .sin_family = AF_INET, .sin_port = htobe16((uint16_t)atoi(port)) };
	struct rdma_conn_param p = { .retry_count = 7, .rnr_retry_count = 7 };
	struct rdma_cm_id *listener;
	struct rdma_cm_event *e;
	bool loads;

	must(rdma_create_id(ch, &listener, NULL, RDMA_PS_TCP) == 0, "rdma_create_id");
	must(rdma_bind_addr(listener, (struct sockaddr *)&any) == 0 && rdma_listen(listener, 1) == 0, "rdma_listen");
	e = take(RDMA_CM_EVENT_CONNECT_REQUEST);
	id = e->id;
	loads = memcmp(e->param.conn.private_data, "back", 4) == 0;
	rdma_ack_cm_event(e);
	make_qp();
	must(rdma_accept(id, &p) == 0, "rdma_accept");
	expect(RDMA_CM_EVENT_ESTABLISHED);
	serve_messages(loads);
	return 0;
}

int main(int argc, char **argv)
{
	static char words[16];

	must(argc >= 3 && strlen(argv[1]) < sizeof(words), "usage");
	strcpy(words, argv[1]);
	role = words;
	ch = rdma_create_event_channel();
	must(ch, "rdma_create_event_channel");
	return argc == 3 ? server(argv[2]) : client(argv[2], argv[3]);
}
