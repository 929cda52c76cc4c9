/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "turn.h"

#include "log.h"
#include "raw.h"
#include "signals.h"
#include "state.h"

#include <errno.h>
#include <linux/futex.h>
#include <sys/prctl.h>

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_ON 1
#endif
#ifndef PR_GET_TID_ADDRESS
#define PR_GET_TID_ADDRESS 40
#endif

#define TURN 1u
#define SIGNALLED 2u
#define CALLS_PER_TURN 16 /* that do not wait, while other threads wait for their turn */

struct rp_thread rp_threads[RP_THREADS];
unsigned rp_n_threads;
_Thread_local struct rp_thread *rp_me __attribute__((tls_model("initial-exec")));

static _Atomic uint32_t lock_word;
static struct rp_thread *holder, *queue, **queue_end = &queue, *sleepers;

/* --- the lock of this file --- */

static void lock(void)
{
	uint32_t free = 0;

	if (atomic_compare_exchange_strong(&lock_word, &free, 1))
		return;
	while (atomic_exchange(&lock_word, 2))
		RP_RAW4(SYS_futex, &lock_word, FUTEX_WAIT_PRIVATE, 2, NULL);
}

static void unlock(void)
{
	if (atomic_exchange(&lock_word, 0) == 2)
		RP_RAW3(SYS_futex, &lock_word, FUTEX_WAKE_PRIVATE, 1);
}

/* --- threads --- */

struct rp_thread *rp_thread_new(void)
{
	struct rp_thread *t = NULL;

	lock();
	if (rp_n_threads < RP_THREADS) {
		t = &rp_threads[rp_n_threads];
		t->index = rp_n_threads++;
	}
	unlock();
	return t;
}

int rp_thread_begin(struct rp_thread *t)
{
	long r;

	rp_me = t;
	t->tid = (int)RP_RAW0(SYS_gettid);
	RP_RAW2(SYS_prctl, PR_GET_TID_ADDRESS, &t->tid_word);
	r = RP_RAW2(SYS_prctl, PR_SET_TSC, PR_TSC_SIGSEGV);
	if (r >= 0)
		r = RP_RAW5(SYS_prctl, PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, rp_raw_begin, rp_raw_end - rp_raw_begin,
			    &t->selector);
	t->selector = 1;
	return (int)r;
}

/* --- turns --- */

static void grant(struct rp_thread *t)
{
	atomic_fetch_or(&t->word, TURN);
	RP_RAW3(SYS_futex, &t->word, FUTEX_WAKE_PRIVATE, 1);
}

static void await(struct rp_thread *t)
{
	uint32_t w;

	while (!((w = atomic_load(&t->word)) & TURN) && rp_mode != RP_OFF)
		RP_RAW4(SYS_futex, &t->word, FUTEX_WAIT_PRIVATE, w, NULL);
	atomic_fetch_and(&t->word, ~TURN);
	t->calls = 0;
}

static void enqueue(struct rp_thread *t)
{
	t->state = RP_QUEUED;
	t->next = NULL;
	*queue_end = t;
	queue_end = &t->next;
	rp_control->waiting++;
}

static void pass_on(void)
{
	struct rp_thread *t = queue;

	holder = t;
	if (!t)
		return;
	queue = t->next;
	if (!queue)
		queue_end = &queue;
	rp_control->waiting--;
	t->state = RP_RUNS;
	grant(t);
}

void rp_turn_give(struct rp_thread *t)
{
	if (rp_mode != RP_RECORDING)
		return;
	lock();
	if (holder == t)
		pass_on();
	unlock();
}

void rp_turn_take(struct rp_thread *t)
{
	bool mine;

	if (rp_mode != RP_RECORDING)
		return;
	lock();
	mine = !holder;
	if (mine)
		holder = t;
	else
		enqueue(t);
	unlock();
	if (!mine)
		await(t);
}

void rp_turn_share(struct rp_thread *t)
{
	if (rp_mode != RP_RECORDING || !rp_control->waiting || ++t->calls < CALLS_PER_TURN)
		return;
	rp_turn_give(t);
	rp_turn_take(t);
}

/* Replay: lets the thread of the next event run. Returns false if that is t. */
static bool hand_over(struct rp_thread *t)
{
	int next = rp_log_thread();

	if (next < 0) {
		rp_stop(RP_AT_END);
		return false;
	}
	if ((unsigned)next == t->index)
		return false;
	if ((unsigned)next >= rp_n_threads || rp_threads[next].ended) {
		rp_stop_at(RP_OTHER_THREAD, next, t->index);
		return false;
	}
	grant(&rp_threads[next]);
	return true;
}

void rp_turn_wait(struct rp_thread *t)
{
	while (rp_mode == RP_REPLAYING && hand_over(t))
		await(t);
}

void rp_turn_begin(struct rp_thread *t)
{
	if (rp_mode == RP_REPLAYING)
		await(t);
	else
		rp_turn_take(t);
}

void rp_turn_end(struct rp_thread *t)
{
	t->ended = true;
	if (rp_mode == RP_REPLAYING)
		hand_over(t);
	else
		rp_turn_give(t);
}

void rp_threads_settle(void)
{
	for (unsigned i = 0; i < rp_n_threads; i++) {
		struct rp_thread *t = &rp_threads[i];

		while (t->ended && t->tid && RP_RAW3(SYS_tgkill, rp_pid, t->tid, 0) == 0)
			RP_RAW0(SYS_sched_yield);
		if (!t->ended)
			continue;
		t->tid = 0;
		t->tid_word = NULL; /* another thread's next */
	}
}

void rp_turn_alone(struct rp_thread *t)
{
	atomic_store(&lock_word, 0);
	holder = t;
	queue = sleepers = NULL;
	queue_end = &queue;
	for (unsigned i = 0; i < rp_n_threads; i++)
		if (&rp_threads[i] != t) {
			rp_threads[i].ended = true;
			rp_threads[i].tid = rp_threads[i].recorded_tid = 0;
			rp_threads[i].tid_word = NULL;
		}
	atomic_store(&t->word, 0);
	t->pending = 0;
	t->state = RP_RUNS;
	rp_control->waiting = 0;
}

void rp_turn_free_all(void)
{
	for (unsigned i = 0; i < rp_n_threads; i++)
		grant(&rp_threads[i]);
}

/* --- waits --- */

static void leave(struct rp_thread *t)
{
	struct rp_thread **p = &sleepers;

	while (*p && *p != t)
		p = &(*p)->next;
	if (*p)
		*p = t->next;
}

/* In the order of their coming. */
static void join(struct rp_thread *t)
{
	struct rp_thread **p = &sleepers;

	while (*p)
		p = &(*p)->next;
	t->next = NULL;
	*p = t;
}

/* The wait is over without a wake-up, unless one came meanwhile: then its turn has come, or comes. */
static void give_up(struct rp_thread *t, int result)
{
	lock();
	if (t->state == RP_WAITS) {
		leave(t);
		t->result = result;
		if (holder) {
			enqueue(t);
		} else {
			holder = t;
			t->state = RP_RUNS;
			atomic_fetch_or(&t->word, TURN);
		}
	}
	unlock();
}

static void sleep_until_turn(struct rp_thread *t, const struct timespec *until, bool realtime, const uint64_t *mask)
{
	uint64_t working = RP_MASK;
	uint32_t w;

	while (!((w = atomic_load(&t->word)) & TURN) && rp_mode != RP_OFF) {
		long r = 0;

		if (!(w & SIGNALLED)) {
			/* A signal that comes between the two calls has changed the word. */
			RP_RAW4(SYS_rt_sigprocmask, SIG_SETMASK, mask, NULL, 8);
			r = RP_RAW6(SYS_futex, &t->word, FUTEX_WAIT_BITSET_PRIVATE | (realtime ? FUTEX_CLOCK_REALTIME : 0), w, until,
				    NULL, FUTEX_BITSET_MATCH_ANY);
			RP_RAW4(SYS_rt_sigprocmask, SIG_SETMASK, &working, NULL, 8);
		}
		if (atomic_fetch_and(&t->word, ~SIGNALLED) & SIGNALLED)
			give_up(t, -EINTR);
		else if (r == -ETIMEDOUT)
			give_up(t, -ETIMEDOUT);
		else
			continue;
		until = NULL;
		break;
	}
	await(t);
}

int rp_turn_sleep(struct rp_thread *t, const uint32_t *addr, uint32_t bits, const struct timespec *until, bool realtime,
		  const uint64_t *mask)
{
	if (rp_mode == RP_RECORDING) {
		lock();
		t->addr = addr;
		t->bits = bits;
		t->result = 0;
		t->state = RP_WAITS;
		join(t);
		if (holder == t)
			pass_on();
		unlock();
		sleep_until_turn(t, until, realtime, mask);
		if (t->result == -EINTR && rp_signals_restart(t))
			t->result = -RP_RESTART;
	} else {
		rp_turn_wait(t);
	}
	if (rp_mode == RP_OFF)
		return 0;
	return (int)rp_event(RP_WOKEN, t->index, 0, t->result);
}

int rp_turn_wake(const uint32_t *addr, int n, uint32_t bits)
{
	struct rp_thread **p = &sleepers;
	int woken = 0;

	lock();
	while (*p && woken < n) {
		struct rp_thread *t = *p;

		if (t->addr != addr || !(t->bits & bits)) {
			p = &t->next;
			continue;
		}
		*p = t->next;
		enqueue(t);
		woken++;
	}
	unlock();
	return woken;
}
