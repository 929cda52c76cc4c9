/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The private data of a connection over RDMA: of the request, and of its reply with the addresses exchanged. */
#ifndef ULP_RDS_PRIVATE_H
#define ULP_RDS_PRIVATE_H

#include "ulp/preload/name.h"
#include "ulp/rds/header.h"

#include <stddef.h>

struct rds_private {
	struct rsp_addr from, to;       /* of one family; without scope and port */
	uint32_t credits;               /* receives; 0: the sender of this takes part in no flow control */
};

/*
 * Reads private data of an address family; behind its end there may be more octets, which some managers add. A version that
 * both ends know is 3.1 alone. The acknowledgement in it is not used: a peer that has begun anew may not know that its number
 * is one of before.
 */
enum rds_verdict rds_private_get(struct rds_private *ret, const uint8_t *in, size_t len, uint16_t family);
/* Writes them and returns their length, which is that of the family of `from`. */
size_t rds_private_put(uint8_t out[WIRE_RDS_PRIVATE6_LEN], const struct rds_private *p);

#endif
