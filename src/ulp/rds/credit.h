/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Flow control over RDMA: each packet needs a receive of the peer. Both ends say in the private data how many they have, and in
 * the header of each packet how many more they have posted since.
 *
 * An end that says zero counts nothing; its packets wait for a receive in the adapter (RNR). Linux says zero as it answers,
 * whatever its setting is, so the end that has requested the connection grants what it has offered, and counts only what the
 * answer says. The last credit goes with an update alone: two ends can never wait for each other.
 */
#ifndef ULP_RDS_CREDIT_H
#define ULP_RDS_CREDIT_H

#include <stdbool.h>
#include <stdint.h>

struct rds_credit {
	bool limited;                   /* packets need credits of the peer */
	bool grants;                    /* the peer is told of receives */
	uint32_t available;             /* packets that may be sent */
	uint32_t posted;                /* receives that the peer has not been told of */
};

/* The peer's private data have come: this many credits. */
void rds_credit_begin(struct rds_credit *c, uint32_t from_peer, bool grants);
/* A header of the peer grants so many. */
void rds_credit_add(struct rds_credit *c, uint8_t granted);
/* Returns true if a packet may be sent. */
bool rds_credit_may_send(const struct rds_credit *c);
/* A packet is sent; returns the credits that its header grants. */
uint8_t rds_credit_spend(struct rds_credit *c);
/* A receive has been posted again. */
void rds_credit_posted(struct rds_credit *c);
/* Returns true if the peer should be told even by a packet of its own; `of` is the number of receives. */
bool rds_credit_is_due(const struct rds_credit *c, uint32_t of);

#endif
