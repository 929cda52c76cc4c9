/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Calls by which an upper-layer protocol gets what it needs - memory, objects of verbs and rdma_cm, sockets, files - of which the
 * n-th fails in one thread, and what that thread still has of them. The linker leads calls of functions here (--wrap, meson.build);
 * calls that verbs.h makes through a context come here from the first ibv_alloc_pd() of that context on.
 */
#ifndef TESTS_ULP_NTH_H
#define TESTS_ULP_NTH_H

#include <stdbool.h>

/* In this thread the n-th call from now on fails, once; 0: none. Or so many, one after the other. */
void nth_arm(unsigned long n);
void nth_arm_run(unsigned long n, unsigned long length);
/* Ends that. Returns whether a call has failed. */
bool nth_disarm(void);
/* The call that has failed. */
const char *nth_name(void);
/* What the thread has got and not given back since it was armed; without its descriptors, which other calls may have brought. */
long nth_left(void);
long nth_left_but_descriptors(void);

/* For calls that a program leads here itself: does this one fail, with ENOMEM? So many objects are got or (negative) given back. */
bool nth_fails(const char *name);
void nth_got(long nr);
/* A program may have it: called with each call that fails. */
__attribute__((weak)) void nth_on_failure(const char *name);

#endif
