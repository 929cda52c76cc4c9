/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Each record that gives a message to a program is received once, though a carrier that is killed may leave its successor in doubt whether
 * the last one of a socket was sent: that one is sent again with the same number, and of the two the first receiver claims it.
 *
 *      word of a socket:   | highest number claimed, 31 bits | 0 | claimed | number in doubt, 31 bits |
 *
 * The word is shared by the carrier and all processes and threads that receive from the socket; a number of 0 is none.
 */
#ifndef ULP_RDS_CLAIM_H
#define ULP_RDS_CLAIM_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* The number after another. */
uint32_t rds_claim_next(uint32_t number);
/* A receiver has a record. Returns false if it is the second of the same number, and has to be dropped. */
bool rds_claim(_Atomic uint64_t *word, uint32_t number);
/* The carrier, before it sends the record again: the last one of the socket is in doubt. */
void rds_claim_doubt(_Atomic uint64_t *word, uint32_t number);
/* The carrier, many numbers later: none is in doubt any more. */
void rds_claim_settle(_Atomic uint64_t *word);

#endif
