/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef ABI_VERBS_OPS_H
#define ABI_VERBS_OPS_H

#include "abi/verbs/vrb.h"

/* The slots of one table each. */
void vrb_fill_ops(struct verbs_context *v);

#endif
