/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/ia/query.h"

#include "dat/provider/dto/dto.h"
#include "dat/provider/ia/address.h"
#include "dat/provider/ia/ia.h"
#include "dat/provider/ia/init.h"
#include "dat/provider/ia/named_attr.h"
#include "dat/provider/ia/obj.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static DAT_COUNT count_of(uint64_t n)
{
	return n < INT_MAX ? (DAT_COUNT)n : INT_MAX;
}

static int least(int a, int b)
{
	return a < b ? a : b;
}

DAT_COUNT dpr_ia_max_iov(const struct dpr_ia *ia)
{
	return least(ia->dev.orig_attr.max_sge, DPR_IOV_MAX);
}

DAT_COUNT dpr_ia_max_read_iov(const struct dpr_ia *ia)
{
	int most = ia->dev.orig_attr.max_sge_rd;

	/* 0 if the driver does not fill it in */
	return least(most ? most : ia->iwarp ? 1 : DPR_IOV_MAX, dpr_ia_max_iov(ia));
}

static void versions(struct dpr_ia *ia, DAT_IA_ATTR *to)
{
	const struct ibv_device_attr *a = &ia->dev.orig_attr;
	unsigned int major = 0, minor = 0;

	snprintf(to->adapter_name, sizeof(to->adapter_name), "%s", ia->device_name);
	if (ia->dapple)
		snprintf(to->vendor_name, sizeof(to->vendor_name), "Dapple");
	else
		snprintf(to->vendor_name, sizeof(to->vendor_name), "%08x:%08x", a->vendor_id,
			 a->vendor_part_id);
	to->hardware_version_major = a->hw_ver;
	to->hardware_version_minor = 0;
	sscanf(a->fw_ver, "%u.%u", &major, &minor);
	to->firmware_version_major = major;
	to->firmware_version_minor = minor;
	to->ia_address_ptr = &ia->addr.sa;
}

static void counts(struct dpr_ia *ia, DAT_IA_ATTR *to)
{
	const struct ibv_device_attr *a = &ia->dev.orig_attr;

	to->max_eps = a->max_qp;
	to->max_dto_per_ep = dpr_ia_max_dtos(ia);
	to->max_evds = a->max_cq;
	to->max_evd_qlen = a->max_cqe;
	to->max_iov_segments_per_dto = dpr_ia_max_iov(ia);
	to->max_iov_segments_per_rdma_write = dpr_ia_max_iov(ia);
	to->max_iov_segments_per_rdma_read = dpr_ia_max_read_iov(ia);
	to->max_lmrs = a->max_mr;
	to->max_pzs = a->max_pd;
	to->max_rmrs = ia->mw1 || ia->mw2 ? a->max_mw : 0;
	to->max_srqs = a->max_srq;
	to->max_ep_per_srq = a->max_srq ? a->max_qp : 0;
	to->max_recv_per_srq = a->max_srq_wr;
}

static void sizes(struct dpr_ia *ia, DAT_IA_ATTR *to)
{
	const struct ibv_device_attr *a = &ia->dev.orig_attr;

	to->max_lmr_block_size = a->max_mr_size < UINT32_MAX ? (DAT_SEG_LENGTH)a->max_mr_size :
							       UINT32_MAX;
	to->max_lmr_virtual_address = UINT64_MAX;
	to->max_rmr_target_address = UINT64_MAX;
	to->max_message_size = ia->port_attr.max_msg_sz;
	to->max_rdma_size = ia->port_attr.max_msg_sz;
	to->zb_supported = ia->zb_lmr ? DAT_TRUE : DAT_FALSE;
	to->extension_supported = DAT_EXTENSION_IB;
	to->extension_version = DAT_IB_EXTENSION_VERSION;
	to->num_transport_attr = 0;
	to->transport_attr = NULL;
	to->num_vendor_attr = 0;
	to->vendor_attr = NULL;
}

static void reads(struct dpr_ia *ia, DAT_IA_ATTR *to)
{
	const struct ibv_device_attr *a = &ia->dev.orig_attr;
	uint64_t in = (uint64_t)a->max_qp_rd_atom * (unsigned int)a->max_qp;

	to->max_rdma_read_per_ep_in = a->max_qp_rd_atom;
	to->max_rdma_read_per_ep_out = a->max_qp_init_rd_atom;
	to->max_rdma_read_in = a->max_res_rd_atom;
	to->max_rdma_read_out = count_of((uint64_t)a->max_qp_init_rd_atom *
					 (unsigned int)a->max_qp);
	to->max_rdma_read_per_ep_in_guaranteed = (uint64_t)a->max_res_rd_atom >= in ? DAT_TRUE :
										      DAT_FALSE;
	to->max_rdma_read_per_ep_out_guaranteed = DAT_TRUE;
}

static DAT_RMR_SCOPE scopes(const struct dpr_ia *ia)
{
	if (ia->mw1 && ia->mw2)
		return DAT_RMR_SCOPE_ANY;
	return ia->mw1 ? DAT_RMR_SCOPE_PZ : DAT_RMR_SCOPE_EP;
}

/* Every stream may share an EVD with every other. The member is const in dat2/udat.h. */
static void merges(DAT_PROVIDER_ATTR *to)
{
	DAT_BOOLEAN all[6][6];

	for (int i = 0; i < 36; i++)
		all[i / 6][i % 6] = DAT_TRUE;
	memcpy((char *)to + offsetof(DAT_PROVIDER_ATTR, evd_stream_merging_supported), all,
	       sizeof(all));
}

static void names(struct dpr_ia *ia, DAT_PROVIDER_ATTR *to)
{
	unsigned int major = 0, minor = 0;

	sscanf(DAPPLE_VERSION, "%u.%u", &major, &minor);
	snprintf(to->provider_name, sizeof(to->provider_name), "%s", ia->info.ia_name);
	to->provider_version_major = major;
	to->provider_version_minor = minor;
	to->dapl_version_major = ia->info.dapl_version_major;
	to->dapl_version_minor = ia->info.dapl_version_minor;
	to->is_thread_safe = ia->info.is_thread_safe;
	to->num_provider_specific_attr = dpr_ia_attrs_get(ia, &to->provider_specific_attr);
}

static void abilities(struct dpr_ia *ia, DAT_PROVIDER_ATTR *to)
{
	to->lmr_mem_types_supported = (DAT_MEM_TYPE)(DAT_MEM_TYPE_VIRTUAL | DAT_MEM_TYPE_LMR |
						     DAT_MEM_TYPE_SHARED_VIRTUAL);
	to->iov_ownership_on_return = DAT_IOV_CONSUMER;
	to->dat_qos_supported = DAT_QOS_BEST_EFFORT;
	to->completion_flags_supported = (DAT_COMPLETION_FLAGS)(
		DAT_COMPLETION_SUPPRESS_FLAG | DAT_COMPLETION_SOLICITED_WAIT_FLAG |
		DAT_COMPLETION_UNSIGNALLED_FLAG | DAT_COMPLETION_BARRIER_FENCE_FLAG |
		DAT_COMPLETION_EVD_THRESHOLD_FLAG);
	to->max_private_data_size = (DAT_COUNT)ia->private_max;
	to->supports_multipath = DAT_FALSE;
	to->ep_creator = DAT_PSP_CREATES_EP_IFASKED;
	to->pz_support = DAT_PZ_UNIQUE;
	to->optimal_buffer_alignment = DAT_OPTIMAL_ALIGNMENT;
	to->lmr_sync_req = DAT_FALSE;
	to->dto_async_return_guaranteed = DAT_TRUE;
	/* other RNICs send the tag of the buffer to the peer as the sink of a Read */
	to->rdma_write_for_rdma_read_req = ia->iwarp && !ia->dapple ? DAT_TRUE : DAT_FALSE;
	to->rdma_read_lmr_rmr_context_exposure = to->rdma_write_for_rdma_read_req;
	to->rmr_scope_supported = scopes(ia);
	to->is_signal_safe = DAT_FALSE;
	to->ha_supported = DAT_FALSE;
	to->ha_loadbalancing = DAT_HA_LB_NONE;
}

static void queues(struct dpr_ia *ia, DAT_PROVIDER_ATTR *to)
{
	bool srq = ia->dev.orig_attr.max_srq > 0;

	to->srq_supported = srq ? DAT_TRUE : DAT_FALSE;
	to->srq_watermarks_supported = srq;
	to->srq_ep_pz_difference_supported = srq ? DAT_TRUE : DAT_FALSE;
	to->srq_info_supported = srq;
	to->ep_recv_info_supported = 1;
}

DAT_RETURN dpr_ia_query(DAT_IA_HANDLE handle, DAT_EVD_HANDLE *async, DAT_IA_ATTR_MASK ia_mask,
			DAT_IA_ATTR *ia_attr, DAT_PROVIDER_ATTR_MASK mask, DAT_PROVIDER_ATTR *attr)
{
	struct dpr_ia *ia = dpr_ia_of(handle);

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
		ut_lock(&ia->lock);
		*async = ia->async ? (DAT_EVD_HANDLE)ia->async : DAT_EVD_OUT_OF_SCOPE;
		ut_unlock(&ia->lock);
	}
	if (ia_mask) {
		memset(ia_attr, 0, sizeof(*ia_attr));
		versions(ia, ia_attr);
		counts(ia, ia_attr);
		sizes(ia, ia_attr);
		reads(ia, ia_attr);
	}
	if (mask) {
		memset((void *)attr, 0, sizeof(*attr));
		merges(attr);
		names(ia, attr);
		abilities(ia, attr);
		queues(ia, attr);
	}
	return DAT_SUCCESS;
}

/*
 * Adapters are related if they are one device, or devices of one node (HA: a connection could move
 * from one to the other). The other adapter is known by its line of dat.conf alone, so it is bound
 * for the comparison and unbound again.
 */
DAT_RETURN dpr_ia_ha_related(DAT_IA_HANDLE handle, const DAT_NAME_PTR name, DAT_BOOLEAN *related)
{
	struct dpr_ia *ia = dpr_ia_of(handle), *other;
	struct dpr_entry entry;
	DAT_RETURN ret;

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (!name || !dpr_entry_find(name, ia->info.is_thread_safe, &entry))
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	if (!related)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG3);
	other = calloc(1, sizeof(*other));
	if (!other)
		return DPR_ERR(DAT_INSUFFICIENT_RESOURCES, DAT_RESOURCE_MEMORY);
	ret = dpr_ia_bind(other, entry.params);
	if (ret == DAT_SUCCESS) {
		uint64_t guid = ibv_get_device_guid(ia->verbs->device);

		*related = !strcmp(ia->device_name, other->device_name) ||
			   (guid && guid == ibv_get_device_guid(other->verbs->device));
		dpr_ia_unbind(other);
	}
	free(other);
	return ret;
}
