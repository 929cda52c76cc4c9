/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * System calls of the recorder itself. Those of the program and of its libraries come as SIGSYS (syscall user dispatch,
 * Documentation/admin-guide/syscall-user-dispatch.rst); the instructions between rp_raw_begin and rp_raw_end are
 * excepted. None of it changes errno.
 */
#ifndef REPLAY_RAW_H
#define REPLAY_RAW_H

#include <stdint.h>
#include <sys/syscall.h>

extern const char rp_raw_begin[], rp_raw_end[];

/* Returns the kernel's result: negative errno on failure. */
long rp_raw(long nr, long a, long b, long c, long d, long e, long f);

/* The return from a signal handler, for sigaction's sa_restorer. */
void rp_restorer(void) __asm__("__restore_rt");

/* Returns from the signal whose frame is at the stack pointer sp. */
_Noreturn void rp_sigreturn(uint64_t sp);

#define RP_CALL_BYTES 2 /* of the instruction */

#define RP_RAW0(nr) rp_raw((nr), 0, 0, 0, 0, 0, 0)
#define RP_RAW1(nr, a) rp_raw((nr), (long)(a), 0, 0, 0, 0, 0)
#define RP_RAW2(nr, a, b) rp_raw((nr), (long)(a), (long)(b), 0, 0, 0, 0)
#define RP_RAW3(nr, a, b, c) rp_raw((nr), (long)(a), (long)(b), (long)(c), 0, 0, 0)
#define RP_RAW4(nr, a, b, c, d) rp_raw((nr), (long)(a), (long)(b), (long)(c), (long)(d), 0, 0)
#define RP_RAW5(nr, a, b, c, d, e) rp_raw((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), 0)
#define RP_RAW6(nr, a, b, c, d, e, f) rp_raw((nr), (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

#endif
