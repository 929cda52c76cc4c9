/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Larger copies from and to the application's memory, still with an error for pages that are gone
 * (law 8).
 */
#ifndef UTIL_REACH_H
#define UTIL_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

enum ut_reach_how { UT_REACH_READ, UT_REACH_WRITE };

/* All pages of the range are there now, to be read or to be written (which makes them the
 * process's own). False also on kernels that cannot say. */
bool ut_reach(const void *p, size_t len, enum ut_reach_how how);

/*
 * From our memory to the application's, pieces in order, what is in a later one becoming visible
 * later. All bytes, or -errno: then part of them may have arrived. Faster than a stage's scatter for
 * whole packets, slower for few bytes; a container may refuse it.
 */
int ut_reach_put(const struct iovec *from, int n_from, const struct iovec *to, int n_to);

/* The bytes of n pieces together. */
size_t ut_iov_bytes(const struct iovec *iov, int n);

#endif
