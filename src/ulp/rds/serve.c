/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/serve.h"

#include "ulp/rds/info.h"
#include "ulp/rds/keep.h"
#include "ulp/rds/listener.h"
#include "ulp/rds/region.h"

#include <errno.h>
#include <linux/rds.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#define REQUESTS_MAX 256                /* connections of programs at one time */

struct server {
	struct rds_watch watch;
	struct rds_node *node;
	unsigned asking;
};

/* A program that has connected. */
struct asking {
	struct rds_watch watch;
	struct server *server;
};

/* --- answers --- */

/* The name of the carrier's end tells the program where its socket is bound, and by which carrier. */
static int bind_sock(struct rds_node *n, struct rds_sock *s, const struct rds_request *q, struct rds_answer *a)
{
	struct rsp_name name = { .kind = RDS_NAME_BOUND, .local = q->addr, .peer.scope = n->generation };
	bool is_done = q->again && rds_same_addr(&s->bound, &q->addr) && (!q->addr.port || q->addr.port == s->bound.port);
	int r = is_done ? 0 : rds_node_bind(n, s, &name.local);

	if (r)
		return r;
	if (is_done)
		name.local = s->bound;
	rds_keep_sock(s);
	r = rsp_name_bind(s->watch.fd, &name);
	if (is_done && r == -EINVAL)
		r = 0; /* it has the name */
	if (r)
		s->bound = (struct rsp_addr){ 0 };
	a->addr = name.local;
	return r;
}

static int set(struct rds_sock *s, const struct rds_request *q)
{
	switch (q->option) {
	case RDS_OPTION_SNDBUF:
		s->sndbuf = (size_t)q->value;
		rds_sock_flow(s);
		return 0;
	case RDS_OPTION_RCVBUF:
		s->rcvbuf = (size_t)q->value;
		return 0;
	case RDS_RECVERR:
		s->recverr = q->value != 0;
		return 0;
	case RDS_CONG_MONITOR:
		s->monitor = q->value != 0;
		return 0;
	case SO_RDS_TRANSPORT:
		if (q->again && s->transport == (int)q->value)
			return 0;
		if (s->bound.family || s->transport != (int)RDS_TRANS_NONE)
			return -EOPNOTSUPP;
		if (q->value < 0 || q->value >= RDS_TRANS_COUNT)
			return -EINVAL;
		if (q->value != RDS_TRANS_TCP && q->value != RDS_TRANS_IB)
			return -ENOPROTOOPT;
		s->transport = (int)q->value;
		return 0;
	default:
		return -ENOPROTOOPT;
	}
}

/* What a bound socket that has chosen nothing has got. */
static int preferred(const struct rds_sock *s)
{
	return rds_listener_prefers_rdma(s->node, &s->bound) ? RDS_TRANS_IB : RDS_TRANS_TCP;
}

static int get(const struct rds_sock *s, const struct rds_request *q, struct rds_answer *a)
{
	switch (q->option) {
	case RDS_RECVERR:
		a->value = s->recverr;
		return 0;
	case SO_RDS_TRANSPORT:
		a->value = s->transport == (int)RDS_TRANS_NONE && s->bound.family ? preferred(s) : s->transport;
		return 0;
	default:
		return -ENOPROTOOPT;
	}
}

/* A region of the program's memory, by the adapter of the socket's address. */
static int make_region(struct rds_node *n, struct rds_sock *s, const struct rds_request *q, int fd, struct rds_answer *a)
{
	const struct rds_region_spec spec = { q->region.addr, q->region.len, q->region.flags & RDS_RDMA_USE_ONCE };
	struct ibv_context *verbs = s->bound.family ? rds_listener_verbs(n, &s->bound) : NULL;
	uint64_t cookie;
	int r;

	if (!s->bound.family)
		return -ENOTCONN;
	if (!verbs || s->transport == RDS_TRANS_TCP || (s->transport != RDS_TRANS_IB && !rds_listener_prefers_rdma(n, &s->bound)))
		return -EOPNOTSUPP;
	if (q->op == RDS_OP_MAY_REGION)
		return 0;
	r = fd < 0 ? -EINVAL : rds_region_make(&s->regions, verbs, &spec, fd, &cookie);
	if (!r)
		a->value = (int64_t)cookie;
	return r;
}

static int may_work(struct rds_node *n, const struct rds_sock *s, const struct rds_request *q)
{
	if (q->option && !rds_region_has(&s->regions, (uint32_t)q->value))
		return -EINVAL;
	return rds_node_may_work(n, s, &q->addr);
}

static int answer(struct rds_node *n, struct rds_sock *s, const struct rds_request *q, int fd, struct rds_answer *a)
{
	switch (q->op) {
	case RDS_OP_BIND:
		return bind_sock(n, s, q, a);
	case RDS_OP_CONNECT:
		s->peer = q->addr;
		return 0;
	case RDS_OP_NAME:
		a->addr = s->bound;
		return 0;
	case RDS_OP_PEER:
		a->addr = s->peer;
		return s->peer.family ? 0 : -ENOTCONN;
	case RDS_OP_CANCEL:
		rds_node_cancel(n, s, q->addr.family ? &q->addr : NULL);
		return 0;
	case RDS_OP_SET:
		return set(s, q);
	case RDS_OP_GET:
		return get(s, q, a);
	case RDS_OP_MAY_REGION:
	case RDS_OP_REGION:
		return make_region(n, s, q, fd, a);
	case RDS_OP_FREE_REGION:
		return rds_region_free(&s->regions, (uint32_t)q->value) || q->again ? 0 : -EINVAL;
	case RDS_OP_MAY_WORK:
		return may_work(n, s, q);
	default:
		return -EINVAL;
	}
}

/* Answers that come with a descriptor, which the caller closes unless it is the node's. */
static int answer_fd(struct rds_node *n, const struct rds_request *q, struct rds_answer *a)
{
	int fd;

	if (q->op == RDS_OP_MAPS)
		return dup(n->maps_fd);
	fd = q->op == RDS_OP_INFO ? rds_info(n, (int)q->option, &a->each, &a->len) : -1;
	if (q->op == RDS_OP_INFO && fd < 0)
		a->error = fd;
	return fd;
}

static void serve_one(struct rds_node *n, int sock, const struct rds_request *q, int fd)
{
	struct rds_answer a = { 0 };
	struct iovec iov = { &a, sizeof(a) };
	struct rds_sock *s = rds_sock_find(n, &q->name, q->name_len);
	int pass = -1;

	if (q->op == RDS_OP_SOCKET) {
		a.error = fd < 0 ? -EINVAL : rds_sock_open(n, fd);
		fd = -1;
	} else if (q->op == RDS_OP_MAPS || q->op == RDS_OP_INFO) {
		pass = answer_fd(n, q, &a);
	} else {
		a.error = s ? answer(n, s, q, fd, &a) : -EBADF;
		if (s)
			rds_keep_sock(s);
	}
	rds_pass(sock, &iov, 1, pass, MSG_DONTWAIT);
	if (pass >= 0)
		close(pass);
	if (fd >= 0)
		close(fd);
}

static void asked(struct rds_watch *w, uint32_t events)
{
	struct asking *c = ut_container(w, struct asking, watch);
	struct rds_node *n = c->server->node;
	struct rds_request q;
	struct iovec iov = { &q, sizeof(q) };
	int fd, flags;
	ssize_t len = rds_take(w->fd, &iov, 1, &fd, MSG_DONTWAIT, &flags);

	if (len == -EAGAIN)
		return;
	if (len == sizeof(q) && q.name_len <= sizeof(q.name))
		serve_one(n, w->fd, &q, fd);
	else if (fd >= 0)
		close(fd);
	c->server->asking--;
	rds_watch_close(&n->loop, w);
	free(c);
}

/* --- programs that connect --- */

static bool of_our_user(int sock)
{
	struct ucred c;
	socklen_t len = sizeof(c);

	return !getsockopt(sock, SOL_SOCKET, SO_PEERCRED, &c, &len) && c.uid == geteuid();
}

static void connected(struct rds_watch *w, uint32_t events)
{
	struct server *s = ut_container(w, struct server, watch);
	int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	struct asking *c = fd < 0 || s->asking >= REQUESTS_MAX || !of_our_user(fd) ? NULL : calloc(1, sizeof(*c));

	if (c)
		*c = (struct asking){ { fd, EPOLLIN, asked }, s };
	if (c && !rds_watch_add(&s->node->loop, &c->watch)) {
		s->asking++;
		return;
	}
	if (fd >= 0)
		close(fd);
	free(c);
}

int rds_serve(struct rds_node *n, int listener)
{
	static struct server s;

	s = (struct server){ { listener, EPOLLIN, connected }, n, 0 };
	return rds_watch_add(&n->loop, &s.watch);
}
