/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parts of the RoCE adapter among themselves. */
#ifndef DEVICE_ROCE_H
#define DEVICE_ROCE_H

#include "device/adapter.h"

#include <stdint.h>

/* roce_round.c */
extern const struct dev_machine dev_roce_machine;

/* roce_link.c */
/* The UDP port that all adapters of the process use. */
uint16_t dev_roce_udp_port(void);
/* The link with what the environment hangs between it and the protocol. 0 or -errno. */
int dev_roce_link_open(struct link **ret, struct shm_channel **ret_chan);

#endif
