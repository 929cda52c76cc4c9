/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The background thread: one per process, made when the first adapter
 * attaches or the first thread waits, gone with the last adapter. It sleeps
 * in one epoll set (links, address changes, one timer) and has nothing to
 * wake it while nothing is outstanding.
 */
#ifndef DEVICE_PROGRESS_THREAD_H
#define DEVICE_PROGRESS_THREAD_H

#include <stdbool.h>
#include <stdint.h>

/* Starts it if it does not run. 0 or negative errno. Any lock of this room but
 * the timer lock may be held. */
int dev_thread_start(void);
/* Inline and in its place in the thread, for every poll asks it. */
extern __thread bool dev_thread_this __attribute__((tls_model("initial-exec"), visibility("hidden")));
/* The caller is the background thread, not one of the application. */
static inline bool dev_thread_is_this(void)
{
	return dev_thread_this;
}
/* The epoll set of the running thread; -1 without one. */
int dev_thread_epoll(void);
/* The thread looks at time t at the latest. Cheap when it does so anyway. */
void dev_thread_wake_by(uint64_t t);

struct dev_thread;
/* Ending it, in two steps: take it away under the process lock when no adapter
 * is left (NULL: there is none), then wait for its end without any lock. */
struct dev_thread *dev_thread_take(void);
void dev_thread_join(struct dev_thread *t);
/* At exit: asks it to end and waits at most so long (< 1 s); frees nothing. */
void dev_thread_leave(uint64_t timeout_ns);
/* In a child of fork(): closes the descriptors of the thread that is not here. */
void dev_thread_forget(void);

#endif
