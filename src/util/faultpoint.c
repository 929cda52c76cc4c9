/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/faultpoint.h"

atomic_bool ut_fault_armed;
static atomic_uint fault_left; /* fault points until one fails */
static atomic_int fault_sticky;

void ut_fault_arm(unsigned n, int sticky)
{
	atomic_store(&fault_sticky, sticky);
	atomic_store(&fault_left, n);
	atomic_store(&ut_fault_armed, n != 0);
}

bool ut_fault_countdown(void)
{
	if (atomic_load(&fault_left) > 1) {
		atomic_fetch_sub(&fault_left, 1);
		return false;
	}
	if (!atomic_load(&fault_sticky))
		atomic_store(&ut_fault_armed, false);
	return true;
}
