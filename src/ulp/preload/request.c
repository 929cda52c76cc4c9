/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Messages with descriptors between a program and the carrier. */
#include "ulp/preload/request.h"

#include "util/rights.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

union control {
	struct cmsghdr align;
	char room[CMSG_SPACE(2 * sizeof(int))];
};

int rsp_request_send(int sock, const struct rsp_request *q, const int *fds, int nr)
{
	struct iovec iov = { (void *)q, sizeof(*q) };
	union control c = { .room = { 0 } };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };
	ssize_t n;

	if (nr) {
		m.msg_control = c.room;
		m.msg_controllen = CMSG_SPACE((size_t)nr * sizeof(int));
		ut_rights_put(&m, fds, (unsigned)nr);
	}
	do {
		n = sendmsg(sock, &m, MSG_NOSIGNAL);
	} while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : 0;
}

int rsp_request_recv(int sock, struct rsp_request *ret, int fds[2])
{
	struct iovec iov = { ret, sizeof(*ret) };
	union control c;
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = c.room,
			    .msg_controllen = sizeof(c.room) };
	ssize_t n;

	fds[0] = fds[1] = -1;
	do {
		n = recvmsg(sock, &m, MSG_CMSG_CLOEXEC);
	} while (n < 0 && errno == EINTR);
	if (n < 0)
		return -errno;
	ut_rights_take(&m, fds, 2);
	return n == sizeof(*ret) && !(m.msg_flags & MSG_CTRUNC) ? 0 : -EPROTO;
}
