/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * IB extensions (dat_ib_extensions.h, version 2.0.9): atomics, immediate data, unreliable datagrams,
 * counters. Everything comes through dat_extension_op; collectives are refused.
 */
#ifndef DAT_PROVIDER_EXT_H
#define DAT_PROVIDER_EXT_H

#include "dat/provider/ia.h"

#include <dat2/dat_ib_extensions.h>
#include <errno.h>
#include <stdarg.h>

struct dpr_ep;

DAT_RETURN dpr_extension(DAT_HANDLE handle, DAT_EXTENDED_OP op, va_list args);

/* dat_ib_query_counters, dat_ib_print_counters: of an adapter, an endpoint or an EVD. `print`:
 * to standard output and not to out. counters.c */
DAT_RETURN dpr_counters(DAT_HANDLE handle, int which, DAT_UINT64 *out, bool print, bool reset);

/* dat_ib_ud_cm_free, `cm` being the context of the event, and dat_ib_ud_ah_free; of the connection
 * side (ud*.c), which made both. */
DAT_RETURN dpr_ud_cm_free(struct dpr_ep *ep, DAT_CONTEXT cm);
DAT_RETURN dpr_ud_ah_free(struct dpr_ep *ep, DAT_IB_ADDR_HANDLE *ah);

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

#endif
