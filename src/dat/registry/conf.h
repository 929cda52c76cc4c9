/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * dat.conf as text. A line is a record of eight fields, separated by blanks:
 *
 *	name  api-version  thread-safety  default  library  provider-version  parameters  platform
 *
 * A field may stand in double quotes, where a backslash makes the next character literal; it ends
 * on its line. A # where a field may start begins a comment.
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

#define DREG_CONF_FIELD_MAX 1024 /* bytes, including the NUL */

/* A legal line. */
struct dreg_conf_line {
	unsigned number;                 /* from 1 */
	char field[DREG_CONF_FIELDS][DREG_CONF_FIELD_MAX];
	bool kernel, is_default, threadsafe;
	uint32_t major, minor;
};

struct dreg_conf_user {
	/* A legal line, also one for kernels or one that is not default. */
	void (*line)(void *ctx, const struct dreg_conf_line *line);
	/* An illegal line, and its error. */
	void (*bad)(void *ctx, unsigned number, const char *why);
	void *ctx;
};

/* Parses dat.conf. The text may hold any bytes and need not end in a newline. */
void dreg_conf_parse(const char *text, size_t size, const struct dreg_conf_user *user);

#endif
