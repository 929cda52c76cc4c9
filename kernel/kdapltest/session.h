/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A run of kdapltest: an open file of the device, to which one command line is written and from which text is read. Its
 * threads are kernel threads; closing the file ends them.
 */
#ifndef KDAPLTEST_SESSION_H
#define KDAPLTEST_SESSION_H

#include <linux/list.h>
#include <linux/spinlock.h>
#include <linux/types.h>
#include <linux/wait.h>

#include "kdapltest/shim.h"

enum { KDT_WORDS = 256, KDT_OUTPUT = 1 << 16 };

struct kdt_session {
	char *words;             /* the command line: words that end with NUL */
	char *argv[KDT_WORDS + 1];
	int argc;
	bool started, stop, done;
	int status;              /* of the run, once done */
	atomic_t threads;
	wait_queue_head_t wq;    /* output, room for it, the end of threads */
	spinlock_t lock;
	char *out;               /* KDT_OUTPUT bytes, a ring; lock */
	unsigned int head, tail; /* written, read; lock */
	struct list_head evds;   /* lock */
};

struct kdt_thread {
	struct kdt_session *s;
	void *(*run)(void *);
	void *arg;
	bool detached;
	bool done;               /* the thread uses this structure no more */
	struct kdt_getopt getopt;
	char *next;              /* of getopt: letters behind the present one */
	char text[4][KDT_TEXT];
	unsigned int turn;
};

struct kdt_session *kdt_session_new(void);
/* Starts the run of words[0..size), which end with NUL. Returns 0 or a negative errno. The words become the session's. */
int kdt_session_start(struct kdt_session *s, char *words, size_t size);
/* Ends it, waits for its threads and frees it. */
void kdt_session_end(struct kdt_session *s);

#endif
