/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The clock of deadlines of every upper-layer protocol. */
#ifndef ULP_CLOCK_H
#define ULP_CLOCK_H

#include <stdint.h>

/* CLOCK_MONOTONIC. */
int64_t ulp_now_ms(void);
int64_t ulp_now_ns(void);

#endif
