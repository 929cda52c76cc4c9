/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "process.h"

#include "family.h"
#include "log.h"
#include "memory.h"
#include "raw.h"
#include "signals.h"
#include "state.h"

#include <errno.h>
#include <linux/futex.h>
#include <linux/sched.h>
#include <sys/prctl.h>

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
long rp_send_signal(struct rp_thread *t, int nr, const long a[6])
{
	int sig = (int)(nr == SYS_tgkill ? a[2] : a[1]);
	long tid = nr == SYS_tgkill ? a[1] : a[0], r = 0;
	struct rp_thread *to = NULL;
	bool own = nr == SYS_kill ? a[0] == rp_pid || a[0] == rp_recorded_pid : is_own_thread(tid, &to), handled = rp_signals_handled(sig);

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

/* A child that is not recorded: the kernel dispatches its calls to no recorder. */
static void leave_recorder(void)
{
	rp_mode = RP_OFF;
	RP_RAW2(SYS_prctl, PR_SET_TSC, PR_TSC_ENABLE);
}

struct fork {
	uint64_t flags;
	long stack, parent_tid, child_tid;
};

/* In the child, or in a replay where it begins: there the kernel has made none. */
static void begin_child(struct rp_thread *t, const struct fork *f, int pid, ucontext_t *uc)
{
	rp_recorded_pid = t->recorded_tid = pid;
	if (rp_mode == RP_REPLAYING) {
		rp_turn_alone(t);
		rp_memory_fork();
		if (f->flags & CLONE_CHILD_SETTID)
			*(int *)f->child_tid = pid;
	}
	if (f->stack)
		uc->uc_mcontext.gregs[REG_RSP] = f->stack;
}

/* A child that shares the memory until it is another program gets a copy of it instead: the stack that it is given is in
 * there. */
static long fork_process(struct rp_thread *t, const struct fork *f, ucontext_t *uc)
{
	int32_t pid = 0;
	long r = 0;

	if (rp_mode == RP_RECORDING)
		r = rp_raw(SYS_clone, (long)(f->flags & ~(uint64_t)(CLONE_VM | CLONE_VFORK)), 0, f->parent_tid, f->child_tid, 0, 0);
	if (rp_mode == RP_RECORDING && r == 0 && !rp_family_fork(t))
		leave_recorder();
	r = rp_event_begin(SYS_clone, t->index, 0, r);
	pid = rp_pid;
	if (r == 0)
		rp_bytes(&pid, sizeof(pid));
	rp_event_end();
	if (r == 0)
		begin_child(t, f, pid, uc);
	else if (r > 0 && f->flags & CLONE_PARENT_SETTID)
		*(int *)f->parent_tid = (int)r;
	return r;
}

bool rp_is_thread_start(int nr, const long a[6])
{
	if (nr == SYS_clone3)
		return ((const struct clone_args *)a[0])->flags & CLONE_THREAD;
	return nr == SYS_clone && a[0] & CLONE_THREAD;
}

long rp_fork(struct rp_thread *t, int nr, const long a[6], ucontext_t *uc)
{
	struct fork f = { .flags = SIGCHLD };

	if (nr == SYS_clone3) {
		const struct clone_args *c = (const void *)a[0];

		f = (struct fork){ c->flags | c->exit_signal, c->stack ? (long)(c->stack + c->stack_size) : 0, (long)c->parent_tid,
				   (long)c->child_tid };
	} else if (nr == SYS_clone) {
		f = (struct fork){ (uint64_t)a[0], a[1], a[2], a[3] };
	}
	if (!rp_is_thread_start(nr, a))
		return fork_process(t, &f, uc);
	if (!t->creates) {
		rp_stop_at(RP_CALL, nr, 0);
		return -ENOSYS;
	}
	/* The instruction is repeated, and executed: the thread begins behind it, on its own stack. */
	t->selector = 0;
	uc->uc_mcontext.gregs[REG_RIP] -= RP_CALL_BYTES;
	return nr;
}

/* The program that begins has the counter and the signals as this one has left them, and not as the recorder works. */
static long replace(int nr, const long a[6], uint64_t mask)
{
	uint64_t working = RP_MASK;
	long r;

	rp_control->stop = RP_REPLACED;
	RP_RAW2(SYS_prctl, PR_SET_TSC, PR_TSC_ENABLE);
	RP_RAW4(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, 8);
	r = rp_raw(nr, a[0], a[1], a[2], a[3], a[4], a[5]);
	RP_RAW4(SYS_rt_sigprocmask, SIG_SETMASK, &working, NULL, 8);
	RP_RAW2(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV);
	rp_control->stop = RP_GOES_ON;
	return r;
}

/* Only a call that fails is an event: the other one ends the record. */
long rp_replace(struct rp_thread *t, int nr, const long a[6], ucontext_t *uc)
{
	uint64_t mask = *(const uint64_t *)&uc->uc_sigmask;
	struct rp_successor s;
	long r = 0;

	if (rp_mode == RP_RECORDING) {
		rp_family_exec(&s, nr, a, mask);
		r = replace(nr, a, mask);
		rp_family_stay(&s);
	}
	return rp_event((unsigned)nr, t->index, 0, r);
}

void rp_end_process(struct rp_thread *t, int nr, const long a[6])
{
	if (nr == SYS_exit) {
		rp_turn_wake(t->tid_word, INT32_MAX, FUTEX_BITSET_MATCH_ANY);
		rp_turn_end(t);
	} else {
		rp_turn_wait(t);
		rp_event(SYS_exit_group, t->index, 0, a[0]);
		rp_control->stop = rp_control->stop ? rp_control->stop : RP_ENDED;
		rp_log_close((int)(a[0] & 0xff) << 8);
	}
	RP_RAW1(nr, a[0]);
}

long rp_alternate_stack(const long a[6], ucontext_t *uc)
{
	const stack_t *set = (const void *)a[0];
	stack_t *old = (void *)a[1];

	if (old)
		*old = uc->uc_stack;
	if (set)
		uc->uc_stack = *set;
	return 0;
}

long rp_suspend(struct rp_thread *t, const long a[6])
{
	long r = 0;

	if (rp_mode == RP_RECORDING) {
		rp_turn_give(t);
		r = RP_RAW5(SYS_ppoll, NULL, 0, NULL, a[0], 8);
		rp_turn_take(t);
	}
	return rp_event(SYS_rt_sigsuspend, t->index, 0, r);
}

long rp_wait_for_signal(struct rp_thread *t, const long a[6])
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
