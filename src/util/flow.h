/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Where packets go and with which header fields: to an IP address, or on an InfiniBand link to a LID,
 * with a GRH or without. Addresses are 16 bytes, IPv4 as ::ffff:a.b.c.d, so that no room above the
 * link asks for the family. Flows are compared as bytes.
 */
#ifndef UTIL_FLOW_H
#define UTIL_FLOW_H

#include <stdint.h>

struct ut_flow {
	uint8_t src[16], dst[16]; /* IP addresses, or GIDs of the GRH; src: one of the link's own */
	uint32_t scope;           /* IP: interface index for link-local addresses. GRH: flow label */
	uint16_t sport;           /* UDP: wanted source port, host order; best effort */
	uint8_t tos, ttl;         /* GRH: traffic class and hop limit */
	/* InfiniBand links; all 0 in a flow of IP. */
	uint16_t slid, dlid;
	uint8_t sl;
	uint8_t rate;             /* enum ibv_rate; 0: as fast as the port */
	uint8_t lids;             /* 1: this is a flow between LIDs */
	uint8_t grh;              /* 1: and its packets have a GRH */
};
_Static_assert(sizeof(struct ut_flow) == 48, "no gaps: flows are compared as bytes");

#endif
