/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DTT_OPTIONS_H
#define DTT_OPTIONS_H

#include "plan.h"

#define DTT_QUAL 62000		/* where the old tool's server listens */

struct dtt_options {
	char kind;		/* S Q T P L F I */
	const char *ia, *host;
	DAT_CONN_QUAL qual;
	DAT_QOS qos;
	int debug;
	struct dtt_plan plan;
	int width, most;	/* of L; most 0: until it is refused */
	const char *feature;	/* of F */
	char **names;		/* of L and F: what to run; none: all */
	int n_names;
};

/* Returns 0, 1 if help was printed, or -1 after a message with the error and its remedy. */
int dtt_options_parse(int argc, char **argv, struct dtt_options *ret);

#endif
