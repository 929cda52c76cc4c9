/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* One line of text for a packet of IP or of an InfiniBand link (lids) as render.h makes it; names and values come from the rows of the wire's fields. */
#ifndef CAPTURE_LIVE_H
#define CAPTURE_LIVE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What a packet is, for lines and filters. */
enum live_group { LIVE_SEND, LIVE_WRITE, LIVE_READ, LIVE_ATOMIC, LIVE_ACK, LIVE_NAK, LIVE_CM, LIVE_TERMINATE, LIVE_CNP,
		  LIVE_OTHER, LIVE_GROUPS };

extern const char *const live_group_names[LIVE_GROUPS];

/* data: `have` of len bytes of a packet. Writes at most size bytes with the final 0; *ret_group as the line says. */
void live_text(char *out, size_t size, const uint8_t *data, uint32_t have, uint32_t len, bool lids,
	       enum live_group *ret_group);

#endif
