/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The two ends of dapple pair as processes. Each is a process group of its own, so that its children
 * end with it; if dapple is killed, the kernel kills both ends.
 */
#include "pair.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "enter.h"
#include "run.h"

/* The end's words behind "dapple record", or as they are. */
static char **words_of(const struct pair *p, int which)
{
	char *const *words = p->ends[which].words;
	char **all, self[PATH_MAX], *file;
	size_t n = 0, front = 0;
	ssize_t len;

	if (!p->record)
		return p->ends[which].words;
	while (words[n])
		n++;
	all = calloc(n + 6, sizeof(*all));
	len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	if (!all || len < 0 || asprintf(&file, "%s/%s.record", p->record, p->ends[which].name) < 0)
		_exit(126);
	self[len] = '\0';
	all[front++] = strdup(self);
	all[front++] = "record";
	all[front++] = "-o";
	all[front++] = file;
	all[front++] = "--";
	memcpy(all + front, words, n * sizeof(*words));
	return all;
}

static void child(struct pair *p, int which, pid_t parent, const int out[2][2])
{
	struct pair_end *e = &p->ends[which];
	int null, r, i;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)	/* the parent died before the prctl */
		_exit(126);
	sigprocmask(SIG_SETMASK, &p->old_mask, NULL);
	null = open("/dev/null", O_RDWR);
	if (null < 0) {
		run_say("the %s cannot open /dev/null (%s): it is not started; make the device again (mknod -m 666 /dev/null c 1 3)",
			e->name, strerror(errno));
		_exit(126);
	}
	if (dup2(null, 0) < 0)
		_exit(126);
	for (i = 0; i < 2; i++)
		if (dup2(out[i][1], i + 1) < 0)
			_exit(126);
	if (null > 2)
		close(null);
	if (p->use_hosts && setns(p->hosts.ns[which], CLONE_NEWNET) < 0) {
		run_say("the %s cannot enter the network namespace made for it (%s): it is not started; leave --hosts out, "
			"or see dapple doctor",
			e->name, strerror(errno));
		_exit(126);
	}
	/* Programs take the first adapter by default, and lo does not reach the peer. */
	if (p->use_hosts)
		setenv("DAPPLE_DEVICES", PAIR_HOSTS_DEVICES, 0);
	if (p->fabric) {
		r = enter_node(p->fabric, which ? "n2" : "n1");
		_exit(r ? r : run_exec(words_of(p, which)));
	}
	/* In the child, since each network namespace has a device tree. */
	r = run_env_apply(&p->env);
	_exit(r ? r : run_exec(words_of(p, which)));
}

int pair_start(struct pair *p, int which)
{
	static const char *const prefix[2] = { "server| ", "client| " };
	struct pair_end *e = &p->ends[which];
	pid_t parent = getpid();
	int out[2][2], i;

	for (i = 0; i < 2; i++)
		if (pipe2(out[i], O_CLOEXEC) < 0) {
			run_say("cannot make a pipe for the output of the %s (%s): it is not started; raise "
				"the limit on descriptors (ulimit -n)", e->name, strerror(errno));
			return 1;
		}
	fflush(NULL);
	e->pid = fork();
	if (e->pid < 0) {
		run_say("cannot start the %s (%s): the run fails; raise the limit on processes (ulimit -u)",
			e->name, strerror(errno));
		return 1;
	}
	if (e->pid == 0)
		child(p, which, parent, out);
	setpgid(e->pid, e->pid);	/* in parent and child: the first one counts */
	for (i = 0; i < 2; i++) {
		close(out[i][1]);
		fcntl(out[i][0], F_SETFL, O_NONBLOCK);
		e->pipes[i] = (struct pair_pipe){ .fd = out[i][0], .out = i + 1,
						  .prefix = prefix[which] };
	}
	return 0;
}

static void send_end(struct pair_end *e, int sig)
{
	if (!e->pid || e->done)
		return;
	/* The group may not exist yet, or no longer have the leader in it. */
	if (kill(-e->pid, sig) < 0)
		kill(e->pid, sig);
}

void pair_stop(struct pair *p, long long now)
{
	int i;

	for (i = 0; i < 2; i++) {
		if (p->ends[i].pid && !p->ends[i].done)
			p->ends[i].ended_by_us = true;
		send_end(&p->ends[i], p->stop_sent ? SIGKILL : SIGTERM);
		if (!p->stop_sent)
			send_end(&p->ends[i], SIGCONT);
	}
	p->stop_sent = now;
}

static void finish(struct pair *p, struct pair_end *e, int status)
{
	e->done = true;
	e->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	/* Processes that the end leaves in its group end with it. */
	kill(-e->pid, p->stop_sent ? SIGKILL : SIGTERM);
	if (e->status && !e->ended_by_us && !p->killed_by) {
		e->failed_at = ++p->failures;
		if (WIFSIGNALED(status))
			run_say("the %s was ended by signal %d (%s): the run fails; see its output, and "
				"dapple why", e->name, WTERMSIG(status),
				strsignal(WTERMSIG(status)));
		else
			run_say("the %s failed with status %d: the run fails; see its output, and dapple why", e->name, e->status);
	}
	if (!p->ended_first)
		p->ended_first = pair_now_ms();
}

void pair_reap(struct pair *p)
{
	int i, status;

	for (i = 0; i < 2; i++)
		if (p->ends[i].pid && !p->ends[i].done &&
		    waitpid(p->ends[i].pid, &status, WNOHANG) == p->ends[i].pid)
			finish(p, &p->ends[i], status);
}

void pair_signals(struct pair *p)
{
	struct signalfd_siginfo si;
	int i;

	while (read(p->signals, &si, sizeof(si)) == sizeof(si)) {
		if (si.ssi_signo == SIGCHLD)
			continue;	/* pair_reap() follows in any case */
		if (si.ssi_signo != SIGUSR1 && si.ssi_signo != SIGUSR2) {
			p->killed_by = (int)si.ssi_signo;
			if (!p->ended_first)	/* the grace time of both ends starts here */
				p->ended_first = pair_now_ms();
		}
		for (i = 0; i < 2; i++)
			send_end(&p->ends[i], (int)si.ssi_signo);
	}
}

void pair_signals_open(struct pair *p)
{
	static const int forwarded[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2,
					 SIGCHLD };
	sigset_t set;
	size_t i;

	sigemptyset(&set);
	for (i = 0; i < sizeof(forwarded) / sizeof(forwarded[0]); i++)
		sigaddset(&set, forwarded[i]);
	sigprocmask(SIG_BLOCK, &set, &p->old_mask);
	p->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}
