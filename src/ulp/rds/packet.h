/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Packets over RDMA: a message is sent as fragments, each behind a header; a packet without payload between the ports 0 is an
 * acknowledgement and grants credits alone.
 *
 *   | header | 4096 octets |   | header | 4096 octets |   | header | the rest |
 *
 * All headers of a message have its number, length and ports.
 */
#ifndef ULP_RDS_PACKET_H
#define ULP_RDS_PACKET_H

#include "ulp/rds/flow.h"
#include "ulp/rds/header.h"

#define RDS_PACKET_MAX (WIRE_RDS_HEADER_LEN + WIRE_RDS_FRAGMENT)

/* The message of which some fragments have come. */
struct rds_assembly {
	struct rds_message *m;          /* NULL: none */
	struct rds_header first;
	uint32_t got;                   /* octets of the payload */
};

/* Reads and checks a packet's header. */
enum rds_verdict rds_packet_get(struct rds_header *ret, const uint8_t *packet, size_t len);
/* True if the packet brings an acknowledgement and credits alone. */
bool rds_packet_is_ack(const struct rds_header *h, size_t len);
/*
 * Takes the payload of a packet whose header is good and no acknowledgement alone. *ret is the message if it is whole with that, and
 * the caller's, or NULL; its header is a->first.
 */
enum rds_verdict rds_packet_take(struct rds_assembly *a, const struct rds_header *h, const uint8_t *packet, size_t len,
				 struct rds_message **ret);
/* Drops what has come of a message. */
void rds_packet_drop(struct rds_assembly *a);

#endif
