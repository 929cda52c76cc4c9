/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef ABI_VERBS_ASYNC_H
#define ABI_VERBS_ASYNC_H

#include "abi/verbs/vrb.h"

int vrb_take_async(struct ibv_context *c, struct ibv_async_event *ret);

#endif
