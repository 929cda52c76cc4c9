/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/standby.h"

#include "ulp/clock.h"
#include "ulp/rds/record.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#define DEATHS_MOST 50                  /* of owners within so many milliseconds: the next one would die, too */
#define DEATHS_MS 10000

enum { KEEP = 1, DROP, DISMISS };

struct order {
	uint32_t what, kind;
	uint64_t key;
	struct rsp_addr addr;
};

struct kept {
	struct order o;
	int fd;                         /* -1: the place is free */
};

static int pair_fd = -1;                /* the owner's end, or the standby's */
static struct kept *all;
static size_t nr_all, room;

static bool is_it(const struct kept *k, const struct order *o)
{
	return k->fd >= 0 && k->o.kind == o->kind && k->o.key == o->key && !memcmp(&k->o.addr, &o->addr, sizeof(o->addr));
}

/* The descriptor's place, or a free one. NULL: no memory. */
static struct kept *find(const struct order *o, bool make)
{
	struct kept *unused = NULL, *more;

	for (size_t i = 0; i < nr_all; i++) {
		if (is_it(&all[i], o))
			return &all[i];
		if (all[i].fd < 0)
			unused = &all[i];
	}
	if (unused || !make)
		return make ? unused : NULL;
	if (nr_all == room) {
		more = realloc(all, (room ? room * 2 : 64) * sizeof(*all));
		if (!more)
			return NULL;
		all = more;
		room = room ? room * 2 : 64;
	}
	all[nr_all].fd = -1;
	return &all[nr_all++];
}

static void obey(const struct order *o, int fd)
{
	struct kept *k = find(o, o->what == KEEP);

	if (k && k->fd >= 0)
		close(k->fd);
	if (k)
		*k = (struct kept){ *o, fd };
	else if (fd >= 0)
		close(fd);
}

/* Returns true once the owner has been killed; does not return if it has dismissed the standby. */
static bool stand_by(void)
{
	struct order o;
	struct iovec iov = { &o, sizeof(o) };
	int fd, flags;
	ssize_t n;

	for (;;) {
		n = rds_take(pair_fd, &iov, 1, &fd, 0, &flags);
		if (n == -EINTR)
			continue;
		if (n != sizeof(o))
			return true;
		if (o.what == DISMISS)
			_exit(0);
		obey(&o, o.what == KEEP ? fd : -1);
	}
}

static bool die_in_a_row(void)
{
	static int64_t since;
	static unsigned deaths;

	if (ulp_now_ms() - since > DEATHS_MS) {
		since = ulp_now_ms();
		deaths = 0;
	}
	return ++deaths > DEATHS_MOST;
}

bool rds_standby_fork(void)
{
	bool takes_over = false;
	int sv[2];
	pid_t pid;

	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv))
			return takes_over;
		pid = fork();
		if (pid) {
			close(sv[1]);
			if (pid < 0)
				close(sv[0]);
			pair_fd = pid < 0 ? -1 : sv[0];
			return takes_over;
		}
		close(sv[0]);
		if (pair_fd >= 0)
			close(pair_fd);
		pair_fd = sv[1];
		prctl(PR_SET_NAME, "rds-standby");
		takes_over = stand_by();
		if (die_in_a_row())
			_exit(1);
		prctl(PR_SET_NAME, "dapple-rds");
		close(pair_fd);
		pair_fd = -1;
	}
}

static void tell(uint32_t what, uint32_t kind, uint64_t key, const struct rsp_addr *addr, int fd)
{
	struct order o;
	struct iovec iov = { &o, sizeof(o) };

	memset(&o, 0, sizeof(o));
	o.what = what;
	o.kind = kind;
	o.key = key;
	if (addr)
		o.addr = *addr;
	if (pair_fd >= 0 && rds_pass(pair_fd, &iov, 1, fd, 0) == -EPIPE) {
		close(pair_fd);
		pair_fd = -1;
	}
}

void rds_standby_dismiss(void)
{
	tell(DISMISS, 0, 0, NULL, -1);
}

void rds_standby_keep(enum rds_standby_kind kind, uint64_t key, const struct rsp_addr *addr, int fd)
{
	tell(fd < 0 ? DROP : KEEP, kind, key, addr, fd);
}

int rds_standby_take(enum rds_standby_kind kind, uint64_t key, const struct rsp_addr *addr)
{
	struct order o;
	struct kept *k;
	int fd;

	memset(&o, 0, sizeof(o));
	o.kind = kind;
	o.key = key;
	if (addr)
		o.addr = *addr;
	k = find(&o, false);
	if (!k)
		return -1;
	fd = k->fd;
	k->fd = -1;
	return fd;
}

void rds_standby_close_rest(void)
{
	for (size_t i = 0; i < nr_all; i++) {
		if (all[i].fd < 0)
			continue;
		tell(DROP, all[i].o.kind, all[i].o.key, &all[i].o.addr, -1);
		close(all[i].fd);
		all[i].fd = -1;
	}
}
