/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The end on DAT. */
#include "end.h"

#include <dat2/udat.h>
#include <string.h>

struct dat {
	DAT_IA_HANDLE ia;
	DAT_EVD_HANDLE async, sent, received, conn, cr;
	DAT_PZ_HANDLE pz;
	DAT_EP_HANDLE ep;
	DAT_LMR_HANDLE lmr;
	DAT_LMR_CONTEXT lkey;
	DAT_RMR_CONTEXT rkey;
};

static DAT_DTO_COOKIE cookie(uint64_t n)
{
	return (DAT_DTO_COOKIE){ .as_64 = n };
}

static void dat_write(struct end *e, uint32_t off, uint32_t len)
{
	struct dat *d = e->impl;
	DAT_LMR_TRIPLET l = { (uintptr_t)e->buf + off, len, d->lkey };
	DAT_RMR_TRIPLET r = { e->peer_addr + off, len, e->peer_key };

	MUST(!dat_ep_post_rdma_write(d->ep, 1, &l, cookie(off), &r, DAT_COMPLETION_DEFAULT_FLAG));
}

static void dat_send(struct end *e, uint32_t off, uint32_t len)
{
	struct dat *d = e->impl;
	DAT_LMR_TRIPLET l = { (uintptr_t)e->buf + off, len, d->lkey };

	MUST(!dat_ep_post_send(d->ep, 1, &l, cookie(off), DAT_COMPLETION_DEFAULT_FLAG));
}

static void dat_recv(struct end *e, uint32_t off, uint32_t len)
{
	struct dat *d = e->impl;
	DAT_LMR_TRIPLET l = { (uintptr_t)e->buf + off, len, d->lkey };

	MUST(!dat_ep_post_recv(d->ep, 1, &l, cookie(off), DAT_COMPLETION_DEFAULT_FLAG));
}

/* One at a time: further events stay in the EVD, and taking them polls no device. */
static unsigned int reap(DAT_EVD_HANDLE evd, bool block)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	if (!block && dat_evd_dequeue(evd, &ev) != DAT_SUCCESS)
		return 0;
	if (block)
		MUST(!dat_evd_wait(evd, DAT_TIMEOUT_INFINITE, 1, &ev, &more));
	MUST(ev.event_data.dto_completion_event_data.status == DAT_DTO_SUCCESS);
	return 1;
}

static unsigned int dat_sent(struct end *e, bool block)
{
	return reap(((struct dat *)e->impl)->sent, block);
}

static unsigned int dat_received(struct end *e, bool block)
{
	return reap(((struct dat *)e->impl)->received, block);
}

static DAT_EVENT next(DAT_EVD_HANDLE evd, DAT_EVENT_NUMBER number)
{
	DAT_COUNT more;
	DAT_EVENT ev;

	MUST(!dat_evd_wait(evd, 20000000, 1, &ev, &more));
	MUST(ev.event_number == number);
	return ev;
}

static void make(struct end *e, struct dat *d)
{
	DAT_EP_ATTR attr = {
		.max_message_size = MESSAGE, .max_rdma_size = MESSAGE,
		.max_recv_dtos = 2 * DEPTH, .max_request_dtos = 2 * DEPTH,
		.max_recv_iov = 1, .max_request_iov = 1,
		.max_rdma_read_in = 4, .max_rdma_read_out = 4,
		.max_rdma_read_iov = 1, .max_rdma_write_iov = 1,
	};
	DAT_REGION_DESCRIPTION r = { .for_va = e->buf };

	MUST(!dat_pz_create(d->ia, &d->pz));
	MUST(!dat_evd_create(d->ia, 4 * DEPTH, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &d->sent));
	MUST(!dat_evd_create(d->ia, 4 * DEPTH, DAT_HANDLE_NULL, DAT_EVD_DTO_FLAG, &d->received));
	MUST(!dat_evd_create(d->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CONNECTION_FLAG, &d->conn));
	MUST(!dat_evd_create(d->ia, 8, DAT_HANDLE_NULL, DAT_EVD_CR_FLAG, &d->cr));
	MUST(!dat_ep_create(d->ia, d->pz, d->received, d->sent, d->conn, &attr, &d->ep));
	MUST(!dat_lmr_create(d->ia, DAT_MEM_TYPE_VIRTUAL, r, BUFFER, d->pz, DAT_MEM_PRIV_ALL_FLAG,
			     DAT_VA_TYPE_VA, &d->lmr, &d->lkey, &d->rkey, NULL, NULL));
}

static void serve(struct dat *d, int control)
{
	DAT_CONN_QUAL qual;
	DAT_PSP_HANDLE psp;
	DAT_EVENT ev;

	MUST(!dat_psp_create_any(d->ia, &qual, d->cr, DAT_PSP_CONSUMER_FLAG, &psp));
	tell(control, &qual, sizeof(qual));
	ev = next(d->cr, DAT_CONNECTION_REQUEST_EVENT);
	MUST(!dat_cr_accept(ev.event_data.cr_arrival_event_data.cr_handle, d->ep, 0, NULL));
}

static void connect_end(struct dat *d, int control)
{
	DAT_CONN_QUAL qual;
	DAT_IA_ATTR attr;

	hear(control, &qual, sizeof(qual));
	MUST(!dat_ia_query(d->ia, NULL, DAT_IA_FIELD_ALL, &attr, 0, NULL));
	MUST(!dat_ep_connect(d->ep, attr.ia_address_ptr, qual, 20000000, 0, NULL,
			     DAT_QOS_BEST_EFFORT, DAT_CONNECT_DEFAULT_FLAG));
}

void dat_open(struct end *e, bool server, int control, const char *ia)
{
	struct dat *d = calloc(1, sizeof(*d));

	MUST(d && !posix_memalign((void **)&e->buf, 4096, BUFFER));
	memset(e->buf, 0, BUFFER);
	e->impl = d;
	e->write = dat_write;
	e->send = dat_send;
	e->recv = dat_recv;
	e->reap_sent = dat_sent;
	e->reap_received = dat_received;
	MUST(!dat_ia_open((char *)ia, 8, &d->async, &d->ia));
	make(e, d);
	if (server)
		serve(d, control);
	else
		connect_end(d, control);
	next(d->conn, DAT_CONNECTION_EVENT_ESTABLISHED);
	swap_keys(e, control, d->rkey);
}
