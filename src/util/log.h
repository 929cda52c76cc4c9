/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Log lines. Nothing is written unless the environment asks for it:
 *   DAPPLE_LOG=error|warn|info|debug[:FILE]   default destination: stderr
 * FILE is appended to if it is a regular file of this user, or a terminal, and no symbolic link.
 * A line is lower case, without key=value; if a system call failed, its error text is at the end.
 * errno is kept.
 */
#ifndef UTIL_LOG_H
#define UTIL_LOG_H

#include <stddef.h>

enum ut_log_level {
	UT_LOG_ERROR = 1, /* something the user must act on */
	UT_LOG_WARN,      /* works, but not as the user would expect */
	UT_LOG_INFO,      /* once per object or connection */
	UT_LOG_DEBUG,     /* once per state change */
};

extern int ut_log_threshold; /* enum ut_log_level, 0: silent, -1: environment not read yet */

/* Reads the environment at the first call. Returns whether lines of this level are written. */
int ut_log_enabled_slow(int level);

static inline int ut_log_enabled(int level)
{
	/* Pairs with the release of the thread that read the environment: the file of the lines is open. */
	int most = __atomic_load_n(&ut_log_threshold, __ATOMIC_ACQUIRE);

	if (__builtin_expect(most >= 0, 1))
		return level <= most;
	return ut_log_enabled_slow(level);
}

/* Replaces control characters by blanks: the names that a text quotes must not begin another line, nor talk to a
 * terminal. */
void ut_log_plain(char *text, size_t n);
void ut_log_write(int level, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

#define ut_log(level, ...)                              \
	do {                                            \
		if (ut_log_enabled(level))              \
			ut_log_write(level, __VA_ARGS__); \
	} while (0)

#define ut_error(...) ut_log(UT_LOG_ERROR, __VA_ARGS__)
#define ut_warn(...) ut_log(UT_LOG_WARN, __VA_ARGS__)
#define ut_info(...) ut_log(UT_LOG_INFO, __VA_ARGS__)
#define ut_debug(...) ut_log(UT_LOG_DEBUG, __VA_ARGS__)

#endif
