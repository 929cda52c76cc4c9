/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/registry/log.h"

#include "util/env.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>
#include <unistd.h>

static int number(const char *name)
{
	const char *text = ut_env(name);

	return text ? (int)strtol(text, NULL, 0) : 0;
}

void dreg_log(int topics, const char *format, ...)
{
	int saved = errno, dest;
	char line[512];
	va_list ap;
	int n;

	if (!(number("DAT_DBG_TYPE") & topics))
		goto out;
	va_start(ap, format);
	n = vsnprintf(line, sizeof(line) - 1, format, ap);
	va_end(ap);
	if (n < 0)
		goto out;
	dest = number("DAT_DBG_DEST");
	if (dest & 2)
		syslog(LOG_DEBUG, "libdat2: %s", line);
	if (!(dest & 2) || dest & 1)
		dprintf(STDERR_FILENO, "libdat2: %s\n", line);
out:
	errno = saved;
}
