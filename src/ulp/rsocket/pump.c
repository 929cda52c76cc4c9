/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completions, credits and the posting of messages. A message is the immediate of a write, or on
 * iWARP a Send of four bytes in the sender's own order. Credits and lent memory are checked in both
 * directions: what a peer sends beyond what it was given ends the connection.
 */
#include "ulp/rsocket/rs.h"

#include <endian.h>
#include <errno.h>
#include <string.h>

#define SEND_BIT (1ull << 63)
#define CTRL_BIT (1ull << 62)
#define BATCH    16

static int post(struct rs_sock *rs, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;
	int rc = ibv_post_send(rs->qp, wr, &bad);

	return rc ? rs_fail(rc) : 0;
}

/* The 4-byte Send or the empty write that carries a message alone or after a write. */
static void message_wr(struct rs_sock *rs, struct ibv_send_wr *wr, struct ibv_sge *sge,
		       const uint32_t *msg, uint64_t wr_id)
{
	*wr = (struct ibv_send_wr){ .wr_id = wr_id };
	if (!rs->iwarp) {
		wr->opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
		wr->imm_data = htobe32(*msg);
		return;
	}
	*sge = (struct ibv_sge){ .addr = (uintptr_t)msg, .length = RSP_MSG_LEN };
	wr->sg_list = sge;
	wr->num_sge = 1;
	wr->opcode = IBV_WR_SEND;
	wr->send_flags = IBV_SEND_INLINE;
}

static int write_and_message(struct rs_sock *rs, struct ibv_sge *sge, int n, uint64_t addr,
			     uint32_t key, uint32_t msg, bool inl, uint64_t kind, uint32_t bytes)
{
	struct ibv_sge msg_sge;
	struct ibv_send_wr tail, head = {
		.wr_id = SEND_BIT | kind | bytes,
		.next = &tail,
		.sg_list = sge,
		.num_sge = n,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = inl ? IBV_SEND_INLINE : 0,
		.wr.rdma = { .remote_addr = addr, .rkey = key },
	};

	if (rs->iwarp) {
		message_wr(rs, &tail, &msg_sge, &msg, SEND_BIT | kind);
		return post(rs, &head);
	}
	head.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	head.imm_data = htobe32(msg);
	head.next = NULL;
	return post(rs, &head);
}

int rs_post_write(struct rs_sock *rs, struct ibv_sge *sge, int n, uint64_t addr, uint32_t key,
		  uint32_t msg, bool inl, uint32_t bytes)
{
	rs->sent++;
	rs->sq_free -= rs->iwarp ? 2 : 1;
	rs->s_free -= bytes;
	return write_and_message(rs, sge, n, addr, key, msg, inl, 0, bytes);
}

int rs_post_plain(struct rs_sock *rs, struct ibv_sge *sge, int n, uint64_t addr, uint32_t key,
		  bool inl, uint32_t bytes)
{
	struct ibv_send_wr wr = {
		.wr_id = SEND_BIT | bytes,
		.sg_list = sge,
		.num_sge = n,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = inl ? IBV_SEND_INLINE : 0,
		.wr.rdma = { .remote_addr = addr, .rkey = key },
	};

	rs->sq_free--;
	rs->s_free -= bytes;
	return post(rs, &wr);
}

int rs_post_ctrl(struct rs_sock *rs, uint32_t value)
{
	uint32_t msg = rsp_msg(RSP_CTRL, value);
	struct ibv_send_wr wr;
	struct ibv_sge sge;

	rs->ctrl_free--;
	message_wr(rs, &wr, &sge, &msg, SEND_BIT | CTRL_BIT);
	return post(rs, &wr);
}

/* The free half of the ring is lent, with the credits in the same message. */
static int lend(struct rs_sock *rs, uint32_t msg)
{
	const struct rsp_sge half = { (uintptr_t)rs->rbuf + rs->r_lend, rs->r_mr->rkey,
				      rs->size.rmem / 2 };
	uint8_t raw[RSP_SGE_LEN];
	struct ibv_sge sge = { .addr = (uintptr_t)raw, .length = RSP_SGE_LEN };
	uint64_t at = rs->peer_sgl.addr + (uint64_t)rs->peer_slot * RSP_SGE_LEN;

	rsp_sge_put(&half, rs->swap, raw);
	rs->ctrl_free -= rs->iwarp ? 2 : 1;
	rs->r_freed -= half.len;
	rs->r_lent += half.len;
	rs->r_lend = rs->r_lend ? 0 : half.len;
	if (++rs->peer_slot == rs->peer_sgl.len)
		rs->peer_slot = 0;
	return write_and_message(rs, &sge, 1, at, rs->peer_sgl.key, msg, true, CTRL_BIT, 0);
}

void rs_credits(struct rs_sock *rs)
{
	bool half = rs->r_freed >= rs->size.rmem / 2;
	uint16_t end = (uint16_t)(rs->taken + rs->size.rq);
	uint32_t msg = rsp_msg(RSP_SGL, end);
	struct ibv_send_wr wr;
	struct ibv_sge sge;
	int rc;

	if (rs->state != RS_OPEN || rs->peer_done)
		return;
	if (!half && (int16_t)(rs->taken - rs->taken_next) < 0)
		return;
	/* One slot stays for rshutdown(). */
	if (rs->ctrl_free < (half && rs->iwarp ? 3u : 2u))
		return;
	rs->taken_next = (uint16_t)(rs->taken + rs->size.rq / 2);
	if (half) {
		rc = lend(rs, msg);
	} else {
		rs->ctrl_free--;
		message_wr(rs, &wr, &sge, &msg, SEND_BIT | CTRL_BIT);
		rc = post(rs, &wr);
	}
	if (rc)
		rs_over(rs, ECONNRESET);
}

static void control(struct rs_sock *rs, uint32_t value)
{
	switch (value) {
	case RSP_DISCONNECT:
		rs->peer_done = true;
		rs_over(rs, 0);
		break;
	case RSP_SHUTDOWN:
		rs->readable = false;
		if (!rs->writable)
			rs_over(rs, 0);
		break;
	default: /* keep-alive, or what a later version has */
		break;
	}
}

static void message(struct rs_sock *rs, uint32_t msg)
{
	uint32_t value = rsp_msg_value(msg);

	switch (rsp_msg_op(msg)) {
	case RSP_DATA:
		rs->taken++;
		if (value > rs->r_lent) {
			rs_over(rs, EPROTO);
			break;
		}
		rs->r_lent -= value;
		rs->r_ready += value;
		break;
	case RSP_SGL:
		if ((uint16_t)(value - rs->sent) > rs->peer_credits)
			rs_over(rs, EPROTO);
		else
			rs->sent_max = (uint16_t)value;
		break;
	case RSP_IOMAP: /* the entry is read when it is used */
		rs->taken++;
		break;
	case RSP_CTRL:
		control(rs, value);
		break;
	default:
		rs_over(rs, EPROTO);
		break;
	}
}

static void received(struct rs_sock *rs, const struct ibv_wc *wc)
{
	uint32_t msg;

	if (wc->wc_flags & IBV_WC_WITH_IMM) {
		msg = be32toh(wc->imm_data);
	} else if (rs->iwarp && wc->byte_len == RSP_MSG_LEN) {
		memcpy(&msg, rs->rbuf + rs->size.rmem + wc->wr_id * RSP_MSG_LEN, sizeof(msg));
	} else {
		rs_over(rs, EPROTO);
		return;
	}
	if (rs->state == RS_OPEN || rs->state == RS_ACCEPTING || rs->state == RS_CONNECTING)
		message(rs, msg);
	if (rs->state != RS_OVER && rs_ep_post_recv(rs))
		rs_over(rs, ECONNRESET);
}

static void completed(struct rs_sock *rs, const struct ibv_wc *wc)
{
	if (wc->wr_id & SEND_BIT) {
		if (wc->wr_id & CTRL_BIT)
			rs->ctrl_free++;
		else
			rs->sq_free++;
		rs->s_free += (uint32_t)wc->wr_id;
	}
	if (wc->status != IBV_WC_SUCCESS)
		rs_over(rs, ECONNRESET);
	else if (!(wc->wr_id & SEND_BIT))
		received(rs, wc);
}

bool rs_pump(struct rs_sock *rs)
{
	struct ibv_wc wc[BATCH];
	bool any = false;
	int i, n;

	if (!rs->cq)
		return false;
	do {
		n = ibv_poll_cq(rs->cq, BATCH, wc);
		for (i = 0; i < n; i++)
			completed(rs, &wc[i]);
		any |= n > 0;
	} while (n == BATCH);
	rs_credits(rs);
	return any;
}

/* The next half, if the peer has lent it. It may be writing this very moment: what is read
 * twice alike was whole, and anything else will be there at the next look. */
static bool take_half(struct rs_sock *rs)
{
	uint8_t *at = rs->target + rs->room_slot * RSP_SGE_LEN;
	const uint32_t none = 0;
	struct rsp_sge a, b;

	rsp_sge_load(at, &a);
	if (!a.len)
		return false;
	atomic_thread_fence(memory_order_acquire);
	rsp_sge_load(at, &b);
	if (a.addr != b.addr || a.key != b.key || a.len != b.len)
		return false;
	/* Before its bytes are sent: only then may the peer lend it anew. */
	memcpy(at + 12, &none, sizeof(none));
	rs->room = a;
	rs->room_slot = (rs->room_slot + 1) % RSP_SGL_ENTRIES;
	return true;
}

bool rs_can_send(struct rs_sock *rs)
{
	if (rs->sq_free < (rs->iwarp ? 2u : 1u) || rs->s_free < RS_LOW ||
	    rs->sent == rs->sent_max)
		return false;
	return rs->room.len || take_half(rs);
}

bool rs_all_sent(const struct rs_sock *rs)
{
	return rs->sq_free == rs->size.sq - RS_CTRL && rs->ctrl_free == RS_CTRL;
}
