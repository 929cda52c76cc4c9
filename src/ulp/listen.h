/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Listening for connections of an upper-layer protocol, on every RDMA device that has the address. */
#ifndef ULP_LISTEN_H
#define ULP_LISTEN_H

#include <stddef.h>
#include <stdint.h>
#include <sys/socket.h>

struct ibv_context;
struct rdma_cm_id;
struct ulp_listener;

/* A request for a connection, to be accepted or refused: its identifier and private data. */
struct ulp_request {
	struct rdma_cm_id *id;
	uint8_t data[256];
	size_t len;
	struct sockaddr_storage from;
};

/*
 * Listens at an address in a port space (enum rdma_port_space); a port of 0 becomes the one that is chosen. v6only:
 * 0 or 1 as IPV6_V6ONLY; -1: as the system says. Returns NULL and errno.
 */
struct ulp_listener *ulp_listen(struct sockaddr *at, unsigned space, int v6only, int backlog);
/* Requests that were not taken are refused. */
void ulp_listener_close(struct ulp_listener *l);
/* The adapter that the address belongs to, or NULL: it is the wildcard. It stays as long as the listener. */
struct ibv_context *ulp_listener_verbs(const struct ulp_listener *l);
/* The port of that adapter, from 1. */
uint8_t ulp_listener_port(const struct ulp_listener *l);
/* Readable when there may be a request. */
int ulp_listener_fd(const struct ulp_listener *l);
/* Takes a request. Returns 0, -EAGAIN if there is none, or another negative errno. Never blocks. */
int ulp_listener_next(struct ulp_listener *l, struct ulp_request *ret);
void ulp_request_refuse(struct ulp_request *q);

#endif
