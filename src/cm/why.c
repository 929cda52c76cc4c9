/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/why.h"

#include "engine/why.h"
#include "util/ip.h"
#include "util/log.h"

#include <stdarg.h>
#include <stdio.h>

#define SENTENCE 600

void cm_why(struct cm_port *p, const struct link_end *local, const struct link_end *remote,
	    const char *fmt, ...)
{
	char a[INET6_ADDRSTRLEN], b[INET6_ADDRSTRLEN], line[SENTENCE];
	va_list args;
	int n;

	n = snprintf(line, sizeof(line), "connection of %s port %u and %s port %u (%s): ",
		     ut_ip_text(local->addr, a), local->port, ut_ip_text(remote->addr, b),
		     remote->port, p->ops->name);
	va_start(args, fmt);
	if (n > 0 && n < SENTENCE)
		n += vsnprintf(line + n, sizeof(line) - (size_t)n, fmt, args);
	va_end(args);
	if (n > 0 && n < SENTENCE)
		snprintf(line + n, sizeof(line) - (size_t)n, "; dapple explain CONNECTION says more");
	ut_info("%s: %s", p->dev->name, line);
	p->dev->ops->why(p->dev, UT_SAY_FAILURE, line);
}
