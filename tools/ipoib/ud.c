/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ud.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define GRH_LEN 40u
#define SLOT (UD_FRAME_MAX + 64u)
#define BATCH 32
#define SEND_ID (1ull << 32)

struct retired {
	struct ut_list node;
	struct ibv_ah *ah;
	uint64_t until;        /* sends done */
};

static uint8_t *send_slot(const struct ud *u, uint64_t n)
{
	return u->memory + (n % UD_SENDS) * SLOT;
}

static uint8_t *receive_slot(const struct ud *u, uint32_t n)
{
	return u->memory + (UD_SENDS + n) * SLOT;
}

static int make_queues(struct ud *u)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_UD,
		.cap = { .max_send_wr = UD_SENDS, .max_recv_wr = UD_RECEIVES, .max_send_sge = 1, .max_recv_sge = 1 } };

	u->channel = ibv_create_comp_channel(u->verbs);
	if (!u->channel || fcntl(u->channel->fd, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	u->cq = ibv_create_cq(u->verbs, UD_SENDS + UD_RECEIVES, NULL, u->channel, 0);
	if (!u->cq)
		return -errno;
	init.send_cq = init.recv_cq = u->cq;
	u->qp = ibv_create_qp(u->pd, &init);
	return u->qp ? 0 : -errno;
}

static int make(struct ud *u)
{
	size_t size = (size_t)(UD_SENDS + UD_RECEIVES) * SLOT;
	void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (at == MAP_FAILED)
		return -errno;
	u->memory = at;
	u->pd = ibv_alloc_pd(u->verbs);
	if (!u->pd)
		return -errno;
	u->mr = ibv_reg_mr(u->pd, at, size, IBV_ACCESS_LOCAL_WRITE);
	return u->mr ? make_queues(u) : -errno;
}

int ud_open(struct ud *u, struct ibv_context *verbs)
{
	int r;

	*u = (struct ud){ .verbs = verbs };
	ut_list_init(&u->retired);
	r = make(u);
	if (r < 0)
		ud_close(u);
	return r;
}

static void destroy_retired(struct ud *u, uint64_t done)
{
	struct retired *r, *next;

	ut_list_each_safe(r, next, &u->retired, node)
		if (r->until <= done) {
			ibv_destroy_ah(r->ah);
			ut_list_del(&r->node);
			free(r);
		}
}

void ud_close(struct ud *u)
{
	if (u->qp)
		ibv_destroy_qp(u->qp);
	destroy_retired(u, UINT64_MAX);
	if (u->cq)
		ibv_destroy_cq(u->cq);
	if (u->channel)
		ibv_destroy_comp_channel(u->channel);
	if (u->mr)
		ibv_dereg_mr(u->mr);
	if (u->pd)
		ibv_dealloc_pd(u->pd);
	if (u->memory)
		munmap(u->memory, (size_t)(UD_SENDS + UD_RECEIVES) * SLOT);
}

static void receive(struct ud *u, uint32_t n)
{
	struct ibv_sge sge = { (uintptr_t)receive_slot(u, n), GRH_LEN + UD_FRAME_MAX, u->mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = n, .sg_list = &sge, .num_sge = 1 }, *bad;

	ibv_post_recv(u->qp, &wr, &bad);
}

static int to_state(struct ud *u, struct ibv_qp_attr *attr, enum ibv_qp_state state, int mask)
{
	attr->qp_state = state;
	return -ibv_modify_qp(u->qp, attr, IBV_QP_STATE | mask);
}

int ud_start(struct ud *u, unsigned pkey_index, uint32_t qkey)
{
	struct ibv_qp_attr a = { .pkey_index = (uint16_t)pkey_index, .port_num = 1, .qkey = qkey };
	struct ibv_wc wc;
	uint32_t i;
	int r = to_state(u, &a, IBV_QPS_RESET, 0);

	u->is_up = false;
	while (ibv_poll_cq(u->cq, 1, &wc) > 0)
		;
	u->done = u->posted;
	destroy_retired(u, u->done);
	if (r == 0)
		r = to_state(u, &a, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY);
	for (i = 0; r == 0 && i < UD_RECEIVES; i++)
		receive(u, i);
	if (r == 0)
		r = to_state(u, &a, IBV_QPS_RTR, 0);
	if (r == 0)
		r = to_state(u, &a, IBV_QPS_RTS, IBV_QP_SQ_PSN);
	u->qkey = qkey;
	u->is_up = r == 0;
	return r;
}

uint8_t *ud_frame(struct ud *u)
{
	return u->is_up && u->posted - u->done < UD_SENDS ? send_slot(u, u->posted) : NULL;
}

void ud_send(struct ud *u, const uint8_t *frame, size_t len, const struct ud_address *to)
{
	uint8_t *at = ud_frame(u);
	struct ibv_sge sge = { (uintptr_t)at, (uint32_t)len, u->mr->lkey };
	struct ibv_send_wr wr = { .wr_id = SEND_ID, .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.ud = { .ah = to->ah, .remote_qpn = to->qpn, .remote_qkey = u->qkey } }, *bad;

	if (!at || len > UD_FRAME_MAX)
		return;
	if (frame != at)
		memcpy(at, frame, len);
	if (ibv_post_send(u->qp, &wr, &bad) == 0)
		u->posted++;
}

void ud_retire(struct ud *u, struct ibv_ah *ah)
{
	struct retired *r = u->posted == u->done ? NULL : calloc(1, sizeof(*r));

	if (!r) {
		ibv_destroy_ah(ah);
		return;
	}
	r->ah = ah;
	r->until = u->posted;
	ut_list_add_tail(&u->retired, &r->node);
}

static bool take_one(struct ud *u, const struct ibv_wc *wc, ud_take *take, void *ctx)
{
	const uint8_t *at;

	if (wc->wr_id == SEND_ID) {
		u->done++;
		return false;
	}
	at = receive_slot(u, (uint32_t)wc->wr_id) + GRH_LEN;
	if (wc->status == IBV_WC_SUCCESS && wc->byte_len > GRH_LEN)
		take(ctx, at, wc->byte_len - GRH_LEN, wc);
	receive(u, (uint32_t)wc->wr_id);
	return true;
}

unsigned ud_poll(struct ud *u, unsigned max, ud_take *take, void *ctx)
{
	struct ibv_wc wc[BATCH];
	unsigned frames = 0, n = 0;
	int got, i;

	while (frames < max && (got = ibv_poll_cq(u->cq, BATCH, wc)) > 0) {
		for (i = 0; i < got; i++)
			frames += take_one(u, &wc[i], take, ctx);
		n += (unsigned)got;
	}
	if (!ut_list_empty(&u->retired))
		destroy_retired(u, u->done);
	return n;
}

void ud_arm(struct ud *u)
{
	struct ibv_cq *cq;
	void *arg;
	unsigned n = 0;

	while (ibv_get_cq_event(u->channel, &cq, &arg) == 0)
		n++;
	if (n)
		ibv_ack_cq_events(u->cq, n);
	ibv_req_notify_cq(u->cq, 0);
}
