/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Trains that are read twice. The first look copies one into the stage, where it is checked; then
 * the same receive, which the first one left in the queue, puts the payload where it belongs. The
 * kernel copies that from its own buffers in half the time that a way out of the stage takes. Nobody
 * else reads the socket, so it is the same train; its length is compared all the same.
 */
#include "link/udp/local.h"

#include "link/sys.h"

#include <errno.h>
#include <sys/uio.h>

static long read_kept(struct udp_link *u, struct iovec *iov, int n)
{
	struct msghdr h = { .msg_iov = iov, .msg_iovlen = (size_t)n };
	long r = -EAGAIN;

	/* A pending error is reported first; then the data behind it. */
	for (int i = 0; i < 2; i++) {
		u->stats.calls_recv++;
		r = LINK_SYS(SYS_recvmsg, u->kept->at.fd, &h, MSG_DONTWAIT);
		if (r >= 0 || r == -EAGAIN || r == -EFAULT)
			break;
		udp_port_error(u, u->kept);
	}
	u->kept = NULL;
	return r;
}

int udp_take(struct link *l, const struct iovec *iov, int n)
{
	struct udp_link *u = udp_of(l);
	size_t want = l->kept_len;
	long r;

	l->kept_len = 0;
	if (!u->kept)
		return -EAGAIN;
	r = read_kept(u, (struct iovec *)iov, n);
	if (r < 0)
		return (int)r;
	return (size_t)r == want ? 0 : -EIO;
}

void udp_let_go(struct udp_link *u)
{
	u->base.kept_len = 0;
	if (u->kept)
		read_kept(u, NULL, 0);
}
