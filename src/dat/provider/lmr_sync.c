/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory is coherent with every device below public verbs (lmr_sync_req is false): nothing to do but
 * to say what is wrong with the arguments.
 */
#include "dat/provider/mem.h"

static DAT_RETURN sync_(DAT_IA_HANDLE handle, const DAT_LMR_TRIPLET *t, DAT_VLEN n)
{
	struct dpr_ia *ia = dpr_ia_of(handle);

	if (!ia)
		return DPR_ERR(DAT_INVALID_HANDLE, DAT_INVALID_HANDLE_IA);
	if (n && !t)
		return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	for (DAT_VLEN i = 0; i < n; i++)
		if (t[i].segment_length && !dpr_key_find(ia, DPR_KEY_LOCAL, t[i].lmr_context))
			return DPR_ERR(DAT_INVALID_PARAMETER, DAT_INVALID_ARG2);
	return DAT_SUCCESS;
}

DAT_RETURN dpr_lmr_sync_rdma_read(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *t, DAT_VLEN n)
{
	return sync_(ia, t, n);
}

DAT_RETURN dpr_lmr_sync_rdma_write(DAT_IA_HANDLE ia, const DAT_LMR_TRIPLET *t, DAT_VLEN n)
{
	return sync_(ia, t, n);
}
