/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Failure sentences that outlive the process: one bounded file per user in the
 * runtime directory, newest last, rotated at 256 KiB.
 */
#ifndef DEVICE_WHY_H
#define DEVICE_WHY_H

#include "util/notice.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One line of the file, "DATE TIME PID LEVEL NET PROGRAM: SENTENCE". Pointers into it. */
struct dev_why_line {
	const char *stamp; /* DEV_WHY_STAMP octets */
	long pid;
	enum ut_say level; /* UT_SAY_FAILURE for lines without one, of releases before 0.1.0 */
	uint64_t net;      /* inode of the network namespace; 0: not known */
	const char *program, *sentence;
	size_t program_len;
};

#define DEV_WHY_STAMP 19 /* "2026-01-31 23:59:59" */

/* "failure", "notice", "end" */
extern const char *const dev_why_levels[UT_SAY_END + 1];

/* Appends a line; a file that cannot be written is no error. Does not block on other processes. Called from any
 * thread, with any lock held. */
void dev_why_keep(enum ut_say level, const char *sentence);
/* Takes a line apart. Returns false for a line of another form. */
bool dev_why_parse(const char *line, struct dev_why_line *ret);
/* Calls each(line, arg) for the last n sentences, oldest first. Returns their
 * number or negative errno. */
int dev_why_read(int n, void (*each)(const char *line, void *arg), void *arg);

#endif
