/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef ABI_VERBS_PORT_H
#define ABI_VERBS_PORT_H

#include "abi/verbs/vrb.h"

/* As the sysfs file says it: 0 InfiniBand or RoCE v1, 1 RoCE v2. 0, or -1 with
 * errno. */
int vrb_gid_type(struct ibv_context *c, uint8_t port, unsigned index, unsigned *type);

#endif
