/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A network namespace with an interface that a check may change. */
#include "conf.h"

#include <fcntl.h>
#include <net/if.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <unistd.h>

int cf_ip(const char *args)
{
	char line[200];

	snprintf(line, sizeof(line), "LD_LIBRARY_PATH= ip %s >/dev/null 2>&1", args);
	return system(line);
}

static void put_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd >= 0 && write(fd, text, strlen(text)) < 0)
		cf_skip("cannot write %s", path);
	if (fd >= 0)
		close(fd);
}

static int make_interface(void)
{
	if (!cf_ip("link add cfdev0 type dummy"))
		return 0;
	return cf_ip("link add cfdev0 type veth peer name cfpeer") ||
	       cf_ip("link set cfpeer mtu 9000 up");
}

/* The kernel says that an end of a veth has a carrier when it gets around to it. */
static void await_carrier(void)
{
	struct ifreq r = { .ifr_name = "cfdev0" };
	uint64_t end = cf_ns() + CF_WAIT_MS * 1000000ull;
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	CF_TRUE(fd >= 0);
	while (!ioctl(fd, SIOCGIFFLAGS, &r) && !(r.ifr_flags & IFF_RUNNING) && cf_ns() < end)
		usleep(500);
	close(fd);
	CF_TRUE(r.ifr_flags & IFF_RUNNING);
}

void cf_netns(void)
{
	char map[40];
	uid_t uid = getuid();

	if (unshare(CLONE_NEWNET) < 0) {
		if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
			cf_skip("no namespaces here: %s", strerror(errno));
		put_file("/proc/self/setgroups", "deny");
		snprintf(map, sizeof(map), "0 %u 1", uid);
		put_file("/proc/self/uid_map", map);
	}
	if (cf_ip("link set lo up") || make_interface() ||
	    cf_ip("address add 192.0.2.1/24 dev cfdev0") || cf_ip("link set cfdev0 up"))
		cf_skip("no dummy or veth interface can be made");
	await_carrier();
}
