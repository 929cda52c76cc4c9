/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef ABI_RDMACM_DEV_H
#define ABI_RDMACM_DEV_H

#include "abi/rdmacm/rcm.h"

/* dev.c. 0 when there is an adapter at all, else -ENODEV ... */
int rcm_ready(void);
/* The open device that the manager means. 0 or negative errno. */
int rcm_dev_get(const struct cma_info *info, struct rcm_dev **ret);
/* Made at first use. NULL with errno. */
struct ibv_pd *rcm_dev_pd(struct rcm_dev *d);
struct ibv_xrcd *rcm_dev_xrcd(struct rcm_dev *d);

#endif
