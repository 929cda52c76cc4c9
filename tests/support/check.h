/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The words of a test program: it ends with 0, 1 (failed) or 77 (skipped). */
#ifndef TESTS_SUPPORT_CHECK_H
#define TESTS_SUPPORT_CHECK_H

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK_MSG(cond, ...)                                                        \
	do {                                                                        \
		if (!(cond)) {                                                      \
			int check_errno = errno;                                    \
			fprintf(stderr, "%s:%d: not true: %s (errno %d, %s)\n",     \
				__FILE__, __LINE__, #cond, check_errno,             \
				strerror(check_errno));                             \
			fprintf(stderr, "  " __VA_ARGS__);                          \
			fputc('\n', stderr);                                        \
			exit(1);                                                    \
		}                                                                   \
	} while (0)

#define CHECK(cond) CHECK_MSG(cond, " ")

/* The reason is the last line of output; the summary shows it. */
#define SKIP(...)                         \
	do {                              \
		printf(__VA_ARGS__);      \
		putchar('\n');            \
		exit(77);                 \
	} while (0)

#endif
