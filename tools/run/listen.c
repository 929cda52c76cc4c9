/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pair.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/*
 * Tests whether the server listens.  /proc/<pid>/net has the sockets of its
 * network namespace; a socket counts if the server, or a process below it, has
 * it open, so that another program on the same port does not.
 */

#define MAX_TREE 256	/* processes of one server */
#define MAX_SOCKETS 64

/* A waiting server is quiet in this many tests in a row; the tests are up to
 * 50 ms apart (see pair.c). */
#define QUIET_ROUNDS 8
#define QUIET_ROUNDS_CM 2
/* Servers that poll for connections are never quiet: by then they have called listen. */
#define CLAIMED_ROUNDS 20

struct tree {
	pid_t pids[MAX_TREE];
	int n;
};

static bool read_stat(pid_t pid, pid_t *ret_parent, char *ret_state, unsigned long long *ret_ticks)
{
	unsigned long long user, sys;
	char path[64], text[1024], *p;
	int parent;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	p = fgets(text, sizeof(text), f);
	fclose(f);
	/* The name is in brackets and may contain any character, brackets included. */
	p = p ? strrchr(text, ')') : NULL;
	if (!p || sscanf(p + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu", ret_state,
			 &parent, &user, &sys) != 4)
		return false;
	*ret_parent = parent;
	*ret_ticks = user + sys;
	return true;
}

static bool in_tree(const struct tree *t, pid_t pid)
{
	int i;

	for (i = 0; i < t->n; i++)
		if (t->pids[i] == pid)
			return true;
	return false;
}

/* Children may have smaller ids than their parents: repeat until none is added. */
static void collect(struct tree *t, pid_t root)
{
	unsigned long long ticks;
	struct dirent *d;
	int before;
	DIR *dir;
	char state;

	t->n = 0;
	t->pids[t->n++] = root;
	dir = opendir("/proc");
	if (!dir)
		return;
	do {
		before = t->n;
		rewinddir(dir);
		while ((d = readdir(dir)) && t->n < MAX_TREE) {
			pid_t pid = atoi(d->d_name), parent;

			if (pid <= 0 || in_tree(t, pid) || !read_stat(pid, &parent, &state, &ticks))
				continue;
			if (in_tree(t, parent))
				t->pids[t->n++] = pid;
		}
	} while (t->n != before);
	closedir(dir);
}

struct sockets {
	unsigned long inodes[MAX_SOCKETS];
	int n;
};

/* Looks for rows of /proc/<pid>/net/{tcp,udp}{,6} with the local port and state. */
static void inet_sockets(struct sockets *s, pid_t pid, const char *file, int port, unsigned state)
{
	char path[64], line[512];
	unsigned row_port, row_state;
	unsigned long inode;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/net/%s", (int)pid, file);
	f = fopen(path, "re");
	if (!f)
		return;
	while (s->n < MAX_SOCKETS && fgets(line, sizeof(line), f))
		if (sscanf(line, " %*d: %*[0-9A-Fa-f]:%x %*[0-9A-Fa-f]:%*x %x %*s %*s %*s %*u %*u %lu",
			   &row_port, &row_state, &inode) == 3 &&
		    row_port == (unsigned)port && row_state == state)
			s->inodes[s->n++] = inode;
	fclose(f);
}

/* The claim of an rdma_cm port is an abstract name of libdapple that ends in the port. */
static bool names_port(const char *name, int port)
{
	const char *end = name + strlen(name), *p = end;

	while (p > name && isdigit((unsigned char)p[-1]))
		p--;
	return p < end && (p == name || !isalnum((unsigned char)p[-1])) && atoi(p) == port;
}

static void cm_sockets(struct sockets *s, const char *path, int port)
{
	char line[512], name[256];
	unsigned long inode;
	FILE *f = fopen(path, "re");

	if (!f)
		return;
	while (s->n < MAX_SOCKETS && fgets(line, sizeof(line), f))
		if (sscanf(line, "%*s %*s %*s %*s %*s %*s %lu @%255s", &inode, name) == 2 &&
		    strncmp(name, "dapple", 6) == 0 && strstr(name, "cm") && names_port(name, port))
			s->inodes[s->n++] = inode;
	fclose(f);
}

static bool has_one_open(pid_t pid, const struct sockets *s)
{
	char path[64], link[64];
	unsigned long inode;
	bool found = false;
	struct dirent *d;
	ssize_t n;
	DIR *dir;
	int i;

	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	dir = opendir(path);
	if (!dir)
		return false;
	while (!found && (d = readdir(dir))) {
		n = readlinkat(dirfd(dir), d->d_name, link, sizeof(link) - 1);
		link[n > 0 ? n : 0] = '\0';
		if (sscanf(link, "socket:[%lu]", &inode) != 1)
			continue;
		for (i = 0; i < s->n; i++)
			found = found || s->inodes[i] == inode;
	}
	closedir(dir);
	return found;
}

static bool is_quiet(const struct tree *t, struct pair_quiet *q)
{
	unsigned long long ticks, sum = 0;
	bool asleep = true;
	pid_t parent;
	char state;
	int i;

	for (i = 0; i < t->n; i++) {
		if (!read_stat(t->pids[i], &parent, &state, &ticks))
			continue;
		sum += ticks;
		asleep = asleep && state == 'S';
	}
	q->rounds = asleep && sum == q->ticks ? q->rounds + 1 : 0;
	q->ticks = sum;
	return q->rounds >= QUIET_ROUNDS;
}

/* An rdma_cm port is claimed by bind; a server that then waits, asleep or polling, listens. */
static bool cm_listens(const struct tree *t, struct pair_quiet *q)
{
	is_quiet(t, q);
	return ++q->claimed >= CLAIMED_ROUNDS || q->rounds >= QUIET_ROUNDS_CM;
}

bool pair_is_ready(pid_t server, int port, unsigned ready, struct pair_quiet *quiet)
{
	struct sockets s = { .n = 0 };
	int i, inet;
	struct tree t;

	if (ready & READY_TCP) {
		inet_sockets(&s, server, "tcp", port, 0x0a);	/* TCP_LISTEN */
		inet_sockets(&s, server, "tcp6", port, 0x0a);
	}
	if (ready & READY_UDP) {
		inet_sockets(&s, server, "udp", port, 0x07);	/* bound, not connected */
		inet_sockets(&s, server, "udp6", port, 0x07);
	}
	inet = s.n;
	if (ready & READY_CM) {
		char path[64];

		snprintf(path, sizeof(path), "/proc/%d/net/unix", (int)server);
		cm_sockets(&s, path, port);
		/* A fabric has its names in the namespace of its process, a child of ours. */
		cm_sockets(&s, "/proc/self/net/unix", port);
	}
	if (!s.n && !(ready & READY_QUIET))
		return false;
	collect(&t, server);
	for (i = 0; s.n && i < t.n; i++)
		if (has_one_open(t.pids[i], &s))
			return inet || cm_listens(&t, quiet);
	return (ready & READY_QUIET) && is_quiet(&t, quiet);
}
