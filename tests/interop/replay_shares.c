/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Memory that processes share: what dapple record refuses, and what it does not.
 *
 *   named     a semaphore that others can open
 *   child     a counter that a child counts up; call: it gives its address to a system call
 *   untouched the same, and the child leaves it alone: status 3
 *   unmapped  it is no more when the child begins, and private memory is at its place: status 3
 */
#include <fcntl.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define BYTES 65536

static int use_name(void)
{
	char name[64];
	sem_t *s;

	snprintf(name, sizeof(name), "/dapple-replay-%d", (int)getpid());
	s = sem_open(name, O_CREAT | O_EXCL, 0600, 1);
	sem_unlink(name);
	return s == SEM_FAILED ? 2 : 0;
}

static int in_child(const char *what, volatile int *counter)
{
	int fds[2];

	if (!strcmp(what, "child"))
		++*counter;
	if (!strcmp(what, "unmapped"))
		return ++*counter == 1 ? 3 : 4;
	if (!strcmp(what, "call") && (pipe(fds) || write(fds[1], "1234", 4) != 4 || read(fds[0], (void *)counter, 4) != 4))
		return 5;
	return 3;
}

int main(int argc, char **argv)
{
	volatile int *counter = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	int status = 0;
	pid_t pid;

	if (argc < 2 || counter == MAP_FAILED)
		return 2;
	if (!strcmp(argv[1], "named"))
		return use_name();
	if (!strcmp(argv[1], "unmapped") && (munmap((void *)counter, BYTES) || mmap((void *)counter, BYTES, PROT_READ | PROT_WRITE,
										   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != counter))
		return 2;
	pid = fork();
	if (pid == 0)
		_exit(in_child(argv[1], counter));
	waitpid(pid, &status, 0);
	printf("%d %d\n", WEXITSTATUS(status), *counter);
	return WEXITSTATUS(status);
}
