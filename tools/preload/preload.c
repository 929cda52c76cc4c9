/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */

/*
 * libdapple-preload.so redirects look-ups of
 *
 *   /sys/class/infiniband  /sys/class/infiniband_verbs  /sys/class/infiniband_mad
 *   /dev/infiniband        /sys/class/net/<if>/device/infiniband
 *
 * to the device tree (DAPPLE_TREE, or the tree of this network namespace), for
 * programs that read these paths without libibverbs.  Other paths pass after a
 * comparison of a few bytes.  Names in /dev/infiniband are redirected to
 * /dev/null, because programs expect a character device that they may open; those
 * of subnet managers (issmN) lead to files that are for it.
 *
 * A socket of NETLINK_RDMA is answered from the same tree (nldev.h), where there is one.
 *
 * A counter's file shows what a process has counted up to a second ago
 * (device/counts.h). Before this process reads one, by a descriptor that it has opened
 * here, its libdapple is asked to add what is new.
 *
 * _exit() and _Exit() of every library of the program let its libdapple send first what was posted and acknowledged
 * (device/process.h), wherever libibverbs stands in the search order.
 *
 * No function allocates, locks or changes errno before the original call, so
 * that each call is as safe in a signal handler or after vfork as the original; but for
 * reads of a counter and requests of RDMA netlink.
 * A constructor looks up the originals; a library whose constructor runs earlier
 * does so at its first call. Writing the same pointer twice is harmless.
 */

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/netlink.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "nldev.h"
#include "util/rundir.h"

#define EXPORT __attribute__((visibility("default")))

/* --- the tree --- */

static char tree[UT_RUNDIR_MAX + 64];
static int tree_state;		/* 0 unknown, 1 being written, 2 there, 3 none */

static void find_tree(void)
{
	const char *env = getenv("DAPPLE_TREE");
	int unknown = 0, saved = errno, state = 3;

	if (!__atomic_compare_exchange_n(&tree_state, &unknown, 1, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		return;
	if (env && env[0] == '/' && strlen(env) < sizeof(tree)) {
		strcpy(tree, env);
		state = 2;
	} else if (ut_rundir_net(tree, UT_RUNDIR_MAX, NULL, 0) == 0) {
		ut_rundir_view(tree + strlen(tree));
		state = 2;
	}
	__atomic_store_n(&tree_state, state, __ATOMIC_RELEASE);
	errno = saved;
}

/* --- which paths --- */

#define SYS_CLASS "/sys/class/"
#define DEV_DIR "/dev/infiniband"
#define NET_PART "/device/infiniband"

/* Returns true if the text is the word, alone or followed by a path. */
static bool is_or_below(const char *text, const char *word)
{
	size_t n = strlen(word);

	return strncmp(text, word, n) == 0 && (!text[n] || text[n] == '/');
}

static bool exists(const char *path)
{
	int saved = errno;
	bool yes;

	yes = syscall(SYS_faccessat, AT_FDCWD, path, F_OK) == 0;
	errno = saved;
	return yes;
}

/* Returns the path below the tree, or NULL for a path that is not redirected. */
static const char *tree_part(const char *path, bool *ret_node)
{
	const char *rest, *slash;

	*ret_node = false;
	if (is_or_below(path, DEV_DIR)) {
		rest = path + strlen(DEV_DIR);
		rest += strspn(rest, "/");
		*ret_node = *rest && *rest != '.' && !strchr(rest, '/');
		return path;
	}
	if (strncmp(path, SYS_CLASS, strlen(SYS_CLASS)) != 0)
		return NULL;
	rest = path + strlen(SYS_CLASS);
	if (is_or_below(rest, "infiniband") || is_or_below(rest, "infiniband_verbs") ||
	    is_or_below(rest, "infiniband_mad"))
		return path + strlen("/sys");
	if (strncmp(rest, "net/", 4) != 0)
		return NULL;
	slash = strchr(rest + 4, '/');
	return slash && is_or_below(slash, NET_PART) ? path + strlen("/sys") : NULL;
}

static bool is_issm(const char *part)
{
	return strncmp(part + strlen(DEV_DIR), "/issm", 5) == 0;
}

/* Out of line, so that the fast test in redirect() touches no buffer. */
__attribute__((noinline))
static const char *rewrite(const char *path, char *buf, size_t size)
{
	const char *part;
	bool node;

	part = tree_part(path, &node);
	if (!part)
		return path;
	if (__atomic_load_n(&tree_state, __ATOMIC_ACQUIRE) < 2)
		find_tree();
	if (__atomic_load_n(&tree_state, __ATOMIC_ACQUIRE) != 2)
		return path;
	if (strlen(tree) + strlen(part) >= size)
		return path;
	strcpy(stpcpy(buf, tree), part);
	/* A network interface without an adapter keeps its real directory. */
	if (strncmp(part, "/class/net/", 11) == 0 && !exists(buf))
		return path;
	return node && !is_issm(part) && exists(buf) ? "/dev/null" : buf;
}

/* The headers declare most paths as never NULL, so that the compiler would drop
 * the test; the asm keeps it, since the originals return EFAULT for NULL. */
static inline const char *redirect(const char *path, char *buf)
{
	__asm__("" : "+r"(path));
	if (!path || path[0] != '/')
		return path;
	if ((path[1] == 's' && path[2] == 'y') || (path[1] == 'd' && path[2] == 'e'))
		return rewrite(path, buf, PATH_MAX);
	return path;
}

/* hwloc and others open "/" and look up the rest relative to it. */
__attribute__((noinline))
static const char *rewrite_at(int dirfd, const char *path, char *buf)
{
	char full[PATH_MAX];
	int saved = errno;
	struct stat fd, root;
	const char *r;

	if (strncmp(path, &SYS_CLASS[1], strlen(SYS_CLASS) - 1) != 0 &&
	    strncmp(path, &DEV_DIR[1], strlen(DEV_DIR) - 1) != 0)
		return path;
	if (strlen(path) + 2 > sizeof(full) || syscall(SYS_newfstatat, dirfd, "", &fd, AT_EMPTY_PATH) < 0 ||
	    syscall(SYS_newfstatat, AT_FDCWD, "/", &root, 0) < 0 || fd.st_dev != root.st_dev ||
	    fd.st_ino != root.st_ino) {
		errno = saved;
		return path;
	}
	full[0] = '/';
	strcpy(full + 1, path);
	r = rewrite(full, buf, PATH_MAX);
	return r == full ? path : r;
}

static inline const char *redirect_at(int dirfd, const char *path, char *buf)
{
	__asm__("" : "+r"(path));
	if (path && dirfd >= 0 && (path[0] == 's' || path[0] == 'd'))
		return rewrite_at(dirfd, path, buf);
	return redirect(path, buf);
}

/* --- counters --- */

/* Set by a libdapple of this process. */
EXPORT void (*dapple_preload_reader)(void);

#define COUNTED_MAX 1024 /* descriptors from here on show what the thread has added */
static unsigned char counted[COUNTED_MAX]; /* the descriptor was opened for a counter */

static bool is_counter(const char *path)
{
	size_t n;

	if (path[0] != '/' || !dapple_preload_reader || __atomic_load_n(&tree_state, __ATOMIC_ACQUIRE) != 2 ||
	    path[1] != tree[1])
		return false;
	n = strlen(tree);
	return strncmp(path, tree, n) == 0 && path[n] == '/' && strstr(path + n, "counters/");
}

/* Before a counter is opened. Returns whether the path is one's. */
static bool before_open(const char *path)
{
	bool yes;

	__asm__("" : "+r"(path));
	yes = path && is_counter(path);
	if (yes)
		dapple_preload_reader();
	return yes;
}

static int opened(int fd, bool counter)
{
	if (fd >= 0 && fd < COUNTED_MAX && (counter || counted[fd]))
		counted[fd] = counter;
	return fd;
}

/* Another file may have taken the number, by dup2() or after a close(). */
static bool still_counter(int fd)
{
	int saved = errno;
	struct stat st;
	char link[32], path[PATH_MAX];
	ssize_t n = -1;

	if (syscall(SYS_newfstatat, fd, "", &st, AT_EMPTY_PATH) == 0 && S_ISREG(st.st_mode)) {
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
		n = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof(path) - 1);
	}
	errno = saved;
	if (n <= 0)
		return false;
	path[n] = 0;
	return is_counter(path);
}

static void before_read(int fd)
{
	if (__builtin_expect((unsigned)fd >= COUNTED_MAX || !counted[fd], 1))
		return;
	if (still_counter(fd))
		dapple_preload_reader();
	else
		counted[fd] = 0;
}

/* --- the originals --- */

#define ORIGINALS(X) \
	X(read) X(pread) X(pread64) X(__read_chk) X(__pread_chk) X(__pread64_chk) \
	X(open) X(open64) X(openat) X(openat64) X(__open_2) X(__open64_2) X(__openat_2) \
	X(__openat64_2) X(fopen) X(fopen64) X(stat) X(stat64) X(lstat) X(lstat64) X(fstatat) \
	X(fstatat64) X(statx) X(__xstat) X(__xstat64) X(__lxstat) X(__lxstat64) X(__fxstatat) \
	X(__fxstatat64) X(access) X(eaccess) X(euidaccess) X(faccessat) X(opendir) X(scandir) X(scandir64) \
	X(readlink) X(readlinkat) X(__readlink_chk) X(__readlinkat_chk) X(realpath) \
	X(__realpath_chk) X(canonicalize_file_name) X(chdir) X(getxattr) X(lgetxattr) \
	X(listxattr) X(llistxattr) X(socket) X(sendto) X(sendmsg) X(_exit) X(_Exit)

enum {
#define X(name) O_##name,
	ORIGINALS(X)
#undef X
	N_ORIGINALS
};

static const char *const names[N_ORIGINALS] = {
#define X(name) #name,
	ORIGINALS(X)
#undef X
};

static void *originals[N_ORIGINALS];

static long no_such_call(void)
{
	errno = ENOSYS;
	return -1;
}

static void *no_such_pointer(void)
{
	errno = ENOSYS;
	return NULL;
}

static void *original(int which)
{
	void *f = __atomic_load_n(&originals[which], __ATOMIC_RELAXED);

	if (f)
		return f;
	f = dlsym(RTLD_NEXT, names[which]);
	if (!f)
		f = which == O_fopen || which == O_fopen64 || which == O_opendir ||
		    which == O_realpath || which == O___realpath_chk ||
		    which == O_canonicalize_file_name ? (void *)no_such_pointer : (void *)no_such_call;
	__atomic_store_n(&originals[which], f, __ATOMIC_RELAXED);
	return f;
}

__attribute__((constructor))
static void look_up_all(void)
{
	int i, saved = errno;

	for (i = 0; i < N_ORIGINALS; i++)
		original(i);
	find_tree();
	errno = saved;
}

/* --- the calls --- */

/*
 * FORWARD(result, name, parameters, arguments): calls the original with the
 * parameter "path" redirected.
 */
#define FORWARD(type, name, params, args) \
	EXPORT type name params; \
	EXPORT type name params \
	{ \
		char buf[PATH_MAX]; \
		type (*f) params = (type (*) params)original(O_##name); \
		path = redirect(path, buf); \
		return f args; \
	}

#define FORWARD_AT(type, name, params, args) \
	EXPORT type name params; \
	EXPORT type name params \
	{ \
		char buf[PATH_MAX]; \
		type (*f) params = (type (*) params)original(O_##name); \
		path = redirect_at(dirfd, path, buf); \
		return f args; \
	}

#define MODE_OF(flags, mode) \
	do { \
		if ((flags) & (O_CREAT | __O_TMPFILE)) { \
			va_list ap; \
			va_start(ap, flags); \
			(mode) = va_arg(ap, mode_t); \
			va_end(ap); \
		} \
	} while (0)

#define OPEN(name) \
	EXPORT int name(const char *path, int flags, ...) \
	{ \
		char buf[PATH_MAX]; \
		mode_t mode = 0; \
		bool counter; \
		MODE_OF(flags, mode); \
		path = redirect(path, buf); \
		counter = before_open(path); \
		return opened(((int (*)(const char *, int, ...))original(O_##name))(path, flags, mode), counter); \
	}

#define OPENAT(name) \
	EXPORT int name(int dirfd, const char *path, int flags, ...) \
	{ \
		char buf[PATH_MAX]; \
		mode_t mode = 0; \
		bool counter; \
		MODE_OF(flags, mode); \
		path = redirect_at(dirfd, path, buf); \
		counter = before_open(path); \
		return opened(((int (*)(int, const char *, int, ...))original(O_##name))(dirfd, path, flags, mode), \
			      counter); \
	}

OPEN(open)
OPEN(open64)
OPENAT(openat)
OPENAT(openat64)

/* The same with `path`, redirected, looked at first. */
#define FORWARD_OPEN(type, name, how, params, args) \
	EXPORT type name params; \
	EXPORT type name params \
	{ \
		char buf[PATH_MAX]; \
		type (*f) params = (type (*) params)original(O_##name); \
		path = how; \
		before_open(path); \
		return f args; \
	}

FORWARD_OPEN(int, __open_2, redirect(path, buf), (const char *path, int flags), (path, flags))
FORWARD_OPEN(int, __open64_2, redirect(path, buf), (const char *path, int flags), (path, flags))
FORWARD_OPEN(int, __openat_2, redirect_at(dirfd, path, buf), (int dirfd, const char *path, int flags),
	     (dirfd, path, flags))
FORWARD_OPEN(int, __openat64_2, redirect_at(dirfd, path, buf), (int dirfd, const char *path, int flags),
	     (dirfd, path, flags))

FORWARD_OPEN(FILE *, fopen, redirect(path, buf), (const char *path, const char *mode), (path, mode))
FORWARD_OPEN(FILE *, fopen64, redirect(path, buf), (const char *path, const char *mode), (path, mode))

#define READ(name, params, args) \
	EXPORT ssize_t name params; \
	EXPORT ssize_t name params \
	{ \
		before_read(fd); \
		return ((ssize_t (*) params)original(O_##name))args; \
	}

READ(read, (int fd, void *buf, size_t n), (fd, buf, n))
READ(pread, (int fd, void *buf, size_t n, off_t at), (fd, buf, n, at))
READ(pread64, (int fd, void *buf, size_t n, off64_t at), (fd, buf, n, at))
READ(__read_chk, (int fd, void *buf, size_t n, size_t room), (fd, buf, n, room))
READ(__pread_chk, (int fd, void *buf, size_t n, off_t at, size_t room), (fd, buf, n, at, room))
READ(__pread64_chk, (int fd, void *buf, size_t n, off64_t at, size_t room), (fd, buf, n, at, room))

FORWARD(int, stat, (const char *path, struct stat *st), (path, st))
FORWARD(int, stat64, (const char *path, struct stat64 *st), (path, st))
FORWARD(int, lstat, (const char *path, struct stat *st), (path, st))
FORWARD(int, lstat64, (const char *path, struct stat64 *st), (path, st))
FORWARD_AT(int, fstatat, (int dirfd, const char *path, struct stat *st, int flags),
	   (dirfd, path, st, flags))
FORWARD_AT(int, fstatat64, (int dirfd, const char *path, struct stat64 *st, int flags),
	   (dirfd, path, st, flags))
FORWARD_AT(int, statx, (int dirfd, const char *path, int flags, unsigned mask, struct statx *st),
	   (dirfd, path, flags, mask, st))
FORWARD(int, __xstat, (int ver, const char *path, struct stat *st), (ver, path, st))
FORWARD(int, __xstat64, (int ver, const char *path, struct stat64 *st), (ver, path, st))
FORWARD(int, __lxstat, (int ver, const char *path, struct stat *st), (ver, path, st))
FORWARD(int, __lxstat64, (int ver, const char *path, struct stat64 *st), (ver, path, st))
FORWARD_AT(int, __fxstatat, (int ver, int dirfd, const char *path, struct stat *st, int flags),
	   (ver, dirfd, path, st, flags))
FORWARD_AT(int, __fxstatat64, (int ver, int dirfd, const char *path, struct stat64 *st, int flags),
	   (ver, dirfd, path, st, flags))

FORWARD(int, access, (const char *path, int mode), (path, mode))
FORWARD(int, eaccess, (const char *path, int mode), (path, mode))
FORWARD(int, euidaccess, (const char *path, int mode), (path, mode))
FORWARD_AT(int, faccessat, (int dirfd, const char *path, int mode, int flags),
	   (dirfd, path, mode, flags))

FORWARD(DIR *, opendir, (const char *path), (path))
FORWARD(int, scandir, (const char *path, struct dirent ***list, int (*pick)(const struct dirent *),
		       int (*order)(const struct dirent **, const struct dirent **)),
	(path, list, pick, order))
FORWARD(int, scandir64, (const char *path, struct dirent64 ***list,
			 int (*pick)(const struct dirent64 *),
			 int (*order)(const struct dirent64 **, const struct dirent64 **)),
	(path, list, pick, order))

FORWARD(ssize_t, readlink, (const char *path, char *out, size_t size), (path, out, size))
FORWARD(ssize_t, __readlink_chk, (const char *path, char *out, size_t size, size_t room),
	(path, out, size, room))
FORWARD_AT(ssize_t, readlinkat, (int dirfd, const char *path, char *out, size_t size),
	   (dirfd, path, out, size))
FORWARD_AT(ssize_t, __readlinkat_chk,
	   (int dirfd, const char *path, char *out, size_t size, size_t room),
	   (dirfd, path, out, size, room))
FORWARD(char *, realpath, (const char *path, char *out), (path, out))
FORWARD(char *, __realpath_chk, (const char *path, char *out, size_t room), (path, out, room))
FORWARD(char *, canonicalize_file_name, (const char *path), (path))

FORWARD(int, chdir, (const char *path), (path))
FORWARD(ssize_t, getxattr, (const char *path, const char *name, void *out, size_t size),
	(path, name, out, size))
FORWARD(ssize_t, lgetxattr, (const char *path, const char *name, void *out, size_t size),
	(path, name, out, size))
FORWARD(ssize_t, listxattr, (const char *path, char *out, size_t size), (path, out, size))
FORWARD(ssize_t, llistxattr, (const char *path, char *out, size_t size), (path, out, size))

/* --- RDMA netlink --- */

static const char *whole_tree(void)
{
	if (__atomic_load_n(&tree_state, __ATOMIC_ACQUIRE) < 2)
		find_tree();
	return __atomic_load_n(&tree_state, __ATOMIC_ACQUIRE) == 2 ? tree : NULL;
}

EXPORT int socket(int domain, int type, int protocol)
{
	int (*f)(int, int, int) = (int (*)(int, int, int))original(O_socket);

	if (__builtin_expect(domain == AF_NETLINK && protocol == NETLINK_RDMA, 0) && whole_tree() && exists(tree))
		return nldev_socket(type);
	return f(domain, type, protocol);
}

EXPORT ssize_t sendto(int fd, const void *buf, size_t n, int flags, __CONST_SOCKADDR_ARG to, socklen_t size)
{
	ssize_t (*f)(int, const void *, size_t, int, __CONST_SOCKADDR_ARG, socklen_t) =
		(ssize_t (*)(int, const void *, size_t, int, __CONST_SOCKADDR_ARG, socklen_t))original(O_sendto);

	if (nldev_may_be(fd) && nldev_answer(fd, tree, buf, n))
		return (ssize_t)n;
	return f(fd, buf, n, flags, to, size);
}

EXPORT ssize_t sendmsg(int fd, const struct msghdr *msg, int flags)
{
	ssize_t (*f)(int, const struct msghdr *, int) = (ssize_t (*)(int, const struct msghdr *, int))original(O_sendmsg);

	if (nldev_may_be(fd) && msg->msg_iovlen == 1 &&
	    nldev_answer(fd, tree, msg->msg_iov[0].iov_base, msg->msg_iov[0].iov_len))
		return (ssize_t)msg->msg_iov[0].iov_len;
	return f(fd, msg, flags);
}

/* --- the end --- */

/* Set by a libdapple of this process. */
EXPORT void (*dapple_preload_leave)(void);

static void leave(int status, int which)
{
	void (*f)(int) = (void (*)(int))original(which);

	if (dapple_preload_leave)
		dapple_preload_leave();
	f(status);
	for (;;)
		syscall(SYS_exit_group, status);
}

EXPORT void _exit(int status)
{
	leave(status, O__exit);
	__builtin_unreachable();
}

EXPORT void _Exit(int status)
{
	leave(status, O__Exit);
	__builtin_unreachable();
}
