/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The verbs of an initiator. */
#ifndef ULP_SRP_PROGRAM_CLIENT_H
#define ULP_SRP_PROGRAM_CLIENT_H

#include "ulp/srp/program/options.h"

/* Does what the verb says. Returns an exit status. */
int srp_client(const struct srp_options *o);

#endif
