/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * TCP connections by the thousand that never become iWARP ones (nothing said, half a key, a byte
 * now and then): the server keeps as many as its ceilings allow, its memory stays within bounds,
 * honest clients get through meanwhile, and when it is over nothing of it is left.
 *
 *	127.1.x.y	clients that send too little
 *	127.0.0.1	the server
 *	127.0.0.2	honest clients
 */
#include "../conform/cm.h"
#include "../support/entries.h"

#include "cm/mpa/mpa.h"

#include <arpa/inet.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#define ADDRESSES 200u
#define STREAMS 3000u
#define CLIENTS 20u
#ifdef __SANITIZE_ADDRESS__
#define MEMORY_MAX (288u << 20) /* its quarantine, and red zones */
#else
#define MEMORY_MAX (32u << 20)
#endif
#define FILES_MORE 64 /* besides one for each half-open handshake */

static struct page {
	atomic_int port, stop;
	atomic_uint served;
	atomic_ulong before, most; /* bytes resident */
	atomic_int files_before, files, files_most;
} *page;

__attribute__((constructor)) static void choose_kind(void)
{
	setenv("DAPPLE_ADAPTER", "iwarp", 1);
}

/* --- the server --- */

static void one_event(struct rdma_event_channel *ch)
{
	struct rdma_conn_param p = { .rnr_retry_count = 7 };
	struct rdma_cm_event *e;
	struct rdma_cm_id *over = NULL;

	CF_OK(rdma_get_cm_event(ch, &e));
	switch (e->event) {
	case RDMA_CM_EVENT_CONNECT_REQUEST:
		cm_qp(e->id);
		CF_OK(rdma_accept(e->id, &p));
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		page->served++;
		break;
	case RDMA_CM_EVENT_DISCONNECTED:
		over = e->id;
		break;
	default:
		CF_DIE("%s (status %d)", rdma_event_str(e->event), e->status);
	}
	CF_OK(rdma_ack_cm_event(e));
	if (over) {
		rdma_destroy_qp(over);
		CF_OK(rdma_destroy_id(over));
	}
}

static int server(void *arg)
{
	struct rdma_event_channel *ch = cm_channel();
	struct pollfd p = { ch->fd, POLLIN, 0 };
	struct sockaddr_storage at = cm_here(AF_INET, 0);
	struct rdma_cm_id *l = cm_listen(ch, RDMA_PS_TCP, &at);

	page->before = cf_resident();
	page->files_before = open_fds();
	page->port = cm_port(l);
	while (!page->stop) {
		CF_TRUE(poll(&p, 1, 20) >= 0);
		if (p.revents)
			one_event(ch);
		page->files = open_fds();
		if (page->files > page->files_most)
			page->files_most = page->files;
		if (cf_resident() > page->most)
			page->most = cf_resident();
	}
	_exit(0);
}

/* --- honest clients --- */

static int clients(void *arg)
{
	struct rdma_event_channel *ch;

	CF_OK(setenv("DAPPLE_ADDRESS", "127.0.0.2", 1));
	ch = cm_channel();
	for (unsigned i = 0; i < CLIENTS; i++)
		cm_visit(ch, (uint16_t)page->port);
	return 0;
}

/* --- the others --- */

static int fd[STREAMS];

static const char key[] = "MPA ID Req Frame";

static void open_stream(unsigned k)
{
	struct sockaddr_in from = { .sin_family = AF_INET }, to = from;

	from.sin_addr.s_addr = htonl(0x7f010001u + k % ADDRESSES);
	to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	to.sin_port = htons((uint16_t)page->port);
	fd[k] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	CF_TRUE(fd[k] >= 0);
	CF_OK(bind(fd[k], (struct sockaddr *)&from, sizeof(from)));
	CF_OK(connect(fd[k], (struct sockaddr *)&to, sizeof(to)));
	/* Nothing, or a part of the key; the server may have closed it already. */
	if (k % 3)
		send(fd[k], key, k % 16, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* A client that sends a byte now and then gets no more time. */
static void dribble(void)
{
	for (unsigned k = 0; k < STREAMS; k += 3)
		if (send(fd[k], "M", 1, MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
			continue;
}

static void await_port(void)
{
	uint64_t end = cf_ns() + CF_WAIT_MS * 1000000ull;

	while (!page->port && cf_ns() < end)
		usleep(500);
	CF_TRUE(page->port);
}

static void room_for_files(void)
{
	struct rlimit r;

	CF_OK(getrlimit(RLIMIT_NOFILE, &r));
	if (r.rlim_max < STREAMS + 200)
		cf_skip("this user may open %lu files only", (unsigned long)r.rlim_max);
	if (r.rlim_cur < STREAMS + 200)
		r.rlim_cur = STREAMS + 200;
	CF_OK(setrlimit(RLIMIT_NOFILE, &r));
}

static void by_the_thousand(void)
{
	uint64_t end;
	pid_t pid;

	room_for_files();
	page = cf_pages(sizeof(*page));
	pid = cf_child(server, NULL);
	await_port();
	for (unsigned k = 0; k < STREAMS; k++)
		open_stream(k);
	cf_reap(cf_child(clients, NULL));
	dribble();
	end = cf_ns() + CF_WAIT_MS * 1000000ull;
	/* Each has 5 s for its request; the peers still hold their ends. */
	while ((page->files > page->files_before + FILES_MORE || page->served < CLIENTS) &&
	       cf_ns() < end) {
		dribble();
		usleep(20000);
	}
	printf("# at most %d files and %ld KiB more\n", page->files_most - page->files_before,
	       (long)(page->most - page->before) >> 10);
	CF_EQ(page->served, CLIENTS);
	CF_TRUE(page->files <= page->files_before + FILES_MORE);
	CF_TRUE(page->files_most <= page->files_before + MPA_HALF_OPEN_MAX + FILES_MORE);
	CF_TRUE(page->most < page->before + MEMORY_MAX);
	page->stop = 1;
	cf_reap(pid);
}

const struct cf_check cf_checks[] = {
	{ "+", "half-open handshakes by the thousand", 0, by_the_thousand },
	{ 0 },
};
