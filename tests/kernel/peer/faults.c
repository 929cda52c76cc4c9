/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Requests that must fail, and the results at each end. */
#include "peer.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool kind(const struct peer *p, const char *word)
{
	return p->a->kind && strstr(p->a->kind, word);
}

static void async_events(struct peer *p)
{
	struct pollfd fd = { .fd = p->id->verbs->async_fd, .events = POLLIN };
	struct ibv_async_event e;

	while (poll(&fd, 1, 0) == 1) {
		must0(ibv_get_async_event(p->id->verbs, &e));
		if (e.event_type == IBV_EVENT_QP_ACCESS_ERR)
			peer_saw(p, "event:access");
		else if (e.event_type == IBV_EVENT_QP_REQ_ERR)
			peer_saw(p, "event:request");
		else if (e.event_type == IBV_EVENT_QP_FATAL)
			peer_saw(p, "event:fatal");
		/* Others (limits, ports) are of no interest here. */
		ibv_ack_async_event(&e);
	}
}

/* The end may come from either side, or have come. */
static void part(struct peer *p)
{
	struct ibv_wc wc;

	if (!p->a->passive)
		rdma_disconnect(p->id); /* an error if the stream has ended: as wanted */
	peer_left(p);
	async_events(p);
	if (p->a->passive) {
		rdma_disconnect(p->id);
		wc = peer_done(p, p->rcq);
		peer_saw_wc(p, "recv", &wc);
	}
	peer_judge(p);
	peer_close(p);
}

static void meet_with(struct peer *p, peer_speak_fn *speak)
{
	peer_open(p, p->a);
	if (p->a->passive) {
		peer_request(p);
		if (!kind(p, "norecv"))
			peer_expect_word(p);
	}
	peer_begin(p, speak);
}

static void meet(struct peer *p)
{
	meet_with(p, peer_tell_end);
}

/* --- remote access --- */

static struct peer_op bad_request(struct peer *p)
{
	struct peer_op op = { .len = 64, .remote = p->far.addr, .rkey = p->far.rkey };

	op.code = kind(p, "write") ? IBV_WR_RDMA_WRITE : kind(p, "read") ? IBV_WR_RDMA_READ :
		  IBV_WR_ATOMIC_FETCH_AND_ADD;
	if (op.code == IBV_WR_ATOMIC_FETCH_AND_ADD)
		op.len = 8;
	if (kind(p, "key"))
		op.rkey ^= 0x5500;
	if (kind(p, "bounds"))
		op.remote += p->far.len - 8;
	if (kind(p, "align"))
		op.remote += 4;
	return op;
}

static void access_passive(struct peer *p)
{
	if (kind(p, "right"))
		p->access = IBV_ACCESS_LOCAL_WRITE;
	/* rxe may take the bad request before the acknowledgement in front of it, and flush. */
	meet_with(p, peer_last_word);
	part(p);
}

static void access_active(struct peer *p)
{
	struct peer_op op;
	struct ibv_wc wc;

	meet(p);
	op = bad_request(p);
	peer_post(p, &op);
	wc = peer_done(p, p->scq);
	peer_saw_wc(p, "send", &wc);
	if (p->iwarp) { /* the peer ends the stream; nothing may hurry it */
		peer_left(p);
		async_events(p);
		peer_judge(p);
		peer_close(p);
		return;
	}
	part(p);
}

/* --- no receive --- */

static void rnr_passive(struct peer *p)
{
	meet(p);
	if (kind(p, "late")) {
		usleep(300000); /* the lateness is the test */
		peer_expect_word(p);
		must(peer_hear(p) == 4711, "another word");
		peer_left(p);
		peer_close(p);
		return;
	}
	peer_left(p);
	async_events(p);
	peer_judge(p);
	peer_close(p);
}

static void rnr_active(struct peer *p)
{
	struct ibv_wc wc;

	meet(p);
	memcpy(p->mem, &(uint32_t){ 4711 }, 4);
	peer_post(p, &(struct peer_op){ .code = IBV_WR_SEND, .len = 4 });
	wc = peer_done(p, p->scq);
	peer_saw_wc(p, "send", &wc);
	if (p->iwarp)
		peer_left(p);
	else
		peer_leave(p);
	async_events(p);
	peer_judge(p);
	peer_close(p);
}

/* --- Send with invalidate: the passive end's window (or region) is closed by it --- */

static uint32_t open_window(struct peer *p)
{
	struct ibv_mw *mw;
	struct ibv_send_wr *bad, wr = { .opcode = IBV_WR_BIND_MW, .send_flags = IBV_SEND_SIGNALED };

	if (kind(p, "region"))
		return p->mr->rkey;
	p->mw = mw = ibv_alloc_mw(p->pd, IBV_MW_TYPE_2);
	must(mw, "no window: %s", strerror(errno));
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = (struct ibv_mw_bind_info){
		.mr = p->mr, .addr = (uintptr_t)p->mem, .length = 4096,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
	must0(errno = ibv_post_send(p->id->qp, &wr, &bad));
	peer_ok(p, p->scq);
	return wr.bind_mw.rkey;
}

static void inv_passive(struct peer *p)
{
	uint32_t key;
	struct ibv_wc wc;

	p->access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		    (kind(p, "region") ? 0 : IBV_ACCESS_MW_BIND);
	meet(p);
	peer_hear(p); /* iWARP: the initiator speaks first */
	key = open_window(p);
	peer_recv(p, 8192, 4096);
	/* For the end: siw flushes nothing that is posted once its QP has failed. */
	peer_recv(p, 8192, 4096);
	peer_tell(p, key);
	wc = peer_ok(p, p->rcq);
	/* The library of siw does not tell of it. */
	must(wc.wc_flags & IBV_WC_WITH_INV || kind(p, "untold"),
	     "no invalidation is told of: flags %#x, key %#x", wc.wc_flags, wc.invalidated_rkey);
	must(!(wc.wc_flags & IBV_WC_WITH_INV) || wc.invalidated_rkey == key, "key %#x, not %#x",
	     wc.invalidated_rkey, key);
	must(wc.byte_len == 100, "%u bytes", wc.byte_len);
	peer_check(p, 0, 4096, 1);
	peer_check(p, 8192, 100, 2);
	part(p);
}

static void inv_active(struct peer *p)
{
	struct peer_op op = { .code = IBV_WR_RDMA_WRITE, .len = 4096 };
	struct ibv_wc wc;

	meet(p);
	op.remote = p->far.addr;
	peer_expect_word(p);
	peer_tell(p, 0);
	op.rkey = peer_hear(p);
	peer_fill(p, 0, 4096, 1);
	peer_do(p, &op);
	peer_fill(p, 8192, 100, 2);
	peer_do(p, &(struct peer_op){ .code = IBV_WR_SEND_WITH_INV, .at = 8192, .len = 100,
				      .inv = op.rkey });
	peer_post(p, &op); /* the key is gone */
	wc = peer_done(p, p->scq);
	peer_saw_wc(p, "send", &wc);
	if (!p->iwarp)
		rdma_disconnect(p->id);
	peer_left(p);
	peer_judge(p);
	peer_close(p);
}

const struct peer_scenario peer_faults[] = {
	{ "access", "one request without the right to it", access_passive, access_active },
	{ "rnr", "a Send without a receive", rnr_passive, rnr_active },
	{ "inv", "Send with invalidate, and the key used again", inv_passive, inv_active },
	{ 0 }
};
