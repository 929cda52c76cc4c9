/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A call is described by memory that the kernel fills and by what it waits for; struct desc has that, and the calls that
 * need more than it can say come first, in special().
 */
#include "calls.h"

#include "descriptors.h"
#include "log.h"
#include "raw.h"
#include "signals.h"
#include "state.h"

#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/ethtool.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define OUTS 4
#define EVER ((long)-1)

enum how { LOGGED, DIRECT, FAILS, UNKNOWN };

struct desc {
	enum how how;
	struct out {
		void *p;
		size_t n; /* bytes, or bytes of each of `result` things */
		bool by_result;
	} outs[OUTS];
	int n_outs;
	int fd;               /* -1: none; else it is compared */
	bool makes_fd;
	short waits_for;      /* on fd, unless it does not block; POLLIN, POLLOUT or 0 */
	bool waits;           /* in another way */
	socklen_t *addr_len;  /* beside addr: capacity, then length */
	void *addr;
	const struct iovec *out_data; /* to the outside */
	int n_out_data;
	struct iovec in_data[1];      /* from there: `result` bytes */
	const struct iovec *in_iov;
	int n_in_iov;
	struct iovec one;
	struct msghdr *msg;   /* recvmsg: name, control and flags come back */
};

/* --- descriptions --- */

static void fill(struct desc *d, long p, size_t n)
{
	if (p)
		d->outs[d->n_outs++] = (struct out){ (void *)p, n, false };
}

/* `result` things of n bytes. */
static void fill_result(struct desc *d, long p, size_t n)
{
	if (p)
		d->outs[d->n_outs++] = (struct out){ (void *)p, n, true };
}

static void on_fd(struct desc *d, long fd, short waits_for)
{
	d->fd = (int)fd;
	d->waits_for = waits_for;
}

static void sends(struct desc *d, long fd, const void *p, long n, long flags)
{
	on_fd(d, fd, flags & MSG_DONTWAIT ? 0 : POLLOUT);
	if (p) {
		d->one = (struct iovec){ (void *)p, (size_t)n };
		d->out_data = NULL;
		d->n_out_data = 1;
	}
}

static void ioctl_of(struct desc *d, const long a[6])
{
	unsigned long request = (unsigned long)a[1];

	on_fd(d, a[0], 0);
	if (request == SIOCGIFCONF)
		fill(d, a[2], sizeof(struct ifconf));
	else if ((request & 0xff00) == 0x8900)
		fill(d, a[2], sizeof(struct ifreq));
	else if (request == TCGETS)
		fill(d, a[2], sizeof(struct termios));
	else if (request == TIOCGWINSZ)
		fill(d, a[2], 4 * sizeof(unsigned short));
	else if (request == FIONREAD || request == TIOCOUTQ)
		fill(d, a[2], sizeof(int));
	else if (_IOC_DIR(request) & _IOC_READ)
		fill(d, a[2], _IOC_SIZE(request));
}

static void select_of(struct desc *d, const long a[6])
{
	size_t n = ((size_t)a[0] + 63) / 64 * 8;

	fill(d, a[1], n);
	fill(d, a[2], n);
	fill(d, a[3], n);
	d->waits = true;
}

static bool describe_files(struct desc *d, int nr, const long a[6])
{
	switch (nr) {
	case SYS_read:
		on_fd(d, a[0], POLLIN);
		fill_result(d, a[1], 1);
		break;
	case SYS_pread64:
		on_fd(d, a[0], 0);
		fill_result(d, a[1], 1);
		break;
	case SYS_readv:
	case SYS_preadv:
	case SYS_preadv2:
		on_fd(d, a[0], nr == SYS_readv ? POLLIN : 0);
		d->in_iov = (const void *)a[1];
		d->n_in_iov = (int)a[2];
		break;
	case SYS_write:
	case SYS_pwrite64:
		sends(d, a[0], (void *)a[1], a[2], nr == SYS_write ? 0 : MSG_DONTWAIT);
		break;
	case SYS_writev:
	case SYS_pwritev:
	case SYS_pwritev2:
		sends(d, a[0], NULL, 0, nr == SYS_writev ? 0 : MSG_DONTWAIT);
		d->out_data = (const void *)a[1];
		d->n_out_data = (int)a[2];
		break;
	case SYS_open:
	case SYS_openat:
	case SYS_creat:
		d->makes_fd = true;
		break;
	case SYS_stat:
	case SYS_lstat:
		fill(d, a[1], 144);
		break;
	case SYS_fstat:
		on_fd(d, a[0], 0);
		fill(d, a[1], 144);
		break;
	case SYS_newfstatat:
		fill(d, a[2], 144);
		break;
	case SYS_statx:
		fill(d, a[4], 256);
		break;
	case SYS_statfs:
	case SYS_fstatfs:
		fill(d, a[1], 120);
		break;
	case SYS_readlink:
	case SYS_getdents64:
		fill_result(d, a[1], 1);
		break;
	case SYS_readlinkat:
		fill_result(d, a[2], 1);
		break;
	case SYS_getcwd:
		fill_result(d, a[0], 1);
		break;
	case SYS_ioctl:
		ioctl_of(d, a);
		break;
	case SYS_flock:
	case SYS_fsync:
	case SYS_fdatasync:
		on_fd(d, a[0], 0);
		d->waits = true;
		break;
	case SYS_access:
	case SYS_faccessat:
	case SYS_faccessat2:
	case SYS_lseek:
	case SYS_ftruncate:
	case SYS_truncate:
	case SYS_fallocate:
	case SYS_unlink:
	case SYS_unlinkat:
	case SYS_mkdir:
	case SYS_mkdirat:
	case SYS_rmdir:
	case SYS_rename:
	case SYS_renameat:
	case SYS_renameat2:
	case SYS_link:
	case SYS_linkat:
	case SYS_symlink:
	case SYS_symlinkat:
	case SYS_chmod:
	case SYS_fchmod:
	case SYS_fchmodat:
	case SYS_chown:
	case SYS_fchown:
	case SYS_chdir:
	case SYS_fchdir:
	case SYS_umask:
	case SYS_utimensat:
	case SYS_fadvise64:
	case SYS_mknod:
	case SYS_mknodat:
		break;
	default:
		return false;
	}
	return true;
}

static bool describe_descriptors(struct desc *d, int nr, const long a[6])
{
	switch (nr) {
	case SYS_dup:
	case SYS_epoll_create:
	case SYS_epoll_create1:
	case SYS_eventfd:
	case SYS_eventfd2:
	case SYS_timerfd_create:
	case SYS_signalfd4:
	case SYS_inotify_init1:
	case SYS_pidfd_open:
	case SYS_memfd_create:
	case SYS_socket:
		d->makes_fd = true;
		break;
	case SYS_dup2:
	case SYS_dup3:
		on_fd(d, a[1], 0);
		d->makes_fd = true;
		break;
	case SYS_fcntl:
		on_fd(d, a[0], 0);
		d->makes_fd = a[1] == F_DUPFD || a[1] == F_DUPFD_CLOEXEC;
		if (a[1] == F_GETLK)
			fill(d, a[2], 32);
		d->waits = a[1] == F_SETLKW;
		break;
	case SYS_close:
		on_fd(d, a[0], 0);
		break;
	case SYS_pipe:
	case SYS_pipe2:
		fill(d, a[0], 8);
		break;
	case SYS_epoll_ctl:
		on_fd(d, a[0], 0);
		break;
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		on_fd(d, a[0], 0);
		fill_result(d, a[1], 12);
		d->waits = a[3] != 0;
		break;
	case SYS_epoll_pwait2:
		on_fd(d, a[0], 0);
		fill_result(d, a[1], 12);
		d->waits = true;
		break;
	case SYS_poll:
		fill(d, a[0], (size_t)a[1] * sizeof(struct pollfd));
		d->waits = a[2] != 0;
		break;
	case SYS_ppoll:
		fill(d, a[0], (size_t)a[1] * sizeof(struct pollfd));
		d->waits = true;
		break;
	case SYS_select:
	case SYS_pselect6:
		select_of(d, a);
		break;
	case SYS_timerfd_settime:
		on_fd(d, a[0], 0);
		fill(d, a[3], 32);
		break;
	case SYS_timerfd_gettime:
		on_fd(d, a[0], 0);
		fill(d, a[1], 32);
		break;
	case SYS_inotify_add_watch:
	case SYS_inotify_rm_watch:
		on_fd(d, a[0], 0);
		break;
	default:
		return false;
	}
	return true;
}

static bool describe_sockets(struct desc *d, int nr, const long a[6])
{
	switch (nr) {
	case SYS_bind:
	case SYS_listen:
	case SYS_setsockopt:
	case SYS_shutdown:
		on_fd(d, a[0], 0);
		break;
	case SYS_connect:
		on_fd(d, a[0], 0);
		d->waits = true;
		break;
	case SYS_accept:
	case SYS_accept4:
		on_fd(d, a[0], POLLIN);
		d->makes_fd = true;
		d->addr = (void *)a[1];
		d->addr_len = (void *)a[2];
		break;
	case SYS_getsockname:
	case SYS_getpeername:
		on_fd(d, a[0], 0);
		d->addr = (void *)a[1];
		d->addr_len = (void *)a[2];
		break;
	case SYS_getsockopt:
		on_fd(d, a[0], 0);
		d->addr = (void *)a[3];
		d->addr_len = (void *)a[4];
		break;
	case SYS_socketpair:
		fill(d, a[3], 8);
		break;
	case SYS_recvfrom:
		on_fd(d, a[0], a[3] & MSG_DONTWAIT ? 0 : POLLIN);
		d->in_data[0] = (struct iovec){ (void *)a[1], (size_t)a[2] };
		d->in_iov = d->in_data;
		d->n_in_iov = 1;
		d->addr = (void *)a[4];
		d->addr_len = (void *)a[5];
		break;
	case SYS_recvmsg:
		on_fd(d, a[0], a[2] & MSG_DONTWAIT ? 0 : POLLIN);
		d->msg = (void *)a[1];
		break;
	case SYS_sendto:
		sends(d, a[0], (void *)a[1], a[2], a[3]);
		break;
	case SYS_sendmsg:
		sends(d, a[0], NULL, 0, a[2]);
		d->out_data = ((struct msghdr *)a[1])->msg_iov;
		d->n_out_data = (int)((struct msghdr *)a[1])->msg_iovlen;
		break;
	case SYS_recvmmsg:
	case SYS_sendmmsg:
		on_fd(d, a[0], a[3] & MSG_DONTWAIT ? 0 : nr == SYS_recvmmsg ? POLLIN : POLLOUT);
		break;
	default:
		return false;
	}
	return true;
}

static bool describe_process(struct desc *d, int nr, const long a[6])
{
	switch (nr) {
	case SYS_getpid:
	case SYS_gettid:
	case SYS_getppid:
	case SYS_getuid:
	case SYS_geteuid:
	case SYS_getgid:
	case SYS_getegid:
	case SYS_getpgrp:
	case SYS_getpgid:
	case SYS_getsid:
	case SYS_setsid:
	case SYS_setpgid:
	case SYS_getpriority:
	case SYS_setpriority:
	case SYS_sched_setaffinity:
	case SYS_sched_setscheduler:
	case SYS_sched_getscheduler:
	case SYS_sched_setattr:
	case SYS_sched_get_priority_max:
	case SYS_sched_get_priority_min:
	case SYS_sched_setparam:
	case SYS_setrlimit:
	case SYS_alarm:
	case SYS_sched_yield:
	case SYS_capset:
	case SYS_process_vm_writev:
	case SYS_shmget:
	case SYS_personality:
		break;
	case SYS_getresuid:
	case SYS_getresgid:
		fill(d, a[0], 4);
		fill(d, a[1], 4);
		fill(d, a[2], 4);
		break;
	case SYS_getgroups:
		fill_result(d, a[0], 4);
		break;
	case SYS_uname:
		fill(d, a[0], 390);
		break;
	case SYS_sysinfo:
		fill(d, a[0], 112);
		break;
	case SYS_getrusage:
		fill(d, a[1], 144);
		break;
	case SYS_times:
		fill(d, a[0], 32);
		break;
	case SYS_getrlimit:
		fill(d, a[1], 16);
		break;
	case SYS_prlimit64:
		fill(d, a[3], 16);
		break;
	case SYS_sched_getaffinity:
		fill_result(d, a[2], 1);
		break;
	case SYS_sched_getparam:
		fill(d, a[1], 4);
		break;
	case SYS_sched_getattr:
		fill(d, a[1], (size_t)a[2]);
		break;
	case SYS_getcpu:
		fill(d, a[0], 4);
		fill(d, a[1], 4);
		break;
	case SYS_capget:
		fill(d, a[0], 8);
		fill(d, a[1], 24);
		break;
	case SYS_getrandom:
		fill_result(d, a[0], 1);
		break;
	case SYS_clock_gettime:
	case SYS_clock_getres:
		fill(d, a[1], 16);
		break;
	case SYS_gettimeofday:
		fill(d, a[0], 16);
		fill(d, a[1], 8);
		break;
	case SYS_time:
		fill(d, a[0], 8);
		break;
	case SYS_setitimer:
		fill(d, a[2], 32);
		break;
	case SYS_getitimer:
		fill(d, a[1], 32);
		break;
	case SYS_nanosleep:
	case SYS_clock_nanosleep:
	case SYS_pause:
		d->waits = true;
		break;
	case SYS_wait4:
		fill(d, a[1], 4);
		fill(d, a[3], 144);
		d->waits = true;
		break;
	case SYS_waitid:
		fill(d, a[2], 128);
		fill(d, a[4], 144);
		d->waits = true;
		break;
	case SYS_process_vm_readv:
		d->in_iov = (const void *)a[1];
		d->n_in_iov = (int)a[2];
		break;
	default:
		return false;
	}
	return true;
}

static bool is_direct(int nr)
{
	switch (nr) {
	case SYS_brk:
	case SYS_munmap:
	case SYS_mprotect:
	case SYS_madvise:
	case SYS_mlock:
	case SYS_mlock2:
	case SYS_munlock:
	case SYS_mlockall:
	case SYS_munlockall:
	case SYS_msync:
	case SYS_mincore:
	case SYS_mbind:
	case SYS_get_mempolicy:
	case SYS_set_mempolicy:
	case SYS_arch_prctl:
	case SYS_prctl:
	case SYS_set_robust_list:
	case SYS_get_robust_list:
	case SYS_set_tid_address:
	case SYS_rseq:
	case SYS_membarrier:
	case SYS_pkey_alloc:
	case SYS_pkey_free:
	case SYS_pkey_mprotect:
		return true;
	default:
		return false;
	}
}

/* Calls whose work goes by shared memory, or that libraries try and can do without. */
static bool fails(int nr)
{
	return nr == SYS_io_uring_setup || nr == SYS_close_range || nr == SYS_userfaultfd || nr == SYS_shmat || nr == SYS_bpf ||
	       nr == SYS_perf_event_open;
}

static void describe(struct desc *d, int nr, const long a[6])
{
	memset(d, 0, sizeof(*d));
	d->fd = -1;
	if (is_direct(nr))
		d->how = DIRECT;
	else if (fails(nr))
		d->how = FAILS;
	else if (!describe_files(d, nr, a) && !describe_descriptors(d, nr, a) && !describe_sockets(d, nr, a) &&
		 !describe_process(d, nr, a))
		d->how = UNKNOWN;
}

/* --- execution while recording --- */

static bool blocks(int fd)
{
	long flags = RP_RAW3(SYS_fcntl, fd, F_GETFL, 0);

	return flags >= 0 && !(flags & O_NONBLOCK);
}

static long now_ns(int clock)
{
	struct timespec t;

	RP_RAW2(SYS_clock_gettime, clock, &t);
	return t.tv_sec * 1000000000l + t.tv_nsec;
}

/* A sleep that signals end. */
static long pause_for(const struct timespec *want, struct timespec *left, const uint64_t *mask)
{
	long begin = now_ns(CLOCK_MONOTONIC), rest;
	struct timespec ts = *want;
	long r = RP_RAW5(SYS_ppoll, NULL, 0, &ts, mask, 8);

	rest = want->tv_sec * 1000000000l + want->tv_nsec - (now_ns(CLOCK_MONOTONIC) - begin);
	if (r == -EINTR && left) {
		rest = rest < 0 ? 0 : rest;
		left->tv_sec = rest / 1000000000l;
		left->tv_nsec = rest % 1000000000l;
	}
	return r;
}

static long pause_until(int clock, const struct timespec *until, const uint64_t *mask)
{
	long rest = until->tv_sec * 1000000000l + until->tv_nsec - now_ns(clock);
	struct timespec ts = { rest / 1000000000l, rest % 1000000000l };

	return rest <= 0 ? 0 : RP_RAW5(SYS_ppoll, NULL, 0, &ts, mask, 8);
}

/* Waits of SO_RCVTIMEO and SO_SNDTIMEO end as their calls do. */
static long await_fd(const struct desc *d, const uint64_t *mask)
{
	struct pollfd p = { .fd = d->fd, .events = d->waits_for };
	struct timeval tv = { 0, 0 };
	socklen_t n = sizeof(tv);
	struct timespec ts;
	long r;

	RP_RAW5(SYS_getsockopt, d->fd, SOL_SOCKET, d->waits_for == POLLIN ? SO_RCVTIMEO : SO_SNDTIMEO, &tv, &n);
	ts = (struct timespec){ tv.tv_sec, tv.tv_usec * 1000 };
	r = RP_RAW5(SYS_ppoll, &p, 1, ts.tv_sec || ts.tv_nsec ? &ts : NULL, mask, 8);
	return r == 0 ? -EAGAIN : r;
}

/* The call, in a form that lets in the signals that the program's mask lets in. */
static long wait_for(const struct desc *d, int nr, const long a[6], const uint64_t *mask)
{
	struct timespec ts;
	long r;

	switch (nr) {
	case SYS_epoll_wait:
		return RP_RAW6(SYS_epoll_pwait, a[0], a[1], a[2], a[3], mask, 8);
	case SYS_epoll_pwait:
	case SYS_epoll_pwait2:
		return RP_RAW6(nr, a[0], a[1], a[2], a[3], a[4] ? a[4] : (long)mask, 8);
	case SYS_poll:
		ts = (struct timespec){ a[2] / 1000, a[2] % 1000 * 1000000 };
		return RP_RAW5(SYS_ppoll, a[0], a[1], (int)a[2] < 0 ? NULL : &ts, mask, 8);
	case SYS_ppoll:
		return RP_RAW5(SYS_ppoll, a[0], a[1], a[2], a[3] ? a[3] : (long)mask, 8);
	case SYS_nanosleep:
		return pause_for((const void *)a[0], (void *)a[1], mask);
	case SYS_clock_nanosleep:
		return a[1] ? pause_until((int)a[0], (const void *)a[2], mask) : pause_for((const void *)a[2], (void *)a[3], mask);
	case SYS_pause:
		return RP_RAW5(SYS_ppoll, NULL, 0, NULL, mask, 8);
	case SYS_wait4:
	case SYS_waitid:
		RP_RAW4(SYS_rt_sigprocmask, SIG_SETMASK, mask, NULL, 8);
		r = rp_raw(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
		RP_RAW4(SYS_rt_sigprocmask, SIG_SETMASK, &(uint64_t){ RP_MASK }, NULL, 8);
		return r;
	default:
		break;
	}
	if (d->waits_for && (r = await_fd(d, mask)) < 0)
		return r;
	return rp_raw(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

/* Recording: executes the call. Handlers run before a call that is made again. */
static long execute(struct rp_thread *t, const struct desc *d, int nr, const long a[6], ucontext_t *uc)
{
	bool waits = d->waits || (d->waits_for && blocks(d->fd));
	long r;

	if (!waits && nr != SYS_sched_yield)
		return rp_raw(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	for (;;) {
		rp_turn_give(t);
		r = waits ? wait_for(d, nr, a, (const uint64_t *)&uc->uc_sigmask) : RP_RAW0(SYS_sched_yield);
		rp_turn_take(t);
		if (r != -EINTR || rp_mode != RP_RECORDING || !rp_signals_restart(t) || nr == SYS_epoll_wait || nr == SYS_poll ||
		    nr == SYS_ppoll || nr == SYS_epoll_pwait || nr == SYS_nanosleep || nr == SYS_clock_nanosleep || nr == SYS_pause)
			return r;
		rp_signals_deliver(t, uc, RP_BEFORE_CALL);
	}
}

/* --- what comes in --- */

static void bytes_of(const struct iovec *iov, int n_iov, size_t n)
{
	for (int i = 0; i < n_iov && n; i++) {
		size_t part = iov[i].iov_len < n ? iov[i].iov_len : n;

		rp_bytes(iov[i].iov_base, part);
		n -= part;
	}
}

/* Descriptors that another process has sent. */
static void take_descriptors(struct msghdr *m)
{
	for (struct cmsghdr *c = CMSG_FIRSTHDR(m); c; c = CMSG_NXTHDR(m, c)) {
		size_t n = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);

		for (size_t i = 0; c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS && i < n; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
			rp_fd_place(fd, -1, RP_FD_PLACE);
		}
	}
}

static void receive_message(struct msghdr *m, size_t n, socklen_t name_room)
{
	size_t room = 0;

	for (size_t i = 0; i < m->msg_iovlen; i++)
		room += m->msg_iov[i].iov_len;
	rp_bytes(&m->msg_namelen, sizeof(m->msg_namelen));
	rp_bytes(&m->msg_controllen, sizeof(m->msg_controllen));
	rp_bytes(&m->msg_flags, sizeof(m->msg_flags));
	if (m->msg_name)
		rp_bytes(m->msg_name, m->msg_namelen < name_room ? m->msg_namelen : name_room);
	if (m->msg_control)
		rp_bytes(m->msg_control, m->msg_controllen);
	bytes_of(m->msg_iov, (int)m->msg_iovlen, n < room ? n : room);
	if (m->msg_control)
		take_descriptors(m);
}

static void receive_messages(struct mmsghdr *v, long n, const socklen_t *rooms)
{
	for (long i = 0; i < n; i++) {
		rp_bytes(&v[i].msg_len, sizeof(v[i].msg_len));
		receive_message(&v[i].msg_hdr, v[i].msg_len, rooms[i]);
	}
}

/* The address of a datagram is compared before it. */
static void send_address(const void *addr, size_t n)
{
	struct iovec one = { (void *)addr, n };

	if (addr && n)
		rp_compare(&one, 1, n, false);
}

static void send_messages(struct mmsghdr *v, long n, bool is_message)
{
	for (long i = 0; i < n; i++) {
		rp_bytes(&v[i].msg_len, sizeof(v[i].msg_len));
		send_address(v[i].msg_hdr.msg_name, v[i].msg_hdr.msg_namelen);
		rp_compare(v[i].msg_hdr.msg_iov, (int)v[i].msg_hdr.msg_iovlen, v[i].msg_len, is_message);
	}
}

#define BATCH 64 /* messages of recvmmsg() and sendmmsg() */

/* Capacities that the kernel writes lengths over. */
struct before {
	socklen_t addr_room, name_rooms[BATCH];
};

static void look_before(struct before *b, const struct desc *d, int nr, const long a[6])
{
	struct mmsghdr *v = (void *)a[1];

	b->addr_room = d->addr_len ? *d->addr_len : 0;
	b->name_rooms[0] = d->msg ? d->msg->msg_namelen : 0;
	for (long i = 0; nr == SYS_recvmmsg && i < a[2] && i < BATCH; i++)
		b->name_rooms[i] = v[i].msg_hdr.msg_namelen;
}

/* What is behind the pointers in what ioctl() fills. */
static void exchange_ioctl(const long a[6])
{
	const struct ifreq *r = (const void *)a[2];
	const struct ifconf *c = (const void *)a[2];
	uint32_t command;

	if (a[1] == SIOCGIFCONF && c->ifc_buf)
		rp_bytes(c->ifc_buf, (size_t)c->ifc_len);
	if (a[1] != SIOCETHTOOL)
		return;
	memcpy(&command, r->ifr_data, sizeof(command));
	if (command == ETHTOOL_GDRVINFO)
		rp_bytes(r->ifr_data, sizeof(struct ethtool_drvinfo));
	else if (command == ETHTOOL_GSET)
		rp_bytes(r->ifr_data, sizeof(struct ethtool_cmd));
}

/* Results below zero come with no memory, but for those of interrupted sleeps. */
static void exchange(const struct desc *d, const struct before *b, int nr, const long a[6], long r)
{
	bool is_message = rp_fd_kind(d->fd) == RP_FD_NET;

	if (r == -EINTR && nr == SYS_nanosleep && a[1])
		rp_bytes((void *)a[1], 16);
	if (r == -EINTR && nr == SYS_clock_nanosleep && a[3] && !a[1])
		rp_bytes((void *)a[3], 16);
	if (r < 0)
		return;
	for (int i = 0; i < d->n_outs; i++)
		rp_bytes(d->outs[i].p, d->outs[i].by_result ? d->outs[i].n * (size_t)r : d->outs[i].n);
	if (nr == SYS_ioctl)
		exchange_ioctl(a);
	if (d->addr && d->addr_len) {
		rp_bytes(d->addr_len, sizeof(*d->addr_len));
		rp_bytes(d->addr, *d->addr_len < b->addr_room ? *d->addr_len : b->addr_room);
	}
	bytes_of(d->in_iov, d->n_in_iov, (size_t)r);
	if (nr == SYS_sendto)
		send_address((const void *)a[4], (size_t)a[5]);
	if (nr == SYS_sendmsg)
		send_address(((const struct msghdr *)a[1])->msg_name, ((const struct msghdr *)a[1])->msg_namelen);
	/* What the process writes to itself is not compared: the message that it becomes is to be the first that differs. */
	if (d->n_out_data && rp_fd_kind(d->fd) != RP_FD_MEMORY)
		rp_compare(d->out_data ? d->out_data : &d->one, d->n_out_data, (size_t)r, is_message);
	if (d->msg)
		receive_message(d->msg, (size_t)r, b->name_rooms[0]);
	if (nr == SYS_recvmmsg)
		receive_messages((void *)a[1], r, b->name_rooms);
	if (nr == SYS_sendmmsg)
		send_messages((void *)a[1], r, is_message);
}

/* --- descriptors, output and memory files in a replay --- */

static enum rp_fd kind_of_new(int nr, const long a[6])
{
	switch (nr) {
	case SYS_socket:
		return a[0] == AF_INET || a[0] == AF_INET6 ? RP_FD_NET : RP_FD_PLACE;
	case SYS_accept:
	case SYS_accept4:
	case SYS_dup:
	case SYS_dup2:
	case SYS_dup3:
	case SYS_fcntl:
		return rp_fd_kind((int)a[0]);
	case SYS_memfd_create:
		return RP_FD_MEMORY;
	default:
		return RP_FD_PLACE;
	}
}

/* A file is read again only to be mapped: what read() gave is in the record. */
static void place_file(int nr, const long a[6], int fd)
{
	long flags = nr == SYS_open ? a[1] : nr == SYS_openat ? a[2] : O_WRONLY;
	long dir = nr == SYS_openat ? a[0] : AT_FDCWD, path = nr == SYS_openat ? a[1] : a[0];
	long open = -1;

	if ((flags & O_ACCMODE) == O_RDONLY && !(flags & (O_CREAT | O_TRUNC)) && rp_mode == RP_REPLAYING)
		open = RP_RAW4(SYS_openat, dir, path, flags | O_NONBLOCK | O_NOCTTY, 0);
	rp_fd_place(fd, (int)open, (flags & O_ACCMODE) != O_RDONLY ? RP_FD_MEMORY : open < 0 ? RP_FD_PLACE : RP_FD_FILE);
}

static void place_copy(const long a[6], int fd)
{
	enum rp_fd kind = rp_fd_kind((int)a[0]);

	rp_fd_place(fd, rp_mode == RP_REPLAYING ? (int)RP_RAW1(SYS_dup, a[0]) : -1, kind);
}

static void place_new(const struct desc *d, int nr, const long a[6], long r)
{
	int *pair = nr == SYS_socketpair ? (int *)a[3] : nr == SYS_pipe || nr == SYS_pipe2 ? (int *)a[0] : NULL;

	if (r < 0)
		return;
	if (pair) {
		rp_fd_place(pair[0], -1, RP_FD_PLACE);
		rp_fd_place(pair[1], -1, RP_FD_PLACE);
	}
	if (!d->makes_fd)
		return;
	if (nr == SYS_open || nr == SYS_openat || nr == SYS_creat)
		place_file(nr, a, (int)r);
	else if (nr == SYS_dup || nr == SYS_dup2 || nr == SYS_dup3 || nr == SYS_fcntl)
		place_copy(a, (int)r);
	else
		rp_fd_place((int)r, -1, kind_of_new(nr, a));
}

/* Replay: what a call does beside its result. */
static void repeat(const struct desc *d, int nr, const long a[6], long r)
{
	enum rp_fd kind = rp_fd_kind(d->fd < 0 ? (int)a[0] : d->fd);

	switch (nr) {
	case SYS_close:
		RP_RAW1(SYS_close, a[0]);
		return;
	case SYS_write:
	case SYS_writev:
		if (r > 0 && (kind == RP_FD_OUTPUT || kind == RP_FD_MEMORY))
			RP_RAW3(nr, a[0], a[1], nr == SYS_write ? r : a[2]);
		return;
	case SYS_pwrite64:
	case SYS_pwritev:
	case SYS_pwritev2:
	case SYS_ftruncate:
	case SYS_fallocate:
	case SYS_lseek:
	case SYS_fcntl:
		if (kind == RP_FD_MEMORY && !d->makes_fd)
			rp_raw(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
		return;
	default:
		return;
	}
}

static long logged(struct rp_thread *t, const struct desc *d, int nr, const long a[6], ucontext_t *uc)
{
	struct before b;
	long r = 0;

	look_before(&b, d, nr, a);
	if (rp_mode == RP_RECORDING)
		r = execute(t, d, nr, a, uc);
	if (rp_mode == RP_OFF)
		return r;
	r = rp_event_begin((unsigned)nr, t->index, d->fd < 0 ? 0 : d->fd, r);
	if (rp_mode == RP_REPLAYING)
		repeat(d, nr, a, r);
	exchange(d, &b, nr, a, r);
	place_new(d, nr, a, r);
	rp_event_end();
	return r;
}

/* --- memory --- */

static long map(struct rp_thread *t, const long a[6])
{
	int fd = a[3] & MAP_ANONYMOUS ? -1 : (int)a[4];
	long r = 0, flags = a[3], got;
	enum rp_fd kind = rp_fd_kind(fd);

	if (rp_mode == RP_RECORDING)
		r = rp_raw(SYS_mmap, a[0], a[1], a[2], a[3], a[4], a[5]);
	r = rp_event(SYS_mmap, t->index, fd < 0 ? 0 : fd, r);
	if (rp_mode != RP_REPLAYING || (r < 0 && r > -4096))
		return r;
	if (!(flags & MAP_FIXED))
		flags |= MAP_FIXED_NOREPLACE;
	if (fd >= 0 && kind != RP_FD_MEMORY && kind != RP_FD_FILE) {
		flags = (flags & ~(long)(MAP_SHARED_VALIDATE)) | MAP_ANONYMOUS | MAP_PRIVATE;
		fd = -1;
	}
	got = rp_raw(SYS_mmap, r, a[1], a[2], flags, fd, a[5]);
	if (got != r)
		rp_stop_at(RP_OTHER_ADDRESS, r, got);
	return r;
}

static long remap(struct rp_thread *t, const long a[6])
{
	long r = 0, got;

	if (rp_mode == RP_RECORDING)
		r = rp_raw(SYS_mremap, a[0], a[1], a[2], a[3], a[4], 0);
	r = rp_event(SYS_mremap, t->index, 0, r);
	if (rp_mode != RP_REPLAYING || (r < 0 && r > -4096))
		return r;
	got = r == a[0] ? rp_raw(SYS_mremap, a[0], a[1], a[2], 0, 0, 0)
			: rp_raw(SYS_mremap, a[0], a[1], a[2], MREMAP_MAYMOVE | MREMAP_FIXED, r, 0);
	if (got != r)
		rp_stop_at(RP_OTHER_ADDRESS, r, got);
	return r;
}

/* --- futexes --- */

/* The word that the kernel clears when a thread has ended: pthread_join() waits for that. */
static bool is_of_ended_thread(const uint32_t *addr)
{
	for (unsigned i = 0; i < rp_n_threads; i++)
		if (rp_threads[i].tid_word == addr && rp_threads[i].ended)
			return true;
	return false;
}

/* A matter of microseconds, and no event: so no time limit either, which would be over in a replay. */
static long await_end(const uint32_t *addr)
{
	uint32_t v;

	while ((v = __atomic_load_n(addr, __ATOMIC_ACQUIRE)))
		RP_RAW4(SYS_futex, addr, FUTEX_WAIT, v, NULL);
	return 0;
}

static long futex_wait(struct rp_thread *t, const long a[6], ucontext_t *uc)
{
	const uint32_t *addr = (const void *)a[0];
	const struct timespec *given = (const void *)a[3];
	bool relative = (a[1] & FUTEX_CMD_MASK) == FUTEX_WAIT;
	struct timespec until;
	uint32_t bits = relative ? FUTEX_BITSET_MATCH_ANY : (uint32_t)a[5];
	int r;

	if (given) {
		long ns = given->tv_sec * 1000000000l + given->tv_nsec + (relative ? now_ns(CLOCK_MONOTONIC) : 0);

		until = (struct timespec){ ns / 1000000000l, ns % 1000000000l };
	}
	do {
		rp_signals_deliver(t, uc, RP_BEFORE_CALL);
		if (rp_mode == RP_OFF)
			return 0;
		if (__atomic_load_n(addr, __ATOMIC_SEQ_CST) != (uint32_t)a[2])
			return -EAGAIN;
		if (is_of_ended_thread(addr))
			return await_end(addr);
		r = rp_turn_sleep(t, addr, bits, given ? &until : NULL, !relative && a[1] & FUTEX_CLOCK_REALTIME,
				  (const uint64_t *)&uc->uc_sigmask);
	} while (r == -RP_RESTART);
	return r;
}

static long futex_wake(struct rp_thread *t, const long a[6])
{
	uint32_t bits = (a[1] & FUTEX_CMD_MASK) == FUTEX_WAKE ? FUTEX_BITSET_MATCH_ANY : (uint32_t)a[5];
	long n = 0;

	if (rp_mode == RP_RECORDING)
		n = rp_turn_wake((const void *)a[0], (int)a[2], bits);
	rp_turn_wait(t);
	return rp_event(SYS_futex, t->index, 0, n);
}

static long futex(struct rp_thread *t, const long a[6], ucontext_t *uc)
{
	switch (a[1] & FUTEX_CMD_MASK) {
	case FUTEX_WAIT:
	case FUTEX_WAIT_BITSET:
		return futex_wait(t, a, uc);
	case FUTEX_WAKE:
	case FUTEX_WAKE_BITSET:
		return futex_wake(t, a);
	case FUTEX_CMP_REQUEUE:
	case FUTEX_REQUEUE:
		/* All are woken, and try again. */
		if ((a[1] & FUTEX_CMD_MASK) == FUTEX_CMP_REQUEUE && *(const uint32_t *)a[0] != (uint32_t)a[5])
			return -EAGAIN;
		return futex_wake(t, (long[]){ a[0], FUTEX_WAKE, INT32_MAX, 0, 0, 0 });
	default:
		rp_stop_at(RP_CALL, SYS_futex, a[1]);
		return -ENOSYS;
	}
}

/* --- processes and signals --- */

static bool is_own_thread(long tid, struct rp_thread **ret)
{
	for (unsigned i = 0; i < rp_n_threads; i++)
		if (!rp_threads[i].ended && (rp_threads[i].tid == tid || rp_threads[i].recorded_tid == tid)) {
			*ret = &rp_threads[i];
			return true;
		}
	return false;
}

/* kill(), tkill() and tgkill(). One that the program handles comes as an event; one that ends it does so in a replay, too. */
static long send_signal(struct rp_thread *t, int nr, const long a[6], ucontext_t *uc)
{
	int sig = (int)(nr == SYS_tgkill ? a[2] : a[1]);
	long tid = nr == SYS_tgkill ? a[1] : a[0], r = 0;
	struct rp_thread *to = NULL;
	bool own = nr == SYS_kill ? a[0] == rp_pid || a[0] == rp_recorded_pid : is_own_thread(tid, &to), handled = rp_signals_handled(sig);

	(void)uc;
	if (own && sig && !handled) {
		rp_event(nr, t->index, 0, 0);
		return to ? RP_RAW3(SYS_tgkill, rp_pid, to->tid, sig) : RP_RAW2(SYS_kill, rp_pid, sig);
	}
	if (rp_mode == RP_RECORDING) {
		if (own && handled && (nr == SYS_kill || to == t))
			rp_signals_self(t, sig);
		else
			r = rp_raw(nr, a[0], a[1], a[2], 0, 0, 0);
	}
	return rp_event(nr, t->index, 0, r);
}

/* A child's calls are its own: the kernel dispatches them to no recorder. */
static void begin_child(void)
{
	rp_mode = RP_OFF;
	RP_RAW2(SYS_prctl, PR_SET_TSC, PR_TSC_ENABLE);
}

/* A child that shares the memory until it is another program gets a copy of it instead: the stack that it is given is in
 * there. */
static long fork_process(struct rp_thread *t, uint64_t flags, long stack, long parent_tid, long child_tid, ucontext_t *uc)
{
	long r = 0;

	if (flags & CLONE_THREAD) {
		rp_stop_at(RP_CALL, SYS_clone, 0);
		return -ENOSYS;
	}
	if (rp_mode == RP_RECORDING)
		r = rp_raw(SYS_clone, (long)(flags & ~(uint64_t)(CLONE_VM | CLONE_VFORK)), 0, parent_tid, child_tid, 0, 0);
	if (rp_mode == RP_RECORDING && r == 0) {
		begin_child();
		if (stack)
			uc->uc_mcontext.gregs[REG_RSP] = stack;
		return 0;
	}
	return rp_event(SYS_clone, t->index, 0, r);
}

static long fork_by(struct rp_thread *t, int nr, const long a[6], ucontext_t *uc)
{
	if (nr == SYS_clone3) {
		const struct clone_args *c = (const void *)a[0];

		return fork_process(t, c->flags | c->exit_signal, c->stack ? (long)(c->stack + c->stack_size) : 0, (long)c->parent_tid,
				    (long)c->child_tid, uc);
	}
	if (nr == SYS_clone)
		return fork_process(t, (uint64_t)a[0], a[1], a[2], a[3], uc);
	return fork_process(t, SIGCHLD, 0, 0, 0, uc);
}

static long replace(const long a[6], int nr)
{
	if (rp_mode == RP_REPLAYING)
		rp_stop(RP_AT_END);
	rp_stop(RP_REPLACED);
	begin_child();
	return rp_raw(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static void end_process(struct rp_thread *t, int nr, const long a[6])
{
	if (nr == SYS_exit) {
		rp_turn_wake(t->tid_word, INT32_MAX, FUTEX_BITSET_MATCH_ANY);
		rp_turn_end(t);
	} else {
		rp_turn_wait(t);
		rp_event(SYS_exit_group, t->index, 0, a[0]);
		rp_control->stop = rp_control->stop ? rp_control->stop : RP_ENDED;
	}
	RP_RAW1(nr, a[0]);
}

static bool is_special(int nr)
{
	switch (nr) {
	case SYS_mmap:
	case SYS_mremap:
	case SYS_futex:
	case SYS_rt_sigaction:
	case SYS_rt_sigprocmask:
	case SYS_rt_sigreturn:
	case SYS_rt_sigpending:
	case SYS_rt_sigsuspend:
	case SYS_rt_sigtimedwait:
	case SYS_sigaltstack:
	case SYS_kill:
	case SYS_tkill:
	case SYS_tgkill:
	case SYS_pidfd_send_signal:
	case SYS_clone:
	case SYS_clone3:
	case SYS_fork:
	case SYS_vfork:
	case SYS_execve:
	case SYS_execveat:
	case SYS_exit:
	case SYS_exit_group:
		return true;
	default:
		return false;
	}
}

static long alternate_stack(const long a[6], ucontext_t *uc)
{
	const stack_t *set = (const void *)a[0];
	stack_t *old = (void *)a[1];

	if (old)
		*old = uc->uc_stack;
	if (set)
		uc->uc_stack = *set;
	return 0;
}

static long suspend(struct rp_thread *t, const long a[6])
{
	long r = 0;

	if (rp_mode == RP_RECORDING) {
		rp_turn_give(t);
		r = RP_RAW5(SYS_ppoll, NULL, 0, NULL, a[0], 8);
		rp_turn_take(t);
	}
	return rp_event(SYS_rt_sigsuspend, t->index, 0, r);
}

static long wait_for_signal(struct rp_thread *t, const long a[6])
{
	long r = 0;

	if (rp_mode == RP_RECORDING) {
		rp_turn_give(t);
		r = RP_RAW4(SYS_rt_sigtimedwait, a[0], a[1], a[2], a[3]);
		rp_turn_take(t);
	}
	r = rp_event_begin(SYS_rt_sigtimedwait, t->index, 0, r);
	if (r > 0 && a[1])
		rp_bytes((void *)a[1], 128);
	rp_event_end();
	return r;
}

static long special(struct rp_thread *t, int nr, const long a[6], ucontext_t *uc)
{
	switch (nr) {
	case SYS_mmap:
		return map(t, a);
	case SYS_mremap:
		return remap(t, a);
	case SYS_rt_sigaction:
		return rp_signals_action((int)a[0], (const void *)a[1], (void *)a[2]);
	case SYS_rt_sigprocmask:
		return rp_signals_mask(uc, (int)a[0], (const void *)a[1], (void *)a[2]);
	case SYS_rt_sigreturn:
		rp_sigreturn((uint64_t)uc->uc_mcontext.gregs[REG_RSP]);
	case SYS_sigaltstack:
		return alternate_stack(a, uc);
	case SYS_rt_sigsuspend:
		return suspend(t, a);
	case SYS_rt_sigtimedwait:
		return wait_for_signal(t, a);
	case SYS_kill:
	case SYS_tkill:
	case SYS_tgkill:
		return send_signal(t, nr, a, uc);
	case SYS_pidfd_send_signal: {
		long r = rp_mode == RP_RECORDING ? rp_raw(nr, a[0], a[1], a[2], a[3], 0, 0) : 0;

		return rp_event((unsigned)nr, t->index, a[0], r);
	}
	case SYS_clone:
	case SYS_clone3:
	case SYS_fork:
	case SYS_vfork:
		return fork_by(t, nr, a, uc);
	case SYS_execve:
	case SYS_execveat:
		return replace(a, nr);
	case SYS_exit:
	case SYS_exit_group:
		end_process(t, nr, a);
		return 0;
	default:
		return -ENOSYS;
	}
}

/* Signals are taken and turns shared where a call begins; in a replay, this is where the thread waits for its event. */
static void come_to(struct rp_thread *t, ucontext_t *uc)
{
	do {
		rp_turn_share(t);
		rp_turn_wait(t);
	} while (rp_signals_deliver(t, uc, RP_BEFORE_CALL));
}

static bool needs_turn(int nr)
{
	return nr != SYS_rt_sigaction && nr != SYS_rt_sigprocmask && nr != SYS_rt_sigreturn && nr != SYS_sigaltstack &&
	       nr != SYS_futex && nr != SYS_exit && nr != SYS_exit_group && nr != SYS_rt_sigpending;
}

long rp_call(struct rp_thread *t, int nr, long a[6], ucontext_t *uc)
{
	struct desc d;

	if (nr == SYS_close && a[0] == rp_log_fd())
		return -EBADF;
	if (nr == SYS_futex)
		return futex(t, a, uc);
	if (is_special(nr)) {
		if (needs_turn(nr))
			come_to(t, uc);
		return special(t, nr, a, uc);
	}
	describe(&d, nr, a);
	if (d.how == DIRECT)
		return rp_raw(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (d.how == FAILS)
		return -ENOSYS;
	if (d.how == UNKNOWN) {
		rp_stop_at(RP_CALL, nr, 0);
		return -ENOSYS;
	}
	if ((nr == SYS_recvmmsg || nr == SYS_sendmmsg) && a[2] > BATCH)
		a[2] = BATCH;
	come_to(t, uc);
	return logged(t, &d, nr, a, uc);
}
