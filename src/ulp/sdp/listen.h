/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* Listening for connections of SDP. */
#ifndef ULP_SDP_LISTEN_H
#define ULP_SDP_LISTEN_H

#include "ulp/sdp/conn.h"

struct sdp_listener;

/* A request: the identifier and its private data, for sdp_accept(). */
struct sdp_request {
	struct rdma_cm_id *id;
	uint8_t data[256];
	size_t len;
};

/*
 * Listens on every RDMA device that has the address; a port of 0 becomes the one that is chosen. Returns NULL and a
 * positive errno and a sentence.
 */
struct sdp_listener *sdp_listen(struct sockaddr *at, bool v6only, int backlog, int *ret_err,
				char why[SDP_WHY_MAX]);
/* Readable when there may be a request. */
int sdp_listener_fd(const struct sdp_listener *l);
/* The next request, 0; or a negative errno, -EAGAIN: there is none. */
int sdp_listener_next(struct sdp_listener *l, struct sdp_request *ret);
/* Refuses a request that sdp_accept() does not get. */
void sdp_request_refuse(struct sdp_request *q);
/* Requests that were not taken are refused. */
void sdp_listener_close(struct sdp_listener *l);

#endif
