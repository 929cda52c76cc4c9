/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The rates of each queue pair over the lines of dapple top --json, one look a line. */
#ifndef PLOT_HISTORY_H
#define PLOT_HISTORY_H

#include <stddef.h>
#include <stdio.h>

struct history_qp {
	char name[80];
	double *look, *rate;
	size_t n;
};

struct history {
	struct history_qp *v;
	size_t n, looks;
};

/* Reads all lines; one of another form has no queue pairs. */
void history_read(struct history *ret, FILE *in);
void history_free(struct history *h);

#endif
