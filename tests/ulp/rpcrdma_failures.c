/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The n-th call fails, for n = 1, 2, ..., at the client, at the server, at a gateway in both directions and at a listener. Each call
 * has its reply, octet for octet, or the connection ends with a sentence; nothing is left; and the connection after it is sound.
 */
#include "rpcrdma_ends.h"

#include "nth.h"

#include "ulp/rpcrdma/gateway/bridge.h"
#include "ulp/rpcrdma/rpc.h"
#include "wire/field.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>

#define LIVES_MAX 2000
#define MESSAGE_MAX 200000

/* The calls of a life: every kind of chunk, one of them with a call of the backward direction. */
static const struct {
	size_t (*put)(uint8_t *p, uint32_t xid, uint32_t len);
	uint32_t len;
} calls[] = {
	{ rpr_ends_write, 5 }, { rpr_ends_write, 70001 }, { rpr_ends_read, 70001 }, { rpr_ends_echo, 5 }, { rpr_ends_echo, 70001 },
};
#define NR_CALLS (sizeof(calls) / sizeof(calls[0]))

/* --- ends over RDMA --- */

/* Keeps small what a life maps and posts. */
static struct rpr_conf small_conf(void)
{
	struct rpr_conf conf = rpr_conf_ours();

	conf.credits = 2;
	return conf;
}

/* A life of a client. Returns whether all calls have their replies; if not, ret_why says why. */
static bool client_life(const struct sockaddr_storage *to, bool may_fail, char ret_why[ULP_WHY_MAX])
{
	struct rpr_conf conf = small_conf();
	bool ok = true;

	side = (struct side){ .may_fail = may_fail };
	ret_why[0] = 0;
	side.c = rpr_connect((const struct sockaddr *)to, &conf, &rpr_ends_client, NULL, RPR_ENDS_MS, ret_why);
	if (!side.c)
		return false;
	for (uint32_t i = 0; i < NR_CALLS && ok; i++)
		ok = rpr_ends_call(calls[i].put, i, calls[i].len) && !side.failed;
	ok = ok && rpr_ends_await(NR_CALLS);
	while (ok && !may_fail && !side.back_calls)
		ok = rpr_ends_step();
	if (!ok)
		snprintf(ret_why, ULP_WHY_MAX, "%s", rpr_conn_why(side.c));
	rpr_ends_close();
	return ok;
}

/* A life of a server: until the client disconnects. Returns whether it has lived until then. */
static bool server_life(struct ulp_request *q, bool may_fail, char ret_why[ULP_WHY_MAX])
{
	struct rpr_conf conf = small_conf();
	bool called = false, orderly;

	side = (struct side){ .may_fail = may_fail };
	ret_why[0] = 0;
	side.c = rpr_accept(q->id, q->data, q->len, &conf, &rpr_ends_server, NULL, RPR_ENDS_MS, ret_why);
	if (!side.c)
		return false;
	while (rpr_ends_step() && !side.failed) {
		struct rpr_buf *b = side.calls && !called ? rpr_conn_buf(side.c) : NULL;

		if (!b)
			continue;
		called = true;
		b->len = rpr_ends_back_call(b->data, BACK_XID);
		if (rpr_conn_send(side.c, b))
			break;
	}
	snprintf(ret_why, ULP_WHY_MAX, "%s", rpr_conn_why(side.c));
	orderly = strstr(ret_why, "disconnected") != NULL;
	rpr_ends_close();
	return orderly;
}

static void expect_sound(const struct sockaddr_storage *to)
{
	char why[ULP_WHY_MAX];

	CHECK_MSG(client_life(to, false, why), "%s", why);
}

/* Servers in threads, until the other process says that it was the last one. */
struct service {
	struct ulp_request q;
	pthread_t thread;
};

static void *serve_in_thread(void *arg)
{
	struct service *s = arg;
	char why[ULP_WHY_MAX];

	server_life(&s->q, true, why);
	return NULL;
}

static void serve_many(struct ulp_listener *l, int until)
{
	struct service *s = calloc(LIVES_MAX, sizeof(*s));
	unsigned n = 0;

	for (;;) {
		struct pollfd p[2] = { { ulp_listener_fd(l), POLLIN, 0 }, { until, POLLIN, 0 } };

		while (n < LIVES_MAX && !ulp_listener_next(l, &s[n].q)) {
			CHECK(!pthread_create(&s[n].thread, NULL, serve_in_thread, &s[n]));
			n++;
		}
		CHECK(n < LIVES_MAX && poll(p, 2, RPR_ENDS_MS) > 0);
		if (p[1].revents)
			break;
	}
	for (unsigned i = 0; i < n; i++)
		CHECK(!pthread_join(s[i].thread, NULL));
	ulp_listener_close(l);
	free(s);
}

/* --- the client fails --- */

static void many_server(struct ends *e)
{
	rpr_ends_fill();
	serve_many(ends_listen(e, RDMA_PS_TCP), e->in);
}

static void client_fails(struct ends *e)
{
	char why[ULP_WHY_MAX];
	bool ok, fired;
	unsigned long n = 0;

	rpr_ends_fill();
	await_addr(e);
	do {
		nth_arm(++n);
		ok = client_life(&e->addr, true, why);
		fired = nth_disarm();
		CHECK_MSG(ok || (fired && *why), "n = %lu, %s: %s", n, nth_name(), why);
		CHECK_MSG(!nth_left(), "n = %lu: %ld objects are left after %s", n, nth_left(), nth_name());
		expect_sound(&e->addr);
	} while (fired);
	printf("  %lu lives\n", n);
	CHECK(ok && n > 50);
	mark(e);
}

/* --- the server fails --- */

static void server_fails(struct ends *e)
{
	struct ulp_listener *l;
	char why[ULP_WHY_MAX];
	unsigned long n = 0;
	bool ok, fired;

	rpr_ends_fill();
	l = ends_listen(e, RDMA_PS_TCP);
	do {
		struct ulp_request q;

		ends_next_request(l, &q);
		nth_arm(++n);
		ok = server_life(&q, true, why);
		fired = nth_disarm();
		CHECK_MSG(ok || (fired && *why), "n = %lu, %s: %s", n, nth_name(), why);
		/* The identifier was there. */
		CHECK_MSG(nth_left() == -1, "n = %lu: %ld objects are left after %s", n, nth_left() + 1, nth_name());
		CHECK(write(e->out, &fired, 1) == 1);
		ends_next_request(l, &q);
		CHECK_MSG(server_life(&q, false, why), "%s", why);
	} while (fired);
	printf("  %lu lives\n", n);
	fflush(stdout);
	CHECK(ok && n > 50);
	ulp_listener_close(l);
}

static void client_of_failing(struct ends *e)
{
	char why[ULP_WHY_MAX];
	bool ok, fired;

	rpr_ends_fill();
	await_addr(e);
	do {
		ok = client_life(&e->addr, true, why);
		CHECK(ok || *why);
		CHECK(read(e->in, &fired, 1) == 1);
		CHECK_MSG(ok || fired, "%s", why);
		expect_sound(&e->addr);
	} while (fired);
}

/* --- a gateway fails --- */

/* What the gateway says goes into a file; the tester sees it if the test fails. */
static int words, terminal;

static void show_words(int status, void *unused)
{
	char at[4096];
	ssize_t n;

	(void)unused;
	lseek(words, 0, SEEK_SET);
	while (status && (n = read(words, at, sizeof(at))) > 0)
		if (write(terminal, at, (size_t)n) != n)
			break;
}

static off_t words_said(void)
{
	struct stat st;

	CHECK(!fstat(words, &st));
	return st.st_size;
}

/* The gateway has said something since then, and no part of it is empty. */
static bool has_said(off_t before)
{
	char at[4096];
	ssize_t n = pread(words, at, sizeof(at) - 1, before);

	if (n <= 0)
		return false;
	at[n] = 0;
	return strstr(at, "dapple rpcrdma: ") && !strstr(at, ": :") && !strstr(at, "()");
}

/* Carries one client while the n-th call fails. Returns whether there was an n-th one; tells the other process, and has its outcome. */
static bool gateway_life(struct ends *e, struct rpg_client *client, unsigned long n)
{
	off_t before = words_said();
	bool fired, ok;

	nth_arm(n);
	rpg_bridge(client);
	fired = nth_disarm();
	/* The client's identifier or descriptor was there. */
	CHECK_MSG(nth_left() == -1, "n = %lu: %ld objects are left after %s", n, nth_left() + 1, nth_name());
	CHECK(write(e->out, &fired, 1) == 1 && read(e->in, &ok, 1) == 1);
	CHECK_MSG(ok || fired, "n = %lu", n);
	CHECK_MSG(ok || has_said(before), "n = %lu, %s: the gateway fails and does not say why", n, nth_name());
	return fired;
}

static void gateway_begin(void)
{
	words = memfd_create("words", 0);
	terminal = dup(STDERR_FILENO);
	CHECK(words >= 0 && terminal >= 0 && dup2(words, STDERR_FILENO) == STDERR_FILENO);
	CHECK(!on_exit(show_words, NULL));
}

static void read_all(int fd, void *at, size_t len)
{
	CHECK(read(fd, at, len) == (ssize_t)len);
}

static void gateway_end(unsigned long n)
{
	printf("  %lu lives\n", n);
	fflush(stdout);
	CHECK(n > 50);
}

static struct rpg_conf gateway_conf(const struct sockaddr_storage *to)
{
	return (struct rpg_conf){ .to = { .addr = *to, .len = sizeof(struct sockaddr_in) }, .rdma = small_conf() };
}

static struct sockaddr_storage tcp_listen(int *ret_fd)
{
	struct sockaddr_storage at = { .ss_family = AF_INET };
	socklen_t len = sizeof(at);

	((struct sockaddr_in *)&at)->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	*ret_fd = socket(AF_INET, SOCK_STREAM, 0);
	CHECK(*ret_fd >= 0 && !bind(*ret_fd, (struct sockaddr *)&at, sizeof(struct sockaddr_in)) && !listen(*ret_fd, 16));
	CHECK(!getsockname(*ret_fd, (struct sockaddr *)&at, &len));
	return at;
}

/* Returns the length of a message that has come, 0 at the end of the stream. */
static size_t tcp_take(int fd, uint8_t *at)
{
	uint8_t mark[4];
	uint32_t len;

	if (recv(fd, mark, 4, MSG_WAITALL) != 4)
		return 0;
	len = wire_get32(mark) & 0x7fffffff;
	CHECK(len <= MESSAGE_MAX);
	return recv(fd, at, len, MSG_WAITALL) == (ssize_t)len ? len : 0;
}

static bool tcp_put(int fd, uint8_t *at, size_t len)
{
	wire_put32(at - 4, 0x80000000u | (uint32_t)len);
	return send(fd, at - 4, len + 4, MSG_NOSIGNAL) == (ssize_t)len + 4;
}

static bool tcp_calls(int fd, uint8_t *out, uint8_t *in)
{
	for (uint32_t i = 0; i < NR_CALLS; i++)
		if (!tcp_put(fd, out, calls[i].put(out, i, calls[i].len)))
			return false;
	while (side.replies < NR_CALLS) {
		size_t len = tcp_take(fd, in);

		if (!len)
			return false;
		if (rpr_rpc_direction(in, len) != RPR_CALL)
			rpr_ends_see_reply(in, len);
		else if (!tcp_put(fd, out, rpr_ends_back_answer(out, in, len)))
			return false;
	}
	return true;
}

static bool tcp_client_life(const struct sockaddr_storage *to)
{
	uint8_t *out = malloc(MESSAGE_MAX + 4), *in = malloc(MESSAGE_MAX);
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	bool ok;

	side = (struct side){ 0 };
	CHECK(out && in && fd >= 0 && !connect(fd, (const struct sockaddr *)to, sizeof(struct sockaddr_in)));
	ok = tcp_calls(fd, out + 4, in);
	close(fd);
	free(out);
	free(in);
	return ok;
}

/* From TCP to RDMA: the server is in the other process, so is the client. */
static void reaching_gateway(struct ends *e)
{
	struct sockaddr_storage at, to;
	struct rpg_conf conf;
	unsigned long n = 0;
	bool fired;
	int lfd;

	gateway_begin();
	read_all(e->in, &to, sizeof(to));
	at = tcp_listen(&lfd);
	CHECK(write(e->out, &at, sizeof(at)) == sizeof(at));
	conf = gateway_conf(&to);
	do {
		struct rpg_client client = { .conf = &conf, .from = at };

		client.fd = accept(lfd, NULL, NULL);
		CHECK(client.fd >= 0 && !fcntl(client.fd, F_SETFL, O_NONBLOCK));
		fired = gateway_life(e, &client, ++n);
	} while (fired);
	gateway_end(n);
	close(lfd);
}

struct reached {
	struct ulp_listener *l;
	int until;
};

static void *serve_reached(void *arg)
{
	struct reached *r = arg;

	serve_many(r->l, r->until);
	return NULL;
}

static void reached_ends(struct ends *e)
{
	struct sockaddr_storage at;
	struct reached r;
	pthread_t thread;
	int stop[2];
	bool fired, ok;

	rpr_ends_fill();
	CHECK(!pipe(stop));
	r = (struct reached){ ends_listen(e, RDMA_PS_TCP), stop[0] };
	read_all(e->in, &at, sizeof(at));
	CHECK(!pthread_create(&thread, NULL, serve_reached, &r));
	do {
		ok = tcp_client_life(&at);
		read_all(e->in, &fired, 1);
		CHECK(write(e->out, &ok, 1) == 1);
	} while (fired);
	CHECK(write(stop[1], "x", 1) == 1 && !pthread_join(thread, NULL));
}

/* From RDMA to TCP, the same. */
static void serving_gateway(struct ends *e)
{
	struct sockaddr_storage to;
	struct ulp_listener *l;
	struct rpg_conf conf;
	unsigned long n = 0;
	bool fired;

	gateway_begin();
	read_all(e->in, &to, sizeof(to));
	l = ends_listen(e, RDMA_PS_TCP);
	conf = gateway_conf(&to);
	do {
		struct rpg_client client = { .conf = &conf, .is_rdma = true };

		ends_next_request(l, &client.request);
		client.from = client.request.from;
		fired = gateway_life(e, &client, ++n);
	} while (fired);
	gateway_end(n);
	ulp_listener_close(l);
}

/* Serves one connection after the other. */
static void *serve_tcp(void *arg)
{
	uint8_t *out = malloc(MESSAGE_MAX + 4), *in = malloc(MESSAGE_MAX);
	int lfd = *(int *)arg, fd;
	size_t len;

	CHECK(out && in);
	while ((fd = accept(lfd, NULL, NULL)) >= 0) {
		bool called = false;

		while ((len = tcp_take(fd, in))) {
			if (rpr_rpc_direction(in, len) == RPR_REPLY)
				rpr_ends_see_opaque(in, len, REPLY_RESULTS, BACK_LEN);
			else if (!tcp_put(fd, out + 4, rpr_ends_answer(out + 4, in, len)))
				break;
			if (!called && !tcp_put(fd, out + 4, rpr_ends_back_call(out + 4, BACK_XID)))
				break;
			called = true;
		}
		close(fd);
	}
	free(out);
	free(in);
	return NULL;
}

static void served_ends(struct ends *e)
{
	struct sockaddr_storage at;
	char why[ULP_WHY_MAX];
	pthread_t thread;
	bool fired, ok;
	int lfd;

	rpr_ends_fill();
	at = tcp_listen(&lfd);
	CHECK(write(e->out, &at, sizeof(at)) == sizeof(at));
	read_all(e->in, &at, sizeof(at));
	CHECK(!pthread_create(&thread, NULL, serve_tcp, &lfd));
	do {
		ok = client_life(&at, true, why);
		CHECK(ok || *why);
		read_all(e->in, &fired, 1);
		CHECK(write(e->out, &ok, 1) == 1);
	} while (fired);
	CHECK(!shutdown(lfd, SHUT_RDWR) && !pthread_join(thread, NULL));
	close(lfd);
}

/* --- a listener fails --- */

static void listener_fails(void)
{
	struct ulp_listener *l;
	unsigned long n = 0;
	bool fired;

	do {
		struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };

		nth_arm(++n);
		errno = 0;
		l = ulp_listen((struct sockaddr *)&at, RDMA_PS_TCP, -1, 8);
		CHECK(l || errno);
		if (l)
			ulp_listener_close(l);
		fired = nth_disarm();
		CHECK_MSG(!nth_left(), "n = %lu: %ld objects are left after %s", n, nth_left(), nth_name());
	} while (fired);
	CHECK(l && n > 4);
}

int main(void)
{
	ends_run("the n-th call of the client fails", AF_INET, many_server, client_fails);
	ends_run("the n-th call of the server fails", AF_INET, server_fails, client_of_failing);
	ends_run("the n-th call of a gateway from TCP to RDMA fails", AF_INET, reaching_gateway, reached_ends);
	ends_run("the n-th call of a gateway from RDMA to TCP fails", AF_INET, serving_gateway, served_ends);
	listener_fails(); /* in this process, so behind the last fork */
	return 0;
}
