/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The cost of DAT over verbs. Two processes hold one connection on each; every round runs the same loop
 * at the same depth on one and at once on the other, so that both have the same conditions. The result
 * is the median of the differences of the pairs.
 *
 * usage: dapple run --adapter roce -- bench-dat-paired [--gate] [ROUNDS [ROW]]
 *        ROW: only rows whose name has this text. DAPPLE_DAT_IA names the adapter.
 */
#include "end.h"

#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_ROUNDS = 1000, MAX_CALLS = 1000, RECEIVES = 2 * DEPTH };
/* CALLS: duration of the two calls of a request, the post and the poll that finds its completion; the
 * median of single calls, which other programs on the machine hardly change. */
enum how { PING_WRITE, PING_SEND, CALLS_WRITE, CALLS_SEND, STREAM_WRITE, STREAM_SEND };

static const struct row {
	const char *name;
	enum how how;
	bool block;
	uint32_t len, n;
	double most; /* microseconds for a ping, share for a stream */
} rows[] = {
	{ "Write, 8 B, post and reap alone", CALLS_WRITE, false, 8, 500, 0.2 },
	{ "Send, 8 B, post and reap alone", CALLS_SEND, false, 8, 500, 0.2 },
	{ "Write, 8 B, polling", PING_WRITE, false, 8, 300, 0.2 },
	{ "Send, 8 B, polling", PING_SEND, false, 8, 300, 0.2 },
	{ "Send, 8 B, blocking", PING_SEND, true, 8, 100, 0.2 },
	{ "Write and its completion, 8 B, blocking", STREAM_WRITE, true, 8, 200, 0.2 },
	{ "Write, 64 KiB, polling", STREAM_WRITE, false, 65536, 128, 0.05 },
	{ "Write, 64 KiB, blocking", STREAM_WRITE, true, 65536, 128, 0.05 },
	{ "Send, 64 KiB, polling", STREAM_SEND, false, 65536, 128, 0.05 },
	{ "Send, 64 KiB, blocking", STREAM_SEND, true, 65536, 128, 0.05 },
};

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void tell(int control, const void *p, size_t n)
{
	MUST(write(control, p, n) == (ssize_t)n);
}

void hear(int control, void *p, size_t n)
{
	MUST(recv(control, p, n, MSG_WAITALL) == (ssize_t)n);
}

void swap_keys(struct end *e, int control, uint32_t key)
{
	uint64_t addr = (uintptr_t)e->buf;

	tell(control, &addr, sizeof(addr));
	tell(control, &key, sizeof(key));
	hear(control, &e->peer_addr, sizeof(e->peer_addr));
	hear(control, &e->peer_key, sizeof(e->peer_key));
}

static int by_value(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return x < y ? -1 : x > y;
}

static void await_sent(struct end *e, bool block)
{
	while (!e->reap_sent(e, block))
		;
}

/* The last byte says which turn it is; the peer's Write lands in the upper half of the buffer. */
static void ping_write(struct end *e, const struct row *r, bool server, uint32_t n)
{
	volatile char *theirs = e->buf + (server ? 0 : 4096) + r->len - 1;
	uint32_t mine = server ? 4096 : 0;

	for (uint32_t i = 1; i <= n; i++) {
		char turn = (char)(i % 100 + 1);

		if (server)
			while (*theirs != turn)
				e->reap_sent(e, false);
		e->buf[mine + r->len - 1] = turn;
		e->write(e, mine, r->len);
		await_sent(e, false);
		if (!server)
			while (*theirs != turn)
				e->reap_received(e, false);
	}
}

/* The next receive is there before the answer that lets the peer go on. */
static void ping_send(struct end *e, const struct row *r, bool server, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++) {
		if (!server)
			e->send(e, 0, r->len);
		while (!e->reap_received(e, r->block))
			;
		if (i + 1 < n)
			e->recv(e, 4096, r->len);
		if (server)
			e->send(e, 0, r->len);
		await_sent(e, r->block);
	}
}

/* Over iWARP a Send ends when TCP has taken it, and one for which no receive waits ends the
 * connection: beyond the first receives, the peer says when it has posted the next DEPTH. */
static void await_receives(int control, uint32_t i)
{
	char go;

	if (i >= RECEIVES && i % DEPTH == 0)
		hear(control, &go, 1);
}

static void stream_out(struct end *e, const struct row *r, int control, uint32_t n)
{
	uint32_t posted = 0, done = 0, depth = r->block && r->len == 8 ? 1 : DEPTH;

	while (done < n) {
		while (posted < n && posted - done < depth) {
			uint32_t off = posted % depth * r->len;

			if (r->how == STREAM_SEND) {
				await_receives(control, posted);
				e->send(e, off, r->len);
			} else {
				e->write(e, off, r->len);
			}
			posted++;
		}
		done += e->reap_sent(e, r->block);
	}
}

/* Twice as many receives as Sends in flight, so that RNR has no part in the result. */
static void stream_in(struct end *e, const struct row *r, int control, uint32_t n)
{
	char go = 0;

	for (uint32_t done = 0; done < n;) {
		unsigned int got = e->reap_received(e, r->block);

		for (unsigned int i = 0; i < got; i++) {
			if (done + RECEIVES < n)
				e->recv(e, done % DEPTH * r->len, r->len);
			if (++done % DEPTH == 0 && done - DEPTH + RECEIVES < n)
				tell(control, &go, 1);
		}
	}
}

static double calls(struct end *e, const struct row *r, int control, uint32_t n)
{
	static double post[MAX_CALLS], reap[MAX_CALLS];
	uint64_t t0, t1;

	MUST(n <= MAX_CALLS);
	for (uint32_t i = 0; i < n; i++) {
		if (r->how == CALLS_SEND)
			await_receives(control, i);
		t0 = now();
		(r->how == CALLS_SEND ? e->send : e->write)(e, 0, r->len);
		post[i] = (double)(now() - t0);
		do {
			t0 = now();
			t1 = e->reap_sent(e, false);
			reap[i] = (double)(now() - t0);
		} while (!t1);
	}
	qsort(post, n, sizeof(*post), by_value);
	qsort(reap, n, sizeof(*reap), by_value);
	return post[n / 2] + reap[n / 2];
}

/* One run at one end; nanoseconds a message at the client. A Send answers each stream, so that the
 * time of a Write includes its arrival. */
static double run(struct end *e, const struct row *r, bool server, int control, uint32_t n)
{
	bool to_server = r->how == STREAM_SEND || r->how == CALLS_SEND;
	double each = 0;
	char go = 0;
	uint64_t t;

	memset(e->buf, 0, 8192);
	if (server && to_server)
		for (uint32_t i = 0; i < RECEIVES && i < n; i++)
			e->recv(e, i % DEPTH * r->len, r->len);
	if (r->how == PING_SEND)
		e->recv(e, 4096, r->len);
	tell(control, &go, 1);
	hear(control, &go, 1);
	t = now();
	if (r->how == PING_WRITE)
		ping_write(e, r, server, n);
	else if (r->how == PING_SEND)
		ping_send(e, r, server, n);
	else if (!server && r->how <= CALLS_SEND)
		each = calls(e, r, control, n);
	else if (!server)
		stream_out(e, r, control, n);
	else if (to_server)
		stream_in(e, r, control, n);
	t = now() - t;
	tell(control, &go, 1);
	hear(control, &go, 1);
	if (each)
		return each;
	return (double)t / n / (r->how <= PING_SEND ? 2 : 1);
}

struct spread {
	double low, median, high; /* quartiles */
};

static struct spread spread_of(double *v, unsigned int n)
{
	qsort(v, n, sizeof(*v), by_value);
	return (struct spread){ v[n / 4], v[n / 2], v[n - 1 - n / 4] };
}

static bool report(const struct row *r, double *verbs, double *dat, double *diff, unsigned int n)
{
	struct spread v = spread_of(verbs, n), d = spread_of(dat, n), x = spread_of(diff, n);
	bool stream = r->len > 8;
	double cost = stream ? x.median / v.median : x.median / 1000;

	printf("%-40s verbs %8.3f (%.3f-%.3f)  dat %8.3f (%.3f-%.3f)  ", r->name, v.median / 1000,
	       v.low / 1000, v.high / 1000, d.median / 1000, d.low / 1000, d.high / 1000);
	if (stream)
		printf("dat costs %+.1f %% (%+.1f..%+.1f)\n", 100 * cost, 100 * x.low / v.median,
		       100 * x.high / v.median);
	else
		printf("dat costs %+.3f us (%+.3f..%+.3f)\n", cost, x.low / 1000, x.high / 1000);
	fflush(stdout);
	return !r->most || cost <= r->most;
}

static bool side(bool server, int control, unsigned int rounds, const char *ia, const char *only)
{
	static double v[MAX_ROUNDS], d[MAX_ROUNDS], x[MAX_ROUNDS];
	struct end verbs, dat;
	bool good = true;

	verbs_open(&verbs, server, control);
	dat_open(&dat, server, control, ia);
	for (unsigned int i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];

		if (!strstr(r->name, only))
			continue;
		run(&verbs, r, server, control, r->n / 4);
		run(&dat, r, server, control, r->n / 4);
		for (unsigned int k = 0; k < rounds; k++) {
			/* neither is always the second */
			if (k & 1)
				d[k] = run(&dat, r, server, control, r->n);
			v[k] = run(&verbs, r, server, control, r->n);
			if (!(k & 1))
				d[k] = run(&dat, r, server, control, r->n);
			x[k] = d[k] - v[k];
		}
		if (!server)
			good &= report(r, v, d, x, rounds);
	}
	return good;
}

int main(int argc, char **argv)
{
	bool gate = argc > 1 && !strcmp(argv[1], "--gate"), good;
	const char *ia = getenv("DAPPLE_DAT_IA");
	int sock[2], status = 0;
	unsigned int rounds;
	pid_t child;

	argv += gate;
	argc -= gate;
	rounds = argc > 1 ? (unsigned int)atoi(argv[1]) : 101;
	MUST(rounds && rounds <= MAX_ROUNDS);
	if (!ia)
		ia = "dapple-roce-lo";
	MUST(!socketpair(AF_UNIX, SOCK_STREAM, 0, sock));
	child = fork();
	MUST(child >= 0);
	close(sock[child ? 1 : 0]);
	good = side(!child, sock[child ? 0 : 1], rounds, ia, argc > 2 ? argv[2] : "");
	if (!child)
		return 0;
	MUST(waitpid(child, &status, 0) == child);
	return status || (gate && !good);
}
