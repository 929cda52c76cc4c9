/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "futex.h"

#include "clock.h"
#include "log.h"
#include "raw.h"
#include "signals.h"
#include "state.h"

#include <errno.h>
#include <linux/futex.h>

/* The word that the kernel clears when a thread has ended: pthread_join() waits for that. */
static bool is_of_ended_thread(const uint32_t *addr)
{
	for (unsigned i = 0; i < rp_n_threads; i++)
		if (rp_threads[i].tid_word == addr && rp_threads[i].ended)
			return true;
	return false;
}

/* A matter of microseconds, and no event: so no time limit either, which would be over in a replay. */
static long await_end(const uint32_t *addr)
{
	uint32_t v;

	while ((v = __atomic_load_n(addr, __ATOMIC_ACQUIRE)))
		RP_RAW4(SYS_futex, addr, FUTEX_WAIT, v, NULL);
	return 0;
}

static long futex_wait(struct rp_thread *t, const long a[6], ucontext_t *uc)
{
	const uint32_t *addr = (const void *)a[0];
	const struct timespec *given = (const void *)a[3];
	bool relative = (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT;
	struct timespec until;
	uint32_t bits = relative ? FUTEX_BITSET_MATCH_ANY : (uint32_t)a[5];
	int r;

	if (given) {
		long ns = given->tv_sec * 1000000000l + given->tv_nsec + (relative ? rp_now_ns(CLOCK_MONOTONIC) : 0);

		until = (struct timespec){ ns / 1000000000l, ns % 1000000000l };
	}
	do {
		rp_signals_deliver(t, uc, RP_BEFORE_CALL);
		if (rp_mode == RP_OFF)
			return 0;
		if (__atomic_load_n(addr, __ATOMIC_SEQ_CST) != (uint32_t)a[2])
			return -EAGAIN;
		if (is_of_ended_thread(addr))
			return await_end(addr);
		r = rp_turn_sleep(t, addr, bits, given ? &until : NULL, !relative && a[1] & FUTEX_CLOCK_REALTIME,
				  (const uint64_t *)&uc->uc_sigmask);
	} while (r == -RP_RESTART);
	return r;
}

static long futex_wake(struct rp_thread *t, const long a[6])
{
	uint32_t bits = (a[1] & FUTEX_CMD_MASK) == FUTEX_WAKE ? FUTEX_BITSET_MATCH_ANY : (uint32_t)a[5];
	long n = 0;

	if (rp_mode == RP_RECORDING)
		n = rp_turn_wake((const void *)a[0], (int)a[2], bits);
	rp_turn_wait(t);
	return rp_event(SYS_futex, t->index, 0, n);
}

long rp_futex(struct rp_thread *t, const long a[6], ucontext_t *uc)
{
	switch (a[1] & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
		return futex_wait(t, a, uc);
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
		return futex_wake(t, a);
	case FUTEX_CMP_REQUEUE:
	case FUTEX_REQUEUE:
		/* All are woken, and try again. */
		if ((a[1] & FUTEX_CMD_MASK) == FUTEX_CMP_REQUEUE && *(const uint32_t *)a[0] != (uint32_t)a[5])
			return -EAGAIN;
		return futex_wake(t, (long[]){ a[0], FUTEX_WAKE, INT32_MAX, 0, 0, 0 });
	case FUTEX_WAKE_OP:
		/* One that wakes no thread asks whether the word may be written (util/reach.h): the same in each run. */
		if (!a[2] && !a[3])
			return RP_RAW6(SYS_futex, a[0], a[1], 0, 0, a[4], a[5]);
		/* fall through */
	default:
		rp_stop_at(RP_CALL, SYS_futex, a[1]);
		return -ENOSYS;
	}
}
