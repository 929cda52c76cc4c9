/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The flow control of one stream, as a pure machine: who may send how much, where it goes, what
 * has come and what must be given back to the peer.
 *
 * Each end owns a receive ring whose halves it hands to the peer in turn. The peer fills the half
 * it has from start to end by RDMA Writes and announces each piece with a message. Two budgets
 * bound it: bytes of the halves granted, and a sequence number up to which it may announce data,
 * so that the queue of unread announcements cannot overflow. Both are renewed by a message SGL,
 * with a new half (written into the peer's target list) when one was read empty.
 *
 * Control messages take slots of the send queue of their own, so that a stream full of data still
 * grants credits. On iWARP a message is a Write and a Send: two slots.
 *
 * Whatever the peer announces beyond what it was granted ends the connection: -EPROTO.
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
	uint16_t s_seq, s_limit;       /* next number of ours; first that we may not use */
	uint16_t s_window;             /* what the peer said it can hold */
	uint32_t sbuf_size, sbuf_free, sbuf_at;
	struct rs_sge target;          /* the rest of the half that we fill */
	unsigned target_nr;            /* its entry in our target list */

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

/* Takes the next half out of the list if the present one is full: 0, or -EPROTO. */
int rs_flow_target(struct rs_flow *f, struct rs_sge *list);
bool rs_flow_can_send(const struct rs_flow *f);
/* Room of the send queue and buffer alone: enough for Writes that are no messages. */
bool rs_flow_can_write(const struct rs_flow *f);

/* Where a piece lies in the send ring; two parts when it wraps. */
struct rs_piece {
	uint32_t length;
	uint32_t at[2], part[2];
	uint64_t remote;
	uint32_t key;
};

/* Both need can_send or can_write. Inline pieces (at most `inl` bytes) take no ring. */
void rs_flow_take(struct rs_flow *f, size_t want, uint32_t inl, struct rs_piece *ret);
void rs_flow_take_write(struct rs_flow *f, size_t want, uint32_t inl, struct rs_piece *ret);
/* A message with `length` bytes from the ring that is no data but counts as one (I/O map). */
void rs_flow_take_iomap(struct rs_flow *f, uint32_t length, uint32_t inl, struct rs_piece *ret);

/* Completion of a slot, and of the ring bytes that went with it. */
void rs_flow_sent(struct rs_flow *f, uint32_t ring_bytes);
void rs_flow_ctrl_sent(struct rs_flow *f);
bool rs_flow_ctrl_take(struct rs_flow *f, unsigned slots);
bool rs_flow_idle(const struct rs_flow *f);

/* What came in: an enum rs_ctrl + 1 for control messages, 0 for the others, or -EPROTO. */
int rs_flow_message(struct rs_flow *f, uint32_t msg, uint16_t iomap_size);

/* Contiguous readable bytes at *ret_at, at most want. `skip` bytes are passed over first. */
uint32_t rs_flow_chunk(const struct rs_flow *f, uint32_t skip, size_t want, uint32_t *ret_at);
void rs_flow_read(struct rs_flow *f, uint32_t bytes);

struct rs_grant {
	uint32_t msg;
	bool half;                     /* with a new half */
	uint32_t at, length;           /* where it lies in our ring */
	unsigned nr;                   /* entry of the peer's target list */
};

/* True if there is something to grant and a slot for it; the state then has it granted. */
bool rs_flow_grant(struct rs_flow *f, struct rs_grant *ret);

#endif
