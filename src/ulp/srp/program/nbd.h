/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A disk as an NBD export: nbdkit with the plugin that lies beside this program. */
#ifndef ULP_SRP_PROGRAM_NBD_H
#define ULP_SRP_PROGRAM_NBD_H

#include "ulp/srp/program/options.h"

/* Becomes nbdkit. Returns an exit status if it cannot. */
int srp_nbd(const struct srp_options *o);

#endif
