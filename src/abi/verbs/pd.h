/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef ABI_VERBS_PD_H
#define ABI_VERBS_PD_H

#include "abi/verbs/vrb.h"

/* Counts an object that was made through a protection domain; it is destroyed. */
void vrb_pd_use(struct vrb_pd *pd);
void vrb_pd_unuse(struct vrb_pd *pd);
struct ibv_td *vrb_alloc_td(struct ibv_context *c, struct ibv_td_init_attr *attr);
int vrb_dealloc_td(struct ibv_td *td);
struct ibv_pd *vrb_alloc_parent_domain(struct ibv_context *c,
				       struct ibv_parent_domain_init_attr *attr);

#endif
