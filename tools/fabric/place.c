/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "place.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "run.h"
#include "util/rundir.h"
#include "util/sys.h"

bool place_is_name(const char *name)
{
	size_t n = strlen(name);

	if (n == 0 || n > PLACE_NAME_MAX || name[0] == '.')
		return false;
	for (; *name; name++)
		if (!isalnum((unsigned char)*name) && !strchr(".-_", *name))
			return false;
	return true;
}

static bool is_own_dir(const char *path)
{
	struct stat st;

	return lstat(path, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() && (st.st_mode & 077) == 0;
}

static int make(const char *path)
{
	if (mkdir(path, 0700) == 0 || (errno == EEXIST && is_own_dir(path)))
		return 0;
	run_say("the directory %s cannot be made, or is not this user's alone (%s): no fabric can run; remove it, or "
		"set DAPPLE_RUNTIME_DIR to a directory of your own", path, strerror(errno));
	return 1;
}

int place_dir(const char *name, char ret[PLACE_MAX])
{
	char base[UT_RUNDIR_MAX], why[256];
	int r;

	if (ut_rundir(base, sizeof(base), why, sizeof(why)) < 0) {
		run_say("the directory for fabrics cannot be made (%s): no fabric can run; set DAPPLE_RUNTIME_DIR to a "
			"directory of your own", why);
		return 1;
	}
	snprintf(ret, PLACE_MAX, "%s/fabric", base);
	r = make(ret);
	if (r || !name)
		return r;
	snprintf(ret, PLACE_MAX, "%s/fabric/%s", base, name);
	return make(ret);
}

static int open_lock(const char *dir, int flags)
{
	char path[PLACE_MAX + 8];

	snprintf(path, sizeof(path), "%s/lock", dir);
	return open(path, flags | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600);
}

/* Record locks belong to the process and end with it; fcntl() names the holder, but not one in another pid namespace. */
static pid_t holder_of(int fd)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };

	if (fcntl(fd, F_GETLK, &l) < 0 || l.l_type == F_UNLCK)
		return 0;
	return l.l_pid > 0 ? l.l_pid : PLACE_FOREIGN;
}

/* False if the process that had the lock has removed the file since it was opened. */
static bool is_current(const char *dir, int fd)
{
	char path[PLACE_MAX + 8];
	struct stat open_one, named;

	snprintf(path, sizeof(path), "%s/lock", dir);
	return fstat(fd, &open_one) == 0 && lstat(path, &named) == 0 && open_one.st_dev == named.st_dev &&
	       open_one.st_ino == named.st_ino;
}

int place_lock(const char *dir, pid_t *ret_holder)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd;

	for (;;) {
		if (mkdir(dir, 0700) < 0 && errno != EEXIST)
			return -errno;
		fd = open_lock(dir, O_CREAT);
		if (fd < 0 && errno != ENOENT)
			return -errno;
		if (fd < 0)
			continue;
		if (fcntl(fd, F_SETLK, &l) < 0) {
			*ret_holder = holder_of(fd);
			ut_close(fd);
			return -EBUSY;
		}
		if (is_current(dir, fd))
			return fd;
		ut_close(fd);
	}
}

void place_remove(const char *dir)
{
	char path[PLACE_MAX + 8];

	place_clean(dir);
	snprintf(path, sizeof(path), "%s/lock", dir);
	unlink(path);
	rmdir(dir);
}

pid_t place_holder(const char *dir)
{
	int fd = open_lock(dir, 0);
	pid_t pid;

	if (fd < 0)
		return 0;
	pid = holder_of(fd);
	ut_close(fd);
	return pid;
}

static void clean_at(int parent, bool keep_lock)
{
	DIR *d = fdopendir(parent);
	struct dirent *e;
	int sub;

	if (!d) {
		ut_close(parent);
		return;
	}
	while ((e = readdir(d))) {
		if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0 ||
		    (keep_lock && strcmp(e->d_name, "lock") == 0))
			continue;
		if (unlinkat(dirfd(d), e->d_name, 0) == 0 || errno != EISDIR)
			continue;
		sub = openat(dirfd(d), e->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
		if (sub >= 0)
			clean_at(sub, false);
		unlinkat(dirfd(d), e->d_name, AT_REMOVEDIR);
	}
	closedir(d);
}

void place_clean(const char *dir)
{
	int fd = open(dir, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

	if (fd >= 0)
		clean_at(fd, true);
}

void place_each(void (*fn)(void *arg, const char *name), void *arg)
{
	char all[PLACE_MAX], dir[PLACE_MAX];
	struct dirent **names;
	int i, n;

	if (place_dir(NULL, all))
		return;
	n = scandir(all, &names, NULL, alphasort);
	for (i = 0; i < n; i++) {
		if (place_is_name(names[i]->d_name) &&
		    snprintf(dir, sizeof(dir), "%s/%s", all, names[i]->d_name) < PLACE_MAX && place_holder(dir))
			fn(arg, names[i]->d_name);
		free(names[i]);
	}
	if (n >= 0)
		free(names);
}

struct only {
	unsigned n;
	char name[PLACE_NAME_MAX + 1];
};

static void count(void *arg, const char *name)
{
	struct only *o = arg;

	o->n++;
	snprintf(o->name, sizeof(o->name), "%s", name);
}

int place_pick(const char *given, char ret[PLACE_NAME_MAX + 1])
{
	const char *env = getenv("DAPPLE_FABRIC");
	struct only o = { 0 };

	if (!given && env && *env) {
		snprintf(ret, PLACE_NAME_MAX + 1, "%.*s", (int)strcspn(env, "/"), env);
	} else if (!given) {
		place_each(count, &o);
		if (o.n > 1) {
			run_say("%u fabrics run: it is not clear which one is meant; name it by --fabric NAME "
				"(dapple fabric list has the names)", o.n);
			return RUN_EXIT_USAGE;
		}
		strcpy(ret, o.n ? o.name : PLACE_DEFAULT);
	} else {
		snprintf(ret, PLACE_NAME_MAX + 1, "%s", given);
	}
	if (place_is_name(ret) && (!given || strcmp(ret, given) == 0))
		return 0;
	return run_usage_error("fabric", "the name \"%s\" of a fabric is not 1 to 63 letters, digits, dots, dashes or "
			       "underscores", given ? given : ret);
}
