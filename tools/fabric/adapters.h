/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The socket `data` of a fabric process: connections of the processes that have an adapter at one of its nodes. What
 * their messages mean is mgmt/packets.h; this file moves them, and keeps what a process does not read at once. One
 * thread has all of it.
 *
 * Nothing is lost on a quiet link, as credits have it on InfiniBand (IBTA 7.9): when much waits for a process, the
 * fabric process reads no more from those that send to it, their sockets fill, and their adapters wait. A receiver that
 * reads nothing for a second is stopped; what is sent to it is dropped then, as by the Head of Queue Lifetime Limit
 * (IBTA 7.6.9), until it reads again.
 *
 *	sender --> [socket] --> fabric process --> [queue, socket] --> receiver
 *	             full  <---   held   <---------  above HIGH
 *	                         released <--------  below LOW, or stopped
 *
 * Where packets travel hop by hop, a process waits as well while the port of its node is full.
 */
#ifndef TOOLS_FABRIC_ADAPTERS_H
#define TOOLS_FABRIC_ADAPTERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct ad;
struct fab;
struct fab_node;
struct fab_port;
struct mad;
struct pkt_peer;

/* Listens in the fabric's directory. is_hopping: as that of mgmt/packets.h. Returns 0 or a negative errno. */
int ad_open(const char *dir, struct fab *f, bool is_hopping, struct ad **ret);
/* Ends all connections: each process sees the end of its fabric. NULL is allowed. */
void ad_close(struct ad *a);
/* Returns an epoll descriptor that is readable when ad_serve() has something to do. */
int ad_fd(const struct ad *a);
/* Serves what is ready, bounded work. Calls the model. */
void ad_serve(struct ad *a);
/* To be called after each round of the model: packets under way move, and processes learn that routes may have changed. */
void ad_settle(struct ad *a);
/* Ports count what has gone by memory: fab_ops.tally. */
void ad_tally(struct ad *a);
/* Returns when ad_settle() has something to move, in ns, or UT_NEVER. */
uint64_t ad_next(const struct ad *a);
/* The node is about to be removed: its processes see the end of their fabric. */
void ad_node_gone(struct ad *a, struct fab_node *n);
/* Packets that leave by a trunk go to depart(ctx, port, packet, length); NULL: they are lost. */
void ad_on_depart(struct ad *a, void (*depart)(void *ctx, struct fab_port *port, const uint8_t *packet, size_t len), void *ctx);
/* A packet has come over a trunk, by this port. */
void ad_arrive(struct ad *a, struct fab_port *port, const uint8_t *packet, size_t len);
/* Hosts behind trunks: see addr_far_add(). */
void ad_far_add(struct ad *a, const struct pkt_peer *h);
void ad_far_clear(struct ad *a);
/* A datagram for QP1 that no agent has. Returns true if a process of the port has got it. */
bool ad_deliver(struct ad *a, struct fab_port *port, const struct mad *m);
/* Counts of all processes that are or were here: packets, bytes, and those that did not arrive. */
struct ad_counts {
	uint64_t processes, packets, bytes, refused, lost;
};
void ad_counts(const struct ad *a, struct ad_counts *ret);

#endif
