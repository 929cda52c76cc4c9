/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rpcrdma/client.h"
#include "ulp/rpcrdma/rpc.h"
#include "ulp/rpcrdma/window.h"
#include "ulp/rpcrdma/xdr.h"

#include <errno.h>
#include <stdlib.h>

#define SMALL_REPLY_MAX 900     /* nfs.h: small_reply */

enum call_state { CALL_IDLE, CALL_WAITING, CALL_SENT };

enum { WINDOW_READ, WINDOW_WRITE, WINDOW_REPLY, NR_WINDOWS };

struct call {
	struct rpr_conn *conn;
	enum call_state state;
	uint32_t xid;
	uint8_t *message;              /* inline memory of the call */
	uint8_t *inline_reply;         /* copy of the reply's inline part */
	size_t inline_len;
	struct rpr_nfs_call nfs;
	struct rpr_buf *call;          /* until the reply */
	struct rpr_buf *data, *whole;  /* targets of the write chunk and of the reply chunk */
	uint32_t data_max, whole_max;  /* bytes of them that are offered */
	uint32_t data_used, whole_used;
	bool has_data, has_whole, failed;
	struct rpr_window window[NR_WINDOWS];
	struct rpr_job send, invalidate;
	bool replied;                  /* the reply has come; Sends or invalidates may be under way */
	struct call *next;             /* waiting */
};

struct rpr_client {
	unsigned credits, out;         /* granted; used */
	struct call *call;             /* conf.credits of them */
	struct call *first, *last;     /* waiting for credits */
	uint8_t *inline_memory;
};

static void finish(struct call *k);

int rpr_client_init(struct rpr_conn *c)
{
	struct rpr_client *cl = calloc(1, sizeof(*cl));

	c->client = cl;
	if (!cl)
		return -ENOMEM;
	cl->credits = 1; /* RFC 8166, 3.3.1: until the first reply */
	cl->call = calloc(c->conf.credits, sizeof(*cl->call));
	cl->inline_memory = calloc(c->conf.credits, c->conf.inline_size);
	if (!cl->call || !cl->inline_memory)
		return -ENOMEM;
	for (unsigned i = 0; i < c->conf.credits; i++) {
		cl->call[i].conn = c;
		cl->call[i].message = rpr_call_memory(c, i);
		cl->call[i].inline_reply = cl->inline_memory + (size_t)i * c->conf.inline_size;
	}
	return 0;
}

static void put_all(struct call *k)
{
	rpr_buf_put(&k->conn->bufs, k->call);
	rpr_buf_put(&k->conn->bufs, k->data);
	rpr_buf_put(&k->conn->bufs, k->whole);
	k->call = k->data = k->whole = NULL;
}

void rpr_client_fini(struct rpr_conn *c)
{
	struct rpr_client *cl = c->client;

	if (!cl)
		return;
	for (unsigned i = 0; cl->call && i < c->conf.credits; i++) {
		struct call *k = &cl->call[i];

		put_all(k);
		for (unsigned w = 0; w < NR_WINDOWS; w++)
			rpr_window_fini(&k->window[w]);
		rpr_job_fini(&k->send);
		rpr_job_fini(&k->invalidate);
	}
	free(cl->call);
	free(cl->inline_memory);
	free(cl);
	c->client = NULL;
}

bool rpr_client_may_call(const struct rpr_conn *c)
{
	for (unsigned i = 0; i < c->conf.credits; i++)
		if (c->client->call[i].state == CALL_IDLE)
			return true;
	return false;
}

/* --- the call --- */

static int offer(struct call *k, unsigned window, struct rpr_buf *buf, const uint8_t *at, uint32_t len,
		 unsigned access, struct rpr_segment *ret)
{
	int r = rpr_window_open(k->conn, &k->window[window], &k->send, buf, at, len, access);

	*ret = (struct rpr_segment){ k->window[window].key, len, (uintptr_t)at };
	return r;
}

/* Places for the data of a read, and for a reply that does not fit inline. */
static int offer_targets(struct call *k, struct rpr_header *h)
{
	struct rpr_conn *c = k->conn;
	struct rpr_segment s;
	int r;

	k->data_max = k->nfs.nr_reads ? k->nfs.read_max[0] : 0;
	if (k->data_max + SMALL_REPLY_MAX <= c->conf.inline_size || k->data_max > c->conf.max_message)
		k->data_max = 0;
	if (k->data_max) {
		k->data = rpr_buf_get(&c->bufs);
		if (!k->data)
			return -ENOMEM;
		r = offer(k, WINDOW_WRITE, k->data, k->data->data, k->data_max, IBV_ACCESS_REMOTE_WRITE, &s);
		if (r)
			return r;
		rpr_header_add_write(h, s, true);
		c->counts.write_chunks++;
	}
	if (k->nfs.small_reply)
		return 0;
	k->whole = rpr_buf_get(&c->bufs);
	if (!k->whole)
		return -ENOMEM;
	k->whole_max = c->conf.max_message;
	r = offer(k, WINDOW_REPLY, k->whole, k->whole->data, k->whole_max, IBV_ACCESS_REMOTE_WRITE, &s);
	if (r)
		return r;
	rpr_header_add_reply(h, s);
	c->counts.reply_chunks++;
	return 0;
}

/* The call without the bytes of its item. */
static size_t put_reduced(uint8_t *out, const struct rpr_buf *b, const struct rpr_item *item)
{
	size_t behind = item->at + rpr_xdr_round(item->len);

	memcpy(out, b->data, item->at);
	memcpy(out + item->at, b->data + behind, b->len - behind);
	return item->at + b->len - behind;
}

static int offer_source(struct call *k, struct rpr_header *h, size_t at, size_t len, uint32_t position)
{
	struct rpr_segment s;
	int r = offer(k, WINDOW_READ, k->call, k->call->data + at, (uint32_t)len, IBV_ACCESS_REMOTE_READ, &s);

	if (r)
		return r;
	rpr_header_add_read(h, position, s);
	return 0;
}

/* Chooses the form of the call and writes its message. Returns its length, or a negative errno. */
static ssize_t put_call(struct call *k, struct rpr_header *h)
{
	const struct rpr_item *item = k->nfs.args.nr == 1 ? &k->nfs.args.item[0] : NULL;
	size_t header = rpr_header_len(h), read = 4 + RPR_RpcRdmaRead_LEN, max = k->conn->send_max;
	struct rpr_buf *b = k->call;
	int r;

	if (header + b->len <= max) {
		rpr_header_put(h, k->message, max);
		memcpy(k->message + header, b->data, b->len);
		return (ssize_t)(header + b->len);
	}
	if (item && item->len && item->at % 4 == 0 && header + read + b->len - rpr_xdr_round(item->len) <= max) {
		r = offer_source(k, h, item->at, item->len, (uint32_t)item->at);
		k->conn->counts.read_chunks++;
	} else {
		item = NULL;
		h->proc = RPR_NOMSG;
		r = offer_source(k, h, 0, b->len, 0);
		k->conn->counts.long_calls++;
	}
	if (r)
		return r;
	header = rpr_header_put(h, k->message, max);
	return (ssize_t)(item ? header + put_reduced(k->message + header, b, item) : header);
}

static void sent(void *owner, struct rpr_job *job)
{
	struct call *k = owner;

	(void)job;
	if (k->replied)
		finish(k);
}

static int start(struct call *k)
{
	struct rpr_conn *c = k->conn;
	struct rpr_header *h = &c->header;
	ssize_t len;
	int r;

	rpr_nfs_call(&k->nfs, k->call->data, k->call->len);
	rpr_header_init(h, k->xid, c->conf.credits, RPR_MSG);
	rpr_job_begin(&k->send, sent, k);
	k->replied = k->failed = k->has_data = k->has_whole = false;
	r = offer_targets(k, h);
	len = r ? r : put_call(k, h);
	if (len < 0)
		return ulp_end(&c->rdma, (int)-len, "no memory can be opened to the server (%s)", strerror((int)-len));
	if (!rpr_job_add(&k->send, (struct rpr_wr){ .opcode = IBV_WR_SEND, .local = (uintptr_t)k->message,
						    .length = (uint32_t)len, .lkey = c->rdma.mr->lkey }))
		return ulp_end(&c->rdma, ENOMEM, "no memory for a call");
	k->state = CALL_SENT;
	c->client->out++;
	c->counts.calls++;
	r = rpr_sendq_add(&c->sendq, &k->send);
	return r ? ulp_end(&c->rdma, -r, "a call cannot be posted (%s)", strerror(-r)) : 0;
}

static int start_waiting(struct rpr_conn *c)
{
	struct rpr_client *cl = c->client;
	struct call *k;
	int r = 0;

	while (!r && (k = cl->first) && cl->out < cl->credits) {
		cl->first = k->next;
		r = start(k);
	}
	return r;
}

int rpr_client_call(struct rpr_conn *c, struct rpr_buf *buf)
{
	struct rpr_client *cl = c->client;
	struct call *k = NULL;

	for (unsigned i = 0; i < c->conf.credits && !k; i++)
		if (cl->call[i].state == CALL_IDLE)
			k = &cl->call[i];
	if (!k)
		return -EAGAIN;
	k->state = CALL_WAITING;
	k->call = buf;
	k->xid = rpr_rpc_xid(buf->data);
	k->next = NULL;
	if (cl->first)
		cl->last->next = k;
	else
		cl->first = k;
	cl->last = k;
	return start_waiting(c);
}

/* --- the reply --- */

static struct call *find(struct rpr_client *cl, unsigned nr, uint32_t xid)
{
	for (unsigned i = 0; i < nr; i++)
		if (cl->call[i].state == CALL_SENT && !cl->call[i].replied && cl->call[i].xid == xid)
			return &cl->call[i];
	return NULL;
}

/* The lists of a reply are those of its call, with lengths that are at most the offered ones. */
static enum rpr_verdict check_lists(struct call *k, const struct rpr_header *h)
{
	uint64_t used = h->nr_writes ? rpr_chunk_len(h, h->writes[0]) : 0;

	if (h->nr_reads || h->nr_writes > (k->data != NULL) || used > k->data_max)
		return RPR_BAD_REPLY;
	k->data_used = (uint32_t)used;
	k->has_data = used != 0;
	used = h->has_reply ? rpr_chunk_len(h, h->reply) : 0;
	if (used && (!k->whole || used > k->whole_max))
		return RPR_BAD_REPLY;
	k->whole_used = (uint32_t)used;
	k->has_whole = h->proc == RPR_NOMSG;
	return k->has_whole && !used ? RPR_BAD_REPLY : RPR_GOOD;
}

/* The call's buffer, which the server reads no longer, takes a short reply. */
static struct rpr_buf *from_inline(struct call *k)
{
	struct rpr_buf *b = k->call;

	k->call = NULL;
	b->data = b->mem + b->head;
	memcpy(b->data, k->inline_reply, k->inline_len);
	b->len = k->inline_len;
	return b;
}

/* Puts the rest of a reply around the data of its write chunk. */
static struct rpr_buf *around(struct call *k, const uint8_t *rest, size_t len, const struct rpr_item *item)
{
	struct rpr_buf *b = k->data;
	size_t round = rpr_xdr_round(item->len);

	if (item->at > b->head || item->at + round + (len - item->at) > b->head + k->conn->bufs.room)
		return NULL;
	memset(b->data + item->len, 0, round - item->len);
	memcpy(b->data + round, rest + item->at, len - item->at);
	b->data -= item->at;
	memcpy(b->data, rest, item->at);
	b->len = len + round;
	k->data = NULL;
	return b;
}

/* The whole reply in one buffer, or NULL: it is not what its call offered. */
static struct rpr_buf *assemble(struct call *k)
{
	const uint8_t *rest = k->has_whole ? k->whole->data : k->inline_reply;
	size_t len = k->has_whole ? k->whole_used : k->inline_len;
	struct rpr_items items;
	struct rpr_buf *b;

	if (rpr_rpc_direction(rest, len) != RPR_REPLY || rpr_rpc_xid(rest) != k->xid)
		return NULL;
	if (k->has_data) {
		if (!rpr_nfs_reduced(&k->nfs.nfs, rest, len, &k->data_used, 1, &items))
			return NULL;
		return around(k, rest, len, &items.item[0]);
	}
	if (!k->has_whole)
		return from_inline(k);
	b = k->whole;
	b->len = len;
	k->whole = NULL;
	return b;
}

static struct rpr_buf *failure(struct call *k)
{
	rpr_rpc_failed(k->inline_reply, k->xid);
	k->inline_len = RPR_RPC_FAILED_LEN;
	return from_inline(k);
}

/* All keys are closed, and the Send has completed: no memory of the call is in use. */
static void finish(struct call *k)
{
	struct rpr_conn *c = k->conn;
	struct rpr_buf *b;

	if (k->send.active || k->invalidate.active)
		return;
	b = k->failed ? failure(k) : assemble(k);
	if (!b) {
		rpr_end_rule(c, RPR_BAD_REPLY);
		return;
	}
	k->state = CALL_IDLE;
	k->replied = false;
	put_all(k);
	c->client->out--;
	c->counts.replies++;
	c->ops->message(c->user, b);
	start_waiting(c);
}

static void invalidated(void *owner, struct rpr_job *job)
{
	(void)job;
	finish(owner);
}

static int close_windows(struct call *k, const struct rpr_received *m)
{
	struct rpr_conn *c = k->conn;
	int r = 0;

	rpr_job_begin(&k->invalidate, invalidated, k);
	for (unsigned i = 0; i < NR_WINDOWS; i++) {
		c->counts.remote_inv += k->window[i].open && m->invalidated && m->key == k->window[i].key;
		r = r ? r : rpr_window_close(&k->window[i], &k->invalidate, m);
	}
	if (!r && k->invalidate.nr)
		r = rpr_sendq_add(&c->sendq, &k->invalidate);
	return r ? ulp_end(&c->rdma, -r, "a key of a call cannot be invalidated (%s)", strerror(-r)) : 0;
}

static void grant(struct rpr_conn *c, uint32_t credits)
{
	if (credits > c->conf.credits)
		credits = c->conf.credits;
	c->client->credits = credits ? credits : 1;
}

int rpr_client_reply(struct rpr_conn *c, const struct rpr_received *m)
{
	struct rpr_header *h = &c->header;
	struct call *k = find(c->client, c->conf.credits, h->xid);
	enum rpr_verdict v = RPR_GOOD;
	int r;

	grant(c, h->credits);
	if (!k) {
		c->counts.errors++; /* RFC 8166, 4.2.1: it is dropped */
		return 0;
	}
	k->failed = h->proc == RPR_ERROR;
	c->counts.errors += k->failed;
	if (!k->failed)
		v = check_lists(k, h);
	if (v)
		return rpr_end_rule(c, v);
	memcpy(k->inline_reply, m->body, m->len);
	k->inline_len = m->len;
	k->replied = true;
	r = close_windows(k, m);
	if (!r)
		finish(k);
	return c->rdma.error ? -c->rdma.error : r;
}
