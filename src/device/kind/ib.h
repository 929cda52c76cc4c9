/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The InfiniBand adapter of a process at a node of a soft fabric, which DAPPLE_FABRIC=FABRIC/NODE names: the transport
 * on a fabric link (link/fabric/fabric.h), and a port that the fabric's subnet manager sets up (ib_port.h).
 */
#ifndef DEVICE_KIND_IB_H
#define DEVICE_KIND_IB_H

#include "device/adapter.h"

extern const struct dev_kind_row dev_ib_row;

#endif
