/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The link of an InfiniBand adapter: packets with LRH, over the socket `data` of the fabric process (packets.h),
 * which carries them from port to port by its switches' tables. Processes of one port share it as host/ has it: the
 * address there is the fabric's instance and the port's GUID, slots stand in QPNs and communication IDs, services are
 * claimed, and records are kept for the day of death. Two runs of a fabric, and two fabrics, never meet there.
 */
#ifndef LINK_FABRIC_FABRIC_H
#define LINK_FABRIC_FABRIC_H

#include "link/link.h"

struct host;
struct shm_channel;

#define FABRIC_WHY_MAX 320

struct fabric_place {
	const char *fabric, *node;
	uint8_t port;
};

struct fabric_stats {
	uint64_t sent, received;  /* messages */
	uint64_t dropped;         /* packets that were none, and those for which the fabric process had no room */
	uint64_t passed_on, received_passed; /* requests, to and as the claimant of a service */
};

/* Attaches to a port. Waits for the fabric process, some seconds at most. Returns 0, or a negative errno with a
 * sentence in why; -ENOENT and -ECONNREFUSED: the fabric does not run. */
int fabric_open(const struct fabric_place *where, struct link **ret, char why[FABRIC_WHY_MAX]);
/* The host that the link is a member of: for the local path. */
struct host *fabric_host(struct link *l);
/* Packets to processes of this host go through this channel of fabric_host() from now on, which then belongs to the
 * link. Called before the first add_addr(). */
void fabric_use_channel(struct link *l, struct shm_channel *c);
/* The port's address there. Its slot is claimed by add_addr(), whatever address that has. */
const uint8_t *fabric_address(struct link *l);
void fabric_stats(struct link *l, struct fabric_stats *ret);

#endif
