/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* iWARP adapters: RDMAP over DDP over MPA on TCP connections of the host's own stack. */
#ifndef DEVICE_KIND_IWARP_H
#define DEVICE_KIND_IWARP_H

#include "device/adapter.h"
#include "link/stream.h"

/* All that a wired iWARP adapter has, beside the protocol's port (eng_dev.port) and the manager. */
static inline struct link_streams *dev_iwarp_streams(const struct dev_adapter *a)
{
	return a->parts;
}

extern const struct dev_kind_row dev_iwarp_row;

#endif
