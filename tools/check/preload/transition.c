/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Changes of a queue pair's state: the attributes that each needs and takes by IBTA table 91 (XRC: annex A14), for adapters of
 * InfiniBand and RoCE. RNICs have states of their own and take what verbs name.
 */
#include "check.h"

#include <stdio.h>

enum type { RC, UC, UD, XS, XR, TYPES };

#define PATH (IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN)
#define READS_IN (IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER)
#define RETRIES (IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC)
#define CHANGES (IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE | IBV_QP_ACCESS_FLAGS)
#define FIRST (IBV_QP_PKEY_INDEX | IBV_QP_PORT)

/* Of changes that are not here an attribute is not judged. */
static const struct row {
	enum ibv_qp_state from, to;
	int needs[TYPES], takes[TYPES];
} rows[] = {
	{ IBV_QPS_RESET, IBV_QPS_INIT,
	  { FIRST | IBV_QP_ACCESS_FLAGS, FIRST | IBV_QP_ACCESS_FLAGS, FIRST | IBV_QP_QKEY, FIRST | IBV_QP_ACCESS_FLAGS,
	    FIRST | IBV_QP_ACCESS_FLAGS },
	  { 0 } },
	{ IBV_QPS_INIT, IBV_QPS_RTR,
	  { PATH | READS_IN, PATH, 0, PATH, PATH | READS_IN },
	  { IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX, IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX,
	    IBV_QP_PKEY_INDEX | IBV_QP_QKEY, IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | READS_IN,
	    IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX } },
	{ IBV_QPS_RTR, IBV_QPS_RTS,
	  { IBV_QP_TIMEOUT | RETRIES | IBV_QP_SQ_PSN, IBV_QP_SQ_PSN, IBV_QP_SQ_PSN, IBV_QP_TIMEOUT | RETRIES | IBV_QP_SQ_PSN,
	    IBV_QP_TIMEOUT | IBV_QP_SQ_PSN },
	  { CHANGES | IBV_QP_MIN_RNR_TIMER, CHANGES, IBV_QP_QKEY, CHANGES | IBV_QP_MIN_RNR_TIMER, CHANGES | IBV_QP_MIN_RNR_TIMER | RETRIES } },
	{ IBV_QPS_RTS, IBV_QPS_RTS,
	  { 0 },
	  { CHANGES | IBV_QP_MIN_RNR_TIMER, CHANGES, IBV_QP_QKEY, CHANGES, CHANGES | IBV_QP_MIN_RNR_TIMER } },
};

static const struct {
	int bit;
	const char *name;
} names[] = {
	{ IBV_QP_CUR_STATE, "CUR_STATE" }, { IBV_QP_EN_SQD_ASYNC_NOTIFY, "EN_SQD_ASYNC_NOTIFY" }, { IBV_QP_ACCESS_FLAGS, "ACCESS_FLAGS" },
	{ IBV_QP_PKEY_INDEX, "PKEY_INDEX" }, { IBV_QP_PORT, "PORT" }, { IBV_QP_QKEY, "QKEY" }, { IBV_QP_AV, "AV" },
	{ IBV_QP_PATH_MTU, "PATH_MTU" }, { IBV_QP_TIMEOUT, "TIMEOUT" }, { IBV_QP_RETRY_CNT, "RETRY_CNT" },
	{ IBV_QP_RNR_RETRY, "RNR_RETRY" }, { IBV_QP_RQ_PSN, "RQ_PSN" }, { IBV_QP_MAX_QP_RD_ATOMIC, "MAX_QP_RD_ATOMIC" },
	{ IBV_QP_ALT_PATH, "ALT_PATH" }, { IBV_QP_MIN_RNR_TIMER, "MIN_RNR_TIMER" }, { IBV_QP_SQ_PSN, "SQ_PSN" },
	{ IBV_QP_MAX_DEST_RD_ATOMIC, "MAX_DEST_RD_ATOMIC" }, { IBV_QP_PATH_MIG_STATE, "PATH_MIG_STATE" }, { IBV_QP_CAP, "CAP" },
	{ IBV_QP_DEST_QPN, "DEST_QPN" },
};

static const char *name_of(enum ibv_qp_state s)
{
	static const char *const states[] = { "RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR" };

	return (unsigned)s < sizeof(states) / sizeof(states[0]) ? states[s] : "?";
}

static enum type type_of(enum ibv_qp_type t)
{
	return t == IBV_QPT_RC ? RC : t == IBV_QPT_UC ? UC : t == IBV_QPT_UD ? UD : t == IBV_QPT_XRC_SEND ? XS :
	       t == IBV_QPT_XRC_RECV ? XR : TYPES;
}

static void name_bits(char *to, size_t size, int mask)
{
	size_t n = 0;

	to[0] = 0;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]) && n + 1 < size; i++)
		if (mask & names[i].bit)
			n += (size_t)snprintf(to + n, size - n, "%sIBV_QP_%s", n ? ", " : "", names[i].name);
}

/* True if verbs have the change at all: IBTA 10.3.1. */
static bool is_change(enum ibv_qp_state from, enum ibv_qp_state to)
{
	static const uint8_t reach[] = {
		[IBV_QPS_RESET] = 1 << IBV_QPS_INIT,
		[IBV_QPS_INIT] = 1 << IBV_QPS_INIT | 1 << IBV_QPS_RTR,
		[IBV_QPS_RTR] = 1 << IBV_QPS_RTS,
		[IBV_QPS_RTS] = 1 << IBV_QPS_RTS | 1 << IBV_QPS_SQD,
		[IBV_QPS_SQD] = 1 << IBV_QPS_RTS | 1 << IBV_QPS_SQD,
		[IBV_QPS_SQE] = 1 << IBV_QPS_RTS,
		[IBV_QPS_ERR] = 0,
	};

	return to == IBV_QPS_RESET || to == IBV_QPS_ERR || ((unsigned)from <= IBV_QPS_ERR && reach[from] & 1 << to);
}

static void look_at_attributes(enum ibv_qp_state from, enum ibv_qp_state to, enum type t, int mask, uint32_t qpn,
			       const struct check_site *site)
{
	char list[256];

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		const struct row *r = &rows[i];
		int lacks = r->needs[t] & ~mask, more = mask & ~(r->needs[t] | r->takes[t] | IBV_QP_STATE | IBV_QP_CUR_STATE);

		if (r->from != from || r->to != to)
			continue;
		if (!lacks && !more)
			return;
		name_bits(list, sizeof(list), lacks ? lacks : more);
		check_report(CHECK_TRANSITION, site, "queue pair 0x%06x is moved from %s to %s %s %s", qpn, name_of(from), name_of(to),
			     lacks ? "without" : "with", list);
	}
}

static void look_at_values(struct ibv_qp *qp, const struct ibv_qp_attr *a, int mask, const struct check_site *site)
{
	struct verbs_context *v = verbs_get_ctx_op(qp->context, query_port);
	struct ibv_port_attr p;

	if ((mask & IBV_QP_RQ_PSN && a->rq_psn >> 24) || (mask & IBV_QP_SQ_PSN && a->sq_psn >> 24))
		check_report(CHECK_RANGE, site, "queue pair 0x%06x gets PSN 0x%x, which has more than 24 bits", qp->qp_num,
			     mask & IBV_QP_RQ_PSN && a->rq_psn >> 24 ? a->rq_psn : a->sq_psn);
	if ((mask & IBV_QP_TIMEOUT && a->timeout > 31) || (mask & IBV_QP_MIN_RNR_TIMER && a->min_rnr_timer > 31) ||
	    (mask & IBV_QP_RETRY_CNT && a->retry_cnt > 7) || (mask & IBV_QP_RNR_RETRY && a->rnr_retry > 7))
		check_report(CHECK_RANGE, site, "queue pair 0x%06x gets a timer above 31 or a count above 7", qp->qp_num);
	/* By the table: the checker is linked with no library that has the call. */
	if (!(mask & (IBV_QP_PATH_MTU | IBV_QP_AV)) || !v ||
	    v->query_port(qp->context, mask & IBV_QP_AV ? a->ah_attr.port_num : 1, &p, sizeof(p)) != 0)
		return;
	if (mask & IBV_QP_PATH_MTU && a->path_mtu > p.active_mtu)
		check_report(CHECK_RANGE, site, "queue pair 0x%06x gets a path MTU of %u octets, and its port has %u", qp->qp_num,
			     128u << a->path_mtu, 128u << p.active_mtu);
	if (mask & IBV_QP_AV && p.link_layer == IBV_LINK_LAYER_ETHERNET && !a->ah_attr.is_global)
		check_report(CHECK_NO_GRH, site, "queue pair 0x%06x gets a path without a GRH on an Ethernet port", qp->qp_num);
}

void check_transition(struct ibv_qp *qp, const struct ibv_qp_attr *a, int mask, enum ibv_qp_state from, const struct check_site *site)
{
	enum ibv_qp_state to = mask & IBV_QP_STATE ? a->qp_state : from;
	enum type t = type_of(qp->qp_type);

	if (qp->context->device->transport_type != IBV_TRANSPORT_IB || t == TYPES || from == IBV_QPS_UNKNOWN)
		return;
	if (!is_change(from, to))
		check_report(CHECK_TRANSITION, site, "queue pair 0x%06x is moved from %s to %s, which is no transition", qp->qp_num,
			     name_of(from), name_of(to));
	else
		look_at_attributes(from, to, t, mask, qp->qp_num, site);
	look_at_values(qp, a, mask, site);
}
