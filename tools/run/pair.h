/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef RUN_PAIR_H
#define RUN_PAIR_H

/* The parts of dapple pair. */

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#include "run.h"

#define PAIR_GRACE_S 5 /* time for one end to exit after the other */
#define PAIR_GRACE_ENV "DAPPLE_PAIR_GRACE" /* its default in s, if it is longer: set by dapple fault try */

/* --- known.c: the command lines of server and client --- */

/* Signs that a server listens; one of a row's suffices. */
enum {
	READY_TCP = 1,		/* listens on the TCP port */
	READY_UDP = 2,		/* has the UDP port bound */
	READY_CM = 4,		/* has claimed the rdma_cm port */
	READY_QUIET = 8,	/* waits: all its processes sleep and use no CPU */
};

struct pair_plan {
	char **server, **client;	/* NULL-terminated; never freed */
	int port;
	unsigned ready;
	bool stays;		/* the server does not end by itself */
	const char *peer;	/* the address that the server needs */
};

struct pair_wish {
	char **words;
	const char *peer, *own;	/* addresses of server and client */
	const char *peer6, *own6; /* those of IPv6 */
	const char *short6;	/* one of the server that ends in 64 zeros, or NULL */
	const char *ia;		/* built-in DAT name */
	int port;		/* a free one */
	bool roce, v6;
};

/* Returns 0, or an exit code after a sentence. */
int pair_plan(const struct pair_wish *wish, struct pair_plan *ret);
void pair_list_known(void);

/* --- port.c --- */

/* Returns a port that is free for TCP and UDP, or 0 after a sentence. */
int pair_free_port(void);

/* --- listen.c --- */

struct pair_quiet {
	unsigned long long ticks;
	int rounds;
	int claimed; /* tests that found the rdma_cm port claimed */
};

/* Returns true if the server, or a process that it started, listens. */
bool pair_is_ready(pid_t server, int port, unsigned ready, struct pair_quiet *quiet);

/* --- hosts.c --- */

struct pair_hosts {
	int ns[2];		/* server, client */
	unsigned long inode[2];
};

#define PAIR_HOSTS_DEVICES "dpl_roce_eth0,dpl_iw_eth0"
#define PAIR_HOSTS_SERVER4 "10.77.0.1"
#define PAIR_HOSTS_CLIENT4 "10.77.0.2"
#define PAIR_HOSTS_SERVER6 "fd77::1"
#define PAIR_HOSTS_CLIENT6 "fd77::2"
/* In place of the server's, for a program that keeps the first half of an address. As a GID it has the
 * interface ID 0, which other programs take for none. */
#define PAIR_HOSTS_SHORT6 "fd77:0:0:1::"

/* server6: the server's IPv6 address. Returns 0, or an exit code after a sentence.  Leaves the caller in the
 * client's namespaces. */
int pair_hosts_make(int mtu, const char *server6, struct pair_hosts *ret);

/* --- output.c: prefixed lines --- */

struct pair_pipe {
	int fd;			/* read end, -1 after end of file */
	int out;		/* 1 or 2 */
	const char *prefix;
	char *line;
	size_t len;
};

/* Reads available output; at end of file writes the unfinished line. */
void pair_pipe_read(struct pair_pipe *p);
void pair_pipe_close(struct pair_pipe *p);

/* --- ends.c: the two processes --- */

struct pair_end {
	const char *name;
	char **words;
	pid_t pid;		/* 0: not started */
	bool done, ended_by_us;
	int status;		/* as of a shell, once done */
	int failed_at;		/* order of failures: 1 first; 0 none */
	struct pair_pipe pipes[2];
};

struct pair {
	struct pair_end ends[2];
	struct pair_plan plan;
	struct pair_hosts hosts;
	struct run_env env;
	bool use_hosts, v6, stays;
	const char *record;	/* directory for a record of each end; NULL: none is made */
	const char *fabric;	/* whose nodes n1 and n2 the ends are at; NULL: none */
	long mtu, wait_s, grace_s, timeout_s;
	int signals;
	sigset_t old_mask;
	int failures, killed_by;
	bool timed_out, never_listened;
	long long started, ended_first;	/* ms; 0: not yet */
	long long stop_sent;
	struct pair_quiet quiet;
	int look_ms;
};

/* which: 0 the server, 1 the client. Returns 0, or 1 after a sentence. */
int pair_start(struct pair *p, int which);
/* Ends both by SIGTERM, by SIGKILL if called again. */
void pair_stop(struct pair *p, long long now);
void pair_reap(struct pair *p);
void pair_signals_open(struct pair *p);
/* Forwards received signals to both ends. */
void pair_signals(struct pair *p);

/* --- pair.c --- */

long long pair_now_ms(void);

#endif
