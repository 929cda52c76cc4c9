/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Which fields of an endpoint dat_ep_modify changes in which state (DAT 2.0, dat_ep_modify). */
#ifndef DAT_CORE_MODIFY_H
#define DAT_CORE_MODIFY_H

#include "dat/core/core.h"

/* The checks that do not depend on the state: fields that never change, and the parameters. */
DAT_RETURN dpr_modify_args(DAT_EP_PARAM_MASK mask, const DAT_EP_PARAM *param);
/* Returns DAT_SUCCESS, or INVALID_STATE with the subtype of the state. */
DAT_RETURN dpr_modify_legal(DAT_EP_STATE state, DAT_EP_PARAM_MASK mask);
/* Copies the attributes of the mask. */
void dpr_modify_merge(DAT_EP_ATTR *to, const DAT_EP_ATTR *from, DAT_EP_PARAM_MASK mask);
/* Returns true if the queues for these attributes differ in size. */
bool dpr_modify_resizes(const DAT_EP_ATTR *a, const DAT_EP_ATTR *b);

#endif
