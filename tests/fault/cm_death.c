/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * One end is killed in each state of a connection, with and without a sibling on its address, and
 * the other end gets the event that librdmacm has for it in time; a stopped sibling delays no other
 * process for long.
 *
 *	127.0.0.1	the victim, and its sibling if it has one
 *	127.0.0.2	the survivor, which is this process
 *
 * Public calls only, so both adapters run it.
 */
#include "../conform/cm.h"

#include <arpa/inet.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define CLIENTS 20
#define DEATHS 10 /* over RoCE each takes as long as it takes to give up */
#define DEATHS_STREAM 100

static struct page {
	atomic_int ready;     /* 1: the victim stands where it is to die */
	atomic_int sibling;   /* 1: it has an adapter */
	atomic_int port, go;
} *page;

static void await(atomic_int *what, int n)
{
	uint64_t end = cf_ns() + CF_WAIT_MS * 1000000ull;

	while (*what < n && cf_ns() < end)
		usleep(500);
	CF_TRUE(*what >= n);
}

static void begin(const char *address)
{
	CF_OK(setenv("DAPPLE_ADDRESS", address, 1));
	CF_OK(setenv("DAPPLE_PROBE", "300", 1));
}

/* Asked without opening it: that is the children's to do. */
static bool by_stream(void)
{
	const char *device = getenv("CONFORM_DEVICE");

	return device && strstr(device, "_iw_");
}

static struct sockaddr_storage at(const char *address, int port)
{
	struct sockaddr_storage s = { 0 };
	struct sockaddr_in *in = (void *)&s;

	in->sin_family = AF_INET;
	in->sin_port = htons((uint16_t)port);
	in->sin_addr.s_addr = inet_addr(address);
	return s;
}

static void stay(void)
{
	page->ready++;
	for (;;)
		pause();
}

/* --- both roles, up to a point --- */

struct end {
	struct rdma_event_channel *ch;
	struct rdma_cm_id *listener, *id;
};

static void listen_at(struct end *e, const char *address)
{
	struct sockaddr_storage here = at(address, 0);

	e->ch = cm_channel();
	e->listener = cm_listen(e->ch, RDMA_PS_TCP, &here);
	page->port = cm_port(e->listener);
}

static void take_request(struct end *e)
{
	struct rdma_cm_event *ev = cm_take(e->ch, CONNECT_REQUEST);

	e->id = cm_keep(ev->id);
	CF_OK(rdma_ack_cm_event(ev));
}

static int accept_it(struct end *e)
{
	struct rdma_conn_param p = { .responder_resources = 1, .initiator_depth = 1,
				     .rnr_retry_count = 7 };

	cm_qp(e->id);
	return rdma_accept(e->id, &p);
}

static void ask(struct end *e, const char *address)
{
	struct rdma_conn_param p = { .responder_resources = 1, .initiator_depth = 1,
				     .retry_count = 7, .rnr_retry_count = 7 };
	struct sockaddr_storage to;

	await(&page->port, 1);
	to = at(address, page->port);
	e->ch = cm_channel();
	e->id = cm_towards(e->ch, RDMA_PS_TCP, &to);
	cm_qp(e->id);
	CF_OK(rdma_connect(e->id, &p));
}

/* --- the victims: each is at 127.0.0.1 --- */

static int sibling(void *arg)
{
	struct sockaddr_storage here = at("127.0.0.1", 0);

	begin("127.0.0.1");
	cm_listen(cm_channel(), RDMA_PS_TCP, &here);
	page->sibling = 1;
	for (;;)
		pause();
	return 1;
}

enum point { ASKED, ANSWERED, CONNECTED, LEAVING, LEFT };

static int client_dies(void *arg)
{
	enum point point = *(enum point *)arg;
	struct end e;

	begin("127.0.0.1");
	ask(&e, "127.0.0.2");
	if (point == ANSWERED)
		CF_TRUE(cf_readable(e.ch->fd, CF_WAIT_MS)); /* seen and not taken */
	if (point == CONNECTED)
		CF_EQ(cm_event(e.ch, ESTABLISHED), 0);
	stay();
	return 1;
}

static int server_dies(void *arg)
{
	enum point point = *(enum point *)arg;
	struct end e;

	begin("127.0.0.1");
	listen_at(&e, "127.0.0.1");
	take_request(&e);
	if (point >= ANSWERED)
		CF_OK(accept_it(&e));
	if (point >= CONNECTED)
		CF_EQ(cm_event(e.ch, ESTABLISHED), 0);
	if (point == LEAVING)
		CF_OK(rdma_disconnect(e.id));
	if (point == LEFT)
		CF_EQ(cm_event(e.ch, DISCONNECTED), 0);
	stay();
	return 1;
}

/* Its service for datagrams was asked for, and it has not answered. */
static int service_dies(void *arg)
{
	struct sockaddr_storage here = at("127.0.0.1", 0);
	struct end e;

	begin("127.0.0.1");
	e.ch = cm_channel();
	e.listener = cm_listen(e.ch, RDMA_PS_UDP, &here);
	page->port = cm_port(e.listener);
	take_request(&e);
	stay();
	return 1;
}

static pid_t start(int (*fn)(void *), enum point point, bool with_sibling)
{
	static enum point p;

	page = cf_pages(sizeof(*page));
	if (with_sibling) {
		cf_child(sibling, NULL);
		await(&page->sibling, 1);
	}
	p = point;
	pid_t pid = cf_child(fn, &p);

	begin("127.0.0.2");
	return pid;
}

static void kill_it(pid_t pid)
{
	int status;

	CF_OK(kill(pid, SIGKILL));
	CF_EQ(waitpid(pid, &status, 0), pid);
	CF_TRUE(WIFSIGNALED(status));
}

/* --- the survivor --- */

/* One of the events by which an attempt fails. */
static void failed(struct end *e)
{
	struct rdma_cm_event *ev;

	CF_TRUE(cf_readable(e->ch->fd, CF_WAIT_MS));
	CF_OK(rdma_get_cm_event(e->ch, &ev));
	if (ev->event != RDMA_CM_EVENT_REJECTED && ev->event != RDMA_CM_EVENT_UNREACHABLE &&
	    ev->event != RDMA_CM_EVENT_CONNECT_ERROR)
		CF_DIE("%s, status %d", rdma_event_str(ev->event), ev->status);
	CF_OK(rdma_ack_cm_event(ev));
}

static void over(struct end *e)
{
	int status = cm_event(e->ch, DISCONNECTED);

	/* A stream that the kernel of a dead peer resets may report a reset. */
	CF_TRUE(!status || (cm_is_iwarp() && status == -ECONNRESET));
	CF_EQ(cf_state(e->id->qp), IBV_QPS_ERR);
}

/* REQ sent, and received by us: our answer meets no process. */
static void client_asked(bool with_sibling)
{
	pid_t pid = start(client_dies, ASKED, with_sibling);
	struct end e;
	int rc;

	listen_at(&e, "127.0.0.2");
	take_request(&e);
	await(&page->ready, 1);
	kill_it(pid);
	rc = accept_it(&e);
	/* A stream may be known to be gone by now. */
	CF_TRUE(!rc || cm_is_iwarp());
	if (!rc)
		failed(&e);
}

/* A client that had heard of our answer and done nothing else. On iWARP there is nothing to confirm:
 * both ends were connected. */
static void said_and_gone(struct end *e)
{
	if (cm_is_iwarp()) {
		CF_EQ(cm_event(e->ch, ESTABLISHED), 0);
		over(e);
	} else {
		failed(e);
	}
}

/* REP received by the victim and not confirmed. */
static void client_answered(bool with_sibling)
{
	pid_t pid = start(client_dies, ANSWERED, with_sibling);
	struct end e;

	listen_at(&e, "127.0.0.2");
	take_request(&e);
	CF_OK(accept_it(&e));
	await(&page->ready, 1);
	kill_it(pid);
	said_and_gone(&e);
}

static void client_connected(bool with_sibling)
{
	pid_t pid = start(client_dies, CONNECTED, with_sibling);
	struct end e;

	listen_at(&e, "127.0.0.2");
	take_request(&e);
	CF_OK(accept_it(&e));
	CF_EQ(cm_event(e.ch, ESTABLISHED), 0);
	await(&page->ready, 1);
	kill_it(pid);
	over(&e);
}

static void server_asked(bool with_sibling)
{
	pid_t pid = start(server_dies, ASKED, with_sibling);
	struct end e;

	ask(&e, "127.0.0.1");
	await(&page->ready, 1);
	kill_it(pid);
	failed(&e);
}

/* The answer is here when its sender dies; an end that takes it late gets both events. */
static void server_answered(bool with_sibling)
{
	pid_t pid = start(server_dies, ANSWERED, with_sibling);
	struct end e;

	ask(&e, "127.0.0.1");
	await(&page->ready, 1);
	CF_TRUE(cf_readable(e.ch->fd, CF_WAIT_MS));
	kill_it(pid);
	CF_EQ(cm_event(e.ch, ESTABLISHED), 0);
	over(&e);
}

static pid_t connected(struct end *e, bool with_sibling)
{
	pid_t pid = start(server_dies, CONNECTED, with_sibling);

	ask(e, "127.0.0.1");
	CF_EQ(cm_event(e->ch, ESTABLISHED), 0);
	await(&page->ready, 1);
	return pid;
}

static void server_connected(bool with_sibling)
{
	struct end e;
	pid_t pid = connected(&e, with_sibling);

	kill_it(pid);
	over(&e);
}

/* Our DREQ waits for an answer. */
static void server_disconnecting(bool with_sibling)
{
	struct end e;
	pid_t pid = connected(&e, with_sibling);

	CF_OK(kill(pid, SIGSTOP));
	CF_OK(rdma_disconnect(e.id));
	kill_it(pid);
	over(&e);
}

/* The end that it asked for comes, by its own DREQ or for its sake. */
static void server_leaving(bool with_sibling)
{
	pid_t pid = start(server_dies, LEAVING, with_sibling);
	struct end e;

	ask(&e, "127.0.0.1");
	CF_EQ(cm_event(e.ch, ESTABLISHED), 0);
	await(&page->ready, 1);
	kill_it(pid);
	over(&e);
}

/* It has heard of our DREQ and not dealt with its own end; its death answers. */
static void server_left(bool with_sibling)
{
	pid_t pid = start(server_dies, LEFT, with_sibling);
	struct end e;

	ask(&e, "127.0.0.1");
	CF_EQ(cm_event(e.ch, ESTABLISHED), 0);
	CF_OK(rdma_disconnect(e.id));
	await(&page->ready, 1);
	CF_TRUE(cm_is_iwarp() || !cf_readable(e.ch->fd, 50));
	kill_it(pid);
	over(&e);
}

static void service_asked(bool with_sibling)
{
	struct sockaddr_storage to;
	struct end e;
	pid_t pid;

	if (by_stream())
		cf_skip("a stream has no datagrams");
	pid = start(service_dies, ASKED, with_sibling);
	await(&page->port, 1);
	to = at("127.0.0.1", page->port);
	e.ch = cm_channel();
	e.id = cm_towards(e.ch, RDMA_PS_UDP, &to);
	cm_qp(e.id);
	CF_OK(rdma_connect(e.id, NULL));
	await(&page->ready, 1);
	kill_it(pid);
	failed(&e);
}

/* A peer that is only stopped loses nothing, however long we ask. */
static void server_asleep(bool with_sibling)
{
	struct end e;
	pid_t pid = connected(&e, with_sibling);

	CF_OK(kill(pid, SIGSTOP));
	CF_TRUE(!cf_readable(e.ch->fd, 3000));
	CF_OK(kill(pid, SIGCONT));
	CF_TRUE(!cf_readable(e.ch->fd, 1000));
	CF_EQ(cf_state(e.id->qp), IBV_QPS_RTS);
	kill_it(pid);
	over(&e);
}

#define BOTH(name) \
	static void name##_alone(void) { name(false); } \
	static void name##_among(void) { name(true); }
BOTH(client_asked)
BOTH(client_answered)
BOTH(client_connected)
BOTH(server_asked)
BOTH(server_answered)
BOTH(server_connected)
BOTH(server_disconnecting)
BOTH(server_leaving)
BOTH(server_left)
BOTH(service_asked)
BOTH(server_asleep)

/* --- a stopped sibling, while others connect --- */

static int server(void *arg)
{
	struct end e;

	begin("127.0.0.1");
	listen_at(&e, "127.0.0.1");
	page->ready = 1;
	for (int i = 0; i < CLIENTS; i++) {
		take_request(&e);
		CF_OK(accept_it(&e));
		CF_EQ(cm_event(e.ch, ESTABLISHED), 0);
	}
	await(&page->go, 1);
	return 0;
}

/* Half of the requests go to the one that sleeps; asked again, each soon meets the other. */
static void stopped_sibling(void)
{
	pid_t pid, other;
	uint64_t t, longest = 0;

	page = cf_pages(sizeof(*page));
	other = cf_child(sibling, NULL);
	await(&page->sibling, 1);
	pid = cf_child(server, NULL);
	await(&page->ready, 1);
	CF_OK(kill(other, SIGSTOP));
	begin("127.0.0.2");
	for (int i = 0; i < CLIENTS; i++) {
		struct end e;

		t = cf_ns();
		ask(&e, "127.0.0.1");
		CF_EQ(cm_event(e.ch, ESTABLISHED), 0);
		t = cf_ns() - t;
		longest = t > longest ? t : longest;
	}
	printf("# the longest of %d connections took %d ms\n", CLIENTS, (int)(longest / 1000000));
	page->go = 1;
	cf_reap(pid);
	CF_OK(kill(other, SIGCONT));
	kill_it(other);
}

/* --- in the moment at which it hears --- */

static int client_dies_at_once(void *arg)
{
	struct end e;

	begin("127.0.0.1");
	ask(&e, "127.0.0.2");
	CF_TRUE(cf_readable(e.ch->fd, CF_WAIT_MS));
	CF_OK(kill(getpid(), SIGKILL));
	return 1;
}

/* The last message of the victim, and its end, arrive together. */
static void client_moment(void)
{
	struct end e;
	int status, deaths = by_stream() ? DEATHS_STREAM : DEATHS;

	page = cf_pages(sizeof(*page));
	cf_child(sibling, NULL);
	await(&page->sibling, 1);
	begin("127.0.0.2");
	listen_at(&e, "127.0.0.2");
	for (int i = 0; i < (cf.full ? 10 * deaths : deaths); i++) {
		pid_t pid = cf_child(client_dies_at_once, NULL);

		take_request(&e);
		CF_OK(accept_it(&e));
		said_and_gone(&e);
		CF_EQ(waitpid(pid, &status, 0), pid);
		CF_TRUE(WIFSIGNALED(status));
	}
}

const struct cf_check cf_checks[] = {
	{ "+", "client killed with its REQ sent, alone", 0, client_asked_alone },
	{ "+", "... with a sibling", 0, client_asked_among },
	{ "+", "client killed with a REP received, alone", 0, client_answered_alone },
	{ "+", "... with a sibling", 0, client_answered_among },
	{ "+", "client killed as it hears of a REP, many times", 0, client_moment },
	{ "+", "client killed when connected, alone", 0, client_connected_alone },
	{ "+", "... with a sibling", 0, client_connected_among },
	{ "+", "server killed with a REQ received, alone", 0, server_asked_alone },
	{ "+", "... with a sibling", 0, server_asked_among },
	{ "+", "server killed with its REP sent, alone", 0, server_answered_alone },
	{ "+", "... with a sibling", 0, server_answered_among },
	{ "+", "server killed when connected, alone", 0, server_connected_alone },
	{ "+", "... with a sibling", 0, server_connected_among },
	{ "+", "server killed with our DREQ unanswered, alone", 0, server_disconnecting_alone },
	{ "+", "... with a sibling", 0, server_disconnecting_among },
	{ "+", "server killed after its DREQ, alone", 0, server_leaving_alone },
	{ "+", "... with a sibling", 0, server_leaving_among },
	{ "+", "server killed with our DREQ heard and not answered, alone", 0, server_left_alone },
	{ "+", "... with a sibling", 0, server_left_among },
	{ "+", "service killed with a SIDR_REQ received, alone", 0, service_asked_alone },
	{ "+", "... with a sibling", 0, service_asked_among },
	{ "+", "server stopped and woken, alone", 0, server_asleep_alone },
	{ "+", "... with a sibling", 0, server_asleep_among },
	{ "+", "a stopped sibling while others connect", 0, stopped_sibling },
	{ 0 },
};
