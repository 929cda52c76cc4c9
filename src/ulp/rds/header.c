/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/header.h"

#include <string.h>

const char *const rds_rules[RDS_NR_VERDICTS] = {
	[RDS_GOOD] = "nothing",
	[RDS_LONG] = "a message is longer than 1 MiB",
	[RDS_BAD_MAP] = "a congestion map has not 8192 octets",
	[RDS_SHORT] = "a packet is shorter than a header",
	[RDS_BAD_SUM] = "the checksum of a header is wrong",
	[RDS_BAD_FRAGMENT] = "a fragment does not belong to the message that has begun, or has another length than its place asks for",
	[RDS_NO_PRIVATE] = "a connection is requested or answered without the private data of RDS",
	[RDS_BAD_VERSION] = "another protocol version than 3.1",
	[RDS_OTHER_ADDRESS] = "the private data of a request name other addresses than those of its connection",
	[RDS_NO_ROOM] = "there is no memory for a message",
};

/* Octets of an extension behind its type. -1: the type is unknown. */
static int ext_len(uint8_t type)
{
	switch (type) {
	case WIRE_RDS_EXT_VERSION:
	case WIRE_RDS_EXT_RDMA:
	case WIRE_RDS_EXT_GENERATION:
		return 4;
	case WIRE_RDS_EXT_RDMA_DEST:
		return 8;
	case WIRE_RDS_EXT_PATHS:
		return 2;
	default:
		return -1;
	}
}

static void get_extensions(struct rds_header *h, const uint8_t *ext)
{
	int at = 0, len;
	uint8_t body[8];

	while (at < WIRE_RDS_EXT_ROOM && (len = ext_len(ext[at])) > 0 && at + 1 + len <= WIRE_RDS_EXT_ROOM) {
		memcpy(body, ext + at + 1, (size_t)len);
		if (ext[at] == WIRE_RDS_EXT_PATHS)
			h->paths = (uint16_t)wire_get_RDS_EXT_PATHS_paths(body);
		if (ext[at] == WIRE_RDS_EXT_GENERATION)
			h->generation = (uint32_t)wire_get_RDS_EXT_GENERATION_number(body);
		if (ext[at] == WIRE_RDS_EXT_RDMA) {
			h->uses_region = true;
			h->key = (uint32_t)wire_get_RDS_EXT_RDMA_rkey(body);
		}
		if (ext[at] == WIRE_RDS_EXT_RDMA_DEST)
			h->cookie = wire_get_RDS_EXT_RDMA_DEST_rkey(body) | wire_get_RDS_EXT_RDMA_DEST_offset(body) << 32;
		at += 1 + len;
	}
}

enum rds_verdict rds_header_get(struct rds_header *ret, const uint8_t in[WIRE_RDS_HEADER_LEN])
{
	*ret = (struct rds_header){
		.sequence = wire_get_RDS_HEADER_sequence(in),
		.ack = wire_get_RDS_HEADER_ack(in),
		.len = (uint32_t)wire_get_RDS_HEADER_length(in),
		.sport = (uint16_t)wire_get_RDS_HEADER_source_port(in),
		.dport = (uint16_t)wire_get_RDS_HEADER_dest_port(in),
		.map = wire_get_RDS_HEADER_congestion_map(in),
		.ack_required = wire_get_RDS_HEADER_ack_required(in),
		.retransmitted = wire_get_RDS_HEADER_retransmitted(in),
		.credits = (uint8_t)wire_get_RDS_HEADER_credits(in),
	};
	get_extensions(ret, wire_get_RDS_HEADER_extensions(in));
	if (ret->len > RDS_MESSAGE_MAX)
		return RDS_LONG;
	return ret->map && ret->len != WIRE_RDS_MAP_LEN ? RDS_BAD_MAP : RDS_GOOD;
}

/* Behind those that are there, unless there is no room. */
static void put_extension(uint8_t ext[WIRE_RDS_EXT_ROOM], int *at, enum wire_rds_ext type, const uint8_t *body)
{
	int len = ext_len((uint8_t)type);

	if (*at + 1 + len > WIRE_RDS_EXT_ROOM)
		return;
	ext[*at] = (uint8_t)type;
	memcpy(ext + *at + 1, body, (size_t)len);
	*at += 1 + len;
}

/* In the order in which Linux writes them. */
static void put_extensions(uint8_t ext[WIRE_RDS_EXT_ROOM], const struct rds_header *h)
{
	uint8_t body[8] = { 0 };
	int at = 0;

	if (h->paths) {
		wire_set_RDS_EXT_PATHS_paths(body, h->paths);
		put_extension(ext, &at, WIRE_RDS_EXT_PATHS, body);
	}
	if (h->generation) {
		wire_set_RDS_EXT_GENERATION_number(body, h->generation);
		put_extension(ext, &at, WIRE_RDS_EXT_GENERATION, body);
	}
	if (h->uses_region) {
		wire_set_RDS_EXT_RDMA_rkey(body, h->key);
		put_extension(ext, &at, WIRE_RDS_EXT_RDMA, body);
	}
	if (h->cookie) {
		wire_set_RDS_EXT_RDMA_DEST_rkey(body, (uint32_t)h->cookie);
		wire_set_RDS_EXT_RDMA_DEST_offset(body, h->cookie >> 32);
		put_extension(ext, &at, WIRE_RDS_EXT_RDMA_DEST, body);
	}
}

void rds_header_put(uint8_t out[WIRE_RDS_HEADER_LEN], const struct rds_header *h)
{
	uint8_t ext[WIRE_RDS_EXT_ROOM] = { 0 };

	put_extensions(ext, h);
	memset(out, 0, WIRE_RDS_HEADER_LEN);
	wire_set_RDS_HEADER_sequence(out, h->sequence);
	wire_set_RDS_HEADER_ack(out, h->ack);
	wire_set_RDS_HEADER_length(out, h->len);
	wire_set_RDS_HEADER_source_port(out, h->sport);
	wire_set_RDS_HEADER_dest_port(out, h->dport);
	wire_set_RDS_HEADER_congestion_map(out, h->map);
	wire_set_RDS_HEADER_ack_required(out, h->ack_required);
	wire_set_RDS_HEADER_retransmitted(out, h->retransmitted);
	wire_set_RDS_HEADER_credits(out, h->credits);
	wire_set_RDS_HEADER_extensions(out, ext);
}

/* The sum of RFC 1071 over the whole header: all ones if its checksum is right. */
static uint16_t sum_of(const uint8_t *in)
{
	uint32_t sum = 0;

	for (unsigned i = 0; i < WIRE_RDS_HEADER_LEN; i += 2)
		sum += wire_get16(in + i);
	sum = (sum & 0xffff) + (sum >> 16);
	return (uint16_t)(sum + (sum >> 16));
}

void rds_header_sum(uint8_t out[WIRE_RDS_HEADER_LEN])
{
	wire_set_RDS_HEADER_checksum(out, 0);
	wire_set_RDS_HEADER_checksum(out, (uint16_t)~sum_of(out));
}

bool rds_header_sum_is_right(const uint8_t in[WIRE_RDS_HEADER_LEN])
{
	return !wire_get_RDS_HEADER_checksum(in) || sum_of(in) == 0xffff;
}
