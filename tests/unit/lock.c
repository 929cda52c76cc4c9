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
	lock.owner = 1; /* another thread */
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

/* --- the owner's way --- */

static void *take_once(void *arg)
{
	(void)arg;
	ut_lock(&lock);
	turns++;
	ut_unlock(&lock);
	return NULL;
}

static void *try_once(void *arg)
{
	*(bool *)arg = false;
	if (ut_trylock(&lock)) {
		*(bool *)arg = true;
		ut_unlock(&lock);
	}
	return NULL;
}

static void take_turns(unsigned int n)
{
	for (unsigned int i = 0; i < n; i++) {
		ut_lock(&lock);
		ut_unlock(&lock);
	}
}

/* A thread that takes the lock alone owns it, another thread ends that for a while, and neither of them gets in beside the other. */
static void owned(void) UT_NO_TSA; /* it tries a lock that it holds */
static void owned(void)
{
	pthread_t t;
	bool got;

	take_turns(UT_MUTEX_STREAK + 1); /* the first one ends what came before */
	CHECK(atomic_load(&lock.bias) == UT_MUTEX_SELF());
	ut_lock(&lock);
	CHECK(!atomic_load(&lock.word) && atomic_load(&lock.inside) == UT_MUTEX_INSIDE);
	CHECK(!ut_trylock(&lock) && !ut_trylock_quick(&lock));
	ut_unlock(&lock);
	/* as a handler that comes just before the owner is inside */
	atomic_store(&lock.inside, UT_MUTEX_ENTERING);
	CHECK(!ut_trylock(&lock) && !ut_trylock_quick(&lock) && !atomic_load(&lock.word));
	atomic_store(&lock.inside, UT_MUTEX_OUTSIDE);

	ut_lock(&lock);
	CHECK(!pthread_create(&t, NULL, try_once, &got) && !pthread_join(t, NULL) && !got);
	turns = 0;
	CHECK(!pthread_create(&t, NULL, take_once, NULL));
	while (!atomic_load(&lock.word)) /* the thread waits for us */
		sched_yield();
	CHECK(!turns);
	ut_unlock(&lock);
	CHECK(!pthread_join(t, NULL) && turns == 1);
	CHECK(ut_trylock(&lock) && atomic_load(&lock.word) == 1);
	ut_unlock(&lock);
	take_turns(UT_MUTEX_STREAK + 1); /* the first one ends what came before */
	CHECK(atomic_load(&lock.bias) == UT_MUTEX_SELF());
}

int main(void)
{
	ut_mutex_init(&lock);
	all_take();
	CHECK(!atomic_load(&lock.mode));
	ut_mutex_init_frequent(&lock);
	all_take();
	post_all();
	if (!ut_barrier_has_process())
		return 0;
	ut_mutex_init_frequent(&lock); /* the main thread may own it */
	plain_again();
	ut_mutex_init_frequent(&lock);
	owned();
	return 0;
}
