/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Who has slept takes it as 2, since he cannot know whether he was the only one. */
void dpr_lock_sleep(struct dpr_lock *l)
{
	int kept = errno;

	while (atomic_exchange_explicit(&l->word, 2, memory_order_acquire))
		syscall(SYS_futex, &l->word, FUTEX_WAIT_PRIVATE, 2, NULL, NULL, 0);
	errno = kept;
}

void dpr_lock_wake(struct dpr_lock *l)
{
	int kept = errno;

	syscall(SYS_futex, &l->word, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	errno = kept;
}
