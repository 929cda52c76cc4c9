/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Programs that other adapters refuse. */
#include "world.h"

/* options: --device rxe */
CASE(inline_for_rxe)
{
	struct ibv_qp_init_attr a = world_attr(IBV_QPT_RC);

	a.cap.max_inline_data = 1000;
	ibv_create_qp(w.pd, &a); /* wrong: device-refuses */
}

/* options: --device siw */
CASE(pieces_for_siw)
{
	struct ibv_qp_init_attr a = world_attr(IBV_QPT_RC);

	a.cap.max_send_sge = 8;
	ibv_create_qp(w.pd, &a); /* wrong: device-refuses */
}

/* options: --device siw */
CASE(datagrams_for_siw)
{
	struct ibv_qp_init_attr a = world_attr(IBV_QPT_UD);

	ibv_create_qp(w.pd, &a); /* wrong: device-refuses */
}

/* options: --device mlx5 */
CASE(pieces_for_mlx5)
{
	struct ibv_qp_init_attr a = world_attr(IBV_QPT_RC);

	a.cap.max_send_sge = 32;
	ibv_create_qp(w.pd, &a); /* wrong: device-refuses */
}

/* options: --device mlx5 */
CASE(queue_for_mlx5)
{
	ibv_create_cq(w.ctx, 5000000, NULL, NULL, 0); /* wrong: device-refuses */
}

/* options: --device irdma */
CASE(requests_for_irdma)
{
	struct ibv_qp_init_attr a = world_attr(IBV_QPT_RC);

	a.cap.max_recv_wr = 8192;
	ibv_create_qp(w.pd, &a); /* wrong: device-refuses */
}

/* options: --device irdma */
CASE(srq_for_irdma)
{
	struct ibv_srq_init_attr s = { .attr = { .max_wr = 4, .max_sge = 1 } };

	ibv_create_srq(w.pd, &s); /* wrong: device-refuses */
}

/* options: --device irdma */
CASE(atomic_for_irdma)
{
	struct ibv_send_wr wr = world_remote(IBV_WR_ATOMIC_FETCH_AND_ADD);

	world_pair();
	ibv_post_send(w.qp, &wr, &w.bad_send); /* wrong: device-refuses */
}

/* options: --device efa */
CASE(connection_for_efa)
{
	struct ibv_qp_init_attr a = world_attr(IBV_QPT_RC);

	ibv_create_qp(w.pd, &a); /* wrong: device-refuses */
}

/* options: --device efa */
CASE(pieces_for_efa)
{
	struct ibv_qp_init_attr a = world_attr(IBV_QPT_UD);

	ibv_create_qp(w.pd, &a); /* wrong: device-refuses */
}
