/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run.h"

#include "util/rundir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/nsfs.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

/*
 * dapple run --isolate: a user and mount namespace in which the device tree
 * covers /sys/class and /dev.
 *
 * All launchers of one user (in one network namespace) share one namespace,
 * because processes in sibling user namespaces cannot access each other's
 * memory.  It exists as long as it has a process; a member is a process whose
 * /sys/class/infiniband is the tree, as /proc shows, so that no record can be
 * stale.  A lock lets one launcher at a time search and create.
 *
 * Root needs no user namespace and would lose privileges in one.
 */

static bool same_file(const struct stat *a, const struct stat *b)
{
	return a->st_dev == b->st_dev && a->st_ino == b->st_ino;
}

/* Prints into PATH_MAX bytes; a path that is too long becomes "", which each call refuses. */
__attribute__((format(printf, 2, 3)))
static void path_of(char *ret, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	if (vsnprintf(ret, PATH_MAX, fmt, ap) >= PATH_MAX)
		ret[0] = '\0';
	va_end(ap);
}

/* --- joining --- */

/* Nested namespaces of other tools show the tree as well: a launcher's user
 * namespace is the caller's or a direct child of it. */
static bool made_by_launcher(int user_ns)
{
	struct stat self, st;
	int parent;

	if (stat("/proc/self/ns/user", &self) < 0 || fstat(user_ns, &st) < 0)
		return false;
	if (same_file(&self, &st))
		return true;
	parent = ioctl(user_ns, NS_GET_PARENT);
	if (parent < 0 || fstat(parent, &st) < 0)
		st.st_ino = 0;
	if (parent >= 0)
		close(parent);
	return same_file(&self, &st);
}

static int enter(int user_ns, int mnt_ns)
{
	char cwd[PATH_MAX];
	struct stat self, st;
	bool have_cwd = getcwd(cwd, sizeof(cwd)) != NULL;

	if (stat("/proc/self/ns/user", &self) < 0 || fstat(user_ns, &st) < 0)
		return -errno;
	if (!same_file(&self, &st) && setns(user_ns, CLONE_NEWUSER) < 0)
		return -errno;
	if (setns(mnt_ns, CLONE_NEWNS) < 0)
		return -errno;
	/* setns() changes the working directory to the root. */
	if (!have_cwd || chdir(cwd) < 0)
		run_say("the working directory is not in the namespace of --isolate: the program starts in "
			"/; start it from another directory");
	return 0;
}

/* The descriptor of /proc/<pid> stays bound to one process: opening a file
 * through it fails after that process has died, even if its id is reused. */
static bool try_member(int proc, const struct stat *want)
{
	int user_ns = -1, mnt_ns = -1;
	struct stat st;
	bool in = false;

	if (fstatat(proc, "root/sys/class/infiniband", &st, 0) < 0 || !same_file(&st, want))
		return false;
	user_ns = openat(proc, "ns/user", O_RDONLY | O_CLOEXEC);
	mnt_ns = openat(proc, "ns/mnt", O_RDONLY | O_CLOEXEC);
	if (user_ns >= 0 && mnt_ns >= 0 && made_by_launcher(user_ns))
		in = enter(user_ns, mnt_ns) == 0;
	if (user_ns >= 0)
		close(user_ns);
	if (mnt_ns >= 0)
		close(mnt_ns);
	return in;
}

static bool join_member(const struct stat *want)
{
	struct dirent *d;
	struct stat st;
	bool in = false;
	int proc;
	DIR *dir;

	dir = opendir("/proc");
	if (!dir)
		return false;
	while (!in && (d = readdir(dir))) {
		if (d->d_name[0] < '0' || d->d_name[0] > '9')
			continue;
		proc = openat(dirfd(dir), d->d_name, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (proc < 0)
			continue;
		if (fstat(proc, &st) == 0 && st.st_uid == geteuid())
			in = try_member(proc, want);
		close(proc);
	}
	closedir(dir);
	return in;
}

/* --- making --- */

static int bind_to(const char *from, const char *to, unsigned long flags)
{
	return mount(from, to, NULL, MS_BIND | flags, NULL) < 0 ? -errno : 0;
}

static int touch(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

/* Copies one entry of a real directory: links as links, other entries as bind mounts. */
static int mirror_entry(const char *from, const char *to)
{
	char target[PATH_MAX];
	struct stat st;
	ssize_t n;
	int r;

	if (lstat(from, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISLNK(st.st_mode)) {
		n = readlink(from, target, sizeof(target) - 1);
		if (n < 0)
			return -errno;
		target[n] = '\0';
		return symlink(target, to) < 0 ? -errno : 0;
	}
	if (S_ISDIR(st.st_mode))
		r = mkdir(to, 0755) < 0 ? -errno : 0;
	else
		r = touch(to);
	return r < 0 ? r : bind_to(from, to, MS_REC);
}

static bool is_infiniband(const char *name)
{
	static const char *const names[] = { "infiniband", "infiniband_verbs", "infiniband_mad" };
	size_t i;

	for (i = 0; i < 3; i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

static int mirror(const char *from, const char *to)
{
	char a[PATH_MAX], b[PATH_MAX];
	struct dirent *d;
	int r = 0;
	DIR *dir = opendir(from);

	if (!dir)
		return -errno;
	while (r == 0 && (d = readdir(dir))) {
		if (strcmp(d->d_name, ".") == 0 || strcmp(d->d_name, "..") == 0 ||
		    is_infiniband(d->d_name))
			continue;
		path_of(a, "%s/%s", from, d->d_name);
		path_of(b, "%s/%s", to, d->d_name);
		/* /dev/ptmx needs "pts" in its directory, which a bind mount of the
		 * node alone lacks: a link leads into the whole directory. */
		if (strcmp(from, "/dev") == 0 && strcmp(d->d_name, "ptmx") == 0 &&
		    d->d_type == DT_CHR)
			r = symlink(".host/ptmx", b) < 0 ? -errno : 0;
		else
			r = mirror_entry(a, b);
	}
	closedir(dir);
	return r;
}

static int build_class(const char *tree, const char *stage)
{
	static const char *const names[] = { "infiniband", "infiniband_verbs", "infiniband_mad" };
	char from[PATH_MAX], to[PATH_MAX];
	size_t i;
	int r;

	path_of(to, "%s/class", stage);
	if (mkdir(to, 0755) < 0)
		return -errno;
	r = mirror("/sys/class", to);
	for (i = 0; i < 3 && r == 0; i++) {
		path_of(from, "%s/class/%s", tree, names[i]);
		path_of(to, "%s/class/%s", stage, names[i]);
		r = mkdir(to, 0755) < 0 ? -errno : bind_to(from, to, 0);
	}
	if (r < 0)
		return r;
	path_of(from, "%s/class", stage);
	return bind_to(from, "/sys/class", MS_REC);
}

static int build_dev(const char *stage)
{
	char to[PATH_MAX], host[PATH_MAX];
	int r;

	path_of(to, "%s/dev", stage);
	path_of(host, "%s/dev/.host", stage);
	if (mkdir(to, 0755) < 0 || mkdir(host, 0755) < 0)
		return -errno;
	r = bind_to("/dev", host, MS_REC);
	if (r == 0)
		r = mirror("/dev", to);
	if (r < 0)
		return r;
	path_of(host, "%s/dev/infiniband", stage);
	if (mkdir(host, 0755) < 0)
		return -errno;
	return bind_to(to, "/dev", MS_REC);
}

/* The file of a subnet manager is behind a symbolic link, shown as it is. Returns -EINVAL for another kind of file. */
static int show_link(const char *dir, const char *name, const char *to)
{
	char path[PATH_MAX], target[PATH_MAX];
	ssize_t n;

	path_of(path, "%s/%s", dir, name);
	n = readlink(path, target, sizeof(target) - 1);
	if (n < 0)
		return -errno;
	target[n] = 0;
	return symlink(target, to) < 0 && errno != EEXIST ? -errno : 0;
}

/* Binds a device file for each name in the tree; also when joining, since devices
 * may have appeared after the namespace was created. */
static int bind_nodes(const char *tree)
{
	char from[PATH_MAX], to[PATH_MAX];
	struct dirent *d;
	struct stat st;
	int r = 0;
	DIR *dir;

	path_of(from, "%s/dev/infiniband", tree);
	dir = opendir(from);
	if (!dir)
		return -errno;
	while (r == 0 && (d = readdir(dir))) {
		if (d->d_name[0] == '.')
			continue;
		path_of(to, "/dev/infiniband/%s", d->d_name);
		if (stat(to, &st) == 0 && S_ISCHR(st.st_mode))
			continue;
		r = show_link(from, d->d_name, to);
		if (r != -EINVAL)
			continue;
		r = touch(to);
		if (r == 0)
			r = bind_to("/dev/null", to, 0);
	}
	closedir(dir);
	return r;
}

static int build(const char *tree, const char **ret_step)
{
	char stage[PATH_MAX];
	int r;

	*ret_step = "making the mounts private";
	if (mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return -errno;
	*ret_step = "mounting a tmpfs";
	path_of(stage, "%s/.stage", tree);
	if (mkdir(stage, 0700) < 0 && errno != EEXIST)
		return -errno;
	if (mount("dapple", stage, "tmpfs", MS_NOSUID, "mode=755") < 0)
		return -errno;
	*ret_step = "binding the device tree over /sys/class";
	r = build_class(tree, stage);
	if (r == 0) {
		*ret_step = "binding the device nodes over /dev";
		r = build_dev(stage);
	}
	umount2(stage, MNT_DETACH);
	return r;
}

static int create(const char *tree)
{
	const char *step = "creating a mount namespace";
	int r = 0;

	if (unshare(CLONE_NEWNS) < 0)
		r = run_userns_enter(CLONE_NEWNS, &step);
	if (r == 0)
		r = build(tree, &step);
	return r < 0 ? run_userns_refused("--isolate", step, r) : 0;
}

static int open_lock(const char *tree)
{
	char path[PATH_MAX];
	int fd;

	path_of(path, "%s/.isolate", tree);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600);
	if (fd >= 0 && flock(fd, LOCK_EX) < 0) {
		close(fd);
		fd = -1;
	}
	return fd;
}

/* --- a program that is offered some adapters only --- */

/* In a mount namespace of its own, behind the shared one: memory access is a matter of the user namespace. */
static int show_view(const char *view, const char **ret_step)
{
	static const char *const names[] = { "infiniband", "infiniband_verbs", "infiniband_mad" };
	char from[PATH_MAX], to[PATH_MAX];
	int r = 0;

	*ret_step = "creating a mount namespace for a part of the adapters";
	if (unshare(CLONE_NEWNS) < 0 || mount(NULL, "/", NULL, MS_REC | MS_SLAVE, NULL) < 0)
		return -errno;
	*ret_step = "binding the view over /sys/class";
	for (size_t i = 0; i < 3 && r == 0; i++) {
		path_of(from, "%s/class/%s", view, names[i]);
		path_of(to, "/sys/class/%s", names[i]);
		r = bind_to(from, to, 0);
	}
	if (r == 0 && mount("dapple", "/dev/infiniband", "tmpfs", MS_NOSUID, "mode=755") < 0)
		r = -errno;
	return r < 0 ? r : bind_nodes(view);
}

/* Writes the root of the whole tree, of which this may be a view. Returns true if it is one. */
static bool whole_of(const char *tree, char ret[PATH_MAX])
{
	char *at;

	path_of(ret, "%s", tree);
	at = strrchr(ret, '/');
	if (!at || strncmp(at, UT_VIEW_PREFIX, strlen(UT_VIEW_PREFIX)) != 0)
		return false;
	*at = 0;
	return true;
}

static int isolate(const char *tree)
{
	char path[PATH_MAX];
	struct stat want, st;
	int lock, r = 0;

	path_of(path, "%s/class/infiniband", tree);
	lock = open_lock(tree);
	if (lock < 0 || stat(path, &want) < 0) {
		run_say("cannot use the device tree %s (%s): --isolate does not work; set DAPPLE_RUNTIME_DIR "
			"to a directory of your own", tree,
			strerror(errno));
		return 1;
	}
	if (stat("/sys/class/infiniband", &st) == 0 && same_file(&st, &want))
		goto out;	/* the caller is inside already */
	if (!join_member(&want))
		r = create(tree);
	if (r == 0) {
		int error = bind_nodes(tree);

		if (error < 0)
			r = run_userns_refused("--isolate", "binding a device node", error);
	}
out:
	close(lock);
	return r;
}

int run_isolate(const char *tree)
{
	char whole[PATH_MAX];
	const char *step;
	bool view = whole_of(tree, whole);
	int r = isolate(whole), error;

	if (r != 0 || !view)
		return r;
	error = show_view(tree, &step);
	return error < 0 ? run_userns_refused("--isolate", step, error) : 0;
}
