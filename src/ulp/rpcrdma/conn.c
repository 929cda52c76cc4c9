/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rpcrdma/conn.h"
#include "ulp/rpcrdma/client.h"
#include "ulp/rpcrdma/cm.h"
#include "ulp/rpcrdma/plain.h"
#include "ulp/rpcrdma/rpc.h"
#include "ulp/rpcrdma/server.h"
#include "ulp/rpcrdma/window.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#define POLL_BATCH 32

/* Buffers in use at most: a client's call has three; one more of each credit waits, or is with the program. */
#define BUFS_PER_CREDIT 4

static bool conf_is_sane(const struct rpr_conf *f)
{
	return f->inline_size >= RPR_INLINE_DEFAULT && f->inline_size <= RPR_INLINE_MAX &&
	       f->inline_size % RPR_INLINE_UNIT == 0 && f->credits && f->credits <= RPR_CREDITS_MAX &&
	       f->max_message >= f->inline_size && f->max_message <= RPR_MESSAGE_MAX;
}

static struct rpr_conn *create(const struct rpr_conf *conf, const struct rpr_ops *ops, void *user, char *why)
{
	struct rpr_conn *c = conf_is_sane(conf) ? calloc(1, sizeof(*c)) : NULL;

	if (!c) {
		snprintf(why, ULP_WHY_MAX, "the configuration of the connection is invalid, or there is no memory");
		return NULL;
	}
	c->conf = *conf;
	c->ops = ops;
	c->user = user;
	c->send_max = RPR_INLINE_DEFAULT;
	c->nr_recv = conf->credits + RPR_BACK_CREDITS;
	return c;
}

static int post_receive(struct rpr_conn *c, unsigned i)
{
	struct ibv_sge sge = { (uintptr_t)(c->rdma.memory + (size_t)i * c->conf.inline_size), c->conf.inline_size,
			       c->rdma.mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;
	int r = ibv_post_recv(c->rdma.id->qp, &wr, &bad);

	return r ? ulp_end(&c->rdma, r, "a receive cannot be posted (%s)", strerror(r)) : 0;
}

static int make_memory(struct rpr_conn *c, bool client)
{
	int r = ulp_make_memory(&c->rdma, (size_t)(c->nr_recv + RPR_PLAINS + c->nr_call) * c->conf.inline_size);

	if (r)
		return r;
	for (unsigned i = 0; i < RPR_PLAINS; i++) {
		struct rpr_plain *p = &c->plain[i];

		p->conn = c;
		p->data = c->rdma.memory + (size_t)(c->nr_recv + i) * c->conf.inline_size;
		p->next = c->plain_free;
		c->plain_free = p;
	}
	rpr_bufs_init(&c->bufs, c->rdma.pd, c->conf.inline_size, c->conf.max_message + c->conf.inline_size,
		      BUFS_PER_CREDIT * c->conf.credits + 2 * RPR_PLAINS, c->windows && client);
	return 0;
}

static int make_qp(struct rpr_conn *c)
{
	struct ibv_qp_init_attr attr = { .send_cq = c->rdma.cq, .recv_cq = c->rdma.cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = RPR_SQ_DEPTH, .max_recv_wr = c->nr_recv, .max_send_sge = 1, .max_recv_sge = 1 } };
	int r = 0;

	if (rdma_create_qp(c->rdma.id, c->rdma.pd, &attr))
		return ulp_end(&c->rdma, errno, "no queue pair can be made (%s)", strerror(errno));
	c->sendq = (struct rpr_sendq){ .qp = c->rdma.id->qp, .room = RPR_SQ_DEPTH };
	for (unsigned i = 0; i < c->nr_recv && !r; i++)
		r = post_receive(c, i);
	return r;
}

/* Everything between a known adapter and the request or its acceptance. */
static int prepare(struct rpr_conn *c, bool client)
{
	int r;

	c->windows = c->conf.windows && rpr_windows_are_there(c->rdma.id->verbs);
	c->nr_call = client ? c->conf.credits : rpr_server_messages(c->conf.credits);
	r = ulp_make_queues(&c->rdma, RPR_SQ_DEPTH + c->nr_recv);
	if (!r)
		r = make_memory(c, client);
	if (!r)
		r = client ? rpr_client_init(c) : rpr_server_init(c);
	if (r)
		return ulp_end(&c->rdma, -r, "no memory for calls");
	return make_qp(c);
}

static struct rpr_conn *give_up(struct rpr_conn *c, char *why)
{
	snprintf(why, ULP_WHY_MAX, "%s", c->rdma.why);
	rpr_conn_close(c);
	return NULL;
}

struct rpr_conn *rpr_connect(const struct sockaddr *to, const struct rpr_conf *conf, const struct rpr_ops *ops,
			     void *user, int timeout_ms, char why[ULP_WHY_MAX])
{
	struct rpr_conn *c = create(conf, ops, user, why);

	if (!c)
		return NULL;
	if (rpr_cm_resolve(c, to, timeout_ms) || prepare(c, true) || rpr_cm_connect(c, timeout_ms))
		return give_up(c, why);
	return c;
}

struct rpr_conn *rpr_accept(struct rdma_cm_id *id, const void *data, size_t len, const struct rpr_conf *conf,
			    const struct rpr_ops *ops, void *user, int timeout_ms, char why[ULP_WHY_MAX])
{
	struct rpr_conn *c = create(conf, ops, user, why);

	if (!c) {
		rdma_destroy_id(id);
		return NULL;
	}
	if (rpr_cm_adopt(c, id, data, len) || prepare(c, false) || rpr_cm_accept(c, timeout_ms))
		return give_up(c, why);
	return c;
}

void rpr_conn_close(struct rpr_conn *c)
{
	if (c->established)
		rdma_disconnect(c->rdma.id);
	ulp_destroy_qp(&c->rdma);
	rpr_client_fini(c);
	rpr_server_fini(c);
	for (unsigned i = 0; i < RPR_PLAINS; i++)
		rpr_job_fini(&c->plain[i].job);
	rpr_bufs_fini(&c->bufs);
	ulp_destroy(&c->rdma);
	free(c);
}

/* --- messages --- */

/* A call of a server, or the reply to one, or neither. */
static bool is_backward(const struct rpr_conn *c, const struct rpr_received *m)
{
	return c->header.proc == RPR_MSG && rpr_rpc_direction(m->body, m->len) == (c->client ? RPR_CALL : RPR_REPLY);
}

static int take_backward(struct rpr_conn *c, const struct rpr_received *m)
{
	struct rpr_buf *b;

	if (c->header.nr_reads || c->header.nr_writes || c->header.has_reply)
		return ulp_end(&c->rdma, EPROTO, "a message of the backward direction has chunks (RFC 8167, 5.3)");
	if (c->server && !c->back_out)
		return 0; /* it belongs to no call */
	c->back_out -= c->server != NULL;
	b = rpr_buf_get(&c->bufs);
	if (!b)
		return ulp_end(&c->rdma, ENOMEM, "no memory for a call of the backward direction");
	memcpy(b->data, m->body, m->len);
	b->len = m->len;
	if (c->client)
		c->counts.back_calls++;
	else
		c->counts.back_replies++;
	c->ops->message(c->user, b);
	return 0;
}

static int refuse(struct rpr_conn *c, enum rpr_verdict v)
{
	uint32_t xid = c->header.xid;

	if (!rpr_rules[v].answer || c->client)
		return rpr_end_rule(c, v);
	if (rpr_plain_error(c, xid, v, c->conf.credits))
		return rpr_end_rule(c, v);
	return 0;
}

static int take_message(struct rpr_conn *c, const uint8_t *data, const struct ibv_wc *wc)
{
	struct rpr_received m = { .invalidated = wc->wc_flags & IBV_WC_WITH_INV, .key = wc->invalidated_rkey };
	size_t len;
	enum rpr_verdict v = rpr_header_get(&c->header, data, wc->byte_len, &len);

	if (v)
		return refuse(c, v);
	m.body = data + len;
	m.len = wc->byte_len - len;
	if (is_backward(c, &m))
		return take_backward(c, &m);
	if (c->client)
		return rpr_client_reply(c, &m);
	if (c->header.proc != RPR_ERROR)
		return rpr_server_call(c, &m);
	c->back_out -= c->back_out != 0; /* the client refuses a call of the backward direction */
	c->counts.errors++;
	return 0;
}

static int completed(struct rpr_conn *c, const struct ibv_wc *wc)
{
	int r;

	if (wc->status != IBV_WC_SUCCESS)
		return ulp_failed(&c->rdma, wc);
	if (!(wc->opcode & IBV_WC_RECV)) {
		r = rpr_sendq_completed(&c->sendq, wc);
		if (r)
			return ulp_end(&c->rdma, -r, "a request cannot be posted (%s)", strerror(-r));
		return c->rdma.error ? -c->rdma.error : 0;
	}
	r = take_message(c, c->rdma.memory + (size_t)wc->wr_id * c->conf.inline_size, wc);
	return r ? r : post_receive(c, (unsigned)wc->wr_id);
}

static int poll_all(struct rpr_conn *c)
{
	struct ibv_wc wc[POLL_BATCH];
	int n, r = 0;

	do {
		n = ibv_poll_cq(c->rdma.cq, POLL_BATCH, wc);
		for (int i = 0; i < n && !r; i++)
			r = completed(c, &wc[i]);
	} while (n == POLL_BATCH && !r);
	return n < 0 ? ulp_end(&c->rdma, EIO, "the completion queue cannot be polled") : r;
}

int rpr_conn_progress(struct rpr_conn *c)
{
	struct ibv_cq *cq;
	void *context;
	int r = c->rdma.error ? -c->rdma.error : poll_all(c);

	while (!r && !ibv_get_cq_event(c->rdma.channel, &cq, &context))
		ibv_ack_cq_events(cq, 1);
	if (!r && ibv_req_notify_cq(c->rdma.cq, 0))
		r = ulp_end(&c->rdma, EIO, "completions cannot be announced");
	/* What came before the request is announced by nothing. */
	if (!r)
		r = poll_all(c);
	if (!r)
		r = ulp_take_events(&c->rdma);
	return r ? r : c->rdma.error ? -c->rdma.error : 0;
}

/* Sends a message of the backward direction, which lies in buf. */
static int send_backward(struct rpr_conn *c, struct rpr_buf *buf)
{
	int r;

	if (c->server && c->back_out == RPR_BACK_CREDITS)
		return -EMSGSIZE;
	r = rpr_plain_send(c, buf->data, buf->len, RPR_BACK_CREDITS);
	if (r == -EAGAIN || r == -EMSGSIZE)
		return -EMSGSIZE;
	rpr_buf_put(&c->bufs, buf);
	if (r)
		return ulp_end(&c->rdma, -r, "a message of the backward direction cannot be sent (%s)", strerror(-r));
	c->back_out += c->server != NULL;
	if (c->server)
		c->counts.back_calls++;
	else
		c->counts.back_replies++;
	return 0;
}

int rpr_conn_send(struct rpr_conn *c, struct rpr_buf *buf)
{
	int direction = rpr_rpc_direction(buf->data, buf->len);

	if (c->rdma.error) {
		rpr_buf_put(&c->bufs, buf);
		return -EPIPE;
	}
	if (direction < 0)
		return -EBADMSG;
	if (direction == (c->client ? RPR_CALL : RPR_REPLY))
		return c->client ? rpr_client_call(c, buf) : rpr_server_reply(c, buf);
	return send_backward(c, buf);
}

/* --- looks --- */

void rpr_conn_fds(const struct rpr_conn *c, struct pollfd fds[RPR_CONN_FDS])
{
	fds[0] = (struct pollfd){ c->rdma.channel->fd, POLLIN, 0 };
	fds[1] = (struct pollfd){ c->rdma.events->fd, POLLIN, 0 };
}

bool rpr_conn_has_ended(const struct rpr_conn *c)
{
	return c->rdma.error;
}

const char *rpr_conn_why(const struct rpr_conn *c)
{
	return c->rdma.why;
}

struct rpr_buf *rpr_conn_buf(struct rpr_conn *c)
{
	struct rpr_buf *b = rpr_buf_get(&c->bufs);

	if (!b && c->bufs.nr < c->bufs.nr_max)
		ulp_end(&c->rdma, ENOMEM, "no memory for a message");
	return b;
}

void rpr_conn_buf_put(struct rpr_conn *c, struct rpr_buf *buf)
{
	rpr_buf_put(&c->bufs, buf);
}

size_t rpr_conn_max(const struct rpr_conn *c)
{
	return c->conf.max_message;
}

bool rpr_conn_may_call(const struct rpr_conn *c)
{
	return c->server || rpr_client_may_call(c);
}

const struct rpr_counts *rpr_conn_counts(const struct rpr_conn *c)
{
	return &c->counts;
}

void rpr_conn_sizes(const struct rpr_conn *c, uint32_t *ret_send, uint32_t *ret_receive, bool *ret_remote_inv)
{
	*ret_send = c->send_max;
	*ret_receive = c->conf.inline_size;
	*ret_remote_inv = c->conf.remote_inv && c->peer.remote_inv;
}
