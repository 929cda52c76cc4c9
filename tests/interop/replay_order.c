/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A sum that depends on the order of eight threads, on times, random numbers, the processor's counter, signals, a child
 * process and addresses: no two runs have the same one. It is printed, and its low bits are the status. With an argument
 * the program ends itself by SIGABRT.
 */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/random.h>
#include <sys/wait.h>
#include <poll.h>
#include <time.h>
#include <unistd.h>

#define THREADS 8
#define STEPS 200
#define ROUNDS 3
#define SHORT_NS 200000

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static sem_t tokens;
static uint64_t sum;
static atomic_int signals;
static int ends[2];

static void mix(uint64_t v)
{
	pthread_mutex_lock(&lock);
	sum = (sum ^ v) * 0x9e3779b97f4a7c15u;
	pthread_mutex_unlock(&lock);
}

static void on_signal(int sig)
{
	signals += sig;
	sum ^= (uint64_t)sig; /* not locked, on purpose */
}

static struct timespec soon(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += SHORT_NS;
	if (t.tv_nsec >= 1000000000) {
		t.tv_sec++;
		t.tv_nsec -= 1000000000;
	}
	return t;
}

static void wait_for_change(void)
{
	struct timespec t = soon();

	pthread_mutex_lock(&lock);
	sum = (sum ^ (uint64_t)pthread_cond_timedwait(&changed, &lock, &t)) * 17;
	pthread_mutex_unlock(&lock);
}

static void pass_octet(uint8_t v)
{
	if (write(ends[1], &v, 1) != 1 || read(ends[0], &v, 1) != 1)
		abort();
	mix(v);
}

static void take_token(void)
{
	struct timespec t = soon();

	mix(sem_timedwait(&tokens, &t) ? (uint64_t)errno : 1);
}

static void step(uint32_t what, uint64_t id)
{
	struct timespec t = { 0, what % 100000 };

	switch (what % 9) {
	case 0:
		mix(__builtin_ia32_rdtsc());
		break;
	case 1:
		nanosleep(&t, NULL);
		mix(id);
		break;
	case 2:
		sem_post(&tokens);
		break;
	case 3:
		take_token();
		break;
	case 4:
		pthread_cond_broadcast(&changed);
		break;
	case 5:
		wait_for_change();
		break;
	case 6:
		pthread_rwlock_wrlock(&table);
		sum += id;
		sched_yield();
		pthread_rwlock_unlock(&table);
		break;
	case 7:
		pass_octet((uint8_t)id);
		break;
	default:
		raise(SIGUSR1);
	}
}

static void *work(void *arg)
{
	uint64_t id = (uint64_t)(uintptr_t)arg;
	uint32_t r = (uint32_t)id;

	for (int i = 0; i < STEPS; i++) {
		r = r * 1103515245 + 12345;
		step(r >> 8, id);
	}
	return NULL;
}

static void *wait_for_ever(void *arg)
{
	(void)arg;
	for (;;)
		poll(NULL, 0, -1);
	return NULL;
}

static void run_threads(void)
{
	pthread_t t[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		if (pthread_create(&t[i], NULL, work, (void *)(i + 1)))
			abort();
	pthread_kill(t[3], SIGUSR1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
}

static void *add_one(void *arg)
{
	return (char *)arg + 1;
}

/* The creator makes no other call before it waits: the next event is the new thread's. */
static void start_one(void)
{
	pthread_t t;
	void *is;

	if (pthread_create(&t, NULL, add_one, &sum) || pthread_join(t, &is))
		abort();
	mix(is == (char *)&sum + 1);
}

static void cancel_one(void)
{
	pthread_t t;
	void *how;

	if (pthread_create(&t, NULL, wait_for_ever, NULL))
		abort();
	pthread_cancel(t);
	pthread_join(t, &how);
	mix(how == PTHREAD_CANCELED);
}

static void run_child(void)
{
	pid_t pid = fork();
	int status;

	if (pid == 0)
		_exit(7);
	waitpid(pid, &status, 0);
	mix((uint64_t)status);
	mix((uint64_t)system("exit 3"));
}

int main(int argc, char **argv)
{
	struct sigaction act = { .sa_handler = on_signal };
	uint64_t seed;

	(void)argv;
	sigaction(SIGUSR1, &act, NULL);
	sigaction(SIGALRM, &act, NULL);
	if (pipe(ends) || sem_init(&tokens, 0, 0) || getrandom(&seed, sizeof(seed), 0) != sizeof(seed))
		return 2;
	mix(seed ^ (uint64_t)(uintptr_t)&seed ^ (uint64_t)getpid());
	for (int i = 0; i < ROUNDS; i++)
		run_threads();
	start_one();
	cancel_one();
	run_child();
	ualarm(1000, 0);
	while (signals % SIGUSR1 == 0)
		pause();
	mix((uint64_t)signals ^ (uint64_t)(uintptr_t)malloc(1000));
	printf("%016llx\n", (unsigned long long)sum);
	fflush(stdout);
	if (argc > 1)
		abort();
	return (int)(sum & 63);
}
