/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The connection manager of real RoCE adapters in several processes of one address: the listener is
 * found through any process that gets the request, answers find their process, a port without a
 * listener is refused at once, and peers of a process that exits hear of it.
 */
#include "device/adapter.h"
#include "device/devices.h"
#include "engine/event.h"
#include "support/check.h"
#include "util/clock.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define CONNECTIONS 100
#define SERVER_QPN 0x11u
#define CLIENT_QPN 0x22u

static const uint8_t LO4[16] = { [10] = 0xff, 0xff, 127, 0, 0, 1 };

static struct board {
	_Atomic unsigned living, port;
	_Atomic unsigned requests, established, gone; /* of the server */
	_Atomic int stop;
} *board;

static struct dev_info lo;
static struct eng_ctx *ctx;
static struct cm_port *cm;

static void choose_port(void)
{
	struct sockaddr_in sin = { .sin_family = AF_INET };
	socklen_t len = sizeof(sin);
	char text[8];
	int fd = socket(AF_INET, SOCK_DGRAM, 0);

	CHECK(fd >= 0 && bind(fd, (struct sockaddr *)&sin, sizeof(sin)) == 0);
	CHECK(getsockname(fd, (struct sockaddr *)&sin, &len) == 0);
	snprintf(text, sizeof(text), "%u", ntohs(sin.sin_port));
	close(fd);
	setenv("DAPPLE_PORT", text, 1);
}

static void lock(void) UT_NO_TSA
{
	ut_lock(&ctx->dev->lock);
}

/* With a round of progress, as the RDMA CM makes after a call. */
static void unlock(void) UT_NO_TSA
{
	ctx->dev->ops->progress(ctx->dev);
	eng_dev_unlock(ctx->dev);
}

static void attach(const struct cm_user *user)
{
	struct dev_adapter *a;

	CHECK(dev_open(&lo, &ctx) == 0);
	a = dev_adapter_of(ctx->dev);
	CHECK(!a->cm.ops);
	lock();
	CHECK(dev_kind_attach(&a->dev) == 0 && a->cm.ops);
	CHECK(dev_kind_attach(&a->dev) == 0);
	cm = &a->cm;
	cm->user = user;
	unlock();
}

static void await(_Atomic unsigned *what, unsigned n)
{
	uint64_t end = ut_now() + 60 * UT_S;

	while (*what < n && ut_now() < end)
		usleep(500);
	CHECK_MSG(*what >= n, "%u, not %u", *what, n);
}

static struct cm_bind on_lo(uint16_t port)
{
	struct cm_bind b = { .service = cm_ip_service(CM_PS_TCP, port),
			     .opt = { .tos = -1 } };

	memcpy(b.local.addr, LO4, 16);
	b.local.port = port;
	return b;
}

/* --- the server --- */

static int serve(struct cm_port *p, const struct cm_event *ev)
{
	struct cm_param answer = { .qp_type = IBV_QPT_RC, .qpn = SERVER_QPN,
				   .responder_resources = 1, .initiator_depth = 1,
				   .private_data = "come in", .private_len = 8 };

	switch (ev->type) {
	case CM_EV_REQUEST:
		CHECK(ev->param.qpn >= CLIENT_QPN);
		CHECK(!memcmp(ev->ep->remote.addr, LO4, 16));
		board->requests++;
		CHECK(p->ops->accept(ev->ep, &answer) == 0);
		break;
	case CM_EV_ESTABLISHED:
		board->established++;
		break;
	case CM_EV_DISCONNECTED:
		board->gone++;
		break;
	default:
		break;
	}
	return 0;
}

static const struct cm_user server_user = { .event = serve };

static void server(void)
{
	struct cm_bind b = on_lo(0);
	struct cm_ep *ep, *second;

	attach(&server_user);
	lock();
	CHECK(cm->ops->bind(cm, &b, &ep) == 0 && ep->local.port);
	CHECK(cm->ops->listen(ep, 0) == 0);
	b = on_lo(ep->local.port);
	CHECK(cm->ops->bind(cm, &b, &second) == -EADDRINUSE);
	board->port = ep->local.port;
	unlock();
}

/* --- a client --- */

static unsigned answers, connected, ended, rejected;
static int reason;

static int hear(struct cm_port *p, const struct cm_event *ev)
{
	switch (ev->type) {
	case CM_EV_RESPONSE:
		CHECK(ev->param.qpn == SERVER_QPN);
		CHECK(!memcmp(ev->param.private_data, "come in", 8));
		answers++;
		CHECK(p->ops->establish(ev->ep) == 0);
		break;
	case CM_EV_ESTABLISHED:
		connected++;
		break;
	case CM_EV_DISCONNECTED:
		ended++;
		break;
	case CM_EV_REJECTED:
		rejected++;
		reason = ev->status;
		break;
	default:
		CHECK_MSG(ev->type == CM_EV_TIMEWAIT_EXIT, "event %d, status %d", ev->type,
			  ev->status);
	}
	return 0;
}

static const struct cm_user client_user = { .event = hear };

static void client_await(unsigned *what, unsigned n, uint64_t ns)
{
	uint64_t end = ut_now() + ns;
	unsigned now;

	do {
		lock();
		now = *what;
		unlock();
		usleep(200);
	} while (now < n && ut_now() < end);
	CHECK_MSG(now == n, "%u, not %u", now, n);
}

static struct cm_ep *connect_to(uint16_t port)
{
	/* Each with a QP of its own, or the server takes the older one for stale. */
	static uint32_t qpn = CLIENT_QPN;
	struct cm_param param = { .qp_type = IBV_QPT_RC, .qpn = qpn++, .retry_count = 7,
				  .rnr_retry_count = 7, .responder_resources = 1,
				  .initiator_depth = 1 };
	struct link_end to = { .port = port };
	struct cm_bind b = on_lo(0);
	struct cm_ep *ep;

	memcpy(to.addr, LO4, 16);
	lock();
	CHECK(cm->ops->create(cm, &b, &ep) == 0);
	CHECK(cm->ops->connect(ep, &to, &param) == 0);
	unlock();
	return ep;
}

static pid_t start(void (*fn)(void))
{
	unsigned before = board->living;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid) {
		await(&board->living, before + 1);
		return pid;
	}
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(300);
	fn();
	board->living++;
	while (!board->stop)
		usleep(500);
	exit(0); /* as programs do that forget to disconnect */
}

static void idle(void)
{
	attach(&server_user);
}

static void finish(pid_t pid)
{
	int status;

	CHECK(waitpid(pid, &status, 0) == pid);
	CHECK_MSG(status == 0, "status %x", status);
}

/* A process that only uses verbs is a member too: its manager passes requests on. */
static void test_connect(void)
{
	pid_t a, b;
	uint64_t t;

	setenv("DAPPLE_PROBE", "0", 1);
	a = start(server);
	b = start(idle);
	attach(&client_user);
	t = ut_now();
	for (unsigned i = 0; i < CONNECTIONS; i++) {
		connect_to((uint16_t)board->port);
		client_await(&answers, i + 1, 60 * UT_S);
	}
	fprintf(stderr, "%u connections in %llu ms\n", CONNECTIONS,
		(unsigned long long)((ut_now() - t) / UT_MS));
	await(&board->established, CONNECTIONS);
	CHECK(board->requests == CONNECTIONS && rejected == 0);

	/* No process has that port; the refusal does not wait for a timeout. A busy machine may
	 * be slow, but not each time. */
	for (unsigned i = 1;; i++) {
		t = ut_now();
		connect_to((uint16_t)(board->port ^ 1));
		client_await(&rejected, i, 60 * UT_S);
		CHECK(reason == CM_REJ_INVALID_SERVICE_ID && i < 20);
		if (ut_now() - t < UT_S)
			break;
	}

	/* exit() without a word: every end hears of it without a request of its peer. */
	board->stop = 1;
	client_await(&ended, CONNECTIONS, 60 * UT_S);
	finish(a);
	finish(b);
	board->stop = 0;
	unsetenv("DAPPLE_PROBE");
}

/* The other way: the last close of an adapter disconnects its endpoints. */
static void test_close(void)
{
	pid_t a;

	dev_close(ctx);
	board->gone = board->established = 0;
	answers = 0;
	a = start(server);
	attach(&client_user);
	connect_to((uint16_t)board->port);
	client_await(&answers, 1, 60 * UT_S);
	await(&board->established, 1);
	CHECK(board->gone == 0);
	dev_close(ctx);
	await(&board->gone, 1);
	board->stop = 1;
	finish(a);
}

static void kill_one(pid_t pid)
{
	int status;

	CHECK(kill(pid, SIGKILL) == 0 && waitpid(pid, &status, 0) == pid);
	CHECK(WIFSIGNALED(status));
}

/* A killed server: a sibling at its address disconnects on its behalf. `others` of them come before the
 * server and one after, which may be stopped. */
static void killed_among(unsigned others, bool stopped)
{
	pid_t a, b, other[4];

	board->gone = board->established = 0;
	board->stop = 0;
	answers = ended = 0;
	for (unsigned i = 0; i < others; i++)
		other[i] = start(idle);
	a = start(server);
	attach(&client_user);
	for (unsigned i = 0; i < CONNECTIONS; i++) {
		connect_to((uint16_t)board->port);
		client_await(&answers, i + 1, 60 * UT_S);
	}
	await(&board->established, CONNECTIONS);
	b = start(idle);
	if (stopped)
		CHECK(kill(b, SIGSTOP) == 0);
	kill_one(a);
	client_await(&ended, CONNECTIONS, 60 * UT_S);
	CHECK(kill(b, SIGCONT) == 0);
	board->stop = 1;
	finish(b);
	for (unsigned i = 0; i < others; i++)
		finish(other[i]);
	dev_close(ctx);
}

static void test_killed(void)
{
	setenv("DAPPLE_PROBE", "0", 1);
	killed_among(0, false);
	killed_among(3, false);
	killed_among(3, true);
	unsetenv("DAPPLE_PROBE");
}

int main(void)
{
	struct dev_info *v;
	int n;

#ifdef __SANITIZE_THREAD__
	SKIP("ThreadSanitizer does not follow children that start threads, and here all do");
#endif
	choose_port();
	n = dev_list(&v);
	CHECK(n > 0 && v[0].guid);
	lo = v[0];
	free(v);
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	CHECK(board != MAP_FAILED);
	test_connect();
	test_close();
	test_killed();
	return 0;
}
