/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Counters of adapters, endpoints and EVDs. They only go up; a reset notes where they stood, so that
 * counting never has to agree with it.
 */
#ifndef DAT_PROVIDER_IA_COUNTERS_H
#define DAT_PROVIDER_IA_COUNTERS_H

#include "dat/provider/ia/ia.h"

#include <dat2/udat.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

/* Adds 1 to a counter of the adapter, an endpoint or an EVD: DCNT_* of dat_ib_extensions.h. */
static inline void dpr_count(uint64_t *counter, uint64_t n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

/* The call of librdmacm, 0 or -1, and its counter if it went well: positive errno. */
static inline int dpr_count_cm(struct dpr_ia *ia, int which, int failed)
{
	if (failed)
		return errno;
	dpr_count(&ia->counters[which], 1);
	return 0;
}

/* The same where one lock has all writers: a load and a store instead of a locked addition. */
static inline void dpr_bump(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

/* dat_ib_query_counters, dat_ib_print_counters: of an adapter, an endpoint or an EVD. `print`:
 * to standard output and not to out. counters.c */
DAT_RETURN dpr_counters(DAT_HANDLE handle, int which, DAT_UINT64 *out, bool print, bool reset);

#endif
