/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <string.h>

#include "dtest.h"

/* Checks over the standing connection. Both ends do the same to each other. */

static uint64_t seed(bool server, unsigned round, int i)
{
	return (server ? 1000000 : 2000000) + round * 1000 + i;
}

static char *part(struct dtd *d, char *of, int i)
{
	return of + d->o->size * i;
}

static bool all_arrived(struct dtd *d, char *where, unsigned round)
{
	int i;

	for (i = 0; i < d->o->burst; i++)
		if (dtl_differs(part(d, where, i), d->o->size,
				seed(!dtd_is_server(d), round, i)) >= 0) {
			dtl_complain("data mismatch: operation %d of a burst", i);
			return false;
		}
	return true;
}

static void fill_all(struct dtd *d, char *where, unsigned round)
{
	int i;

	for (i = 0; i < d->o->burst; i++)
		dtl_fill(part(d, where, i), d->o->size, seed(dtd_is_server(d), round, i));
}

/* --- messages --- */

/*
 * The receive of the next step message is posted already, so it precedes those of the messages, and
 * that is the order in which the peer sends.
 */
static int one_round(struct dtd *d, unsigned round)
{
	DAT_LMR_TRIPLET seg;
	uint64_t first = d->recv_posted, length;
	int i;

	fill_all(d, d->source, round);
	memset(d->target, 0, d->o->size * d->o->burst);
	for (i = 0; i < d->o->burst; i++) {
		seg = dtl_segment(d->mem.context, part(d, d->target, i), d->o->size);
		if (dtl_post_recv(&d->end, &seg, 1, first + i) != 0)
			return -1;
	}
	d->recv_posted += d->o->burst;
	if (dtd_step(d, 10 + round) != 0)
		return -1;
	for (i = 0; i < d->o->burst; i++) {
		seg = dtl_segment(d->mem.context, part(d, d->source, i), d->o->size);
		if (dtl_post_send(&d->end, &seg, 1, d->posted + i) != 0)
			return -1;
	}
	for (i = 0; i < d->o->burst; i++)
		if (dtd_reap_request(d, d->posted++) != 0)
			return -1;
	for (i = 0; i < d->o->burst; i++) {
		if (dtl_reap(&d->end, d->end.recv, d->received, &length) != 0)
			return -1;
		d->received++;
		if (length != d->o->size)
			return -1;
	}
	return all_arrived(d, d->target, round) ? 0 : -1;
}

enum dtd_result dtd_check_messages(struct dtd *d)
{
	static const enum dtl_how ways[] = { DTL_WAIT, DTL_POLL, DTL_CNO };
	unsigned i;

	for (i = 0; i < 3; i++) {
		d->end.how = d->o->only_how ? d->o->how : ways[i];
		DTD_NEED(one_round(d, i) == 0);
	}
	d->end.how = d->o->how;
	return DTD_PASS;
}

/* --- RDMA --- */

static int post_all(struct dtd *d, bool write)
{
	int i;

	for (i = 0; i < d->o->burst; i++) {
		char *mine = part(d, write ? d->source : d->target, i);
		uint64_t its = (write ? d->peer_target : d->peer_source) + d->o->size * i;
		DAT_LMR_TRIPLET seg = dtl_segment(d->mem.context, mine, d->o->size);
		DAT_RMR_TRIPLET to = dtl_remote(d->peer_context, its, d->o->size);
		DAT_DTO_COOKIE cookie = { .as_64 = d->posted + i };
		DAT_RETURN r = write ?
			dat_ep_post_rdma_write(d->end.ep, 1, &seg, cookie, &to,
					       DAT_COMPLETION_DEFAULT_FLAG) :
			dat_ep_post_rdma_read(d->end.ep, 1, &seg, cookie, &to,
					      DAT_COMPLETION_DEFAULT_FLAG);

		if (dtl_check(r, write ? "dat_ep_post_rdma_write" : "dat_ep_post_rdma_read") != 0)
			return -1;
	}
	for (i = 0; i < d->o->burst; i++)
		if (dtd_reap_request(d, d->posted++) != 0)
			return -1;
	return 0;
}

enum dtd_result dtd_check_write(struct dtd *d)
{
	fill_all(d, d->source, 20);
	memset(d->target, 0, d->o->size * d->o->burst);
	DTD_NEED(dtd_step(d, 20) == 0);
	DTD_NEED(post_all(d, true) == 0);
	/* A message that follows a Write arrives behind it. */
	DTD_NEED(dtd_step(d, 21) == 0);
	DTD_NEED(all_arrived(d, d->target, 20));
	return DTD_PASS;
}

enum dtd_result dtd_check_read(struct dtd *d)
{
	fill_all(d, d->source, 30);
	memset(d->target, 0, d->o->size * d->o->burst);
	DTD_NEED(dtd_step(d, 30) == 0);
	DTD_NEED(post_all(d, false) == 0);
	DTD_NEED(all_arrived(d, d->target, 30));
	/* A source may change only after the peer has read it. */
	DTD_NEED(dtd_step(d, 31) == 0);
	return DTD_PASS;
}

/* Suppressed Writes complete invisibly; the first completion is that of the message behind them. */
enum dtd_result dtd_check_suppress(struct dtd *d)
{
	DAT_LMR_TRIPLET seg = dtl_segment(d->mem.context, d->source, d->o->size);
	DAT_RMR_TRIPLET to;
	DAT_DTO_COOKIE cookie = { .as_64 = ~0ull };
	DAT_RETURN r = DAT_SUCCESS;
	DAT_EVENT ev;
	int i;

	fill_all(d, d->source, 40);
	memset(d->target, 0, d->o->size * d->o->burst);
	DTD_NEED(dtd_step(d, 40) == 0);
	to = dtl_remote(d->peer_context, d->peer_target, d->o->size);
	for (i = 0; i < d->o->burst; i++) {
		r = dat_ep_post_rdma_write(d->end.ep, 1, &seg, cookie, &to,
					   DAT_COMPLETION_SUPPRESS_FLAG);
		DTD_NEED(dtl_check(r, "a suppressed dat_ep_post_rdma_write") == 0);
	}
	/* The message's completion must be the first and only one. */
	DTD_NEED(dtd_step(d, 41) == 0);
	DTD_NEED(dtl_differs(d->target, d->o->size, seed(!dtd_is_server(d), 40, 0)) < 0);
	DTD_NEED(DAT_GET_TYPE(dat_evd_dequeue(d->end.request, &ev)) == DAT_QUEUE_EMPTY);
	return DTD_PASS;
}

/* --- a shared receive queue, over a connection of its own --- */

static enum dtd_result srq_traffic(struct dtd *d, struct dtl_end *e, DAT_SRQ_HANDLE srq)
{
	DAT_DTO_COMPLETION_EVENT_DATA *dto;
	DAT_LMR_TRIPLET seg;
	DAT_DTO_COOKIE cookie;
	DAT_EVENT ev;
	int i;

	for (i = 0; i < d->o->burst; i++) {
		seg = dtl_segment(d->mem.context, part(d, d->target, i), d->o->size);
		cookie.as_64 = i;
		DTD_NEED(dtl_check(dat_srq_post_recv(srq, 1, &seg, cookie), "dat_srq_post_recv") == 0);
	}
	if (dtd_meet(d, e, 51) != DTD_PASS)
		return DTD_FAIL;
	for (i = 0; i < d->o->burst; i++) {
		seg = dtl_segment(d->mem.context, part(d, d->source, i), d->o->size);
		DTD_NEED(dtl_post_send(e, &seg, 1, i) == 0);
	}
	for (i = 0; i < d->o->burst; i++)
		DTD_NEED(dtl_reap(e, e->request, i, NULL) == 0);
	for (i = 0; i < d->o->burst; i++) {
		DTD_NEED(dtl_next(e->how, e->cno, e->recv, DTL_TIMEOUT_MS, &ev) == 0);
		dto = &ev.event_data.dto_completion_event_data;
		if (dto->status != DAT_DTO_SUCCESS)
			dtl_complain("a receive ended with %s", dtl_status_name(dto->status));
		DTD_NEED(dto->status == DAT_DTO_SUCCESS);
		DTD_NEED(dto->ep_handle == e->ep);
		DTD_NEED(dto->transfered_length == d->o->size);
		/* Buffers leave the queue in their order, and one peer's messages arrive in theirs. */
		DTD_NEED(dto->user_cookie.as_64 == (DAT_UINT64)i);
	}
	DTD_NEED(all_arrived(d, d->target, 50));
	return DTD_PASS;
}

enum dtd_result dtd_check_srq(struct dtd *d)
{
	DAT_SRQ_ATTR attr = { .max_recv_dtos = d->o->burst, .max_recv_iov = 1,
			      .low_watermark = DAT_SRQ_LW_DEFAULT };
	struct dtl_end_wish wish = { .recvs = d->o->burst + 1, .requests = d->o->burst + 1,
				     .iov = 1, .how = d->o->how, .cno = d->cno };
	enum dtd_result r;
	struct dtl_end e;

	if (!(d->common & DTD_CAN_SRQ))
		return DTD_UNSUPP;
	fill_all(d, d->source, 50);
	memset(d->target, 0, d->o->size * d->o->burst);
	DTD_NEED(dtl_check(dat_srq_create(d->ia.ia, d->ia.pz, &attr, &wish.srq),
			   "dat_srq_create") == 0);
	DTD_NEED(dtl_end_make(&e, &d->ia, &wish) == 0);
	DTD_NEED(dtd_step(d, 50) == 0);
	r = srq_traffic(d, &e, wish.srq);
	if (r != DTD_PASS)
		return r;
	DTD_NEED(dtd_step(d, 51) == 0);
	DTD_NEED(dtl_end_drop(&e) == 0);
	DTD_NEED(dtl_check(dat_srq_free(wish.srq), "dat_srq_free") == 0);
	return DTD_PASS;
}
