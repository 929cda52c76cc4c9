/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Rules for the usual diseases of connections, and what a right program makes of each. */
#ifndef FAULT_CATALOGUE_H
#define FAULT_CATALOGUE_H

#include <stddef.h>

struct fault_row {
	const char *name;
	const char *adapter; /* NULL: any; else the kind that it is for */
	const char *rules;
	const char *right;   /* what a right program does */
	unsigned repair_s;   /* time that the repair may take, beside what the program itself needs */
};

extern const struct fault_row fault_catalogue[];
extern const size_t fault_catalogue_rows;

const struct fault_row *fault_find(const char *name);

#endif
