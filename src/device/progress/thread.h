/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The background thread: one per process, made when the first adapter opens or attaches, or the first
 * thread waits; gone with the last adapter. It sleeps in one epoll set (links, address changes, one
 * timer), and nothing wakes it while nothing is outstanding. driver.h has the whole picture.
 */
#ifndef DEVICE_PROGRESS_THREAD_H
#define DEVICE_PROGRESS_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#define DEV_SERIAL_FIRST 16 /* numbers below are for the thread's own descriptors */

/* Starts it if it does not run. Returns 0 or negative errno. Any lock of this room but the timer lock may be
 * held. */
int dev_thread_start(void);
/* Inline, and at a fixed offset in the thread's storage, since every poll asks. */
extern __thread bool dev_thread_this __attribute__((tls_model("initial-exec"), visibility("hidden")));
/* Returns true if the caller is the background thread, and not one of the application. */
static inline bool dev_thread_is_this(void)
{
	return dev_thread_this;
}
/* Returns the epoll set of the running thread; -1 without one. Events of adapters carry their serial
 * numbers, from DEV_SERIAL_FIRST on. */
int dev_thread_epoll(void);
/* The thread looks at time t (ns of CLOCK_MONOTONIC; UT_NEVER: no such time) at the latest. Cheap if it does
 * so anyway. Any lock of this room but the timer lock may be held. */
void dev_thread_wake_by(uint64_t t);

struct dev_thread;

/* Ending it takes two steps: dev_thread_take() under dev_process_lock when no adapter is left (NULL: there is
 * no thread), then dev_thread_join() without any lock. */
struct dev_thread *dev_thread_take(void);
void dev_thread_join(struct dev_thread *t);
/* At exit: asks it to end and waits at most so long (< 1 s); frees nothing. */
void dev_thread_leave(uint64_t timeout_ns);
/* At _exit(): asks it for dev_process_last_round(), and waits until that is done, at most so many times a
 * millisecond. No lock, no allocation. Nothing without a thread, in the thread itself, and in another process than
 * its own. */
void dev_thread_last(unsigned looks);
/* In a child of fork(): closes the descriptors of the thread that is not here. */
void dev_thread_forget(void);

#endif
