/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

int ut_log_threshold = -1;
static int log_fd = 2;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const char *const names[] = { "off", "error", "warn", "info", "debug" };

static void read_environment(void)
{
	const char *v = getenv("DAPPLE_LOG");
	int level = 0;

	for (int i = 1; v && i <= UT_LOG_DEBUG; i++) {
		size_t n = strlen(names[i]);

		if (strncmp(v, names[i], n) == 0 && (v[n] == 0 || v[n] == ':')) {
			level = i;
			if (v[n] == ':' && v[n + 1])
				log_fd = open(v + n + 1,
					      O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
		}
	}
	if (log_fd < 0)
		log_fd = 2;
	__atomic_store_n(&ut_log_threshold, level, __ATOMIC_RELEASE);
}

int ut_log_enabled_slow(int level)
{
	int keep = errno;

	pthread_once(&once, read_environment);
	errno = keep;
	return level <= ut_log_threshold;
}

void ut_log_write(int level, const char *fmt, ...)
{
	char line[1024];
	int keep = errno, n;
	va_list ap;

	n = snprintf(line, sizeof(line), "dapple[%d] %s: ", (int)getpid(), names[level]);
	va_start(ap, fmt);
	n += vsnprintf(line + n, sizeof(line) - n - 1, fmt, ap);
	va_end(ap);
	if (n > (int)sizeof(line) - 2)
		n = sizeof(line) - 2;
	line[n++] = '\n';
	/* One write keeps lines of several processes apart. The raw system call is no cancellation
	 * point. A line that cannot be written is lost. */
	syscall(SYS_write, log_fd, line, (size_t)n);
	errno = keep;
}
