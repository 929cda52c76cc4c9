/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How a connection that was made elsewhere (by a connection manager, or by the
 * application that hands its socket over) becomes the stream of a QP: "modify
 * QP to RTS with the stream attached" of the RDMAC verbs. iWARP fills the
 * table; connection managers see only this.
 */
#ifndef PROTO_STREAM_H
#define PROTO_STREAM_H

#include "engine/qp.h"
#include "link/stream.h"

/* Ready-to-receive indication of peer-to-peer set-up, RFC 6581 section 9.2. */
enum proto_rtr { PROTO_RTR_NONE, PROTO_RTR_WRITE, PROTO_RTR_READ, PROTO_RTR_SEND };

struct proto_stream_params {
	bool initiator;       /* sent the MPA Request */
	bool crc;             /* CRC32C in both directions */
	bool markers_tx;      /* the peer wants markers in what we send */
	bool markers_rx;
	uint16_t ird, ord;    /* negotiated: reads we serve / we may issue */
	/* Initiator: the RTR to send first. Responder: NONE, or the peer announced one and
	 * nothing is sent before it came. */
	enum proto_rtr rtr;
	/* Responder without RTR: the first FPDU of ours waits for the peer's first, or until
	 * the peer's host has acknowledged the Reply and 5 ms more. */
	bool await_first;
};

/* The connection manager behind the stream. Called with dev->lock held, from inside
 * the protocol; must not call back into it for this QP. */
struct proto_stream_owner {
	/* Responder: the first FPDU (RTR or data) has come. Called once. */
	void (*ready)(void *arg, uint64_t now);
	/*
	 * The stream has ended for this QP: FIN (error 0), reset, Terminate sent or
	 * received, QP destroyed or moved to ERR by its owner. Called once; the protocol closes the
	 * stream.
	 */
	void (*ended)(void *arg, int error, uint64_t now);
};

struct proto_stream_ops {
	/*
	 * Moves the QP (INIT or RTR) to RTS on this stream. From here on the protocol is
	 * the stream's user. owner may be NULL. 0; -EINVAL: wrong state or QP type;
	 * -EISCONN: it has a stream. On failure the stream stays the caller's.
	 */
	int (*attach)(struct eng_qp *qp, struct link_stream *s,
		      const struct proto_stream_params *p, const struct proto_stream_owner *owner,
		      void *arg);
	/* The owner goes away: no more calls to it. */
	void (*disown)(struct eng_qp *qp);
	/* Graceful end (rdma_disconnect): what is queued is sent, then FIN; the QP goes to
	 * SQD-like closing and then ERR, ended() follows. 0 or -ENOTCONN. */
	int (*disconnect)(struct eng_qp *qp);
	/* MPA's own errors in full operation that the manager finds (2/0/05..07): Terminate,
	 * then end. `code` is the MPA error code. */
	void (*terminate)(struct eng_qp *qp, uint8_t code);
};

#endif
