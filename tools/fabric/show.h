/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* `dapple fabric show`: tables of nodes and links, counters, the topology as text, and drawings (draw.h). */
#ifndef FABRIC_SHOW_H
#define FABRIC_SHOW_H

#include <stdio.h>

#include "serve.h"

/* words: "show", then nothing or one of nodes, links, errors, topology, drawing, svg, processes. Returns an exit code. */
int show_execute(struct serve *s, int n, char **words, FILE *out);

/* "down", "init", "armed", "active" */
const char *show_state(const struct fab_port *p);

#endif
