/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * XRC domains as verbs show them (engine/xrcd.c has them). Called by programs through the table of a context
 * (abi/verbs/ops.c).
 */
#ifndef ABI_VERBS_XRCD_H
#define ABI_VERBS_XRCD_H

#include "abi/verbs/vrb.h"

struct ibv_xrcd *vrb_open_xrcd(struct ibv_context *c, struct ibv_xrcd_init_attr *attr);
int vrb_close_xrcd(struct ibv_xrcd *x);

#endif
