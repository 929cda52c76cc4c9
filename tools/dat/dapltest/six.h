/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef DTT_SIX_H
#define DTT_SIX_H

/*
 * Version 6 of the protocol of the DAPL project's dapltest, which distributions have, as it is on the wire:
 *
 *   control connection, its private data empty; each message is a Send of 8192 bytes
 *     client, plan  c->s   two messages
 *     server        s->c   the first qualifier: the service points are there. The server disconnects
 *   data connection i, to the first qualifier plus i; those of a thread one after the other
 *     memory        T: c->s, s->c: for each of 100 operations the sender's memory, if the receiver begins it and it is RDMA.
 *                   P: s->c: of the one operation
 *     sync          T: s->c, c->s, 64 bytes: the receives are posted
 *     ...           T: the operations, as transact.c has them. P: those of the client
 *     sync          T: s->c, c->s. P: c->s, as long as its memory message
 *
 * Numbers are little-endian, but a context of 32 and an address of 64 bits are in the receiver's order (P: big-endian,
 * unless both ends are little-endian), and so are in the client's some numbers of P. With -V all bytes of an operation in
 * iteration i are i + 1, but nothing is said of the three messages that -V appends.
 */

#include "control.h"

#define SIX_OPS_MAX 100
#define SIX_PAIR 12			/* a context and an address */
#define SIX_MEMORY (SIX_OPS_MAX * SIX_PAIR)
#define SIX_SYNC 64
/* The private data of a data connection of T, without its end. */
#define SIX_PRIVATE "DAPL and RDMA rule! Test 4321."

/* Returns NULL if version 6 has words for the plan, else the error. */
const char *six_fault(const struct dtt_plan *plan);

int six_send_plan(struct ctl *c, const struct dtt_plan *plan);
int six_recv_plan(struct ctl *c, struct dtt_plan *ret);
int six_send_first(struct ctl *c, uint64_t first);
/* The plan is told the server's byte order. */
int six_recv_first(struct ctl *c, struct dtt_plan *plan, uint64_t *ret);

struct six_pair {
	uint32_t context;
	uint64_t address;
};
void six_put_pair(char *at, const struct dtt_plan *plan, struct six_pair pair);
struct six_pair six_get_pair(const char *at, const struct dtt_plan *plan);

#endif
