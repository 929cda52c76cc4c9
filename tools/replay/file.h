/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The file of a record (format.h), and the start of a program with the recorder. */
#ifndef REPLAY_FILE_H
#define REPLAY_FILE_H

#include "format.h"

#include <stdbool.h>
#include <sys/types.h>

#define REPLAY_REFUSED 125 /* exit status: no recording, or no replay */

struct replay_run {
	const char *path; /* of the file */
	int file, control_fd;
	struct rp_control *control;
	struct rp_file head;
	char *exe, *dir, **args, **env; /* of a replay: as they were */
};

/* Makes the file for this command line and environment. Returns 0, or an exit code after a sentence. */
int replay_create(struct replay_run *r, const char *exe, char **args, uint64_t limit);
/* Opens a file and reads its beginning. Returns 0, or an exit code after a sentence. */
int replay_open(struct replay_run *r, const char *path);
/* Opens the file of a process that is recorded, and its struct rp_control. Returns false if it is not there yet. */
bool replay_attach(struct replay_run *r, const char *path);
/* Makes what a process shares with this one: of a recording in its file, of a replay anew for each. */
void replay_control(struct replay_run *r, bool recording);

/* Becomes the program, or its replay. how: RP_RECORD, RP_REPLAY or RP_STAY. Returns an exit code after a sentence. */
int replay_exec(const struct replay_run *r, const char *how);

/* Writes what the process has left into the head, and ends the file. Returns 0, or an exit code after a sentence. */
int replay_finish(struct replay_run *r, int status);

/* Waits for the program that is recorded, or for gdb; signals that end this command are passed on. watch(arg) is called twice
 * a second, and ends it by returning false. Returns a status as of wait4(2). */
int replay_wait(pid_t pid, bool (*watch)(void *arg), void *arg);

#endif
