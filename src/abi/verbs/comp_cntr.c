/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Completion counters (rdma-core 65): counters of a queue pair's completions in place of entries of a completion
 * queue. They are refused, as by every device without the capability: EOPNOTSUPP, and no capability is told.
 */
#include "abi/verbs/newer.h"
#include "abi/verbs/vrb.h"

#include <string.h>

VRB_NEWER(int, _ibv_query_comp_cntr_caps, (struct ibv_context *c, void *caps, size_t size))
{
	memset(caps, 0, size);
	return vrb_error(-EOPNOTSUPP);
}

VRB_NEWER(void *, ibv_create_comp_cntr, (struct ibv_context *c, void *attr))
{
	return vrb_null(eng_refuse(vrb_ctx(c)->dev, ENG_R_COMP_CNTR));
}

/* No counter exists, so arguments are not read. */
#define REFUSED(name)                         \
	VRB_NEWER(int, name, (void *counter)) \
	{                                     \
		return vrb_error(-EOPNOTSUPP); \
	}

REFUSED(ibv_destroy_comp_cntr)
REFUSED(ibv_set_comp_cntr)
REFUSED(ibv_set_err_comp_cntr)
REFUSED(ibv_inc_comp_cntr)
REFUSED(ibv_inc_err_comp_cntr)
REFUSED(ibv_read_comp_cntr)
REFUSED(ibv_read_err_comp_cntr)
REFUSED(ibv_qp_attach_comp_cntr)
