/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The state table, exhaustively: pairs, missing bits, foreign bits, values. */
#include "engine/qp_state.h"
#include "fake.h"

#include "engine/qp_attr.h"

static const enum ibv_qp_type types[] = { IBV_QPT_RC, IBV_QPT_UC, IBV_QPT_UD, IBV_QPT_XRC_SEND };

/* Written down a second time, by hand: which pairs the specification has. */
static bool legal(int from, int to)
{
	if (to == IBV_QPS_RESET)
		return true;
	if (to == IBV_QPS_ERR)
		return from != IBV_QPS_RESET;
	switch (from) {
	case IBV_QPS_RESET: return to == IBV_QPS_INIT;
	case IBV_QPS_INIT: return to == IBV_QPS_INIT || to == IBV_QPS_RTR;
	case IBV_QPS_RTR: return to == IBV_QPS_RTS;
	case IBV_QPS_RTS: return to == IBV_QPS_RTS || to == IBV_QPS_SQD;
	case IBV_QPS_SQD: return to == IBV_QPS_SQD || to == IBV_QPS_RTS;
	case IBV_QPS_SQE: return to == IBV_QPS_RTS;
	default: return false;
	}
}

static void refused(struct eng_qp *qp, int mask, int to)
{
	struct ibv_qp_attr a = fake_attr(), before, after;

	CHECK(eng_qp_query(qp, &before, 0) == 0);
	a.qp_state = (enum ibv_qp_state)to;
	a.cur_qp_state = before.qp_state;
	a.retry_cnt = 5;
	CHECK_MSG(eng_qp_modify(qp, &a, mask) == -EINVAL, "type %d from %d to %d mask 0x%x",
		  qp->type, before.qp_state, to, mask);
	CHECK(eng_qp_query(qp, &after, 0) == 0);
	CHECK(memcmp(&before, &after, sizeof(after)) == 0);
}

static void one_pair(struct eng_qp *qp, int from, int to)
{
	int req = 0, opt = 0, known = eng_qp_drop_bits(qp->type, ENG_QP_STANDARD);
	bool ok = eng_qp_transition(qp, (enum ibv_qp_state)from, (enum ibv_qp_state)to,
				    &req, &opt);

	CHECK_MSG(ok == legal(from, to), "type %d: %d to %d", qp->type, from, to);
	fake_move(qp, (enum ibv_qp_state)from);
	if (!ok) {
		refused(qp, IBV_QP_STATE, to);
		return;
	}
	for (int bit = 1; bit < ENG_QP_STANDARD; bit <<= 1) {
		if (req & bit)
			refused(qp, (req & ~bit) | IBV_QP_STATE, to);
		else if ((known & bit) && !(opt & bit) && bit != IBV_QP_STATE)
			refused(qp, req | bit | IBV_QP_STATE, to);
	}
	struct ibv_qp_attr a = fake_attr();

	a.qp_state = (enum ibv_qp_state)to;
	a.cur_qp_state = (enum ibv_qp_state)from;
	opt &= ~IBV_QP_ALT_PATH;
	if (to == IBV_QPS_RTR || (to != IBV_QPS_RTS && to != IBV_QPS_SQD))
		opt &= ~IBV_QP_PATH_MIG_STATE;
	CHECK(eng_qp_modify(qp, &a, req | opt | IBV_QP_STATE) == 0);
	CHECK(eng_qp_state(qp) == (enum ibv_qp_state)to);
}

static void table(struct fake *f)
{
	for (size_t t = 0; t < sizeof(types) / sizeof(types[0]); t++) {
		struct eng_qp *qp = fake_qp(f, types[t]);

		for (int from = 0; from <= IBV_QPS_ERR; from++)
			for (int to = 0; to <= IBV_QPS_ERR + 1; to++)
				one_pair(qp, from, to);
		CHECK(eng_qp_destroy(qp) == 0);
	}
	while (fake_event(f) >= 0)
		;
}

#define VALUE(field, good, bad, bit)                                    \
	do {                                                            \
		struct ibv_qp_attr v = fake_attr();                     \
		v.field = good;                                         \
		CHECK(eng_qp_modify(qp, &v, bit) == 0);                 \
		v.field = bad;                                          \
		CHECK(eng_qp_modify(qp, &v, bit) == -EINVAL);           \
	} while (0)

static void values(struct fake *f)
{
	struct eng_qp *qp = fake_qp(f, IBV_QPT_RC);
	struct ibv_qp_attr a = fake_attr(), q;

	fake_move(qp, IBV_QPS_SQD);
	VALUE(timeout, 31, 32, IBV_QP_TIMEOUT);
	VALUE(retry_cnt, 7, 8, IBV_QP_RETRY_CNT);
	VALUE(rnr_retry, 7, 8, IBV_QP_RNR_RETRY);
	VALUE(min_rnr_timer, 31, 32, IBV_QP_MIN_RNR_TIMER);
	VALUE(max_rd_atomic, 16, 17, IBV_QP_MAX_QP_RD_ATOMIC);
	VALUE(max_dest_rd_atomic, 16, 17, IBV_QP_MAX_DEST_RD_ATOMIC);
	VALUE(pkey_index, 0, 1, IBV_QP_PKEY_INDEX);
	VALUE(port_num, 1, 2, IBV_QP_PORT);
	VALUE(ah_attr.port_num, 1, 0, IBV_QP_AV);
	fake_move(qp, IBV_QPS_INIT);
	a.qp_state = IBV_QPS_RTR;
	a.rq_psn = 0x1ffffff;
	int m = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
	a.path_mtu = 6;
	CHECK(eng_qp_modify(qp, &a, m) == -EINVAL);
	a.path_mtu = IBV_MTU_4096;
	a.dest_qp_num = 0x1000000;
	CHECK(eng_qp_modify(qp, &a, m) == -EINVAL);
	a.dest_qp_num = 0xffffff;
	CHECK(eng_qp_modify(qp, &a, m) == 0);
	CHECK(eng_qp_query(qp, &q, 0) == 0 && q.rq_psn == 0xffffff);
	a.cur_qp_state = IBV_QPS_RTS;
	CHECK(eng_qp_modify(qp, &a, IBV_QP_CUR_STATE) == -EINVAL);
	CHECK(eng_qp_modify(qp, &a, 0) == 0);
	CHECK(eng_qp_modify(qp, &a, IBV_QP_RATE_LIMIT) == -EOPNOTSUPP);
	fake_move(qp, IBV_QPS_RESET);
	CHECK(eng_qp_query(qp, &q, 0) == 0 && q.qp_state == IBV_QPS_RESET && q.rq_psn == 0 &&
	      q.path_mtu == IBV_MTU_256 && q.dest_qp_num == 0 && q.cap.max_send_wr == 4);
	CHECK(eng_qp_destroy(qp) == 0);
}

static void drain(struct fake *f)
{
	struct eng_qp *qp = fake_qp(f, IBV_QPT_RC);
	struct ibv_qp_attr a = fake_attr(), q;

	fake_move(qp, IBV_QPS_RTS);
	f->drain_at_once = false;
	a.qp_state = IBV_QPS_SQD;
	a.en_sqd_async_notify = 1;
	CHECK(eng_qp_modify(qp, &a, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY) == 0);
	CHECK(eng_qp_query(qp, &q, 0) == 0 && q.sq_draining == 1);
	a.qp_state = IBV_QPS_RTS;
	CHECK(eng_qp_modify(qp, &a, IBV_QP_STATE) == -EINVAL && fake_event(f) == -1);
	eng_qp_drained(qp);
	eng_qp_drained(qp);
	CHECK(fake_event(f) == IBV_EVENT_SQ_DRAINED && fake_event(f) == -1);
	CHECK(eng_qp_modify(qp, &a, IBV_QP_STATE) == 0);
	f->drain_at_once = true;
	CHECK(eng_qp_destroy(qp) == 0);
}

int main(void)
{
	struct fake f;

	fake_open(&f);
	table(&f);
	values(&f);
	drain(&f);
	CHECK(f.attaches == 1);
	fake_close(&f);
	return 0;
}
