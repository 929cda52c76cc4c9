/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "cm/cm.h"

#include "util/log.h"

#include <arpa/inet.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define SENTENCE 256

static const char *text_of(const struct link_end *end, char buf[INET6_ADDRSTRLEN])
{
	static const uint8_t v4[12] = { [10] = 0xff, [11] = 0xff };
	bool is_v4 = !memcmp(end->addr, v4, sizeof(v4));

	if (!inet_ntop(is_v4 ? AF_INET : AF_INET6, end->addr + (is_v4 ? 12 : 0), buf,
		       INET6_ADDRSTRLEN))
		strcpy(buf, "?");
	return buf;
}

void cm_why(struct cm_port *p, const struct link_end *local, const struct link_end *remote,
	    const char *fmt, ...)
{
	char a[INET6_ADDRSTRLEN], b[INET6_ADDRSTRLEN], line[SENTENCE];
	va_list args;
	int n;

	n = snprintf(line, sizeof(line), "connection of %s port %u and %s port %u (%s): ",
		     text_of(local, a), local->port, text_of(remote, b), remote->port,
		     p->ops->name);
	va_start(args, fmt);
	if (n > 0 && n < SENTENCE)
		vsnprintf(line + n, sizeof(line) - (size_t)n, fmt, args);
	va_end(args);
	ut_info("%s: %s", p->dev->name, line);
	p->dev->ops->why(p->dev, line);
}
