/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* RoCEv2 adapters: the InfiniBand transport on a UDP link, and on the shm channel within a host. */
#ifndef DEVICE_KIND_ROCE_H
#define DEVICE_KIND_ROCE_H

#include "device/adapter.h"
#include "host/shm/channel.h"
#include "link/link.h"

#define DEV_RX_BATCH 64

/* What a wired RoCE adapter consists of, beside the transport's port (eng_dev.port) and the manager. dev.lock. */
struct dev_roce {
	struct link *link;
	struct shm_channel *chan;    /* to the processes of this host */
	struct dev_records *records; /* connection records; NULL before the first connection */
	struct link_rx rx[DEV_RX_BATCH];
};

static inline struct dev_roce *dev_roce_of(const struct dev_adapter *a)
{
	return a->parts;
}

extern const struct dev_kind_row dev_roce_row;

#endif
