/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Netlink answers: dumps of links and addresses as the kernel, or a filter between, may give them.
 * The input replaces the socket. Each entry that is returned must be whole: a name that ends, an
 * address of its family.
 *
 * First byte: 1 = addresses instead of links, 2 = mend the length of each message, 4 = drain. Then
 * pieces: two bytes of length and a message of netlink(7), as one recvfrom() gives it; the length
 * 0xffff stands for EINTR, 0xfffe for a piece that was cut, 0xfffd for ENOBUFS.
 */
#include "ground.h"
#include "input.h"

#include "device/netlink.h"

#include <errno.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <unistd.h>

enum { ADDRS = 1, MEND = 2, DRAIN = 4, ROOM = 32768 };

static struct input in;
static unsigned flags, interrupted;

/* Lengths of messages are what a mutation breaks first: they become what lies there. */
static void mend(uint8_t *p, size_t n)
{
	struct nlmsghdr h;

	while (n >= sizeof(h)) {
		memcpy(&h, p, sizeof(h));
		if (h.nlmsg_len < sizeof(h) || h.nlmsg_len > n)
			h.nlmsg_len = (uint32_t)n;
		memcpy(p, &h, sizeof(h));
		if (NLMSG_ALIGN(h.nlmsg_len) >= n)
			return;
		p += NLMSG_ALIGN(h.nlmsg_len);
		n -= NLMSG_ALIGN(h.nlmsg_len);
	}
}

static long piece(uint8_t *to, size_t room, long how)
{
	size_t len = in16(&in), n;

	if (in.at == in.end || (len >= 0xfffd && ++interrupted > 16))
		return -ECONNRESET;
	if (len == 0xffff)
		return -EINTR;
	if (len == 0xfffd)
		return -ENOBUFS;
	if (len == 0xfffe && (how & MSG_TRUNC))
		return (long)room + 1;
	n = len < room ? len : room;
	memcpy(to, in_bytes(&in, &n), n);
	if (flags & MEND)
		mend(to, n);
	return (long)n;
}

static int instead(long nr, const long a[6], long *ret)
{
	if (nr == SYS_sendto) {
		*ret = a[2];
		return 1;
	}
	if (nr != SYS_recvfrom)
		return 0;
	*ret = piece((uint8_t *)a[1], (size_t)a[2], a[3]);
	return 1;
}

static void links(void)
{
	struct dev_nl_link *v = NULL;
	int n = dev_nl_links(&v);

	for (int i = 0; i < n; i++) {
		size_t len = strnlen(v[i].name, sizeof(v[i].name));

		REQUIRE(len > 0 && len < sizeof(v[i].name));
	}
	if (n >= 0)
		free(v);
}

static void addrs(void)
{
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };
	struct dev_nl_addr *v = NULL;
	int n = dev_nl_addrs(&v);

	for (int i = 0; i < n; i++)
		REQUIRE(!v[i].link_local || memcmp(v[i].addr, v4, sizeof(v4)));
	if (n >= 0)
		free(v);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	int fd;

	in = (struct input){ data, data + size };
	flags = in8(&in);
	interrupted = 0;
	ground_enter();
	fd = dev_nl_listen();
	ground_syscall = instead;
	if (flags & DRAIN)
		dev_nl_drain(fd);
	else if (flags & ADDRS)
		addrs();
	else
		links();
	ground_syscall = NULL;
	if (fd >= 0)
		close(fd);
	ground_leave();
	return 0;
}
