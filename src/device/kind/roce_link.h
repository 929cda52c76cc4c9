/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The link of a RoCE adapter, as the environment wants it:
 *
 *   DAPPLE_PORT=N    another UDP port than 4791, for tests beside a live system
 *   DAPPLE_LOCAL=..  how processes of this host reach each other (local_env.h)
 *   DAPPLE_FAULT=..  seeded loss and damage below the protocol (link/fault.h)
 */
#ifndef DEVICE_KIND_ROCE_LINK_H
#define DEVICE_KIND_ROCE_LINK_H

#include "link/link.h"

#include <stdint.h>

struct shm_channel;

/* The UDP port that all adapters of the process use. */
uint16_t dev_roce_udp_port(void);
/* Opens the link with what the environment hangs between it and the protocol, and the channel to the processes
 * of this host. Returns 0 or -errno. */
int dev_roce_link_open(struct link **ret, struct shm_channel **ret_chan);

#endif
