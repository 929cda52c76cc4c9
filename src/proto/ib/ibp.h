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
#include "proto/gsi.h"

struct ibp_port;

/* Rows for engine/dev.h; the protocol's port must be made before QPs are. */
extern const struct eng_proto_ops ibp_proto_ops;

struct ibp_config {
	struct link *link;
	struct shm_channel *chan; /* to the processes of this host; shm_channel_none without any */
	uint64_t seed;
	uint32_t window_bytes;  /* most a QP has in flight; 0 = from link->rx_window */
	uint32_t mtu_max;       /* active MTU in bytes, 256..4096 */
	bool rate_control;      /* react to CNPs (off on loopback) */
	/* A path without GRH, which RoCE has no meaning for, leads to this port
	 * itself instead of being refused. */
	bool no_grh_is_self;
	const struct gsi_user *gsi; /* or NULL: no class has a manager */
};

/* Attaches a port to dev->port. 0 or -ENOMEM. */
int ibp_port_init(struct eng_dev *dev, const struct ibp_config *cfg);
void ibp_port_fini(struct eng_dev *dev);

/* n received datagrams (BTH .. ICRC), as one link->recv() gave them. Anything may
 * be in them. Nothing of them is looked at after the return. */
void ibp_receive(struct eng_dev *dev, const struct link_rx *rx, int n, uint64_t now);
/* The same of messages of the channel; the caller releases them. */
void ibp_receive_messages(struct eng_dev *dev, const struct shm_message *m, int n, uint64_t now);
/*
 * Without a look at the clock, between two rounds of ibp_receive() and ibp_transmit(): as many of these
 * messages, in order, as are the usual ones. Returns how many; the others are for ibp_receive().
 */
int ibp_fast_receive(struct eng_dev *dev, const struct shm_message *m, int n);
/* What was posted to this QP has gone to a peer on this host: true. False: it, or some of it, waits for
 * eng_proto_ops.qp_kick() and a round. */
bool ibp_fast_post(struct eng_qp *qp, bool batch);
/* The same without any help of the peer: nobody need look after it. */
bool ibp_direct_post(struct eng_qp *qp, bool app);
/* It would be so if what was posted before were acknowledged; maybe it is, and nobody has looked. */
bool ibp_may_direct_post(struct eng_qp *qp);
/* eng_dev.recall, for a link that shows what others may reach (host/shm/export.h). */
void ibp_revoke(struct eng_dev *dev, uint32_t index);
/* The kernel reported that packets to this address are refused. */
void ibp_unreachable(struct eng_dev *dev, const struct link_err *err, uint64_t now);
/*
 * Takes posted work, fires timers, sends what may be sent, acknowledgements
 * as acks says; bounded work per call. Returns the packets sent.
 */
int ibp_transmit(struct eng_dev *dev, uint64_t now, enum eng_acks acks);
/*
 * All that waits to be sent are a few messages, none of them long, behind many unanswered ones. What answers
 * those comes anyway, so they may wait for it, or for more of their kind to share a train with.
 * batch: a poll comes anyway, so nothing unanswered is asked for.
 */
bool ibp_may_coalesce(struct eng_dev *dev, bool batch);
/* What was posted to a queue pair since it was found so may wait with the others. */
bool ibp_coalesce_more(struct eng_qp *qp);
/* Acknowledgements are waiting for a ride, or have left quietly. */
bool ibp_acks_pending(struct eng_dev *dev);
/* They leave, and nothing else. Not for ENG_ACKS_LATER. dev->lock held. */
void ibp_acknowledge(struct eng_dev *dev, enum eng_acks how);
/* Work is left that needs no event from outside (a send budget was used up). */
bool ibp_busy(struct eng_dev *dev);
/* The next deadline in ns of the caller's clock, or UT_NEVER. */
uint64_t ibp_deadline(struct eng_dev *dev);

/*
 * For who watches a connection of `qpn` to `peer`: something of the peer has come after
 * `since`: 1. Else the peer was asked for a sign of life, which leaves with the next transmit
 * (0); or this QP cannot ask: -ENOENT, -EOPNOTSUPP (its type or state), -EAGAIN. dev->lock held.
 */
int ibp_probe(struct eng_dev *dev, uint32_t qpn, uint32_t peer, uint64_t since);
/* Nobody is there any more: a connected QP goes to ERR, its requests complete. */
void ibp_peer_gone(struct eng_dev *dev, uint32_t qpn, uint32_t peer);

/*
 * Queues one MAD from QP1 to QP1 of av's destination (a GID that is an IP address of the
 * fabric; av->sgid_index is valid); it leaves with the next transmit. dev->lock held.
 * 0, -EINVAL (no route from this GID), -EAGAIN (too many wait already).
 */
int ibp_gsi_send(struct eng_dev *dev, const struct eng_av *av, const uint8_t mad[WIRE_MAD_BYTES]);

/* The link has got an address, or is about to lose one: who has QP1 has it there, too. */
void ibp_gsi_addr(struct eng_dev *dev, const uint8_t addr[16], bool here);

#endif
