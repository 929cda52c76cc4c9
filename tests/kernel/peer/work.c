/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Work requests, one at a time, and their results. */
#include "peer.h"

#include <errno.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define WORD_OUT (PEER_MEM - 16)
#define WORD_IN (PEER_MEM - 8)
#define AFTER_LEAVING_S 3.0 /* some retransmissions of the last Send */

double peer_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* siw refuses a receive without an entry. */
void peer_recv(struct peer *p, size_t at, size_t len)
{
	struct ibv_sge sge = { (uintptr_t)p->mem + at, len ? (uint32_t)len : 1, p->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = at, .sg_list = &sge, .num_sge = 1 };

	if (p->srq)
		must0(errno = ibv_post_srq_recv(p->srq, &wr, &bad));
	else
		must0(errno = ibv_post_recv(p->id->qp, &wr, &bad));
}

void peer_post(struct peer *p, const struct peer_op *op)
{
	struct ibv_sge sge = { (uintptr_t)p->mem + op->at, (uint32_t)op->len, p->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.wr_id = op->at, .sg_list = &sge, .num_sge = op->len ? 1 : 0, .opcode = op->code,
		.send_flags = IBV_SEND_SIGNALED | op->flags,
		.wr.rdma = { .remote_addr = op->remote, .rkey = op->rkey },
	};

	if (op->code == IBV_WR_SEND_WITH_INV)
		wr.invalidate_rkey = op->inv;
	else
		wr.imm_data = op->imm;
	if (op->code == IBV_WR_ATOMIC_CMP_AND_SWP || op->code == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = op->remote;
		wr.wr.atomic.rkey = op->rkey;
		wr.wr.atomic.compare_add = op->add;
		wr.wr.atomic.swap = op->swap;
	}
	must0(errno = ibv_post_send(p->id->qp, &wr, &bad));
}

struct ibv_wc peer_done(struct peer *p, struct ibv_cq *cq)
{
	double until = peer_now() + PEER_WAIT_MS / 1000.0;
	struct ibv_wc wc;
	int n;

	while ((n = ibv_poll_cq(cq, 1, &wc)) == 0) {
		must(peer_now() < until, "no completion of a %s came",
		     cq == p->scq ? "send" : "receive");
		sched_yield();
	}
	must(n == 1, "poll: %d", n);
	return wc;
}

struct ibv_wc peer_ok(struct peer *p, struct ibv_cq *cq)
{
	struct ibv_wc wc = peer_done(p, cq);

	must(wc.status == IBV_WC_SUCCESS, "a %s ended with %s (vendor %#x)",
	     cq == p->scq ? "send" : "receive", ibv_wc_status_str(wc.status), wc.vendor_err);
	return wc;
}

void peer_do(struct peer *p, const struct peer_op *op)
{
	peer_post(p, op);
	peer_ok(p, p->scq);
}

static uint8_t pattern(size_t i, unsigned seed)
{
	return (uint8_t)(i * 7 + (i >> 8) * 13 + seed * 31 + 1);
}

void peer_fill(struct peer *p, size_t at, size_t len, unsigned seed)
{
	for (size_t i = 0; i < len; i++)
		p->mem[at + i] = pattern(i, seed);
}

void peer_check(struct peer *p, size_t at, size_t len, unsigned seed)
{
	for (size_t i = 0; i < len; i++)
		must(p->mem[at + i] == pattern(i, seed), "byte %zu of %zu is wrong", i, len);
}

void peer_last_word(struct peer *p, uint32_t word)
{
	memcpy(p->mem + WORD_OUT, &word, 4);
	peer_post(p, &(struct peer_op){ .code = IBV_WR_SEND, .at = WORD_OUT, .len = 4 });
}

void peer_tell(struct peer *p, uint32_t word)
{
	peer_last_word(p, word);
	peer_ok(p, p->scq);
}

/* Returns false if the other end has left and no completion has come for a while. */
static bool done_or_left(struct peer *p, struct ibv_wc *ret)
{
	double limit = peer_now() + PEER_WAIT_MS / 1000.0;
	int n;

	while ((n = ibv_poll_cq(p->scq, 1, ret)) == 0 && peer_now() < limit) {
		if (!p->left && peer_has_left(p))
			limit = peer_now() + AFTER_LEAVING_S;
		sched_yield();
	}
	must(n || p->left, "no completion of the last send came, and the other end has not left");
	must(n >= 0, "poll: %d", n);
	/* The disconnect moves the queue pair to the error state at an end whose manager does that, which flushes the Send. */
	return n == 1 && ret->status != IBV_WC_RETRY_EXC_ERR && ret->status != IBV_WC_WR_FLUSH_ERR;
}

void peer_went(struct peer *p)
{
	bool siw = !strncmp(ibv_get_device_name(p->id->verbs->device), "siw", 3);
	struct ibv_wc wc;

	if (!p->a->lossy) {
		wc = peer_done(p, p->scq);
	} else if (!done_or_left(p, &wc)) {
		printf("saw no acknowledgement of the last Send, and the other end's disconnect\n");
		return; /* peer_left() demands the disconnect */
	}
	must(siw || wc.status == IBV_WC_SUCCESS, "the last send ended with %s (vendor %#x)",
	     ibv_wc_status_str(wc.status), wc.vendor_err);
}

void peer_tell_end(struct peer *p, uint32_t word)
{
	peer_last_word(p, word);
	peer_went(p);
}

void peer_expect_word(struct peer *p)
{
	peer_recv(p, WORD_IN, 4);
}

uint32_t peer_hear(struct peer *p)
{
	struct ibv_wc wc = peer_ok(p, p->rcq);
	uint32_t word;

	must(wc.byte_len == 4, "a word of %u bytes", wc.byte_len);
	memcpy(&word, p->mem + WORD_IN, 4);
	return word;
}

/* --- results --- */

void peer_saw(struct peer *p, const char *fmt, ...)
{
	size_t had = strlen(p->saw);
	va_list ap;

	if (had)
		p->saw[had++] = ',';
	va_start(ap, fmt);
	vsnprintf(p->saw + had, sizeof(p->saw) - had, fmt, ap);
	va_end(ap);
}

void peer_saw_wc(struct peer *p, const char *what, const struct ibv_wc *wc)
{
	static const char *const name[] = {
		[IBV_WC_SUCCESS] = "ok", [IBV_WC_LOC_LEN_ERR] = "loc_len",
		[IBV_WC_LOC_PROT_ERR] = "loc_prot", [IBV_WC_WR_FLUSH_ERR] = "flush",
		[IBV_WC_REM_INV_REQ_ERR] = "rem_inv", [IBV_WC_REM_ACCESS_ERR] = "rem_access",
		[IBV_WC_REM_OP_ERR] = "rem_op", [IBV_WC_RETRY_EXC_ERR] = "retry",
		[IBV_WC_RNR_RETRY_EXC_ERR] = "rnr", [IBV_WC_LOC_ACCESS_ERR] = "loc_access",
		[IBV_WC_FATAL_ERR] = "fatal", [IBV_WC_GENERAL_ERR] = "general",
		[IBV_WC_REM_ABORT_ERR] = "rem_abort", [IBV_WC_LOC_QP_OP_ERR] = "loc_qp_op",
	};
	unsigned n = sizeof(name) / sizeof(*name);

	if ((unsigned)wc->status < n && name[wc->status])
		peer_saw(p, "%s:%s", what, name[wc->status]);
	else
		peer_saw(p, "%s:%d", what, wc->status);
}

/* Alternatives are divided by '/': which of two it is may be a matter of time. */
void peer_judge(struct peer *p)
{
	const char *at = p->a->expect;
	size_t n;

	printf("saw %s\n", p->saw);
	if (!at)
		return;
	for (; *at; at += n + (at[n] == '/')) {
		n = strcspn(at, "/");
		if (strlen(p->saw) == n && !memcmp(at, p->saw, n))
			return;
	}
	peer_fail("expected %s", p->a->expect);
}
