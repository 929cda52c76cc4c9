/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/*
 * A user namespace in which the caller keeps its ids.  With a mapping to root,
 * programs that refuse root (Open MPI) would refuse to run; the capabilities
 * for the set-up are held until exec with either mapping.
 */

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	ssize_t n;
	int r = 0;

	if (fd < 0)
		return -errno;
	n = write(fd, text, strlen(text));
	if (n < 0)
		r = -errno;
	close(fd);
	return r;
}

int run_userns_enter(int with_flags, const char **ret_step)
{
	unsigned long uid = geteuid(), gid = getegid();
	char map[64];
	int r;

	*ret_step = "creating a user namespace";
	if (unshare(CLONE_NEWUSER) < 0)
		return -errno;
	*ret_step = "mapping the user's ids into a user namespace";
	r = write_text("/proc/self/setgroups", "deny");
	if (r < 0 && r != -ENOENT)
		return r;
	snprintf(map, sizeof(map), "%lu %lu 1\n", uid, uid);
	r = write_text("/proc/self/uid_map", map);
	if (r == 0) {
		snprintf(map, sizeof(map), "%lu %lu 1\n", gid, gid);
		r = write_text("/proc/self/gid_map", map);
	}
	if (r < 0 || !with_flags)
		return r;
	*ret_step = "creating namespaces inside a user namespace";
	return unshare(with_flags) < 0 ? -errno : 0;
}

static bool sysctl_is(const char *path, char value)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char c = 0;

	if (fd < 0)
		return false;
	if (read(fd, &c, 1) != 1)
		c = 0;
	close(fd);
	return c == value;
}

int run_userns_refused(const char *what, const char *step, int error)
{
	const char *remedy = "permit user namespaces for this user or container (in a container: unshare and mount in the seccomp profile)";

	if (sysctl_is("/proc/sys/kernel/unprivileged_userns_clone", '0'))
		remedy = "sysctl kernel.unprivileged_userns_clone=1";
	else if (sysctl_is("/proc/sys/kernel/apparmor_restrict_unprivileged_userns", '1'))
		remedy = "sysctl kernel.apparmor_restrict_unprivileged_userns=0";
	else if (sysctl_is("/proc/sys/user/max_user_namespaces", '0'))
		remedy = "raise sysctl user.max_user_namespaces";
	run_say("%s is not possible here (%s failed: %s): no program is started; %s",
		what, step, strerror(-error), remedy);
	return RUN_EXIT_SKIP;
}
