/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The parts of the iWARP adapter among themselves. */
#ifndef DEVICE_IWARP_H
#define DEVICE_IWARP_H

#include "cm/mpa/mpa.h"

/* Fills crc, markers, revision and rtr from DAPPLE_MPA. */
void dev_iwarp_config(struct mpa_config *cfg);

#endif
