/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/probe.h"

#ifdef HAVE_SDT
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#define ARGUMENTS_3 a, b, c
#define ARGUMENTS_4 ARGUMENTS_3, d
#define ARGUMENTS_5 ARGUMENTS_4, e
#define PROBE(n, ...) DTRACE_PROBE##n(__VA_ARGS__)

/* Tracers know semaphores by their section. */
#define P(name, n) \
volatile unsigned short dapple_##name##_semaphore __attribute__((section(".probes"), visibility("hidden"))); \
void ut_probe_##name(UT_PROBE_LONGS_##n) \
{ \
	PROBE(n, dapple, name, ARGUMENTS_##n); \
}
UT_PROBES(P)
#endif
