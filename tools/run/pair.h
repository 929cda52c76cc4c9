/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef RUN_PAIR_H
#define RUN_PAIR_H

/* The parts of dapple pair. */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* --- known.c: how a program is made server and client --- */

/* What tells that a server is there; any one of a row's will do. */
enum {
	READY_TCP = 1,		/* listens on the TCP port */
	READY_UDP = 2,		/* has the UDP port bound */
	READY_CM = 4,		/* has claimed the rdma_cm port */
	READY_QUIET = 8,	/* waits: all its threads sleep and use no CPU */
};

struct pair_plan {
	char **server, **client;	/* NULL-terminated; never freed */
	int port;
	unsigned ready;
	bool stays;		/* the server does not end by itself */
};

struct pair_wish {
	char **words;
	const char *peer;	/* server's address */
	int port;		/* a free one */
	bool roce;
};

/* 0, or an exit code after a sentence. */
int pair_plan(const struct pair_wish *wish, struct pair_plan *ret);
void pair_list_known(void);

/* --- port.c --- */

/* Free for TCP and UDP; 0 after a sentence. */
int pair_free_port(void);

/* --- listen.c --- */

struct pair_quiet {
	unsigned long long ticks;
	int rounds;
	int claimed; /* looks that found a port of rdma_cm */
};

/* One look: is the server, or a process it started, ready? */
bool pair_is_ready(pid_t server, int port, unsigned ready, struct pair_quiet *quiet);

/* --- hosts.c --- */

struct pair_hosts {
	int ns[2];		/* server, client */
	unsigned long inode[2];
};

#define PAIR_HOSTS_DEVICES "dpl_roce_eth0,dpl_iw_eth0"
#define PAIR_HOSTS_SERVER4 "10.77.0.1"
#define PAIR_HOSTS_SERVER6 "fd77::1"

/* 0 or an exit code after a sentence.  Leaves the caller in the client's
 * namespaces. */
int pair_hosts_make(int mtu, struct pair_hosts *ret);

/* --- output.c: prefixed lines --- */

struct pair_pipe {
	int fd;			/* our end, -1 when at its end */
	int out;		/* 1 or 2 */
	const char *prefix;
	char *line;
	size_t len;
};

/* Reads what is there; at the end of file gives out the unfinished line. */
void pair_pipe_read(struct pair_pipe *p);
void pair_pipe_close(struct pair_pipe *p);

#endif
