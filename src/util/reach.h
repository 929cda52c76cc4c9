/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Larger copies from and to the application's memory. Pages that the application has unmapped are an
 * error here as well, and no crash (law 8).
 */
#ifndef UTIL_REACH_H
#define UTIL_REACH_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/uio.h>

enum ut_reach_how { UT_REACH_READ, UT_REACH_WRITE };

/*
 * Makes all pages of the range present, readable or writable; copy-on-write pages are copied for
 * writing. Returns false if one is not mapped so, and on kernels before 5.14.
 */
bool ut_reach(const void *p, size_t len, enum ut_reach_how how);

/*
 * The same for an aligned word and writing, in less time, by the kernel's addition of 0 to it. Returns 0; -EFAULT: it is not
 * mapped so; another errno: this way is refused. A thread of the process that sleeps in futex() on this very word may
 * wake up for nothing, as it may anyway.
 */
int ut_reach_word(void *at);

/*
 * Copies from the library's memory to the application's, pieces in order: a later piece becomes
 * visible later. Returns 0 if all bytes were copied, or -errno: then part of them may have been. Faster
 * than ut_stage_scatter() for whole packets, slower for few bytes; a container may refuse it.
 */
int ut_reach_put(const struct iovec *from, int n_from, const struct iovec *to, int n_to);

/* The bytes of n pieces together. */
static inline size_t ut_iov_bytes(const struct iovec *iov, int n)
{
	size_t sum = 0;

	for (int i = 0; i < n; i++)
		sum += iov[i].iov_len;
	return sum;
}

#endif
