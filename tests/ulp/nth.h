/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls by which an upper-layer protocol gets what it needs - memory, objects of verbs and rdma_cm, sockets, files - of which the
 * n-th fails in one thread, and what that thread still has of them. The linker leads calls of functions here (--wrap, meson.build);
 * calls that verbs.h makes through a context come here from the first ibv_alloc_pd() of that context on.
 */
#ifndef TESTS_ULP_NTH_H
#define TESTS_ULP_NTH_H

#include <stdbool.h>

/* In this thread the n-th call from now on fails, once; 0: none. */
void nth_arm(unsigned long n);
/* Ends that. Returns whether a call has failed. */
bool nth_disarm(void);
/* The call that has failed. */
const char *nth_name(void);
/* What the thread has got and not given back since it was armed. */
long nth_left(void);

#endif
