/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Which port an address stands for. The fabric process gives each host's port an IPv4 address out of 198.18.0.0/15
 * (RFC 2544, for networks of tests), as a subnet's IPoIB would have it, and knows GUID, LID and path of each. The
 * RDMA CM asks under the adapter's progress lock, by a connection of its own on the `data` socket: a request is sent and
 * its answer received, some 20 us. An answer brings the ports of the next addresses too, and all of them hold while the fabric's
 * generation stands.
 */
#ifndef LINK_FABRIC_NAMES_H
#define LINK_FABRIC_NAMES_H

#include "link/fabric/fabric.h"
#include "link/fabric/packets.h"

#include <stdbool.h>
#include <stdint.h>

struct fabric_names;

/* A port of a host. */
struct fabric_peer {
	uint32_t ip;      /* host order */
	uint16_t lid;
	uint8_t lmc;
	uint64_t guid;
	uint64_t prefix;  /* of its GIDs */
};

/* Returns 0, or a negative errno with a sentence in why, as fabric_open() does. */
int fabric_names_open(const struct fabric_place *where, struct fabric_names **ret, char why[FABRIC_WHY_MAX]);
void fabric_names_close(struct fabric_names *n); /* NULL too */
/* GUID of the port that was asked with. */
uint64_t fabric_names_guid(const struct fabric_names *n);
/* Finds a port by its address, or (ip 0) by its GUID. Returns 0, -ENOENT, or -ENETDOWN: the fabric has ended. */
int fabric_names_find(struct fabric_names *n, uint32_t ip, uint64_t guid, struct fabric_peer *ret);
/* Counts the processes of the port that are in a group, without the one that has this slot. Returns 0 or -ENETDOWN. */
int fabric_names_members(struct fabric_names *n, const uint8_t mgid[16], unsigned slot, uint32_t *ret);
/* Moves with each change of the fabric. */
uint64_t fabric_names_generation(const struct fabric_names *n);
/* Returns true if it is one that a fabric gives. */
static inline bool fabric_names_has(uint32_t ip)
{
	return (ip & 0xfffe0000u) == PKT_IP_FIRST;
}

#endif
