/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rpcrdma/gateway/bridge.h"
#include "ulp/rpcrdma/gateway/tcp.h"
#include "ulp/rpcrdma/rpc.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct bridge {
	struct rpr_conn *c;
	struct rpg_tcp tcp;
	struct rpr_buf *blocked;   /* a call that waits for credits */
	bool starved;              /* no buffer is free */
	char from[ULP_ADDR_TEXT_MAX], to[ULP_ADDR_TEXT_MAX];
};

static void from_rdma(void *user, struct rpr_buf *buf)
{
	struct bridge *b = user;

	rpg_tcp_add(&b->tcp, buf);
}

static const struct rpr_ops ops = { from_rdma };

/* A message that RDMA does not take: if it is a call, its sender gets an answer. */
static void refuse(struct bridge *b, struct rpr_buf *buf)
{
	uint8_t failed[RPR_RPC_FAILED_LEN];

	if (rpr_rpc_direction(buf->data, buf->len) != RPR_CALL) {
		rpr_conn_buf_put(b->c, buf);
		return;
	}
	rpr_rpc_failed(failed, rpr_rpc_xid(buf->data));
	memcpy(buf->data, failed, sizeof(failed));
	buf->len = sizeof(failed);
	rpg_tcp_add(&b->tcp, buf);
}

/* Returns 0, -EAGAIN if the message waits, or another negative errno. */
static int to_rdma(struct bridge *b, struct rpr_buf *buf)
{
	int r = rpr_conn_send(b->c, buf);

	if (r == -EAGAIN) {
		b->blocked = buf;
		return r;
	}
	if (r == -EMSGSIZE || r == -EBADMSG) {
		refuse(b, buf);
		return 0;
	}
	return r;
}

/* Takes messages off the stream until it is empty, or RDMA takes none. */
static int from_tcp(struct bridge *b)
{
	struct rpr_buf *buf;
	int r;

	b->starved = false;
	while ((r = rpg_tcp_read(&b->tcp, b->c, &buf)) == 1) {
		r = to_rdma(b, buf);
		if (r)
			return r == -EAGAIN ? 0 : r;
	}
	b->starved = r == -ENOBUFS && !rpr_conn_has_ended(b->c);
	return b->starved ? 0 : r;
}

static int unblock(struct bridge *b)
{
	struct rpr_buf *buf = b->blocked;
	int r;

	if (!buf || !rpr_conn_may_call(b->c))
		return 0;
	b->blocked = NULL;
	r = to_rdma(b, buf);
	return r == -EAGAIN ? 0 : r;
}

static int await(struct bridge *b)
{
	struct pollfd p[RPR_CONN_FDS + 1];
	bool reads = !b->blocked && !b->starved;

	rpr_conn_fds(b->c, p);
	p[RPR_CONN_FDS] = (struct pollfd){ b->tcp.fd, (short)((reads ? POLLIN : 0) | (b->tcp.out_first ? POLLOUT : 0)), 0 };
	return poll(p, RPR_CONN_FDS + 1, -1) < 0 && errno != EINTR ? -errno : 0;
}

/* One turn: what has come is passed on. Returns 0 or a negative errno; *ret_tcp tells of which side. */
static int turn(struct bridge *b, bool *ret_tcp)
{
	int r = await(b);

	*ret_tcp = false;
	if (!r)
		r = rpr_conn_progress(b->c);
	if (!r)
		r = unblock(b);
	*ret_tcp = !r;
	if (!r && !b->blocked)
		r = from_tcp(b);
	if (!r)
		r = rpg_tcp_write(&b->tcp, b->c);
	*ret_tcp &= !rpr_conn_has_ended(b->c);
	return r;
}

static void say_counts(const struct bridge *b)
{
	const struct rpr_counts *n = rpr_conn_counts(b->c);
	uint32_t out, in;
	bool inv;

	rpr_conn_sizes(b->c, &out, &in, &inv);
	printf("%s -> %s: calls %" PRIu64 " replies %" PRIu64 " read-chunks %" PRIu64 " write-chunks %" PRIu64
	       " reply-chunks %" PRIu64 " long-calls %" PRIu64 " remote-invalidations %" PRIu64 " back-calls %" PRIu64
	       " back-replies %" PRIu64 " errors %" PRIu64 " inline %u %u\n", b->from, b->to, n->calls, n->replies,
	       n->read_chunks, n->write_chunks, n->reply_chunks, n->long_calls, n->remote_inv, n->back_calls,
	       n->back_replies, n->errors, out, in);
	fflush(stdout);
}

/* The cause of an end that is not the TCP side's. */
static const char *cause(const struct bridge *b, int r)
{
	return rpr_conn_has_ended(b->c) ? rpr_conn_why(b->c) : strerror(-r);
}

/* An orderly end needs no words; some programs reset their connections at their end. */
static void say_end(const struct bridge *b, int r, bool tcp)
{
	const struct rpr_counts *n = rpr_conn_counts(b->c);

	if (tcp && r == -ECONNRESET && n->calls == n->replies)
		return;
	if (tcp && r == -EMSGSIZE)
		fprintf(stderr, "dapple rpcrdma: connection %s -> %s: a message on TCP is longer than %zu bytes: the "
			"connection ends; raise --max-message\n", b->from, b->to, rpr_conn_max(b->c));
	else if (tcp && r != -EPIPE)
		fprintf(stderr, "dapple rpcrdma: connection %s -> %s: the TCP side fails (%s): the connection ends, "
			"and calls without a reply are lost; see the messages of the other end\n", b->from, b->to, strerror(-r));
	else if (!tcp && r != -ECONNRESET)
		fprintf(stderr, "dapple rpcrdma: connection %s -> %s: %s: this connection alone ends, and its calls without a "
			"reply are lost; let the client connect again (dapple why names failures of the adapter)\n", b->from, b->to, cause(b, r));
}

static void carry(const struct rpg_conf *conf, struct bridge *b, int fd)
{
	bool tcp;
	int r;

	rpg_tcp_init(&b->tcp, fd, rpr_conn_max(b->c));
	while (!(r = turn(b, &tcp)))
		;
	say_end(b, r, tcp);
	if (conf->counts)
		say_counts(b);
	rpr_conn_buf_put(b->c, b->blocked);
	rpg_tcp_fini(&b->tcp, b->c);
	rpr_conn_close(b->c);
}

static void say_unreached(const struct bridge *b, const char *why)
{
	fprintf(stderr, "dapple rpcrdma: server %s for client %s: %s: the client is refused; start the server, or correct "
		"--to\n", b->to, b->from, why);
}

static void rdma_to_tcp(struct rpg_client *client, struct bridge *b)
{
	const struct rpg_conf *conf = client->conf;
	int fd = rpg_tcp_connect(&conf->to.addr, conf->to.len, RPG_TIMEOUT_MS);
	char why[ULP_WHY_MAX];

	if (fd < 0) {
		say_unreached(b, strerror(-fd));
		ulp_request_refuse(&client->request);
		return;
	}
	b->c = rpr_accept(client->request.id, client->request.data, client->request.len, &conf->rdma, &ops, b,
			  RPG_TIMEOUT_MS, why);
	if (b->c) {
		carry(conf, b, fd);
		return;
	}
	close(fd);
	fprintf(stderr, "dapple rpcrdma: client %s: %s: it is not accepted; correct that, and connect again\n", b->from, why);
}

static void tcp_to_rdma(struct rpg_client *client, struct bridge *b)
{
	const struct rpg_conf *conf = client->conf;
	char why[ULP_WHY_MAX];

	b->c = rpr_connect((const struct sockaddr *)&conf->to.addr, &conf->rdma, &ops, b, RPG_TIMEOUT_MS, why);
	if (b->c) {
		carry(conf, b, client->fd);
		return;
	}
	say_unreached(b, why);
	close(client->fd);
}

void rpg_bridge(struct rpg_client *client)
{
	struct bridge b = { 0 };

	ulp_addr_text(b.from, &client->from);
	ulp_addr_text(b.to, &client->conf->to.addr);
	if (client->is_rdma)
		rdma_to_tcp(client, &b);
	else
		tcp_to_rdma(client, &b);
}
