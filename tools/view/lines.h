/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Lines of words and values, as processes write them about their objects (engine/show.h, device/show.h). */
#ifndef VIEW_LINES_H
#define VIEW_LINES_H

#include <stdbool.h>
#include <stdint.h>

#define LINE_PAIRS 40

struct line {
	unsigned n;
	struct {
		const char *word, *value;
	} pair[LINE_PAIRS];
};

/* Cuts the text, one line, into pairs that point into it. Returns false for a line that is none. */
bool line_read(char *text, struct line *ret);
/* Returns the value, or NULL: the line has no such word. */
const char *line_value(const struct line *l, const char *word);
/* Returns the number, or 0. */
uint64_t line_number(const struct line *l, const char *word);

/*
 * Asks a process, or (pid 0) each process of this user that has a control socket. Calls each() with every line of each
 * reply, which may be changed. Returns the number of processes that have answered; for one that did not, why has the
 * last cause.
 */
int lines_ask(long pid, const char *request, void (*each)(char *line, void *arg), void *arg, char why[200]);

#endif
