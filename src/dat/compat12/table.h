/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * DAT 1.2 against DAT 2.0: the table of differences.
 *
 * No file can include both sets of headers, since they use the same names. So the table has numbers
 * beside the names; tests/dat/compat12_check12.c and compat12_check20.c compare them with the
 * headers.
 *
 *	TYPE(name, structure, bytes in 1.2, bytes in 2.0)
 *	FIELD(member in 1.2, member in 2.0, offset and size in 1.2, offset and size in 2.0)
 *	MASK(name, value in 1.2, value in 2.0)      one bit in 1.2
 *	VALUE(name, in 1.2, in 2.0)                 enumerators that moved
 *	SUBTYPE(name, in 1.2, in 2.0)               of return values; all there are in 1.2
 *
 * Offsets and sizes are those of 64-bit machines.
 */
#ifndef DAT_COMPAT12_TABLE_H
#define DAT_COMPAT12_TABLE_H

#define C12_TYPES(TYPE) \
	TYPE(LMR_TRIPLET, DAT_LMR_TRIPLET, 24, 16) \
	TYPE(RMR_TRIPLET, DAT_RMR_TRIPLET, 24, 16) \
	TYPE(EP_ATTR, DAT_EP_ATTR, 104, 88) \
	TYPE(EP_PARAM, DAT_EP_PARAM, 192, 184) \
	TYPE(LMR_PARAM, DAT_LMR_PARAM, 80, 80) \
	TYPE(RMR_PARAM, DAT_RMR_PARAM, 48, 48) \
	TYPE(CNO_PARAM, DAT_CNO_PARAM, 24, 32) \
	TYPE(SRQ_PARAM, DAT_SRQ_PARAM, 48, 48) \
	TYPE(IA_ATTR, DAT_IA_ATTR, 688, 688) \
	TYPE(PROVIDER_ATTR, DAT_PROVIDER_ATTR, 504, 520) \
	TYPE(EVENT_DTO, DAT_EVENT, 48, 120) \
	TYPE(EVENT_BIND, DAT_EVENT, 48, 120) \
	TYPE(EVENT_CR, DAT_EVENT, 48, 120) \
	TYPE(EVENT_CONNECT, DAT_EVENT, 48, 120) \
	TYPE(EVENT_ASYNC, DAT_EVENT, 48, 120) \
	TYPE(EVENT_SOFTWARE, DAT_EVENT, 48, 120)

#define C12_LMR_TRIPLET(FIELD) \
	FIELD(lmr_context, lmr_context, 0, 4, 12, 4) \
	FIELD(virtual_address, virtual_address, 8, 8, 0, 8) \
	FIELD(segment_length, segment_length, 16, 8, 8, 4)

#define C12_RMR_TRIPLET(FIELD) \
	FIELD(rmr_context, rmr_context, 0, 4, 12, 4) \
	FIELD(target_address, virtual_address, 8, 8, 0, 8) \
	FIELD(segment_length, segment_length, 16, 8, 8, 4)

#define C12_EP_ATTR(FIELD) \
	FIELD(service_type, service_type, 0, 4, 0, 4) \
	FIELD(max_message_size, max_message_size, 8, 8, 4, 4) \
	FIELD(max_rdma_size, max_rdma_size, 16, 8, 8, 4) \
	FIELD(qos, qos, 24, 4, 12, 4) \
	FIELD(recv_completion_flags, recv_completion_flags, 28, 4, 16, 4) \
	FIELD(request_completion_flags, request_completion_flags, 32, 4, 20, 4) \
	FIELD(max_recv_dtos, max_recv_dtos, 36, 4, 24, 4) \
	FIELD(max_request_dtos, max_request_dtos, 40, 4, 28, 4) \
	FIELD(max_recv_iov, max_recv_iov, 44, 4, 32, 4) \
	FIELD(max_request_iov, max_request_iov, 48, 4, 36, 4) \
	FIELD(max_rdma_read_in, max_rdma_read_in, 52, 4, 40, 4) \
	FIELD(max_rdma_read_out, max_rdma_read_out, 56, 4, 44, 4) \
	FIELD(srq_soft_hw, srq_soft_hw, 60, 4, 48, 4) \
	FIELD(max_rdma_read_iov, max_rdma_read_iov, 64, 4, 52, 4) \
	FIELD(max_rdma_write_iov, max_rdma_write_iov, 68, 4, 56, 4) \
	FIELD(ep_transport_specific_count, ep_transport_specific_count, 72, 4, 60, 4) \
	FIELD(ep_transport_specific, ep_transport_specific, 80, 8, 64, 8) \
	FIELD(ep_provider_specific_count, ep_provider_specific_count, 88, 4, 72, 4) \
	FIELD(ep_provider_specific, ep_provider_specific, 96, 8, 80, 8)

#define C12_EP_PARAM(FIELD) \
	FIELD(ia_handle, ia_handle, 0, 8, 0, 8) \
	FIELD(ep_state, ep_state, 8, 4, 8, 4) \
	FIELD(local_ia_address_ptr, local_ia_address_ptr, 16, 8, 24, 8) \
	FIELD(local_port_qual, local_port_qual, 24, 8, 32, 8) \
	FIELD(remote_ia_address_ptr, remote_ia_address_ptr, 32, 8, 40, 8) \
	FIELD(remote_port_qual, remote_port_qual, 40, 8, 48, 8) \
	FIELD(pz_handle, pz_handle, 48, 8, 56, 8) \
	FIELD(recv_evd_handle, recv_evd_handle, 56, 8, 64, 8) \
	FIELD(request_evd_handle, request_evd_handle, 64, 8, 72, 8) \
	FIELD(connect_evd_handle, connect_evd_handle, 72, 8, 80, 8) \
	FIELD(srq_handle, srq_handle, 80, 8, 88, 8) \
	FIELD(ep_attr.service_type, ep_attr.service_type, 88, 4, 96, 4) \
	FIELD(ep_attr.max_message_size, ep_attr.max_message_size, 96, 8, 100, 4) \
	FIELD(ep_attr.max_rdma_size, ep_attr.max_rdma_size, 104, 8, 104, 4) \
	FIELD(ep_attr.qos, ep_attr.qos, 112, 4, 108, 4) \
	FIELD(ep_attr.recv_completion_flags, ep_attr.recv_completion_flags, 116, 4, 112, 4) \
	FIELD(ep_attr.request_completion_flags, ep_attr.request_completion_flags, 120, 4, 116, 4) \
	FIELD(ep_attr.max_recv_dtos, ep_attr.max_recv_dtos, 124, 4, 120, 4) \
	FIELD(ep_attr.max_request_dtos, ep_attr.max_request_dtos, 128, 4, 124, 4) \
	FIELD(ep_attr.max_recv_iov, ep_attr.max_recv_iov, 132, 4, 128, 4) \
	FIELD(ep_attr.max_request_iov, ep_attr.max_request_iov, 136, 4, 132, 4) \
	FIELD(ep_attr.max_rdma_read_in, ep_attr.max_rdma_read_in, 140, 4, 136, 4) \
	FIELD(ep_attr.max_rdma_read_out, ep_attr.max_rdma_read_out, 144, 4, 140, 4) \
	FIELD(ep_attr.srq_soft_hw, ep_attr.srq_soft_hw, 148, 4, 144, 4) \
	FIELD(ep_attr.max_rdma_read_iov, ep_attr.max_rdma_read_iov, 152, 4, 148, 4) \
	FIELD(ep_attr.max_rdma_write_iov, ep_attr.max_rdma_write_iov, 156, 4, 152, 4) \
	FIELD(ep_attr.ep_transport_specific_count, ep_attr.ep_transport_specific_count, 160, 4, 156, 4) \
	FIELD(ep_attr.ep_transport_specific, ep_attr.ep_transport_specific, 168, 8, 160, 8) \
	FIELD(ep_attr.ep_provider_specific_count, ep_attr.ep_provider_specific_count, 176, 4, 168, 4) \
	FIELD(ep_attr.ep_provider_specific, ep_attr.ep_provider_specific, 184, 8, 176, 8)

#define C12_LMR_PARAM(FIELD) \
	FIELD(ia_handle, ia_handle, 0, 8, 0, 8) \
	FIELD(mem_type, mem_type, 8, 4, 8, 4) \
	FIELD(region_desc, region_desc, 16, 16, 16, 16) \
	FIELD(length, length, 32, 8, 32, 8) \
	FIELD(pz_handle, pz_handle, 40, 8, 40, 8) \
	FIELD(mem_priv, mem_priv, 48, 4, 48, 4) \
	FIELD(lmr_context, lmr_context, 52, 4, 56, 4) \
	FIELD(rmr_context, rmr_context, 56, 4, 60, 4) \
	FIELD(registered_size, registered_size, 64, 8, 64, 8) \
	FIELD(registered_address, registered_address, 72, 8, 72, 8)

#define C12_RMR_PARAM(FIELD) \
	FIELD(ia_handle, ia_handle, 0, 8, 0, 8) \
	FIELD(pz_handle, pz_handle, 8, 8, 8, 8) \
	FIELD(lmr_triplet.lmr_context, lmr_triplet.lmr_context, 16, 4, 28, 4) \
	FIELD(lmr_triplet.virtual_address, lmr_triplet.virtual_address, 24, 8, 16, 8) \
	FIELD(lmr_triplet.segment_length, lmr_triplet.segment_length, 32, 8, 24, 4) \
	FIELD(mem_priv, mem_priv, 40, 4, 32, 4) \
	FIELD(rmr_context, rmr_context, 44, 4, 36, 4)

#define C12_CNO_PARAM(FIELD) \
	FIELD(ia_handle, ia_handle, 0, 8, 0, 8) \
	FIELD(agent, proxy.agent, 8, 16, 16, 16)

#define C12_SRQ_PARAM(FIELD) \
	FIELD(ia_handle, ia_handle, 0, 8, 0, 8) \
	FIELD(srq_state, srq_state, 8, 4, 8, 4) \
	FIELD(pz_handle, pz_handle, 16, 8, 16, 8) \
	FIELD(max_recv_dtos, max_recv_dtos, 24, 4, 24, 4) \
	FIELD(max_recv_iov, max_recv_iov, 28, 4, 28, 4) \
	FIELD(low_watermark, low_watermark, 32, 4, 32, 4) \
	FIELD(available_dto_count, available_dto_count, 36, 4, 36, 4) \
	FIELD(outstanding_dto_count, outstanding_dto_count, 40, 4, 40, 4)

#define C12_IA_ATTR(FIELD) \
	FIELD(adapter_name, adapter_name, 0, 256, 0, 256) \
	FIELD(vendor_name, vendor_name, 256, 256, 256, 256) \
	FIELD(hardware_version_major, hardware_version_major, 512, 4, 512, 4) \
	FIELD(hardware_version_minor, hardware_version_minor, 516, 4, 516, 4) \
	FIELD(firmware_version_major, firmware_version_major, 520, 4, 520, 4) \
	FIELD(firmware_version_minor, firmware_version_minor, 524, 4, 524, 4) \
	FIELD(ia_address_ptr, ia_address_ptr, 528, 8, 528, 8) \
	FIELD(max_eps, max_eps, 536, 4, 536, 4) \
	FIELD(max_dto_per_ep, max_dto_per_ep, 540, 4, 540, 4) \
	FIELD(max_rdma_read_per_ep_in, max_rdma_read_per_ep_in, 544, 4, 544, 4) \
	FIELD(max_rdma_read_per_ep_out, max_rdma_read_per_ep_out, 548, 4, 548, 4) \
	FIELD(max_evds, max_evds, 552, 4, 552, 4) \
	FIELD(max_evd_qlen, max_evd_qlen, 556, 4, 556, 4) \
	FIELD(max_iov_segments_per_dto, max_iov_segments_per_dto, 560, 4, 560, 4) \
	FIELD(max_lmrs, max_lmrs, 564, 4, 564, 4) \
	FIELD(max_lmr_block_size, max_lmr_block_size, 568, 8, 568, 4) \
	FIELD(max_lmr_virtual_address, max_lmr_virtual_address, 576, 8, 576, 8) \
	FIELD(max_pzs, max_pzs, 584, 4, 584, 4) \
	FIELD(max_message_size, max_message_size, 592, 8, 588, 4) \
	FIELD(max_rdma_size, max_rdma_size, 600, 8, 592, 4) \
	FIELD(max_rmrs, max_rmrs, 608, 4, 596, 4) \
	FIELD(max_rmr_target_address, max_rmr_target_address, 616, 8, 600, 8) \
	FIELD(max_srqs, max_srqs, 624, 4, 608, 4) \
	FIELD(max_ep_per_srq, max_ep_per_srq, 628, 4, 612, 4) \
	FIELD(max_recv_per_srq, max_recv_per_srq, 632, 4, 616, 4) \
	FIELD(max_iov_segments_per_rdma_read, max_iov_segments_per_rdma_read, 636, 4, 620, 4) \
	FIELD(max_iov_segments_per_rdma_write, max_iov_segments_per_rdma_write, 640, 4, 624, 4) \
	FIELD(max_rdma_read_in, max_rdma_read_in, 644, 4, 628, 4) \
	FIELD(max_rdma_read_out, max_rdma_read_out, 648, 4, 632, 4) \
	FIELD(max_rdma_read_per_ep_in_guaranteed, max_rdma_read_per_ep_in_guaranteed, 652, 4, 636, 4) \
	FIELD(max_rdma_read_per_ep_out_guaranteed, max_rdma_read_per_ep_out_guaranteed, 656, 4, 640, 4) \
	FIELD(num_transport_attr, num_transport_attr, 660, 4, 656, 4) \
	FIELD(transport_attr, transport_attr, 664, 8, 664, 8) \
	FIELD(num_vendor_attr, num_vendor_attr, 672, 4, 672, 4) \
	FIELD(vendor_attr, vendor_attr, 680, 8, 680, 8)

#define C12_PROVIDER_ATTR(FIELD) \
	FIELD(provider_name, provider_name, 0, 256, 0, 256) \
	FIELD(provider_version_major, provider_version_major, 256, 4, 256, 4) \
	FIELD(provider_version_minor, provider_version_minor, 260, 4, 260, 4) \
	FIELD(dapl_version_major, dapl_version_major, 264, 4, 264, 4) \
	FIELD(dapl_version_minor, dapl_version_minor, 268, 4, 268, 4) \
	FIELD(lmr_mem_types_supported, lmr_mem_types_supported, 272, 4, 272, 4) \
	FIELD(iov_ownership_on_return, iov_ownership_on_return, 276, 4, 276, 4) \
	FIELD(dat_qos_supported, dat_qos_supported, 280, 4, 280, 4) \
	FIELD(completion_flags_supported, completion_flags_supported, 284, 4, 284, 4) \
	FIELD(is_thread_safe, is_thread_safe, 288, 4, 288, 4) \
	FIELD(max_private_data_size, max_private_data_size, 292, 4, 292, 4) \
	FIELD(supports_multipath, supports_multipath, 296, 4, 296, 4) \
	FIELD(ep_creator, ep_creator, 300, 4, 300, 4) \
	FIELD(pz_support, pz_support, 304, 4, 304, 4) \
	FIELD(optimal_buffer_alignment, optimal_buffer_alignment, 308, 4, 308, 4) \
	FIELD(evd_stream_merging_supported, evd_stream_merging_supported, 312, 144, 312, 144) \
	FIELD(srq_supported, srq_supported, 456, 4, 456, 4) \
	FIELD(srq_watermarks_supported, srq_watermarks_supported, 460, 4, 460, 4) \
	FIELD(srq_ep_pz_difference_supported, srq_ep_pz_difference_supported, 464, 4, 464, 4) \
	FIELD(srq_info_supported, srq_info_supported, 468, 4, 468, 4) \
	FIELD(ep_recv_info_supported, ep_recv_info_supported, 472, 4, 472, 4) \
	FIELD(lmr_sync_req, lmr_sync_req, 476, 4, 476, 4) \
	FIELD(dto_async_return_guaranteed, dto_async_return_guaranteed, 480, 4, 480, 4) \
	FIELD(rdma_write_for_rdma_read_req, rdma_write_for_rdma_read_req, 484, 4, 484, 4) \
	FIELD(num_provider_specific_attr, num_provider_specific_attr, 488, 4, 508, 4) \
	FIELD(provider_specific_attr, provider_specific_attr, 496, 8, 512, 8)

#define C12_EVENT_DTO(FIELD) \
	FIELD(event_number, event_number, 0, 4, 0, 4) \
	FIELD(evd_handle, evd_handle, 8, 8, 8, 8) \
	FIELD(event_data.dto_completion_event_data.ep_handle, event_data.dto_completion_event_data.ep_handle, 16, 8, 16, 8) \
	FIELD(event_data.dto_completion_event_data.user_cookie, event_data.dto_completion_event_data.user_cookie, 24, 8, 24, 8) \
	FIELD(event_data.dto_completion_event_data.status, event_data.dto_completion_event_data.status, 32, 4, 32, 4) \
	FIELD(event_data.dto_completion_event_data.transfered_length, event_data.dto_completion_event_data.transfered_length, 40, 8, 36, 4)

#define C12_EVENT_BIND(FIELD) \
	FIELD(event_number, event_number, 0, 4, 0, 4) \
	FIELD(evd_handle, evd_handle, 8, 8, 8, 8) \
	FIELD(event_data.rmr_completion_event_data.rmr_handle, event_data.rmr_completion_event_data.rmr_handle, 16, 8, 16, 8) \
	FIELD(event_data.rmr_completion_event_data.user_cookie, event_data.rmr_completion_event_data.user_cookie, 24, 8, 24, 8) \
	FIELD(event_data.rmr_completion_event_data.status, event_data.rmr_completion_event_data.status, 32, 4, 32, 4)

#define C12_EVENT_CR(FIELD) \
	FIELD(event_number, event_number, 0, 4, 0, 4) \
	FIELD(evd_handle, evd_handle, 8, 8, 8, 8) \
	FIELD(event_data.cr_arrival_event_data.sp_handle, event_data.cr_arrival_event_data.sp_handle, 16, 8, 16, 8) \
	FIELD(event_data.cr_arrival_event_data.local_ia_address_ptr, event_data.cr_arrival_event_data.local_ia_address_ptr, 24, 8, 24, 8) \
	FIELD(event_data.cr_arrival_event_data.conn_qual, event_data.cr_arrival_event_data.conn_qual, 32, 8, 32, 8) \
	FIELD(event_data.cr_arrival_event_data.cr_handle, event_data.cr_arrival_event_data.cr_handle, 40, 8, 40, 8)

#define C12_EVENT_CONNECT(FIELD) \
	FIELD(event_number, event_number, 0, 4, 0, 4) \
	FIELD(evd_handle, evd_handle, 8, 8, 8, 8) \
	FIELD(event_data.connect_event_data.ep_handle, event_data.connect_event_data.ep_handle, 16, 8, 16, 8) \
	FIELD(event_data.connect_event_data.private_data_size, event_data.connect_event_data.private_data_size, 24, 4, 24, 4) \
	FIELD(event_data.connect_event_data.private_data, event_data.connect_event_data.private_data, 32, 8, 32, 8)

#define C12_EVENT_ASYNC(FIELD) \
	FIELD(event_number, event_number, 0, 4, 0, 4) \
	FIELD(evd_handle, evd_handle, 8, 8, 8, 8) \
	FIELD(event_data.asynch_error_event_data.dat_handle, event_data.asynch_error_event_data.dat_handle, 16, 8, 16, 8) \
	FIELD(event_data.asynch_error_event_data.reason, event_data.asynch_error_event_data.reason, 24, 4, 24, 4)

#define C12_EVENT_SOFTWARE(FIELD) \
	FIELD(event_number, event_number, 0, 4, 0, 4) \
	FIELD(evd_handle, evd_handle, 8, 8, 8, 8) \
	FIELD(event_data.software_event_data.pointer, event_data.software_event_data.pointer, 16, 8, 16, 8)

/* The same in both versions, and passed through. */
#define C12_SAME(TYPE) \
	TYPE(DAT_EVD_PARAM, 32) \
	TYPE(DAT_SRQ_ATTR, 12) \
	TYPE(DAT_CR_PARAM, 40) \
	TYPE(DAT_PZ_PARAM, 8) \
	TYPE(DAT_PSP_PARAM, 32) \
	TYPE(DAT_RSP_PARAM, 32) \
	TYPE(DAT_PROVIDER_INFO, 268) \
	TYPE(DAT_NAMED_ATTR, 16) \
	TYPE(DAT_REGION_DESCRIPTION, 16) \
	TYPE(DAT_OS_WAIT_PROXY_AGENT, 16) \
	TYPE(DAT_CONTEXT, 8)

#define C12_EP_MASK(MASK) \
	MASK(DAT_EP_FIELD_IA_HANDLE, 0x1, 0x1) \
	MASK(DAT_EP_FIELD_EP_STATE, 0x2, 0x2) \
	MASK(DAT_EP_FIELD_LOCAL_IA_ADDRESS_PTR, 0x4, 0x8) \
	MASK(DAT_EP_FIELD_LOCAL_PORT_QUAL, 0x8, 0x10) \
	MASK(DAT_EP_FIELD_REMOTE_IA_ADDRESS_PTR, 0x10, 0x20) \
	MASK(DAT_EP_FIELD_REMOTE_PORT_QUAL, 0x20, 0x40) \
	MASK(DAT_EP_FIELD_PZ_HANDLE, 0x40, 0x80) \
	MASK(DAT_EP_FIELD_RECV_EVD_HANDLE, 0x80, 0x100) \
	MASK(DAT_EP_FIELD_REQUEST_EVD_HANDLE, 0x100, 0x200) \
	MASK(DAT_EP_FIELD_CONNECT_EVD_HANDLE, 0x200, 0x400) \
	MASK(DAT_EP_FIELD_SRQ_HANDLE, 0x400, 0x800) \
	MASK(DAT_EP_FIELD_EP_ATTR_SERVICE_TYPE, 0x1000, 0x1000) \
	MASK(DAT_EP_FIELD_EP_ATTR_MAX_MESSAGE_SIZE, 0x2000, 0x2000) \
	MASK(DAT_EP_FIELD_EP_ATTR_MAX_RDMA_SIZE, 0x4000, 0x4000) \
	MASK(DAT_EP_FIELD_EP_ATTR_QOS, 0x8000, 0x8000) \
	MASK(DAT_EP_FIELD_EP_ATTR_RECV_COMPLETION_FLAGS, 0x10000, 0x10000) \
	MASK(DAT_EP_FIELD_EP_ATTR_REQUEST_COMPLETION_FLAGS, 0x20000, 0x20000) \
	MASK(DAT_EP_FIELD_EP_ATTR_MAX_RECV_DTOS, 0x40000, 0x40000) \
	MASK(DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_DTOS, 0x80000, 0x80000) \
	MASK(DAT_EP_FIELD_EP_ATTR_MAX_RECV_IOV, 0x100000, 0x100000) \
	MASK(DAT_EP_FIELD_EP_ATTR_MAX_REQUEST_IOV, 0x200000, 0x200000) \
	MASK(DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IN, 0x400000, 0x400000) \
	MASK(DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_OUT, 0x800000, 0x800000) \
	MASK(DAT_EP_FIELD_EP_ATTR_SRQ_SOFT_HW, 0x1000000, 0x1000000) \
	MASK(DAT_EP_FIELD_EP_ATTR_MAX_RDMA_READ_IOV, 0x2000000, 0x2000000) \
	MASK(DAT_EP_FIELD_EP_ATTR_MAX_RDMA_WRITE_IOV, 0x4000000, 0x4000000) \
	MASK(DAT_EP_FIELD_EP_ATTR_NUM_TRANSPORT_ATTR, 0x8000000, 0x8000000) \
	MASK(DAT_EP_FIELD_EP_ATTR_TRANSPORT_SPECIFIC_ATTR, 0x10000000, 0x10000000) \
	MASK(DAT_EP_FIELD_EP_ATTR_NUM_PROVIDER_ATTR, 0x20000000, 0x20000000) \
	MASK(DAT_EP_FIELD_EP_ATTR_PROVIDER_SPECIFIC_ATTR, 0x40000000, 0x40000000)

#define C12_IA_MASK(MASK) \
	MASK(DAT_IA_FIELD_IA_ADAPTER_NAME, 0x1, 0x1) \
	MASK(DAT_IA_FIELD_IA_VENDOR_NAME, 0x2, 0x2) \
	MASK(DAT_IA_FIELD_IA_HARDWARE_MAJOR_VERSION, 0x4, 0x4) \
	MASK(DAT_IA_FIELD_IA_HARDWARE_MINOR_VERSION, 0x8, 0x8) \
	MASK(DAT_IA_FIELD_IA_FIRMWARE_MAJOR_VERSION, 0x10, 0x10) \
	MASK(DAT_IA_FIELD_IA_FIRMWARE_MINOR_VERSION, 0x20, 0x20) \
	MASK(DAT_IA_FIELD_IA_ADDRESS_PTR, 0x40, 0x40) \
	MASK(DAT_IA_FIELD_IA_MAX_EPS, 0x80, 0x80) \
	MASK(DAT_IA_FIELD_IA_MAX_DTO_PER_EP, 0x100, 0x100) \
	MASK(DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN, 0x200, 0x200) \
	MASK(DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT, 0x400, 0x400) \
	MASK(DAT_IA_FIELD_IA_MAX_EVDS, 0x800, 0x800) \
	MASK(DAT_IA_FIELD_IA_MAX_EVD_QLEN, 0x1000, 0x1000) \
	MASK(DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_DTO, 0x2000, 0x2000) \
	MASK(DAT_IA_FIELD_IA_MAX_LMRS, 0x4000, 0x4000) \
	MASK(DAT_IA_FIELD_IA_MAX_LMR_BLOCK_SIZE, 0x8000, 0x8000) \
	MASK(DAT_IA_FIELD_IA_MAX_LMR_VIRTUAL_ADDRESS, 0x10000, 0x10000) \
	MASK(DAT_IA_FIELD_IA_MAX_PZS, 0x20000, 0x20000) \
	MASK(DAT_IA_FIELD_IA_MAX_MESSAGE_SIZE, 0x40000, 0x40000) \
	MASK(DAT_IA_FIELD_IA_MAX_RDMA_SIZE, 0x80000, 0x80000) \
	MASK(DAT_IA_FIELD_IA_MAX_RMRS, 0x100000, 0x100000) \
	MASK(DAT_IA_FIELD_IA_MAX_RMR_TARGET_ADDRESS, 0x200000, 0x200000) \
	MASK(DAT_IA_FIELD_IA_MAX_SRQS, 0x400000, 0x400000) \
	MASK(DAT_IA_FIELD_IA_MAX_EP_PER_SRQ, 0x800000, 0x800000) \
	MASK(DAT_IA_FIELD_IA_MAX_RECV_PER_SRQ, 0x1000000, 0x1000000) \
	MASK(DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_READ, 0x2000000, 0x2000000) \
	MASK(DAT_IA_FIELD_IA_MAX_IOV_SEGMENTS_PER_RDMA_WRITE, 0x4000000, 0x4000000) \
	MASK(DAT_IA_FIELD_IA_MAX_RDMA_READ_IN, 0x8000000, 0x8000000) \
	MASK(DAT_IA_FIELD_IA_MAX_RDMA_READ_OUT, 0x10000000, 0x10000000) \
	MASK(DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_IN_GUARANTEED, 0x20000000, 0x20000000) \
	MASK(DAT_IA_FIELD_IA_MAX_RDMA_READ_PER_EP_OUT_GUARANTEED, 0x40000000, 0x40000000) \
	MASK(DAT_IA_FIELD_IA_NUM_TRANSPORT_ATTR, 0x80000000, 0x400000000) \
	MASK(DAT_IA_FIELD_IA_TRANSPORT_ATTR, 0x100000000, 0x800000000) \
	MASK(DAT_IA_FIELD_IA_NUM_VENDOR_ATTR, 0x200000000, 0x1000000000) \
	MASK(DAT_IA_FIELD_IA_VENDOR_ATTR, 0x400000000, 0x2000000000)

#define C12_PROVIDER_MASK(MASK) \
	MASK(DAT_PROVIDER_FIELD_PROVIDER_NAME, 0x1, 0x1) \
	MASK(DAT_PROVIDER_FIELD_PROVIDER_VERSION_MAJOR, 0x2, 0x2) \
	MASK(DAT_PROVIDER_FIELD_PROVIDER_VERSION_MINOR, 0x4, 0x4) \
	MASK(DAT_PROVIDER_FIELD_DAPL_VERSION_MAJOR, 0x8, 0x8) \
	MASK(DAT_PROVIDER_FIELD_DAPL_VERSION_MINOR, 0x10, 0x10) \
	MASK(DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED, 0x20, 0x20) \
	MASK(DAT_PROVIDER_FIELD_IOV_OWNERSHIP, 0x40, 0x40) \
	MASK(DAT_PROVIDER_FIELD_DAT_QOS_SUPPORTED, 0x80, 0x80) \
	MASK(DAT_PROVIDER_FIELD_COMPLETION_FLAGS_SUPPORTED, 0x100, 0x100) \
	MASK(DAT_PROVIDER_FIELD_IS_THREAD_SAFE, 0x200, 0x200) \
	MASK(DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE, 0x400, 0x400) \
	MASK(DAT_PROVIDER_FIELD_SUPPORTS_MULTIPATH, 0x800, 0x800) \
	MASK(DAT_PROVIDER_FIELD_EP_CREATOR, 0x1000, 0x1000) \
	MASK(DAT_PROVIDER_FIELD_PZ_SUPPORT, 0x2000, 0x2000) \
	MASK(DAT_PROVIDER_FIELD_OPTIMAL_BUFFER_ALIGNMENT, 0x4000, 0x4000) \
	MASK(DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED, 0x8000, 0x8000) \
	MASK(DAT_PROVIDER_FIELD_SRQ_SUPPORTED, 0x10000, 0x10000) \
	MASK(DAT_PROVIDER_FIELD_SRQ_WATERMARKS_SUPPORTED, 0x20000, 0x20000) \
	MASK(DAT_PROVIDER_FIELD_SRQ_EP_PZ_DIFFERENCE_SUPPORTED, 0x40000, 0x40000) \
	MASK(DAT_PROVIDER_FIELD_SRQ_INFO_SUPPORTED, 0x80000, 0x80000) \
	MASK(DAT_PROVIDER_FIELD_EP_RECV_INFO_SUPPORTED, 0x100000, 0x100000) \
	MASK(DAT_PROVIDER_FIELD_LMR_SYNC_REQ, 0x200000, 0x200000) \
	MASK(DAT_PROVIDER_FIELD_DTO_ASYNC_RETURN_GUARANTEED, 0x400000, 0x400000) \
	MASK(DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ, 0x800000, 0x800000) \
	MASK(DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR, 0x1000000, 0x20000000) \
	MASK(DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR, 0x2000000, 0x40000000)

#define C12_LMR_MASK(MASK) \
	MASK(DAT_LMR_FIELD_IA_HANDLE, 0x1, 0x1) \
	MASK(DAT_LMR_FIELD_MEM_TYPE, 0x2, 0x2) \
	MASK(DAT_LMR_FIELD_REGION_DESC, 0x4, 0x4) \
	MASK(DAT_LMR_FIELD_LENGTH, 0x8, 0x8) \
	MASK(DAT_LMR_FIELD_PZ_HANDLE, 0x10, 0x10) \
	MASK(DAT_LMR_FIELD_MEM_PRIV, 0x20, 0x20) \
	MASK(DAT_LMR_FIELD_LMR_CONTEXT, 0x40, 0x80) \
	MASK(DAT_LMR_FIELD_RMR_CONTEXT, 0x80, 0x100) \
	MASK(DAT_LMR_FIELD_REGISTERED_SIZE, 0x100, 0x200) \
	MASK(DAT_LMR_FIELD_REGISTERED_ADDRESS, 0x200, 0x400)

#define C12_RMR_MASK(MASK) \
	MASK(DAT_RMR_FIELD_IA_HANDLE, 0x1, 0x1) \
	MASK(DAT_RMR_FIELD_PZ_HANDLE, 0x2, 0x2) \
	MASK(DAT_RMR_FIELD_LMR_TRIPLET, 0x4, 0x4) \
	MASK(DAT_RMR_FIELD_MEM_PRIV, 0x8, 0x8) \
	MASK(DAT_RMR_FIELD_RMR_CONTEXT, 0x10, 0x10)

#define C12_SRQ_STATES(VALUE) \
	VALUE(DAT_SRQ_STATE_OPERATIONAL, 0, 1) \
	VALUE(DAT_SRQ_STATE_ERROR, 1, 0)

/* 1.2 also has DAT_PZ_SAME (1), which Dapple's provider does not use. */
#define C12_PZ_SUPPORT(VALUE) \
	VALUE(DAT_PZ_UNIQUE, 0, 0) \
	VALUE(DAT_PZ_SHAREABLE, 2, 1)

#define C12_RETURN_TYPES(VALUE) \
	VALUE(DAT_SUCCESS, 0x00000000, 0x00000000) \
	VALUE(DAT_ABORT, 0x00010000, 0x00010000) \
	VALUE(DAT_CONN_QUAL_IN_USE, 0x00020000, 0x00020000) \
	VALUE(DAT_INSUFFICIENT_RESOURCES, 0x00030000, 0x00030000) \
	VALUE(DAT_INTERNAL_ERROR, 0x00040000, 0x00040000) \
	VALUE(DAT_INVALID_HANDLE, 0x00050000, 0x00050000) \
	VALUE(DAT_INVALID_PARAMETER, 0x00060000, 0x00060000) \
	VALUE(DAT_INVALID_STATE, 0x00070000, 0x00070000) \
	VALUE(DAT_LENGTH_ERROR, 0x00080000, 0x00080000) \
	VALUE(DAT_MODEL_NOT_SUPPORTED, 0x00090000, 0x00090000) \
	VALUE(DAT_PROVIDER_NOT_FOUND, 0x000a0000, 0x000a0000) \
	VALUE(DAT_PRIVILEGES_VIOLATION, 0x000b0000, 0x000b0000) \
	VALUE(DAT_PROTECTION_VIOLATION, 0x000c0000, 0x000c0000) \
	VALUE(DAT_QUEUE_EMPTY, 0x000d0000, 0x000d0000) \
	VALUE(DAT_QUEUE_FULL, 0x000e0000, 0x000e0000) \
	VALUE(DAT_TIMEOUT_EXPIRED, 0x000f0000, 0x000f0000) \
	VALUE(DAT_PROVIDER_ALREADY_REGISTERED, 0x00100000, 0x00100000) \
	VALUE(DAT_PROVIDER_IN_USE, 0x00110000, 0x00110000) \
	VALUE(DAT_INVALID_ADDRESS, 0x00120000, 0x00120000) \
	VALUE(DAT_INTERRUPTED_CALL, 0x00130000, 0x00130000) \
	VALUE(DAT_CONN_QUAL_UNAVAILABLE, 0x00140000, 0x00140000) \
	VALUE(DAT_NOT_IMPLEMENTED, 0x0fff0000, 0x3fff0000)

#define C12_SUBTYPES(SUBTYPE) \
	SUBTYPE(DAT_NO_SUBTYPE, 0, 0) \
	SUBTYPE(DAT_SUB_INTERRUPTED, 1, 1) \
	SUBTYPE(DAT_RESOURCE_MEMORY, 2, 2) \
	SUBTYPE(DAT_RESOURCE_DEVICE, 3, 3) \
	SUBTYPE(DAT_RESOURCE_TEP, 4, 4) \
	SUBTYPE(DAT_RESOURCE_TEVD, 5, 5) \
	SUBTYPE(DAT_RESOURCE_PROTECTION_DOMAIN, 6, 6) \
	SUBTYPE(DAT_RESOURCE_MEMORY_REGION, 7, 7) \
	SUBTYPE(DAT_RESOURCE_ERROR_HANDLER, 8, 8) \
	SUBTYPE(DAT_RESOURCE_CREDITS, 9, 9) \
	SUBTYPE(DAT_RESOURCE_SRQ, 10, 10) \
	SUBTYPE(DAT_INVALID_HANDLE_IA, 11, 11) \
	SUBTYPE(DAT_INVALID_HANDLE_EP, 12, 12) \
	SUBTYPE(DAT_INVALID_HANDLE_LMR, 13, 13) \
	SUBTYPE(DAT_INVALID_HANDLE_RMR, 14, 14) \
	SUBTYPE(DAT_INVALID_HANDLE_PZ, 15, 15) \
	SUBTYPE(DAT_INVALID_HANDLE_PSP, 16, 16) \
	SUBTYPE(DAT_INVALID_HANDLE_RSP, 17, 17) \
	SUBTYPE(DAT_INVALID_HANDLE_CR, 18, 18) \
	SUBTYPE(DAT_INVALID_HANDLE_CNO, 19, 19) \
	SUBTYPE(DAT_INVALID_HANDLE_EVD_CR, 20, 20) \
	SUBTYPE(DAT_INVALID_HANDLE_EVD_REQUEST, 21, 21) \
	SUBTYPE(DAT_INVALID_HANDLE_EVD_RECV, 22, 22) \
	SUBTYPE(DAT_INVALID_HANDLE_EVD_CONN, 23, 23) \
	SUBTYPE(DAT_INVALID_HANDLE_EVD_ASYNC, 24, 24) \
	SUBTYPE(DAT_INVALID_HANDLE_SRQ, 25, 25) \
	SUBTYPE(DAT_INVALID_HANDLE1, 26, 27) \
	SUBTYPE(DAT_INVALID_HANDLE2, 27, 28) \
	SUBTYPE(DAT_INVALID_HANDLE3, 28, 29) \
	SUBTYPE(DAT_INVALID_HANDLE4, 29, 30) \
	SUBTYPE(DAT_INVALID_HANDLE5, 30, 31) \
	SUBTYPE(DAT_INVALID_HANDLE6, 31, 32) \
	SUBTYPE(DAT_INVALID_HANDLE7, 32, 33) \
	SUBTYPE(DAT_INVALID_HANDLE8, 33, 34) \
	SUBTYPE(DAT_INVALID_HANDLE9, 34, 35) \
	SUBTYPE(DAT_INVALID_HANDLE10, 35, 36) \
	SUBTYPE(DAT_INVALID_ARG1, 36, 37) \
	SUBTYPE(DAT_INVALID_ARG2, 37, 38) \
	SUBTYPE(DAT_INVALID_ARG3, 38, 39) \
	SUBTYPE(DAT_INVALID_ARG4, 39, 40) \
	SUBTYPE(DAT_INVALID_ARG5, 40, 41) \
	SUBTYPE(DAT_INVALID_ARG6, 41, 42) \
	SUBTYPE(DAT_INVALID_ARG7, 42, 43) \
	SUBTYPE(DAT_INVALID_ARG8, 43, 44) \
	SUBTYPE(DAT_INVALID_ARG9, 44, 45) \
	SUBTYPE(DAT_INVALID_ARG10, 45, 46) \
	SUBTYPE(DAT_INVALID_STATE_EP_UNCONNECTED, 46, 47) \
	SUBTYPE(DAT_INVALID_STATE_EP_ACTCONNPENDING, 47, 48) \
	SUBTYPE(DAT_INVALID_STATE_EP_PASSCONNPENDING, 48, 49) \
	SUBTYPE(DAT_INVALID_STATE_EP_TENTCONNPENDING, 49, 50) \
	SUBTYPE(DAT_INVALID_STATE_EP_CONNECTED, 50, 51) \
	SUBTYPE(DAT_INVALID_STATE_EP_DISCONNECTED, 51, 52) \
	SUBTYPE(DAT_INVALID_STATE_EP_RESERVED, 52, 53) \
	SUBTYPE(DAT_INVALID_STATE_EP_COMPLPENDING, 53, 54) \
	SUBTYPE(DAT_INVALID_STATE_EP_DISCPENDING, 54, 55) \
	SUBTYPE(DAT_INVALID_STATE_EP_PROVIDERCONTROL, 55, 56) \
	SUBTYPE(DAT_INVALID_STATE_EP_NOTREADY, 56, 57) \
	SUBTYPE(DAT_INVALID_STATE_EP_RECV_WATERMARK, 57, 58) \
	SUBTYPE(DAT_INVALID_STATE_EP_PZ, 58, 59) \
	SUBTYPE(DAT_INVALID_STATE_EP_EVD_REQUEST, 59, 60) \
	SUBTYPE(DAT_INVALID_STATE_EP_EVD_RECV, 60, 61) \
	SUBTYPE(DAT_INVALID_STATE_EP_EVD_CONNECT, 61, 62) \
	SUBTYPE(DAT_INVALID_STATE_EP_UNCONFIGURED, 62, 63) \
	SUBTYPE(DAT_INVALID_STATE_EP_UNCONFRESERVED, 63, 64) \
	SUBTYPE(DAT_INVALID_STATE_EP_UNCONFPASSIVE, 64, 65) \
	SUBTYPE(DAT_INVALID_STATE_EP_UNCONFTENTATIVE, 65, 66) \
	SUBTYPE(DAT_INVALID_STATE_CNO_IN_USE, 66, 67) \
	SUBTYPE(DAT_INVALID_STATE_CNO_DEAD, 67, 68) \
	SUBTYPE(DAT_INVALID_STATE_EVD_OPEN, 68, 69) \
	SUBTYPE(DAT_INVALID_STATE_EVD_ENABLED, 69, 70) \
	SUBTYPE(DAT_INVALID_STATE_EVD_DISABLED, 70, 71) \
	SUBTYPE(DAT_INVALID_STATE_EVD_WAITABLE, 71, 72) \
	SUBTYPE(DAT_INVALID_STATE_EVD_UNWAITABLE, 72, 73) \
	SUBTYPE(DAT_INVALID_STATE_EVD_IN_USE, 73, 74) \
	SUBTYPE(DAT_INVALID_STATE_EVD_CONFIG_NOTIFY, 74, 75) \
	SUBTYPE(DAT_INVALID_STATE_EVD_CONFIG_SOLICITED, 75, 76) \
	SUBTYPE(DAT_INVALID_STATE_EVD_CONFIG_THRESHOLD, 76, 77) \
	SUBTYPE(DAT_INVALID_STATE_EVD_WAITER, 77, 78) \
	SUBTYPE(DAT_INVALID_STATE_EVD_ASYNC, 78, 79) \
	SUBTYPE(DAT_INVALID_STATE_IA_IN_USE, 79, 80) \
	SUBTYPE(DAT_INVALID_STATE_LMR_IN_USE, 80, 81) \
	SUBTYPE(DAT_INVALID_STATE_LMR_FREE, 81, 82) \
	SUBTYPE(DAT_INVALID_STATE_PZ_IN_USE, 82, 83) \
	SUBTYPE(DAT_INVALID_STATE_PZ_FREE, 83, 84) \
	SUBTYPE(DAT_INVALID_STATE_SRQ_OPERATIONAL, 84, 85) \
	SUBTYPE(DAT_INVALID_STATE_SRQ_ERROR, 85, 86) \
	SUBTYPE(DAT_INVALID_STATE_SRQ_IN_USE, 86, 87) \
	SUBTYPE(DAT_PRIVILEGES_READ, 87, 89) \
	SUBTYPE(DAT_PRIVILEGES_WRITE, 88, 90) \
	SUBTYPE(DAT_PRIVILEGES_RDMA_READ, 89, 91) \
	SUBTYPE(DAT_PRIVILEGES_RDMA_WRITE, 90, 92) \
	SUBTYPE(DAT_PROTECTION_READ, 91, 93) \
	SUBTYPE(DAT_PROTECTION_WRITE, 92, 94) \
	SUBTYPE(DAT_PROTECTION_RDMA_READ, 93, 95) \
	SUBTYPE(DAT_PROTECTION_RDMA_WRITE, 94, 96) \
	SUBTYPE(DAT_INVALID_ADDRESS_UNSUPPORTED, 95, 97) \
	SUBTYPE(DAT_INVALID_ADDRESS_UNREACHABLE, 96, 98) \
	SUBTYPE(DAT_INVALID_ADDRESS_MALFORMED, 97, 99) \
	SUBTYPE(DAT_NAME_NOT_REGISTERED, 98, 100) \
	SUBTYPE(DAT_MAJOR_NOT_FOUND, 99, 101) \
	SUBTYPE(DAT_MINOR_NOT_FOUND, 100, 102) \
	SUBTYPE(DAT_THREAD_SAFETY_NOT_FOUND, 101, 103)

#endif
