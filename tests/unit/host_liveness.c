/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The word of host/liveness.h, as another process sees it: while its owner lives, after an orderly
 * end, a kill and an exec, and after a forbidden act of a child.
 */
#include "support/check.h"
#include "host/liveness.h"

#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096u

/* Shared by all processes here. */
static struct words {
	struct host_life early, late;
} *words;

static int says[2], hears[2]; /* pipes of the owner */
static pthread_barrier_t begun;

static void say(int fd)
{
	CHECK(write(fd, "", 1) == 1);
}

static void hear(int fd)
{
	char c;

	CHECK(read(fd, &c, 1) == 1);
}

static void *promise(void *arg)
{
	host_life_begin();
	pthread_barrier_wait(&begun);
	hear(hears[0]);
	host_life_end();
	return arg;
}

static void *page(int flags)
{
	void *p = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, flags | MAP_ANONYMOUS, -1, 0);

	CHECK(p != MAP_FAILED);
	return p;
}

static void begin(pthread_t *ret)
{
	struct host_life *removed;

	host_life_add(&words->early);
	CHECK(host_life(&words->early) == HOST_LIFE_NOTHING);
	CHECK(!pthread_barrier_init(&begun, NULL, 2));
	CHECK(!pthread_create(ret, NULL, promise, NULL));
	pthread_barrier_wait(&begun);
	host_life_add(&words->late);
	/* A place where the kernel must not follow an entry that is gone. */
	removed = page(MAP_PRIVATE);
	host_life_add(removed);
	host_life_remove(removed);
	CHECK(!munmap(removed, PAGE));
}

static void wait_for_the_end(pthread_t t)
{
	CHECK(!pthread_join(t, NULL));
	say(says[1]);
	pause();
}

/* Writes a byte when it has become another program, which reads until no writer is left. */
static void become_another(void)
{
	dup2(hears[0], 0);
	close(hears[1]);
	execlp("sh", "sh", "-c", "echo; exec cat", (char *)NULL);
	_exit(127);
}

static void have_child(void)
{
	if (fork() == 0) {
		host_life_forget();
		host_life_remove(&words->early);
		_exit(0);
	}
	CHECK(wait(NULL) > 0);
	say(says[1]);
	pause();
}

static void own(char what)
{
	pthread_t t;

	begin(&t);
	say(says[1]);
	switch (what) {
	case 'e': wait_for_the_end(t); break;
	case 'x':
		dup2(says[1], 1);
		become_another();
		break;
	case 'c': have_child(); break;
	default: pause();
	}
}

static pid_t owner(char what)
{
	pid_t pid;

	*words = (struct words){ 0 };
	CHECK(!pipe(says) && !pipe(hears));
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		own(what);
	hear(says[0]);
	return pid;
}

static void expect(enum host_life_says what)
{
	CHECK(host_life(&words->early) == what);
	CHECK(host_life(&words->late) == what);
}

static void kill_it(pid_t pid)
{
	CHECK(!kill(pid, SIGKILL) && waitpid(pid, NULL, 0) == pid);
	for (int i = 0; i < 2; i++) {
		close(says[i]);
		close(hears[i]);
	}
}

static void killed(void)
{
	pid_t pid = owner('k');

	expect(HOST_LIFE_HERE);
	kill_it(pid);
	expect(HOST_LIFE_GONE);
}

static void ended(void)
{
	pid_t pid = owner('e');

	expect(HOST_LIFE_HERE);
	say(hears[1]);
	hear(says[0]);
	expect(HOST_LIFE_NOTHING);
	kill_it(pid);
	expect(HOST_LIFE_NOTHING);
}

static void replaced(void)
{
	pid_t pid = owner('x');

	hear(says[0]);
	expect(HOST_LIFE_GONE);
	CHECK(!kill(pid, 0));
	kill_it(pid);
}

static void forked(void)
{
	pid_t pid = owner('c');

	hear(says[0]);
	expect(HOST_LIFE_HERE);
	kill_it(pid);
	expect(HOST_LIFE_GONE);
}

int main(void)
{
	words = page(MAP_SHARED);
	killed();
	ended();
	replaced();
	forked();
	return 0;
}
