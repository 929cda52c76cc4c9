/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The beginning of the recorder, its end, and the one function of libc that it replaces. */
#ifndef REPLAY_START_H
#define REPLAY_START_H

#include <pthread.h>

/* pthread_create() of the program and its libraries. */
__attribute__((visibility("default"))) int rp_create(pthread_t *ret, const pthread_attr_t *attr, void *(*f)(void *), void *arg)
	__asm__("pthread_create");

#endif
