/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The InfiniBand transport (RC, UC, UD, XRC) as a pure machine: packets and
 * the time go in, packets, completions and the next deadline come out. No
 * socket, clock, thread or lock inside; the caller holds the adapter's
 * progress lock around every call. Two of them joined by a list make the
 * simulator; a UDP link under it makes RoCEv2.
 *
 * Rules and their origin: IBTA volume 1, chapter 9 (transport), chapter 10
 * (verbs), annexes A14 (XRC) and A17 (RoCEv2).
 */
#ifndef PROTO_IB_IBP_H
#define PROTO_IB_IBP_H

#include "engine/dev.h"
#include "host/shm/channel.h"
#include "link/link.h"
#include "link/rules.h"
#include "link/tap.h"
#include "proto/gsi.h"

struct ibp_port;

/* Rows for engine/dev.h; the protocol's port must be made before QPs are. */
extern const struct eng_proto_ops ibp_proto_ops;

struct ibp_config {
	struct link *link;
	struct shm_channel *chan; /* to the processes of this host; shm_channel_none without any */
	uint64_t seed;
	uint32_t window_bytes;  /* window limit in packets; 0 = from link->rx_window */
	uint32_t mtu_max;       /* active MTU in bytes, 256..4096 */
	bool rate_control;      /* react to CNPs (off on loopback) */
	/* A path without GRH, which has no meaning on RoCE, leads to this port itself instead of
	 * being refused. */
	bool no_grh_is_self;
	bool credits; /* acknowledgements on the wire tell how many receives are posted (IBTA 9.7.7.2) */
	const struct gsi_user *gsi; /* or NULL: no class has a manager */
};

/* Attaches a port to dev->port. 0 or -ENOMEM. */
int ibp_port_init(struct eng_dev *dev, const struct ibp_config *cfg);
void ibp_port_fini(struct eng_dev *dev);

/* LID, LMC, GIDs, MTU or P_Keys of the port have changed: source addresses and partitions of all queue pairs follow them.
 * Called with dev->lock held. */
void ibp_port_changed(struct eng_dev *dev);

/* The process ends with its queue pairs as they are: the last acknowledgement of each leaves once more, since after a
 * loss no process answers a repeated request. Called with dev->lock held. */
void ibp_leave(struct eng_dev *dev);

/* Shows direct accesses to this observer from here on; NULL: to none. Called with dev->lock held. */
void ibp_observe(struct eng_dev *dev, struct link_tap *tap);

/* Requests that arrive have these faults from here on; NULL: none. The rules stay the caller's. Returns how many connected
 * queue pairs stay out of reach of rules on packets, as their requests take shared memory. Called with dev->lock held. */
unsigned ibp_faults(struct eng_dev *dev, struct link_rules *rules);
/* Packets leave and come by this link from here on, which is laid over or under the present one. Called with dev->lock
 * held. */
void ibp_relink(struct eng_dev *dev, struct link *l);

/* Executes n received datagrams (BTH .. ICRC), as one link->recv() gave them. They may hold any
 * bytes, and are not accessed after the return. */
void ibp_receive(struct eng_dev *dev, const struct link_rx *rx, int n, uint64_t now);
/* The same of messages of the channel; the caller releases them. */
void ibp_receive_messages(struct eng_dev *dev, const struct shm_message *m, int n, uint64_t now);
/* Executes the messages that the channel has, and releases them. Returns their number. *ret_more: false if the next ones are for polls
 * without a round. */
int ibp_poll_messages(struct eng_dev *dev, uint64_t now, bool *ret_more);
/* The kernel has reported that packets to this address are refused. */
void ibp_unreachable(struct eng_dev *dev, const struct link_err *err, uint64_t now);
/*
 * Takes posted work, fires timers, sends what may be sent, acknowledgements
 * as acks says; bounded work per call. Returns the packets sent.
 */
int ibp_transmit(struct eng_dev *dev, uint64_t now, enum eng_acks acks);
/* Returns true if acknowledgements wait for a request to go along with, or have left without a
 * wake-up. */
bool ibp_acks_pending(struct eng_dev *dev);
/* Sends these acknowledgements, and nothing else. Not for ENG_ACKS_LATER. Called with dev->lock
 * held. */
void ibp_acknowledge(struct eng_dev *dev, enum eng_acks how);
/* Returns true if work is left that needs no event from outside (a send budget was used up). */
bool ibp_busy(struct eng_dev *dev);
/* Returns how long, in ns, that work may wait in a thread that could sleep: 0, or the time in which the reader of a full ring makes room. */
uint64_t ibp_held_up(struct eng_dev *dev);
/* Returns the next deadline in ns of the caller's clock, or UT_NEVER. */
uint64_t ibp_deadline(struct eng_dev *dev);

#endif
