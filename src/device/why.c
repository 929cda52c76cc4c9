/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Two files take turns, so that the newest 256 KiB are always there: "why" is
 * appended to, a full one becomes "why.old". A line is one write() of an
 * append-only descriptor, which keeps processes apart without a lock; only the
 * turn itself is taken by one of them (a try, never a wait).
 *
 * A hostile peer can cause sentences without end: beyond a burst a process
 * keeps ten a second.
 */
#include "device/why.h"

#include "device/sys.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/lock.h"
#include "util/log.h"
#include "util/filesize.h"
#include "util/rundir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#define SIZE_MAX_FILE (256 * 1024)
#define BURST 64
#define REFILL_NS (100 * UT_MS)
#define LINE_MAX_WHY 1024

static struct ut_mutex lock = UT_MUTEX_INIT;
static uint64_t tokens UT_GUARDED_BY(lock) = BURST, refilled UT_GUARDED_BY(lock);

static bool allowed(void)
{
	uint64_t now = ut_now(), fresh;
	bool ok;

	if (!ut_trylock(&lock))
		return false;
	fresh = (now - refilled) / REFILL_NS;
	if (fresh) {
		tokens = tokens + fresh > BURST ? BURST : tokens + fresh;
		refilled = now;
	}
	ok = tokens > 0;
	tokens -= ok;
	ut_unlock(&lock);
	return ok;
}

static int paths(char now[UT_RUNDIR_MAX + 16], char old[UT_RUNDIR_MAX + 16])
{
	char dir[UT_RUNDIR_MAX];
	int r = ut_rundir(dir, sizeof(dir), NULL, 0);

	if (r < 0)
		return r;
	snprintf(now, UT_RUNDIR_MAX + 16, "%s/why", dir);
	snprintf(old, UT_RUNDIR_MAX + 16, "%s/why.old", dir);
	return 0;
}

static int open_file(const char *path, int flags)
{
	return (int)DEV_SYS(SYS_openat, AT_FDCWD, path,
			    flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
}

/* The full file makes room, unless another process does that just now or has done it. */
static void turn(int fd, const char *path, const char *old)
{
	struct stat mine, named;

	if (flock(fd, LOCK_EX | LOCK_NB) < 0)
		return;
	if (fstat(fd, &mine) == 0 && stat(path, &named) == 0 && mine.st_ino == named.st_ino &&
	    mine.st_size >= SIZE_MAX_FILE)
		rename(path, old);
}

const char *const dev_why_levels[UT_SAY_END + 1] = {
	[UT_SAY_FAILURE] = "failure", [UT_SAY_NOTICE] = "notice", [UT_SAY_END] = "end",
};

/* Takes "LEVEL NET " from the line. Returns what follows. */
static const char *parse_level(const char *s, struct dev_why_line *ret)
{
	ret->level = UT_SAY_FAILURE;
	ret->net = 0;
	for (size_t i = 0; i <= UT_SAY_END; i++) {
		size_t n = strlen(dev_why_levels[i]);
		char *end;

		if (strncmp(s, dev_why_levels[i], n) != 0 || s[n] != ' ' || s[n + 1] < '0' || s[n + 1] > '9')
			continue;
		ret->net = strtoull(s + n + 1, &end, 10);
		if (*end != ' ')
			continue;
		ret->level = (enum ut_say)i;
		return end + 1;
	}
	ret->net = 0;
	return s;
}

bool dev_why_parse(const char *line, struct dev_why_line *ret)
{
	const char *colon;
	char *end;

	if (strlen(line) <= DEV_WHY_STAMP + 1)
		return false;
	ret->stamp = line;
	ret->pid = strtol(line + DEV_WHY_STAMP + 1, &end, 10);
	if (*end != ' ')
		return false;
	ret->program = parse_level(end + 1, ret);
	colon = strstr(ret->program, ": ");
	if (!colon)
		return false;
	ret->program_len = (size_t)(colon - ret->program);
	ret->sentence = colon + 2;
	return true;
}

/* Verdicts, connections and refused calls name their pages; all else is of the machine and its settings. */
static const char *page_of(enum ut_say level, const char *sentence)
{
	return level == UT_SAY_END || strstr(sentence, "dapple explain ") ? "" : "; dapple explain ENVIRONMENT says more";
}

static size_t compose(char line[LINE_MAX_WHY], enum ut_say level, const char *sentence)
{
	time_t t = time(NULL);
	char stamp[32];
	struct tm tm;
	int n;

	localtime_r(&t, &tm);
	strftime(stamp, sizeof(stamp), "%Y-%m-%d %H:%M:%S", &tm);
	n = snprintf(line, LINE_MAX_WHY - 1, "%s %d %s %" PRIu64 " %s: %s%s", stamp, (int)getpid(),
		     dev_why_levels[level], ut_net_ns(), program_invocation_short_name, sentence, page_of(level, sentence));
	if (n > LINE_MAX_WHY - 2)
		n = LINE_MAX_WHY - 2;
	/* One sentence is one line, whatever a program's name contains. */
	ut_log_plain(line, (size_t)n);
	line[n++] = '\n';
	return (size_t)n;
}

void dev_why_keep(enum ut_say level, const char *sentence)
{
	char path[UT_RUNDIR_MAX + 16], old[UT_RUNDIR_MAX + 16], line[LINE_MAX_WHY];
	int keep = errno, fd;
	struct stat st;

	if (!allowed() || paths(path, old) < 0)
		goto out;
	fd = open_file(path, O_WRONLY | O_APPEND | O_CREAT);
	if (fd < 0)
		goto out;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		size_t n = compose(line, level, sentence);

		if (ut_file_may_append(fd, n))
			dev_sys_write(fd, line, n);
		if (st.st_size >= SIZE_MAX_FILE)
			turn(fd, path, old);
	}
	ut_close(fd);
out:
	errno = keep;
}

/* Appends a whole file to *buf. Returns 0, also if there is no such file, or negative errno. */
static int slurp(const char *path, char **buf, size_t *len)
{
	int fd = open_file(path, O_RDONLY);
	size_t room = SIZE_MAX_FILE + 64 * 1024;
	long n = 0;
	char *p;

	if (fd < 0)
		return fd == -ENOENT ? 0 : fd;
	p = ut_realloc(*buf, *len + room + 1);
	if (p) {
		*buf = p;
		while (room && (n = dev_sys_read(fd, p + *len, room)) > 0) {
			*len += (size_t)n;
			room -= (size_t)n;
		}
	}
	ut_close(fd);
	return !p ? -ENOMEM : n < 0 ? (int)n : 0;
}

int dev_why_read(int n, void (*each)(const char *line, void *arg), void *arg)
{
	char path[UT_RUNDIR_MAX + 16], old[UT_RUNDIR_MAX + 16], *buf = NULL, *p;
	size_t len = 0;
	int r = paths(path, old), lines = 0;

	if (r == 0)
		r = slurp(old, &buf, &len);
	if (r == 0)
		r = slurp(path, &buf, &len);
	if (r < 0 || !len || n <= 0) {
		free(buf);
		return r;
	}
	buf[len] = 0;
	/* Back to the start of the n-th line from the end. */
	p = buf + len - 1;
	while (p > buf && (p[-1] != '\n' || ++lines < n))
		p--;
	for (lines = 0; lines < n && *p; lines++) {
		char *end = strchrnul(p, '\n'), last = *end;

		*end = 0;
		each(p, arg);
		p = last ? end + 1 : end;
	}
	free(buf);
	return lines;
}
