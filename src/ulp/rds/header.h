/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The header of a message of RDS: read, checked and written. Neither a transport nor memory of others is touched here. */
#ifndef ULP_RDS_HEADER_H
#define ULP_RDS_HEADER_H

#include <stdbool.h>
#include <stdint.h>

#include "wire/rds_fields.h"

#define RDS_MESSAGE_MAX (1u << 20)      /* octets of a message: RDS_MAX_MSG_SIZE of Linux */

struct rds_header {
	uint64_t sequence, ack;
	uint32_t len;                   /* of the payload */
	uint16_t sport, dport;
	bool map, ack_required, retransmitted;
	uint8_t credits;
	/* Extensions; 0: there is none. */
	uint16_t paths;
	uint32_t generation;
	bool uses_region;               /* the message's RDMA operation has used the region `key` of the receiver */
	uint32_t key;
	uint64_t cookie;                /* a region of the sender */
};

/* Faults of a header. Each has a row with a sentence. */
enum rds_verdict {
	RDS_GOOD,
	RDS_LONG,
	RDS_BAD_MAP,
	RDS_SHORT,
	RDS_BAD_SUM,
	RDS_BAD_FRAGMENT,
	RDS_NO_PRIVATE,
	RDS_BAD_VERSION,
	RDS_OTHER_ADDRESS,
	RDS_NO_ROOM,                    /* no fault of the peer: there is no memory */
	RDS_NR_VERDICTS
};

/* What the peer broke, as the middle of a sentence. */
extern const char *const rds_rules[RDS_NR_VERDICTS];

/* Reads a header. Extensions of an unknown type end the list, as in Linux. */
enum rds_verdict rds_header_get(struct rds_header *ret, const uint8_t in[WIRE_RDS_HEADER_LEN]);
/* Writes a header without checksum. */
void rds_header_put(uint8_t out[WIRE_RDS_HEADER_LEN], const struct rds_header *h);

/* The checksum, which only RDMA has: that of RFC 1071 over the header. As in Linux a zero says that there is none. */
void rds_header_sum(uint8_t out[WIRE_RDS_HEADER_LEN]);
bool rds_header_sum_is_right(const uint8_t in[WIRE_RDS_HEADER_LEN]);

#endif
