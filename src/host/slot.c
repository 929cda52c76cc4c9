/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "host/slot.h"

#include "host/owners.h"
#include "util/alloc.h"
#include "util/clock.h"
#include "util/fault_calls.h"
#include "util/ip.h"
#include "util/log.h"
#include "util/syscall.h"

#include <errno.h>
#include <linux/netlink.h>
#include <poll.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>

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

socklen_t host_slot_name(struct host *h, const uint8_t addr[16], uint32_t scope, unsigned slot,
			 struct sockaddr_un *ret)
{
	const struct host_addr *a = h->tagged ? host_addr_find(h, addr) : NULL;

	return host_owned_name(h, addr, scope, slot, a ? a->tag[slot] : 0, ret);
}

int host_socket_make(enum host_socket_kind kind)
{
	const int flags = SOCK_CLOEXEC | SOCK_NONBLOCK;
	int fd;

	if (kind == HOST_SOCKET_OWNERS)
		fd = ut_socket(AF_NETLINK, SOCK_RAW | flags, NETLINK_SOCK_DIAG);
	else
		fd = ut_socket(AF_UNIX, (kind == HOST_SOCKET_LOCK ? SOCK_STREAM : SOCK_DGRAM) | flags, 0);
	return fd < 0 ? -errno : fd;
}

int host_socket_here(const struct host *h, enum host_socket_kind kind, uint32_t *ret_uid)
{
	*ret_uid = h->uid;
	return host_socket_make(kind);
}

static int nameless(const struct host *h, enum host_socket_kind kind)
{
	uint32_t uid;

	return h->user->socket(h, kind, &uid);
}

int host_socket(const struct host *h, const struct sockaddr_un *sun, socklen_t n)
{
	int fd = nameless(h, HOST_SOCKET_MAIL), on = 1, r;

	if (fd < 0)
		return fd;
	if (setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on)) == 0 &&
	    ut_bind(fd, (const struct sockaddr *)sun, n) == 0)
		return fd;
	r = -errno;
	ut_close_fd(&fd);
	return r;
}

/* Connecting a datagram socket finds out whether a name is bound, and does nothing else. */
static void find_bound(const struct host *h, const struct host_addr *a, uint8_t ret[256])
{
	int fd = nameless(h, HOST_SOCKET_MAIL);
	struct sockaddr_un sun;

	memset(ret, 0, 256);
	for (unsigned slot = 0; fd >= 0 && slot < HOST_SLOTS; slot++) {
		socklen_t n = host_owned_name(h, a->addr, a->scope, slot, 0, &sun);

		ret[slot] = !UT_SYS(SYS_connect, fd, &sun, n);
	}
	ut_close_fd(&fd);
}

/* Where the kernel does not tell owners, all are taken for ours. */
unsigned host_slot_claims(struct host *h, struct host_addr *a, uint8_t claimed[256])
{
	struct host_owners o;
	bool told;
	unsigned count = 0;

	find_bound(h, a, claimed);
	told = host_owners(h, a->addr, a->scope, &o) == 0;
	for (unsigned slot = 0; slot < HOST_SLOTS; slot++) {
		a->squatted[slot] = o.foreign[slot] && !o.ours[slot];
		if (told && slot != h->slot)
			a->tag[slot] = o.tag[slot];
		claimed[slot] = slot == h->slot || o.ours[slot] || (claimed[slot] && !a->squatted[slot]);
		count += claimed[slot];
		h->tagged |= a->squatted[slot] || a->tag[slot];
	}
	return count;
}

static int try_lock(const struct host *h, const struct sockaddr_un *sun, socklen_t n)
{
	int fd = nameless(h, HOST_SOCKET_LOCK), r;

	if (fd < 0)
		return fd;
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

static bool is_foreign(const struct host *h, const uint8_t addr[16], uint32_t scope, unsigned slot)
{
	struct host_owners o;

	return host_owners(h, addr, scope, &o) == 0 && o.foreign[slot] && !o.ours[slot];
}

/*
 * The holder never accepts: a connection waits in its backlog and hangs up when the holder releases the lock or dies.
 * Returns false if the holder is a process of another user.
 */
static bool await_release(const struct host *h, const struct sockaddr_un *sun, socklen_t n,
			  uint64_t ns)
{
	int fd = nameless(h, HOST_SOCKET_LOCK);
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

/* Binds a tagged name, and keeps it if it is the only one of this user then: of two processes that do so at once the
 * later one, or both, see the other. Returns a descriptor, -EADDRINUSE or another negative errno. */
static int try_tagged_lock(const struct host *h, const uint8_t addr[16], uint32_t scope)
{
	struct host_owners o;
	struct sockaddr_un sun;
	int fd, r = host_owners(h, addr, scope, &o);

	if (r < 0 || o.locks)
		return r < 0 ? r : -EADDRINUSE;
	fd = try_lock(h, &sun, host_owned_name(h, addr, scope, HOST_LOCK, ut_rng_seed() | 1, &sun));
	if (fd < 0)
		return fd;
	r = host_owners(h, addr, scope, &o);
	if (r == 0 && o.locks <= 1)
		return fd;
	ut_close_fd(&fd);
	return r < 0 ? r : -EADDRINUSE;
}

/* In place of a name that another user holds. */
static int tagged_lock(struct host *h, const uint8_t addr[16], uint32_t scope, uint64_t end)
{
	for (;;) {
		int fd = try_tagged_lock(h, addr, scope);

		if (fd != -EADDRINUSE)
			return fd < 0 ? -EBUSY : fd;
		if (ut_now() >= end)
			return -EBUSY;
		wait_ns(NULL, LOCK_STEP / 2 + ut_rng_below(&h->rng, LOCK_STEP));
	}
}

int host_lock(struct host *h, const uint8_t addr[16], uint32_t scope, uint64_t ns)
{
	uint64_t now = ut_now(), end = now + ns;
	struct sockaddr_un sun;
	socklen_t n = host_owned_name(h, addr, scope, HOST_LOCK, 0, &sun);
	int fd;

	for (;;) {
		fd = try_lock(h, &sun, n);
		if (fd != -EADDRINUSE)
			return fd;
		now = ut_now();
		if (!await_release(h, &sun, n, now < end ? end - now : 0) ||
		    is_foreign(h, addr, scope, HOST_LOCK))
			return tagged_lock(h, addr, scope, end);
		if (now >= end)
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
	memset(a->squatted, 0, sizeof(a->squatted));
	memset(a->tag, 0, sizeof(a->tag));
	a->mail = (struct host_port){ .kind = &mail_port, .fd = -1 };
}

/* The name of a slot that another user holds, and no process of this one, is replaced by a tagged one. */
static int claim_tagged(struct host *h, struct host_addr *a, unsigned slot)
{
	char text[HOST_ADDR_TEXT];
	struct host_owners o;
	struct sockaddr_un sun;
	int fd;

	if (host_owners(h, a->addr, a->scope, &o) < 0 || !o.foreign[slot] || o.ours[slot])
		return -EADDRINUSE;
	a->tag[slot] = ut_rng_seed() | 1;
	a->squatted[slot] = h->tagged = true;
	fd = host_socket(h, &sun, host_owned_name(h, a->addr, a->scope, slot, a->tag[slot], &sun));
	host_addr_text(a->addr, a->scope, text);
	ut_warn("slot %u of %s: user %u holds its name and %u others: a random name replaces it; end that user's processes "
		"that are bound to @dapple-roce (ss -xp)", slot, text, o.uid, o.n_foreign - 1);
	return fd;
}

/* evade: not stopped by another user. */
static int claim(struct host *h, struct host_addr *a, unsigned slot, bool evade)
{
	struct sockaddr_un sun;
	int fd = host_socket(h, &sun, host_owned_name(h, a->addr, a->scope, slot, 0, &sun));

	if (fd == -EADDRINUSE && evade)
		return claim_tagged(h, a, slot);
	if (fd >= 0)
		a->tag[slot] = 0;
	return fd;
}

static int claim_to(struct host *h, struct host_addr *a, unsigned slot, bool evade, int *ret)
{
	*ret = claim(h, a, slot, evade);
	return *ret < 0 ? *ret : 0;
}

/* Claims one slot on all addresses of the host and one more. Returns 0 with the descriptors in mail[], the new
 * address's first, or -errno. */
static int claim_all(struct host *h, struct host_addr *more, unsigned slot, bool evade, int *mail)
{
	struct host_addr *a;
	int n = 0, r = claim_to(h, more, slot, evade, &mail[n]);

	if (r < 0)
		return r;
	ut_list_each(a, &h->addrs, node) {
		n++;
		r = claim_to(h, a, slot, evade, &mail[n]);
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
	/* First those whose names are free on all addresses. */
	for (unsigned i = 0; i < 2 * HOST_SLOTS && r == -EADDRINUSE; i++) {
		unsigned slot = i % HOST_SLOTS;

		r = claim_all(h, more, slot, i >= HOST_SLOTS, mail);
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
		fd = claim(h, a, h->slot, true);
		if (fd >= 0)
			new_mailbox(h, a, fd);
		if (fd != -EADDRINUSE || fixed)
			return fd < 0 ? fd : 0;
	}
	return choose_slot(h, a);
}
