/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "host/slot.h"

#include "util/alloc.h"
#include "util/clock.h"
#include "util/faulty.h"
#include "util/ip.h"
#include "util/log.h"
#include "util/syscall.h"

#include <errno.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

#define LOCK_NAME HOST_SLOTS /* "slot" of the lock's name */
#define LOCK_STEP (2 * UT_MS)

/* getuid() differs between user namespaces; what peer processes see does not. */
int host_self_uid(uint32_t *ret)
{
	struct ucred c;
	socklen_t n = sizeof(c);
	int sv[2], r = 0;

	if (ut_socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sv) < 0)
		return -errno;
	if (getsockopt(sv[0], SOL_SOCKET, SO_PEERCRED, &c, &n) < 0)
		r = -errno;
	else
		*ret = c.uid;
	ut_close_fd(&sv[0]);
	ut_close_fd(&sv[1]);
	return r;
}

void host_addr_text(const uint8_t addr[16], uint32_t scope, char ret[HOST_ADDR_TEXT])
{
	char text[INET6_ADDRSTRLEN], zone[16] = "";

	if (ut_ip_is_linklocal(addr))
		snprintf(zone, sizeof(zone), "%%%u", scope);
	snprintf(ret, HOST_ADDR_TEXT, "%s%s", ut_ip_text(addr, text), zone);
}

socklen_t host_slot_name(const struct host *h, const uint8_t addr[16], uint32_t scope,
		   unsigned slot, struct sockaddr_un *ret)
{
	char text[HOST_ADDR_TEXT], tail[16];
	int n;

	memset(ret, 0, sizeof(*ret));
	ret->sun_family = AF_UNIX;
	host_addr_text(addr, scope, text);
	if (slot == LOCK_NAME)
		snprintf(tail, sizeof(tail), "lock");
	else
		snprintf(tail, sizeof(tail), "%u", slot);
	n = snprintf(ret->sun_path + 1, sizeof(ret->sun_path) - 1, "dapple-roce/%s/%u/%s", text,
		     h->port, tail);
	return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)n);
}

int host_socket(const struct sockaddr_un *sun, socklen_t n)
{
	int fd = ut_socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), on = 1, r;

	if (fd < 0)
		return -errno;
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0 &&
	    ut_bind(fd, (const struct sockaddr *)sun, n) == 0)
		return fd;
	r = -errno;
	ut_close_fd(&fd);
	return r;
}

/* Connecting a datagram socket finds out whether a name is bound, and does nothing else. */
unsigned host_slot_claims(const struct host *h, const struct host_addr *a, uint8_t claimed[256])
{
	int fd = ut_socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct sockaddr_un sun;
	unsigned count = 0;

	memset(claimed, 0, 256);
	for (unsigned slot = 0; slot < HOST_SLOTS; slot++) {
		socklen_t n = host_slot_name(h, a->addr, a->scope, slot, &sun);

		claimed[slot] = slot == h->slot ||
				(fd >= 0 && !UT_SYS(SYS_connect, fd, &sun, n));
		count += claimed[slot];
	}
	ut_close_fd(&fd);
	return count;
}

static int try_lock(const struct sockaddr_un *sun, socklen_t n)
{
	int fd = ut_socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0), r;

	if (fd < 0)
		return -errno;
	if (ut_bind(fd, (const struct sockaddr *)sun, n) == 0 && listen(fd, 64) == 0)
		return fd;
	r = -errno;
	ut_close_fd(&fd);
	return r;
}

static void wait_ns(struct pollfd *p, uint64_t ns)
{
	struct timespec t = { (time_t)(ns / UT_S), (long)(ns % UT_S) };

	UT_SYS(SYS_ppoll, p, p ? 1 : 0, &t, NULL, 8);
}

/*
 * The holder never accepts: a connection waits in its backlog and hangs up when the holder releases the lock or dies.
 * Returns false if the holder is a process of another user.
 */
static bool await_release(const struct host *h, const struct sockaddr_un *sun, socklen_t n,
			  uint64_t ns)
{
	int fd = ut_socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct pollfd p = { .fd = fd, .events = POLLRDHUP };
	struct ucred c = { 0 };
	socklen_t cn = sizeof(c);
	bool ours = true;

	if (fd >= 0 && UT_SYS(SYS_connect, fd, sun, n) == 0) {
		ours = getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &c, &cn) < 0 || c.uid == h->uid;
		if (ours)
			wait_ns(&p, ns);
	} else {
		wait_ns(NULL, ns < LOCK_STEP ? ns : LOCK_STEP);
	}
	ut_close_fd(&fd);
	return ours;
}

int host_lock(const struct host *h, const uint8_t addr[16], uint32_t scope, uint64_t ns)
{
	uint64_t now = ut_now(), end = now + ns;
	struct sockaddr_un sun;
	socklen_t n = host_slot_name(h, addr, scope, LOCK_NAME, &sun);
	int fd;

	for (;;) {
		fd = try_lock(&sun, n);
		if (fd != -EADDRINUSE)
			return fd;
		now = ut_now();
		if (now >= end || !await_release(h, &sun, n, end - now))
			return -EBUSY;
	}
}

/* --- addresses --- */

static void mail_ready(struct host *h, struct host_port *p, uint32_t events)
{
	ut_container(p, struct host_addr, mail)->mail_ready = true;
}

static const struct host_port_kind mail_port = { .events = EPOLLIN, .ready = mail_ready };

void host_addr_init(struct host_addr *a, const uint8_t addr[16], uint32_t scope)
{
	memcpy(a->addr, addr, 16);
	a->scope = scope;
	ut_list_init(&a->node);
	a->mail = (struct host_port){ .kind = &mail_port, .fd = -1 };
}

static int claim(struct host *h, const struct host_addr *a, unsigned slot)
{
	struct sockaddr_un sun;
	socklen_t n = host_slot_name(h, a->addr, a->scope, slot, &sun);

	return host_socket(&sun, n);
}

static int claim_to(struct host *h, const struct host_addr *a, unsigned slot, int *ret)
{
	*ret = claim(h, a, slot);
	return *ret < 0 ? *ret : 0;
}

/* Claims one slot on all addresses of the host and one more. Returns 0 with the descriptors in mail[], the new
 * address's first, or -errno. */
static int claim_all(struct host *h, struct host_addr *more, unsigned slot, int *mail)
{
	struct host_addr *a;
	int n = 0, r = claim_to(h, more, slot, &mail[n]);

	if (r < 0)
		return r;
	ut_list_each(a, &h->addrs, node) {
		n++;
		r = claim_to(h, a, slot, &mail[n]);
		if (r < 0)
			break;
	}
	while (r < 0 && --n >= 0)
		ut_close_fd(&mail[n]);
	return r;
}

static void new_mailbox(struct host *h, struct host_addr *a, int fd)
{
	host_unwatch(h, &a->mail);
	a->mail.fd = fd;
}

/* The other members must learn the new slot: each address joins again. */
static void move_all(struct host *h, const int *mail)
{
	struct host_addr *a;
	int n = 1, r;

	ut_list_each(a, &h->addrs, node) {
		new_mailbox(h, a, mail[n++]);
		r = host_watch(h, &a->mail);
		if (r < 0)
			ut_warn("cannot watch the mailbox of a new slot (%s): messages from other processes "
				"are read late; raise fs.epoll.max_user_watches, and start the program again",
				strerror(-r));
	}
	ut_list_each(a, &h->addrs, node)
		h->user->moved(a);
}

static int choose_slot(struct host *h, struct host_addr *more)
{
	unsigned count = 1;
	struct host_addr *a;
	int *mail, r;

	ut_list_each(a, &h->addrs, node)
		count++;
	mail = ut_calloc(count, sizeof(*mail));
	if (!mail)
		return -ENOMEM;
	r = -EADDRINUSE;
	for (unsigned slot = 0; slot < HOST_SLOTS && r == -EADDRINUSE; slot++) {
		r = claim_all(h, more, slot, mail);
		if (r < 0)
			continue;
		new_mailbox(h, more, mail[0]);
		h->slot = slot;
		move_all(h, mail);
	}
	free(mail);
	return r;
}

int host_slot_take(struct host *h, struct host_addr *a, bool fixed)
{
	int fd;

	if (h->slot != HOST_NO_SLOT) {
		fd = claim(h, a, h->slot);
		if (fd >= 0)
			new_mailbox(h, a, fd);
		if (fd != -EADDRINUSE || fixed)
			return fd < 0 ? fd : 0;
	}
	return choose_slot(h, a);
}
