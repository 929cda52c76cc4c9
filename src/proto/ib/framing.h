/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How a packet travels: as a datagram with headers and ICRC (frame_wire.h), or as a record of the shm
 * channel between processes of one host (frame_shm.h). Requester and responder make and read packets
 * (struct wire_ib_packet) and name payload; a framing carries both. Each direction of a connection has one,
 * from RESET to RESET: a requester chooses it before it gives out its first PSN, which decides how many
 * packets a message has; a responder takes that of the first request in order, and answers the same way.
 *
 * Every slot is filled. All are called with the adapter's progress lock held; none blocks.
 */
#ifndef PROTO_IB_FRAMING_H
#define PROTO_IB_FRAMING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ibp_port;
struct ibp_qp;
struct iovec;
struct link_rx;
struct wire_ib_packet;

struct ibp_framing {
	/*
	 * Begins a packet of `size` bytes (BTH to ICRC). Returns the place for the pieces of its
	 * payload and in *max their number, or NULL if there is no room: the caller keeps its state
	 * and calls again later. Making room may find a fault in packets that were added before,
	 * and fail the queue pair.
	 */
	struct iovec *(*begin)(struct ibp_qp *q, bool response, uint32_t size, int *max);
	/* Adds the packet that was begun last, with n pieces of payload; user: they are application
	 * memory. Returns 0, or -EFAULT: they were read at once, and could not be. */
	int (*end)(struct ibp_qp *q, const struct wire_ib_packet *p, int n, bool user);
	/* Sends the packets that were added. */
	void (*flush)(struct ibp_port *port);
	/* Returns true if a packet of this queue pair was added and has not left. */
	bool (*holds)(const struct ibp_port *port, const struct ibp_qp *q);
	/* Sends the positive acknowledgement up to this PSN without making a packet. Returns false if
	 * nothing has left: the responder makes one. */
	bool (*acknowledge)(struct ibp_qp *q, uint32_t psn);
	/* Returns true if the newest request still waits for the peer to take it: a second
	 * copy would not help. *ret_busy: the peer has taken something since the last call. */
	bool (*unread)(struct ibp_qp *q, bool *ret_busy);

	/* The other slots are about the packet that has come and is being processed
	 * (port->arrived). */

	/* Returns true if the packet is intact and comes from the peer, in its partition (IBTA
	 * 9.6.1); else counts the reason. */
	bool (*admits)(struct ibp_qp *q, const struct wire_ib_packet *p, const struct link_rx *rx);
	/* Returns the bytes of each packet of its message but the last. */
	uint32_t (*unit)(const struct ibp_qp *q);
	/*
	 * Puts its payload, which lies at `off` of the receive stage or elsewhere, into application
	 * memory; request: as the responder's. last: it ends its message, so all of that is in place
	 * afterwards, the last 64 bytes last; else it may wait for more, and a fault is found later. iov
	 * has room for one more piece. Returns 0 or -EFAULT.
	 */
	int (*place)(struct ibp_qp *q, bool request, size_t off, struct iovec *iov, int n, uint32_t len,
		     bool last);
};

#endif
