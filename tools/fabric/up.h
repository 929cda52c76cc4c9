/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Starting and ending a fabric: `dapple fabric up` and `down`, and the fabric of a `dapple pair`. */
#ifndef FABRIC_UP_H
#define FABRIC_UP_H

#include <stdbool.h>

#include "hosts.h"
#include "place.h"
#include "trunk.h"

struct up_wish {
	char name[PLACE_NAME_MAX + 1];
	/* What to build: the first that is set; else `nodes` nodes on one switch. */
	const char *topology;		/* file; "-" standard input */
	const char *tree, *torus;	/* LEAVESxDOWN[xSPINES[xLINKS]]; XxY[xZ][:NODES] */
	long nodes;
	const char *sm;			/* "opensm", "none", or a node */
	char *const *sm_words;		/* options of opensm, ends with NULL; or NULL */
	struct trunk_spec trunk;	/* peer NULL: none */
	const char *capture;		/* file of what crosses links, or NULL */
	const char *prefix;		/* of the names of generated nodes */
	bool foreground, keep, hosts;
	enum hosts_network network;	/* of the hosts */
	bool hop;			/* data packets travel hop by hop */
	bool owned;			/* it ends with the process that starts it */
	long wait_s;
	bool quiet;
};

/* Starts it and waits until its subnet is up. Returns 0, or an exit code after a sentence; then nothing is left. */
int up_start(const struct up_wish *w);
/* Ends a fabric and waits until its process has ended. Returns 0, or an exit code after a sentence. */
int up_stop(const char *name);

#endif
