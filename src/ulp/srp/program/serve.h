/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The target as a program: the first thread takes logins, each of which has a thread of its own. */
#ifndef ULP_SRP_PROGRAM_SERVE_H
#define ULP_SRP_PROGRAM_SERVE_H

#include "ulp/srp/program/options.h"

/* Serves until a signal ends it. Returns an exit status. */
int srp_serve(const struct srp_options *o);

#endif
