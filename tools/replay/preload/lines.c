/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "lines.h"

#include "raw.h"

#include <fcntl.h>
#include <stddef.h>

#define LINE 256

struct line {
	char text[LINE];
	size_t used;
};

static void read_octets(struct line *l, const char *p, long n, void (*take)(void *arg, const char *line), void *arg)
{
	for (; n; p++, n--) {
		if (*p != '\n') {
			if (l->used < LINE - 1)
				l->text[l->used++] = *p;
			continue;
		}
		l->text[l->used] = '\0';
		l->used = 0;
		take(arg, l->text);
	}
}

long rp_lines(const char *path, void (*take)(void *arg, const char *line), void *arg)
{
	struct line l = { .used = 0 };
	char octets[1024];
	long fd = RP_RAW4(SYS_openat, AT_FDCWD, path, O_RDONLY | O_CLOEXEC, 0), n;

	if (fd < 0)
		return fd;
	while ((n = RP_RAW3(SYS_read, fd, octets, sizeof(octets))) > 0)
		read_octets(&l, octets, n, take, arg);
	RP_RAW1(SYS_close, fd);
	return n;
}

uint64_t rp_read_hex(const char **p)
{
	uint64_t v = 0;
	char c;

	for (; (c = **p) && ((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f')); (*p)++)
		v = v << 4 | (uint64_t)(c <= '9' ? c - '0' : c - 'a' + 10);
	return v;
}
