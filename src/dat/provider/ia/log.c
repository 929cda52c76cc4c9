/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "dat/provider/ia/log.h"

#include "util/env.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <syslog.h>

static unsigned long mask, dest = 1;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void ask(void)
{
	const char *type = ut_env("DAPL_DBG_TYPE"), *to = ut_env("DAPL_DBG_DEST");

	if (type)
		mask = strtoul(type, NULL, 0);
	if (to)
		dest = strtoul(to, NULL, 0);
}

void dpr_log(enum dpr_log_bit bit, const char *fmt, ...)
{
	int kept = errno;
	va_list ap;

	pthread_once(&once, ask);
	if (!(mask & bit))
		return;
	if (dest & 1) {
		char line[256];

		va_start(ap, fmt);
		vsnprintf(line, sizeof(line), fmt, ap);
		va_end(ap);
		printf("dapl: %s\n", line);
		fflush(stdout);
	}
	if (dest & 2) {
		va_start(ap, fmt);
		vsyslog(LOG_INFO, fmt, ap);
		va_end(ap);
	}
	errno = kept;
}
