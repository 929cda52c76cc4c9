/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Shared memory by its cookie (DAT 2.0: DAT_MEM_TYPE_SHARED_VIRTUAL). Each process registers its own
 * mapping. What a cookie names is recorded in the user's runtime directory while a region of it exists in
 * any process, so that a later region must be of the same memory and length, in whatever process and on
 * whatever adapter. A record ends with its last region, or with the last process that had one.
 */
#ifndef DAT_PROVIDER_MEM_SHARED_H
#define DAT_PROVIDER_MEM_SHARED_H

#include <dat2/udat.h>

/*
 * Joins the regions of `cookie` with the memory at addr. Returns DAT_SUCCESS and a descriptor in *ret;
 * INVALID_PARAMETER ARG3 if the memory is private, not mapped, or not that of the cookie, ARG4 if its regions have
 * another length; MODEL_NOT_SUPPORTED without /proc; or INSUFFICIENT_RESOURCES. A log line has the reason.
 */
DAT_RETURN dpr_shared_join(const char cookie[DAT_LMR_COOKIE_SIZE], uint64_t addr, DAT_VLEN length, int *ret);
/* fd: from dpr_shared_join() with the same cookie; closed. */
void dpr_shared_leave(const char cookie[DAT_LMR_COOKIE_SIZE], int fd);

#endif
