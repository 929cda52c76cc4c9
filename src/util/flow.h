/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where packets go and with which header fields. Addresses are 16 bytes, IPv4 as ::ffff:a.b.c.d, so
 * that no room above the link asks for the family. Flows are compared as bytes.
 */
#ifndef UTIL_FLOW_H
#define UTIL_FLOW_H

#include <stdint.h>

struct ut_flow {
	uint8_t src[16], dst[16]; /* src: a local address of the link */
	uint32_t scope;           /* interface index for link-local addresses */
	uint16_t sport;           /* wanted source port, host order; best effort */
	uint8_t tos, ttl;
};
_Static_assert(sizeof(struct ut_flow) == 40, "no gaps: flows are compared as bytes");

#endif
