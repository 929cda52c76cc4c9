/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completions of a stream: received messages, sent pieces, the end of the connection. The threads
 * of the program process them inside its calls; rsockets have no thread of their own.
 */
#include "ulp/rsocket/cq.h"
#include "ulp/rsocket/dgram.h"
#include "ulp/rsocket/keepalive.h"
#include "ulp/rsocket/post.h"

#include <byteswap.h>
#include <arpa/inet.h>
#include <string.h>

#define BATCH 16

void rs_end(struct rs_sock *s, enum rs_state state, int err)
{
	if (s->state == RS_CONNECTED || rs_opening(s->state)) {
		s->state = state;
		s->err = err;
	}
	s->rd_open = s->wr_open = false;
	rs_sleepers_wake(s->sleepers, -1);
}

int rs_take_err(struct rs_sock *s)
{
	int err = s->err;

	s->err = 0;
	return err;
}

static int errno_of(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_RETRY_EXC_ERR:
	case IBV_WC_RNR_RETRY_EXC_ERR:
	case IBV_WC_RESP_TIMEOUT_ERR:
		return ETIMEDOUT;
	case IBV_WC_REM_ACCESS_ERR:
	case IBV_WC_REM_INV_REQ_ERR:
	case IBV_WC_REM_OP_ERR:
	case IBV_WC_REM_ABORT_ERR:
		return ECONNRESET;
	default:
		return EIO;
	}
}

/*
 * A flushed request shows that the queue pair has ended, not why: the identifier's event tells. On
 * iWARP the cause may be a TCP reset, which is no end of file.
 */
static void failed(struct rs_sock *s, enum ibv_wc_status status)
{
	if (s->state != RS_CONNECTED)
		return;
	if (status == IBV_WC_WR_FLUSH_ERR) {
		rs_end(s, RS_GONE, 0);
		s->unexplained = s->msg_send;
	} else {
		rs_end(s, RS_BROKEN, errno_of(status));
	}
}

static void control(struct rs_sock *s, enum rs_ctrl what)
{
	if (what == RS_CTRL_KEEPALIVE)
		return;
	if (what == RS_CTRL_SHUTDOWN && s->wr_open) {
		s->rd_open = false;
		rs_sleepers_wake(s->sleepers, -1);
		return;
	}
	rs_end(s, RS_GONE, 0);
}

/* The message says that the entry is complete; a snapshot is immune to later writes. */
static int take_iomap(struct rs_sock *s, uint32_t nr)
{
	s->iomap[nr] = s->iomap_in[nr];
	if (rs_sge_sane(&s->iomap[nr].sge) &&
	    s->iomap[nr].offset + s->iomap[nr].sge.length >= s->iomap[nr].offset)
		return 0;
	memset(&s->iomap[nr], 0, sizeof(s->iomap[nr]));
	return -EPROTO;
}

static void received(struct rs_sock *s, const struct ibv_wc *wc)
{
	uint32_t slot = (uint32_t)wc->wr_id, msg;
	int r;

	if (!s->msg_send) {
		msg = ntohl(wc->imm_data);
		r = wc->wc_flags & IBV_WC_WITH_IMM ? 0 : -EPROTO;
	} else {
		msg = s->swap ? bswap_32(s->recv_msgs[slot]) : s->recv_msgs[slot];
		r = wc->byte_len == sizeof(msg) ? 0 : -EPROTO;
	}
	s->heard = true;
	if (!r)
		r = rs_flow_message(&s->flow, msg, s->o.iomap_size);
	if (!r && rs_msg_op(msg) == RS_OP_IOMAP)
		r = take_iomap(s, rs_msg_value(msg));
	if (r > 0)
		control(s, (enum rs_ctrl)(r - 1));
	else if (r < 0)
		rs_end(s, RS_BROKEN, -r);
}

static void sent(struct rs_sock *s, const struct ibv_wc *wc)
{
	if ((wc->wr_id & RS_WR_KIND) == RS_WR_CTRL)
		rs_flow_ctrl_sent(&s->flow);
	else
		rs_flow_sent(&s->flow, (uint32_t)wc->wr_id);
}

void rs_cq_drive(struct rs_sock *s)
{
	struct ibv_wc wc[BATCH];
	uint32_t again[BATCH];
	int n, r;

	if (s->dg)
		rs_dgram_drive(s);
	/*
	 * The peer may write as soon as it has the request or reply of this end. Its messages stay
	 * in the completion queue until its connection data has been read.
	 */
	if (!s->cq || s->state < RS_ACCEPTING)
		return;
	while ((n = ibv_poll_cq(s->cq, BATCH, wc)) > 0) {
		unsigned nr = 0;

		for (int i = 0; i < n; i++) {
			bool recv = (wc[i].wr_id & RS_WR_KIND) == RS_WR_RECV;

			if (!recv)
				sent(s, &wc[i]);
			if (wc[i].status != IBV_WC_SUCCESS) {
				failed(s, wc[i].status);
			} else if (recv) {
				again[nr++] = (uint32_t)wc[i].wr_id;
				/* After the end, messages are ignored. */
				if (!rs_ended(s->state))
					received(s, &wc[i]);
			}
		}
		r = nr && !rs_ended(s->state) ? rs_post_recvs(s, again, nr) : 0;
		if (r)
			rs_end(s, RS_BROKEN, -r);
	}
	if (n < 0)
		rs_end(s, RS_BROKEN, EIO);
	/* The peer's first message can arrive before its RTU or ready-to-receive message. */
	if (s->state == RS_ACCEPTING && s->heard)
		s->state = RS_CONNECTED;
	if (s->state == RS_CONNECTED) {
		r = rs_flow_target(&s->flow, s->target_list);
		if (r)
			rs_end(s, RS_BROKEN, -r);
		rs_cq_grant(s);
		rs_keep_send(s);
	}
}

static int send_half(struct rs_sock *s, const struct rs_grant *g)
{
	struct rs_sge half = { .addr = (uintptr_t)s->rbuf + g->at, .key = s->rmr->rkey,
			       .length = g->length };
	struct ibv_sge sg = { .length = sizeof(half) };
	bool inl = s->inl >= sizeof(half);
	struct rs_sge *out = inl ? &half : (struct rs_sge *)(void *)(s->sbuf + s->flow.sbuf_size) +
					   g->nr % RS_CTRL_SLOTS;

	if (s->swap)
		half = rs_sge_swap(half);
	*out = half;
	sg.addr = (uintptr_t)out;
	sg.lkey = inl ? 0 : s->smr->lkey;
	return rs_post_write_message(s, &sg, 1, g->msg, RS_WR_CTRL,
				     s->peer_list + g->nr * sizeof(struct rs_sge),
				     s->peer_list_key, inl ? IBV_SEND_INLINE : 0);
}

void rs_cq_grant(struct rs_sock *s)
{
	struct rs_grant g;
	int r;

	while (s->state == RS_CONNECTED && rs_flow_grant(&s->flow, &g)) {
		r = g.half ? send_half(s, &g) : rs_post_message(s, g.msg, RS_WR_CTRL);
		if (r)
			rs_end(s, RS_BROKEN, -r);
	}
}

void rs_cq_arm(struct rs_sock *s)
{
	if (s->dg) {
		rs_dgram_arm(s);
	} else if (s->cq && !s->armed) {
		if (!ibv_req_notify_cq(s->cq, 0))
			s->armed = true;
		else
			rs_end(s, RS_BROKEN, EIO);
	}
}

/*
 * Another sleeper whose poll() also returned may run only after this thread has emptied the
 * descriptor; its eventfd wakes it.
 */
void rs_cq_event(struct rs_sock *s)
{
	struct ibv_cq *cq;
	void *context;
	int state, none;

	if (s->dg)
		rs_dgram_event(s);
	if (!s->armed)
		return;
	state = rs_cancel_off();
	none = ibv_get_cq_event(s->comp, &cq, &context);
	rs_cancel_back(state);
	if (none)
		return;
	s->armed = false;
	if (++s->unacked == 256) {
		ibv_ack_cq_events(s->cq, s->unacked);
		s->unacked = 0;
	}
	rs_sleepers_wake(s->sleepers, -1);
}
