/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A child of fork() closes the members of an epoll set, and nothing that has got the number of a former one. */
#include "device/fork.h"

#include "support/cases.h"
#include "support/check.h"

#include <fcntl.h>
#include <stdbool.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/wait.h>
#include <unistd.h>

static int add(int ep, int fd)
{
	struct epoll_event ev = { .events = EPOLLIN };

	CHECK(fd >= 0 && !epoll_ctl(ep, EPOLL_CTL_ADD, fd, &ev));
	return fd;
}

static bool is_open(int fd)
{
	return fcntl(fd, F_GETFD) >= 0;
}

/* Runs a check behind dev_fork_close() in a child. */
static void in_child(int ep, void (*check)(void))
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (!pid) {
		dev_fork_close(ep, NULL);
		CHECK(!is_open(ep));
		check();
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid && !status);
}

static int members[3], others[3], copies[2];

static void members_are_closed(void)
{
	for (int i = 0; i < 3; i++)
		CHECK(!is_open(members[i]));
}

static void plain(void)
{
	int ep = epoll_create1(0);

	for (int i = 0; i < 3; i++)
		members[i] = add(ep, eventfd(0, 0));
	in_child(ep, members_are_closed);
	for (int i = 0; i < 3; i++) {
		CHECK(is_open(members[i]));
		close(members[i]);
	}
	close(ep);
}

static void others_are_open(void)
{
	CHECK(is_open(others[0]) && is_open(others[1]) && !is_open(members[2]));
}

/* Copies of two members are elsewhere, so that they stay in the set; their numbers are a pipe's end and an eventfd's now. */
static void numbers_of_others(void)
{
	int ep = epoll_create1(0), ends[2];

	for (int i = 0; i < 3; i++)
		members[i] = add(ep, eventfd(0, 0));
	CHECK(!pipe(ends));
	for (int i = 0; i < 2; i++)
		copies[i] = dup(members[i]);
	others[0] = dup2(ends[0], members[0]);
	others[1] = dup2(ends[1], members[1]);
	in_child(ep, others_are_open);
	close(others[1]);
	others[1] = eventfd(0, 0);
	CHECK(others[1] == members[1]);
	in_child(ep, others_are_open);
	/* One that is a member, too: two have this number. */
	add(ep, others[1]);
	others[1] = ends[1];
	in_child(ep, others_are_open);
}

static const struct test_case cases[] = {
	{ "-", "members", plain },
	{ "-", "numbers that are another's now", numbers_of_others },
};

int main(int argc, char **argv)
{
	return RUN_CASES(cases, argc, argv);
}
