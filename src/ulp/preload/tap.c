/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A table by descriptor. An entry may be stale, since a descriptor can be closed and made in ways that no library sees: the
 * connection compares the inode at each call (own.c). Duplicates are not in the table; their calls go by the stream.
 */
#include "ulp/preload/tap.h"

#include "ulp/preload/calls.h"
#include "ulp/preload/convert.h"
#include "ulp/preload/own.h"
#include "ulp/preload/real.h"

#include <dlfcn.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FDS 65536
#define PARTS 64                /* of a call; one with more goes by the stream */

static char looked_for; /* its address: the descriptor is looked up at its first call */
#define EXPECTED ((struct sdp_relay *)(void *)&looked_for)

static struct sdp_relay *_Atomic entries[FDS];
static const struct rsp_own *_Atomic own;
static atomic_bool forked, is_child; /* since the library was opened */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool tried;
static pid_t owner;
/* A thread of the library, or one in a call of it: what it does with descriptors is not for the connections. */
static _Thread_local bool inside __attribute__((tls_model("initial-exec")));

/* --- libraries of ours: their calls are not the program's --- */

static bool find_of_ours(const void *caller)
{
	static const char *const names[] = { "libdapple", "librdmacm.so", "libibverbs.so" };
	Dl_info info;
	const char *name;

	if (!dladdr(caller, &info) || !info.dli_fname)
		return false;
	name = strrchr(info.dli_fname, '/');
	name = name ? name + 1 : info.dli_fname;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (!strncmp(name, names[i], strlen(names[i])))
			return true;
	return false;
}

/* A thread of the adapter waits at one place, again and again. */
static bool is_of_ours(const void *caller)
{
	static _Thread_local const void *last __attribute__((tls_model("initial-exec")));

	if (caller == last)
		return true;
	if (!find_of_ours(caller))
		return false;
	last = caller;
	return true;
}

void rsp_tap_leave(void)
{
	const struct rsp_own *o = atomic_load(&own);

	/* A child of vfork() has the memory of its parent. */
	if (!o || getpid() != owner)
		return;
	inside = true;
	o->leave();
	inside = false;
}

static void begin_thread(void)
{
	inside = true;
}

static bool is_inside(void)
{
	return inside;
}

/* Buffered octets count as sent. */
static void at_exit(void)
{
	fflush(NULL);
	rsp_tap_leave();
}

static void open_library(void)
{
	const struct rsp_own *(*get)(void (*)(void)) = NULL;
	char path[PATH_MAX];
	const char *slash;
	Dl_info info;
	void *library = NULL;

	tried = true;
	owner = getpid();
	if (!dladdr((void *)rsp_tap_has, &info) || !info.dli_fname)
		return;
	slash = strrchr(info.dli_fname, '/');
	if (slash && snprintf(path, sizeof(path), "%.*s/libdapple-sdp.so", (int)(slash - info.dli_fname), info.dli_fname) < PATH_MAX)
		library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (library)
		get = (const struct rsp_own *(*)(void (*)(void)))dlsym(library, "rsp_own");
	if (get && !atexit(at_exit))
		atomic_store(&own, get(begin_thread));
}

static const struct rsp_own *library(void)
{
	pthread_mutex_lock(&lock);
	if (!tried)
		open_library();
	pthread_mutex_unlock(&lock);
	return atomic_load(&own);
}

/* --- requests --- */

/*
 * A process that has forked may end before those that have its listener; a child of one that has opened an adapter cannot use it
 * without exec().
 */
static int serve_here(const struct rsp_request *q, const int *fds, int nr)
{
	const struct rsp_own *o = atomic_load(&is_child) || (q->op == RSP_OP_LISTEN && atomic_load(&forked)) ? NULL : library();
	int sv[2], r;

	if (!o || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv))
		return -EAGAIN;
	r = o->serve(sv[1], q, fds, nr);
	if (!r)
		return sv[0];
	close(sv[0]);
	close(sv[1]);
	return -EAGAIN;
}

static void expect(int fd)
{
	if (fd >= 0 && fd < FDS && atomic_load(&own))
		atomic_store(&entries[fd], EXPECTED);
}

static void before_fork(void)
{
	const struct rsp_own *o = atomic_load(&own);
	struct rsp_request q;
	int fd;

	atomic_store(&forked, true);
	if (!o)
		return;
	o->before_fork();
	while (o->next_listener(&q, &fd)) {
		rsp_ask_carrier(&q, &fd, 1);
		close(fd);
	}
}

static void in_child(void)
{
	const struct rsp_own *o = atomic_load(&own);

	pthread_mutex_init(&lock, NULL);
	if (!o)
		return;
	atomic_store(&is_child, true);
	o->in_child();
	for (int i = 0; i < FDS; i++)
		if (atomic_load_explicit(&entries[i], memory_order_relaxed))
			atomic_store(&entries[i], NULL);
}

static bool receive_here(int fd, const struct msghdr *msg, int flags, ssize_t *ret)
{
	return rsp_tap_has(fd) && rsp_tap_receive(fd, msg, flags, ret);
}

/*
 * Handlers run in the reverse order before fork(). Those of the adapter's library, which hold its locks until behind fork(), are there
 * since the first request has been served, and come second.
 */
static void served(void)
{
	static atomic_bool registered;

	if (!atomic_exchange(&registered, true))
		pthread_atfork(before_fork, NULL, in_child);
}

__attribute__((constructor))
static void at_load(void)
{
	rsp_serve_here = serve_here;
	rsp_expect = expect;
	rsp_receive_here = receive_here;
	rsp_served_here = served;
	rsp_is_inside = is_inside;
}

/* --- calls for octets --- */

void rsp_tap_forget(int fd)
{
	if (fd >= 0 && fd < FDS && atomic_load_explicit(&entries[fd], memory_order_relaxed))
		atomic_store(&entries[fd], NULL);
}

bool rsp_tap_has(int fd)
{
	return !inside && fd >= 0 && fd < FDS && atomic_load_explicit(&entries[fd], memory_order_relaxed);
}

/* A name that the relay's end does not have yet is that of a connection that does not stand. */
static struct sdp_relay *find(int fd)
{
	struct sdp_relay *r = atomic_load(&entries[fd]);
	struct sockaddr_un un;
	struct rsp_name name;
	socklen_t len = sizeof(un);

	if (r != EXPECTED)
		return r;
	memset(&un, 0, sizeof(un));
	if (!rsp_real()->getpeername(fd, (struct sockaddr *)&un, &len) && un.sun_family == AF_UNIX && len <= sizeof(sa_family_t))
		return NULL;
	inside = true;
	r = rsp_name_read(&un, len, &name) ? atomic_load(&own)->find(&un, len, fd) : NULL;
	inside = false;
	atomic_store(&entries[fd], r);
	return r;
}

/* The message without its first octets. */
static void skip(struct msghdr *msg, struct iovec parts[PARTS], size_t n)
{
	size_t i = 0;

	while (n >= msg->msg_iov[i].iov_len)
		n -= msg->msg_iov[i++].iov_len;
	msg->msg_iovlen -= i;
	memcpy(parts, msg->msg_iov + i, msg->msg_iovlen * sizeof(*parts));
	parts[0].iov_base = (char *)parts[0].iov_base + n;
	parts[0].iov_len -= n;
	msg->msg_iov = parts;
}

/* The connection's part of a call, then the stream's. Returns as rsp_tap_receive(). */
static bool pass(struct sdp_relay *r, int fd, const struct msghdr *msg, int flags, bool sends, ssize_t *ret)
{
	const struct rsp_own *o = atomic_load(&own);
	struct iovec parts[PARTS];
	struct msghdr rest = *msg;
	bool ended;
	ssize_t n;

	inside = true;
	ended = (sends ? o->send : o->receive)(r, fd, msg->msg_iov, (int)msg->msg_iovlen, flags, ret);
	inside = false;
	if (ended)
		return true;
	if (!*ret)
		return false;
	skip(&rest, parts, (size_t)*ret);
	n = sends ? rsp_real()->sendmsg(fd, &rest, flags) : rsp_real()->recvmsg(fd, &rest, flags);
	*ret += n > 0 ? n : 0;
	return true;
}

bool rsp_tap_receive(int fd, const struct msghdr *msg, int flags, ssize_t *ret)
{
	struct sdp_relay *r = msg->msg_iovlen <= PARTS ? find(fd) : NULL;

	return r && pass(r, fd, msg, flags, false, ret);
}

bool rsp_tap_send(int fd, const struct msghdr *msg, int flags, ssize_t *ret)
{
	struct sdp_relay *r = msg->msg_iovlen <= PARTS && !msg->msg_controllen ? find(fd) : NULL;

	return r && pass(r, fd, msg, flags, true, ret);
}

void rsp_tap_release(const void *caller)
{
	const struct rsp_own *o = atomic_load(&own);

	/* A call of the program that waits inside has the connection; another library, as of a sanitizer, may stand between as the caller. */
	if (!inside && o && atomic_load(o->leased) && !is_of_ours(caller))
		o->release();
}

void rsp_tap_share(int fd)
{
	struct sdp_relay *r = rsp_tap_has(fd) ? find(fd) : NULL;

	if (r)
		atomic_load(&own)->share(r);
}
