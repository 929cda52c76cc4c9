/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Sleeping on a number. DAT reports signals (DAT_INTERRUPTED_CALL), which pthread_cond_timedwait
 * hides; hence no condition variable.
 */
#ifndef DAT_PROVIDER_EVD_FUTEX_H
#define DAT_PROVIDER_EVD_FUTEX_H

#include <dat2/udat.h>
#include <errno.h>
#include <linux/futex.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/*
 * Sleeps until *word is not `seen` or CLOCK_MONOTONIC reaches `at` (ns; UINT64_MAX: never). Returns
 * 0, -EAGAIN, -ETIMEDOUT or -EINTR. There is always a timeout: without one the kernel resumes the
 * call after handlers with SA_RESTART. It is an hour at most, and then a spurious wake-up.
 */
static inline int dpr_futex_wait(_Atomic uint32_t *word, uint32_t seen, uint64_t at, uint64_t now)
{
	const uint64_t hour = 3600000000000u;
	uint64_t left = at > now ? at - now : 0;
	struct timespec ts;

	if (left > hour)
		left = hour;
	ts.tv_sec = (time_t)(left / 1000000000u);
	ts.tv_nsec = (long)(left % 1000000000u);
	return syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, seen, &ts, NULL, 0) ? -errno : 0;
}

static inline void dpr_futex_wake(_Atomic uint32_t *word, int n)
{
	syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

#endif
