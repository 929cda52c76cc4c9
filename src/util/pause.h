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

/*
 * Behind a look that found nothing, where the next one follows at once: the loads of that begin only now. A processor begins them many
 * instructions ahead, and one whose line changes meanwhile costs it all that it has begun since, just when a message has come;
 * and the other thread of the core, which may be the sender, has the time in between. Shorter than ut_pause(), which takes 140 cycles
 * of some processors.
 */
static inline void ut_look_again(void)
{
#if defined(__x86_64__)
	__asm__ volatile("lfence" ::: "memory");
#else
	ut_pause();
#endif
}

#endif
