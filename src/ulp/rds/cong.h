/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Congestion maps: which ports of an address take no messages now. The carrier has one for each address that it knows,
 * in memory that the programs map:
 *
 *   carrier                                      program, in sendmsg()
 *   bits of an address                           bit of the port? -> wait on `changes`, or ENOBUFS
 *   changes += 1, futex wake                     looks again
 *
 * One process writes maps. A row is filled before its address is: a reader that finds the address finds its bits. Rows stay
 * as long as the carrier does. A reader that sees a bit too late sends a message more, which a receiver takes.
 */
#ifndef ULP_RDS_CONG_H
#define ULP_RDS_CONG_H

#include "ulp/preload/name.h"
#include "wire/rds_fields.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#define RDS_MAPS 256                    /* addresses of peers and of this host */
#define RDS_SOCKS_MAX 4096              /* sockets of a carrier */

struct rds_map {
	uint8_t addr[16];               /* IPv4 in its mapped form */
	uint32_t scope;
	_Atomic uint8_t bits[WIRE_RDS_MAP_LEN];
};

struct rds_maps {
	_Atomic uint32_t changes;       /* a futex */
	_Atomic uint32_t nr;
	uint32_t generation;            /* of the carrier, never 0 */
	struct rds_map map[RDS_MAPS];
	_Atomic uint64_t claims[RDS_SOCKS_MAX]; /* ulp/rds/claim.h; programs write them */
};

/* The map of an address (its port is ignored), or NULL: there is none. */
struct rds_map *rds_map_find(struct rds_maps *maps, const struct rsp_addr *addr);
/* The same, made if there is none; NULL: the table is full. By the writer. */
struct rds_map *rds_map_make(struct rds_maps *maps, const struct rsp_addr *addr);

/* Ports are in host order. */
bool rds_map_test(const struct rds_map *m, uint16_t port);
/* Returns true if the bit has changed. By the writer, as the others here. */
bool rds_map_set(struct rds_map *m, uint16_t port, bool congested);
void rds_map_put(uint8_t out[WIRE_RDS_MAP_LEN], const struct rds_map *m);
/* Takes a peer's map. Returns the ports that are no longer congested, as port n in bit n % 64. */
uint64_t rds_map_get(struct rds_map *m, const uint8_t in[WIRE_RDS_MAP_LEN]);
/* Tells the readers of a change. */
void rds_maps_changed(struct rds_maps *maps);

#endif
