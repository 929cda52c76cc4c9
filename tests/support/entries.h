/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* What this process holds, by the directories of proc(5): "/proc/self/fd", "/proc/self/task". */
#ifndef TESTS_SUPPORT_ENTRIES_H
#define TESTS_SUPPORT_ENTRIES_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>

/* Returns the number of entries of a directory, with "." and ".." and, in "/proc/self/fd", the descriptor that reads it: to be
 * held against an earlier count. Ends the test if the directory cannot be read. */
static inline int entries(const char *path)
{
	DIR *d = opendir(path);
	int n = 0;

	if (!d) {
		perror(path);
		abort();
	}
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

static inline int open_fds(void)
{
	return entries("/proc/self/fd");
}

#endif
