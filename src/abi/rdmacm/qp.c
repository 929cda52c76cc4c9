/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The states of an identifier's queue pair. The manager knows the attributes of
 * each transition; one that moves the queue pair itself asks for INIT only.
 */
#include "abi/rdmacm/qp.h"

#include "abi/rdmacm/chan.h"
#include "engine/qp.h"
#include "engine/qp_state.h"

/* *mask 0: nothing to do. */
static int attr_for(struct rcm_id *id, enum ibv_qp_state to, struct ibv_qp_attr *attr, int *mask)
{
	*attr = (struct ibv_qp_attr){ .qp_state = to };
	*mask = 0;
	return cma_qp_attr(id->cma, attr, mask);
}

static int modify(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
	return mask ? -ibv_modify_qp(qp, attr, mask) : 0;
}

static int move(struct rcm_id *id, struct ibv_qp *qp, enum ibv_qp_state to)
{
	struct ibv_qp_attr attr;
	int mask, rc = attr_for(id, to, &attr, &mask);

	return rc ? rc : modify(qp, &attr, mask);
}

/* A datagram queue pair needs no peer to be ready. */
static int init_ud(struct rcm_id *id, struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR };
	int rc = move(id, qp, IBV_QPS_INIT);

	if (!rc)
		rc = modify(qp, &attr, IBV_QP_STATE);
	attr.qp_state = IBV_QPS_RTS;
	return rc ? rc : modify(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN);
}

/* From here on receives can be posted, whether the library or the program moves it later. */
int rcm_qp_init(struct rcm_id *id, struct ibv_qp *qp)
{
	return rcm_is_ud(id) ? init_ud(id, qp) : move(id, qp, IBV_QPS_INIT);
}

static int to_rtr(struct rcm_id *id, struct ibv_qp *qp, uint8_t responder)
{
	struct ibv_qp_attr attr;
	int mask, rc = attr_for(id, IBV_QPS_RTR, &attr, &mask);

	if (rc)
		return rc;
	if (responder != RDMA_MAX_RESP_RES && (mask & IBV_QP_MAX_DEST_RD_ATOMIC))
		attr.max_dest_rd_atomic = responder;
	return modify(qp, &attr, mask);
}

static int to_rts(struct rcm_id *id, struct ibv_qp *qp, uint8_t initiator)
{
	struct ibv_qp_attr attr;
	int mask, rc = attr_for(id, IBV_QPS_RTS, &attr, &mask);

	if (rc)
		return rc;
	if (initiator != RDMA_MAX_INIT_DEPTH && (mask & IBV_QP_MAX_QP_RD_ATOMIC))
		attr.max_rd_atomic = initiator;
	return modify(qp, &attr, mask);
}

/* INIT once more: the address chosen, and with it port and partition, may be
 * known only now. */
int rcm_qp_connect(struct rcm_id *id, uint8_t responder, uint8_t initiator)
{
	struct ibv_qp *qp = id->pub.qp;
	int rc;

	if (!qp || id->moves_qp)
		return 0;
	rc = move(id, qp, IBV_QPS_INIT);
	if (!rc)
		rc = to_rtr(id, qp, responder);
	return rc ? rc : to_rts(id, qp, initiator);
}

/*
 * Programs destroy the queue pair by verbs, not by rdma_destroy_qp(), while another
 * thread of theirs is about to hear of the end (rping does): pub.qp may point at
 * nothing any more. Its number still says whether it is there.
 */
int rcm_qp_fail(struct rcm_id *id)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	if (!id->pub.qp)
		return 0;
	if (id->dev && id->dev->eng && id->qpn)
		return eng_qp_end(id->dev->eng, id->qpn);
	return -ibv_modify_qp(id->pub.qp, &attr, IBV_QP_STATE);
}

UT_EXPORT int rdma_init_qp_attr(struct rdma_cm_id *id, struct ibv_qp_attr *qp_attr,
				int *qp_attr_mask)
{
	if (!id || !qp_attr || !qp_attr_mask)
		return rcm_result(-EINVAL);
	rcm_id_used(rcm_of(id, rcm_id));
	return rcm_result(cma_qp_attr(rcm_of(id, rcm_id)->cma, qp_attr, qp_attr_mask));
}
