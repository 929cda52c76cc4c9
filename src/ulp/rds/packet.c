/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#include "ulp/rds/packet.h"

#include <stdlib.h>
#include <string.h>

enum rds_verdict rds_packet_get(struct rds_header *ret, const uint8_t *packet, size_t len)
{
	if (len < WIRE_RDS_HEADER_LEN)
		return RDS_SHORT;
	return rds_header_sum_is_right(packet) ? rds_header_get(ret, packet) : RDS_BAD_SUM;
}

bool rds_packet_is_ack(const struct rds_header *h, size_t len)
{
	return !h->sport && !h->dport && len == WIRE_RDS_HEADER_LEN;
}

static enum rds_verdict begin(struct rds_assembly *a, const struct rds_header *h)
{
	a->m = rds_message_new(h->len);
	if (!a->m)
		return RDS_NO_ROOM;
	a->m->sport = h->sport;
	a->m->dport = h->dport;
	a->first = *h;
	a->got = 0;
	return RDS_GOOD;
}

static bool is_of_it(const struct rds_assembly *a, const struct rds_header *h)
{
	return a->first.sequence == h->sequence && a->first.len == h->len && a->first.sport == h->sport &&
	       a->first.dport == h->dport && a->first.map == h->map;
}

enum rds_verdict rds_packet_take(struct rds_assembly *a, const struct rds_header *h, const uint8_t *packet, size_t len,
				 struct rds_message **ret)
{
	enum rds_verdict v = a->m ? RDS_GOOD : begin(a, h);
	uint32_t payload = (uint32_t)(len - WIRE_RDS_HEADER_LEN), left;

	*ret = NULL;
	if (v != RDS_GOOD)
		return v;
	left = a->first.len - a->got;
	if (!is_of_it(a, h) || payload != (left < WIRE_RDS_FRAGMENT ? left : WIRE_RDS_FRAGMENT))
		return RDS_BAD_FRAGMENT;
	memcpy(a->m->data + a->got, packet + WIRE_RDS_HEADER_LEN, payload);
	a->got += payload;
	if (a->got == a->first.len) {
		*ret = a->m;
		a->m = NULL;
	}
	return RDS_GOOD;
}

void rds_packet_drop(struct rds_assembly *a)
{
	rds_message_free(a->m);
	a->m = NULL;
}
