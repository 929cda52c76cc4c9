/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Registered memory for whole RPC messages. Sockets and RDMA operations fill the same bytes, so that a
 * message is copied nowhere on its way through a gateway. A buffer belongs to one connection and is used
 * by its thread alone.
 *
 *    mem            mem + head            data .. data + len                    mem + size
 *    | room for what comes before a chunk | message, or the data of a chunk ... |
 */
#ifndef ULP_RPCRDMA_BUF_H
#define ULP_RPCRDMA_BUF_H

#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rpr_buf {
	uint8_t *mem;
	size_t size, head;
	uint8_t *data;
	size_t len;
	struct ibv_mr *mr;
	struct rpr_buf *next;  /* free, or in a queue */
};

struct rpr_bufs {
	struct ibv_pd *pd;
	size_t head, room;     /* of each buffer; room is behind the head */
	int access;
	struct rpr_buf *free;
	unsigned nr;           /* in use or free */
	unsigned nr_max;
};

/* Buffers of `room` bytes behind `head` bytes, at most nr_max of them; memory windows can be bound to them if
 * `windows`. */
void rpr_bufs_init(struct rpr_bufs *b, struct ibv_pd *pd, size_t head, size_t room, unsigned nr_max, bool windows);
/* Frees the free ones; buffers in use must have come back. */
void rpr_bufs_fini(struct rpr_bufs *b);

/* Returns an empty buffer, whose data begins behind the head, or NULL. */
struct rpr_buf *rpr_buf_get(struct rpr_bufs *b);
/* Takes it back. NULL is allowed. */
void rpr_buf_put(struct rpr_bufs *b, struct rpr_buf *buf);

#endif
