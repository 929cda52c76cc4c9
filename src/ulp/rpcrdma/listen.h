/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* A listener for connections of RPC over RDMA. */
#ifndef ULP_RPCRDMA_LISTEN_H
#define ULP_RPCRDMA_LISTEN_H

#include "ulp/rpcrdma/conn.h"

#define RPR_REQUEST_DATA_MAX 256

struct rpr_listener;

/* A request for a connection: to be accepted (rpr_accept()) or refused. */
struct rpr_request {
	struct rdma_cm_id *id;
	uint8_t data[RPR_REQUEST_DATA_MAX];
	size_t len;
	struct sockaddr_storage from;
};

/* Listens at an address; port 0 is any. Returns the listener, or NULL: why says what failed. */
struct rpr_listener *rpr_listen(const struct sockaddr *at, int backlog, char why[RPR_WHY_MAX]);
/* Requests that nobody took are refused. */
void rpr_listener_close(struct rpr_listener *l);
int rpr_listener_fd(const struct rpr_listener *l);
/* The port in host order. */
uint16_t rpr_listener_port(const struct rpr_listener *l);

/* Takes a request. Returns 0, -EAGAIN if there is none, or another negative errno. Never blocks. */
int rpr_listener_next(struct rpr_listener *l, struct rpr_request *ret);
void rpr_request_refuse(struct rpr_request *q);

#endif
