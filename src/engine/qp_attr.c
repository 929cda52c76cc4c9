/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The transition table: a row per pair of states, a column per type, in each the required and the optional
 * attributes. QP1 gets its port at creation; programs may name it again.
 */
#include "engine/qp_attr.h"

#include <unistd.h>

#define CUR IBV_QP_CUR_STATE
#define NOTIFY IBV_QP_EN_SQD_ASYNC_NOTIFY
#define ACC IBV_QP_ACCESS_FLAGS
#define PKI IBV_QP_PKEY_INDEX
#define PORT IBV_QP_PORT
#define QK IBV_QP_QKEY
#define AV IBV_QP_AV
#define MTU IBV_QP_PATH_MTU
#define TO IBV_QP_TIMEOUT
#define RTY IBV_QP_RETRY_CNT
#define RNR IBV_QP_RNR_RETRY
#define RPSN IBV_QP_RQ_PSN
#define MRA IBV_QP_MAX_QP_RD_ATOMIC
#define ALT IBV_QP_ALT_PATH
#define MINR IBV_QP_MIN_RNR_TIMER
#define SPSN IBV_QP_SQ_PSN
#define MDRA IBV_QP_MAX_DEST_RD_ATOMIC
#define MIG IBV_QP_PATH_MIG_STATE
#define DQ IBV_QP_DEST_QPN

enum column { RC, UC, UD, XI, XT, GS, COLUMNS };

struct need {
	int required, optional;
};

struct row {
	uint8_t from, to;
	struct need by[COLUMNS];
};

#define NONE ALL(0, 0)
#define ALL(req, opt)                                                                   \
	{ { req, opt }, { req, opt }, { req, opt }, { req, opt }, { req, opt }, { req, opt } }
#define S(x) IBV_QPS_##x

static const struct row rows[] = {
	{ S(RESET), S(RESET), NONE },
	{ S(RESET), S(INIT), {
		[RC] = { PKI | PORT | ACC, 0 },
		[UC] = { PKI | PORT | ACC, 0 },
		[UD] = { PKI | PORT | QK, 0 },
		[XI] = { PKI | PORT | ACC, 0 },
		[XT] = { PKI | PORT | ACC, 0 },
		[GS] = { PKI | QK, PORT } } },
	{ S(INIT), S(INIT), {
		[RC] = { 0, PKI | PORT | ACC },
		[UC] = { 0, PKI | PORT | ACC },
		[UD] = { 0, PKI | PORT | QK },
		[XI] = { 0, PKI | PORT | ACC },
		[XT] = { 0, PKI | PORT | ACC },
		[GS] = { 0, PKI | PORT | QK } } },
	{ S(INIT), S(RTR), {
		[RC] = { AV | MTU | DQ | RPSN | MDRA | MINR, ALT | ACC | PKI },
		[UC] = { AV | MTU | DQ | RPSN, ALT | ACC | PKI },
		[UD] = { 0, PKI | QK },
		[XI] = { AV | MTU | DQ | RPSN, ALT | ACC | PKI },
		[XT] = { AV | MTU | DQ | RPSN | MDRA | MINR, ALT | ACC | PKI },
		[GS] = { 0, PKI | QK } } },
	{ S(RTR), S(RTS), {
		[RC] = { TO | RTY | RNR | SPSN | MRA, CUR | ALT | ACC | MINR | MIG },
		[UC] = { SPSN, CUR | ALT | ACC | MIG },
		[UD] = { SPSN, CUR | QK },
		[XI] = { TO | RTY | RNR | SPSN | MRA, CUR | ALT | ACC | MIG },
		[XT] = { TO | SPSN, CUR | ALT | ACC | MINR | MIG },
		[GS] = { SPSN, CUR | QK } } },
	{ S(RTS), S(RTS), {
		[RC] = { 0, CUR | ACC | ALT | MIG | MINR },
		[UC] = { 0, CUR | ACC | ALT | MIG },
		[UD] = { 0, CUR | QK },
		[XI] = { 0, CUR | ACC | ALT | MIG },
		[XT] = { 0, CUR | ACC | ALT | MIG | MINR },
		[GS] = { 0, CUR | QK } } },
	{ S(RTS), S(SQD), ALL(0, NOTIFY) },
	{ S(SQD), S(RTS), {
		[RC] = { 0, CUR | ALT | ACC | MINR | MIG },
		[UC] = { 0, CUR | ALT | ACC | MIG },
		[UD] = { 0, CUR | QK },
		[XI] = { 0, CUR | ALT | ACC | MIG },
		[XT] = { 0, CUR | ALT | ACC | MINR | MIG },
		[GS] = { 0, CUR | QK } } },
	{ S(SQD), S(SQD), {
		[RC] = { 0, PORT | AV | TO | RTY | RNR | MRA | MDRA | ALT | ACC | PKI | MINR | MIG },
		[UC] = { 0, AV | ALT | ACC | PKI | MIG },
		[UD] = { 0, PKI | QK },
		[XI] = { 0, PORT | AV | TO | RTY | RNR | MRA | ALT | ACC | PKI | MIG },
		[XT] = { 0, PORT | AV | TO | MDRA | ALT | ACC | PKI | MINR | MIG },
		[GS] = { 0, PKI | QK } } },
	{ S(SQE), S(RTS), { [UC] = { 0, CUR | ACC }, [UD] = { 0, CUR | QK }, [GS] = { 0, CUR | QK } } },
	{ S(INIT), S(RESET), NONE },
	{ S(RTR), S(RESET), NONE },
	{ S(RTS), S(RESET), NONE },
	{ S(SQD), S(RESET), NONE },
	{ S(SQE), S(RESET), NONE },
	{ S(ERR), S(RESET), NONE },
	{ S(INIT), S(ERR), NONE },
	{ S(RTR), S(ERR), NONE },
	{ S(RTS), S(ERR), NONE },
	{ S(SQD), S(ERR), NONE },
	{ S(SQE), S(ERR), NONE },
	{ S(ERR), S(ERR), NONE },
};

static enum column column_of(const struct eng_qp *qp)
{
	if (qp->gsi)
		return GS;
	switch (qp->type) {
	case IBV_QPT_RC: return RC;
	case IBV_QPT_UC: return UC;
	case IBV_QPT_UD: return UD;
	case IBV_QPT_XRC_SEND: return XI;
	case IBV_QPT_XRC_RECV: return XT;
	default: return COLUMNS;
	}
}

int eng_qp_drop_bits(enum ibv_qp_type type, int mask)
{
	if (type == IBV_QPT_XRC_SEND)
		return mask & ~(MDRA | MINR);
	if (type == IBV_QPT_XRC_RECV)
		return mask & ~(MRA | RTY | RNR);
	return mask;
}

bool eng_qp_transition(const struct eng_qp *qp, enum ibv_qp_state from, enum ibv_qp_state to,
		       int *ret_required, int *ret_optional)
{
	enum column c = column_of(qp);

	if (c == COLUMNS)
		return false;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		if (rows[i].from != from || rows[i].to != to)
			continue;
		*ret_required = rows[i].by[c].required;
		*ret_optional = rows[i].by[c].optional;
		return true;
	}
	return false;
}

static enum eng_refusal path_fault(const struct eng_qp *qp, const struct ibv_qp_attr *attr, int mask,
				   enum ibv_qp_state to)
{
	const struct ibv_device_attr *a = &qp->dev->attr.orig_attr;

	eng_dev_held(qp->dev);
	if ((mask & PORT) && !eng_port_is(attr->port_num))
		return ENG_R_QP_PORT;
	if ((mask & PKI) && attr->pkey_index >= a->max_pkeys)
		return ENG_R_QP_PKEY;
	if ((mask & ALT) && qp->dev->port.link_layer != IBV_LINK_LAYER_INFINIBAND)
		return ENG_R_QP_ALT;
	if ((mask & ALT) && (!eng_port_is(attr->alt_port_num) || !eng_port_is(attr->alt_ah_attr.port_num)))
		return ENG_R_QP_PORT;
	if ((mask & ALT) && attr->alt_pkey_index >= a->max_pkeys)
		return ENG_R_QP_PKEY;
	if ((mask & AV) && !eng_port_is(attr->ah_attr.port_num))
		return ENG_R_QP_PORT;
	if ((mask & AV) && to == IBV_QPS_RTR && attr->ah_attr.port_num != qp->attr.port_num)
		return ENG_R_QP_PORT;
	if ((mask & MTU) && (attr->path_mtu < IBV_MTU_256 || attr->path_mtu > IBV_MTU_4096))
		return ENG_R_QP_MTU;
	return !(mask & DQ) || attr->dest_qp_num <= 0xffffff ? ENG_ACCEPTED : ENG_R_QP_DEST;
}

static enum eng_refusal count_fault(const struct eng_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	const struct ibv_device_attr *a = &qp->dev->attr.orig_attr;

	if (((mask & MINR) && attr->min_rnr_timer > 31) || ((mask & TO) && attr->timeout > 31) ||
	    ((mask & RTY) && attr->retry_cnt > 7) || ((mask & RNR) && attr->rnr_retry > 7))
		return ENG_R_QP_TIMERS;
	if (((mask & MRA) && attr->max_rd_atomic > a->max_qp_init_rd_atom) ||
	    ((mask & MDRA) && attr->max_dest_rd_atomic > a->max_qp_rd_atom))
		return ENG_R_QP_RD_ATOMIC;
	return ENG_ACCEPTED;
}

static bool migration_ok(const struct eng_qp *qp, const struct ibv_qp_attr *attr, int mask,
			 enum ibv_qp_state to)
{
	if (!(mask & MIG))
		return true;
	eng_dev_held(qp->dev);
	switch (attr->path_mig_state) {
	case IBV_MIG_REARM:
		if (qp->dev->port.link_layer == IBV_LINK_LAYER_INFINIBAND && !(mask & ALT) && !qp->attr.alt_port_num)
			return false; /* there is no path to migrate to */
		return to == IBV_QPS_RTS && qp->attr.path_mig_state != IBV_MIG_ARMED;
	case IBV_MIG_MIGRATED:
		return to == IBV_QPS_RTS || to == IBV_QPS_SQD;
	default:
		return false;
	}
}

enum eng_refusal eng_qp_check_values(const struct eng_qp *qp, const struct ibv_qp_attr *attr, int mask,
				     enum ibv_qp_state to)
{
	enum eng_refusal fault = path_fault(qp, attr, mask, to);

	if (fault == ENG_ACCEPTED)
		fault = count_fault(qp, attr, mask);
	if (fault != ENG_ACCEPTED)
		return fault;
	if (!migration_ok(qp, attr, mask, to))
		return ENG_R_QP_MIGRATION;
	if ((mask & QK) && qp->gsi)
		return attr->qkey == ENG_GSI_QKEY ? ENG_ACCEPTED : ENG_R_QP_GSI_KEY;
	/* Keys with the top bit belong to the privileged services (IBTA 10.2.5). */
	if ((mask & QK) && (attr->qkey & 0x80000000u) && geteuid() != 0)
		return ENG_R_QP_QKEY;
	return ENG_ACCEPTED;
}

/*
 * The Idle state of RDMAC is RESET, INIT and RTR here. RTS is reached with a stream only. SQD is the graceful
 * end of the stream: no transition leads back to RTS.
 */
bool eng_qp_stream_transition(enum ibv_qp_state from, enum ibv_qp_state to)
{
	switch (to) {
	case IBV_QPS_RESET:
	case IBV_QPS_ERR:
		return to == IBV_QPS_RESET || from != IBV_QPS_RESET;
	case IBV_QPS_INIT:
		return from == IBV_QPS_RESET || from == IBV_QPS_INIT;
	case IBV_QPS_RTR:
		return from == IBV_QPS_INIT || from == IBV_QPS_RTR;
	case IBV_QPS_RTS:
		return from == IBV_QPS_RTS;
	case IBV_QPS_SQD:
		return from == IBV_QPS_RTS || from == IBV_QPS_SQD;
	default:
		return false;
	}
}

enum eng_refusal eng_qp_check_stream_values(const struct eng_qp *qp, const struct ibv_qp_attr *attr, int mask)
{
	if ((mask & PORT) && !eng_port_is(attr->port_num))
		return ENG_R_QP_PORT;
	return count_fault(qp, attr, mask);
}
