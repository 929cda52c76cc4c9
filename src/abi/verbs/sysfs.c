/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Where programs should look instead of /sys, and the two old readers. */
#include "device/device.h"
#include "util/export.h"

#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

UT_EXPORT const char *ibv_get_sysfs_path(void);
UT_EXPORT int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size);

const char *ibv_get_sysfs_path(void)
{
	const char *root = dev_tree_root();

	return root ? root : "/sys";
}

/* Length without one final newline; -1 with errno. */
int ibv_read_sysfs_file(const char *dir, const char *file, char *buf, size_t size)
{
	char path[4096];
	ssize_t n;
	int fd;

	if (!size || snprintf(path, sizeof(path), "%s/%s", dir, file) >= (int)sizeof(path)) {
		errno = EINVAL;
		return -1;
	}
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	n = read(fd, buf, size);
	close(fd);
	if (n <= 0)
		return (int)n;
	if (buf[n - 1] == '\n')
		buf[--n] = '\0';
	else if ((size_t)n < size)
		buf[n] = '\0';
	else
		return -1; /* does not fit with its end */
	return (int)n;
}
