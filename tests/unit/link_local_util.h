/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Shared by the tests of two ends that leave the wire: messages, names and segments by hand. */
#ifndef TESTS_LINK_LOCAL_UTIL_H
#define TESTS_LINK_LOCAL_UTIL_H

#include "link_tcp_util.h"

#include "host/layout.h"
#include "host/shm/pipe.h"
#include "util/rights.h"

#include <fcntl.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/un.h>

/* As in link/local/agree.h. */
struct hello {
	uint32_t magic;
	uint16_t from_port, to_port;
	uint8_t from[16], to[16];
};
#define HELLO_MAGIC (0x44504931u + host_layout)

static inline struct link_streams *local_open(void)
{
	struct link_streams *p = place_open();

	CHECK(local_streams_open(p, LOCAL_CONNECTED | LOCAL_SELF, &p) == 0);
	return p;
}

static inline socklen_t name_of(const struct link_end *e, struct sockaddr_un *ret)
{
	char *at = ret->sun_path + 1;
	int n = sprintf(at, "dapple-iw/");

	ret->sun_family = AF_UNIX;
	ret->sun_path[0] = 0;
	for (int i = 0; i < 16; i++)
		n += sprintf(at + n, "%02x", e->addr[i]);
	n += sprintf(at + n, "/%u", e->port);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

static inline void give_all(int to, const void *p, size_t len, const int *fds, unsigned n)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))] = { 0 };
	struct iovec iov = { (void *)p, len };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1 };

	if (n) {
		m.msg_control = control;
		m.msg_controllen = CMSG_SPACE(n * sizeof(int));
		ut_rights_put(&m, fds, n);
	}
	CHECK(sendmsg(to, &m, MSG_NOSIGNAL) == (ssize_t)len);
}

static inline void give(int to, const void *p, size_t len, int fd)
{
	give_all(to, p, len, &fd, fd >= 0);
}

/* What was given with a hello: a segment and a wake fd. The segment is -1 if the other end has hung up. */
static inline void take_both(int from, int fds[2])
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(2 * sizeof(int))];
	struct hello h;
	struct iovec iov = { &h, sizeof(h) };
	struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
			    .msg_controllen = sizeof(control) };
	ssize_t r = recvmsg(from, &m, MSG_CMSG_CLOEXEC);

	fds[0] = fds[1] = -1;
	if (r <= 0)
		return;
	ut_rights_take(&m, fds, 2);
	CHECK(r == (ssize_t)sizeof(h) && h.magic == HELLO_MAGIC && fds[0] >= 0);
}

/* The segment alone. */
static inline int taken(int from)
{
	int fds[2];

	take_both(from, fds);
	if (fds[1] >= 0)
		close(fds[1]);
	return fds[0];
}

enum { NO_FD, NOT_SEALED, TOO_SHORT, NO_PIPE, NO_MEMFD, LIES };

/* Segments that are none. */
static inline int bad_segment(int how)
{
	int all = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL | 0x10, fd;

	if (how == NO_FD)
		return -1;
	if (how == NO_MEMFD)
		return open("/dev/zero", O_RDWR | O_CLOEXEC);
	fd = memfd_create("bad", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	CHECK(fd >= 0);
	CHECK(ftruncate(fd, how == TOO_SHORT ? 4096
					     : (off_t)(sysconf(_SC_PAGESIZE) + SHM_PIPE_BYTES)) == 0);
	if (how != NOT_SEALED)
		CHECK(fcntl(fd, F_ADD_SEALS, all) == 0);
	return fd;
}

#endif
