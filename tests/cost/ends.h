/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Two connected queue pairs, for the programs that count the cost of messages. */
#ifndef TESTS_COST_ENDS_H
#define TESTS_COST_ENDS_H

#include <rdma/rdma_cma.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct end {
	struct rdma_cm_id *id;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	uint8_t *buf;
};

/* Properties of the next ends; set before ends_resolve() or ends_accept(). */
extern struct ends_shape {
	size_t bytes;   /* of each buffer, and of a message */
	uint32_t depth; /* of each queue */
	bool one_cq;    /* all ends share the completion queue of the first */
} ends_shape;

extern struct rdma_event_channel *ends_channel;

/* Opens the event channel, with a first id on it. */
struct rdma_cm_id *ends_open(void);

/* The id of the next event, which must be of this type; a request comes with a new id. */
struct rdma_cm_id *ends_event(enum rdma_cm_event_type want);

/* Binds the id to loopback and listens. Returns the port. */
uint16_t ends_listen(struct rdma_cm_id *id);

/* Resolves address and route of e->id, and makes its queue pair, up to rdma_connect(). */
void ends_resolve(struct end *e, uint16_t port);

/* Calls rdma_connect(); ESTABLISHED is left to the caller. */
void ends_connect(struct end *e);

/* Accepts the next request; ESTABLISHED is left to the caller. */
void ends_accept(struct end *e);

/* Posts one receive of ends_shape.bytes. */
void ends_post_recv(struct end *e);

/* Posts one Send of ends_shape.bytes. */
void ends_post_send(struct end *e);

/* Polls once for at most 16 completions; each must have succeeded. Returns their number. */
int ends_poll(struct end *e);

/* Polls 64 times an empty queue: a thread that does so is taken for a polling thread. */
void ends_poll_empty(struct end *e);

/* Passes the turn to the other process, or waits for it. */
void ends_pass(int fd, char word);
char ends_wait(int fd);

#endif
