/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Static probes (USDT) of the provider "dapple", for bpftrace, perf, systemtap and gdb: docs/how-to/trace.md lists them
 * with their arguments. A tracer counts itself in the semaphore of a probe; until then the probe is a comparison, its
 * arguments are not looked at, and the code around it is compiled as without it. Each stands at one place, a function.
 *
 * Without <sys/sdt.h> at build time (Debian's systemtap-sdt-dev) there are none.
 */
#ifndef UTIL_PROBE_H
#define UTIL_PROBE_H

/* name, number of arguments: integers and pointers, each passed as a long */
#define UT_PROBES(P) \
P(post_send, 4) \
P(post_recv, 3) \
P(transmit, 4) \
P(receive, 3) \
P(complete, 5) \
P(qp_state, 3) \
P(verdict, 4)

#ifdef HAVE_SDT
#define UT_PROBE_LONGS_3 long a, long b, long c
#define UT_PROBE_LONGS_4 UT_PROBE_LONGS_3, long d
#define UT_PROBE_LONGS_5 UT_PROBE_LONGS_4, long e

/* The tracer, or the kernel for it, writes the semaphore. */
#define P(name, n) \
extern volatile unsigned short dapple_##name##_semaphore __attribute__((visibility("hidden"))); \
void ut_probe_##name(UT_PROBE_LONGS_##n) __attribute__((cold));
UT_PROBES(P)
#undef P

#define UT_IF_TRACED(name, ...) \
	do { \
		if (__builtin_expect(dapple_##name##_semaphore, 0)) \
			ut_probe_##name(__VA_ARGS__); \
	} while (0)
#define UT_PROBE3(name, a, b, c) UT_IF_TRACED(name, (long)(a), (long)(b), (long)(c))
#define UT_PROBE4(name, a, b, c, d) UT_IF_TRACED(name, (long)(a), (long)(b), (long)(c), (long)(d))
#define UT_PROBE5(name, a, b, c, d, e) UT_IF_TRACED(name, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e))
#else
#define UT_PROBE3(name, a, b, c) ((void)0)
#define UT_PROBE4(name, a, b, c, d) ((void)0)
#define UT_PROBE5(name, a, b, c, d, e) ((void)0)
#endif

#endif
