/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The framing of datagrams. Packets of equal size to one process leave in a single system call (UDP GSO
 * on the real link): a train, of one queue pair or of many.
 *
 * What is small is put together at once. Else headers are written beside the train and payload is only
 * named; the flush then copies both into the stage with one gathering call, however many packets and
 * pieces there are, computes the ICRCs over what really leaves, and sends. So each payload byte is
 * copied once before the kernel's own copy, and a buffer that the application changes or unmaps
 * meanwhile cannot make a packet whose ICRC is wrong.
 *
 * Received payload is placed by place.h.
 */
#ifndef PROTO_IB_FRAME_WIRE_H
#define PROTO_IB_FRAME_WIRE_H

#include "proto/ib/framing.h"
#include "proto/ib/path.h"
#include "util/stage.h"
#include "wire/ib_packet.h"

#include <sys/uio.h>

#define IBP_TRAIN_PACKETS 64u
#define IBP_TRAIN_BYTES 65000u
#define IBP_SPANS 8
#define IBP_IOV 1000 /* below IOV_MAX with room for one header */

/* Packets that leave in one send: equal sizes, one way, the last may be shorter. */
struct ibp_train {
	struct ut_stage stage; /* packets, then 64 bytes of scratch for small results */
	struct ibp_path path;
	struct wire_icrc_memo memo[2]; /* of the path: of acknowledgements, and of others */
	uint32_t len, seg, n;
	uint16_t sport; /* of what is ready */
	bool closed, user, response;
	bool ready;   /* all of it is in the stage with its ICRCs, nothing is only named */
	bool waiting; /* filled in and checked, but the socket was full */
	int n_iov;
	struct iovec iov[IBP_IOV + 24];
	/* Pages of application memory in it, what touches in one piece; n_spans > IBP_SPANS: too
	 * many. */
	int n_spans;
	struct iovec spans[IBP_SPANS];
	/* Of each packet: its queue pair (NULL: one that is gone), its PSN, its first piece. */
	struct ibp_qp *of[IBP_TRAIN_PACKETS];
	uint32_t psn[IBP_TRAIN_PACKETS];
	int iov_at[IBP_TRAIN_PACKETS];
	uint8_t head[IBP_TRAIN_PACKETS][WIRE_IB_HDRS_MAX];
};

extern const struct ibp_framing ibp_frame_wire;

/* Returns 0, -ENOMEM, -EMFILE, ... */
int ibp_train_init(struct ibp_port *port);
void ibp_train_fini(struct ibp_port *port);
/* What is in the train leaves. A packet that cannot be read from memory is told to its requester or
 * responder; the socket may be full: then train.waiting. */
void ibp_train_flush(struct ibp_port *port);
/* The queue pair goes: what was added of it leaves now or, if the socket is full, without it. */
void ibp_train_leave(struct ibp_port *port, const struct ibp_qp *q);
/* Returns the place of a request of `size` bytes that can be put together in the stage at once, behind
 * others that were; or NULL. ibp_train_add() follows, or nothing. */
uint8_t *ibp_train_room(struct ibp_port *port, struct ibp_qp *q, uint32_t size);
/* Such a packet is complete up to its pad: adds pad and ICRC. */
void ibp_train_add(struct ibp_port *port, uint8_t *at, size_t len, unsigned pad);
/* 64 bytes of the train's stage for results to scatter; returns their offset. */
size_t ibp_scratch(struct ibp_port *port, uint8_t **ret);
/* Returns the size of a packet on the wire. */
uint32_t ibp_packet_size(const struct wire_ib_shape *shape, uint32_t payload);

/* Returns true if the invariant CRC is right; else counts. q: the connected queue pair that the datagram is for,
 * or NULL. */
bool ibp_icrc_matches(struct ibp_port *port, struct ibp_qp *q, const struct link_rx *rx);

#endif
