/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DTL_COMPAT_H
#define DTL_COMPAT_H

/*
 * One source for DAT 2.0 and 1.2: names that the versions spell differently. -DDTL_DAT_1_2 selects the
 * older one.
 */

#ifdef DTL_DAT_1_2
#include <dat/udat.h>
#else
#include <dat2/udat.h>
#endif

#define DTL_V2 (DAT_VERSION_MAJOR >= 2)

/* Names that are composed, in a buffer of the thread. The kernel has no consumer notification objects either. */
#ifdef __KERNEL__
#define DTL_CNOS 0
#define DTL_TEXT(name, size) char *const name = kdt_text()
#else
#define DTL_CNOS 1
#define DTL_TEXT(name, size) static __thread char name[size]
#endif

static inline DAT_LMR_TRIPLET dtl_segment(DAT_LMR_CONTEXT context, const void *start,
					  DAT_UINT64 length)
{
	return (DAT_LMR_TRIPLET){ .lmr_context = context,
				  .virtual_address = (DAT_VADDR)(uintptr_t)start,
				  .segment_length = length };
}

static inline DAT_RMR_TRIPLET dtl_remote(DAT_RMR_CONTEXT context, DAT_UINT64 start,
					 DAT_UINT64 length)
{
#if DTL_V2
	return (DAT_RMR_TRIPLET){ .rmr_context = context, .virtual_address = start,
				  .segment_length = length };
#else
	return (DAT_RMR_TRIPLET){ .rmr_context = context, .target_address = start,
				  .segment_length = length };
#endif
}

static inline DAT_RETURN dtl_lmr_create(DAT_IA_HANDLE ia, void *start, DAT_VLEN length,
					DAT_PZ_HANDLE pz, DAT_MEM_PRIV_FLAGS rights,
					DAT_LMR_HANDLE *ret_lmr, DAT_LMR_CONTEXT *ret_context,
					DAT_RMR_CONTEXT *ret_remote)
{
	DAT_REGION_DESCRIPTION region = { .for_va = start };
	DAT_VADDR address;
	DAT_VLEN size;

#if DTL_V2
	return dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, length, pz, rights,
			      DAT_VA_TYPE_VA, ret_lmr, ret_context, ret_remote, &size, &address);
#else
	return dat_lmr_create(ia, DAT_MEM_TYPE_VIRTUAL, region, length, pz, rights, ret_lmr,
			      ret_context, ret_remote, &size, &address);
#endif
}

/* 1.2 has no return value for the reason. */
static inline DAT_RETURN dtl_cr_reject(DAT_CR_HANDLE cr, const void *data, DAT_COUNT size)
{
#if DTL_V2
	return dat_cr_reject(cr, size, (DAT_PVOID)(uintptr_t)data);
#else
	(void)data;
	(void)size;
	return dat_cr_reject(cr);
#endif
}

#endif
