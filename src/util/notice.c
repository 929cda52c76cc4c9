/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "util/notice.h"

#include "util/log.h"

#include <errno.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>

#define NOTICE_MAX 480

static void (*_Atomic keeper)(enum ut_say, const char *);

void ut_notice_to(void (*keep)(enum ut_say level, const char *sentence))
{
	atomic_store(&keeper, keep);
}

void ut_notice(const char *fmt, ...)
{
	void (*keep)(enum ut_say, const char *) = atomic_load(&keeper);
	char text[NOTICE_MAX];
	int saved = errno;
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ut_warn("%s", text);
	if (keep)
		keep(UT_SAY_NOTICE, text);
	errno = saved;
}
