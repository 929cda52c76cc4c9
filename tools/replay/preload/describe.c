/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "describe.h"

#include "raw.h"

#include <asm/ioctls.h>
#include <asm/termbits.h>
#include <fcntl.h>
#include <linux/sockios.h>
#include <net/if.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>

static void fill(struct rp_desc *d, long p, size_t n)
{
	if (p)
		d->outs[d->n_outs++] = (struct rp_out){ (void *)p, n, false };
}

/* `result` things of n bytes. */
static void fill_result(struct rp_desc *d, long p, size_t n)
{
	if (p)
		d->outs[d->n_outs++] = (struct rp_out){ (void *)p, n, true };
}

static void on_fd(struct rp_desc *d, long fd, short waits_for)
{
	d->fd = (int)fd;
	d->waits_for = waits_for;
}

static void sends(struct rp_desc *d, long fd, const void *p, long n, long flags)
{
	on_fd(d, fd, flags & MSG_DONTWAIT ? 0 : POLLOUT);
	if (p) {
		d->one = (struct iovec){ (void *)p, (size_t)n };
		d->out_data = NULL;
		d->n_out_data = 1;
	}
}

static void ioctl_of(struct rp_desc *d, const long a[6])
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

static void select_of(struct rp_desc *d, const long a[6])
{
	size_t n = ((size_t)a[0] + 63) / 64 * 8;

	fill(d, a[1], n);
	fill(d, a[2], n);
	fill(d, a[3], n);
	d->waits = true;
}

static bool describe_files(struct rp_desc *d, int nr, const long a[6])
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

static bool describe_descriptors(struct rp_desc *d, int nr, const long a[6])
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

static bool describe_sockets(struct rp_desc *d, int nr, const long a[6])
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

static bool describe_process(struct rp_desc *d, int nr, const long a[6])
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

void rp_describe(struct rp_desc *d, int nr, const long a[6])
{
	memset(d, 0, sizeof(*d));
	d->fd = -1;
	if (is_direct(nr))
		d->how = RP_DIRECT;
	else if (fails(nr))
		d->how = RP_FAILS;
	else if (!describe_files(d, nr, a) && !describe_descriptors(d, nr, a) && !describe_sockets(d, nr, a) &&
		 !describe_process(d, nr, a))
		d->how = RP_UNKNOWN;
}
