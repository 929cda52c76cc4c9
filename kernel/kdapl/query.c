// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
#include "kdapl/query.h"

#include "kdapl/evd.h"
#include "kdapl/mem.h"

#include <linux/limits.h>

enum { SIZE_MOST_SHIFT = 31, DTOS_MOST = 16384, READS_MOST = 255 };

static DAT_COUNT count_of(u64 n)
{
	return min_t(u64, n, INT_MAX);
}

static DAT_SEG_LENGTH message_max(const struct kdp_ia *ia)
{
	return min_t(u32, ia->port_attr.max_msg_sz, 1u << SIZE_MOST_SHIFT);
}

static DAT_COUNT max_iov(const struct kdp_ia *ia)
{
	return min3((int)ia->attrs.max_send_sge, (int)ia->attrs.max_recv_sge, KDP_IOV_MAX);
}

static DAT_COUNT max_read_iov(const struct kdp_ia *ia)
{
	int most = ia->attrs.max_sge_rd;

	/* 0 if the driver does not fill it in */
	return min(most ? most : ia->iwarp ? 1 : KDP_IOV_MAX, (int)max_iov(ia));
}

/* One work request of each queue is for the drain; a bind takes two. */
static DAT_COUNT max_dtos(const struct kdp_ia *ia)
{
	return min(ia->attrs.max_qp_wr / 2 - 1, DTOS_MOST);
}

DAT_EP_ATTR kdp_ia_limits(const struct kdp_ia *ia)
{
	return (DAT_EP_ATTR){
		.service_type = DAT_SERVICE_TYPE_RC,
		.max_message_size = message_max(ia),
		.max_rdma_size = message_max(ia),
		.qos = DAT_QOS_BEST_EFFORT,
		.max_recv_dtos = max_dtos(ia),
		.max_request_dtos = max_dtos(ia),
		.max_recv_iov = max_iov(ia),
		.max_request_iov = max_iov(ia),
		.max_rdma_read_in = min(ia->attrs.max_qp_rd_atom, READS_MOST),
		.max_rdma_read_out = min(ia->attrs.max_qp_init_rd_atom, READS_MOST),
		.srq_soft_hw = DAT_HW_DEFAULT,
		.max_rdma_read_iov = max_read_iov(ia),
		.max_rdma_write_iov = max_iov(ia),
	};
}

static void adapter(struct kdp_ia *ia, DAT_IA_ATTR *to)
{
	const struct ib_device_attr *a = &ia->attrs;
	u64 reads = (u64)a->max_qp_rd_atom * a->max_qp;

	memset(to, 0, sizeof(*to));
	snprintf(to->adapter_name, sizeof(to->adapter_name), "%s", ia->dev->info.ia_name + strlen("dapple-kdat-"));
	snprintf(to->vendor_name, sizeof(to->vendor_name), "%08x:%08x", a->vendor_id, a->vendor_part_id);
	to->hardware_version_major = a->hw_ver;
	to->firmware_version_major = a->fw_ver >> 32;
	to->firmware_version_minor = a->fw_ver >> 16 & 0xffff;
	to->ia_address_ptr = (DAT_IA_ADDRESS_PTR)&ia->addr;
	to->max_eps = a->max_qp;
	to->max_dto_per_ep = max_dtos(ia);
	to->max_rdma_read_per_ep_in = a->max_qp_rd_atom;
	to->max_rdma_read_per_ep_out = a->max_qp_init_rd_atom;
	to->max_evds = INT_MAX;
	to->max_evd_qlen = 1 << 20;
	to->max_iov_segments_per_dto = max_iov(ia);
	to->max_lmrs = a->max_mr;
	to->max_lmr_block_size = min_t(u64, (u64)a->max_fast_reg_page_list_len << PAGE_SHIFT, U32_MAX);
	to->max_lmr_virtual_address = U64_MAX;
	to->max_pzs = a->max_pd;
	to->max_message_size = message_max(ia);
	to->max_rdma_size = message_max(ia);
	to->max_rmrs = a->max_mr / 2;
	to->max_rmr_target_address = U64_MAX;
	to->max_srqs = a->max_srq;
	to->max_ep_per_srq = a->max_srq ? a->max_qp : 0;
	to->max_recv_per_srq = a->max_srq_wr;
	to->max_iov_segments_per_rdma_read = max_read_iov(ia);
	to->max_iov_segments_per_rdma_write = max_iov(ia);
	to->max_rdma_read_in = a->max_res_rd_atom;
	to->max_rdma_read_out = count_of((u64)a->max_qp_init_rd_atom * a->max_qp);
	to->max_rdma_read_per_ep_in_guaranteed = a->max_res_rd_atom >= 0 && (u64)a->max_res_rd_atom >= reads ? DAT_TRUE
													     : DAT_FALSE;
	to->max_rdma_read_per_ep_out_guaranteed = DAT_TRUE;
	to->zb_supported = DAT_TRUE; /* of memory that begins at a page */
	to->reserved_lmr_supported = DAT_TRUE;
	to->extension_supported = DAT_EXTENSION_NONE;
}

static void provider(struct kdp_ia *ia, DAT_PROVIDER_ATTR *to)
{
	bool srq = ia->attrs.max_srq > 0;
	int i, j;

	memset(to, 0, sizeof(*to));
	snprintf(to->provider_name, sizeof(to->provider_name), "%s", ia->dev->info.ia_name);
	to->provider_version_major = KDAPL_MAJOR;
	to->provider_version_minor = KDAPL_MINOR;
	to->dapl_version_major = ia->dev->info.dapl_version_major;
	to->dapl_version_minor = ia->dev->info.dapl_version_minor;
	to->lmr_mem_types_supported = DAT_MEM_TYPE_VIRTUAL | DAT_MEM_TYPE_LMR | DAT_MEM_TYPE_PHYSICAL |
				      DAT_MEM_TYPE_PLATFORM | DAT_MEM_TYPE_IA | DAT_MEM_TYPE_BYPASS |
				      DAT_MEM_TYPE_PHYSICAL_VAR_PAGES;
	to->iov_ownership_on_return = DAT_IOV_CONSUMER;
	to->dat_qos_supported = DAT_QOS_BEST_EFFORT;
	to->completion_flags_supported = DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_UNSIGNALLED_FLAG |
					 DAT_COMPLETION_BARRIER_FENCE_FLAG |
					 DAT_COMPLETION_LMR_INVALIDATE_FENCE_FLAG;
	to->is_thread_safe = DAT_TRUE;
	to->max_private_data_size = ia->private_max;
	to->supports_multipath = DAT_FALSE;
	to->ep_creator = DAT_PSP_CREATES_EP_IFASKED;
	to->upcall_policy = DAT_UPCALL_MANY;
	to->optimal_buffer_alignment = DAT_OPTIMAL_ALIGNMENT;
	for (i = 0; i < 6; i++)
		for (j = 0; j < 6; j++)
			to->evd_stream_merging_supported[i][j] = DAT_TRUE;
	to->srq_supported = srq ? DAT_TRUE : DAT_FALSE;
	to->srq_watermarks_supported = srq;
	to->srq_ep_pz_difference_supported = srq ? DAT_TRUE : DAT_FALSE;
	to->srq_info_supported = srq;
	to->ep_recv_info_supported = 1;
	to->lmr_sync_req = DAT_FALSE;
	to->dto_async_return_guaranteed = DAT_TRUE;
	/* the sink of a Read needs the right of a remote write, since its tag travels to the peer */
	to->rdma_write_for_rdma_read_req = ia->iwarp ? DAT_TRUE : DAT_FALSE;
	to->rdma_read_lmr_rmr_context_exposure = to->rdma_write_for_rdma_read_req;
	to->rmr_scope_supported = DAT_RMR_SCOPE_ANY;
	to->is_interrupt_safe = DAT_TRUE; /* the posts and dat_evd_dequeue: docs/kdapl.md */
	to->fmr_supported = DAT_TRUE;
	to->lmr_for_fmr_scope_supported = DAT_LMR_SCOPE_PZ;
	to->ha_supported = DAT_FALSE;
	to->ha_loadbalancing = DAT_HA_LB_NONE;
}

DAT_RETURN kdp_ia_query(DAT_IA_HANDLE handle, DAT_EVD_HANDLE *async, DAT_IA_ATTR_MASK ia_mask, DAT_IA_ATTR *ia_attr,
			DAT_PROVIDER_ATTR_MASK mask, DAT_PROVIDER_ATTR *attr)
{
	struct kdp_ia *ia = kdp_ia_of(handle);
	unsigned long flags;

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (ia_mask & ~DAT_IA_FIELD_ALL)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	if (ia_mask && !ia_attr)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG4);
	if (mask & ~DAT_PROVIDER_FIELD_ALL)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG5);
	if (mask && !attr)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG6);
	if (async) {
		spin_lock_irqsave(&ia->lock, flags);
		*async = ia->first ? (DAT_EVD_HANDLE)ia->first : DAT_EVD_OUT_OF_SCOPE;
		spin_unlock_irqrestore(&ia->lock, flags);
	}
	if (ia_mask)
		adapter(ia, ia_attr);
	if (mask)
		provider(ia, attr);
	return DAT_SUCCESS;
}

/* Adapters are related if they are ports of one device: an entry's name begins with the device's. */
DAT_RETURN kdp_ia_ha_related(DAT_IA_HANDLE handle, const DAT_NAME_PTR name, DAT_BOOLEAN *related)
{
	struct kdp_ia *ia = kdp_ia_of(handle);

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!name)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!related)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	return kdp_device_related(ia, name, related) ? DAT_SUCCESS : DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
}
