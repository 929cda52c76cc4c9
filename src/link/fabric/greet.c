/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/fabric/greet.h"

#include "host/mailbox.h"
#include "host/shm/segment.h"
#include "link/fabric/socket.h"
#include "util/syscall.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

#define WELCOME_MS 5000 /* a fabric process responds at once; a stopped one must not stop its visitors for good */

int fabric_say(char why[FABRIC_WHY_MAX], const struct fabric_place *where, int error)
{
	if (error == -ENOENT || error == -ECONNREFUSED)
		snprintf(why, FABRIC_WHY_MAX, "fabric %s does not run: its node %s has no adapter here; start it by "
			 "dapple fabric up %s", where->fabric, where->node, where->fabric);
	else
		snprintf(why, FABRIC_WHY_MAX, "fabric %s cannot be reached (%s): its node %s has no adapter here; see "
			 "dapple fabric list", where->fabric, strerror(-error), where->node);
	return error;
}

static int await(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	struct timespec t = { WELCOME_MS / 1000, 0 };
	long r = UT_SYS(SYS_ppoll, &p, 1, &t, NULL, 8);

	return r > 0 ? 0 : r < 0 ? (int)r : -ETIMEDOUT;
}

/* Receives the answer, and a descriptor with it. Returns 0 or a negative errno. */
static int receive_answer(int fd, enum pkt_type type, struct pkt_message *m, int *ret_fd)
{
	_Alignas(struct cmsghdr) char control[256];
	struct iovec iov = { m, sizeof(*m) };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = control, .msg_controllen = sizeof(control) };
	int r = await(fd);
	long n;

	*ret_fd = -1;
	if (r < 0)
		return r;
	n = UT_SYS(SYS_recvmsg, fd, &h, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	if (n < 0)
		return (int)n;
	host_fds_take(&h, ret_fd, 1);
	if (n == 0)
		return -ECONNREFUSED;
	if (h.msg_flags & MSG_CTRUNC) /* a descriptor came, and none was free for it */
		return -EMFILE;
	return pkt_parse(m, (size_t)n, true) && m->head.type == type ? 0 : -EPROTO;
}

/* Sends m, with a descriptor unless that is -1, and receives the answer in its place. Returns 0 or a negative errno. */
static int ask(int fd, struct pkt_message *m, int with, enum pkt_type answer, int *ret_fd)
{
	_Alignas(struct cmsghdr) char control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec iov = { m, pkt_length(m->head.type) };
	struct msghdr h = { .msg_iov = &iov, .msg_iovlen = 1 };
	long r;

	if (with >= 0) {
		h.msg_control = control;
		h.msg_controllen = sizeof(control);
		host_fds_put(&h, &with, 1);
	}
	r = UT_SYS(SYS_sendmsg, fd, &h, MSG_DONTWAIT | MSG_NOSIGNAL);
	*ret_fd = -1;
	return r < 0 ? (int)r : receive_answer(fd, answer, m, ret_fd);
}

static int map_page(const struct pkt_page **ret, int fd)
{
	*ret = fd < 0 ? NULL : shm_seg_map_whole(fd, sizeof(struct pkt_page));
	return *ret ? 0 : -EPROTO;
}

/* The page stays mapped only if all went well. Returns 0 or a negative errno with the sentence. */
static int exchange(int fd, const struct fabric_place *where, int tally, struct pkt_welcome *ret, const struct pkt_page **ret_page,
		    char why[FABRIC_WHY_MAX])
{
	struct pkt_message m = { .head = pkt_head(PKT_HELLO) };
	int page = -1, r;

	m.u.hello.version = PKT_VERSION;
	m.u.hello.port = where->port;
	snprintf(m.u.hello.node, sizeof(m.u.hello.node), "%s", where->node);
	r = ask(fd, &m, tally, PKT_WELCOME, &page);
	if (r == 0 && m.u.welcome.err) {
		snprintf(why, FABRIC_WHY_MAX, "%s", m.u.welcome.why);
		ut_close_fd(&page);
		return m.u.welcome.err;
	}
	if (r == 0)
		r = map_page(ret_page, page);
	ut_close_fd(&page);
	*ret = m.u.welcome;
	return r < 0 ? fabric_say(why, where, r) : 0;
}

int fabric_greet(const struct fabric_place *where, int tally, struct pkt_welcome *ret, const struct pkt_page **ret_page,
		 char why[FABRIC_WHY_MAX])
{
	int fd = fsk_connect(where->fabric, PKT_SOCKET), r;

	if (fd < 0)
		return fabric_say(why, where, fd);
	r = exchange(fd, where, tally, ret, ret_page, why);
	if (r < 0)
		ut_close_fd(&fd);
	return r < 0 ? r : fd;
}

static bool is_gone(int r)
{
	return r == -ENOENT || r == -ECONNREFUSED || r == -ECONNRESET || r == -EPIPE;
}

int fabric_socket(const char *fabric, enum pkt_socket_kind kind, uint32_t *ret_uid)
{
	struct pkt_message m = { .head = pkt_head(PKT_ASK_SOCKET), .u.ask_socket = { PKT_VERSION, kind } };
	int fd = fsk_connect(fabric, PKT_SOCKET), made, r;

	if (fd < 0)
		return is_gone(fd) ? -ENETDOWN : fd;
	r = ask(fd, &m, -1, PKT_MADE, &made);
	ut_close_fd(&fd);
	if (r == 0 && (m.u.made.err || made < 0)) {
		r = m.u.made.err ? m.u.made.err : -EPROTO;
		ut_close_fd(&made);
	}
	*ret_uid = m.u.made.uid;
	return r == 0 ? made : is_gone(r) ? -ENETDOWN : r;
}
