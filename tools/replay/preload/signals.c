/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "signals.h"

#include "calls.h"
#include "log.h"
#include "memory.h"
#include "raw.h"
#include "state.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#define SIGNALS 64
#define SA_RESTORER_ 0x04000000
#define SIGNALLED 2u /* turn.h: word */

static struct rp_action actions[SIGNALS + 1]; /* as the program has set them */

static bool is_trap(int sig)
{
	return sig == SIGBUS || sig == SIGILL || sig == SIGFPE || sig == SIGTRAP;
}

static bool has_handler(const struct rp_action *a)
{
	return a->handler != (uint64_t)SIG_DFL && a->handler != (uint64_t)SIG_IGN;
}

bool rp_signals_handled(int sig)
{
	return sig >= 1 && sig <= SIGNALS && has_handler(&actions[sig]);
}

uint64_t rp_signals_ignored(void)
{
	uint64_t set = 0;

	for (int i = 1; i <= SIGNALS; i++)
		set |= (uint64_t)(actions[i].handler == (uint64_t)SIG_IGN) << (i - 1);
	return set;
}

static void call_handler(int sig, siginfo_t *info, void *uc)
{
	struct rp_action *a = &actions[sig];
	void (*f)(int, siginfo_t *, void *) = (void (*)(int, siginfo_t *, void *))a->handler;

	if (a->flags & SA_RESETHAND)
		a->handler = (uint64_t)SIG_DFL;
	f(sig, info, uc);
}

/* --- what comes --- */

static void on_signal(int sig, siginfo_t *info, void *uc)
{
	struct rp_thread *t = rp_me;

	if (rp_mode == RP_OFF || !t) {
		call_handler(sig, info, uc);
		return;
	}
	t->infos[sig] = *info;
	t->pending |= 1ull << (sig - 1);
	atomic_fetch_or(&t->word, SIGNALLED);
}

void rp_signals_self(struct rp_thread *t, int sig)
{
	memset(&t->infos[sig], 0, sizeof(t->infos[sig]));
	t->infos[sig].si_signo = sig;
	t->infos[sig].si_code = SI_TKILL;
	t->infos[sig].si_pid = rp_recorded_pid;
	t->pending |= 1ull << (sig - 1);
}

static void run_handler(struct rp_thread *t, int sig, ucontext_t *uc, enum rp_when when)
{
	siginfo_t info = t->infos[sig];

	t->pending &= ~(1ull << (sig - 1));
	rp_event_begin(RP_SIGNAL + (unsigned)sig, t->index, when, 0);
	rp_bytes(&info, sizeof(info));
	rp_event_end();
	call_handler(sig, &info, uc);
}

static int recorded_signal(const struct rp_thread *t, enum rp_when when)
{
	int kind = rp_log_kind();

	return rp_log_thread() == (int)t->index && kind > RP_SIGNAL && kind <= RP_SIGNAL + SIGNALS && rp_log_about() == when ?
		       kind - RP_SIGNAL : 0;
}

int rp_signals_deliver(struct rp_thread *t, ucontext_t *uc, enum rp_when when)
{
	int n = 0, sig;

	if (rp_mode == RP_REPLAYING) {
		t->pending = 0;
		for (; (sig = recorded_signal(t, when)); n++)
			run_handler(t, sig, uc, when);
		return n;
	}
	atomic_fetch_and(&t->word, ~SIGNALLED);
	for (; t->pending && rp_mode == RP_RECORDING; n++)
		run_handler(t, __builtin_ctzll(t->pending) + 1, uc, when);
	return n;
}

bool rp_signals_restart(const struct rp_thread *t)
{
	for (int i = 1; i <= SIGNALS; i++)
		if (t->pending >> (i - 1) & 1 && !(actions[i].flags & SA_RESTART))
			return false;
	return true;
}

/* --- what the program sets --- */

static long set(int sig, uint64_t handler, uint64_t flags)
{
	struct rp_action a = { .handler = handler, .flags = flags | SA_RESTORER_, .restorer = (uint64_t)rp_restorer, .mask = RP_MASK };

	return RP_RAW4(SYS_rt_sigaction, sig, &a, NULL, 8);
}

long rp_signals_action(int sig, const struct rp_action *act, struct rp_action *old)
{
	struct rp_action now;
	long r = 0;

	if (sig < 1 || sig > SIGNALS || sig == SIGKILL || sig == SIGSTOP)
		return -EINVAL;
	if (act)
		now = *act;
	if (old)
		*old = actions[sig];
	if (!act)
		return 0;
	actions[sig] = now;
	if (sig == SIGSYS || sig == SIGSEGV)
		return 0;
	if (!has_handler(&now) || is_trap(sig))
		r = RP_RAW4(SYS_rt_sigaction, sig, &now, NULL, 8);
	else if (rp_mode == RP_REPLAYING)
		r = set(sig, (uint64_t)SIG_DFL, 0);
	else
		r = set(sig, (uint64_t)on_signal, SA_SIGINFO | (now.flags & (SA_ONSTACK | SA_NOCLDSTOP | SA_NOCLDWAIT)));
	return r;
}

long rp_signals_mask(ucontext_t *uc, int how, const uint64_t *set, uint64_t *old)
{
	uint64_t *mask = (uint64_t *)&uc->uc_sigmask, before = *mask, v;

	if (set) {
		v = *set;
		if (how == SIG_BLOCK)
			*mask |= v;
		else if (how == SIG_UNBLOCK)
			*mask &= ~v;
		else if (how == SIG_SETMASK)
			*mask = v;
		else
			return -EINVAL;
		*mask &= ~(1ull << (SIGSYS - 1) | 1ull << (SIGSEGV - 1));
	}
	if (old)
		*old = before;
	return 0;
}

/* --- the processor's counter --- */

static uint64_t read_counter(uint32_t *aux)
{
	uint64_t v;

	RP_RAW2(SYS_prctl, PR_SET_TSC, PR_TSC_ENABLE);
	v = __builtin_ia32_rdtscp(aux);
	RP_RAW2(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV);
	return v;
}

/* Returns the length of the instruction that reads the counter, or 0. */
static unsigned reads_counter(const uint8_t *p)
{
	if (p[0] != 0x0f)
		return 0;
	return p[1] == 0x31 ? 2 : p[1] == 0x01 && p[2] == 0xf9 ? 3 : 0;
}

static void answer_counter(ucontext_t *uc, unsigned length)
{
	greg_t *g = uc->uc_mcontext.gregs;
	uint32_t aux = 0;
	uint64_t v = 0;

	rp_turn_wait(rp_me);
	if (rp_mode != RP_REPLAYING)
		v = read_counter(&aux);
	v = (uint64_t)rp_event_begin(RP_TICKS, rp_me->index, 0, (int64_t)v);
	rp_bytes(&aux, sizeof(aux));
	rp_event_end();
	g[REG_RAX] = (greg_t)(v & 0xffffffffu);
	g[REG_RDX] = (greg_t)(v >> 32);
	if (length == 3)
		g[REG_RCX] = aux;
	g[REG_RIP] += length;
}

/* SI_KERNEL: a general protection, as the counter gives; no page is missing, so the instruction can be read. */
static void on_fault(int sig, siginfo_t *info, void *ucv)
{
	ucontext_t *uc = ucv;
	unsigned length = info->si_code == SI_KERNEL ? reads_counter((const uint8_t *)uc->uc_mcontext.gregs[REG_RIP]) : 0;

	if (length && rp_mode == RP_OFF) {
		RP_RAW2(SYS_prctl, PR_SET_TSC, PR_TSC_ENABLE);
		return;
	}
	if (length) {
		answer_counter(uc, length);
		return;
	}
	if (rp_mode == RP_RECORDING)
		rp_memory_reached((uint64_t)info->si_addr);
	if (has_handler(&actions[sig])) {
		call_handler(sig, info, uc);
		return;
	}
	if (rp_stays)
		RP_RAW3(SYS_tgkill, rp_pid, rp_me->tid, SIGTRAP);
	/* The instruction is repeated, and ends the process as it would have. */
	set(sig, (uint64_t)SIG_DFL, 0);
}

static void on_call(int sig, siginfo_t *info, void *ucv)
{
	ucontext_t *uc = ucv;
	greg_t *g = uc->uc_mcontext.gregs;
	long args[6] = { g[REG_RDI], g[REG_RSI], g[REG_RDX], g[REG_R10], g[REG_R8], g[REG_R9] };

	(void)sig;
	if (rp_mode == RP_OFF) {
		/* The instruction is repeated, and from here on executed. */
		rp_me->selector = 0;
		g[REG_RAX] = info->si_syscall;
		g[REG_RIP] -= RP_CALL_BYTES;
		return;
	}
	g[REG_RAX] = rp_call(rp_me, info->si_syscall, args, uc);
	if (rp_mode != RP_OFF && rp_me->selector)
		rp_signals_deliver(rp_me, uc, RP_BEHIND_CALL);
}

int rp_signals_begin(void)
{
	long r;

	for (int i = 1; i <= SIGNALS; i++)
		RP_RAW4(SYS_rt_sigaction, i, NULL, &actions[i], 8);
	r = set(SIGSYS, (uint64_t)on_call, SA_SIGINFO | SA_NODEFER);
	return (int)(r < 0 ? r : set(SIGSEGV, (uint64_t)on_fault, SA_SIGINFO | SA_NODEFER | SA_ONSTACK));
}
