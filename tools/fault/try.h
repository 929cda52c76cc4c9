/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A program under each rule of the catalogue. */
#ifndef FAULT_TRY_H
#define FAULT_TRY_H

#include <stdbool.h>

struct fault_try {
	const char *adapter; /* NULL: any; rows for another kind are left out */
	const char *only;    /* NULL: all rows */
	long timeout_s;
	bool compare;        /* output that differs from that without a fault is corruption */
	char **words;
};

/* Prints a table. Returns an exit code: 0 if no row is hung, crashed or corrupted. */
int fault_try(const struct fault_try *t);

#endif
