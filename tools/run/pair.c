/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pair.h"

#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "device/sysfs/tree.h"
#include "enter.h"
#include "hosts.h"
#include "run.h"
#include "up.h"
#include "util/rundir.h"

/*
 * dapple pair: one loop over the output, the signals, both ends and the clock.
 *
 *   server starts -> listens -> client starts -> one end exits
 *       -> the other exits within the grace time, or is ended -> one status
 */

enum { SERVER, CLIENT };

#define KILL_AFTER_MS 2000	/* from TERM to KILL */
#define DRAIN_MS 1000		/* for output of remaining processes after both ends have exited */
#define LOOK_MAX_MS 50

long long pair_now_ms(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000LL + ts.tv_nsec / 1000000;
}

static void poll_once(struct pair *p, int timeout)
{
	struct pollfd fds[5] = { { .fd = p->signals, .events = POLLIN } };
	struct pair_pipe *pipes[5];
	int n = 1, i, k;

	for (i = 0; i < 2; i++)
		for (k = 0; k < 2; k++)
			if (p->ends[i].pid && p->ends[i].pipes[k].fd >= 0) {
				pipes[n] = &p->ends[i].pipes[k];
				fds[n] = (struct pollfd){ .fd = pipes[n]->fd, .events = POLLIN };
				n++;
			}
	if (poll(fds, (nfds_t)n, timeout) > 0)
		for (i = 1; i < n; i++)
			if (fds[i].revents)
				pair_pipe_read(pipes[i]);
	pair_signals(p);
	pair_reap(p);
}

static bool all_done(const struct pair *p)
{
	const struct pair_end *s = &p->ends[SERVER], *c = &p->ends[CLIENT];

	return s->done && (!c->pid || c->done);
}

/* Ends processes that are overdue. A server that does not exit by itself has no grace time. */
static void keep_time(struct pair *p, long long now)
{
	const struct pair_end *c = &p->ends[CLIENT];

	if (p->timeout_s && !p->timed_out && now - p->started > p->timeout_s * 1000) {
		p->timed_out = true;
		run_say("both ends have not exited within %ld s: they are ended, with status 124; raise "
			"--timeout", p->timeout_s);
		pair_stop(p, now);
	}
	if (p->stop_sent) {
		if (now - p->stop_sent > KILL_AFTER_MS)
			pair_stop(p, now);
		return;
	}
	if (c->done && c->status == 0 && p->stays) {
		pair_stop(p, now);
		return;
	}
	if ((p->ended_first && now - p->ended_first > p->grace_s * 1000) || p->never_listened)
		pair_stop(p, now);
}

static void try_client(struct pair *p, long long now)
{
	if (p->killed_by || p->stop_sent)
		return;
	if (pair_is_ready(p->ends[SERVER].pid, p->plan.port, p->plan.ready, &p->quiet)) {
		if (pair_start(p, CLIENT) != 0)
			p->never_listened = true;
		return;
	}
	if (now - p->started > p->wait_s * 1000) {
		run_say("the server did not listen on port %d within %ld s: the client is not started; read "
			"the server's output, or raise --wait",
			p->plan.port, p->wait_s);
		p->never_listened = true;
	}
	p->look_ms = p->look_ms < LOOK_MAX_MS ? p->look_ms * 2 : LOOK_MAX_MS;
}

static void loop(struct pair *p)
{
	long long now;

	while (!all_done(p)) {
		bool waiting = !p->ends[CLIENT].pid && !p->ends[SERVER].done;

		now = pair_now_ms();
		if (waiting)
			try_client(p, now);
		keep_time(p, now);
		/* Without a deadline the loop sleeps until an event. */
		poll_once(p, waiting ? p->look_ms
			     : p->timeout_s || p->ended_first || p->stop_sent ? LOOK_MAX_MS : -1);
	}
}

/* Both ends have exited; a process that one has left may keep a pipe open. */
static void drain(struct pair *p)
{
	long long until = pair_now_ms() + DRAIN_MS;
	bool open_pipe = true;
	int i, k;

	while (open_pipe && pair_now_ms() < until) {
		open_pipe = false;
		for (i = 0; i < 4; i++)
			if (p->ends[i / 2].pid && p->ends[i / 2].pipes[i % 2].fd >= 0)
				open_pipe = true;
		if (open_pipe)
			poll_once(p, LOOK_MAX_MS);
	}
	for (i = 0; i < 2; i++)
		for (k = 0; k < 2; k++)
			if (p->ends[i].pid) {
				kill(-p->ends[i].pid, SIGKILL);
				pair_pipe_close(&p->ends[i].pipes[k]);
			}
}

static int exit_status(struct pair *p)
{
	const struct pair_end *s = &p->ends[SERVER], *c = &p->ends[CLIENT];

	if (p->killed_by)
		return 128 + p->killed_by;
	if (p->timed_out)
		return RUN_EXIT_TIMEOUT;
	if (s->failed_at && (!c->failed_at || s->failed_at < c->failed_at))
		return s->status;
	if (c->failed_at)
		return c->status;
	if (p->never_listened)
		return 1;
	if (!c->pid) {
		run_say("the server exited before it listened on port %d: the client is not started; read "
			"the server's output", p->plan.port);
		return 1;
	}
	if (c->ended_by_us || (s->ended_by_us && !p->stays)) {
		run_say("the %s was still there %ld s after the other end had exited: it was ended; raise "
			"--grace, or give --stays",
			c->ended_by_us ? c->name : s->name, p->grace_s);
		return 1;
	}
	return 0;
}

/* Removes the device trees of the two namespaces, which have ended. */
static void clean_trees(struct pair *p)
{
	char dir[UT_RUNDIR_MAX], path[UT_RUNDIR_MAX + 32];
	int i;

	if (ut_rundir(dir, sizeof(dir), NULL, 0) < 0)
		return;
	for (i = 0; i < 2; i++) {
		snprintf(path, sizeof(path), "%s/net-%lu", dir, p->hosts.inode[i]);
		dev_tree_remove(path);
	}
}

static void choose_addresses(const struct pair *p, struct pair_wish *wish, char ia[static 64])
{
	wish->peer6 = p->use_hosts ? PAIR_HOSTS_SERVER6 : "::1";
	wish->own6 = p->use_hosts ? PAIR_HOSTS_CLIENT6 : "::1";
	wish->short6 = p->use_hosts ? PAIR_HOSTS_SHORT6 : NULL;
	wish->peer = p->v6 ? wish->peer6 : p->use_hosts ? PAIR_HOSTS_SERVER4 : "127.0.0.1";
	wish->own = p->v6 ? wish->own6 : p->use_hosts ? PAIR_HOSTS_CLIENT4 : "127.0.0.1";
	wish->v6 = p->v6;
	snprintf(ia, 64, "dapple-%s-%s%s", wish->roce ? "roce" : "iw", p->use_hosts ? "eth0" : "lo",
		 p->v6 ? "-6" : "");
	wish->ia = ia;
}

/* --- a fabric of its own, for adapters that are at nodes --- */

/* Two nodes, with a subnet manager; a namespace for each where the machine permits it, so that one address reaches the server
 * by TCP and by RDMA. Returns 0 with the name of the fabric, or an exit code after a sentence. */
static int make_fabric(struct pair *p, char name[static 32])
{
	struct up_wish w = { .nodes = 2, .sm = "opensm", .wait_s = 60, .quiet = true, .owned = true };
	int r;

	if (p->v6)
		return run_usage_error("pair", "adapters of a fabric have IPv4 addresses, so -6 does not fit them");
	snprintf(name, 32, "pair-%d", (int)getpid());
	snprintf(w.name, sizeof(w.name), "%s", name);
	w.hosts = p->use_hosts || hosts_can_start();
	r = up_start(&w);
	p->fabric = r ? NULL : name;
	p->use_hosts = false;
	return r;
}

static int end_fabric(const struct pair *p, int status)
{
	int r = p->fabric ? up_stop(p->fabric) : 0;

	return status ? status : r;
}

static void choose_nodes(const struct pair *p, struct pair_wish *wish, char peer[static INET_ADDRSTRLEN],
			 char own[static INET_ADDRSTRLEN])
{
	if (enter_address(p->fabric, "n1", peer, INET_ADDRSTRLEN) || enter_address(p->fabric, "n2", own, INET_ADDRSTRLEN))
		return;
	wish->peer = peer;
	wish->own = own;
}

static int run_pair(struct pair *p, char **words)
{
	struct pair_wish wish = { .words = words };
	const char *adapter = p->env.adapter ? p->env.adapter : getenv("DAPPLE_ADAPTER");
	char ia[64], fabric[32], peer[INET_ADDRSTRLEN], own[INET_ADDRSTRLEN];
	int r = 0;

	if (adapter && strcmp(adapter, "ib") == 0 && !getenv("DAPPLE_FABRIC"))
		r = make_fabric(p, fabric);
	if (r)
		return r;
	wish.roce = !adapter || !*adapter || strncmp(adapter, "roce", 4) == 0;
	choose_addresses(p, &wish, ia);
	if (p->fabric)
		choose_nodes(p, &wish, peer, own);
	wish.port = pair_free_port();
	r = wish.port ? pair_plan(&wish, &p->plan) : 1;
	if (r == 0 && p->use_hosts)
		r = pair_hosts_make((int)p->mtu, strchr(p->plan.peer, ':') ? p->plan.peer : wish.peer6, &p->hosts);
	if (r != 0)
		return end_fabric(p, r);
	p->stays = p->stays || p->plan.stays;
	p->ends[SERVER].words = p->plan.server;
	p->ends[CLIENT].words = p->plan.client;
	pair_signals_open(p);
	p->started = pair_now_ms();
	r = pair_start(p, SERVER);
	if (r == 0) {
		loop(p);
		drain(p);
		r = exit_status(p);
	}
	if (p->use_hosts)
		clean_trees(p);
	return end_fabric(p, r);
}

/* dapple fault try gives more where its fault takes time. */
static long default_grace(void)
{
	const char *v = getenv(PAIR_GRACE_ENV);
	long s = v ? strtol(v, NULL, 10) : 0;

	return s > PAIR_GRACE_S ? s : PAIR_GRACE_S;
}

/* Returns 0 to go on, an exit code, or -1 to exit with 0. */
static int take_option(struct pair *p, struct run_opts *o, const char *name)
{
	static const struct { const char *name; size_t at; long min, max; } numbers[] = {
		{ "mtu", offsetof(struct pair, mtu), 1280, 65535 },
		{ "wait", offsetof(struct pair, wait_s), 1, 86400 },
		{ "grace", offsetof(struct pair, grace_s), 0, 86400 },
		{ "timeout", offsetof(struct pair, timeout_s), 1, 86400 * 7 },
	};
	size_t i;

	for (i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		if (strcmp(name, numbers[i].name) == 0)
			return run_opts_number(o, numbers[i].min, numbers[i].max,
					       (long *)((char *)p + numbers[i].at)) ? 0 : RUN_EXIT_USAGE;
	if (strcmp(name, "adapter") == 0) {
		p->env.adapter = run_opts_value(o);
		/* It makes a fabric where there is none. */
		return !p->env.adapter ? RUN_EXIT_USAGE :
		       strcmp(p->env.adapter, "ib") == 0 ? 0 : run_adapter_check("pair", p->env.adapter);
	}
	if (strcmp(name, "record") == 0) {
		p->record = run_opts_value(o);
		return p->record ? 0 : RUN_EXIT_USAGE;
	}
	if (strcmp(name, "hosts") == 0)
		p->use_hosts = true;
	else if (strcmp(name, "6") == 0)
		p->v6 = true;
	else if (strcmp(name, "stays") == 0)
		p->stays = true;
	else if (strcmp(name, "list") == 0)
		pair_list_known();
	else
		return run_usage_error("pair", "option \"%s\" is unknown", name);
	return strcmp(name, "list") == 0 ? -1 : 0;
}

int run_cmd_pair(int argc, char **argv)
{
	struct run_opts o = { .command = "pair", .argv = argv, .argc = argc, .index = 1 };
	struct pair p = {
		.ends = { { .name = "server" }, { .name = "client" } },
		.env = { .preload = true },
		.mtu = 1500, .wait_s = 10, .grace_s = default_grace(), .look_ms = 1,
	};
	const char *name;
	int r;

	while ((name = run_opts_next(&o))) {
		r = take_option(&p, &o, name);
		if (r != 0)
			return r < 0 ? 0 : r;
	}
	if (o.index >= argc)
		return run_usage_error("pair", "the program to run is missing");
	if (p.mtu != 1500 && !p.use_hosts)
		return run_usage_error("pair", "--mtu sets the MTU of the veth pair, and needs --hosts");
	return run_pair(&p, argv + o.index);
}
