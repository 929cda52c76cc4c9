/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The messages of one connection, whatever carries them: numbers, what waits, what has been sent and may have to be
 * sent again, and what has arrived before.
 *
 *      rds_flow_queue()        rds_flow_sent()         rds_flow_acked()
 *   ------------------> waiting -----------> unacknowledged ----------> freed
 *                          ^                     |
 *                          +---------------------+  rds_flow_restart(): in their order, marked as retransmitted
 *
 * Numbers grow by one with each message of the connection, and outlive the transport's connections. A receiver drops a
 * retransmitted message with a number below the next one expected, and takes every other: numbers may skip forward,
 * and a peer that has begun anew begins at 1 without the mark. A peer that says its generation is known to have begun
 * anew, so that its retransmitted messages are not taken for old ones.
 *
 * A connection that ends again and again before an acknowledgement comes back must make progress all the same: after one
 * that has ended with unacknowledged messages, a window limits them, to one at first and to one more with each that is
 * acknowledged. So an acknowledgement is asked for after one message, two, four ..., and what it frees is not sent again.
 */
#ifndef ULP_RDS_FLOW_H
#define ULP_RDS_FLOW_H

#include "ulp/preload/name.h"
#include "ulp/rds/arrival.h"
#include "ulp/rds/work.h"
#include "util/list.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rds_job;

/* A message with its payload behind it. Each belongs to one list, or to the part that has taken it. */
struct rds_message {
	/* What the next owner reads (ulp/rds/keep.h). */
	_Atomic uint32_t kept;          /* enum rds_kept; all else here is written before */
	_Atomic uint64_t place;         /* that is sent: row of its connection and its number */
	uint64_t record;                /* the program's record that it was; 0: none */
	uint64_t arrival;               /* that has come: which one, of all */
	uint64_t to;                    /* number of the socket that gets it */
	struct rsp_addr from;
	int32_t row;                    /* of the connection that it came by; -1: none */
	uint32_t used_key;              /* a region of the receiver that it has ended */
	uint32_t number;                /* of the record that gives it to its program; 0: not tried yet */
	uint64_t work_at[RDS_WORK_MAX]; /* places of its works; 0: none */

	struct ut_list node;
	struct rds_arrival queued; /* once it has come */
	uint64_t sequence;
	uint64_t sender;        /* number of the socket that is charged for it; 0: none */
	uint64_t end;           /* once it has been sent: place of its end in the stream of TCP, or its number over RDMA */
	uint32_t len;
	uint16_t sport, dport;
	uint16_t paths;         /* extension of a pong */
	bool retransmitted;
	bool sent;              /* it is unacknowledged */
	bool either;            /* its sender has chosen no transport */
	bool silent;            /* of its works the peer's program is not told: no packet is sent */
	uint64_t cookie;        /* extension: a region of the sender; 0: none */
	struct rds_job *works[RDS_WORK_MAX];
	uint8_t data[];
};

struct rds_flow {
	struct ut_list waiting, unacked;
	uint64_t next_tx, next_rx;
	uint32_t peer_generation;       /* 0: not known */
	size_t bytes;                   /* payload of both lists */
	unsigned nr;                    /* messages of both lists */
	unsigned in_flight, window;     /* unacknowledged messages that have packets; most of them */
};

/* Called for each message that has left the lists, before it is freed. */
typedef void rds_flow_done(void *arg, const struct rds_message *m);

void rds_flow_init(struct rds_flow *f);

/* Returns a message with room for len octets, or NULL without memory. */
struct rds_message *rds_message_new(uint32_t len);
/* NULL: does nothing. */
void rds_message_free(struct rds_message *m);
/* From now on messages have memory of these; without it, the C library's. */
void rds_message_memory(void *(*get)(size_t len), void (*put)(void *m));

/* Numbers the message and appends it to those that wait; it is the flow's from now on. */
void rds_flow_queue(struct rds_flow *f, struct rds_message *m);
/* The next owner has a message of the one before, which may have been sent: it waits behind the others, with the number that it has. */
void rds_flow_again(struct rds_flow *f, struct rds_message *m);
/* Returns true if one message waits, and behind it none that is sent as packets. */
bool rds_flow_is_last(const struct rds_flow *f);
/* Moves the waiting messages that either transport may carry to a flow of the other one, which numbers them. Nothing of `from` has
 * been sent before. */
void rds_flow_move(struct rds_flow *from, struct rds_flow *to);
/* The message to be sent next, or NULL. It stays where it is until rds_flow_sent(). */
struct rds_message *rds_flow_next(const struct rds_flow *f);
/* Returns true if the window lets the first waiting message through, or it has no packets. */
bool rds_flow_may_send(const struct rds_flow *f);
/* Returns true if the first waiting message fills the window: its acknowledgement has to be asked for. */
bool rds_flow_fills_window(const struct rds_flow *f);
/* The first waiting message has been given to the transport, whose stream it ends at `end`. */
void rds_flow_sent(struct rds_flow *f, uint64_t end);
/* Frees the messages that end at or before this place of the stream. */
void rds_flow_acked(struct rds_flow *f, uint64_t place, rds_flow_done *done, void *arg);
/* The transport's connection has ended: all that is unacknowledged waits again. */
void rds_flow_restart(struct rds_flow *f);
/*
 * Frees the messages of a sender (0: of each) that `match` names, all with NULL. The first waiting one stays with `begun`: the
 * transport has sent a part of it.
 */
void rds_flow_cancel(struct rds_flow *f, uint64_t sender, bool (*match)(const struct rds_message *m, const void *key),
		     const void *key, bool begun, rds_flow_done *done, void *arg);

/* The peer says its generation: with another one than before its numbers begin anew. */
void rds_flow_peer(struct rds_flow *f, uint32_t generation);
/* Returns true if an arrived message is new. */
bool rds_flow_arrived(struct rds_flow *f, uint64_t sequence, bool retransmitted);

#endif
