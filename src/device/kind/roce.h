/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* RoCEv2 adapters: the InfiniBand transport on a UDP link, and on the shm channel within a host. */
#ifndef DEVICE_KIND_ROCE_H
#define DEVICE_KIND_ROCE_H

#include "device/adapter.h"

extern const struct dev_kind_row dev_roce_row;

#endif
