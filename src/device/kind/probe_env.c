/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/kind/probe_env.h"

#include "util/clock.h"
#include "util/env.h"
#include "util/log.h"

#include <stdlib.h>

#define PROBE_MS 5000
#define PROBE_MAX_MS 3600000

uint64_t dev_probe_ns(void)
{
	const char *v = ut_env("DAPPLE_PROBE");
	unsigned long ms;
	char *end;

	if (!v || !*v)
		return PROBE_MS * UT_MS;
	ms = strtoul(v, &end, 10);
	if (!*end && ms <= PROBE_MAX_MS)
		return ms * UT_MS;
	ut_error("DAPPLE_PROBE: \"%s\" is not a number of milliseconds from 0 to %d: silent connections are probed "
		 "after %d; set such a number, or unset it", v, PROBE_MAX_MS, PROBE_MS);
	return PROBE_MS * UT_MS;
}
