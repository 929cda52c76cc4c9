/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * kDAPL 2.0: the header that kernel modules include. dat2/dat.h holds what user and kernel DAT have in
 * common; here is what exists in the kernel only: upcalls instead of waiting, and registration of
 * physical memory. docs/kdapl.md tells which call may be made in which context.
 *
 * Where the headers of 2005 contradict themselves, these follow the text of the standard:
 * dat_lmr_fmr() returns its contexts by pointers, dat_lmr_kcreate() takes va_type before mem_optimize
 * in its prototype and in its macro alike, and masks of parameters have 64 bits.
 */
#ifndef _KDAT_H_
#define _KDAT_H_

#include <kdat/kdat_config.h>
#include <dat2/dat_platform_specific.h>

typedef enum dat_mem_type {
	DAT_MEM_TYPE_VIRTUAL            = 0x000, /* for_va: kmalloc or vmalloc memory */
	DAT_MEM_TYPE_LMR                = 0x001, /* for_lmr_handle: the memory of another LMR */
	DAT_MEM_TYPE_PHYSICAL           = 0x010, /* for_array: pages of one size */
	DAT_MEM_TYPE_PLATFORM           = 0x020, /* for_platform: a scatterlist that is not mapped */
	DAT_MEM_TYPE_IA                 = 0x040, /* for_ia: one range of addresses of the device (DMA) */
	DAT_MEM_TYPE_BYPASS             = 0x080, /* for_va: local access by DMA address, no registration */
	DAT_MEM_TYPE_PHYSICAL_VAR_PAGES = 0x100, /* for_ranges: pages of several sizes */
} DAT_MEM_TYPE;

typedef enum dat_mem_optimize_flags {
	DAT_MEM_OPTIMIZE_DONT_CARE      = 0,
	DAT_MEM_OPTIMIZE_IA             = 1,
	DAT_MEM_OPTIMIZE_MIN_EXPOSURE   = 2,
	DAT_MEM_OPTIMIZE_EXACT_EXPOSURE = 4,
} DAT_MEM_OPTIMIZE_FLAGS;

/* Without CNOs, so shared receive queues and common service points have other numbers than in user space. */
typedef enum dat_handle_type {
	DAT_HANDLE_TYPE_CR             = 0,
	DAT_HANDLE_TYPE_EP             = 1,
	DAT_HANDLE_TYPE_EVD            = 2,
	DAT_HANDLE_TYPE_IA             = 3,
	DAT_HANDLE_TYPE_LMR            = 4,
	DAT_HANDLE_TYPE_PSP            = 5,
	DAT_HANDLE_TYPE_PZ             = 6,
	DAT_HANDLE_TYPE_RMR            = 7,
	DAT_HANDLE_TYPE_RSP            = 8,
	DAT_HANDLE_TYPE_SRQ            = 9,
	DAT_HANDLE_TYPE_CSP            = 10,
	DAT_HANDLE_TYPE_EXTENSION_BASE = 11,
} DAT_HANDLE_TYPE;

typedef enum dat_evd_param_mask {
	DAT_EVD_FIELD_IA_HANDLE     = 0x01,
	DAT_EVD_FIELD_EVD_QLEN      = 0x02,
	DAT_EVD_FIELD_UPCALL_POLICY = 0x04,
	DAT_EVD_FIELD_UPCALL        = 0x08,
	DAT_EVD_FIELD_EVD_FLAGS     = 0x10,
	DAT_EVD_FIELD_ALL           = 0x1f,
} DAT_EVD_PARAM_MASK;

typedef DAT_UINT64 DAT_PROVIDER_ATTR_MASK;

enum dat_lmr_param_mask {
	DAT_LMR_FIELD_IA_HANDLE          = 0x001,
	DAT_LMR_FIELD_MEM_TYPE           = 0x002,
	DAT_LMR_FIELD_REGION_DESC        = 0x004,
	DAT_LMR_FIELD_LENGTH             = 0x008,
	DAT_LMR_FIELD_PZ_HANDLE          = 0x010,
	DAT_LMR_FIELD_MEM_PRIV           = 0x020,
	DAT_LMR_FIELD_VA_TYPE            = 0x040,
	DAT_LMR_FIELD_LMR_CONTEXT        = 0x080,
	DAT_LMR_FIELD_RMR_CONTEXT        = 0x100,
	DAT_LMR_FIELD_REGISTERED_SIZE    = 0x200,
	DAT_LMR_FIELD_REGISTERED_ADDRESS = 0x400,
	DAT_LMR_FIELD_LMR_STATE          = 0x800,
	DAT_LMR_FIELD_ALL                = 0xfff,
};

#include <dat2/dat.h>

typedef DAT_CONTEXT DAT_LMR_COOKIE;

/* Upcalls. */
typedef enum dat_upcall_policy {
	DAT_UPCALL_TEARDOWN        = -1, /* none; returns when no upcall runs any more */
	DAT_UPCALL_DISABLE         = 0,  /* none; events wait for dat_evd_dequeue */
	DAT_UPCALL_SINGLE_INSTANCE = 1,  /* one at a time */
	DAT_UPCALL_NOTIFY          = 2,  /* one at a time, without an event: those wait for dat_evd_dequeue */
	DAT_UPCALL_MANY            = 100, /* several at a time, on several processors */
} DAT_UPCALL_POLICY;
/* As the headers of old spell it. */
#define DAT_UPCALL_NORIFY DAT_UPCALL_NOTIFY

typedef enum dat_upcall_flag {
	DAT_UPCALL_INVOC_NEW = 0, /* events that arrive from now on */
	DAT_UPCALL_INVOC_ANY = 1, /* those that are queued already too */
} DAT_UPCALL_FLAG;

/*
 * Called in softirq or process context, so it must not sleep. The event is out of the queue and valid until the
 * return; with DAT_UPCALL_NOTIFY it is NULL. more_events: others are queued.
 */
typedef void (*DAT_UPCALL_FUNC)(DAT_PVOID instance_data, const DAT_EVENT *event, DAT_BOOLEAN more_events);

typedef struct dat_upcall_object {
	DAT_PVOID instance_data;
	DAT_UPCALL_FUNC upcall_func;
} DAT_UPCALL_OBJECT;
/* The present object stays. */
#define DAT_UPCALL_SAME ((DAT_UPCALL_OBJECT *)NULL)
#define DAT_UPCALL_NULL ((DAT_UPCALL_OBJECT){ NULL, NULL })

struct dat_evd_param {
	DAT_IA_HANDLE ia_handle;
	DAT_COUNT evd_qlen;
	DAT_UPCALL_POLICY upcall_policy;
	DAT_UPCALL_OBJECT upcall;
	DAT_EVD_FLAGS evd_flags;
};

/* Fields of a DAT_PROVIDER_ATTR: its members in their order. */
#define DAT_PROVIDER_FIELD_PROVIDER_NAME UINT64_C(0x000000001)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MAJOR UINT64_C(0x000000002)
#define DAT_PROVIDER_FIELD_PROVIDER_VERSION_MINOR UINT64_C(0x000000004)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MAJOR UINT64_C(0x000000008)
#define DAT_PROVIDER_FIELD_DAPL_VERSION_MINOR UINT64_C(0x000000010)
#define DAT_PROVIDER_FIELD_LMR_MEM_TYPE_SUPPORTED UINT64_C(0x000000020)
#define DAT_PROVIDER_FIELD_IOV_OWNERSHIP UINT64_C(0x000000040)
#define DAT_PROVIDER_FIELD_DAT_QOS_SUPPORTED UINT64_C(0x000000080)
#define DAT_PROVIDER_FIELD_COMPLETION_FLAGS_SUPPORTED UINT64_C(0x000000100)
#define DAT_PROVIDER_FIELD_IS_THREAD_SAFE UINT64_C(0x000000200)
#define DAT_PROVIDER_FIELD_MAX_PRIVATE_DATA_SIZE UINT64_C(0x000000400)
#define DAT_PROVIDER_FIELD_SUPPORTS_MULTIPATH UINT64_C(0x000000800)
#define DAT_PROVIDER_FIELD_EP_CREATOR UINT64_C(0x000001000)
#define DAT_PROVIDER_FIELD_UPCALL_POLICY UINT64_C(0x000002000)
#define DAT_PROVIDER_FIELD_OPTIMAL_BUFFER_ALIGNMENT UINT64_C(0x000004000)
#define DAT_PROVIDER_FIELD_EVD_STREAM_MERGING_SUPPORTED UINT64_C(0x000008000)
#define DAT_PROVIDER_FIELD_SRQ_SUPPORTED UINT64_C(0x000010000)
#define DAT_PROVIDER_FIELD_SRQ_WATERMARKS_SUPPORTED UINT64_C(0x000020000)
#define DAT_PROVIDER_FIELD_SRQ_EP_PZ_DIFFERENCE_SUPPORTED UINT64_C(0x000040000)
#define DAT_PROVIDER_FIELD_SRQ_INFO_SUPPORTED UINT64_C(0x000080000)
#define DAT_PROVIDER_FIELD_EP_RECV_INFO_SUPPORTED UINT64_C(0x000100000)
#define DAT_PROVIDER_FIELD_LMR_SYNC_REQ UINT64_C(0x000200000)
#define DAT_PROVIDER_FIELD_DTO_ASYNC_RETURN_GUARANTEED UINT64_C(0x000400000)
#define DAT_PROVIDER_FIELD_RDMA_WRITE_FOR_RDMA_READ_REQ UINT64_C(0x000800000)
#define DAT_PROVIDER_FIELD_RDMA_READ_LMR_RMR_CONTEXT_EXPOSURE UINT64_C(0x001000000)
#define DAT_PROVIDER_FIELD_RMR_SCOPE_SUPPORTED UINT64_C(0x002000000)
#define DAT_PROVIDER_FIELD_IS_INTERRUPT_SAFE UINT64_C(0x004000000)
#define DAT_PROVIDER_FIELD_FMR_SUPPORTED UINT64_C(0x008000000)
#define DAT_PROVIDER_FIELD_LMR_FOR_FMR_SCOPE_SUPPORTED UINT64_C(0x010000000)
#define DAT_PROVIDER_FIELD_HA_SUPPORTED UINT64_C(0x020000000)
#define DAT_PROVIDER_FIELD_HA_LB UINT64_C(0x040000000)
#define DAT_PROVIDER_FIELD_NUM_PROVIDER_SPECIFIC_ATTR UINT64_C(0x080000000)
#define DAT_PROVIDER_FIELD_PROVIDER_SPECIFIC_ATTR UINT64_C(0x100000000)
#define DAT_PROVIDER_FIELD_ALL UINT64_C(0x1FFFFFFFF)
#define DAT_PROVIDER_FIELD_NONE UINT64_C(0x0)

/* Memory. */
typedef struct dat_paddr_range {
	DAT_PADDR address;
	DAT_VLEN length;
} DAT_PADDR_RANGE;

struct scatterlist;
typedef union dat_region_description {
	DAT_PVOID for_va;
	DAT_LMR_HANDLE for_lmr_handle;
	struct {
		struct scatterlist *list;
		DAT_COUNT count;
	} for_platform;
	struct {
		DAT_UINT64 page_size; /* a power of two, at least PAGE_SIZE */
		DAT_PADDR *pages;
	} for_array;
	struct {
		DAT_PADDR_RANGE *ranges;
		DAT_COUNT count;
	} for_ranges;
	DAT_PADDR for_ia;
} DAT_REGION_DESCRIPTION;

typedef enum dat_lmr_scope {
	DAT_LMR_SCOPE_EP  = 0,
	DAT_LMR_SCOPE_PZ  = 1,
	DAT_LMR_SCOPE_ANY = 2,
} DAT_LMR_SCOPE;

typedef struct dat_lmr_state {
	DAT_BOOLEAN fmr_support; /* made by dat_lmr_allocate() */
	DAT_BOOLEAN bound;       /* has memory */
} DAT_LMR_STATE;

struct dat_lmr_param {
	DAT_IA_HANDLE ia_handle;
	DAT_MEM_TYPE mem_type;
	DAT_REGION_DESCRIPTION region_desc;
	DAT_VLEN length;
	DAT_PZ_HANDLE pz_handle;
	DAT_MEM_PRIV_FLAGS mem_priv;
	DAT_VA_TYPE va_type;
	DAT_LMR_CONTEXT lmr_context;
	DAT_RMR_CONTEXT rmr_context;
	DAT_VLEN registered_size;
	DAT_VADDR registered_address;
	DAT_LMR_STATE lmr_state;
};

struct dat_ia_attr {
	char adapter_name[DAT_NAME_MAX_LENGTH];
	char vendor_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 hardware_version_major;
	DAT_UINT32 hardware_version_minor;
	DAT_UINT32 firmware_version_major;
	DAT_UINT32 firmware_version_minor;
	DAT_IA_ADDRESS_PTR ia_address_ptr;
	DAT_COUNT max_eps;
	DAT_COUNT max_dto_per_ep;
	DAT_COUNT max_rdma_read_per_ep_in;
	DAT_COUNT max_rdma_read_per_ep_out;
	DAT_COUNT max_evds;
	DAT_COUNT max_evd_qlen;
	DAT_COUNT max_iov_segments_per_dto;
	DAT_COUNT max_lmrs;
	DAT_SEG_LENGTH max_lmr_block_size;
	DAT_VADDR max_lmr_virtual_address;
	DAT_COUNT max_pzs;
	DAT_SEG_LENGTH max_message_size;
	DAT_SEG_LENGTH max_rdma_size;
	DAT_COUNT max_rmrs;
	DAT_VADDR max_rmr_target_address;
	DAT_COUNT max_srqs;
	DAT_COUNT max_ep_per_srq;
	DAT_COUNT max_recv_per_srq;
	DAT_COUNT max_iov_segments_per_rdma_read;
	DAT_COUNT max_iov_segments_per_rdma_write;
	DAT_COUNT max_rdma_read_in;
	DAT_COUNT max_rdma_read_out;
	DAT_BOOLEAN max_rdma_read_per_ep_in_guaranteed;
	DAT_BOOLEAN max_rdma_read_per_ep_out_guaranteed;
	DAT_BOOLEAN zb_supported;
	DAT_BOOLEAN reserved_lmr_supported;
	DAT_EXTENSION extension_supported;
	DAT_COUNT extension_version;
	DAT_COUNT num_transport_attr;
	DAT_NAMED_ATTR *transport_attr;
	DAT_COUNT num_vendor_attr;
	DAT_NAMED_ATTR *vendor_attr;
};

/* For the two arguments of dat_ia_openv() and dat_ia_query() that name the asynchronous EVD. */
#define DAT_EVD_ASYNC_EXISTS ((DAT_EVD_HANDLE)0x1)
#define DAT_EVD_OUT_OF_SCOPE ((DAT_EVD_HANDLE)0x2)

struct dat_provider_attr {
	char provider_name[DAT_NAME_MAX_LENGTH];
	DAT_UINT32 provider_version_major;
	DAT_UINT32 provider_version_minor;
	DAT_UINT32 dapl_version_major;
	DAT_UINT32 dapl_version_minor;
	DAT_MEM_TYPE lmr_mem_types_supported;
	DAT_IOV_OWNERSHIP iov_ownership_on_return;
	DAT_QOS dat_qos_supported;
	DAT_COMPLETION_FLAGS completion_flags_supported;
	DAT_BOOLEAN is_thread_safe;
	DAT_COUNT max_private_data_size;
	DAT_BOOLEAN supports_multipath;
	DAT_EP_CREATOR_FOR_PSP ep_creator;
	DAT_UPCALL_POLICY upcall_policy;
	DAT_UINT32 optimal_buffer_alignment;
	/* Row and column: software, CR, DTO, connection, RMR bind, asynchronous. */
	DAT_BOOLEAN evd_stream_merging_supported[6][6];
	DAT_BOOLEAN srq_supported;
	DAT_COUNT srq_watermarks_supported;
	DAT_BOOLEAN srq_ep_pz_difference_supported;
	DAT_COUNT srq_info_supported;
	DAT_COUNT ep_recv_info_supported;
	DAT_BOOLEAN lmr_sync_req;
	DAT_BOOLEAN dto_async_return_guaranteed;
	DAT_BOOLEAN rdma_write_for_rdma_read_req;
	DAT_BOOLEAN rdma_read_lmr_rmr_context_exposure;
	DAT_RMR_SCOPE rmr_scope_supported;
	DAT_BOOLEAN is_interrupt_safe;
	DAT_BOOLEAN fmr_supported;
	DAT_LMR_SCOPE lmr_for_fmr_scope_supported;
	DAT_BOOLEAN ha_supported;
	DAT_HA_LB ha_loadbalancing;
	DAT_COUNT num_provider_specific_attr;
	DAT_NAMED_ATTR *provider_specific_attr;
};

/* Memory. */
DAT_RETURN dat_lmr_kcreate(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region, DAT_VLEN length,
			   DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type,
			   DAT_MEM_OPTIMIZE_FLAGS optimize, DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *lmr_context,
			   DAT_RMR_CONTEXT *rmr_context, DAT_VLEN *registered_length, DAT_VADDR *registered_address);
DAT_RETURN dat_lmr_query(DAT_LMR_HANDLE lmr, DAT_LMR_PARAM_MASK mask, DAT_LMR_PARAM *param);
DAT_RETURN dat_lmr_allocate(DAT_IA_HANDLE ia, DAT_PZ_HANDLE pz, DAT_COUNT pages, DAT_LMR_SCOPE scope,
			    DAT_LMR_HANDLE *lmr);
/* pages: for DAT_MEM_TYPE_PHYSICAL their number, else the length in bytes. */
DAT_RETURN dat_lmr_fmr(DAT_LMR_HANDLE lmr, DAT_MEM_TYPE type, DAT_REGION_DESCRIPTION region, DAT_VLEN pages,
		       DAT_MEM_PRIV_FLAGS privileges, DAT_VA_TYPE va_type, DAT_EP_HANDLE ep, DAT_LMR_COOKIE cookie,
		       DAT_COMPLETION_FLAGS flags, DAT_LMR_CONTEXT *lmr_context, DAT_RMR_CONTEXT *rmr_context);
DAT_RETURN dat_lmr_invalidate(DAT_LMR_HANDLE lmr, DAT_EP_HANDLE ep, DAT_LMR_COOKIE cookie,
			      DAT_COMPLETION_FLAGS flags);
DAT_RETURN dat_ia_memtype_hint(DAT_IA_HANDLE ia, DAT_MEM_TYPE type, DAT_VLEN length, DAT_MEM_OPTIMIZE_FLAGS optimize,
			       DAT_VLEN *preferred_length, DAT_VADDR *preferred_alignment);
/* The context of all memory, by DMA address, for local access. */
DAT_RETURN dat_ia_reserved_lmr(DAT_IA_HANDLE ia, DAT_LMR_HANDLE *lmr, DAT_LMR_CONTEXT *context);

/* Events. */
DAT_RETURN dat_evd_kcreate(DAT_IA_HANDLE ia, DAT_COUNT min_qlen, DAT_UPCALL_POLICY policy,
			   const DAT_UPCALL_OBJECT *upcall, DAT_EVD_FLAGS flags, DAT_EVD_HANDLE *evd);
DAT_RETURN dat_evd_modify_upcall(DAT_EVD_HANDLE evd, DAT_UPCALL_POLICY policy, const DAT_UPCALL_OBJECT *upcall,
				 DAT_UPCALL_FLAG flag);

#include <kdat/kdat_redirection.h>

#endif
