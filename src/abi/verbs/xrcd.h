/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef ABI_VERBS_XRCD_H
#define ABI_VERBS_XRCD_H

#include "abi/verbs/vrb.h"

struct ibv_xrcd *vrb_open_xrcd(struct ibv_context *c, struct ibv_xrcd_init_attr *attr);
int vrb_close_xrcd(struct ibv_xrcd *x);

#endif
