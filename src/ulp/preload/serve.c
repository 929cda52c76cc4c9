/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A listener of the carrier accepts from the network, names the connection, and connects it to the
 * program's unix listener, whose backlog and accept() are the kernel's. It ends once that listener is
 * gone: then another socket can be bound to its name, which leaves no trace at the listener.
 */
#include "ulp/preload/serve.h"
#include "ulp/preload/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <rdma/rsocket.h>

#define LOOK_MS 100                     /* between looks at the program's listener */
#define PORT_TRIES 20                   /* a listener that has just gone still has its port for LOOK_MS */
#define PORT_WAIT_MS 20

static atomic_uint accepted;

struct arrival {
	int net;
	struct rsp_request q;
};

unsigned rsp_serve_accepted(void)
{
	return atomic_load(&accepted);
}

static void answer(int sock, int r)
{
	int32_t text = r;

	while (send(sock, &text, sizeof(text), MSG_NOSIGNAL) < 0 && errno == EINTR)
		;
	close(sock);
}

static void close_fds(int fds[2])
{
	for (int i = 0; i < 2; i++) {
		if (fds[i] >= 0)
			close(fds[i]);
		fds[i] = -1;
	}
}

typedef int name_fn(int, struct sockaddr *, socklen_t *);

static void read_addr(int fd, name_fn *get, bool dual, struct rsp_addr *ret)
{
	struct sockaddr_storage ss = { .ss_family = AF_UNSPEC };
	socklen_t len = sizeof(ss);

	get(fd, (struct sockaddr *)&ss, &len);
	rsp_addr_from(ret, (struct sockaddr *)&ss);
	if (dual)
		rsp_addr_map(ret);
}

static int carrier_name(int fd, bool rdma, bool dual, struct rsp_name *ret)
{
	*ret = (struct rsp_name){ .kind = RSP_CARRIER };
	read_addr(fd, rdma ? rgetsockname : getsockname, dual, &ret->local);
	read_addr(fd, rdma ? rgetpeername : getpeername, dual, &ret->peer);
	return ret->peer.family ? 0 : -ENOTCONN;
}

/* Makes the carrier's end of an accepted connection and hands the other to the program's listener. */
static int deliver(const struct arrival *a)
{
	struct rsp_name name;
	int un = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

	if (un < 0)
		return -errno;
	r = carrier_name(a->net, true, a->q.dual, &name);
	if (!r)
		r = rsp_name_bind(un, &name);
	if (!r && connect(un, (const struct sockaddr *)&a->q.listener, a->q.listener_len))
		r = -errno;
	if (!r)
		return un;
	close(un);
	return r;
}

static void *serve_arrival(void *arg)
{
	struct arrival *a = arg;
	int net = a->net, un = deliver(a);

	free(a);
	if (un >= 0)
		rsp_relay(un, net, true);
	else
		rclose(net);
	atomic_fetch_sub(&accepted, 1);
	return NULL;
}

static void arrive(const struct rsp_request *q, int net)
{
	struct arrival *a = malloc(sizeof(*a));

	atomic_fetch_add(&accepted, 1);
	if (a) {
		*a = (struct arrival){ net, *q };
		if (!rsp_thread(serve_arrival, a))
			return;
	}
	atomic_fetch_sub(&accepted, 1);
	free(a);
	rclose(net);
}

static bool is_there(const struct rsp_request *q)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	bool gone;

	if (fd < 0)
		return true;
	gone = !bind(fd, (const struct sockaddr *)&q->listener, q->listener_len);
	close(fd);
	return !gone;
}

static int bind_to(int net, const struct rsp_addr *to)
{
	struct sockaddr_storage ss;
	socklen_t len = rsp_addr_to(to, &ss);

	for (int i = 0; rbind(net, (struct sockaddr *)&ss, len); i++) {
		if (errno != EADDRINUSE || i == PORT_TRIES)
			return -errno;
		poll(NULL, 0, PORT_WAIT_MS);
	}
	return 0;
}

static int open_listener(const struct rsp_request *q)
{
	int net = rsocket(q->local.family, SOCK_STREAM, 0), on = 1, v6only = q->v6only, r = 0;

	if (net < 0)
		return -errno;
	if (q->reuse)
		rsetsockopt(net, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
	if (q->local.family == AF_INET6)
		rsetsockopt(net, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, sizeof(v6only));
	r = bind_to(net, &q->local);
	if (!r && rlisten(net, q->backlog))
		r = -errno;
	if (!r && rfcntl(net, F_SETFL, O_NONBLOCK))
		r = -errno;
	if (!r)
		return net;
	rclose(net);
	return r;
}

static void serve_listen(int sock, const struct rsp_request *q)
{
	int net = open_listener(q), fd;
	struct pollfd p = { net, POLLIN, 0 };

	answer(sock, net < 0 ? net : 0);
	if (net < 0)
		return;
	while (is_there(q)) {
		if (rpoll(&p, 1, LOOK_MS) <= 0)
			continue;
		fd = raccept(net, NULL, NULL);
		if (fd >= 0)
			arrive(q, fd);
	}
	rclose(net);
}

static int connect_rdma(const struct rsp_request *q)
{
	struct rsp_addr peer = q->peer, local = q->local;
	struct sockaddr_storage ss;
	socklen_t len;
	int net, r = 0;

	rsp_addr_unmap(&peer);
	rsp_addr_unmap(&local);
	net = rsocket(peer.family, SOCK_STREAM, 0);
	if (net < 0)
		return -errno;
	if (local.port && local.family == peer.family)
		r = bind_to(net, &local);
	len = rsp_addr_to(&peer, &ss);
	if (!r && rconnect(net, (struct sockaddr *)&ss, len))
		r = -errno;
	if (!r)
		return net;
	rclose(net);
	return r;
}

/* The program's own socket, which the program has left by its non-blocking connect. */
static int connect_tcp(const struct rsp_request *q, int tcp)
{
	struct sockaddr_storage ss;
	socklen_t len = rsp_addr_to(&q->peer, &ss);

	if (tcp < 0)
		return -ECONNREFUSED;
	fcntl(tcp, F_SETFL, O_RDWR);
	return connect(tcp, (struct sockaddr *)&ss, len) ? -errno : tcp;
}

/* The stream tells a non-blocking program of its connection: by the name, then by room for data. */
static int announce(const struct rsp_request *q, int un, int net, bool rdma)
{
	char *junk;
	struct rsp_name name;
	int r = carrier_name(net, rdma, q->dual, &name);

	if (!r)
		r = rsp_name_bind(un, &name);
	if (r || !q->nowait)
		return r;
	junk = malloc(RSP_JUNK);
	if (!junk || recv(un, junk, RSP_JUNK, MSG_WAITALL) != RSP_JUNK)
		r = -EPIPE;
	free(junk);
	return r;
}

static void fail(int un, int err)
{
	struct rsp_name name = { .kind = RSP_FAILED, .err = (uint8_t)-err };

	rsp_name_bind(un, &name);
}

static void serve_connect(int sock, const struct rsp_request *q, int fds[2])
{
	int net, r;
	bool rdma = true;

	if (q->nowait)
		answer(sock, 0);
	net = connect_rdma(q);
	if (net < 0 && q->nowait) {
		rdma = false;
		net = connect_tcp(q, fds[1]);
	}
	r = net < 0 ? net : announce(q, fds[0], net, rdma);
	if (!q->nowait)
		answer(sock, r);
	else if (net < 0)
		fail(fds[0], r);
	if (net >= 0 && !r) {
		if (!rdma)
			fds[1] = -1;
		rsp_relay(fds[0], net, rdma);
		fds[0] = -1;
	} else if (net >= 0 && rdma) {
		rclose(net);
	}
}

void rsp_serve(int sock, const struct rsp_request *q, int fds[2])
{
	if (q->op == RSP_OP_LISTEN) {
		serve_listen(sock, q);
	} else if (q->op == RSP_OP_CONNECT && fds[0] >= 0) {
		serve_connect(sock, q, fds);
	} else {
		answer(sock, -EPROTO);
	}
	close_fds(fds);
}
