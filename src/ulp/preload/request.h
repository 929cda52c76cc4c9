/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Requests of programs to the carrier. Each is one message on a connection of its own, with
 * descriptors; the answer, where there is one, is one message too.
 */
#ifndef ULP_PRELOAD_REQUEST_H
#define ULP_PRELOAD_REQUEST_H

#include "ulp/preload/name.h"

#define RSP_JUNK 65536          /* bytes that fill the stream of a non-blocking connect */
#define RSP_LISTEN_FD 3         /* the carrier's own listener */

enum rsp_op { RSP_OP_LISTEN = 1, RSP_OP_CONNECT };
enum rsp_way { RSP_WAY_RSOCKET, RSP_WAY_SDP };

struct rsp_request {
	uint32_t op;
	int32_t backlog;                /* LISTEN */
	uint8_t v6only, reuse;
	uint8_t dual;                   /* addresses of the program are IPv6, mapped where needed */
	uint8_t nowait;                 /* CONNECT: no answer; falls back to TCP in the carrier */
	uint8_t way;                    /* enum rsp_way */
	uint8_t tcp;                    /* LISTEN: by TCP too, with the socket; CONNECT: TCP may take its place */
	struct rsp_addr local;          /* LISTEN; CONNECT: family 0 if the program did not bind */
	struct rsp_addr peer;           /* CONNECT */
	struct sockaddr_un listener;    /* LISTEN: accepts the connections */
	uint32_t listener_len;
};

/* Sends the message and nr descriptors (at most 2). Returns 0 or a negative errno. */
int rsp_request_send(int sock, const struct rsp_request *q, const int *fds, int nr);
/* Receives a message and its descriptors, missing ones as -1. Returns 0 or a negative errno. */
int rsp_request_recv(int sock, struct rsp_request *ret, int fds[2]);

#endif
