/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rpcrdma/plain.h"
#include "ulp/rpcrdma/rpc.h"

#include <errno.h>

static void sent(void *owner, struct rpr_job *job)
{
	struct rpr_plain *p = owner;

	(void)job;
	p->next = p->conn->plain_free;
	p->conn->plain_free = p;
}

static int post(struct rpr_conn *c, struct rpr_plain *p, size_t len)
{
	rpr_job_begin(&p->job, sent, p);
	if (!rpr_job_add(&p->job, (struct rpr_wr){ .opcode = IBV_WR_SEND, .local = (uintptr_t)p->data,
						   .length = (uint32_t)len, .lkey = c->rdma.mr->lkey }))
		return -ENOMEM;
	c->plain_free = p->next;
	return rpr_sendq_add(&c->sendq, &p->job);
}

int rpr_plain_send(struct rpr_conn *c, const void *rpc, size_t len, uint32_t credits)
{
	struct rpr_plain *p = c->plain_free;
	struct rpr_header *h = &c->header;
	size_t header;

	rpr_header_init(h, rpr_rpc_xid(rpc), credits, RPR_MSG);
	header = rpr_header_len(h);
	if (header + len > c->send_max)
		return -EMSGSIZE;
	if (!p)
		return -EAGAIN;
	rpr_header_put(h, p->data, c->conf.inline_size);
	memcpy(p->data + header, rpc, len);
	return post(c, p, header + len);
}

int rpr_plain_error(struct rpr_conn *c, uint32_t xid, enum rpr_verdict v, uint32_t credits)
{
	struct rpr_plain *p = c->plain_free;
	struct rpr_header *h = &c->header;

	if (!p)
		return -ENOBUFS;
	rpr_header_init(h, xid, credits, RPR_ERROR);
	h->error = rpr_rules[v].answer;
	h->low = h->high = RPR_VERSION;
	c->counts.errors++;
	return post(c, p, rpr_header_put(h, p->data, c->conf.inline_size));
}
