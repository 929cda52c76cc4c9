/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Mistakes in changes of a queue pair's state. */
#include "world.h"

CASE(init_without_port)
{
	struct ibv_qp *qp = world_qp(IBV_QPT_RC);
	struct change c = world_change(qp, IBV_QPS_INIT);

	ibv_modify_qp(qp, &c.attr, c.mask & ~IBV_QP_PORT); /* wrong: transition */
}

CASE(init_of_ud_without_qkey)
{
	struct ibv_qp *qp = world_qp(IBV_QPT_UD);
	struct change c = world_change(qp, IBV_QPS_INIT);

	ibv_modify_qp(qp, &c.attr, c.mask & ~IBV_QP_QKEY); /* wrong: transition */
}

CASE(rtr_without_path)
{
	struct ibv_qp *qp = world_qp(IBV_QPT_RC);
	struct change c;

	world_move(qp, IBV_QPS_INIT);
	c = world_change(qp, IBV_QPS_RTR);
	ibv_modify_qp(qp, &c.attr, c.mask & ~IBV_QP_AV); /* wrong: transition */
}

CASE(rtr_of_uc_as_of_rc)
{
	struct ibv_qp *qp = world_qp(IBV_QPT_UC);
	struct change c;

	world_move(qp, IBV_QPS_INIT);
	c = world_change(qp, IBV_QPS_RTR);
	ibv_modify_qp(qp, &c.attr, c.mask | IBV_QP_MIN_RNR_TIMER); /* wrong: transition */
}

CASE(rts_without_timeout)
{
	struct ibv_qp *qp = world_qp(IBV_QPT_RC);
	struct change c;

	world_move(qp, IBV_QPS_RTR);
	c = world_change(qp, IBV_QPS_RTS);
	ibv_modify_qp(qp, &c.attr, c.mask & ~IBV_QP_TIMEOUT); /* wrong: transition */
}

CASE(rtr_from_reset)
{
	struct ibv_qp *qp = world_qp(IBV_QPT_RC);
	struct change c = world_change(qp, IBV_QPS_RTR);

	ibv_modify_qp(qp, &c.attr, c.mask); /* wrong: transition */
}

CASE(rts_from_error)
{
	struct ibv_qp_attr err = { .qp_state = IBV_QPS_ERR };
	struct change c;

	world_pair();
	ibv_modify_qp(w.qp, &err, IBV_QP_STATE);
	c = world_change(w.qp, IBV_QPS_RTS);
	ibv_modify_qp(w.qp, &c.attr, c.mask); /* wrong: transition */
}

CASE(psn_of_32_bits)
{
	struct ibv_qp *qp = world_qp(IBV_QPT_UC);
	struct change c;

	world_move(qp, IBV_QPS_RTR);
	c = world_change(qp, IBV_QPS_RTS);
	c.attr.sq_psn = 0x12345678;
	ibv_modify_qp(qp, &c.attr, c.mask); /* wrong: attribute-out-of-range */
}

CASE(ten_retries)
{
	struct ibv_qp *qp = world_qp(IBV_QPT_RC);
	struct change c;

	world_move(qp, IBV_QPS_RTR);
	c = world_change(qp, IBV_QPS_RTS);
	c.attr.retry_cnt = 10;
	ibv_modify_qp(qp, &c.attr, c.mask); /* wrong: attribute-out-of-range */
}

CASE(path_without_grh)
{
	struct ibv_qp *qp = world_qp(IBV_QPT_RC);
	struct change c;

	world_move(qp, IBV_QPS_INIT);
	c = world_change(qp, IBV_QPS_RTR);
	c.attr.ah_attr.is_global = 0;
	ibv_modify_qp(qp, &c.attr, c.mask); /* wrong: path-without-grh */
}
