/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Text files of the kernel, line by line. */
#ifndef REPLAY_LINES_H
#define REPLAY_LINES_H

#include <stdint.h>

/* Calls take(arg, line) for each line, of at most 255 octets. Returns 0 or -errno. */
long rp_lines(const char *path, void (*take)(void *arg, const char *line), void *arg);
/* Reads a number of base 16, and moves *p behind it. */
uint64_t rp_read_hex(const char **p);

#endif
