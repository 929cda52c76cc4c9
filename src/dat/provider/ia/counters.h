/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Counters of adapters, endpoints and EVDs: DCNT_* of dat_ib_extensions.h. They only grow; a reset
 * records their values, which later queries subtract. So counting needs no agreement with a reset.
 */
#ifndef DAT_PROVIDER_IA_COUNTERS_H
#define DAT_PROVIDER_IA_COUNTERS_H

#include "dat/provider/ia/ia.h"

#include <dat2/udat.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>

static inline void dpr_count(uint64_t *counter, uint64_t n)
{
	__atomic_fetch_add(counter, n, __ATOMIC_RELAXED);
}

/* As dpr_count, without a locked instruction. All writers of the counter hold one lock. */
static inline void dpr_bump(uint64_t *counter, uint64_t n)
{
	__atomic_store_n(counter, __atomic_load_n(counter, __ATOMIC_RELAXED) + n, __ATOMIC_RELAXED);
}

/* Counts a call of librdmacm, whose result is `failed`, in counter `which` of ia if it succeeded.
 * Returns 0 or the call's positive errno. */
static inline int dpr_count_cm(struct dpr_ia *ia, int which, int failed)
{
	if (failed)
		return errno;
	dpr_count(&ia->counters[which], 1);
	return 0;
}

/*
 * dat_ib_query_counters and dat_ib_print_counters, of an adapter, an endpoint or an EVD: counter
 * `which`, or all of them if it is their number. Values go to standard output if `print`, else to
 * `out`.
 */
DAT_RETURN dpr_counters(DAT_HANDLE handle, int which, DAT_UINT64 *out, bool print, bool reset);

#endif
