/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Clocks, and the kernel's functions in the process (vdso(7)), which read them without a system call. */
#ifndef REPLAY_CLOCK_H
#define REPLAY_CLOCK_H

/* Makes system calls of them. Returns 0 or -errno. */
int rp_clock_begin(void);

/* Nanoseconds by a clock of clock_gettime(). */
long rp_now_ns(int clock);

#endif
