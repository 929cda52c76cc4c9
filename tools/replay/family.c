/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "family.h"

#include "../run/run.h"
#include "tell.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *name_of(const char *path, unsigned n)
{
	char *name;

	if (asprintf(&name, "%s.%u", path, n) < 0)
		abort();
	return name;
}

void replay_family_clear(const char *path)
{
	for (unsigned n = 1;; n++) {
		char *name = name_of(path, n), magic[8] = "";
		int fd = open(name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
		bool ours = fd >= 0 && read(fd, magic, sizeof(magic)) == sizeof(magic) && !memcmp(magic, RP_MAGIC, sizeof(magic));

		if (fd >= 0)
			close(fd);
		if (ours)
			unlink(name);
		free(name);
		if (!ours)
			return;
	}
}

void replay_family_look(struct replay_family *f)
{
	struct replay_member m = { 0 };

	for (;; f->n++) {
		m.path = name_of(f->path, f->n + 1);
		if (!replay_attach(&m.run, m.path))
			break;
		f->members = realloc(f->members, (f->n + 1) * sizeof(m));
		if (!f->members)
			abort();
		f->members[f->n] = m;
	}
	free(m.path);
}

/* A process that has ended and was not waited for is still there by its number. */
static bool is_alive(int pid)
{
	char path[64], text[512] = "", *state;
	int fd;
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd >= 0 ? read(fd, text, sizeof(text) - 1) : 0;
	if (fd >= 0)
		close(fd);
	state = n > 0 ? strrchr(text, ')') : NULL;
	return state && state[1] == ' ' && state[2] != 'Z';
}

/* Returns false if the file is of no use. */
static bool finish(struct replay_member *m, unsigned *missing)
{
	const struct rp_control *c = m->run.control;

	*missing += c->missing;
	if (c->pid < 0 || (m->run.head.forked && c->stop == RP_REPLACED))
		return false;
	if (!c->exited && c->stop != RP_REPLACED && is_alive(c->pid)) {
		run_say("%s: process %d still runs: its record grows until it ends; then run it again by: dapple replay %s", m->run.args[0], c->pid, m->path);
		return true;
	}
	*missing += c->events == 0;
	if (c->events == 0)
		return false;
	if (c->stop != RP_GOES_ON && c->stop != RP_ENDED && c->stop != RP_REPLACED)
		replay_tell(&m->run, false);
	if (c->stop > RP_FULL && c->stop != RP_REPLACED)
		return false;
	m->run.head.killed = !c->exited;
	return replay_finish(&m->run, c->status) == 0 && replay_tell_record(&m->run);
}

static void move(struct replay_member *m, char *name)
{
	if (strcmp(m->path, name) && rename(m->path, name) < 0) {
		free(name);
		return;
	}
	free(m->path);
	m->path = name;
	m->run.path = name;
}

unsigned replay_family_finish(struct replay_family *f)
{
	unsigned missing = 0, kept = 0;

	replay_family_look(f);
	for (unsigned i = 0; i < f->n; i++) {
		move(&f->members[i], name_of(f->path, kept + 1));
		if (finish(&f->members[i], &missing))
			kept++;
		else
			unlink(f->members[i].path);
	}
	return missing;
}
