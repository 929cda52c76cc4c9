/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "calls.h"

#include "clock.h"
#include "exchange.h"
#include "futex.h"
#include "log.h"
#include "memory.h"
#include "process.h"
#include "raw.h"
#include "repeat.h"
#include "signals.h"
#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

/* --- execution while recording --- */

static bool blocks(int fd)
{
	long flags = RP_RAW3(SYS_fcntl, fd, F_GETFL, 0);

	return flags >= 0 && !(flags & O_NONBLOCK);
}

/* A sleep that signals end. */
static long pause_for(const struct timespec *want, struct timespec *left, const uint64_t *mask)
{
	long begin = rp_now_ns(CLOCK_MONOTONIC), rest;
	struct timespec ts = *want;
	long r = RP_RAW5(SYS_ppoll, NULL, 0, &ts, mask, 8);

	rest = want->tv_sec * 1000000000l + want->tv_nsec - (rp_now_ns(CLOCK_MONOTONIC) - begin);
	if (r == -EINTR && left) {
		rest = rest < 0 ? 0 : rest;
		left->tv_sec = rest / 1000000000l;
		left->tv_nsec = rest % 1000000000l;
	}
	return r;
}

static long pause_until(int clock, const struct timespec *until, const uint64_t *mask)
{
	long rest = until->tv_sec * 1000000000l + until->tv_nsec - rp_now_ns(clock);
	struct timespec ts = { rest / 1000000000l, rest % 1000000000l };

	return rest <= 0 ? 0 : RP_RAW5(SYS_ppoll, NULL, 0, &ts, mask, 8);
}

/* Waits of SO_RCVTIMEO and SO_SNDTIMEO end as their calls do. */
static long await_fd(const struct rp_desc *d, const uint64_t *mask)
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
static long wait_for(const struct rp_desc *d, int nr, const long a[6], const uint64_t *mask)
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
static long execute(struct rp_thread *t, const struct rp_desc *d, int nr, const long a[6], ucontext_t *uc)
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

/* --- calls --- */

static long logged(struct rp_thread *t, const struct rp_desc *d, int nr, const long a[6], ucontext_t *uc)
{
	struct rp_before b;
	long r = 0;

	rp_look_before(&b, d, nr, a);
	if (rp_mode == RP_RECORDING)
		r = execute(t, d, nr, a, uc);
	if (rp_mode == RP_OFF)
		return r;
	if (r == -EFAULT && rp_mode == RP_RECORDING)
		rp_memory_refused();
	r = rp_event_begin((unsigned)nr, t->index, d->fd < 0 ? 0 : d->fd, r);
	if (rp_mode == RP_REPLAYING)
		rp_repeat(d, nr, a, r);
	rp_exchange(d, &b, nr, a, r);
	rp_place_new(d, nr, a, r);
	rp_event_end();
	return r;
}

static bool is_special(int nr)
{
	switch (nr) {
	case SYS_mmap:
	case SYS_mremap:
	case SYS_brk:
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

static long special(struct rp_thread *t, int nr, const long a[6], ucontext_t *uc)
{
	switch (nr) {
	case SYS_mmap:
		return rp_map(t, a);
	case SYS_mremap:
		return rp_remap(t, a);
	case SYS_brk:
		return rp_brk(t, a);
	case SYS_rt_sigaction:
		return rp_signals_action((int)a[0], (const void *)a[1], (void *)a[2]);
	case SYS_rt_sigprocmask:
		return rp_signals_mask(uc, (int)a[0], (const void *)a[1], (void *)a[2]);
	case SYS_rt_sigreturn:
		rp_sigreturn((uint64_t)uc->uc_mcontext.gregs[REG_RSP]);
	case SYS_sigaltstack:
		return rp_alternate_stack(a, uc);
	case SYS_rt_sigsuspend:
		return rp_suspend(t, a);
	case SYS_rt_sigtimedwait:
		return rp_wait_for_signal(t, a);
	case SYS_kill:
	case SYS_tkill:
	case SYS_tgkill:
		return rp_send_signal(t, nr, a);
	case SYS_pidfd_send_signal: {
		long r = rp_mode == RP_RECORDING ? rp_raw(nr, a[0], a[1], a[2], a[3], 0, 0) : 0;

		return rp_event((unsigned)nr, t->index, a[0], r);
	}
	case SYS_clone:
	case SYS_clone3:
	case SYS_fork:
	case SYS_vfork:
		return rp_fork(t, nr, a, uc);
	case SYS_execve:
	case SYS_execveat:
		return rp_replace(t, nr, a, uc);
	case SYS_exit:
	case SYS_exit_group:
		rp_end_process(t, nr, a);
		return 0;
	default:
		return -ENOSYS;
	}
}

/* Signals are taken and turns shared where a call begins; in a replay, this is where the thread waits for its event: a call that
 * is none must not come here, as the next event may be of a thread that waits for this one. */
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
	struct rp_desc d;

	if (nr == SYS_close && a[0] == rp_log_fd())
		return -EBADF;
	if (nr == SYS_futex)
		return rp_futex(t, a, uc);
	if (is_special(nr)) {
		if (needs_turn(nr) && !rp_is_thread_start(nr, a))
			come_to(t, uc);
		return special(t, nr, a, uc);
	}
	rp_describe(&d, nr, a);
	if (nr == SYS_munmap)
		rp_memory_gone((uint64_t)a[0], (uint64_t)a[1]);
	if (d.how == RP_DIRECT)
		return rp_raw(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	if (d.how == RP_FAILS)
		return -ENOSYS;
	if (d.how == RP_UNKNOWN) {
		rp_stop_at(RP_CALL, nr, 0);
		return -ENOSYS;
	}
	if ((nr == SYS_recvmmsg || nr == SYS_sendmmsg) && a[2] > RP_BATCH)
		a[2] = RP_BATCH;
	come_to(t, uc);
	return logged(t, &d, nr, a, uc);
}
