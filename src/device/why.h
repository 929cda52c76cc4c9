/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Failure sentences that outlive the process: one bounded file per user in the
 * runtime directory, newest last, rotated at 256 KiB.
 */
#ifndef DEVICE_WHY_H
#define DEVICE_WHY_H

#include <stddef.h>

/* Appends "time pid program: sentence"; a file that cannot be written is no
 * error. Does not block on other processes. */
void dev_why_keep(const char *sentence);
/* Calls each(line, arg) for the last n sentences, oldest first. Returns their
 * number or negative errno. */
int dev_why_read(int n, void (*each)(const char *line, void *arg), void *arg);

#endif
