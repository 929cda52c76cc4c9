/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/stream.h"

#include <errno.h>

bool link_streams_no_local(struct link_stream *s, bool active)
{
	(void)s;
	(void)active;
	return false;
}

void link_streams_no_hurry(struct link_stream *s)
{
	(void)s;
}

uint8_t *link_streams_no_reserve(struct link_stream *s, size_t len)
{
	(void)s;
	(void)len;
	return NULL;
}

void link_streams_no_commit(struct link_stream *s, size_t len)
{
	(void)s;
	(void)len;
}

int link_streams_no_read(struct link_stream *s)
{
	(void)s;
	return 0;
}

int link_streams_no_peek(struct link_streams *p)
{
	(void)p;
	return -EAGAIN;
}

bool link_streams_no_quiet(struct link_streams *p)
{
	(void)p;
	return false;
}

void link_streams_no_sleep(struct link_streams *p, bool on, bool look)
{
	(void)p;
	(void)on;
	(void)look;
}

int link_streams_no_watch(struct link_streams *p, struct link_watch *w)
{
	(void)p;
	(void)w;
	return -EOPNOTSUPP;
}

void link_streams_no_unwatch(struct link_streams *p, struct link_watch *w)
{
	(void)p;
	(void)w;
}

void link_streams_no_end(struct link_streams *p)
{
	(void)p;
}
