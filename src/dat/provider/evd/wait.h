/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Waiting for events and taking them.
 *
 * No wake-up is lost: a waiter polls, arms the completion queue, polls again and then sleeps, with
 * the lock held from the second poll until the sleep begins. A push wakes by the futex `pushes`, or
 * beside a completion queue by the eventfd `wake`. Over Dapple's libraries a waiter for completions
 * sleeps inside the engine (dpl_wait_comp) and drives the adapter itself: one wake-up. Elsewhere it
 * sleeps in ppoll().
 *
 * Before the sleep it polls POLLS more times, which take less than a tenth of the sleep that they
 * often save. Round trip of 8 bytes between two waiters on two idle processors: 9.9 us without, 8.2
 * with one poll, 4.7 to 7 with two, 3.3 with four. Beside a load of 30 two polls cost nothing and
 * four 1 to 2 us. A program that polls has dat_evd_dequeue.
 */
#ifndef DAT_PROVIDER_EVD_WAIT_H
#define DAT_PROVIDER_EVD_WAIT_H

#include <dat2/udat.h>

DAT_RETURN dpr_evd_wait(DAT_EVD_HANDLE evd, DAT_TIMEOUT timeout, DAT_COUNT threshold,
			DAT_EVENT *event, DAT_COUNT *nmore);
DAT_RETURN dpr_evd_dequeue(DAT_EVD_HANDLE evd, DAT_EVENT *event);

#endif
