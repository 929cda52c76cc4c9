/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The table of ibv_modify_qp as the IBTA verbs chapter has it: what a step needs, what it may
 * take. IBV_QP_STATE is always allowed. */
#ifndef CONFORM_TRANSITIONS_H
#define CONFORM_TRANSITIONS_H

#include <infiniband/verbs.h>

enum {
	PKI = IBV_QP_PKEY_INDEX, PORT = IBV_QP_PORT, ACC = IBV_QP_ACCESS_FLAGS, QK = IBV_QP_QKEY,
	AV = IBV_QP_AV, MTU = IBV_QP_PATH_MTU, DQ = IBV_QP_DEST_QPN, RPSN = IBV_QP_RQ_PSN,
	SPSN = IBV_QP_SQ_PSN, MDRA = IBV_QP_MAX_DEST_RD_ATOMIC, MRA = IBV_QP_MAX_QP_RD_ATOMIC,
	MINR = IBV_QP_MIN_RNR_TIMER, TO = IBV_QP_TIMEOUT, RTY = IBV_QP_RETRY_CNT,
	RNR = IBV_QP_RNR_RETRY, ALT = IBV_QP_ALT_PATH, MIG = IBV_QP_PATH_MIG_STATE,
	CUR = IBV_QP_CUR_STATE, SQDN = IBV_QP_EN_SQD_ASYNC_NOTIFY,
};

struct step {
	enum ibv_qp_state from, to;
	int need, may;
};

#define RESET IBV_QPS_RESET
#define INIT IBV_QPS_INIT
#define RTR IBV_QPS_RTR
#define RTS IBV_QPS_RTS
#define SQD IBV_QPS_SQD
#define SQE IBV_QPS_SQE
#define ERR IBV_QPS_ERR

#define AWAY(s) { s, RESET, 0, 0 }, { s, ERR, 0, 0 }
#define ENDS { RESET, RESET, 0, 0 }, AWAY(INIT), AWAY(RTR), AWAY(RTS), AWAY(SQD), AWAY(SQE), \
	{ ERR, RESET, 0, 0 }, { ERR, ERR, 0, 0 }, { -1, -1, 0, 0 }

static const struct step rc_steps[] = {
	{ RESET, INIT, PKI | PORT | ACC, 0 },
	{ INIT, INIT, 0, PKI | PORT | ACC },
	{ INIT, RTR, AV | MTU | DQ | RPSN | MDRA | MINR, ALT | ACC | PKI },
	{ RTR, RTS, TO | RTY | RNR | SPSN | MRA, CUR | ALT | ACC | MINR | MIG },
	{ RTS, RTS, 0, CUR | ACC | ALT | MIG | MINR },
	{ RTS, SQD, 0, SQDN },
	{ SQD, RTS, 0, CUR | ALT | ACC | MINR | MIG },
	{ SQD, SQD, 0, PORT | AV | TO | RTY | RNR | MRA | MDRA | ALT | ACC | PKI | MINR | MIG },
	{ SQE, RTS, 0, 0 },
	ENDS,
};

static const struct step uc_steps[] = {
	{ RESET, INIT, PKI | PORT | ACC, 0 },
	{ INIT, INIT, 0, PKI | PORT | ACC },
	{ INIT, RTR, AV | MTU | DQ | RPSN, ALT | ACC | PKI },
	{ RTR, RTS, SPSN, CUR | ALT | ACC | MIG },
	{ RTS, RTS, 0, CUR | ACC | ALT | MIG },
	{ RTS, SQD, 0, SQDN },
	{ SQD, RTS, 0, CUR | ALT | ACC | MIG },
	{ SQD, SQD, 0, AV | ALT | ACC | PKI | MIG },
	{ SQE, RTS, 0, CUR | ACC },
	ENDS,
};

static const struct step ud_steps[] = {
	{ RESET, INIT, PKI | PORT | QK, 0 },
	{ INIT, INIT, 0, PKI | PORT | QK },
	{ INIT, RTR, 0, PKI | QK },
	{ RTR, RTS, SPSN, CUR | QK },
	{ RTS, RTS, 0, CUR | QK },
	{ RTS, SQD, 0, SQDN },
	{ SQD, RTS, 0, CUR | QK },
	{ SQD, SQD, 0, PKI | QK },
	{ SQE, RTS, 0, CUR | QK },
	ENDS,
};

/* The kernel drops MDRA and MINR of an XRC initiator, and MRA, RTY, RNR of a target, unread. */
#define INI_IGNORED (MDRA | MINR)
#define TGT_IGNORED (MRA | RTY | RNR)

static const struct step ini_steps[] = {
	{ RESET, INIT, PKI | PORT | ACC, 0 },
	{ INIT, INIT, 0, PKI | PORT | ACC },
	{ INIT, RTR, AV | MTU | DQ | RPSN, ALT | ACC | PKI },
	{ RTR, RTS, TO | RTY | RNR | SPSN | MRA, CUR | ALT | ACC | MIG },
	{ RTS, RTS, 0, CUR | ACC | ALT | MIG },
	{ RTS, SQD, 0, SQDN },
	{ SQD, RTS, 0, CUR | ALT | ACC | MIG },
	{ SQD, SQD, 0, PORT | AV | TO | RTY | RNR | MRA | ALT | ACC | PKI | MIG },
	{ SQE, RTS, 0, 0 },
	ENDS,
};

static const struct step tgt_steps[] = {
	{ RESET, INIT, PKI | PORT | ACC, 0 },
	{ INIT, INIT, 0, PKI | PORT | ACC },
	{ INIT, RTR, AV | MTU | DQ | RPSN | MDRA | MINR, ALT | ACC | PKI },
	{ RTR, RTS, TO | SPSN, CUR | ALT | ACC | MINR | MIG },
	{ RTS, RTS, 0, CUR | ACC | ALT | MIG | MINR },
	{ RTS, SQD, 0, SQDN },
	{ SQD, RTS, 0, CUR | ALT | ACC | MINR | MIG },
	{ SQD, SQD, 0, PORT | AV | TO | MDRA | ALT | ACC | PKI | MINR | MIG },
	{ SQE, RTS, 0, 0 },
	ENDS,
};

#endif
