/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/standby.h"

#include "ulp/clock.h"
#include "ulp/rds/store.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
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

/* The standby has copies of its own; the owner, what the standby has of its descriptors. */
struct kept {
	struct order o;
	int fd;                         /* -1: the place is free */
	bool waits;                     /* the owner before has left it, and nothing has taken it */
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

/* Without memory for a descriptor this standby is of no use: the owner starts another one, and tells that all. */
static void obey(const struct order *o, int fd)
{
	struct kept *k = find(o, o->what == KEEP);

	if (!k && o->what == KEEP)
		_exit(1);
	if (k && k->fd >= 0)
		close(k->fd);
	if (k)
		*k = (struct kept){ *o, fd, true };
	else if (fd >= 0)
		close(fd);
}

/* Returns once the owner has been killed; does not return if it has dismissed the standby. */
static void await_end(void)
{
	struct order o;
	struct iovec iov = { &o, sizeof(o) };
	int fd, flags;
	ssize_t n;

	for (;;) {
		n = rds_take(pair_fd, &iov, 1, &fd, 0, &flags);
		if (rds_may_retry(n))
			continue;
		if (n != sizeof(o))
			return;
		if (o.what == DISMISS)
			_exit(0);
		obey(&o, o.what == KEEP ? fd : -1);
	}
}

/* The standbys of a carrier count them in the memory that they share. */
static bool die_in_a_row(void)
{
	struct rds_store *s = rds_store();

	if (ulp_now_ms() - atomic_load(&s->deaths_since) > DEATHS_MS) {
		atomic_store(&s->deaths_since, ulp_now_ms());
		atomic_store(&s->deaths, 0);
	}
	return atomic_fetch_add(&s->deaths, 1) >= DEATHS_MOST;
}

void rds_standby_begin(void)
{
	close_range(RDS_STANDBY_FDS, ~0u, 0);
	for (int fd = RDS_LISTEN_FD; fd < RDS_STANDBY_FDS; fd++)
		fcntl(fd, F_SETFD, FD_CLOEXEC);
	pair_fd = RDS_STANDBY_PAIR_FD;
	prctl(PR_SET_NAME, "rds-standby");
	await_end();
	if (die_in_a_row())
		_exit(1);
	prctl(PR_SET_NAME, "dapple-rds");
	close(pair_fd);
	pair_fd = -1;
}

static struct order order_of(uint32_t what, uint32_t kind, uint64_t key, const struct rsp_addr *addr)
{
	struct order o;

	memset(&o, 0, sizeof(o));
	o.what = what;
	o.kind = kind;
	o.key = key;
	if (addr)
		o.addr = *addr;
	return o;
}

/* A standby that has ended is renewed, and told all then. */
static void tell(const struct order *o, int fd)
{
	struct iovec iov = { (void *)(uintptr_t)o, sizeof(*o) };

	while (pair_fd >= 0 && rds_may_retry(rds_pass(pair_fd, &iov, 1, fd, 0)))
		;
}

void rds_standby_dismiss(void)
{
	struct order o = order_of(DISMISS, 0, 0, NULL);

	tell(&o, -1);
}

int rds_standby_keep(enum rds_standby_kind kind, uint64_t key, const struct rsp_addr *addr, int fd)
{
	struct order o = order_of(fd < 0 ? DROP : KEEP, kind, key, addr);
	struct kept *k = find(&o, fd >= 0);

	if (!k && fd >= 0)
		return -ENOMEM;
	if (k)
		*k = (struct kept){ o, fd, false };
	tell(&o, fd);
	return 0;
}

int rds_standby_take(enum rds_standby_kind kind, uint64_t key, const struct rsp_addr *addr)
{
	struct order o = order_of(KEEP, kind, key, addr);
	struct kept *k = find(&o, false);

	if (!k || !k->waits)
		return -1;
	k->waits = false;
	return k->fd;
}

void rds_standby_leave(enum rds_standby_kind kind, uint64_t key, const struct rsp_addr *addr)
{
	struct order o = order_of(KEEP, kind, key, addr);
	struct kept *k = find(&o, false);

	if (k)
		k->waits = true;
}

void rds_standby_close_rest(void)
{
	int fd;

	for (size_t i = 0; i < nr_all; i++) {
		fd = all[i].fd;
		if (fd < 0 || !all[i].waits)
			continue;
		rds_standby_keep(all[i].o.kind, all[i].o.key, &all[i].o.addr, -1);
		close(fd);
	}
}

/* --- the next standby --- */

/* Starts this program anew with these descriptors, from RDS_LISTEN_FD on. They must not be in each other's place. */
static int spawn(const int fds[], int nr)
{
	char *argv[] = { "dapple-rds", RDS_STANDBY_WORD, NULL };
	posix_spawn_file_actions_t acts;
	pid_t pid;
	int r = posix_spawn_file_actions_init(&acts);

	if (r)
		return -r;
	for (int i = 0; i < nr && !r; i++)
		r = posix_spawn_file_actions_adddup2(&acts, fds[i], RDS_LISTEN_FD + i);
	if (!r)
		r = posix_spawn(&pid, "/proc/self/exe", &acts, NULL, argv, environ);
	posix_spawn_file_actions_destroy(&acts);
	return -r;
}

/* The same with any descriptors. */
static int spawn_with(const int fds[], int nr)
{
	int high[RDS_STANDBY_FDS], made = 0, r = 0;

	for (; made < nr && !r; made++) {
		high[made] = fcntl(fds[made], F_DUPFD_CLOEXEC, RDS_STANDBY_FDS);
		r = high[made] < 0 ? -errno : 0;
	}
	if (!r)
		r = spawn(high, nr);
	while (made--)
		if (high[made] >= 0)
			close(high[made]);
	return r;
}

int rds_standby_renew(int maps_fd)
{
	int sv[2], r;

	signal(SIGCHLD, SIG_IGN);
	if (pair_fd >= 0)
		close(pair_fd);
	pair_fd = -1;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sv))
		return -errno;
	pair_fd = sv[0];
	r = spawn_with((int[]){ RDS_LISTEN_FD, sv[1], rds_store_fd(), maps_fd }, RDS_STANDBY_FDS - RDS_LISTEN_FD);
	close(sv[1]);
	for (size_t i = 0; !r && i < nr_all; i++)
		if (all[i].fd >= 0)
			tell(&all[i].o, all[i].fd);
	return r;
}

int rds_standby_fd(void)
{
	return pair_fd;
}
