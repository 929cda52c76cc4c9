/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The TCP side of a gateway: whole RPC messages out of and into a stream, through buffers of the RDMA side. */
#ifndef ULP_RPCRDMA_GATEWAY_TCP_H
#define ULP_RPCRDMA_GATEWAY_TCP_H

#include "ulp/rpcrdma/conn.h"
#include "ulp/rpcrdma/gateway/record.h"

struct rpg_tcp {
	int fd;
	struct rpg_record in;
	struct rpr_buf *in_buf;             /* of the record that is coming */
	struct rpr_buf *out_first, *out_last;
	uint8_t mark[RPG_MARK_LEN];         /* of out_first */
	size_t out_done;                    /* bytes of mark and message that are written */
};

/* Connects within timeout_ms, from a reserved port if this process may. Returns a descriptor that does not block, or a
 * negative errno. */
int rpg_tcp_connect(const struct sockaddr_storage *to, socklen_t len, int timeout_ms);
/* Sets up an accepted one. Returns 0 or a negative errno. */
int rpg_tcp_prepare(int fd);
/* Listens. Returns a descriptor that does not block, or a negative errno; addr becomes what it is bound to. */
int rpg_tcp_listen(struct sockaddr_storage *addr, socklen_t len);

void rpg_tcp_init(struct rpg_tcp *t, int fd, size_t max);
/* Gives all buffers back and closes. */
void rpg_tcp_fini(struct rpg_tcp *t, struct rpr_conn *c);

/*
 * Reads what has come. Returns 1 with a whole message in *ret, 0 if none is complete yet, -ENOBUFS if there is no buffer, -EPIPE at
 * the end of the stream, or another negative errno.
 */
int rpg_tcp_read(struct rpg_tcp *t, struct rpr_conn *c, struct rpr_buf **ret);

/* Queues a message, which becomes the stream's. */
void rpg_tcp_add(struct rpg_tcp *t, struct rpr_buf *buf);
/* Writes what the stream takes. Returns 0 or a negative errno. */
int rpg_tcp_write(struct rpg_tcp *t, struct rpr_conn *c);

#endif
