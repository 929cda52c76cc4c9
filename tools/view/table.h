/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The lines of dapple top, as text and as JSON; sorting and filters. */
#ifndef VIEW_TABLE_H
#define VIEW_TABLE_H

#include "state.h"

#include <stdio.h>

enum table_sort { TABLE_BY_RATE, TABLE_BY_PID, TABLE_BY_QP, TABLE_BY_LATENCY, TABLE_BY_RETRIES, TABLE_SORTS };

#define TABLE_LINE 400

extern const char *const table_sort_names[TABLE_SORTS];

/* Sorts the queue pairs; the greatest first, numbers of processes and queue pairs the least first; turned: reversed. */
void table_sort(struct state *s, enum table_sort by, bool turned);
/* Returns true if the row has this text in one of its words; "": all. */
bool table_has(const struct state_qp *q, const char *text);

/* The line of sums, the line of headings, and that of a queue pair with its history in `bars` characters. */
void table_sums(const struct state *s, double seconds, char out[TABLE_LINE]);
void table_head(bool latency, char out[TABLE_LINE]);
void table_row(const struct state_qp *q, bool latency, unsigned bars, char out[TABLE_LINE]);

/* One object, in one line. */
void table_json(const struct state *s, FILE *out);

#endif
