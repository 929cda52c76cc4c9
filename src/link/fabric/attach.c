/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/fabric/attach.h"

#include "link/fabric/socket.h"
#include "util/clock.h"
#include "util/env.h"
#include "util/fault_calls.h"
#include "util/rundir.h"
#include "util/syscall.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

/* A fabric process answers a hello when it has a processor; one that has stopped must not stop its visitors for good. */
#define HELLO_MS 20000

#define HEAD offsetof(struct att_msg, u)

static const uint16_t lengths[ATT_TYPES] = {
	[ATT_HELLO] = HEAD + sizeof(struct att_hello),
	[ATT_WELCOME] = HEAD + sizeof(struct att_welcome),
	[ATT_PORT] = HEAD + sizeof(struct att_port),
	[ATT_REGISTER] = HEAD + sizeof(struct att_register),
	[ATT_REGISTERED] = HEAD + sizeof(struct att_registered),
	[ATT_UNREGISTER] = HEAD + sizeof(struct att_unregister),
	[ATT_MAD] = HEAD + sizeof(struct att_mad),
	[ATT_ISSM] = HEAD + sizeof(struct att_file),
	[ATT_VIEW] = HEAD + sizeof(struct att_file),
};

size_t att_length(uint32_t type)
{
	return type < ATT_TYPES ? lengths[type] : 0;
}

static bool ends(const char *text, size_t size)
{
	return memchr(text, 0, size);
}

static bool good_hello(const struct att_hello *h)
{
	return ends(h->node, sizeof(h->node));
}

static bool good_welcome(const struct att_welcome *w)
{
	return w->err <= 0 && ends(w->why, sizeof(w->why)) && w->first_port <= 1;
}

static bool good_port(const struct att_port *p)
{
	return !(p->events & ~(uint32_t)ATT_EVENTS) && p->pkeys_n <= ATT_PKEYS_MAX && p->guids_n <= ATT_GUIDS_MAX &&
	       p->lmc <= 7 && p->sm_sl <= 15;
}

static bool good_mad(const struct att_mad *m)
{
	return m->agent < ATT_AGENTS_MAX && m->addr.qpn <= 0xffffff && m->addr.sl <= 15 && m->addr.path_bits <= 127 &&
	       m->addr.grh_present <= 1 && m->addr.flow_label <= 0xfffff;
}

/* Which end may send it, and its fields. */
static bool good_body(const struct att_msg *m, bool from_fabric)
{
	switch (m->type) {
	case ATT_HELLO:
		return !from_fabric && good_hello(&m->u.hello);
	case ATT_WELCOME:
		return from_fabric && good_welcome(&m->u.welcome);
	case ATT_PORT:
		return from_fabric && good_port(&m->u.port);
	case ATT_REGISTER:
		return !from_fabric && m->u.reg.agent < ATT_AGENTS_MAX && m->u.reg.qpn <= 1 && m->u.reg.oui <= 0xffffff;
	case ATT_REGISTERED:
		return from_fabric && m->u.registered.agent < ATT_AGENTS_MAX && m->u.registered.err <= 0;
	case ATT_UNREGISTER:
		return !from_fabric && m->u.unreg.agent < ATT_AGENTS_MAX;
	case ATT_MAD:
		return good_mad(&m->u.mad);
	case ATT_ISSM:
	case ATT_VIEW:
		return m->u.file.err <= 0 && ends(m->u.file.path, sizeof(m->u.file.path));
	default:
		return false;
	}
}

int att_parse(const struct att_msg *m, size_t len, bool from_fabric)
{
	if (len < HEAD || len != att_length(m->type) || m->rsv || !good_body(m, from_fabric))
		return -EPROTO;
	return 0;
}

/* Returns 0 when the socket has room or an error, or -EAGAIN. */
static int wait_room(int fd, short events, int wait_ms)
{
	struct pollfd p = { .fd = fd, .events = events };
	uint64_t until = wait_ms < 0 ? UINT64_MAX : ut_now() + (uint64_t)wait_ms * UT_MS;
	int keep = errno, n;

	for (;;) {
		uint64_t now = ut_now();
		int ms = wait_ms < 0 ? -1 : now >= until ? 0 : (int)((until - now + UT_MS - 1) / UT_MS);

		n = poll(&p, 1, ms);
		if (n > 0 || (n == 0 && ms == 0))
			break;
		if (n < 0 && errno != EINTR)
			break;
	}
	n = n > 0 ? 0 : n < 0 ? -errno : -EAGAIN;
	errno = keep;
	return n;
}

int att_send(int fd, const struct att_msg *m, int wait_ms)
{
	for (;;) {
		long r = UT_SYS(SYS_sendto, fd, m, att_length(m->type), MSG_DONTWAIT | MSG_NOSIGNAL, NULL, 0);

		if (r >= 0)
			return 0;
		if (r == -ECONNRESET)
			return -EPIPE;
		if (r != -EAGAIN || !wait_ms)
			return (int)r;
		r = wait_room(fd, POLLOUT, wait_ms);
		if (r)
			return (int)r;
	}
}

int att_receive(int fd, struct att_msg *m, bool from_fabric)
{
	long r;

	/* MSG_TRUNC gives the length of a message that is longer than any of ours. */
	r = UT_SYS(SYS_recvfrom, fd, m, sizeof(*m), MSG_DONTWAIT | MSG_TRUNC, NULL, NULL);
	if (r == -ECONNRESET || r == 0)
		return 0;
	if (r < 0)
		return (int)r;
	return att_parse(m, (size_t)r, from_fabric) ? -EPROTO : 1;
}

#define SOME_MAX 16u

int att_receive_some(int fd, struct att_msg *v, unsigned max, bool from_fabric, int *ret_end)
{
	struct mmsghdr h[SOME_MAX] = { 0 };
	struct iovec iov[SOME_MAX];
	long n;

	max = max < SOME_MAX ? max : SOME_MAX;
	for (unsigned i = 0; i < max; i++) {
		iov[i] = (struct iovec){ &v[i], sizeof(v[i]) };
		h[i].msg_hdr.msg_iov = &iov[i];
		h[i].msg_hdr.msg_iovlen = 1;
	}
	n = UT_SYS(SYS_recvmmsg, fd, h, max, MSG_DONTWAIT | MSG_TRUNC, NULL);
	*ret_end = n == -ECONNRESET ? 0 : n < 0 ? (int)n : -EAGAIN;
	for (long i = 0; i < n; i++) {
		if (h[i].msg_len && !att_parse(&v[i], h[i].msg_len, from_fabric))
			continue;
		*ret_end = h[i].msg_len ? -EPROTO : 0;
		return (int)i;
	}
	return n < 0 ? 0 : (int)n;
}

int att_wait(int fd, struct att_msg *m, int wait_ms)
{
	int r = att_receive(fd, m, true);

	while (r == -EAGAIN) {
		r = wait_room(fd, POLLIN, wait_ms);
		if (r)
			return r == -EAGAIN ? -ETIMEDOUT : r;
		r = att_receive(fd, m, true);
	}
	return r;
}

static bool good_name(const char *name)
{
	return *name && strlen(name) < ATT_NAME_MAX;
}

int att_place_of_env(struct att_place *ret, char why[ATT_WHY_MAX])
{
	const char *v = ut_env("DAPPLE_FABRIC"), *slash;
	size_t n;

	if (!v || !*v)
		return 0;
	slash = strchr(v, '/');
	n = slash ? (size_t)(slash - v) : 0;
	if (!n || n >= ATT_NAME_MAX || *v == '.' || !good_name(slash + 1)) {
		snprintf(why, ATT_WHY_MAX,
			 "DAPPLE_FABRIC (%.60s) names no node of a fabric: this process is attached to none; set it to "
			 "FABRIC/NODE, or use dapple fabric run", v);
		return -EINVAL;
	}
	memset(ret, 0, sizeof(*ret));
	memcpy(ret->fabric, v, n);
	snprintf(ret->node, sizeof(ret->node), "%s", slash + 1);
	return 1;
}

static int open_dir(const struct att_place *where, char why[ATT_WHY_MAX])
{
	char run[UT_RUNDIR_MAX], path[UT_RUNDIR_MAX + ATT_NAME_MAX + 16];
	int r = ut_rundir(run, sizeof(run), why, ATT_WHY_MAX);

	if (r)
		return r;
	snprintf(path, sizeof(path), "%s/fabric/%s", run, where->fabric);
	r = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return r < 0 ? -errno : r;
}

static int no_fabric(const struct att_place *where, int err, char why[ATT_WHY_MAX])
{
	if (err == -ENOENT || err == -ECONNREFUSED)
		snprintf(why, ATT_WHY_MAX,
			 "fabric %s does not run: its node %s cannot be reached; start it by dapple fabric up %s",
			 where->fabric, where->node, where->fabric);
	else
		snprintf(why, ATT_WHY_MAX,
			 "fabric %s cannot be reached (%s): this process is not attached to node %s; see dapple fabric list",
			 where->fabric, strerror(-err), where->node);
	return err;
}

/* Returns a connected descriptor or a negative errno. */
static int reach(const struct att_place *where, char why[ATT_WHY_MAX])
{
	int dir = open_dir(where, why), fd, r;

	if (dir < 0)
		return no_fabric(where, dir, why);
	fd = ut_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	r = fd < 0 ? -errno : fsk_connect_at(fd, dir, ATT_SOCKET);
	ut_close(dir);
	if (!r)
		return fd;
	ut_close(fd);
	return no_fabric(where, r, why);
}

static int read_welcome(int fd, const struct att_place *where, struct att_welcome *ret, char why[ATT_WHY_MAX])
{
	struct att_msg m;
	int r = att_wait(fd, &m, HELLO_MS);

	if (r != 1 || m.type != ATT_WELCOME) {
		r = r < 0 ? r : r == 0 ? -ECONNREFUSED : -EPROTO;
		return no_fabric(where, r, why);
	}
	*ret = m.u.welcome;
	if (ret->err) {
		snprintf(why, ATT_WHY_MAX, "%s", ret->why);
		return ret->err;
	}
	if (ret->version == ATT_VERSION)
		return 0;
	snprintf(why, ATT_WHY_MAX,
		 "fabric %s is of another version of dapple (%u, this one has %u): node %s cannot be reached; end it by "
		 "dapple fabric down and start it again", where->fabric, ret->version, ATT_VERSION, where->node);
	return -EPROTO;
}

int att_ask_file(int fd, enum att_type type, char path[ATT_PATH_MAX])
{
	struct att_msg m = { .type = type };
	int r = att_send(fd, &m, HELLO_MS);

	if (r)
		return r;
	do
		r = att_wait(fd, &m, HELLO_MS);
	while (r == 1 && m.type != type);
	if (r != 1)
		return r ? r : -EPIPE;
	if (!m.u.file.err)
		memcpy(path, m.u.file.path, ATT_PATH_MAX);
	return m.u.file.err;
}

int att_connect(const struct att_place *where, unsigned port, struct att_welcome *ret, char why[ATT_WHY_MAX])
{
	struct att_msg m = { .type = ATT_HELLO };
	int fd = reach(where, why), r;

	if (fd < 0)
		return fd;
	m.u.hello.magic = ATT_MAGIC;
	m.u.hello.version = ATT_VERSION;
	m.u.hello.port = (uint8_t)port;
	memcpy(m.u.hello.node, where->node, sizeof(m.u.hello.node));
	r = att_send(fd, &m, HELLO_MS);
	if (r)
		no_fabric(where, r, why);
	else
		r = read_welcome(fd, where, ret, why);
	if (!r)
		return fd;
	ut_close(fd);
	return r;
}
