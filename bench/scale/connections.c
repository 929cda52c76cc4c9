/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The rate at which connections are made, and the memory of an idle one.
 *
 *	dapple run [--adapter KIND] -- bench-connections [N] [WINDOW]
 *
 * Two processes on loopback make N connections by the RDMA CM, WINDOW at a time, and keep them;
 * right before that, the same number of plain TCP ones by connect() and accept(), one at a time.
 * Printed are both rates, their ratio, and the growth of each process's resident set from the
 * first connection to the last, per connection. Memory of the kernel (a socket for each
 * connection of iWARP) is not in it. All queue pairs share one CQ and hold one request each way.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define TARGET_RATE 2000
#define TARGET_KIB 64

struct report {
	double kib; /* per connection */
	uint16_t port;
};

static int total = 1000, window = 64;
static struct rdma_event_channel *channel;
static struct ibv_cq *cq;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void need(int good, const char *operation)
{
	if (good)
		return;
	fprintf(stderr, "bench-connections: %s: %s\n", operation, strerror(errno));
	exit(1);
}

static double resident_kib(void)
{
	long size, pages = 0;
	FILE *f = fopen("/proc/self/statm", "re");

	need(f && fscanf(f, "%ld %ld", &size, &pages) == 2, "statm");
	fclose(f);
	return (double)pages * (double)sysconf(_SC_PAGESIZE) / 1024;
}

static struct sockaddr_in loopback(uint16_t port)
{
	return (struct sockaddr_in){ .sin_family = AF_INET, .sin_port = port,
				     .sin_addr = { htonl(INADDR_LOOPBACK) } };
}

/* --- plain TCP --- */

static void tcp_accept_all(int l)
{
	for (int i = 0; i < total; i++)
		need(accept4(l, NULL, NULL, SOCK_CLOEXEC) >= 0, "accept");
	_exit(0);
}

static double tcp_rate(void)
{
	struct sockaddr_in a = loopback(0);
	socklen_t len = sizeof(a);
	int l = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), *fd = calloc((size_t)total, sizeof(*fd));
	double t;
	pid_t child;

	need(l >= 0 && fd && !bind(l, (struct sockaddr *)&a, len) && !listen(l, 1024) &&
	     !getsockname(l, (struct sockaddr *)&a, &len), "listen");
	child = fork();
	if (child == 0)
		tcp_accept_all(l);
	t = now();
	for (int i = 0; i < total; i++) {
		fd[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
		need(!connect(fd[i], (struct sockaddr *)&a, sizeof(a)), "connect");
	}
	waitpid(child, NULL, 0);
	t = now() - t;
	for (int i = 0; i < total; i++)
		close(fd[i]);
	close(l);
	free(fd);
	return total / t;
}

/* --- both ends of the RDMA CM --- */

static void make_qp(struct rdma_cm_id *id)
{
	struct ibv_qp_init_attr a = { .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1 } };

	if (!cq)
		cq = ibv_create_cq(id->verbs, 64, NULL, NULL, 0);
	need(cq != NULL, "CQ");
	a.send_cq = a.recv_cq = cq;
	need(!rdma_create_qp(id, id->pd, &a), "QP");
}

static enum rdma_cm_event_type next_event(struct rdma_cm_id **id)
{
	enum rdma_cm_event_type kind;
	struct rdma_cm_event *e;

	need(!rdma_get_cm_event(channel, &e), "event");
	kind = e->event;
	*id = e->id;
	if (e->status)
		fprintf(stderr, "bench-connections: %s: status %d\n", rdma_event_str(kind), e->status);
	rdma_ack_cm_event(e);
	return kind;
}

static void drop(struct rdma_cm_id *id)
{
	rdma_destroy_qp(id);
	need(!rdma_destroy_id(id), "destroy");
}

/* --- the server --- */

static void serve(int out)
{
	struct sockaddr_in a = loopback(0);
	struct rdma_conn_param p = { .retry_count = 7, .rnr_retry_count = 7 };
	struct report r = { 0 };
	struct rdma_cm_id *l = NULL, *id;
	double first = 0;
	int made = 0, gone = 0;

	channel = rdma_create_event_channel();
	need(channel && !rdma_create_id(channel, &l, NULL, RDMA_PS_TCP) &&
	     !rdma_bind_addr(l, (struct sockaddr *)&a) && !rdma_listen(l, 1024), "listen");
	r.port = rdma_get_src_port(l);
	need(write(out, &r, sizeof(r)) == sizeof(r), "pipe");
	while (gone < total) {
		enum rdma_cm_event_type kind = next_event(&id);

		if (kind == RDMA_CM_EVENT_CONNECT_REQUEST) {
			make_qp(id);
			need(!rdma_accept(id, &p), "accept");
		} else if (kind == RDMA_CM_EVENT_DISCONNECTED) {
			rdma_disconnect(id);
			drop(id);
			gone++;
		} else if (kind == RDMA_CM_EVENT_ESTABLISHED && ++made == 1) {
			first = resident_kib();
		}
		if (kind == RDMA_CM_EVENT_ESTABLISHED && made == total) {
			r.kib = (resident_kib() - first) / (total - 1);
			need(write(out, &r, sizeof(r)) == sizeof(r), "pipe");
		}
	}
	rdma_destroy_id(l);
	exit(0);
}

/* --- the client --- */

static void start(struct sockaddr_in *to)
{
	struct rdma_cm_id *id;

	need(!rdma_create_id(channel, &id, NULL, RDMA_PS_TCP) &&
	     !rdma_resolve_addr(id, NULL, (struct sockaddr *)to, 5000), "resolve");
}

/* One step of one connection; true when it has been made. */
static int step(struct rdma_cm_id **id)
{
	struct rdma_conn_param p = { .retry_count = 7, .rnr_retry_count = 7 };
	enum rdma_cm_event_type kind = next_event(id);

	if (kind == RDMA_CM_EVENT_ADDR_RESOLVED) {
		need(!rdma_resolve_route(*id, 5000), "route");
	} else if (kind == RDMA_CM_EVENT_ROUTE_RESOLVED) {
		make_qp(*id);
		need(!rdma_connect(*id, &p), "connect");
	} else if (kind != RDMA_CM_EVENT_ESTABLISHED && kind != RDMA_CM_EVENT_DISCONNECTED) {
		fprintf(stderr, "bench-connections: %s\n", rdma_event_str(kind));
		exit(1);
	}
	return kind == RDMA_CM_EVENT_ESTABLISHED;
}

/* Returns the seconds from the second connection to the last: the first opens the adapters. */
static double connect_all(struct rdma_cm_id **ids, uint16_t port, double *kib)
{
	struct sockaddr_in to = loopback(port);
	double before = 0, t = 0;
	int made = 0, asked = 1;

	channel = rdma_create_event_channel();
	need(channel != NULL, "channel");
	start(&to);
	while (made < total) {
		made += step(&ids[made]);
		if (made && !t) {
			before = resident_kib();
			t = now();
		}
		while (made && asked < total && asked - made < window) {
			start(&to);
			asked++;
		}
	}
	t = now() - t;
	*kib = (resident_kib() - before) / (total - 1);
	return t;
}

static void run_client(int in, double raw)
{
	struct rdma_cm_id **ids = calloc((size_t)total + 1, sizeof(*ids));
	struct report r;
	double kib, t, rate;

	need(ids && read(in, &r, sizeof(r)) == sizeof(r), "server");
	t = connect_all(ids, r.port, &kib);
	rate = (total - 1) / t;
	need(read(in, &r, sizeof(r)) == sizeof(r), "server");
	printf("%d connections, %d at a time: %.0f/s, %.3f of TCP's %.0f/s; target at least %d/s: %s\n",
	       total, window, rate, rate / raw, raw, TARGET_RATE, rate < TARGET_RATE ? "MISSED" : "met");
	printf("memory of an idle one: %.1f KiB at the client, %.1f KiB at the server; target at "
	       "most %d KiB: %s\n", kib, r.kib, TARGET_KIB,
	       kib > TARGET_KIB || r.kib > TARGET_KIB ? "MISSED" : "met");
	fflush(stdout);
	t = now();
	for (int i = 0; i < total; i++) {
		rdma_disconnect(ids[i]);
		drop(ids[i]);
	}
	printf("ended: %.0f/s\n", total / (now() - t));
}

int main(int argc, char **argv)
{
	struct rlimit files;
	int ends[2], status = 0;
	double raw;
	pid_t child;

	total = argc > 1 ? atoi(argv[1]) : total;
	window = argc > 2 ? atoi(argv[2]) : window;
	if (total < 2 || window < 1) {
		fprintf(stderr, "usage: bench-connections [N] [WINDOW]\n");
		return 2;
	}
	getrlimit(RLIMIT_NOFILE, &files);
	files.rlim_cur = files.rlim_max;
	setrlimit(RLIMIT_NOFILE, &files);
	raw = tcp_rate();
	need(!pipe(ends), "pipe");
	child = fork();
	if (child == 0) {
		close(ends[0]);
		serve(ends[1]);
	}
	close(ends[1]);
	run_client(ends[0], raw);
	waitpid(child, &status, 0);
	return status ? 1 : 0;
}
