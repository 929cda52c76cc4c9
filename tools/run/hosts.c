/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pair.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "netlink.h"
#include "run.h"

/*
 *     server's namespace                    client's namespace
 *     lo   eth0 10.77.0.1/24 ---- veth ---- eth0 10.77.0.2/24   lo
 *               fd77::1/48                       fd77::2/48
 *
 * One user namespace owns both, created first unless the caller is privileged:
 * a veth pair between two user namespaces needs privileges in both.  Each ends
 * with its last process.
 */

#define IFNAME "eth0"

struct side {
	int ns, nl;
};

static int new_side(struct side *ret)
{
	if (unshare(CLONE_NEWNET) < 0)
		return -errno;
	ret->ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (ret->ns < 0)
		return -errno;
	ret->nl = nl_open();
	return ret->nl < 0 ? ret->nl : 0;
}

static int make_sides(struct side *sides, const char **ret_step)
{
	int r;

	*ret_step = "creating a network namespace";
	r = new_side(&sides[0]);
	if (r == -EPERM) {
		r = run_userns_enter(0, ret_step);
		if (r < 0)
			return r;
		*ret_step = "creating a network namespace inside a user namespace";
		r = new_side(&sides[0]);
	}
	return r < 0 ? r : new_side(&sides[1]);
}

static int configure(struct side *sides, int mtu, const char *server6, const char **ret_step)
{
	const char *const addresses[2][2] = {
		{ PAIR_HOSTS_SERVER4, server6 }, { PAIR_HOSTS_CLIENT4, PAIR_HOSTS_CLIENT6 },
	};
	int i, r;

	*ret_step = "joining two network namespaces by a veth pair";
	r = nl_veth(sides[1].nl, IFNAME, IFNAME, mtu, sides[0].ns);
	for (i = 0; i < 2 && r == 0; i++) {
		*ret_step = "switching an interface on";
		r = nl_link_up(sides[i].nl, "lo");
		if (r == 0)
			r = nl_link_up(sides[i].nl, IFNAME);
	}
	for (i = 0; i < 2 && r == 0; i++) {
		*ret_step = "waiting for the carrier of a veth pair";
		r = nl_link_wait(sides[i].nl, IFNAME);
		if (r < 0)
			break;
		*ret_step = "setting an address";
		r = nl_address(sides[i].nl, IFNAME, AF_INET, addresses[i][0], 24);
		/* A kernel without IPv6 still has the other family. */
		if (r == 0)
			(void)nl_address(sides[i].nl, IFNAME, AF_INET6, addresses[i][1], 48);
	}
	return r;
}

int pair_hosts_make(int mtu, const char *server6, struct pair_hosts *ret)
{
	struct side sides[2] = { { -1, -1 }, { -1, -1 } };
	const char *step;
	struct stat st;
	int i, r;

	r = make_sides(sides, &step);
	if (r == 0)
		r = configure(sides, mtu, server6, &step);
	for (i = 0; i < 2; i++) {
		if (sides[i].nl >= 0)
			close(sides[i].nl);
		if (r == 0 && fstat(sides[i].ns, &st) == 0)
			ret->inode[i] = (unsigned long)st.st_ino;
		ret->ns[i] = sides[i].ns;
	}
	return r < 0 ? run_userns_refused("--hosts", step, r) : 0;
}
