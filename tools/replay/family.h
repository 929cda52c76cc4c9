/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The records of the processes that a recorded one makes: FILE.1, FILE.2 ... beside FILE (preload/family.h makes them). */
#ifndef REPLAY_FAMILY_H
#define REPLAY_FAMILY_H

#include "file.h"

#include <time.h>

/* A thread that neither waits nor calls anything keeps all others from running. */
struct replay_watch {
	uint64_t events;
	time_t since;
};

struct replay_member {
	struct replay_run run;
	char *path;
	struct replay_watch watch;
};

struct replay_family {
	const char *path; /* of the first record */
	struct replay_member *members;
	unsigned n;
};

/* Removes the records of an earlier run. */
void replay_family_clear(const char *path);
/* Takes in the files that have come since. */
void replay_family_look(struct replay_family *f);

/* Ends the files: those of a child that became another program go, the others get numbers without a gap, and each is told.
 * Returns how many processes of the family have no record. */
unsigned replay_family_finish(struct replay_family *f);

#endif
