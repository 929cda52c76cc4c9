/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include <stdlib.h>
#include <string.h>

#include "fft.h"

/* Adapters, protection zones and memory. */

#define CALL(call, type, subtype) fft_is(call, type, subtype, #call)
#define OK(call) FFT_NEED(CALL(call, DAT_SUCCESS, 0))

/* --- hwconn --- */

static enum fft_result open_close(struct dtl_ia *ia)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE second;

	OK(dat_ia_open((DAT_NAME_PTR)(uintptr_t)ia->name, 8, &async, &second));
	FFT_NEED(async != DAT_HANDLE_NULL);
	OK(dat_ia_close(second, DAT_CLOSE_GRACEFUL_FLAG));
	return FFT_PASS;
}

static enum fft_result open_unknown(struct dtl_ia *ia)
{
	static char name[] = "no-such-adapter-anywhere";
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE none;

	FFT_NEED(CALL(dat_ia_open(name, 8, &async, &none), DAT_PROVIDER_NOT_FOUND, 0));
	return FFT_PASS;
}

static enum fft_result close_twice(struct dtl_ia *ia)
{
	DAT_EVD_HANDLE async = DAT_HANDLE_NULL;
	DAT_IA_HANDLE second;

	OK(dat_ia_open((DAT_NAME_PTR)(uintptr_t)ia->name, 8, &async, &second));
	OK(dat_ia_close(second, DAT_CLOSE_ABRUPT_FLAG));
	FFT_NEED(CALL(dat_ia_close(second, DAT_CLOSE_ABRUPT_FLAG), DAT_INVALID_HANDLE, 0));
	return FFT_PASS;
}

static enum fft_result close_in_use(struct dtl_ia *ia)
{
	FFT_NEED(CALL(dat_ia_close(ia->ia, DAT_CLOSE_GRACEFUL_FLAG), DAT_INVALID_STATE,
		      DAT_INVALID_STATE_IA_IN_USE));
	return FFT_PASS;
}

const struct fft_case fft_hwconn[] = {
	{ "an IA opens and closes", open_close },
	{ "an unknown name is refused with PROVIDER_NOT_FOUND", open_unknown },
	{ "closing an IA twice is refused with INVALID_HANDLE", close_twice },
	{ "an IA with objects does not close gracefully", close_in_use },
	{ NULL, NULL },
};

/* --- pz --- */

static enum fft_result pz_create_free(struct dtl_ia *ia)
{
	DAT_PZ_HANDLE pz;

	OK(dat_pz_create(ia->ia, &pz));
	OK(dat_pz_free(pz));
	return FFT_PASS;
}

static enum fft_result pz_used_by_ep(struct dtl_ia *ia)
{
	struct dtl_end_wish wish = { .recvs = 4, .requests = 4, .iov = 1 };
	struct dtl_end end;

	FFT_NEED(dtl_end_make(&end, ia, &wish) == 0);
	FFT_NEED(CALL(dat_pz_free(ia->pz), DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE));
	FFT_NEED(dtl_end_drop(&end) == 0);
	return FFT_PASS;
}

static enum fft_result pz_used_by_lmr(struct dtl_ia *ia)
{
	struct dtl_mem mem;

	FFT_NEED(dtl_mem_make(&mem, ia, 4096, DAT_MEM_PRIV_ALL_FLAG) == 0);
	FFT_NEED(CALL(dat_pz_free(ia->pz), DAT_INVALID_STATE, DAT_INVALID_STATE_PZ_IN_USE));
	FFT_NEED(dtl_mem_drop(&mem) == 0);
	return FFT_PASS;
}

static enum fft_result pz_free_null(struct dtl_ia *ia)
{
	FFT_NEED(CALL(dat_pz_free(DAT_HANDLE_NULL), DAT_INVALID_HANDLE, 0));
	return FFT_PASS;
}

const struct fft_case fft_pz[] = {
	{ "a PZ is made and freed", pz_create_free },
	{ "a PZ that an EP uses is not freed", pz_used_by_ep },
	{ "a PZ that an LMR uses is not freed", pz_used_by_lmr },
	{ "freeing no PZ is refused with INVALID_HANDLE", pz_free_null },
	{ NULL, NULL },
};

/* --- mem --- */

static enum fft_result lmr_sizes(struct dtl_ia *ia)
{
	static const uint64_t sizes[] = { 1, 64, 4095, 4096, 4097, 65536, 1 << 20, 16 << 20 };
	struct dtl_mem mem;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]) && sizes[i] <= ia->attr.max_lmr_block_size; i++) {
		FFT_NEED(dtl_mem_make(&mem, ia, sizes[i], DAT_MEM_PRIV_ALL_FLAG) == 0);
		FFT_NEED(dtl_mem_drop(&mem) == 0);
	}
	return FFT_PASS;
}

static DAT_RETURN lmr(struct dtl_ia *ia, DAT_PZ_HANDLE pz, uint64_t size)
{
	static char memory[64];
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT remote;
	DAT_LMR_HANDLE handle;
	DAT_RETURN r = dtl_lmr_create(ia->ia, memory, size, pz, DAT_MEM_PRIV_ALL_FLAG, &handle,
				      &context, &remote);

	return r == DAT_SUCCESS ? dat_lmr_free(handle) : r;
}

static enum fft_result lmr_empty(struct dtl_ia *ia)
{
	DAT_RETURN r = lmr(ia, ia->pz, 0);

	FFT_NEED(r == DAT_SUCCESS || fft_is(r, DAT_INVALID_PARAMETER, 0, "dat_lmr_create of 0 bytes"));
	return FFT_PASS;
}

static enum fft_result lmr_without_pz(struct dtl_ia *ia)
{
	FFT_NEED(CALL(lmr(ia, DAT_HANDLE_NULL, 64), DAT_INVALID_HANDLE, 0));
	return FFT_PASS;
}

static enum fft_result lmr_free_null(struct dtl_ia *ia)
{
	FFT_NEED(CALL(dat_lmr_free(DAT_HANDLE_NULL), DAT_INVALID_HANDLE, 0));
	return FFT_PASS;
}

static enum fft_result lmr_free_twice(struct dtl_ia *ia)
{
	struct dtl_mem mem;
	DAT_LMR_HANDLE old;

	FFT_NEED(dtl_mem_make(&mem, ia, 4096, DAT_MEM_PRIV_ALL_FLAG) == 0);
	old = mem.lmr;
	FFT_NEED(dtl_mem_drop(&mem) == 0);
	FFT_NEED(CALL(dat_lmr_free(old), DAT_INVALID_HANDLE, 0));
	return FFT_PASS;
}

static enum fft_result rmr_create_free(struct dtl_ia *ia)
{
	DAT_RMR_HANDLE rmr;
	DAT_RETURN r = dat_rmr_create(ia->pz, &rmr);

	/* Debian's provider returns the subtype of another argument. */
	if (fft_unsupported(r) || ia->attr.max_rmrs == 0)
		return r == DAT_SUCCESS ? FFT_FAIL : FFT_UNSUPP;
	FFT_NEED(fft_is(r, DAT_SUCCESS, 0, "dat_rmr_create"));
	OK(dat_rmr_free(rmr));
	return FFT_PASS;
}

static enum fft_result lmr_over_lmr(struct dtl_ia *ia)
{
#if DTL_V2
	DAT_REGION_DESCRIPTION region;
	struct dtl_mem mem;
	DAT_LMR_CONTEXT context;
	DAT_RMR_CONTEXT remote;
	DAT_LMR_HANDLE second;
	DAT_VADDR address;
	DAT_VLEN size;
	DAT_RETURN r;

	FFT_NEED(dtl_mem_make(&mem, ia, 8192, DAT_MEM_PRIV_ALL_FLAG) == 0);
	region.for_lmr_handle = mem.lmr;
	r = dat_lmr_create(ia->ia, DAT_MEM_TYPE_LMR, region, 8192, ia->pz,
			   DAT_MEM_PRIV_LOCAL_READ_FLAG, DAT_VA_TYPE_VA, &second, &context,
			   &remote, &size, &address);
	if (r == DAT_SUCCESS) {
		FFT_NEED(size >= 8192 && address <= (DAT_VADDR)(uintptr_t)mem.start);
		OK(dat_lmr_free(second));
	}
	FFT_NEED(dtl_mem_drop(&mem) == 0);
	if (fft_unsupported(r))
		return FFT_UNSUPP;
	FFT_NEED(fft_is(r, DAT_SUCCESS, 0, "dat_lmr_create over an LMR"));
	return FFT_PASS;
#else
	return FFT_UNSUPP;
#endif
}

const struct fft_case fft_mem[] = {
	{ "regions of usual sizes are registered", lmr_sizes },
	{ "a region of no bytes is registered, or refused with INVALID_PARAMETER", lmr_empty },
	{ "a region without PZ is refused with INVALID_HANDLE", lmr_without_pz },
	{ "freeing no LMR is refused with INVALID_HANDLE", lmr_free_null },
	{ "freeing an LMR twice is refused with INVALID_HANDLE", lmr_free_twice },
	{ "an RMR is made and freed", rmr_create_free },
	{ "a region over another one is registered", lmr_over_lmr },
	{ NULL, NULL },
};
