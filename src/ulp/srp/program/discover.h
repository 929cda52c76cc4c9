/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Targets of an InfiniBand fabric, by device management. */
#ifndef ULP_SRP_PROGRAM_DISCOVER_H
#define ULP_SRP_PROGRAM_DISCOVER_H

#include "ulp/srp/program/options.h"

/* Prints the targets that the fabric has. Returns an exit status. */
int srp_discover(void);

#endif
