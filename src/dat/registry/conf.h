/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat.conf as text. A line is a record of eight fields, separated by blanks:
 *
 *	name  api-version  thread-safety  default  library  provider-version  parameters  platform
 *
 * A field may stand in double quotes, where a backslash takes the next character for what it is;
 * it ends on its line. A # where a field may start begins a comment.
 */
#ifndef DAT_REGISTRY_CONF_H
#define DAT_REGISTRY_CONF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum dreg_conf_field {
	DREG_CONF_NAME,
	DREG_CONF_API,
	DREG_CONF_THREADS,
	DREG_CONF_DEFAULT,
	DREG_CONF_LIBRARY,
	DREG_CONF_VERSION,
	DREG_CONF_PARAMS,
	DREG_CONF_PLATFORM,
	DREG_CONF_FIELDS,
};

#define DREG_CONF_FIELD_MAX 1024 /* bytes with the NUL */

/* One good line. */
struct dreg_conf_line {
	unsigned number;                 /* of the line, from 1 */
	char field[DREG_CONF_FIELDS][DREG_CONF_FIELD_MAX];
	bool kernel, is_default, threadsafe;
	uint32_t major, minor;
};

struct dreg_conf_user {
	/* Every good line, also those for kernels and those that are not default. */
	void (*line)(void *ctx, const struct dreg_conf_line *line);
	/* A bad line, and what is wrong with it. */
	void (*bad)(void *ctx, unsigned number, const char *why);
	void *ctx;
};

/* The text need not end with a line end and may hold any bytes. */
void dreg_conf_parse(const char *text, size_t size, const struct dreg_conf_user *user);

#endif
