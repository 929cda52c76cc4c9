/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "observe/session.h"

#include "observe/place.h"
#include "util/syscall.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>

#define WAIT_MS 1000

struct settings {
	uint64_t magic;
	struct obs_config cfg;
};

static int settings_of(int session, struct obs_config *ret)
{
	struct pollfd p = { .fd = session, .events = POLLIN };
	struct timespec limit = { WAIT_MS / 1000, 0 };
	struct settings s;
	long n = UT_SYS(SYS_ppoll, &p, 1, &limit, NULL, 0);

	if (n <= 0)
		return n < 0 ? (int)n : -ETIMEDOUT;
	n = UT_SYS(SYS_recvfrom, session, &s, sizeof(s), MSG_DONTWAIT, NULL, NULL);
	if (n != sizeof(s) || s.magic != OBS_SESSION_MAGIC)
		return n < 0 ? (int)n : -EPROTO;
	*ret = s.cfg;
	return 0;
}

int obs_session_join(const char *path, struct obs_config *ret)
{
	int fd = obs_place_connect(path), r;

	if (fd < 0)
		return fd;
	r = settings_of(fd, ret);
	if (r == 0)
		return fd;
	ut_close(fd);
	return r;
}

int obs_session_give(int session, const struct obs_config *cfg)
{
	struct settings s = { .magic = OBS_SESSION_MAGIC, .cfg = *cfg };
	long n = UT_SYS(SYS_sendto, session, &s, sizeof(s), MSG_NOSIGNAL | MSG_DONTWAIT, NULL, 0);

	return n < 0 ? (int)n : 0;
}

int obs_session_pass(int session, int ring)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	uint64_t magic = OBS_SESSION_MAGIC;
	struct iovec v = { &magic, sizeof(magic) };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);
	long n;

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(ring));
	memcpy(CMSG_DATA(c), &ring, sizeof(ring));
	n = UT_SYS(SYS_sendmsg, session, &m, MSG_NOSIGNAL | MSG_DONTWAIT);
	return n < 0 ? (int)n : 0;
}

int obs_session_take(int session)
{
	union {
		struct cmsghdr head;
		char room[CMSG_SPACE(sizeof(int))];
	} control = { 0 };
	uint64_t magic = 0;
	struct iovec v = { &magic, sizeof(magic) };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = &control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *c;
	int fd = -1;
	long n = UT_SYS(SYS_recvmsg, session, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	if (n <= 0)
		return n < 0 ? (int)n : -ECONNRESET;
	c = CMSG_FIRSTHDR(&m);
	if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && c->cmsg_len == CMSG_LEN(sizeof(fd)))
		memcpy(&fd, CMSG_DATA(c), sizeof(fd));
	if (fd >= 0 && magic != OBS_SESSION_MAGIC) {
		ut_close(fd);
		fd = -1;
	}
	return fd >= 0 ? fd : -EPROTO;
}
