/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rpcrdma/server.h"
#include "ulp/rpcrdma/plain.h"
#include "ulp/rpcrdma/reply.h"
#include "ulp/rpcrdma/rpc.h"

#include <errno.h>
#include <stdlib.h>

enum call_state { CALL_FREE, CALL_READING, CALL_OUT, CALL_REPLYING };

struct call {
	struct rpr_conn *conn;
	enum call_state state;
	uint8_t *message;              /* inline memory of the reply */
	struct rpr_header header;      /* as it came; then that of the reply */
	struct rpr_nfs nfs;
	bool has_key;
	uint32_t key;                  /* to be invalidated with the reply */
	struct rpr_buf *buf;           /* the call; then the reply */
	struct rpr_job job;
	uint64_t number;               /* of arrival */
};

struct rpr_server {
	unsigned nr, out;              /* calls; those that are not replied to */
	uint64_t arrived;
	struct call *call;
	struct rpr_layout layout;
	struct rpr_reply reply;
	struct rpr_nfs_call nfs;
};

/* A client may send its next call as soon as it has a reply, which is before our Send has completed. */
unsigned rpr_server_messages(uint32_t credits)
{
	return 2 * credits;
}

int rpr_server_init(struct rpr_conn *c)
{
	struct rpr_server *s = calloc(1, sizeof(*s));

	c->server = s;
	if (!s)
		return -ENOMEM;
	s->nr = rpr_server_messages(c->conf.credits);
	s->call = calloc(s->nr, sizeof(*s->call));
	if (!s->call)
		return -ENOMEM;
	for (unsigned i = 0; i < s->nr; i++) {
		s->call[i].conn = c;
		s->call[i].message = rpr_call_memory(c, i);
	}
	return 0;
}

void rpr_server_fini(struct rpr_conn *c)
{
	struct rpr_server *s = c->server;

	if (!s)
		return;
	for (unsigned i = 0; s->call && i < s->nr; i++) {
		rpr_buf_put(&c->bufs, s->call[i].buf);
		rpr_job_fini(&s->call[i].job);
	}
	free(s->call);
	free(s);
	c->server = NULL;
}

static void release(struct call *k)
{
	rpr_buf_put(&k->conn->bufs, k->buf);
	k->buf = NULL;
	k->state = CALL_FREE;
}

/* --- the call --- */

/* The call is whole: its header is checked, and the program has it. */
static int deliver(struct call *k)
{
	struct rpr_conn *c = k->conn;
	struct rpr_buf *b = k->buf;
	enum rpr_verdict v = RPR_GOOD;

	if (rpr_rpc_direction(b->data, b->len) != RPR_CALL)
		v = RPR_BAD_RPC;
	else if (rpr_rpc_xid(b->data) != k->header.xid)
		v = RPR_OTHER_XID;
	if (v) {
		c->server->out--;
		release(k);
		return rpr_plain_error(c, k->header.xid, v, c->conf.credits);
	}
	rpr_nfs_call(&c->server->nfs, b->data, b->len);
	k->nfs = c->server->nfs.nfs;
	k->state = CALL_OUT;
	k->buf = NULL;
	c->counts.calls++;
	c->ops->message(c->user, b);
	return 0;
}

static void fetched(void *owner, struct rpr_job *job)
{
	struct call *k = owner;

	(void)job;
	if (deliver(k))
		ulp_end(&k->conn->rdma, ENOBUFS, "too many malformed calls are outstanding");
}

/* Copies what lies inline, and adds a Read for each other piece. */
static int place(struct call *k, const struct rpr_layout *l, const uint8_t *body)
{
	struct rpr_buf *b = k->buf;

	b->len = l->len;
	for (unsigned i = 0; i < l->nr; i++) {
		const struct rpr_piece *p = &l->piece[i];

		if (p->kind == RPR_PIECE_INLINE)
			memcpy(b->data + p->at, body + p->from, p->len);
		else if (p->kind == RPR_PIECE_ZERO)
			memset(b->data + p->at, 0, p->len);
		else if (!rpr_job_add(&k->job, (struct rpr_wr){ .opcode = IBV_WR_RDMA_READ,
								.local = (uintptr_t)(b->data + p->at),
								.length = p->len, .lkey = b->mr->lkey,
								.remote = p->remote, .rkey = p->handle }))
			return -ENOMEM;
	}
	return 0;
}

static struct call *get_free(struct rpr_server *s)
{
	for (unsigned i = 0; i < s->nr; i++)
		if (s->call[i].state == CALL_FREE)
			return &s->call[i];
	return NULL;
}

int rpr_server_call(struct rpr_conn *c, const struct rpr_received *m)
{
	struct rpr_server *s = c->server;
	struct call *k = s->out < c->conf.credits ? get_free(s) : NULL;
	enum rpr_verdict v;
	int r;

	if (!k)
		return rpr_end_rule(c, RPR_CREDITS);
	v = rpr_layout_call(&s->layout, &c->header, m->len, c->conf.max_message);
	if (v)
		return rpr_plain_error(c, c->header.xid, v, c->conf.credits);
	k->buf = rpr_buf_get(&c->bufs);
	if (!k->buf)
		return ulp_end(&c->rdma, ENOMEM, "no memory for a call");
	k->header = c->header;
	k->has_key = rpr_reply_key(&k->header, &k->key);
	k->number = s->arrived++;
	k->state = CALL_READING;
	s->out++;
	c->counts.read_chunks += s->layout.nr_reads && k->header.proc == RPR_MSG;
	c->counts.long_calls += k->header.proc == RPR_NOMSG;
	rpr_job_begin(&k->job, fetched, k);
	r = place(k, &s->layout, m->body);
	if (!r)
		r = k->job.nr ? rpr_sendq_add(&c->sendq, &k->job) : deliver(k);
	return r ? ulp_end(&c->rdma, -r, "the chunks of a call cannot be read (%s)", strerror(-r)) : 0;
}

/* --- the reply --- */

static struct call *find(struct rpr_server *s, uint32_t xid)
{
	struct call *found = NULL;

	for (unsigned i = 0; i < s->nr; i++) {
		struct call *k = &s->call[i];

		if (k->state == CALL_OUT && k->header.xid == xid && (!found || k->number < found->number))
			found = k;
	}
	return found;
}

static void replied(void *owner, struct rpr_job *job)
{
	(void)job;
	release(owner);
}

/* Where the next byte of a chunk goes. */
struct cursor {
	const struct rpr_segment *segment;
	uint32_t used;
};

static int write_part(struct call *k, struct cursor *to, struct rpr_part part)
{
	uint32_t len;

	while (part.len) {
		len = to->segment->length - to->used;
		if (len > part.len)
			len = (uint32_t)part.len;
		if (len && !rpr_job_add(&k->job, (struct rpr_wr){
				.opcode = IBV_WR_RDMA_WRITE, .local = (uintptr_t)(k->buf->data + part.from), .length = len,
				.lkey = k->buf->mr->lkey, .remote = to->segment->offset + to->used,
				.rkey = to->segment->handle }))
			return -ENOMEM;
		to->used += len;
		part.from += len;
		part.len -= len;
		if (to->used == to->segment->length) {
			to->segment++;
			to->used = 0;
		}
	}
	return 0;
}

static int write_chunks(struct call *k, const struct rpr_reply *f)
{
	const struct rpr_header *h = &k->header;
	struct cursor to;
	int r = 0;

	for (unsigned i = 0; i < f->nr_items && !r; i++) {
		to = (struct cursor){ h->segments + h->writes[i].first, 0 };
		r = write_part(k, &to, f->item[i]);
		k->conn->counts.write_chunks += f->item[i].len != 0;
	}
	to = (struct cursor){ h->segments + h->reply.first, 0 };
	for (unsigned i = 0; i < f->nr_rest && f->in_chunk && !r; i++)
		r = write_part(k, &to, f->rest[i]);
	k->conn->counts.reply_chunks += f->in_chunk;
	return r;
}

/* The Send behind the chunks. */
static int add_send(struct call *k, const struct rpr_reply *f)
{
	struct rpr_conn *c = k->conn;
	size_t len = rpr_header_put(&k->header, k->message, c->conf.inline_size);
	bool invalidates = k->has_key && c->conf.remote_inv && c->peer.remote_inv;

	for (unsigned i = 0; i < f->nr_rest && !f->in_chunk; i++) {
		memcpy(k->message + len, k->buf->data + f->rest[i].from, f->rest[i].len);
		len += f->rest[i].len;
	}
	c->counts.remote_inv += invalidates;
	return rpr_job_add(&k->job, (struct rpr_wr){
		.opcode = invalidates ? IBV_WR_SEND_WITH_INV : IBV_WR_SEND, .local = (uintptr_t)k->message,
		.length = (uint32_t)len, .lkey = c->rdma.mr->lkey, .rkey = k->key }) ? 0 : -ENOMEM;
}

/* The reply does not fit what the call offered: the client gets an error in its place. */
static int refuse(struct call *k, enum rpr_verdict v)
{
	struct rpr_conn *c = k->conn;
	int r = rpr_plain_error(c, k->header.xid, v, c->conf.credits);

	release(k);
	return r ? ulp_end(&c->rdma, -r, "an error cannot be sent (%s)", strerror(-r)) : 0;
}

int rpr_server_reply(struct rpr_conn *c, struct rpr_buf *buf)
{
	struct rpr_server *s = c->server;
	struct call *k = find(s, rpr_rpc_xid(buf->data));
	struct rpr_reply *f = &s->reply;
	enum rpr_verdict v;
	int r;

	if (!k)
		return -EBADMSG;
	k->buf = buf;
	k->state = CALL_REPLYING;
	s->out--;
	v = rpr_reply_form(f, &k->header, &k->nfs, buf->data, buf->len, c->conf.credits, c->send_max);
	if (v)
		return refuse(k, v);
	rpr_job_begin(&k->job, replied, k);
	r = write_chunks(k, f);
	if (!r)
		r = add_send(k, f);
	if (!r)
		r = rpr_sendq_add(&c->sendq, &k->job);
	c->counts.replies++;
	return r ? ulp_end(&c->rdma, -r, "a reply cannot be sent (%s)", strerror(-r)) : 0;
}
