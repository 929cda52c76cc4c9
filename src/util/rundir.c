/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/rundir.h"

#include "util/env.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define SHARED_DIR "/tmp"
#define SHARED_LOCK_MS 50 /* another user may hold the lock of a directory that all may read */

__attribute__((format(printf, 4, 5)))
static int refuse(int error, char *why, size_t why_size, const char *fmt, ...)
{
	va_list ap;

	if (why && why_size) {
		va_start(ap, fmt);
		vsnprintf(why, why_size, fmt, ap);
		va_end(ap);
	}
	return error;
}

/* XDG_RUNTIME_DIR survives su and sudo: one of another user is ignored. */
static const char *xdg_dir(void)
{
	const char *dir = ut_env("XDG_RUNTIME_DIR");
	struct stat st;

	if (!dir || dir[0] != '/' || stat(dir, &st) < 0)
		return NULL;
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return NULL;
	return access(dir, W_OK | X_OK) == 0 ? dir : NULL;
}

/* *ret_shared: the path is in a directory in which other users may make names, too. */
static int choose(char *path, size_t size, bool *ret_shared, char *why, size_t why_size)
{
	const char *dir = ut_env("DAPPLE_RUNTIME_DIR");
	int n;

	*ret_shared = false;
	if (dir && *dir) {
		if (dir[0] != '/')
			return refuse(-EINVAL, why, why_size,
				      "DAPPLE_RUNTIME_DIR \"%s\" is not an absolute path", dir);
		n = snprintf(path, size, "%s", dir);
	} else if ((dir = xdg_dir())) {
		n = snprintf(path, size, "%s/dapple", dir);
	} else {
		*ret_shared = true;
		n = snprintf(path, size, SHARED_DIR "/dapple-%lu", (unsigned long)geteuid());
	}
	if (n < 0 || (size_t)n >= size)
		return refuse(-ENAMETOOLONG, why, why_size,
			      "the path of the runtime directory is longer than %zu bytes", size - 1);
	return 0;
}

static int inspect(const char *path, char *why, size_t why_size)
{
	struct stat st;

	if (lstat(path, &st) < 0)
		return refuse(-errno, why, why_size, "the runtime directory %s cannot be inspected: %s",
			      path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return refuse(-ENOTDIR, why, why_size,
			      "the runtime directory %s is not a directory", path);
	if (st.st_uid != geteuid())
		return refuse(-EPERM, why, why_size,
			      "the runtime directory %s belongs to user %lu, not to user %lu: have that user or "
			      "root remove it, or set DAPPLE_RUNTIME_DIR to a directory of your own", path,
			      (unsigned long)st.st_uid, (unsigned long)geteuid());
	if (st.st_mode & 077)
		return refuse(-EPERM, why, why_size,
			      "the runtime directory %s is open to others: mode %04o, must be 0700",
			      path, (unsigned)st.st_mode & 07777);
	return 0;
}

/* The mode is set again because a umask may have cleared the owner's bits; safe, because this process has just made
 * the directory. */
static int make(const char *path, char *why, size_t why_size)
{
	if (mkdir(path, 0700) == 0)
		(void)chmod(path, 0700);
	else if (errno != EEXIST)
		return refuse(-errno, why, why_size, "the runtime directory %s cannot be created: %s",
			      path, strerror(errno));
	return inspect(path, why, why_size);
}

/* --- the name that another user has taken --- */

/* Returns true if what is there was made by another user; *ret_uid is that user. */
static bool squatted(const char *path, uid_t *ret_uid)
{
	struct stat st;

	if (lstat(path, &st) < 0 || st.st_uid == geteuid())
		return false;
	*ret_uid = st.st_uid;
	return true;
}

static bool usable(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && !(st.st_mode & 077);
}

/* Writes the first, by name, of this user's directories <path>-<random>. Returns false if there is none. */
static bool find_random(const char *path, char *ret, size_t size)
{
	const char *base = strrchr(path, '/') + 1;
	char one[UT_RUNDIR_MAX] = "";
	bool found = false;
	struct dirent *d;
	DIR *dir = opendir(SHARED_DIR);

	while (dir && (d = readdir(dir))) {
		if (strncmp(d->d_name, base, strlen(base)) || d->d_name[strlen(base)] != '-')
			continue;
		if ((size_t)snprintf(one, sizeof(one), SHARED_DIR "/%s", d->d_name) >= size || !usable(one))
			continue;
		if (!found || strcmp(one, ret) < 0)
			strcpy(ret, one);
		found = true;
	}
	if (dir)
		closedir(dir);
	return found;
}

/* Two processes that make their directories at once take the same one if they hold the lock, and also without it
 * unless one ends its search while the other has not begun to make its own. */
static int lock_shared(void)
{
	const struct timespec ms = { 0, 1000000 };
	int fd = open(SHARED_DIR, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	for (int i = 0; fd >= 0 && i < SHARED_LOCK_MS && flock(fd, LOCK_EX | LOCK_NB) < 0; i++)
		nanosleep(&ms, NULL);
	return fd;
}

/* Processes of this user find the directory by its owner; others cannot know its name before it is there. */
static int make_random(char *path, size_t size, uid_t other, char *why, size_t why_size)
{
	char fixed[UT_RUNDIR_MAX], mine[UT_RUNDIR_MAX];
	uint64_t random = 0;
	int lock, r = 0;

	strcpy(fixed, path);
	lock = lock_shared();
	if (!find_random(fixed, path, size)) {
		if (getrandom(&random, sizeof(random), GRND_NONBLOCK) != sizeof(random) ||
		    (size_t)snprintf(mine, sizeof(mine), "%.1000s-%016llx", fixed, (unsigned long long)random) >= size)
			r = -EPERM;
		else
			r = make(mine, why, why_size);
		if (r == 0 && find_random(fixed, path, size) && strcmp(path, mine))
			rmdir(mine);
	}
	if (lock >= 0)
		close(lock);
	if (r < 0)
		return refuse(r, why, why_size, "the runtime directory %s belongs to user %lu, and none can be made "
			      "beside it: have that user or root remove it, or set DAPPLE_RUNTIME_DIR to a directory of "
			      "your own", fixed, (unsigned long)other);
	return refuse(0, why, why_size, "the runtime directory %s belongs to user %lu: %s takes its place; have that "
		      "user or root remove it, or set DAPPLE_RUNTIME_DIR to a directory of your own", fixed,
		      (unsigned long)other, path);
}

int ut_rundir(char *ret_path, size_t path_size, char *why, size_t why_size)
{
	char path[UT_RUNDIR_MAX];
	int saved = errno, r;
	uid_t other;
	bool shared;

	if (why && why_size)
		why[0] = 0;
	r = choose(path, sizeof(path), &shared, why, why_size);
	if (r < 0)
		goto out;
	if (shared && squatted(path, &other))
		r = make_random(path, sizeof(path), other, why, why_size);
	else
		r = make(path, why, why_size);
	if (r < 0)
		goto out;
	if (strlen(path) >= path_size) {
		r = refuse(-ENAMETOOLONG, why, why_size, "the path of the runtime directory %s is too long",
			   path);
		goto out;
	}
	strcpy(ret_path, path);
out:
	errno = saved;
	return r;
}

/* errno is kept: callers hold locks. */
uint64_t ut_net_ns(void)
{
	struct stat st;
	int saved = errno;

	if (stat("/proc/thread-self/ns/net", &st) < 0)
		st.st_ino = 0;
	errno = saved;
	return st.st_ino;
}

int ut_rundir_net(char *ret_path, size_t path_size, char *why, size_t why_size)
{
	char path[UT_RUNDIR_MAX], net[UT_RUNDIR_MAX + 32];
	int r = ut_rundir(path, sizeof(path), why, why_size);

	if (r < 0)
		return r;
	/* Without /proc all namespaces share number 0, which only processes without /proc see. */
	if ((size_t)snprintf(net, sizeof(net), "%s/net-%llu", path, (unsigned long long)ut_net_ns()) >= path_size)
		return refuse(-ENAMETOOLONG, why, why_size, "the path of the runtime directory %s is too long",
			      path);
	strcpy(ret_path, net);
	return 0;
}

static uint32_t hash_text(uint32_t h, const char *s)
{
	for (; *s; s++)
		h = (h ^ (unsigned char)*s) * 0x01000193u; /* FNV-1a */
	return (h ^ '\n') * 0x01000193u;
}

void ut_rundir_view(char ret[UT_VIEW_MAX])
{
	const char *kinds = ut_env("DAPPLE_ADAPTER"), *names = ut_env("DAPPLE_DEVICES");

	kinds = kinds ? kinds : "";
	names = names ? names : "";
	ret[0] = 0;
	if (*names || (*kinds && strcmp(kinds, "roce,iwarp") != 0))
		snprintf(ret, UT_VIEW_MAX, UT_VIEW_PREFIX "%08x", hash_text(hash_text(0x811c9dc5u, kinds), names));
}
