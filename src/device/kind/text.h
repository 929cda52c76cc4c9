/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Short texts that the kernel shows as files below /proc. */
#ifndef DEVICE_KIND_TEXT_H
#define DEVICE_KIND_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Reads the first room - 1 octets of the file into buf, ended by a zero. Returns false, and an empty string, if it cannot be
 * read. No cancellation point. */
bool dev_read_text(const char *path, char *buf, size_t room);

#endif
