/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The inline lock: one holder at a time, no thread sleeps for ever, errno is kept, free when all
 * are done. A frequent lock loses no post either; tests/speed/lock_model.c has all orders of its steps. */
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

/* One thread holds the lock, the others sleep; then all take turns. */
static void all_take(void)
{
	unsigned int pause[THREADS];
	pthread_t t[THREADS];

	turns = 0;
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
}

/* --- a poster leaves what it has published to the holder of a frequent lock --- */

enum { POSTS = 200000 };

static _Atomic unsigned int posted;
static unsigned int served; /* guarded by lock */
static atomic_bool ended;

/* As eng_dev_run_pending(). */
static void serve(void)
{
	while (atomic_load(&posted) && ut_trylock(&lock)) {
		served += atomic_exchange(&posted, 0);
		ut_unlock(&lock);
	}
}

static void *holder(void *arg)
{
	(void)arg;
	while (!atomic_load_explicit(&ended, memory_order_relaxed)) {
		if (ut_trylock_quick(&lock))
			ut_unlock(&lock);
		serve();
	}
	return NULL;
}

/* The last post is served by one of the two threads before it ends. */
static void post_all(void)
{
	pthread_t t;

	atomic_store(&ended, false);
	CHECK(!pthread_create(&t, NULL, holder, NULL));
	for (unsigned int i = 0; i < POSTS; i++) {
		atomic_fetch_add(&posted, 1);
		serve();
	}
	atomic_store(&ended, true);
	CHECK(!pthread_join(t, NULL));
	CHECK(!atomic_load(&posted) && served == POSTS);
}

/* One thread alone comes back to plain releases, and contention ends them. */
static void plain_again(void) UT_NO_TSA; /* it tries a lock that it holds */
static void plain_again(void)
{
	for (unsigned int i = 0; i < 2 * UT_MUTEX_STREAK; i++) {
		ut_lock(&lock);
		ut_unlock(&lock);
	}
	CHECK((atomic_load(&lock.mode) & UT_MUTEX_STATE) == UT_MUTEX_PLAIN);
	ut_lock(&lock);
	CHECK(!ut_trylock_quick(&lock) && (atomic_load(&lock.mode) & UT_MUTEX_STATE) == UT_MUTEX_PLAIN);
	CHECK(!ut_trylock(&lock) && (atomic_load(&lock.mode) & UT_MUTEX_STATE) == UT_MUTEX_CONTENDED);
	ut_unlock(&lock);
	CHECK(ut_trylock(&lock));
	ut_unlock(&lock);
}

int main(void)
{
	ut_mutex_init(&lock);
	all_take();
	CHECK(!atomic_load(&lock.mode));
	ut_mutex_init_frequent(&lock);
	all_take();
	post_all();
	if (ut_barrier_has_process())
		plain_again();
	return 0;
}
