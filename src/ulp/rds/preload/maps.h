/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The memory that the carrier shares with its programs (ulp/rds/cong.h), in a program. */
#ifndef ULP_RDS_PRELOAD_MAPS_H
#define ULP_RDS_PRELOAD_MAPS_H

#include "ulp/rds/cong.h"

/* That of the carrier with this generation; NULL and errno: ESTALE: there is another carrier, or none; or what cannot be had. It
 * stays mapped. */
struct rds_maps *rds_maps(uint32_t generation);

#endif
