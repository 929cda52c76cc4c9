/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "family.h"

#include "log.h"
#include "memory.h"
#include "raw.h"
#include "signals.h"
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/resource.h>

#define MOST 100000 /* files of a family */
#define DIGITS 6

/* Returns the length of path, "." and n. */
static size_t name_file(char *ret, const char *path, unsigned n)
{
	char digits[DIGITS];
	size_t len = strlen(path), k = 0;

	memcpy(ret, path, len);
	ret[len++] = '.';
	do
		digits[k++] = (char)('0' + n % 10);
	while (n /= 10);
	while (k)
		ret[len++] = digits[--k];
	ret[len] = '\0';
	return len;
}

/* Returns the descriptor of the first file that is not there yet, or -errno. */
static int make_file(void)
{
	char path[RP_PATH + DIGITS + 2];
	long fd = -ENOENT;

	if (!rp_control->family[0])
		return -ENOENT;
	for (unsigned n = 1; n < MOST; n++) {
		name_file(path, rp_control->family, n);
		fd = RP_RAW4(SYS_openat, AT_FDCWD, path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
		if (fd != -EEXIST)
			break;
	}
	if (fd >= 0)
		RP_RAW2(SYS_fchmod, fd, 0600); /* whatever the umask is */
	return (int)fd;
}

static bool write_at(int fd, const void *p, uint64_t n, uint64_t at)
{
	while (n) {
		long r = RP_RAW4(SYS_pwrite64, fd, p, n, at);

		if (r <= 0)
			return false;
		p = (const uint8_t *)p + r;
		n -= (uint64_t)r;
		at += (uint64_t)r;
	}
	return true;
}

/* The head comes last: a file with a head is whole. */
static bool begin_file(int fd, const struct rp_file *head)
{
	struct rp_control c;

	memset(&c, 0, sizeof(c));
	c.pid = (int32_t)RP_RAW0(SYS_getpid);
	memcpy(c.family, rp_control->family, sizeof(c.family));
	return RP_RAW2(SYS_ftruncate, fd, (head->events_at ? head->events_at : RP_IMAGE_AT) + head->limit) == 0 && write_at(fd, &c, sizeof(c), RP_CONTROL_AT) &&
	       write_at(fd, head, sizeof(*head), 0);
}

static bool copy_record(int fd)
{
	struct rp_file head = *rp_log_head();

	/* The command may have written the parent's end there meanwhile. */
	head.ended = head.killed = head.stopped = 0;
	head.used = head.events = head.messages = 0;
	head.status = 0;
	head.forked = 1;
	return write_at(fd, rp_log_head() + 1, head.strings, sizeof(head)) &&
	       write_at(fd, (const uint8_t *)rp_log_head() + RP_IMAGE_AT, head.events_at - RP_IMAGE_AT + rp_log_used(), RP_IMAGE_AT) && begin_file(fd, &head);
}

bool rp_family_fork(struct rp_thread *t)
{
	int fd = make_file();
	bool recorded = fd >= 0 && copy_record(fd) && rp_log_move(fd) == 0;

	if (!recorded) {
		rp_control->missing++;
		return false;
	}
	rp_pid = (int)RP_RAW0(SYS_getpid);
	rp_turn_alone(t);
	rp_memory_guard();
	return rp_thread_begin(t) >= 0;
}

/* --- execve() --- */

struct text {
	int fd;
	uint64_t n;
	bool fits;
};

static void append(struct text *t, const char *s)
{
	uint64_t n = strlen(s) + 1;

	t->fits = t->fits && t->n + n <= RP_STRINGS_MAX && write_at(t->fd, s, n, sizeof(struct rp_file) + t->n);
	t->n += n;
}

static void append_all(struct text *t, char *const *v)
{
	for (; v && *v; v++)
		append(t, *v);
	append(t, "");
}

/* The environment is the one in which the recorder finds its file. */
static bool keeps_recorder(char *const *env)
{
	size_t n = strlen(RP_ENV);
	bool names = false, loads = false;

	for (; env && *env; env++) {
		names |= !strncmp(*env, RP_ENV, n) && (*env)[n] == '=';
		loads |= !strncmp(*env, "LD_PRELOAD=", 11) && strstr(*env, RP_LIBRARY);
	}
	return names && loads;
}

static bool write_successor(int fd, const char *exe, char *const *argv, char *const *env, uint64_t blocked)
{
	struct rp_file head = { .version = RP_VERSION, .limit = rp_log_head()->limit, .blocked = blocked, .ignored = rp_signals_ignored() };
	struct text t = { .fd = fd, .fits = true };
	struct rlimit stack = { 0, 0 };
	char dir[PATH_MAX];

	if (RP_RAW2(SYS_getcwd, dir, sizeof(dir)) < 0)
		return false;
	append(&t, exe);
	append(&t, dir);
	append_all(&t, argv);
	append_all(&t, env);
	RP_RAW4(SYS_prlimit64, 0, RLIMIT_STACK, NULL, &stack);
	memcpy(head.magic, RP_MAGIC, sizeof(head.magic));
	head.strings = t.n;
	head.stack = stack.rlim_cur;
	return t.fits && begin_file(fd, &head);
}

void rp_family_exec(struct rp_successor *s, int nr, const long args[6], uint64_t blocked)
{
	bool at = nr == SYS_execveat;
	const char *path = (const char *)args[at];
	char *const *argv = (char *const *)args[1 + at], *const *env = (char *const *)args[2 + at];

	*s = (struct rp_successor){ -1, -1 };
	if (at && (args[4] || ((int)args[0] != AT_FDCWD && *path != '/')))
		goto missing;
	if (RP_RAW4(SYS_faccessat, AT_FDCWD, path, 1 /* X_OK */, 0) < 0)
		return; /* the call will fail */
	if (!argv || !*argv || !keeps_recorder(env) || (s->file = make_file()) < 0)
		goto missing;
	if (!write_successor(s->file, path, argv, env, blocked))
		goto missing;
	s->before = (int)RP_RAW3(SYS_fcntl, rp_log_fd(), F_DUPFD_CLOEXEC, 0);
	RP_RAW3(SYS_dup3, s->file, rp_log_fd(), 0);
	return;
missing:
	rp_control->missing++;
}

void rp_family_stay(struct rp_successor *s)
{
	int32_t none = -1;

	if (s->file >= 0) {
		write_at(s->file, &none, sizeof(none), RP_CONTROL_AT + offsetof(struct rp_control, pid));
		RP_RAW1(SYS_close, s->file);
	}
	if (s->before >= 0) {
		RP_RAW3(SYS_dup3, s->before, rp_log_fd(), O_CLOEXEC);
		RP_RAW1(SYS_close, s->before);
	}
}
