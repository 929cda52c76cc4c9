/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The flow control of one stream, as a pure machine: how much each end may send, where a piece is
 * written, what has been received and what is granted to the peer again.
 *
 * Each end has a receive ring, whose halves it grants to the peer in turn. The peer fills the granted
 * half from start to end by RDMA Writes and announces each piece with a message. Two budgets bound
 * the peer: bytes of the halves granted, and a sequence number up to which it may announce data, so
 * that the queue of unread announcements cannot overflow. The message SGL renews both, with a new
 * half (written into the peer's target list) when one has been read.
 *
 * Control messages have slots of the send queue of their own, so that a stream full of data still
 * grants credits. On iWARP a message is a Write and a Send: two slots.
 *
 * An announcement beyond the grant ends the connection with -EPROTO.
 */
#ifndef ULP_RSOCKET_FLOW_H
#define ULP_RSOCKET_FLOW_H

#include "ulp/rsocket/msg.h"

#define RS_CTRL_SLOTS 4
#define RS_SEND_FIRST 2048              /* first piece of a large send; each next one is doubled */
#define RS_SEND_MAX 65536
#define RS_SEND_LOW 2048                /* free send buffer below which nothing is sent */

struct rs_flow {
	unsigned per_msg;              /* slots a message with a Write takes: 1, on iWARP 2 */

	uint32_t slots, slots_all;     /* free and all slots for data */
	unsigned ctrl;                 /* free slots for control messages */
	uint16_t s_seq, s_limit;       /* next number of this end; first that is not granted */
	uint16_t s_window;             /* messages that the peer can queue */
	uint32_t sbuf_size, sbuf_free, sbuf_at;
	struct rs_sge target;          /* the rest of the peer's half that is being filled */
	unsigned target_nr;            /* its entry in the local target list */

	uint16_t rq_size;
	uint16_t r_seq, r_renew;       /* messages read; number at which to renew the budget */
	uint32_t rbuf_size, rbuf_at;
	uint32_t r_room;               /* bytes that the peer may still announce */
	uint32_t r_freed;              /* bytes read and not granted again */
	uint32_t r_next;               /* offset of the half that is granted next */
	uint32_t readable;
	uint32_t *msgs;                /* lengths announced and unread; rq_size + 1 entries */
	unsigned head, tail;
	unsigned peer_sgl, peer_nr;    /* size of the peer's target list; entry written next */
};

/* buffers in bytes; rbuf_size must be even. msgs has rq_size + 1 entries. */
void rs_flow_init(struct rs_flow *f, unsigned sq_size, uint16_t rq_size, uint32_t sbuf_size,
		  uint32_t rbuf_size, uint32_t *msgs, bool msg_send);
void rs_flow_connect(struct rs_flow *f, const struct rs_conn *peer);

/* Takes the next half out of the list if the present one is full. Returns 0 or -EPROTO. */
int rs_flow_target(struct rs_flow *f, struct rs_sge *list);
bool rs_flow_can_send(const struct rs_flow *f);
/* Tests the send queue and ring alone, for Writes without a message. */
bool rs_flow_can_write(const struct rs_flow *f);

/* The bytes of a piece in the send ring; two parts if it wraps. */
struct rs_piece {
	uint32_t length;
	uint32_t at[2], part[2];
	uint64_t remote;
	uint32_t key;
};

/*
 * Called if rs_flow_can_send(), rs_flow_can_write() was true. A piece of at most `inl` bytes takes no
 * ring.
 */
void rs_flow_take(struct rs_flow *f, size_t want, uint32_t inl, struct rs_piece *ret);
void rs_flow_take_write(struct rs_flow *f, size_t want, uint32_t inl, struct rs_piece *ret);
/* Takes a message of `length` bytes that is no data but counts like data (I/O map). */
void rs_flow_take_iomap(struct rs_flow *f, uint32_t length, uint32_t inl, struct rs_piece *ret);

/* Completion of a slot, and of the ring bytes that went with it. */
void rs_flow_sent(struct rs_flow *f, uint32_t ring_bytes);
void rs_flow_ctrl_sent(struct rs_flow *f);
bool rs_flow_ctrl_take(struct rs_flow *f, unsigned slots);
bool rs_flow_idle(const struct rs_flow *f);

/* Processes a received message. Returns enum rs_ctrl + 1 for control messages, else 0, or -EPROTO. */
int rs_flow_message(struct rs_flow *f, uint32_t msg, uint16_t iomap_size);

/* Returns how many contiguous bytes, at most `want`, are readable at *ret_at, `skip` bytes on. */
uint32_t rs_flow_chunk(const struct rs_flow *f, uint32_t skip, size_t want, uint32_t *ret_at);
void rs_flow_read(struct rs_flow *f, uint32_t bytes);

struct rs_grant {
	uint32_t msg;
	bool half;                     /* with a new half */
	uint32_t at, length;           /* its part of the local ring */
	unsigned nr;                   /* entry of the peer's target list */
};

/* Returns true if a grant is due and has a slot; the state then counts it as granted. */
bool rs_flow_grant(struct rs_flow *f, struct rs_grant *ret);

#endif
