/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Turns: of a program's threads one runs at a time, and turns change only where a thread makes a system call that is an
 * event. So the order of the events is the order of all that the threads do to their common memory.
 *
 *   recording  a thread that is about to wait gives its turn away and takes part again when its wait is over: first come,
 *              first served. It writes its event as soon as it has its turn back.
 *   replay     a thread that comes to a call waits until the next event is its own; the thread of the next event runs.
 *
 * Waits on futexes are kept here and not in the kernel, so that wake-ups have an order, too.
 */
#ifndef REPLAY_TURN_H
#define REPLAY_TURN_H

#include "../format.h"

#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Blocked while the recorder works: all but its own signal and those of the processor's traps. */
#define RP_MASK (~(1ull << (SIGSYS - 1) | 1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1) | 1ull << (SIGILL - 1) | \
		   1ull << (SIGFPE - 1) | 1ull << (SIGTRAP - 1) | 1ull << (SIGABRT - 1)))

#define RP_RESTART 512 /* as the kernel's ERESTARTSYS */

enum rp_wait { RP_RUNS, RP_WAITS, RP_QUEUED };

struct rp_thread {
	volatile uint8_t selector; /* read by the kernel: 0, system calls are executed as they are */
	bool creates;              /* it is in pthread_create() */
	bool ended;                /* its end is near: the kernel will clear *tid_word */
	unsigned index;
	int tid, recorded_tid;
	uint32_t *tid_word;
	_Atomic uint32_t word; /* bit 0: its turn; bit 1: a signal came */
	/* under the lock of turn.c */
	enum rp_wait state;
	int result; /* of the wait */
	const uint32_t *addr;
	uint32_t bits;
	struct rp_thread *next; /* in the queue, or among those that wait */
	unsigned calls;         /* since its turn began */
	/* of the thread alone */
	uint64_t pending;
	siginfo_t infos[65];
};

extern struct rp_thread rp_threads[RP_THREADS];
extern unsigned rp_n_threads;
extern _Thread_local struct rp_thread *rp_me __attribute__((tls_model("initial-exec")));

/* Returns a new thread's place, or NULL. */
struct rp_thread *rp_thread_new(void);
/* Called by the thread itself: its calls come to the recorder from here on. Returns 0 or -errno. */
int rp_thread_begin(struct rp_thread *t);

/* Recording: gives the turn away, and takes part again. */
void rp_turn_give(struct rp_thread *t);
void rp_turn_take(struct rp_thread *t);
/* Recording: at a call that does not wait: lets others run now and then. */
void rp_turn_share(struct rp_thread *t);
/* Replay: waits until the next event is this thread's. Recording: nothing. */
void rp_turn_wait(struct rp_thread *t);
/* The thread begins: waits for its first turn. */
void rp_turn_begin(struct rp_thread *t);
/* The thread ends. */
void rp_turn_end(struct rp_thread *t);

/* Waits until rp_turn_wake() for this address, a signal that *mask does not block, or the time. until: NULL, never; on
 * the clock. Returns 0, -ETIMEDOUT, -EINTR, or -RP_RESTART: handlers are to run, then it waits again. Writes, or takes, the event. */
int rp_turn_sleep(struct rp_thread *t, const uint32_t *addr, uint32_t bits, const struct timespec *until, bool realtime,
		  const uint64_t *mask);
/* Returns how many of at most n threads that wait for the address were woken. */
int rp_turn_wake(const uint32_t *addr, int n, uint32_t bits);

/* In a child that t has made: no other thread is there. In a replay they are, and never get a turn again. */
void rp_turn_alone(struct rp_thread *t);

/* Waits until the threads that have ended are no more: until then libc does not use their stacks again. */
void rp_threads_settle(void);

/* The recording has stopped: lets all threads go. */
void rp_turn_free_all(void);

#endif
