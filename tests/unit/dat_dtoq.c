/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Queues of records: room, order over the wrap, suppressed requests; and the names in events. */
#include "dat/provider/dto/queue.h"

#include "dat/provider/dto/status.h"
#include "support/check.h"

#include <dat2/dat_ib_extensions.h>

static void post(struct dpr_dtoq *q)
{
	CHECK(dpr_dtoq_next(q)->index == q->head);
	q->head++;
}

static void retire(struct dpr_dtoq *q, uint32_t n)
{
	atomic_store(&q->tail, q->tail + n);
}

static void rooms(void)
{
	struct dpr_dtoq q;

	CHECK(!dpr_dtoq_init(&q, 0, 0, 0) && !q.ring && !dpr_dtoq_room(&q, 1));
	dpr_dtoq_drop(&q);
	CHECK(dpr_dtoq_init(&q, 1u << 25, 0, 0) == -ENOMEM);
	CHECK(!dpr_dtoq_init(&q, 5, 0, 2));
	CHECK(q.mask >= 4 && q.waiting);
	q.tail = UINT32_MAX - 2; /* over the wrap */
	q.head = UINT32_MAX - 2;
	for (int i = 0; i < 5; i++) {
		CHECK(dpr_dtoq_room(&q, 1));
		post(&q);
	}
	CHECK(!dpr_dtoq_room(&q, 1) && dpr_dtoq_used(&q) == 5);
	retire(&q, 2);
	CHECK(dpr_dtoq_room(&q, 1) && dpr_dtoq_used(&q) == 3);
	CHECK(dpr_dtoq_at(&q, UINT32_MAX) != dpr_dtoq_at(&q, 0));
	dpr_dtoq_drop(&q);
	CHECK(!q.ring && !q.limit);
}

/* Rebinds take two records and count as one request. */
static void steps(void)
{
	struct dpr_dtoq q;

	CHECK(!dpr_dtoq_init(&q, 3, 3, 0));
	for (int i = 0; i < 3; i++) {
		CHECK(dpr_dtoq_room(&q, 2));
		post(&q);
		post(&q);
		atomic_fetch_add(&q.inner, 1);
	}
	CHECK(!dpr_dtoq_room(&q, 1) && !dpr_dtoq_room(&q, 2));
	atomic_fetch_sub(&q.inner, 1);
	retire(&q, 2);
	CHECK(dpr_dtoq_room(&q, 2));
	dpr_dtoq_drop(&q);
	CHECK(!dpr_dtoq_init(&q, 1, 0, 0));
	CHECK(dpr_dtoq_room(&q, 1) && !dpr_dtoq_room(&q, 2));
	dpr_dtoq_drop(&q);
}

/* Suppressed requests never fill the queue: one is signalled before that. */
static void signals(uint32_t limit)
{
	struct dpr_dtoq q;
	uint32_t run = 0, most = 0;

	CHECK(!dpr_dtoq_init(&q, limit, 0, 0));
	for (int i = 0; i < 1000; i++) {
		run = dpr_dtoq_signal(&q, true) ? 0 : run + 1;
		most = run > most ? run : most;
	}
	CHECK_MSG(most < limit && most <= limit / 2, "limit %u: %u in a row", limit, most);
	CHECK(dpr_dtoq_signal(&q, false) && q.quiet_run == 0);
	dpr_dtoq_drop(&q);
}

static void words(void)
{
	static const struct {
		enum ibv_wc_status wc;
		DAT_DTO_COMPLETION_STATUS dto;
	} row[] = {
		{ IBV_WC_SUCCESS, DAT_DTO_SUCCESS },
		{ IBV_WC_LOC_LEN_ERR, DAT_DTO_ERR_LOCAL_LENGTH },
		{ IBV_WC_LOC_QP_OP_ERR, DAT_DTO_ERR_LOCAL_EP },
		{ IBV_WC_LOC_PROT_ERR, DAT_DTO_ERR_LOCAL_PROTECTION },
		{ IBV_WC_LOC_ACCESS_ERR, DAT_DTO_ERR_LOCAL_PROTECTION },
		{ IBV_WC_WR_FLUSH_ERR, DAT_DTO_ERR_FLUSHED },
		{ IBV_WC_MW_BIND_ERR, DAT_RMR_OPERATION_FAILED },
		{ IBV_WC_BAD_RESP_ERR, DAT_DTO_ERR_BAD_RESPONSE },
		{ IBV_WC_REM_ACCESS_ERR, DAT_DTO_ERR_REMOTE_ACCESS },
		{ IBV_WC_REM_INV_REQ_ERR, DAT_DTO_ERR_REMOTE_RESPONDER },
		{ IBV_WC_REM_OP_ERR, DAT_DTO_ERR_REMOTE_RESPONDER },
		{ IBV_WC_RETRY_EXC_ERR, DAT_DTO_ERR_TRANSPORT },
		{ IBV_WC_FATAL_ERR, DAT_DTO_ERR_TRANSPORT },
		{ IBV_WC_RNR_RETRY_EXC_ERR, DAT_DTO_ERR_RECEIVER_NOT_READY },
		{ IBV_WC_RESP_TIMEOUT_ERR, DAT_DTO_ERR_RECEIVER_NOT_READY },
		{ (enum ibv_wc_status)99, DAT_DTO_ERR_TRANSPORT },
		{ (enum ibv_wc_status)-1, DAT_DTO_ERR_TRANSPORT },
	};

	for (unsigned int i = 0; i < sizeof(row) / sizeof(row[0]); i++)
		CHECK_MSG(dpr_dto_status(row[i].wc) == row[i].dto, "wc status %d", row[i].wc);
}

static void events(void)
{
	const DAT_DTO_COOKIE cookie = { .as_64 = 0x1234567890abcdefu };
	const DAT_DTO_COMPLETION_EVENT_DATA *d;
	const DAT_IB_EXTENSION_EVENT_DATA *x;
	DAT_EVENT ev;

	memset(&ev, 0xff, sizeof(ev));
	d = &ev.event_data.dto_completion_event_data;
	x = (const DAT_IB_EXTENSION_EVENT_DATA *)ev.event_extension_data;
	dpr_dto_fill(&ev, (struct dpr_ep *)&ev, DPR_OP_READ_TO_RMR, cookie, DAT_DTO_SUCCESS, 77, NULL);
	CHECK(ev.event_number == DAT_DTO_COMPLETION_EVENT && d->operation == DAT_DTO_RDMA_READ);
	CHECK(d->ep_handle == (DAT_EP_HANDLE)&ev && d->user_cookie.as_64 == cookie.as_64);
	CHECK(d->transfered_length == 77 && !d->rmr_context && d->status == DAT_DTO_SUCCESS);
	dpr_dto_fill(&ev, NULL, DPR_OP_BIND, cookie, DAT_RMR_OPERATION_FAILED, 0,
		     (struct dpr_rmr *)&ev);
	CHECK(ev.event_number == DAT_RMR_BIND_COMPLETION_EVENT);
	CHECK(ev.event_data.rmr_completion_event_data.rmr_handle == (DAT_RMR_HANDLE)&ev);
	CHECK(ev.event_data.rmr_completion_event_data.status == DAT_RMR_OPERATION_FAILED);
	CHECK(ev.event_data.rmr_completion_event_data.user_cookie.as_64 == cookie.as_64);
	dpr_dto_fill(&ev, NULL, DPR_OP_CMP_SWAP, cookie, DAT_DTO_ERR_FLUSHED, 8, NULL);
	CHECK(ev.event_number == (DAT_EVENT_NUMBER)DAT_IB_DTO_EVENT);
	CHECK((unsigned int)d->operation == DAT_IB_DTO_CMP_SWAP);
	CHECK(x->type == DAT_IB_CMP_AND_SWAP && x->status == DAT_IB_OP_ERR);
	dpr_dto_fill(&ev, NULL, DPR_OP_WRITE_IMM, cookie, DAT_DTO_SUCCESS, 8, NULL);
	CHECK(x->type == DAT_IB_RDMA_WRITE_IMMED && x->status == (DAT_IB_STATUS)DAT_OP_SUCCESS);
}

int main(void)
{
	rooms();
	steps();
	for (uint32_t limit = 2; limit < 70; limit++)
		signals(limit);
	words();
	events();
	return 0;
}
