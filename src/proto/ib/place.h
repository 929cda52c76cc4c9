/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Placement of the payload of datagrams. Packets of one message usually arrive behind one another in one
 * receive buffer, so their payloads go into application memory with a single scattering call, which
 * drops the headers between them into a sink. Packets inside a message wait; with the last one of a message all are
 * placed, so that the completion and the acknowledgement find the data in place. No payload waits longer than one
 * ibp_receive() call.
 */
#ifndef PROTO_IB_PLACE_H
#define PROTO_IB_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/uio.h>

struct ibp_port;
struct ibp_qp;
struct ut_stage;

#define IBP_PLACE_IOV 512
#define IBP_PLACE_FROM 64

/* Payload of one queue pair that waits to be placed: contiguous in the receive stage but for the
 * headers in between. */
struct ibp_placing {
	struct ibp_qp *q; /* NULL: nothing waits */
	bool request;     /* of a request: the responder places it */
	size_t start, end;
	int n, n_from;
	struct iovec iov[IBP_PLACE_IOV];   /* destinations; the headers between go into the sink */
	struct iovec from[IBP_PLACE_FROM]; /* sources, without the headers */
	uint8_t sink[128];
	unsigned trains_awaited; /* so many short trains, and no long ones are expected any more */
};

/* ibp_framing.place of the wire: from the receive stage. */
int ibp_place(struct ibp_qp *q, bool request, size_t off, struct iovec *iov, int n, uint32_t len,
	      bool last);
/* Places the payload that waits; a fault fails its queue pair. */
void ibp_place_settle(struct ibp_port *port);
/* Drops the payload that waits. */
void ibp_place_drop(struct ibp_port *port);
/* Puts len bytes at `off` of a stage into application memory; last: the last 64 of them become visible last. iov has
 * room for one more piece. Returns 0 or -EFAULT. */
int ibp_scatter(struct ut_stage *st, size_t off, struct iovec *iov, int n, uint32_t len, bool last);

#endif
