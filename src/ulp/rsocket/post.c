/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A message is a Write with immediate data; on iWARP, whose RFC 5040 has no immediate data, it is a
 * Send of four bytes in the sender's byte order behind the Write.
 */
#include "ulp/rsocket/post.h"

#include <arpa/inet.h>
#include <byteswap.h>

#define RECV_BATCH 32u

static int post(struct rs_sock *s, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	if (s->o.keepalive)
		s->active = rs_now();
	return -ibv_post_send(s->id->qp, wr, &bad);
}

int rs_post_recvs(struct rs_sock *s, const uint32_t *slots, unsigned nr)
{
	struct ibv_recv_wr wr[RECV_BATCH], *bad;
	struct ibv_sge sg[RECV_BATCH];

	for (unsigned done = 0, n; done < nr; done += n) {
		int rc;

		n = nr - done < RECV_BATCH ? nr - done : RECV_BATCH;
		for (unsigned i = 0; i < n; i++) {
			wr[i] = (struct ibv_recv_wr){ .wr_id = RS_WR_RECV | slots[done + i],
						      .next = i + 1 < n ? &wr[i + 1] : NULL };
			if (!s->msg_send)
				continue;
			sg[i] = (struct ibv_sge){ (uintptr_t)&s->recv_msgs[slots[done + i]],
						  sizeof(uint32_t), s->rmr->lkey };
			wr[i].sg_list = &sg[i];
			wr[i].num_sge = 1;
		}
		rc = ibv_post_recv(s->id->qp, wr, &bad);
		if (rc)
			return -rc;
	}
	return 0;
}

int rs_post_write(struct rs_sock *s, struct ibv_sge *sg, int nr, uint64_t wr_id, uint64_t remote,
		  uint32_t key, int flags)
{
	struct ibv_send_wr wr = { .wr_id = wr_id, .sg_list = sg, .num_sge = nr,
				  .opcode = IBV_WR_RDMA_WRITE, .send_flags = (unsigned)flags };

	wr.wr.rdma.remote_addr = remote;
	wr.wr.rdma.rkey = key;
	return post(s, &wr);
}

static int post_send_message(struct rs_sock *s, uint32_t msg, uint64_t wr_id)
{
	struct ibv_sge sg = { .addr = (uintptr_t)&msg, .length = sizeof(msg) };
	struct ibv_send_wr wr = { .wr_id = wr_id, .sg_list = &sg, .num_sge = 1,
				  .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE };

	return post(s, &wr);
}

static int post_imm(struct rs_sock *s, struct ibv_sge *sg, int nr, uint32_t msg, uint64_t wr_id,
		    uint64_t remote, uint32_t key, int flags)
{
	struct ibv_send_wr wr = { .wr_id = wr_id, .sg_list = sg, .num_sge = nr,
				  .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				  .send_flags = (unsigned)flags, .imm_data = htonl(msg) };

	wr.wr.rdma.remote_addr = remote;
	wr.wr.rdma.rkey = key;
	return post(s, &wr);
}

int rs_post_message(struct rs_sock *s, uint32_t msg, uint64_t wr_id)
{
	return s->msg_send ? post_send_message(s, msg, wr_id)
			   : post_imm(s, NULL, 0, msg, wr_id, 0, 0, 0);
}

int rs_post_write_message(struct rs_sock *s, struct ibv_sge *sg, int nr, uint32_t msg,
			  uint64_t wr_id, uint64_t remote, uint32_t key, int flags)
{
	int rc;

	if (!s->msg_send)
		return post_imm(s, sg, nr, msg, wr_id, remote, key, flags);
	rc = rs_post_write(s, sg, nr, wr_id, remote, key, flags);
	return rc ? rc : post_send_message(s, msg, wr_id & RS_WR_KIND);
}
