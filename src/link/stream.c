/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "link/stream.h"

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
