/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "pair.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The output of both ends: whole lines, each with the name of its end.  A line is
 * one write, so that other writers to the same file do not cut it. */

#define MAX_LINE (64 * 1024)	/* longer lines are written in pieces */

static void write_all(int fd, const char *p, size_t n)
{
	while (n) {
		ssize_t w = write(fd, p, n);

		if (w < 0 && errno == EINTR)
			continue;
		if (w < 0)
			return;		/* the reader is gone */
		p += w;
		n -= (size_t)w;
	}
}

static void write_line(const struct pair_pipe *p, const char *text, size_t n)
{
	char line[MAX_LINE + 64];
	size_t k = (size_t)snprintf(line, sizeof(line), "%s", p->prefix);

	memcpy(line + k, text, n);
	line[k + n] = '\n';
	write_all(p->out, line, k + n + 1);
}

static void take(struct pair_pipe *p, const char *text, size_t n)
{
	while (n) {
		const char *nl = memchr(text, '\n', n);
		size_t part = nl ? (size_t)(nl - text) : n;
		bool full = part >= MAX_LINE - p->len;

		if (full)
			part = MAX_LINE - p->len;
		memcpy(p->line + p->len, text, part);
		p->len += part;
		text += part;
		n -= part;
		if (full || nl) {
			write_line(p, p->line, p->len);
			p->len = 0;
		}
		if (n && nl && *text == '\n') {
			text++;
			n--;
		}
	}
}

void pair_pipe_close(struct pair_pipe *p)
{
	if (p->fd < 0)
		return;
	if (p->len)
		write_line(p, p->line, p->len);
	close(p->fd);
	free(p->line);
	p->fd = -1;
	p->line = NULL;
	p->len = 0;
}

void pair_pipe_read(struct pair_pipe *p)
{
	char text[16 * 1024];
	ssize_t n;

	if (!p->line && !(p->line = malloc(MAX_LINE)))
		abort();
	n = read(p->fd, text, sizeof(text));
	if (n > 0)
		take(p, text, (size_t)n);
	else if (n == 0 || (errno != EAGAIN && errno != EINTR))
		pair_pipe_close(p);
}
