/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A moment between two looks of a thread that spins: memory, a lock, and the other thread of the core are left alone. */
#ifndef UTIL_PAUSE_H
#define UTIL_PAUSE_H

static inline void ut_pause(void)
{
#if defined(__x86_64__) || defined(__i386__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("isb" ::: "memory");
#endif
}

#endif
