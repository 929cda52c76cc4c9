/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The way from a program to its carrier. */
#ifndef ULP_PRELOAD_SUMMON_H
#define ULP_PRELOAD_SUMMON_H

#include <stdbool.h>

/*
 * Returns a socket for one request to the carrier of this process, its parent or a new one, or a
 * negative errno. The carrier runs as the effective user of the process.
 */
int rsp_summon(void);

/* Returns true if the process, or its parent before fork(), has had a carrier. */
bool rsp_was_summoned(void);

#endif
