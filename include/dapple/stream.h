/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An established TCP connection becomes the stream of an iWARP queue pair
 * ("modify QP to RTS" with the stream handed over): for programs that use plain
 * TCP first and then agree on RDMA. Link with libdapple.so.0.
 *
 * The connection must be idle, without unread data and data on its way, and both
 * programs must have agreed that RDMA starts at this point. Either Dapple then
 * exchanges MPA's Request and Reply (one end is the initiator, the other the
 * responder, independent of which end opened the TCP connection), or the programs
 * have exchanged them before.
 *
 *	struct dpl_stream_attr attr = { .role = DPL_STREAM_INITIATOR, .flags = DPL_STREAM_CRC,
 *					.ird = 4, .ord = 4 };
 *	struct dpl_stream_result res;
 *
 *	modify the QP to INIT, post receives, then
 *	if (dpl_qp_stream(qp, fd, &attr, sizeof(attr)) == 0 &&
 *	    dpl_qp_stream_wait(qp, 5000, &res, sizeof(res)) == 0)
 *		the QP is in RTS
 *
 * The connection ends as every iWARP connection does: the QP goes to ERR when the peer closes;
 * moving it to SQD ends the connection gracefully, to ERR abruptly.
 */
#ifndef DAPPLE_STREAM_H
#define DAPPLE_STREAM_H

#include <infiniband/verbs.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum dpl_stream_role {
	DPL_STREAM_INITIATOR,  /* sends the MPA Request */
	DPL_STREAM_RESPONDER,  /* waits for it and accepts */
	DPL_STREAM_NEGOTIATED  /* Request and Reply were exchanged by the programs */
};

enum dpl_stream_flags {
	DPL_STREAM_CRC = 1 << 0,         /* requested; NEGOTIATED: in use, in both directions */
	DPL_STREAM_MARKERS_IN = 1 << 1,  /* requested in received data; NEGOTIATED: in use */
	DPL_STREAM_MARKERS_OUT = 1 << 2, /* NEGOTIATED: the peer requested them in sent data */
	DPL_STREAM_REQUESTED = 1 << 3    /* NEGOTIATED: this end sent the Request */
};

/* Ready-to-receive message of peer-to-peer set-up (RFC 6581), NEGOTIATED only: the first message of
 * the initiator, for which the responder waits before it sends. */
enum dpl_stream_rtr { DPL_RTR_NONE, DPL_RTR_WRITE, DPL_RTR_READ, DPL_RTR_SEND };

#define DPL_STREAM_PRIVATE 512 /* 508 when the Request has the form of RFC 6581, the default */

struct dpl_stream_attr {
	uint32_t role;  /* enum dpl_stream_role */
	uint32_t flags; /* enum dpl_stream_flags */
	uint16_t ird;   /* RDMA Reads and atomics that this end serves at a time; NEGOTIATED: as agreed */
	uint16_t ord;   /* ... that this end issues at a time */
	uint16_t rtr;   /* enum dpl_stream_rtr */
	uint16_t private_len;
	const void *private_data; /* for the peer, in Request or Reply; copied */
};

struct dpl_stream_result {
	int error;          /* 0, or a positive errno: see dpl_qp_stream_wait() */
	uint16_t ird, ord;  /* the peer's IRD and ORD; 0 with NEGOTIATED */
	uint16_t reserved, private_len;
	uint8_t private_data[DPL_STREAM_PRIVATE]; /* of the peer */
};

/*
 * Hands fd over. On success Dapple owns and closes it; after a failure the caller
 * still owns it. Returns at once; NEGOTIATED: the QP is in RTS.
 * attr_size is sizeof(*attr). Returns 0 or:
 *	EOPNOTSUPP	not an iWARP device of Dapple
 *	EINVAL		a QP that is not RC in INIT or RTR; unknown role, flag or size; private
 *			data that is too long, or given with NEGOTIATED
 *	EISCONN		the QP has a stream, or a hand-over is under way
 *	ENOTCONN	the socket is not connected
 *	EBADF, ENOTSOCK, EPROTONOSUPPORT	not a TCP socket
 *	ENOMEM, EMFILE, EIO (after fork)
 */
int dpl_qp_stream(struct ibv_qp *qp, int fd, const struct dpl_stream_attr *attr,
		  size_t attr_size);

/*
 * Waits until the hand-over of this QP has succeeded or failed, at most timeout_ms
 * milliseconds (-1: without limit, 0: without waiting), and takes the result. A cancellation
 * point. result_size is sizeof(*result). Returns 0 when the QP is in RTS, ETIMEDOUT while
 * the hand-over is undecided, ENOTCONN if no socket was handed over or the result was taken
 * already; otherwise the hand-over has failed, the connection is closed, the error is in
 * result->error too and the peer's private data, if it sent any, in the result:
 *	ECONNREFUSED	the peer rejected
 *	ECONNRESET	the connection ended
 *	EPROTO		the peer sent no valid Request or Reply
 *	ETIMEDOUT	(with result->error set) the peer did not answer in time: 10 s for a
 *			Reply, 5 s for a Request
 */
int dpl_qp_stream_wait(struct ibv_qp *qp, int timeout_ms, struct dpl_stream_result *result,
		       size_t result_size);

#ifdef __cplusplus
}
#endif

#endif
