/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Direct access: Reads, Writes and atomics between processes of one host that the requester executes
 * (host/shm/export.h): small Reads and Writes by the kernel, all of them by plain loads and stores where
 * the memory was exported as an area. They have no PSN and no packet, so they are begun only while
 * nothing of their queue is under way: what was posted before them has been executed, and what comes
 * after them starts later. What the tables do not grant changes nothing and goes as a packet, so that
 * every refusal, event and sentence is the responder's.
 *
 * A responder exports a key and its queue pair when a packet has used them with success, which also
 * spares the tables what no peer uses, and revokes them before they change.
 */
#ifndef PROTO_IB_DIRECT_H
#define PROTO_IB_DIRECT_H

#include <stdbool.h>
#include <stdint.h>

struct eng_dev;
struct eng_mkey;
struct eng_qp;
struct eng_swqe;
struct ibp_qp;

/* The responder's end. */

/* A packet of this host has used the key with success: the requesters of further ones may execute them. */
void ibp_export(struct ibp_qp *q, const struct eng_mkey *mk, uint32_t key);
/* eng_dev.revoke: ends direct access by this key or to this queue pair. */
void ibp_revoke(struct eng_dev *dev, uint32_t index);

/* The requester's end. */

/* Executes what was posted to the queue pair. Returns true if all of it is complete, without any help
 * of the peer. app: the calling thread is one of the application's. */
bool ibp_direct_post(struct eng_qp *qp, bool app);
/* Returns true if only unprocessed acknowledgements may prevent direct execution of the next request. */
bool ibp_may_direct_post(struct eng_qp *qp);
/* Executes the oldest request. Returns true if it is complete. */
bool ibp_direct(struct ibp_qp *q, struct eng_swqe *w);
/* Returns true if requests of this opcode can be executed so. */
bool ibp_may_be_direct(uint8_t opcode);
/* Returns true if this one can as soon as what is under way is done, and that is worth the wait. */
bool ibp_direct_next(struct ibp_qp *q, const struct eng_swqe *w);

#endif
