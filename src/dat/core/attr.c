/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/core/attr.h"

enum {
	DTOS_DEFAULT = 16,
	IOV_DEFAULT = 4,
	READS_DEFAULT = 4,
};

#define RECV_FLAGS                                                             \
	(DAT_COMPLETION_SOLICITED_WAIT_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG | \
	 DAT_COMPLETION_EVD_THRESHOLD_FLAG)
#define REQUEST_FLAGS                                                          \
	(DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG |   \
	 DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG | \
	 DAT_COMPLETION_EVD_THRESHOLD_FLAG)

static DAT_COUNT least(DAT_COUNT a, DAT_COUNT b)
{
	return a < b ? a : b;
}

static DAT_EP_ATTR defaults(const DAT_EP_ATTR *most)
{
	DAT_EP_ATTR a = *most;

	a.recv_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	a.request_completion_flags = DAT_COMPLETION_EVD_THRESHOLD_FLAG;
	a.max_recv_dtos = least(DTOS_DEFAULT, most->max_recv_dtos);
	a.max_request_dtos = least(DTOS_DEFAULT, most->max_request_dtos);
	a.max_recv_iov = least(IOV_DEFAULT, most->max_recv_iov);
	a.max_request_iov = least(IOV_DEFAULT, most->max_request_iov);
	a.max_rdma_read_in = least(READS_DEFAULT, most->max_rdma_read_in);
	a.max_rdma_read_out = least(READS_DEFAULT, most->max_rdma_read_out);
	a.max_rdma_read_iov = least(IOV_DEFAULT, most->max_rdma_read_iov);
	a.max_rdma_write_iov = least(IOV_DEFAULT, most->max_rdma_write_iov);
	return a;
}

static bool over(DAT_COUNT asked, DAT_COUNT most)
{
	return asked < 0 || asked > most;
}

static bool bad(const DAT_EP_ATTR *a, const DAT_EP_ATTR *most)
{
	return (a->recv_completion_flags & ~RECV_FLAGS) ||
	       (a->request_completion_flags & ~REQUEST_FLAGS) ||
	       a->max_message_size > most->max_message_size ||
	       a->max_rdma_size > most->max_rdma_size ||
	       over(a->max_recv_dtos, most->max_recv_dtos) ||
	       over(a->max_request_dtos, most->max_request_dtos) ||
	       over(a->max_recv_iov, most->max_recv_iov) ||
	       over(a->max_request_iov, most->max_request_iov) ||
	       over(a->max_rdma_read_in, most->max_rdma_read_in) ||
	       over(a->max_rdma_read_out, most->max_rdma_read_out) ||
	       over(a->max_rdma_read_iov, most->max_rdma_read_iov) ||
	       over(a->max_rdma_write_iov, most->max_rdma_write_iov) ||
	       a->srq_soft_hw < DAT_HW_DEFAULT;
}

/* Refuses models beyond a reliable connection or datagrams, best effort, and known attributes. */
static DAT_RETURN model(bool ud, const DAT_EP_ATTR *a, DAT_RETURN_SUBTYPE arg)
{
	if (a->service_type != DAT_SERVICE_TYPE_RC && a->service_type != DPR_SERVICE_UD)
		return DPR_ERR(DAT_INVALID_PARAMETER, arg);
	if (a->service_type == DPR_SERVICE_UD && !ud)
		return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	if (a->qos != DAT_QOS_BEST_EFFORT)
		return DPR_ERR(DAT_MODEL_NOT_SUPPORTED, 0);
	if (a->ep_transport_specific_count || a->ep_provider_specific_count)
		return DPR_ERR(DAT_INVALID_PARAMETER, arg);
	return DAT_SUCCESS;
}

#define ELSE(field, from) (to->field = to->field ? to->field : (from)->field)

/* What was asked for is a minimum. Sizes cost the device nothing: it grants the largest, and programs
 * rely on it (Debian's dtest asks for 64 KiB and writes 4 MiB). */
static void fill(DAT_EP_ATTR *to, const DAT_EP_ATTR *def, const DAT_EP_ATTR *most)
{
	to->max_message_size = most->max_message_size;
	to->max_rdma_size = most->max_rdma_size;
	ELSE(max_recv_dtos, def);
	ELSE(max_request_dtos, def);
	ELSE(max_recv_iov, def);
	ELSE(max_request_iov, def);
	/* these two default to the segments of requests */
	if (!to->max_rdma_read_iov)
		to->max_rdma_read_iov = least(to->max_request_iov, most->max_rdma_read_iov);
	if (!to->max_rdma_write_iov)
		to->max_rdma_write_iov = least(to->max_request_iov, most->max_rdma_write_iov);
	if (!to->srq_soft_hw)
		to->srq_soft_hw = DAT_HW_DEFAULT;
	to->ep_transport_specific = to->ep_provider_specific = NULL;
}

DAT_RETURN dpr_attr_grant(const DAT_EP_ATTR *most, bool ud, const DAT_EP_ATTR *attr, DAT_RETURN_SUBTYPE arg,
			  DAT_EP_ATTR *to)
{
	DAT_EP_ATTR def = defaults(most);
	DAT_RETURN ret;

	if (!attr) {
		*to = def;
		return DAT_SUCCESS;
	}
	ret = model(ud, attr, arg);
	if (ret)
		return ret;
	if (bad(attr, most))
		return DPR_ERR(DAT_INVALID_PARAMETER, arg);
	*to = *attr;
	fill(to, &def, most);
	return DAT_SUCCESS;
}

DAT_COUNT dpr_attr_write_iov(const DAT_EP_ATTR *a)
{
	return a->max_rdma_write_iov ? a->max_rdma_write_iov : a->max_request_iov;
}

DAT_COUNT dpr_attr_read_iov(const DAT_EP_ATTR *a)
{
	return a->max_rdma_read_iov ? a->max_rdma_read_iov : a->max_request_iov;
}
