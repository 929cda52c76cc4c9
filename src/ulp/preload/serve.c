/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A listener of the carrier accepts from the network, names the connection, and connects it to the
 * program's unix listener, whose backlog and accept() are the kernel's. It ends once that listener is
 * gone: then another socket can be bound to its name, which leaves no trace at the listener.
 */
#include "ulp/preload/serve.h"
#include "ulp/preload/net.h"
#include "ulp/preload/relay.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOOK_MS 100                     /* between looks at the program's listener */
#define PORT_TRIES 20                   /* one that has just gone still has its port for LOOK_MS */
#define PORT_WAIT_MS 20

static atomic_uint accepted;
static atomic_bool ending;

struct arrival {
	struct rsp_net *net;
	struct rsp_request q;
};

unsigned rsp_serve_accepted(void)
{
	return atomic_load(&accepted);
}

void rsp_serve_end_listeners(bool end)
{
	atomic_store(&ending, end);
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

static void read_addr(const struct sockaddr_storage *ss, bool dual, struct rsp_addr *ret)
{
	rsp_addr_from(ret, (const struct sockaddr *)ss);
	if (dual)
		rsp_addr_map(ret);
}

static int carrier_name(const struct rsp_net *net, bool dual, struct rsp_name *ret)
{
	struct sockaddr_storage local = { .ss_family = AF_UNSPEC }, peer = local;

	net->ops->names(net, &local, &peer);
	*ret = (struct rsp_name){ .kind = RSP_CARRIER };
	read_addr(&local, dual, &ret->local);
	read_addr(&peer, dual, &ret->peer);
	return ret->peer.family ? 0 : -ENOTCONN;
}

/* Makes the carrier's end of an accepted connection and hands the other to the program's listener. */
static int deliver(const struct arrival *a)
{
	struct rsp_name name;
	int un = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), r;

	if (un < 0)
		return -errno;
	r = carrier_name(a->net, a->q.dual, &name);
	if (!r)
		r = rsp_name_bind(un, &name);
	if (!r)
		a->net->ops->named(un, a->net);
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
	struct rsp_net *net = a->net;
	int un = net->ops->stand(net);

	if (!un)
		un = deliver(a);
	free(a);
	if (un >= 0)
		net->ops->relay(un, net);
	else
		net->ops->close(net);
	atomic_fetch_sub(&accepted, 1);
	return NULL;
}

static void arrive(const struct rsp_request *q, struct rsp_net *net)
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
	net->ops->close(net);
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

typedef struct rsp_net *open_fn(const struct rsp_request *q, int *ret);

/* Listens or connects by the way of the request. */
static struct rsp_net *open_net(const struct rsp_request *q, open_fn *open, int *ret)
{
	struct rsp_net *net = open(q, ret);

	for (int i = 0; !net && *ret == -EADDRINUSE && i < PORT_TRIES; i++) {
		poll(NULL, 0, PORT_WAIT_MS);
		net = open(q, ret);
	}
	return net;
}

/* A listener by TCP beside that of the way; where that one has the port by TCP itself, there is none. */
static struct rsp_net *beside(const struct rsp_request *q, int *tcp)
{
	int fd = *tcp;

	if (!q->tcp || fd < 0 || listen(fd, q->backlog))
		return NULL;
	*tcp = -1;
	return rsp_net_tcp(fd);
}

/* Waits for a connection at both listeners. */
static struct rsp_net *next_of(struct rsp_net *net, struct rsp_net *tcp)
{
	struct pollfd p[2] = { { net->ops->fd(net), POLLIN, 0 }, { tcp ? tcp->ops->fd(tcp) : -1, POLLIN, 0 } };

	if (p[0].fd < 0 || !tcp)
		return net->ops->accept(net, LOOK_MS);
	if (poll(p, 2, LOOK_MS) <= 0)
		return NULL;
	return p[0].revents ? net->ops->accept(net, 0) : tcp->ops->accept(tcp, 0);
}

static void serve_listen(int sock, const struct rsp_request *q, int fds[2])
{
	int r;
	struct rsp_net *net = open_net(q, rsp_way(q)->listen, &r), *tcp, *got;

	tcp = net ? beside(q, &fds[0]) : NULL;
	answer(sock, net ? 0 : r);
	if (!net)
		return;
	while (!atomic_load(&ending) && is_there(q)) {
		got = next_of(net, tcp);
		if (got)
			arrive(q, got);
	}
	net->ops->close(net);
	if (tcp)
		tcp->ops->close(tcp);
}

/* The program's own socket, which the program has left by its non-blocking connect. */
static struct rsp_net *connect_tcp(const struct rsp_request *q, int tcp, int *ret)
{
	struct sockaddr_storage ss;
	socklen_t len = rsp_addr_to(&q->peer, &ss);
	struct rsp_net *net;

	*ret = -ECONNREFUSED;
	if (tcp < 0)
		return NULL;
	fcntl(tcp, F_SETFL, O_RDWR);
	*ret = connect(tcp, (struct sockaddr *)&ss, len) ? -errno : 0;
	if (*ret) {
		close(tcp);
		return NULL;
	}
	net = rsp_net_tcp(tcp);
	*ret = net ? 0 : -ENOMEM;
	return net;
}

/* The stream tells a non-blocking program of its connection: by the name, then by room for data. */
static int announce(const struct rsp_request *q, int un, struct rsp_net *net)
{
	char *junk;
	struct rsp_name name;
	int r = carrier_name(net, q->dual, &name);

	if (!r)
		r = rsp_name_bind(un, &name);
	if (!r)
		net->ops->named(un, net);
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
	struct rsp_net *net;
	int r;

	if (q->nowait)
		answer(sock, 0);
	net = open_net(q, rsp_way(q)->connect, &r);
	if (!net && q->nowait && q->tcp) {
		net = connect_tcp(q, fds[1], &r);
		fds[1] = -1;
	}
	if (net)
		r = announce(q, fds[0], net);
	if (!q->nowait)
		answer(sock, r);
	else if (!net)
		fail(fds[0], r);
	if (net && !r) {
		net->ops->relay(fds[0], net);
		fds[0] = -1;
	} else if (net) {
		net->ops->close(net);
	}
}

void rsp_serve(int sock, const struct rsp_request *q, int fds[2])
{
	if (q->op == RSP_OP_LISTEN) {
		serve_listen(sock, q, fds);
	} else if (q->op == RSP_OP_CONNECT && fds[0] >= 0) {
		serve_connect(sock, q, fds);
	} else {
		answer(sock, -EPROTO);
	}
	close_fds(fds);
}
