/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The result of a broken rule, for each kind of adapter: an InfiniBand responder
 * answers every request, so that the requester is told; an iWARP one ends the
 * stream with a Terminate, and only Reads and atomics still wait for an answer.
 */
#include "conf.h"

#include <sched.h>
#include <stdatomic.h>

enum {
	NONE = -1,
	LEFT = -2, /* with the stream before the refusal: done, or flushed */
	BAD = -3,  /* an error of the receive's own, the standards do not agree on which */
};
#define WC(x) IBV_WC_##x
#define EV(x) IBV_EVENT_QP_##x

static const struct row {
	/* request, receive (of the one that was taken), event at the responder and the requester */
	struct column {
		int request, receive, event, told;
	} ib, iwarp;
} rows[CF_N_FAULTS] = {
	[CF_TOO_LONG] = { { WC(REM_INV_REQ_ERR), WC(LOC_LEN_ERR), NONE, NONE },
			  { LEFT, WC(LOC_LEN_ERR), EV(FATAL), EV(FATAL) } },
	[CF_BAD_RECV] = { { WC(REM_OP_ERR), WC(LOC_PROT_ERR), NONE, NONE },
			  { LEFT, WC(LOC_PROT_ERR), EV(FATAL), EV(FATAL) } },
	[CF_BAD_WRITE] = { { WC(REM_ACCESS_ERR), NONE, EV(ACCESS_ERR), NONE },
			   { LEFT, NONE, EV(ACCESS_ERR), EV(FATAL) } },
	[CF_BAD_READ] = { { WC(REM_ACCESS_ERR), NONE, EV(ACCESS_ERR), NONE },
			  { WC(REM_ACCESS_ERR), NONE, EV(ACCESS_ERR), EV(FATAL) } },
	[CF_BAD_ATOMIC] = { { WC(REM_ACCESS_ERR), NONE, EV(ACCESS_ERR), NONE },
			    { WC(REM_ACCESS_ERR), NONE, EV(ACCESS_ERR), EV(FATAL) } },
	[CF_QP_WRITE] = { { WC(REM_INV_REQ_ERR), NONE, EV(REQ_ERR), NONE },
			  { LEFT, NONE, EV(ACCESS_ERR), EV(FATAL) } },
	[CF_QP_READ] = { { WC(REM_INV_REQ_ERR), NONE, EV(REQ_ERR), NONE },
			 { WC(REM_ACCESS_ERR), NONE, EV(ACCESS_ERR), EV(FATAL) } },
	[CF_QP_ATOMIC] = { { WC(REM_INV_REQ_ERR), NONE, EV(REQ_ERR), NONE },
			   { WC(REM_ACCESS_ERR), NONE, EV(ACCESS_ERR), EV(FATAL) } },
	/* RFC 7306 has no code for it: catastrophic for the stream. */
	[CF_MISALIGNED] = { { WC(REM_INV_REQ_ERR), NONE, EV(REQ_ERR), NONE },
			    { WC(REM_OP_ERR), NONE, EV(REQ_ERR), EV(FATAL) } },
	[CF_BAD_INV] = { { WC(REM_ACCESS_ERR), BAD, NONE, NONE },
			 { LEFT, WC(REM_INV_REQ_ERR), EV(ACCESS_ERR), EV(FATAL) } },
	/* The Write goes ahead of its immediate and is refused alone. */
	[CF_BAD_WRITE_IMM] = { { WC(REM_ACCESS_ERR), WC(LOC_ACCESS_ERR), NONE, NONE },
			       { LEFT, WC(WR_FLUSH_ERR), EV(ACCESS_ERR), EV(FATAL) } },
};

static void one_of(const char *file, int line, struct ibv_cq *cq, uint64_t id, int want)
{
	struct ibv_wc wc;

	if (want >= 0) {
		cf_wc_at(file, line, cq, id, want);
		return;
	}
	if (!cf_poll(cq, &wc, CF_WAIT_MS))
		cf_fail(file, line, "no completion of wr_id %llu", (unsigned long long)id);
	if (wc.wr_id != id)
		cf_fail(file, line, "completion of wr_id %llu, not %llu",
			(unsigned long long)wc.wr_id, (unsigned long long)id);
	if (want == LEFT ? wc.status != IBV_WC_SUCCESS && wc.status != IBV_WC_WR_FLUSH_ERR
			 : wc.status == IBV_WC_SUCCESS || wc.status == IBV_WC_WR_FLUSH_ERR)
		cf_fail(file, line, "wr_id %llu ended with %s", (unsigned long long)id,
			ibv_wc_status_str(wc.status));
}

static void event(const char *file, int line, struct cf_side *s, int want)
{
	struct ibv_async_event e;

	if (want == NONE)
		return;
	e = cf_event_at(file, line, s->ctx, want);
	if (e.element.qp != s->qp)
		cf_fail(file, line, "the event is of another QP");
}

void cf_fails_at(const char *file, int line, struct cf_side *a, uint64_t id, struct cf_side *b,
		 uint64_t rid, enum cf_fault f)
{
	const struct column *c = cf.iwarp ? &rows[f].iwarp : &rows[f].ib;

	one_of(file, line, a->scq, id, c->request);
	if (c->receive != NONE && rid != CF_NO_RECV)
		one_of(file, line, b->rcq, rid, c->receive);
	event(file, line, b, c->event);
	event(file, line, a, c->told);
	cf_await_state(a->qp, IBV_QPS_ERR);
	cf_await_state(b->qp, IBV_QPS_ERR);
}

/* The answer of an empty READ comes behind all that was sent before it. */
#define BARRIER_ID 0xbaaaaaadull

static enum ibv_wc_status barrier(struct cf_side *a)
{
	struct ibv_wc wc;
	int rc = cf_post_try(a, &(struct cf_wr){ .op = IBV_WR_RDMA_READ, .id = BARRIER_ID });

	CF_OK(rc);
	CF_TRUE(cf_poll(a->scq, &wc, CF_WAIT_MS));
	CF_EQ(wc.wr_id, BARRIER_ID);
	return wc.status;
}

void cf_landed(struct cf_side *a, struct cf_side *b)
{
	(void)b;
	if (cf.iwarp && barrier(a) != IBV_WC_SUCCESS)
		CF_DIE("the peer has refused what was sent");
}

enum ibv_wc_status cf_status_of(struct cf_side *a, struct cf_side *b, const struct cf_wr *w)
{
	struct ibv_wc wc;
	(void)b;

	CF_OK(cf_post_try(a, w));
	CF_TRUE(cf_poll(a->scq, &wc, CF_WAIT_MS));
	CF_EQ(wc.wr_id, w->id);
	if (!cf.iwarp || (w->op != IBV_WR_RDMA_WRITE && w->op != IBV_WR_SEND))
		return wc.status; /* it was answered */
	if (wc.status == IBV_WC_SUCCESS)
		wc.status = barrier(a);
	return wc.status == IBV_WC_WR_FLUSH_ERR ? IBV_WC_REM_ACCESS_ERR : wc.status;
}

void cf_credit(const _Atomic int *posted, int n)
{
	uint64_t end = cf_ns() + 300000000000ull;

	while (cf.iwarp && n >= atomic_load(posted)) {
		CF_TRUE(cf_ns() < end);
		sched_yield();
	}
}

void cf_peer_of_local_error(struct cf_side *b, uint64_t rid)
{
	if (cf.iwarp) {
		if (rid != CF_NO_RECV)
			cf_wc(b->rcq, rid, WR_FLUSH_ERR);
		cf_event(b->ctx, QP_FATAL);
		cf_await_state(b->qp, IBV_QPS_ERR);
		return;
	}
	cf_quiet_for(b->rcq, 5);
	CF_EQ(cf_state(b->qp), IBV_QPS_RTS);
}

enum ibv_wc_status cf_peer_gone(void)
{
	return cf.iwarp ? IBV_WC_WR_FLUSH_ERR : IBV_WC_RETRY_EXC_ERR;
}
