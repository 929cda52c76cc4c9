/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * A fabric in a child process, for tests of what is attached to it: `nodes` channel adapters, node0 ..., on one switch,
 * with LIDs 1 ... and all ports ACTIVE as if an SM had been there. The runtime directory is the test's own, and in
 * the environment (DAPPLE_RUNTIME_DIR).
 */
#ifndef TESTS_FABRIC_FABWORLD_H
#define TESTS_FABRIC_FABWORLD_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct fabworld {
	pid_t pid;
	int words;     /* commands to the child */
	int answers;
	char dir[64];
};

/* Starts it; ends the test if it cannot. */
void fabworld_start(struct fabworld *w, unsigned nodes);
/* Kills it, and removes the directory. */
void fabworld_stop(struct fabworld *w);
/* Kills it alone. */
void fabworld_kill(struct fabworld *w);

/* This process is node n from now on (DAPPLE_FABRIC). */
void fabworld_be(unsigned n);

/* What the child can be asked. All return when it is done. */
enum fabworld_word {
	FABWORLD_CUT,       /* the cable of node n is out */
	FABWORLD_MEND,
	FABWORLD_SENT,      /* returns packets that node n has sent */
	FABWORLD_IS_SM,     /* returns whether IsSM is set at node n */
	FABWORLD_DROPPED,   /* returns MADs dropped at node n for want of an agent or a reader */
	FABWORLD_REMOVE,    /* node n is gone */
	FABWORLD_LID,       /* node n has LID 100 + n, with event */
	FABWORLD_ATTACHED   /* returns attachments of all nodes */
};
uint64_t fabworld_ask(struct fabworld *w, enum fabworld_word word, unsigned n);

#endif
