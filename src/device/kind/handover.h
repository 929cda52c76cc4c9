/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The second way into iWARP: an established TCP socket of the application
 * becomes the stream of a QP. The result of the handshake, if there is one, is kept per QP until
 * dev_handover_wait() takes it or the QP is handed another socket.
 */
#ifndef DEVICE_KIND_HANDOVER_H
#define DEVICE_KIND_HANDOVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct dev_adapter;
struct eng_qp;

#define DEV_HANDOVER_PRIVATE 512

enum dev_handover_role { DEV_HANDOVER_INITIATOR, DEV_HANDOVER_RESPONDER, DEV_HANDOVER_AGREED };
/* As enum proto_rtr. */
enum dev_handover_rtr { DEV_RTR_NONE, DEV_RTR_WRITE, DEV_RTR_READ, DEV_RTR_SEND };

struct dev_handover_want {
	enum dev_handover_role role;
	bool crc, markers_in, markers_out;
	uint16_t ird, ord;
	/* AGREED only. */
	bool sent_request;
	enum dev_handover_rtr rtr;
	const void *private_data; /* not with AGREED */
	uint16_t private_len;
};

struct dev_handover_result {
	int error; /* 0 or negative */
	uint16_t ird, ord; /* what the peer serves and wants, as rdma_cm reports it */
	uint16_t private_len;
	uint8_t private_data[DEV_HANDOVER_PRIVATE];
};

/*
 * Returns 0 if fd belongs to the adapter now. -EOPNOTSUPP: not an iWARP adapter; -EINVAL: state or type of the
 * QP, or private data too long; -EISCONN: it has a stream; -EBADF, -ENOTSOCK,
 * -EPROTONOSUPPORT, -ENOTCONN: the descriptor; -ENOMEM, -EMFILE. No lock held.
 */
int dev_handover(struct eng_qp *qp, int fd, const struct dev_handover_want *w);

/*
 * Waits for the handshake, at most timeout_ms (-1: without limit). Returns 0 if *ret is filled, and the
 * result is freed; -ETIMEDOUT; -ENOTCONN: no socket was handed over. No lock held; a cancellation
 * point.
 */
int dev_handover_wait(struct eng_qp *qp, int timeout_ms, struct dev_handover_result *ret);

/* The adapter closes: its results are freed. dev.lock held. */
void dev_handover_forget(struct dev_adapter *a);

#endif
