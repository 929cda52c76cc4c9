/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * When the background thread spins in place of sleeping. A requester whose peer's program computes or sleeps waits for
 * that thread, and a wake-up costs more than all the rest. So, as halt polling of KVM and busy polling of NAPI do, the thread
 * looks again for a while before it sleeps: the while is nothing at first, grows when messages follow one another
 * closely, and is nothing again behind a longer sleep. A process without traffic never spins, and no timer is set.
 *
 *   slept at most DEV_SPIN_MOST_NS until a message came     DEV_SPIN_LEAST_NS, then twice as long, at most DEV_SPIN_MOST_NS
 *   slept longer                                            0
 *   another thread wants a processor                        0, and the next messages change nothing: 1, 2, 4 ...
 *                                                           DEV_SPIN_SKIP_MOST of them; 0 behind DEV_SPIN_GOOD_NS in peace
 *
 * A processor is idle, as far as a program without rights can tell, while
 *
 *   the kernel counts no more runnable threads than there are processors (/proc/loadavg): a thread beyond that waits,
 *                      or will if the scheduler does not move it. Where the program may use some processors of many,
 *                      no more than those, whatever runs on the others. One look that counts more may have met a thread of the
 *                      kernel, or the tick of another process; DEV_SPIN_CROWDS looks in a row met one that stays.
 *   no thread has run in this one's place (getrusage(), involuntary switches) for longer than DEV_SPIN_AWAY_NS, or oftener
 *                      than DEV_SPIN_GUESTS times in DEV_SPIN_GOOD_NS: a guest with so little to do, as the tick of another
 *                      process, has had what it wanted. The spinning thread yields once in DEV_SPIN_YIELD_NS, so a thread
 *                      that waits for this very processor runs at once, and the spin ends if it stays.
 *
 * There is none for a program with one processor, for one whose control group has a quota (time that is spun away is
 * missing later), and without /proc.
 *
 *   DAPPLE_SPIN=0        the thread never spins
 *   DAPPLE_SPIN=always   it does, for DEV_SPIN_MOST_NS behind each message, whatever else runs
 */
#ifndef DEVICE_PROGRESS_SPIN_H
#define DEVICE_PROGRESS_SPIN_H

#include <stdbool.h>
#include <stdint.h>

#define DEV_SPIN_LEAST_NS 20000ull
#define DEV_SPIN_MOST_NS 200000ull
#define DEV_SPIN_YIELD_NS 2000ull  /* between two yields */
#define DEV_SPIN_COUNT_NS 50000ull /* between two looks at the threads that run */
#define DEV_SPIN_CROWDS 3u
#define DEV_SPIN_GOOD_NS 1000000ull
#define DEV_SPIN_AWAY_NS 200000ull
#define DEV_SPIN_GUESTS 4u
#define DEV_SPIN_SKIP_MOST 1024u

enum dev_spin_mode { DEV_SPIN_NEVER, DEV_SPIN_IDLE, DEV_SPIN_ALWAYS };

/* The background thread's own. */
struct dev_spin {
	enum dev_spin_mode mode;
	int load;       /* /proc/loadavg, or -1 */
	long most;      /* more runnable threads than these: a thread waits */
	unsigned crowds; /* looks in a row that counted more, at most DEV_SPIN_CROWDS; the first look of all decides alone */
	uint64_t window; /* the thread looks for so long behind the last message; 0: it sleeps at once */
	uint64_t last;   /* the last message, on ut_now()'s clock */
	uint64_t begun;  /* the spin; */
	uint64_t yielded, counted; /* the last yield, and the last look at the threads that run */
	long switches;   /* involuntary ones of this thread, as last seen */
	uint64_t guests_since; /* then the count of guests began */
	unsigned guests;
	unsigned skip, skip_least; /* messages that change nothing, still, and behind the last refusal */
};

/* Looks at the machine now, so that no descriptor comes with traffic. */
void dev_spin_init(struct dev_spin *s);
void dev_spin_fini(struct dev_spin *s);
/* The thread has slept from `before` to `now`, and a message woke it. */
void dev_spin_woken(struct dev_spin *s, uint64_t before, uint64_t now);
/* Another thread can do the work better, as one that polls. */
void dev_spin_refuse(struct dev_spin *s);
/* A message came while the thread was spinning. */
static inline void dev_spin_found(struct dev_spin *s, uint64_t now)
{
	s->last = now;
}

/* Returns true if the thread may look again, without regard to other threads. */
static inline bool dev_spin_is_on(const struct dev_spin *s, uint64_t now)
{
	return s->window && now - s->last < s->window;
}

/* The same with regard to them; yields now and then. No lock is held. */
bool dev_spin_goes_on(struct dev_spin *s, uint64_t now);

#endif
