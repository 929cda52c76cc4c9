/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/barrier.h"

#include <errno.h>
#include <linux/membarrier.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct command {
	int execute, announce;
	_Atomic bool granted;
};

static struct command process = {
	.execute = MEMBARRIER_CMD_PRIVATE_EXPEDITED, .announce = MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED,
};
static struct command host = {
	.execute = MEMBARRIER_CMD_GLOBAL_EXPEDITED, .announce = MEMBARRIER_CMD_REGISTER_GLOBAL_EXPEDITED,
};
static _Atomic bool asked;

static int membarrier(int what)
{
	int kept = errno;
	long r = syscall(SYS_membarrier, what, 0, 0);

	errno = kept;
	return (int)r;
}

static void ask(struct command *c, int offered)
{
	int wanted = c->execute | c->announce;

	if ((offered & wanted) == wanted && membarrier(c->announce) == 0)
		atomic_store(&c->granted, true);
}

/*
 * Both at once, with the first adapter, when the process has one thread as a rule: with several, the kernel waits some 15 ms
 * before it answers. Threads that ask at once announce the process twice, which is no error.
 */
static void ask_all(void)
{
#if !defined(__SANITIZE_THREAD__) /* which knows no fence of another thread */
	int offered;

	if (atomic_load_explicit(&asked, memory_order_acquire))
		return;
	offered = membarrier(MEMBARRIER_CMD_QUERY);
	if (offered > 0) {
		ask(&process, offered);
		ask(&host, offered);
	}
	atomic_store(&asked, true);
#endif
}

/*
 * Refused although it was granted: the child of a fork may have to announce itself. A sandbox that was set up later may forbid
 * the call altogether; store buffers empty by themselves within some hundred ns, so the caller waits a thousand times as long.
 */
static void execute(const struct command *c)
{
	const struct timespec long_enough = { .tv_nsec = 500000 };

	if (membarrier(c->execute) == 0 || (membarrier(c->announce) == 0 && membarrier(c->execute) == 0))
		return;
	syscall(SYS_nanosleep, &long_enough, NULL);
}

bool ut_barrier_has_process(void)
{
	ask_all();
	return atomic_load_explicit(&process.granted, memory_order_relaxed);
}

void ut_barrier_process(void)
{
	execute(&process);
}

bool ut_barrier_has_host(void)
{
	ask_all();
	return atomic_load_explicit(&host.granted, memory_order_relaxed);
}

void ut_barrier_host(void)
{
	execute(&host);
}
