/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What a software adapter reports about itself, and keeps. */
#ifndef DEVICE_LIMITS_H
#define DEVICE_LIMITS_H

struct eng_dev;
struct ibv_device_attr;
struct dev_info;

#define DEV_PKEY_TBL_LEN 1

/* Fills dev->attr, max_inline and max_msg_sz; limit() takes out what the kind does not have. */
void dev_limits_set(struct eng_dev *dev, const struct dev_info *info,
		    void (*limit)(struct ibv_device_attr *attr));

#endif
