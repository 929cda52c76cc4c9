/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/rundir.h"

#include "util/env.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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

static int choose(char *path, size_t size, char *why, size_t why_size)
{
	const char *dir = ut_env("DAPPLE_RUNTIME_DIR");
	int n;

	if (dir && *dir) {
		if (dir[0] != '/')
			return refuse(-EINVAL, why, why_size,
				      "DAPPLE_RUNTIME_DIR \"%s\" is not an absolute path", dir);
		n = snprintf(path, size, "%s", dir);
	} else if ((dir = xdg_dir())) {
		n = snprintf(path, size, "%s/dapple", dir);
	} else {
		n = snprintf(path, size, "/tmp/dapple-%lu", (unsigned long)geteuid());
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
			      "the runtime directory %s belongs to user %lu, not to user %lu", path,
			      (unsigned long)st.st_uid, (unsigned long)geteuid());
	if (st.st_mode & 077)
		return refuse(-EPERM, why, why_size,
			      "the runtime directory %s is open to others: mode %04o, must be 0700",
			      path, (unsigned)st.st_mode & 07777);
	return 0;
}

int ut_rundir(char *ret_path, size_t path_size, char *why, size_t why_size)
{
	char path[UT_RUNDIR_MAX];
	int saved = errno, r;

	r = choose(path, sizeof(path), why, why_size);
	if (r < 0)
		goto out;
	/* The mode is set again because a umask may have cleared the owner's bits; safe, because this
	 * process has just made the directory. */
	if (mkdir(path, 0700) == 0) {
		(void)chmod(path, 0700);
	} else if (errno != EEXIST) {
		r = refuse(-errno, why, why_size, "the runtime directory %s cannot be created: %s",
			   path, strerror(errno));
		goto out;
	}
	r = inspect(path, why, why_size);
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

int ut_rundir_net(char *ret_path, size_t path_size, char *why, size_t why_size)
{
	char path[UT_RUNDIR_MAX], net[UT_RUNDIR_MAX + 32];
	int saved = errno, r;
	struct stat st;

	r = ut_rundir(path, sizeof(path), why, why_size);
	if (r < 0)
		return r;
	/* Without /proc all namespaces share number 0, which only processes without /proc see. */
	if (stat("/proc/thread-self/ns/net", &st) < 0)
		st.st_ino = 0;
	errno = saved;
	if ((size_t)snprintf(net, sizeof(net), "%s/net-%llu", path,
			     (unsigned long long)st.st_ino) >= path_size)
		return refuse(-ENAMETOOLONG, why, why_size, "the path of the runtime directory %s is too long",
			      path);
	strcpy(ret_path, net);
	return 0;
}
