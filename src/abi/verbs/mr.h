/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef ABI_VERBS_MR_H
#define ABI_VERBS_MR_H

#include "abi/verbs/vrb.h"

/* Makes the public structure of a region of the engine. Returns NULL with errno set, and frees nothing, on
 * failure. */
struct vrb_mr *vrb_mr_wrap(struct vrb_pd *pd, struct eng_mkey *mk, void *addr, size_t length);
struct ibv_mr *vrb_alloc_null_mr(struct ibv_pd *pd);
int vrb_advise_mr(struct ibv_pd *pd, enum ibv_advise_mr_advice advice, uint32_t flags,
		  struct ibv_sge *sg, uint32_t n);

#endif
