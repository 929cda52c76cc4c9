/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The program and its libraries, of which a debugger wants the files. */
#ifndef REPLAY_OBJECTS_H
#define REPLAY_OBJECTS_H

#include <stdint.h>

/* An event of all that are loaded in the beginning. */
void rp_objects(void);
/* An event of one that the program has opened later, whose instructions are mapped. */
void rp_object_mapped(unsigned thread, int fd, uint64_t at, int64_t offset);

#endif
