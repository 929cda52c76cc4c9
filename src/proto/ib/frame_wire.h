/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The framing of datagrams. Packets of equal size to one process leave in a single system call (UDP
 * GSO on the real link): a train, of one queue pair or of many.
 *
 * An acknowledgement that is followed by a request of its queue pair waits for that train: both leave in one call, as two
 * datagrams, since the packets of a train but the last are equally long.
 *
 * Small packets are put together at once. Else headers are written beside the train and payload is
 * only named; the flush then copies both into the stage with one gathering call, however many
 * packets and pieces there are, computes the ICRCs over the copy, and sends it. So each payload
 * byte is copied once before the kernel's own copy, and a buffer that the application changes or
 * unmaps meanwhile cannot make a packet whose ICRC is wrong.
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
#define IBP_ACK_BYTES 20u /* an acknowledgement on the wire */
#define IBP_IOV 1000 /* below IOV_MAX with room for one header */

/* Packets that leave in one send: of equal size, on one path; the last may be shorter. */
struct ibp_train {
	struct ut_stage stage; /* packets, then 64 bytes of scratch for small results */
	struct ibp_path path;
	struct wire_icrc_memo memo[2]; /* the path's flow: of acknowledgements, and of other packets */
	uint32_t len, seg, n;
	uint16_t sport; /* of the packets that are ready */
	bool closed, user, response;
	bool ready;   /* all packets are in the stage with their ICRCs */
	bool waiting; /* the packets are ready, but the socket was full */
	/* An acknowledgement that leaves in front of the train, in the same call; its path is the train's. */
	bool has_ahead;
	uint8_t ahead[IBP_ACK_BYTES];
	int n_iov;
	struct iovec iov[IBP_IOV + 24];
	/* Pages of application memory in the train, adjoining ones in one span; n_spans >
	 * IBP_SPANS: too many to list. */
	int n_spans;
	struct iovec spans[IBP_SPANS];
	/* Of each packet: its queue pair (NULL: destroyed), its PSN, its first piece. */
	struct ibp_qp *of[IBP_TRAIN_PACKETS];
	uint32_t psn[IBP_TRAIN_PACKETS];
	int iov_at[IBP_TRAIN_PACKETS];
	uint8_t head[IBP_TRAIN_PACKETS][WIRE_IB_HDRS_MAX];
};

extern const struct ibp_framing ibp_frame_wire;

/* Returns 0, -ENOMEM, -EMFILE, ... */
int ibp_train_init(struct ibp_port *port);
void ibp_train_fini(struct ibp_port *port);
/* Returns true if packets have not left. */
static inline bool ibp_train_has_any(const struct ibp_train *t)
{
	return t->n || t->has_ahead;
}
/* Returns how many packets of `size` bytes a train takes; 0: they are too long for one. */
uint32_t ibp_train_packets(const struct ibp_port *port, uint32_t size);
/* Returns true if another packet of this queue pair, as long as its last one, can join the train. response: it is an answer. */
bool ibp_train_has_room(const struct ibp_port *port, const struct ibp_qp *q, bool response);
/* Returns true if a turn that is to have `budget` packets ends behind so many: inside a long message or answer not before a train that has room
 * is full, since it would leave as it is at the end of the round; at most twice as many. */
bool ibp_train_ends_turn(const struct ibp_qp *q, bool response, uint32_t sent, uint32_t budget);
/* Sends the train. Requester or responder is told of a packet whose memory cannot be read. If the
 * socket is full, train.waiting is set. */
void ibp_train_flush(struct ibp_port *port);
/* The queue pair is being destroyed: its packets in the train leave now or, if the socket is full,
 * lose their queue pair. */
void ibp_train_leave(struct ibp_port *port, const struct ibp_qp *q);
/* Returns the place for a request of `size` bytes, with at most 512 of payload, that can be put together in the stage at
 * once, alone or behind others that were; or NULL. Nothing but ibp_train_add() may follow. */
uint8_t *ibp_train_room(struct ibp_port *port, struct ibp_qp *q, uint32_t size);
/* Adds a packet like the last one of the train, which is a middle packet of a message and not ready, but for these; payload:
 * application memory. The train has room. */
void ibp_train_add_alike(struct ibp_qp *q, uint32_t psn, bool ack_req, const struct iovec *payload);
/* Adds pad and ICRC to a packet that is complete up to its pad. */
void ibp_train_add(struct ibp_port *port, uint8_t *at, size_t len, unsigned pad);
/* Puts an acknowledgement in front of the train, which must be empty. Returns false if another train must leave first. */
bool ibp_train_put_ahead(struct ibp_qp *q, uint8_t syndrome, uint32_t psn);
/* Returns the offset of 64 bytes of the train's stage, from where results are scattered. */
size_t ibp_scratch(struct ibp_port *port, uint8_t **ret);
/* Returns the size of a packet on the wire. */
uint32_t ibp_packet_size(const struct wire_ib_shape *shape, uint32_t payload);

/* Returns true if the invariant CRC is right; else counts it. q: the connected queue pair that the
 * datagram is for, or NULL. */
bool ibp_icrc_matches(struct ibp_port *port, struct ibp_qp *q, const struct link_rx *rx);

#endif
