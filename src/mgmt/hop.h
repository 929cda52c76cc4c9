/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * Data packets that travel hop by hop (`dapple fabric up --hop`): each one waits at each port, crosses each link in the
 * time that its rate takes, and is stored and forwarded by each switch.
 *
 *	hop_send() --> queues of the CA's port, one for each VL
 *	                  | VL arbitration (vlarb.h), credits of the VL, and the link is free
 *	               link: length / rate
 *	                  | errors of the link; counters of both ports
 *	               receive buffer of the VL at the switch's port: as many credits as it has blocks of 64 bytes (IBTA 7.9)
 *	                  | linear or multicast table, partition enforcement (carry.h), SL to VL, MTU
 *	               queue of the next port, and so on; the buffer is free, and its credits go back, when the packet has left
 *	                  |
 *	               end port: ops->deliver(), and its credits go back at once
 *
 * A switch drops a packet that has been at the head of its queue for HOQLife, or in the switch for LifeTimeValue (18.2.5.4).
 * It sets FECN (A10) in a packet for whose VL more than HOP_MARK bytes wait at a port that has credits.
 *
 * Time is that of the fabric process. A packet moves when its time has come, or up to HOP_AHEAD earlier, so that a short
 * burst crosses the fabric in one round without a timer, and a longer one goes at the rate of the slowest link, some packets
 * in each round. MADs are not here: carry.h moves them at once. All calls of one fabric come from one thread; the upcalls must not add or remove
 * nodes, and must not call hop_send().
 */
#ifndef MGMT_HOP_H
#define MGMT_HOP_H

#include "mgmt/fabric.h"

#define HOP_VLS 15u			/* VL 15 is that of subnet management */
#define HOP_BLOCK 64u			/* bytes of a credit (7.9.4.1) */
#define HOP_CREDITS 512u		/* of each VL: 32 KiB of receive buffer */
#define HOP_MARK (16u << 10)		/* bytes: half of the next buffer */
#define HOP_AHEAD (100 * 1000u)		/* ns */
#define HOP_FULL (512u << 10)		/* bytes at a source: its processes have to wait */
#define HOP_ROOM (128u << 10)		/* they may go on */
#define HOP_PACKETS_MAX 131072u		/* under way in a fabric; a ring in multicast tables doubles them */

struct hop;

struct hop_ops {
	/* A packet has come to an end port: LRH to ICRC, valid during the call. from: as given to hop_send(), or NULL after
	 * hop_forget(). */
	void (*deliver)(void *ctx, struct fab_port *port, const uint8_t *bytes, size_t len, void *from);
	/* A port that was full has room. */
	void (*drained)(void *ctx, struct fab_port *port);
};

/* Returns NULL if there is no memory. ops and its slots must be there. */
struct hop *hop_new(struct fab *f, const struct hop_ops *ops, void *ctx);
/* Drops what is under way. NULL is allowed. */
void hop_free(struct hop *h);

/*
 * A packet from LRH to ICRC, whose lengths have been checked (wire_link_parse()), leaves the port of a CA at `now`. It is
 * copied. What becomes of it the counters tell: those of the port that drops it. `from` is the sender's, not touched.
 */
void hop_send(struct hop *h, struct fab_port *port, const uint8_t *bytes, size_t len, void *from, uint64_t now);
/* Returns true if more than HOP_FULL bytes wait: drained() will tell when there is room. */
bool hop_is_full(const struct fab_port *port);
/* The sender goes away; its packets travel on. */
void hop_forget(struct hop *h, const void *from);

/* Moves what is due. Calls deliver() and drained(). */
void hop_run(struct hop *h, uint64_t now);
/* Returns the next deadline in ns, or UT_NEVER. */
uint64_t hop_next(const struct hop *h);

/* --- for `show` --- */

/* One VL of a port. */
struct hop_lane_view {
	uint32_t packets, bytes;	/* that wait */
	uint32_t most;			/* bytes, ever */
	uint32_t credits;		/* that it may send */
	uint64_t sent, marked, dropped;	/* packets: sent; with FECN; dropped by HOQLife or LifeTimeValue */
	uint64_t waited_ns;		/* for credits, with a packet and a free link */
};

/* Returns false if no data packet has ever waited there. */
bool hop_lane(const struct fab_port *port, unsigned vl, struct hop_lane_view *ret);

/* Used inside the room: the port goes, with its packets. */
struct hop_port;
void hop_port_free(struct hop_port *p);

#endif
