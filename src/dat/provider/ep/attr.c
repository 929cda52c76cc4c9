/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/ep/attr.h"

#include "dat/core/attr.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/query.h"

enum { SIZE_DEFAULT_SHIFT = 31 };

static DAT_COUNT least(DAT_COUNT a, DAT_COUNT b)
{
	return a < b ? a : b;
}

/* A datagram is one packet of the active MTU, of which IBV_MTU_256 is 1. */
static DAT_SEG_LENGTH message_max(struct dpr_ia *ia, bool ud)
{
	DAT_SEG_LENGTH most = 1u << SIZE_DEFAULT_SHIFT;

	if (ud)
		return 128u << ia->port_attr.active_mtu;
	return ia->port_attr.max_msg_sz < most ? ia->port_attr.max_msg_sz : most;
}

/* Returns the largest attributes that the device grants. */
static DAT_EP_ATTR limits(struct dpr_ia *ia, bool ud)
{
	const struct ibv_device_attr *d = &ia->dev.orig_attr;
	DAT_SEG_LENGTH size = message_max(ia, ud);

	return (DAT_EP_ATTR){
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = size,
		.max_rdma_size = size,
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = dpr_ia_max_dtos(ia),
		.max_request_dtos = dpr_ia_max_dtos(ia),
		.max_recv_iov = dpr_ia_max_iov(ia),
		.max_request_iov = dpr_ia_max_iov(ia),
		.max_rdma_read_in = least(d->max_qp_rd_atom, 255),
		.max_rdma_read_out = least(d->max_qp_init_rd_atom, 255),
		.srq_soft_hw = DAT_HW_DEFAULT,
		.max_rdma_read_iov = dpr_ia_max_read_iov(ia),
		.max_rdma_write_iov = dpr_ia_max_iov(ia),
	};
}

DAT_RETURN dpr_ep_attr(struct dpr_ia *ia, const DAT_EP_ATTR *attr, DAT_RETURN_SUBTYPE arg,
		       DAT_EP_ATTR *to)
{
	DAT_EP_ATTR most = limits(ia, attr && attr->service_type == DPR_SERVICE_UD);

	return dpr_attr_grant(&most, !ia->iwarp, attr, arg, to);
}
