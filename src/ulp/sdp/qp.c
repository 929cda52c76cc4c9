/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/sdp/qp.h"

#include "ulp/sdp/arrive.h"

#include <errno.h>

#define INLINE_MAX 256                  /* OFED's */

/* Three more than messages: a Read, a Write and a look for the peer. */
static bool create_qp(struct sdp_conn *c, uint32_t inline_max)
{
	struct ibv_qp_init_attr attr = { .send_cq = c->rdma.cq, .recv_cq = c->rdma.cq, .qp_type = IBV_QPT_RC,
		.cap = { .max_send_wr = c->conf.depth + 3u, .max_recv_wr = c->conf.depth, .max_send_sge = 1,
			 .max_recv_sge = 1, .max_inline_data = inline_max } };

	if (rdma_create_qp(c->rdma.id, c->rdma.pd, &attr))
		return false;
	c->inline_max = inline_max;
	return true;
}

/* Octets of it wait for the program. */
static bool is_held(const struct sdp_conn *c, uint32_t i)
{
	for (uint32_t n = 0; n < c->nr_items; n++)
		if (c->items[(c->item_first + n) % (c->conf.depth + 1u)].receive == (int32_t)i)
			return true;
	return false;
}

int sdp_qp_make(struct sdp_conn *c)
{
	int r = 0;

	/* An adapter may take less with a work request, or nothing. */
	if (!create_qp(c, INLINE_MAX) && !create_qp(c, 0))
		return ulp_end(&c->rdma, errno, "no queue pair can be made (%s)", strerror(errno));
	for (uint32_t i = 0; i < c->conf.depth && !r; i++)
		r = is_held(c, i) ? 0 : sdp_post_receive(c, i);
	return r;
}

/*
 * Completions that it left are of messages that nothing waits for. An answer that has been owed since SuspCommAck (the last
 * octets taken, and so the last short receive posted again) is to a message of that connection: the next one has no such question.
 */
void sdp_qp_leave(struct sdp_conn *c, struct rdma_cm_id *id)
{
	struct ibv_wc wc;

	rdma_destroy_qp(id);
	while (ibv_poll_cq(c->rdma.cq, 1, &wc) > 0)
		;
	rdma_destroy_id(id);
	c->under_way = c->unsignalled = c->send_next = c->nr_owed = 0;
	c->sink.answering = false;
	c->flow = (struct sdp_flow){ 0 };
}
