/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The inline lock: one holder at a time, no thread sleeps for ever, errno is kept, free when all
 * are done. */
#include "util/lock.h"

#include "support/check.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>

enum { THREADS = 6, ROUNDS = 20000 };

static struct ut_mutex lock;
static unsigned long turns, inside; /* guarded by lock */

static void *taker(void *arg)
{
	unsigned int pause = *(unsigned int *)arg;

	errno = ERANGE;
	for (unsigned int i = 0; i < ROUNDS; i++) {
		ut_lock(&lock);
		CHECK(++inside == 1);
		turns++;
		/* the others find it taken, and go to sleep */
		if (i % pause == 0)
			sched_yield();
		inside--;
		ut_unlock(&lock);
	}
	CHECK(errno == ERANGE);
	return NULL;
}

int main(void)
{
	unsigned int pause[THREADS];
	pthread_t t[THREADS];

	ut_mutex_init(&lock);
	ut_lock(&lock);
	CHECK(atomic_load(&lock.word) == 1);
	for (unsigned int i = 0; i < THREADS; i++) {
		pause[i] = 3 + 2 * i;
		CHECK(!pthread_create(&t[i], NULL, taker, &pause[i]));
	}
	while (atomic_load(&lock.word) != 2) /* a thread waits for us */
		sched_yield();
	CHECK(!turns);
	ut_unlock(&lock);
	for (unsigned int i = 0; i < THREADS; i++)
		CHECK(!pthread_join(t[i], NULL));
	CHECK(turns == (unsigned long)THREADS * ROUNDS && !inside);
	ut_lock(&lock);
	CHECK(atomic_load(&lock.word) == 1);
	ut_unlock(&lock);
	CHECK(!atomic_load(&lock.word));
	return 0;
}
