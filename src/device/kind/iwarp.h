/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* iWARP adapters: RDMAP over DDP over MPA on TCP connections of the host's own stack. */
#ifndef DEVICE_KIND_IWARP_H
#define DEVICE_KIND_IWARP_H

#include "device/kind/kind.h"

extern const struct dev_kind_row dev_iwarp_row;

#endif
