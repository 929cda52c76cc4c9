/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * librds-preload with calls of which the n-th fails in one thread, for `tests/interop/rds program_failures`: the program calls rds_nth_arm() and
 * rds_nth_disarm() around a call on a socket. The linker leads calls of the library here (--wrap, meson.build). Calls that have no error but for wrong words
 * - names and types of sockets - do not fail.
 */
#include "util/export.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>

static _Thread_local unsigned long left, run;
static _Thread_local const char *failed;

void rds_nth_arm(unsigned long n, unsigned long length);
const char *rds_nth_disarm(void);

/* In this thread the n-th call from now on fails, and so many in all, one after the other. */
UT_EXPORT void rds_nth_arm(unsigned long n, unsigned long length)
{
	left = n;
	run = length;
	failed = NULL;
}

/* Ends that. Returns the call that has failed first, or NULL. */
UT_EXPORT const char *rds_nth_disarm(void)
{
	left = 0;
	return failed;
}

static bool fails(const char *name, int error)
{
	if (!left || --left)
		return false;
	if (--run)
		left = 1;
	if (!failed)
		failed = name;
	errno = error;
	return true;
}

/* --- calls of the system by number --- */

struct call {
	long nr;
	const char *name;
	int error;
};

static const struct call calls[] = {
	{ SYS_socket, "socket", EMFILE }, { SYS_socketpair, "socketpair", EMFILE }, { SYS_bind, "bind", ENOMEM },
	{ SYS_connect, "connect", ENOMEM }, { SYS_sendmsg, "sendmsg", ENOBUFS }, { SYS_recvmsg, "recvmsg", ENOMEM },
	{ SYS_recvfrom, "recvfrom", ENOMEM }, { SYS_write, "write", ENOSPC }, { SYS_pwrite64, "pwrite64", ENOSPC },
	{ SYS_mmap, "SYS_mmap", ENOMEM }, { SYS_process_vm_readv, "process_vm_readv", ENOMEM },
	{ SYS_process_vm_writev, "process_vm_writev", ENOMEM }, { SYS_setsockopt, "setsockopt", ENOMEM },
};

long __real_syscall(long nr, ...);
long __wrap_syscall(long nr, ...);
long __wrap_syscall(long nr, ...)
{
	long a[6];
	va_list ap;

	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++)
		if (calls[i].nr == nr && fails(calls[i].name, calls[i].error))
			return -1;
	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	return __real_syscall(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* --- calls of the library, by the names that they have with offsets of 64 bits --- */

#define PARAMS(...) __VA_ARGS__
#define FAILS(type, name, none, error, params, args)    \
	type __real_##name(PARAMS params);              \
	type __wrap_##name(PARAMS params);              \
	type __wrap_##name(PARAMS params)               \
	{                                               \
		return fails(#name, error) ? none : __real_##name args; \
	}

FAILS(void *, malloc, NULL, ENOMEM, (size_t n), (n))
FAILS(void *, mmap64, MAP_FAILED, ENOMEM, (void *at, size_t n, int prot, int flags, int fd, off_t offset), (at, n, prot, flags, fd, offset))
FAILS(FILE *, fopen64, NULL, EMFILE, (const char *path, const char *mode), (path, mode))
FAILS(int, memfd_create, -1, EMFILE, (const char *name, unsigned flags), (name, flags))
FAILS(int, ftruncate64, -1, ENOMEM, (int fd, off_t n), (fd, n))
FAILS(ssize_t, pread64, -1, ENOMEM, (int fd, void *to, size_t n, off_t at), (fd, to, n, at))
FAILS(ssize_t, preadv64, -1, ENOMEM, (int fd, const struct iovec *v, int nr, off_t at), (fd, v, nr, at))
FAILS(int, pthread_getattr_np, ENOMEM, ENOMEM, (pthread_t t, pthread_attr_t *a), (t, a))
FAILS(int, rsp_spawn, -EAGAIN, EAGAIN, (const char *name, int fd), (name, fd))
/* Beside F_DUPFD_CLOEXEC the library has commands that cannot fail. */
int __real_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...);
int __wrap_fcntl64(int fd, int command, ...)
{
	va_list ap;
	long word;

	if (command == F_DUPFD_CLOEXEC && fails("fcntl", EMFILE))
		return -1;
	va_start(ap, command);
	word = va_arg(ap, long);
	va_end(ap);
	return __real_fcntl64(fd, command, word);
}
