/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/log.h"

#include "util/env.h"
#include "util/filesize.h"
#include "util/sys.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int ut_log_threshold = -1;
static int log_fd = 2;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static const char *const names[] = { "off", "error", "warn", "info", "debug" };

/*
 * Lines go behind each other into a file of this user: a symbolic link or a file of another user may have been
 * put there to have them written elsewhere, or to read them. Returns a descriptor, or -1.
 */
static int open_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NOCTTY | O_NONBLOCK, 0600);
	struct stat st;

	if (fd < 0)
		return -1;
	if (fstat(fd, &st) == 0 && (S_ISCHR(st.st_mode) || (S_ISREG(st.st_mode) && st.st_uid == geteuid())))
		return fd;
	ut_close(fd);
	errno = EPERM;
	return -1;
}

static void complain(const char *path, int err)
{
	ut_error("DAPPLE_LOG: %s cannot be used (%s): the lines go to standard error; name a regular file of "
		 "this user that is no symbolic link", path, err == ELOOP ? "a symbolic link" : strerror(err));
}

static void read_environment(void)
{
	const char *v = ut_env("DAPPLE_LOG"), *path = NULL;
	int level = 0, fd;

	for (int i = 1; v && i <= UT_LOG_DEBUG; i++) {
		size_t n = strlen(names[i]);

		if (strncmp(v, names[i], n) == 0 && (v[n] == 0 || v[n] == ':')) {
			level = i;
			path = v[n] && v[n + 1] ? v + n + 1 : NULL;
		}
	}
	fd = path ? open_file(path) : -1;
	if (fd >= 0)
		log_fd = fd;
	/* From here on other threads write lines without waiting for this one. */
	__atomic_store_n(&ut_log_threshold, level, __ATOMIC_RELEASE);
	if (path && fd < 0)
		complain(path, errno);
}

int ut_log_enabled_slow(int level)
{
	int keep = errno;

	pthread_once(&once, read_environment);
	errno = keep;
	return level <= ut_log_threshold;
}

void ut_log_plain(char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if ((unsigned char)text[i] < ' ' || text[i] == 0x7f)
			text[i] = ' ';
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
	ut_log_plain(line, (size_t)n);
	line[n++] = '\n';
	/* One write keeps lines of several processes apart. The raw system call is no cancellation
	 * point. A line that cannot be written is lost. */
	if (ut_file_may_append(log_fd, (size_t)n))
		syscall(SYS_write, log_fd, line, (size_t)n);
	errno = keep;
}
