/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The setting DAPPLE_PROBE. Read where a kind of adapter configures its manager: transport_cm.c for the watch of connections
 * (cm/ibcm/watch.c), iwarp.c for TCP's keepalive (link/tcp/silence.h).
 */
#ifndef DEVICE_KIND_PROBE_ENV_H
#define DEVICE_KIND_PROBE_ENV_H

#include <stdint.h>

/* Returns how many ns a connection may be silent until its peer is probed, as DAPPLE_PROBE says; 0: it is never
 * probed. A value that is no number of milliseconds is logged, and the default holds. */
uint64_t dev_probe_ns(void);

#endif
