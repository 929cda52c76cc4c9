/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Static probes (USDT) of the provider "dapple", for bpftrace, perf, systemtap and gdb: docs/how-to/trace.md lists them
 * with their arguments. A probe is one nop and a note in the file that says where its arguments lie; nothing is tested
 * and nothing is called until a tracer puts a breakpoint there. Arguments are values that are there anyway.
 *
 * Without <sys/sdt.h> at build time (Debian's systemtap-sdt-dev) there are none.
 */
#ifndef UTIL_PROBE_H
#define UTIL_PROBE_H

#ifdef HAVE_SDT
#include <sys/sdt.h>
#define UT_PROBE3(name, a, b, c) DTRACE_PROBE3(dapple, name, a, b, c)
#define UT_PROBE4(name, a, b, c, d) DTRACE_PROBE4(dapple, name, a, b, c, d)
#define UT_PROBE5(name, a, b, c, d, e) DTRACE_PROBE5(dapple, name, a, b, c, d, e)
#else
#define UT_PROBE3(name, a, b, c) ((void)0)
#define UT_PROBE4(name, a, b, c, d) ((void)0)
#define UT_PROBE5(name, a, b, c, d, e) ((void)0)
#endif

#endif
