/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The memory of the process, as it is in the recorder's beginning: the loader of the system has placed the program and all
 * libraries, and no constructor has run. Called before the first event, by the only thread.
 */
#ifndef REPLAY_IMAGE_H
#define REPLAY_IMAGE_H

#include <stdint.h>

/*
 * Recording: writes the image into the file, with the place of the events behind it. Returns 0, or -errno.
 * In a replay it returns a second time, with all memory as it was, and with RP_RESUMED().
 */
int64_t rp_image(int fd);

/* Replay, once the file is mapped: tells the kernel what belongs to the process beside its memory. */
void rp_image_resume(void);

/* Where the heap ended. */
uint64_t rp_image_brk(void);

#endif
