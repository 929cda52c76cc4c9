/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The states of a QP whose connection is a stream: every pair, ignored attributes, the states
 * that admit posts. */
#include "engine/qp_attr.h"
#include "engine/qp_state.h"
#include "support/check.h"
#include "support/iwworld.h"
#include "util/clock.h"

static const enum ibv_qp_state states[] = {
	IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS, IBV_QPS_SQD, IBV_QPS_ERR,
};

/* Written down a second time, by hand. */
static bool legal(int from, int to)
{
	switch (to) {
	case IBV_QPS_RESET: return true;
	case IBV_QPS_ERR: return from != IBV_QPS_RESET;
	case IBV_QPS_INIT: return from == IBV_QPS_RESET || from == IBV_QPS_INIT;
	case IBV_QPS_RTR: return from == IBV_QPS_INIT || from == IBV_QPS_RTR;
	case IBV_QPS_RTS: return from == IBV_QPS_RTS;
	case IBV_QPS_SQD: return from == IBV_QPS_RTS || from == IBV_QPS_SQD;
	default: return false;
	}
}

static struct iw_world *w;
static struct iw_end a, b;
static const struct iw_options plain;

static int modify(int to, int more)
{
	struct ibv_qp_attr at = {
		.qp_state = (enum ibv_qp_state)to, .cur_qp_state = (enum ibv_qp_state)iw_state(&a),
		.port_num = 1, .path_mtu = IBV_MTU_1024, .dest_qp_num = 77, .rq_psn = 5, .sq_psn = 6,
		.timeout = 14, .retry_cnt = 7, .rnr_retry = 7, .min_rnr_timer = 12,
		.max_rd_atomic = 1, .max_dest_rd_atomic = 1, .qp_access_flags = 7,
		.ah_attr = { .port_num = 1 }, .path_mig_state = IBV_MIG_MIGRATED,
	};

	return eng_qp_modify(a.qp, &at, IBV_QP_STATE | more);
}

static void reach(int state)
{
	w = iw_open(1, 0);
	if (state == IBV_QPS_RTS || state == IBV_QPS_SQD) {
		iw_pair(w, &a, &b, &plain, 4096);
	} else {
		iw_end_create(&a, &w->h[0], &plain, NULL, 4096);
		iw_end_create(&b, &w->h[1], &plain, NULL, 4096);
	}
	if (state == IBV_QPS_SQD)
		pipe_of(a.s)->room = 0; /* it stays there */
	if (state != iw_state(&a))
		CHECK(modify(state, 0) == 0);
	CHECK(iw_state(&a) == state);
}

static void done(void)
{
	iw_end_close(&a);
	iw_end_close(&b);
	iw_close(w);
}

static void pairs(void)
{
	for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++)
		for (int to = 0; to <= IBV_QPS_ERR + 1; to++)
			for (int bits = 0; bits < 2; bits++) {
				int r;

				reach(states[i]);
				/* All that InfiniBand wants is taken and means nothing. */
				r = modify(to, bits ? ENG_QP_STANDARD & ~(IBV_QP_ALT_PATH | IBV_QP_STATE)
						    : 0);
				CHECK_MSG((r == 0) == legal(states[i], to), "from %d to %d: %d", states[i], to,
					  r);
				CHECK(r == 0 || r == -EINVAL);
				CHECK(iw_state(&a) == (r == 0 ? to : (int)states[i]));
				CHECK(eng_qp_stream_transition(states[i], (enum ibv_qp_state)to) ==
				      legal(states[i], to));
				done();
			}
}

static void values(void)
{
	struct ibv_qp_attr at = { .cur_qp_state = IBV_QPS_ERR };

	reach(IBV_QPS_INIT);
	CHECK(modify(IBV_QPS_RTS, 0) == -EINVAL);
	CHECK(eng_qp_modify(a.qp, &at, 1 << 25) == -EOPNOTSUPP);
	CHECK(eng_qp_modify(a.qp, &at, 0) == 0);
	CHECK(eng_qp_modify(a.qp, &at, IBV_QP_CUR_STATE) == -EINVAL);
	at.port_num = 2;
	CHECK(eng_qp_modify(a.qp, &at, IBV_QP_PORT) == -EINVAL);
	at.max_rd_atomic = 17;
	CHECK(eng_qp_modify(a.qp, &at, IBV_QP_MAX_QP_RD_ATOMIC) == -EINVAL);
	done();
}

static void posting(void)
{
	for (size_t i = 0; i < sizeof(states) / sizeof(*states); i++) {
		struct iw_op o = { .code = IBV_WR_SEND, .len = 1 };

		reach(states[i]);
		CHECK((iw_post(&a, &o) == 0) == (states[i] >= IBV_QPS_RTS));
		CHECK((iw_recv(&a, 1, 0, 1) == 0) == (states[i] != IBV_QPS_RESET));
		if (states[i] == IBV_QPS_ERR) {
			iw_wc(&a, a.scq, 0, IBV_WC_WR_FLUSH_ERR);
			iw_wc(&a, a.rcq, 1, IBV_WC_WR_FLUSH_ERR);
		}
		done();
	}
}

static int attach(enum ibv_qp_state from)
{
	struct proto_stream_params p = { .initiator = true };
	struct link_stream *s, *t;
	int r;

	reach(from);
	pipe_pair(a.h->place, &w->net.place[IW_RAW], &s, &t);
	ut_lock(&a.h->dev.lock);
	r = iwp_stream_ops.attach(a.qp, s, &p, NULL, NULL);
	if (r < 0) {
		CHECK(!s->user_ops);
		s->place->ops->close(s, false);
	}
	eng_dev_unlock(&a.h->dev);
	CHECK(iw_state(&a) == (r == 0 ? (int)IBV_QPS_RTS : (int)from));
	done();
	return r;
}

static void attaching(void)
{
	CHECK(attach(IBV_QPS_RESET) == -EINVAL);
	CHECK(attach(IBV_QPS_INIT) == 0);
	CHECK(attach(IBV_QPS_RTR) == 0);
	CHECK(attach(IBV_QPS_RTS) == -EISCONN);
	CHECK(attach(IBV_QPS_SQD) == -EISCONN);
	CHECK(attach(IBV_QPS_ERR) == -EINVAL);
}

int main(void)
{
	pairs();
	values();
	posting();
	attaching();
	printf("ok\n");
	return 0;
}
