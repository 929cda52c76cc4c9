/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Fault points: places where a test makes an operation fail that otherwise fails only when the system has
 * no memory or no descriptors. A test sets a countdown; each fault point that a thread passes counts it down by
 * one, and the operation at the end of the countdown fails. util/alloc.h has the fault points of allocations,
 * util/fault_calls.h those of system calls.
 *
 * Outside tests a fault point costs one load of a variable that is never written.
 */
#ifndef UTIL_FAULTPOINT_H
#define UTIL_FAULTPOINT_H

#include <errno.h>
#include <stdatomic.h>
#include <stdbool.h>

/*
 * Starts a countdown of n: the n-th fault point from now on (1 = the next) fails, and with `sticky` all
 * later ones too. n = 0 ends a countdown.
 */
void ut_fault_arm(unsigned n, int sticky);

/* True while a countdown runs. Written by ut_fault_arm() and at the end of a countdown. */
extern atomic_bool ut_fault_armed;

/* Counts down by one. Returns true if the operation of this fault point fails. For ut_fault() alone. */
bool ut_fault_countdown(void);

/* A fault point: returns true if the caller's operation fails now. Each wrapped call asks once. */
static inline bool ut_fault(void)
{
	return __builtin_expect(atomic_load_explicit(&ut_fault_armed, memory_order_relaxed), 0) &&
	       ut_fault_countdown();
}

/* A fault point of a call that sets errno: returns true, with errno set to `error`, if the call fails now. */
static inline bool ut_fault_errno(int error)
{
	if (!ut_fault())
		return false;
	errno = error;
	return true;
}

#endif
