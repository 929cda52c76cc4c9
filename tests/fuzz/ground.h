/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The ground under a stateful target: time that only the input moves, sleeps that pass at once, an address that no
 * other run has, and the descriptors and shared mappings of the process, of which a run leaves none behind. Linked
 * with --wrap of syscall, clock_gettime, mmap64 and munmap.
 */
#ifndef TESTS_FUZZ_GROUND_H
#define TESTS_FUZZ_GROUND_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* CLOCK_MONOTONIC, ns. Each reading adds a microsecond. */
extern uint64_t ground_now;
/* Called instead of a sleep; ground_now has moved already. May be NULL. */
extern void (*ground_slept)(void);
/* Called for a system call of the product before it is made. Returns 1 with its result, -errno for an error. May be NULL. */
extern int (*ground_syscall)(long nr, const long arg[6], long *ret);

/* 127.x.y.z of this process, as ::ffff:127.x.y.z; z is `last` and one of eight. */
void ground_address(unsigned last, uint8_t ret[16]);

/* A port for that address. */
uint16_t ground_port(void);

/* Called around a run: the second one demands that nothing is left. */
void ground_enter(void);
void ground_leave(void);

#endif
