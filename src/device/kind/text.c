/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "device/kind/text.h"

#include "device/sys.h"

#include <fcntl.h>

bool dev_read_text(const char *path, char *buf, size_t room)
{
	int fd = (int)DEV_SYS(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0);
	long n = fd < 0 ? 0 : dev_sys_read(fd, buf, room - 1);

	ut_close(fd);
	buf[n > 0 ? n : 0] = '\0';
	return n > 0;
}
