/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * REQs by the thousand from addresses that never asked (RoCE): the server's
 * memory stays within its ceilings, another listener of the same process serves
 * its clients meanwhile, and the flooded one its own as soon as the flood is over.
 *
 *	127.1.x.y	the forged senders of the REQs
 *	127.0.0.1	the server:  `busy` is flooded, `quiet` is another port
 *	127.0.0.2	honest clients
 */
#include "../conform/cm.h"
#include "cm/ibcm/msg.h"
#include "cm/ibcm/bind.h"

#include "cm/ibcm/ep.h"
#include "wire/ib_packet.h"
#include "wire/icrc.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define ADDRESSES 200
#define REQUESTS 20000 /* at least */
#define BACKLOG 1024
#define CLIENTS 20
#ifdef __SANITIZE_ADDRESS__
#define MALLOC_KEEPS (288u << 20) /* its quarantine, and red zones */
#else
#define MALLOC_KEEPS (16u << 20)
#endif
#define MEMORY_MAX ((32u << 20) + MALLOC_KEEPS) /* and 1,024 requests of a backlog */
#define UD_SEND_ONLY 0x64
#define MTU_1024 3

static struct page {
	atomic_int busy, quiet, stop; /* ports; 1 */
	atomic_uint requests, served, failed;
	atomic_bool answers;          /* the flooded listener's program does */
	atomic_ulong before, after;   /* bytes resident */
} *page;

static uint16_t port; /* UDP */

/* The library reads the environment when it opens its first link. */
__attribute__((constructor)) static void choose_port(void)
{
	char text[8];

	port = (uint16_t)(20000 + getpid() % 20000);
	snprintf(text, sizeof(text), "%u", port);
	setenv("DAPPLE_PORT", text, 1);
	setenv("DAPPLE_ADAPTER", "roce", 1);
}

/* --- the server --- */

static void one_event(struct rdma_event_channel *ch, bool answer)
{
	struct rdma_conn_param p = { .rnr_retry_count = 7 };
	struct rdma_cm_event *e;
	struct rdma_cm_id *id = NULL;

	CF_OK(rdma_get_cm_event(ch, &e));
	switch (e->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		page->requests++;
		if (answer) {
			cm_qp(e->id);
			CF_OK(rdma_accept(e->id, &p));
		}
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		page->served++;
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		break;
	default: /* whose REQ was a lie */
		page->failed++;
		id = e->id;
	}
	CF_OK(rdma_ack_cm_event(e));
	if (id) {
		rdma_destroy_qp(id);
		CF_OK(rdma_destroy_id(id));
	}
}

static int server(void *arg)
{
	struct rdma_event_channel *busy = cm_channel(), *quiet = cm_channel();
	struct pollfd p[2] = { { busy->fd, POLLIN, 0 }, { quiet->fd, POLLIN, 0 } };
	struct sockaddr_storage at = cm_here(AF_INET, 0);
	struct rdma_cm_id *l = cm_id(busy, RDMA_PS_TCP);

	CF_OK(rdma_bind_addr(l, cm_sa(&at)));
	CF_OK(rdma_listen(l, 0));
	page->quiet = cm_port(cm_listen(quiet, RDMA_PS_TCP, &at));
	page->before = cf_resident();
	page->busy = cm_port(l);
	while (!page->stop) {
		CF_TRUE(poll(p, 2, 100) >= 0);
		if (p[1].revents)
			one_event(quiet, true);
		if (p[0].revents)
			one_event(busy, page->answers);
		page->after = cf_resident();
	}
	_exit(0); /* the identifiers are those of thousands */
}

/* --- honest clients --- */

static int clients(void *arg)
{
	struct rdma_event_channel *ch;

	CF_OK(setenv("DAPPLE_ADDRESS", "127.0.0.2", 1));
	ch = cm_channel();
	for (int i = 0; i < CLIENTS; i++)
		cm_visit(ch, (uint16_t)*(atomic_int *)arg);
	return 0;
}

/* --- the flood --- */

struct liar {
	int fd;
	uint8_t addr[16];
	uint16_t sport;
};

static void liar_open(struct liar *l, unsigned k)
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	socklen_t n = sizeof(a);
	int pmtu = IP_PMTUDISC_DO;

	a.sin_addr.s_addr = htonl(0x7f010000u + k + 1);
	l->fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	CF_TRUE(l->fd >= 0);
	CF_OK(setsockopt(l->fd, IPPROTO_IP, IP_MTU_DISCOVER, &pmtu, sizeof(pmtu)));
	CF_OK(bind(l->fd, (struct sockaddr *)&a, sizeof(a)));
	CF_OK(getsockname(l->fd, (struct sockaddr *)&a, &n));
	l->sport = ntohs(a.sin_port);
	memset(l->addr, 0, 10);
	l->addr[10] = l->addr[11] = 0xff;
	memcpy(l->addr + 12, &a.sin_addr, 4);
}

static void build_mad(const struct liar *l, const uint8_t dst[16], uint32_t k, uint8_t *mad)
{
	struct link_end from = { .port = 7 }, to = { .port = (uint16_t)page->busy };
	uint8_t *m = ibcm_mad(mad, WIRE_CM_ATTR_REQ, k);

	memcpy(from.addr, l->addr, 16);
	memcpy(to.addr, dst, 16);
	wire_set_CM_REQ_local_comm_id(m, 0x20000000 + k);
	wire_set_CM_REQ_service_id(m, cm_ip_service(CM_PS_TCP, to.port));
	wire_set_CM_REQ_local_ca_guid(m, 0x0200000000000000ull + k);
	wire_set_CM_REQ_local_qpn(m, 0x100 + k);
	wire_set_CM_REQ_remote_cm_timeout(m, 20);
	wire_set_CM_REQ_local_cm_timeout(m, 20);
	wire_set_CM_REQ_pkey(m, 0xffff);
	wire_set_CM_REQ_max_cm_retries(m, 1);
	wire_set_CM_REQ_path_mtu(m, MTU_1024);
	wire_set_CM_REQ_local_gid(m, l->addr);
	wire_set_CM_REQ_remote_gid(m, dst);
	wire_set_CM_REQ_hop_limit(m, 64);
	wire_set_CM_REQ_ack_timeout(m, 19);
	ibcm_ip_build(m + 140, &from, &to);
}

static void lie(const struct liar *l, uint32_t k)
{
	static const uint8_t dst[16] = { [10] = 0xff, 0xff, 127, 0, 0, 1 };
	struct wire_ib_packet p = { .opcode = UD_SEND_ONLY, .dest_qpn = WIRE_QPN_GSI,
				    .src_qpn = WIRE_QPN_GSI, .qkey = WIRE_QKEY_GSI, .pkey = 0xffff,
				    .psn = k & 0xffffff, .payload_len = WIRE_MAD_BYTES };
	struct sockaddr_in to = { .sin_family = AF_INET, .sin_port = htons(port),
				  .sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct wire_icrc_flow flow;
	uint8_t buf[400];
	size_t n = wire_ib_build(buf, &p);

	build_mad(l, dst, k, buf + n);
	n += WIRE_MAD_BYTES;
	wire_icrc_flow_v4(&flow, l->addr + 12, dst + 12);
	wire_icrc_fill(&flow, l->sport, port, 0, true, buf, n);
	/* A refusal of an earlier answer may come back first. */
	for (int i = 0; i < 2; i++)
		if (sendto(l->fd, buf, n + WIRE_ICRC_LEN, 0, (struct sockaddr *)&to,
			   sizeof(to)) >= 0)
			return;
}

/* On until as many are told as a backlog has room for: REQs that come while the server has no
 * processor are lost. */
static void flood(void)
{
	uint64_t end = cf_ns() + CF_WAIT_MS * 1000000ull;
	static struct liar l[ADDRESSES];

	for (unsigned k = 0; k < ADDRESSES; k++)
		liar_open(&l[k], k);
	for (uint32_t k = 0; k < REQUESTS || (page->requests < BACKLOG && cf_ns() < end); k++) {
		lie(&l[k % ADDRESSES], k);
		if (k % 200 == 199) /* if the socket overflowed no REQ would arrive */
			usleep(2000);
	}
	for (unsigned k = 0; k < ADDRESSES; k++)
		close(l[k].fd);
}

/* The server gets around to it a moment later. */
static void reaches(atomic_uint *what, unsigned n)
{
	uint64_t end = cf_ns() + CF_WAIT_MS * 1000000ull;

	while (*what < n && cf_ns() < end)
		usleep(500);
	CF_EQ(*what, n);
}

static pid_t start(bool answers)
{
	uint64_t end = cf_ns() + CF_WAIT_MS * 1000000ull;
	pid_t pid;

	page = cf_pages(sizeof(*page));
	page->answers = answers;
	pid = cf_child(server, NULL);
	while (!page->busy && cf_ns() < end)
		usleep(500);
	CF_TRUE(page->busy);
	return pid;
}

static void judge(pid_t pid)
{
	unsigned long more = page->after - page->before;

	printf("# %u of %u REQs were told, %u failed, %lu KiB more\n", page->requests, REQUESTS,
	       page->failed, more >> 10);
	CF_TRUE(page->after < page->before + MEMORY_MAX);
	page->stop = 1;
	cf_reap(pid);
}

/* A program that takes requests and answers none: its backlog is the ceiling. */
static void unanswered(void)
{
	pid_t pid = start(false), honest = cf_child(clients, &page->quiet);

	flood();
	cf_reap(honest);
	reaches(&page->served, CLIENTS);
	reaches(&page->requests, BACKLOG + CLIENTS);
	judge(pid);
}

/* One that accepts: each answer is refused by the host it goes to. */
static void answered(void)
{
	pid_t pid = start(true), honest = cf_child(clients, &page->quiet);
	uint64_t end;

	flood();
	cf_reap(honest);
	end = cf_ns() + CF_WAIT_MS * 1000000ull;
	/* And then the flooded port itself. */
	cf_reap(cf_child(clients, &page->busy));
	reaches(&page->served, 2 * CLIENTS);
	while (!page->failed && cf_ns() < end)
		usleep(500);
	CF_TRUE(page->failed > 0);
	judge(pid);
}

const struct cf_check cf_checks[] = {
	{ "+", "forged REQs without an answer", 0, unanswered },
	{ "+", "forged REQs that are accepted", 0, answered },
	{ 0 },
};
