/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Threads that poll memory which a peer's Write fills. No call tells, so a thread of ours looks at those that run:
 *
 *      a thread has used its processor       (/proc/self/task/TID/stat, every TICK_MS)
 *      a signal asks for its registers       each SAMPLE_MS, while the answers fit
 *      SAMPLES answers fit                   the same registers at each instruction that was met more than once: a loop that
 *                                            computes something has others each time, and one that makes calls is met in
 *                                            libraries
 *      one instruction of those loads        from a region that peers may write: the loop waits for a Write there
 *
 * On x86-64 alone: the address of a load is read from the instruction.
 */
#include "check.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#ifdef __x86_64__

#define TICK_MS 50
#define SAMPLE_MS 1
#define SAMPLES 40
#define TRIES 400    /* of one tick: a thread that shares its processor answers late */
#define PLACES 16    /* instructions of a loop */
#define MET 5        /* times that the load was met: it has had the same address in each */
#define THREADS 64   /* whose times are remembered */
#define REGISTERS 17 /* REG_R8 to REG_RIP */

struct seen {
	uint64_t regs[REGISTERS];
	unsigned met;
};

static struct {
	_Atomic pid_t asked; /* the thread that is to answer, or 0 */
	_Atomic bool answered;
	uint64_t regs[REGISTERS];
} sample;

static struct {
	pid_t tid;
	unsigned long used;
} times[THREADS];

static struct seen places[PLACES];
static unsigned n_places, hits;

static void on_signal(int sig, siginfo_t *info, void *arg)
{
	const ucontext_t *uc = arg;

	if (sample.asked != (pid_t)syscall(SYS_gettid))
		return;
	for (int i = 0; i < REGISTERS; i++)
		sample.regs[i] = (uint64_t)uc->uc_mcontext.gregs[i];
	sample.asked = 0;
	sample.answered = true;
}

static void pause_ms(long ms)
{
	nanosleep(&(struct timespec){ ms / 1000, ms % 1000 * 1000000 }, NULL);
}

/* --- what an instruction loads --- */

static uint64_t register_of(const uint64_t *regs, unsigned number)
{
	static const int names[16] = { REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
				       REG_R8, REG_R9, REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15 };

	return regs[names[number & 15]];
}

/* The memory operand of ModRM and SIB (Intel SDM volume 2, 2.1.5). p: at ModRM; immediate: octets behind the operand. Returns 0
 * for a register. */
static uint64_t operand(const uint64_t *regs, const uint8_t *p, unsigned rex, unsigned immediate)
{
	unsigned mod = *p >> 6, rm = *p & 7;
	uint64_t at = 0;
	int32_t more = 0;

	if (mod == 3)
		return 0;
	p++;
	if (rm == 4) {
		unsigned base = *p & 7, index = (*p >> 3 & 7) | (rex << 2 & 8), scale = *p >> 6;

		p++;
		if (index != 4)
			at += register_of(regs, index) << scale;
		if (base == 5 && mod == 0)
			mod = 2;
		else
			at += register_of(regs, base | (rex << 3 & 8));
	} else if (rm == 5 && mod == 0) {
		memcpy(&more, p, 4);
		return (uint64_t)(uintptr_t)(p + 4 + immediate) + (uint64_t)(int64_t)more;
	} else {
		at = register_of(regs, rm | (rex << 3 & 8));
	}
	if (mod == 1)
		more = (int8_t)*p;
	else if (mod == 2)
		memcpy(&more, p, 4);
	return at + (uint64_t)(int64_t)more;
}

/* Returns the address from which mov, movzx, movsx, cmp or test load, or 0. */
static uint64_t loads_from(const uint64_t *regs)
{
	const uint8_t *p = (const uint8_t *)(uintptr_t)regs[REG_RIP];
	unsigned rex = 0, wide = 4;

	for (; *p == 0x66; p++)
		wide = 2;
	if ((*p & 0xf0) == 0x40)
		rex = *p++;
	switch (*p) {
	case 0x0f:
		return p[1] == 0xb6 || p[1] == 0xb7 || p[1] == 0xbe || p[1] == 0xbf ? operand(regs, p + 2, rex, 0) : 0;
	case 0x8a: case 0x8b: case 0x38: case 0x39: case 0x3a: case 0x3b: case 0x84: case 0x85: case 0x63:
		return operand(regs, p + 1, rex, 0);
	case 0x80: case 0x83:
		return (p[1] >> 3 & 7) == 7 ? operand(regs, p + 1, rex, 1) : 0;
	case 0x81:
		return (p[1] >> 3 & 7) == 7 ? operand(regs, p + 1, rex, wide) : 0;
	case 0xf6:
		return (p[1] >> 3 & 7) == 0 ? operand(regs, p + 1, rex, 1) : 0;
	case 0xf7:
		return (p[1] >> 3 & 7) == 0 ? operand(regs, p + 1, rex, wide) : 0;
	default:
		return 0;
	}
}

/* --- judgement --- */

struct load {
	uint64_t at;
	bool found;
};

static bool is_filled_there(struct check_record *r, void *arg)
{
	struct load *l = arg;

	if (r->pid != check_pid || !(r->mr.access & IBV_ACCESS_REMOTE_WRITE) || l->at < r->mr.addr || l->at - r->mr.addr >= r->mr.length ||
	    r->mr.polled)
		return true;
	r->mr.polled = true;
	l->found = true;
	return false;
}

static bool reports(const struct seen *s)
{
	struct load l = { .at = s->met >= MET ? loads_from(s->regs) : 0 };
	struct check_site site = { .pc = { (void *)(uintptr_t)(s->regs[REG_RIP] + 1) }, .n = 1 };

	if (!l.at)
		return false;
	ut_lock(&check_lock);
	check_each(REGION, is_filled_there, &l);
	ut_unlock(&check_lock);
	if (l.found)
		check_report(CHECK_POLLED, &site, "a thread polls memory that Writes of a peer fill, and waits for a value there");
	return l.found;
}

/* Returns false if the thread does something else than to wait in a loop. */
static bool fits(const uint64_t *regs)
{
	unsigned i = 0;

	if (check_is_library((const void *)(uintptr_t)regs[REG_RIP]))
		return false;
	while (i < n_places && places[i].regs[REG_RIP] != regs[REG_RIP])
		i++;
	if (i == PLACES || (i < n_places && memcmp(places[i].regs, regs, sizeof(places[i].regs))))
		return false;
	if (i == n_places) {
		memcpy(places[n_places++].regs, regs, sizeof(places[i].regs));
		places[i].met = 0;
	}
	places[i].met++;
	hits++;
	return true;
}

static bool ask(pid_t tid, int sig)
{
	sample.answered = false;
	sample.asked = tid;
	if (syscall(SYS_tgkill, getpid(), tid, sig) < 0)
		return false;
	for (int i = 0; i < TICK_MS && !sample.answered; i++)
		pause_ms(SAMPLE_MS);
	sample.asked = 0;
	return sample.answered;
}

static void look(pid_t tid, int sig)
{
	n_places = hits = 0;
	for (int i = 0; i < TRIES; i++) {
		if (!ask(tid, sig) || !fits(sample.regs))
			return;
		for (unsigned k = 0; hits >= SAMPLES && k < n_places; k++)
			if (reports(&places[k]))
				return;
	}
}

/* --- the thread --- */

/* Returns clock ticks in user mode, 0 if it does not run now. */
static unsigned long used_by(pid_t tid)
{
	char path[64], text[512] = "", state = 0;
	unsigned long ticks = 0;
	const char *at;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/self/task/%d/stat", (int)tid);
	f = fopen(path, "re");
	if (!f)
		return 0;
	at = fgets(text, sizeof(text), f) ? strrchr(text, ')') : NULL;
	fclose(f);
	/* proc(5): state, then ten fields, then utime. */
	if (!at || sscanf(at + 1, " %c %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu", &state, &ticks) != 2)
		return 0;
	return state == 'R' ? ticks : 0;
}

static bool has_worked(pid_t tid)
{
	unsigned at = (unsigned)tid % THREADS;
	unsigned long used = used_by(tid);
	bool more = times[at].tid == tid && used > times[at].used;

	times[at].tid = tid;
	if (used)
		times[at].used = used;
	return more;
}

static void *watch(void *arg)
{
	int sig = (int)(intptr_t)arg;
	pid_t self = (pid_t)syscall(SYS_gettid);
	struct dirent *e;
	DIR *d;

	for (;; pause_ms(TICK_MS)) {
		d = opendir("/proc/self/task");
		while (d && (e = readdir(d))) {
			pid_t tid = atoi(e->d_name);

			if (tid && tid != self && has_worked(tid))
				look(tid, sig);
		}
		if (d)
			closedir(d);
	}
	return NULL;
}

/* One that the program has not taken. */
static int take_signal(void)
{
	struct sigaction mine = { .sa_sigaction = on_signal, .sa_flags = SA_SIGINFO | SA_RESTART }, had;

	for (int sig = SIGRTMAX; sig > SIGRTMIN; sig--)
		if (sigaction(sig, NULL, &had) == 0 && had.sa_handler == SIG_DFL && sigaction(sig, &mine, NULL) == 0)
			return sig;
	return 0;
}

void check_spin_begin(void)
{
	static pid_t begun;
	sigset_t all, before;
	pthread_attr_t a;
	pthread_t t;
	int sig;

	if (begun == check_pid || !(sig = take_signal()))
		return;
	begun = check_pid;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&a);
	pthread_attr_setdetachstate(&a, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&t, &a, watch, (void *)(intptr_t)sig))
		signal(sig, SIG_DFL);
	pthread_attr_destroy(&a);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
}

#else

void check_spin_begin(void)
{
}

#endif
