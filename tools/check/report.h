/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Reports of the checker: files and lines, suppressions, and the forms in which they are printed. */
#ifndef CHECK_REPORT_H
#define CHECK_REPORT_H

#include "kinds.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#define REPORT_FRAMES 12

struct report_frame {
	char *function, *file; /* "??" if the program has no such information */
	unsigned line;         /* 0: not known */
	char *module, *offset; /* a file, and an address in it */
};

struct report {
	enum check_kind kind;
	long pid;
	char *program, *sentence;
	struct report_frame frame[REPORT_FRAMES];
	int n_frames;
};

struct reports {
	struct report *v;
	size_t n, suppressed;
};

enum report_form { REPORT_TEXT, REPORT_GITHUB, REPORT_JUNIT };

/* The name and rule of a kind. */
extern const struct report_kind {
	const char *name, *rule, *remedy;
} report_kinds[CHECK_N];

/* Reads the file that the checker wrote; addresses become lines by addr2line(1). */
void reports_read(struct reports *ret, FILE *in);
/* Drops reports that a line of the file names: KIND, KIND FILE or KIND FILE FUNCTION, each with the wildcards of a shell.
 * Returns false after a sentence. */
bool reports_suppress(struct reports *r, const char *path);
void reports_print(const struct reports *r, enum report_form form, const char *command, FILE *out);

#endif
