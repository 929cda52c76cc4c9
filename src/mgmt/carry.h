/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * How packets cross the fabric. MADs travel hop by hop at once, through the tables that the SM wrote; the response
 * of an SMA or PMA comes back, and is delivered, before fab_send() returns. Data packets of adapters do not travel:
 * their senders ask for the route, keep it while fab.generation stands, and have it counted in batches.
 */
#ifndef MGMT_CARRY_H
#define MGMT_CARRY_H

#include "mgmt/fabric.h"

/* Why a packet cannot go. Each has its counter at the port that drops it. */
enum fab_verdict {
	FAB_PASSES = 0,
	FAB_NOT_ACTIVE,		/* a port on the way is not ACTIVE (QP0: has no link) */
	FAB_NO_LINK,
	FAB_UNROUTED,		/* no entry for the DLID in a switch on the way */
	FAB_LOOP,		/* more than FAB_HOPS_MAX switches */
	FAB_WRONG_LID,		/* the route ends at a port that does not have the DLID */
	FAB_PKEY_REFUSED,	/* partition enforcement of a switch port on the way */
	FAB_TOO_LONG,		/* longer than the MTU of a link on the way */
	FAB_HOPS,		/* each packet goes through the switches by itself (hop.h) */
	FAB_TRUNK,		/* the route goes on in another fabric process, from the last port of the route */
};

/* What switches read of a packet. */
struct fab_head {
	uint16_t slid, dlid, pkey;
	uint8_t sl;
};

/* --- steps of a way, for those who carry packets themselves (hop.h) --- */

/* Returns true if data may leave by the port: it is up and ACTIVE. */
bool fab_link_passes(const struct fab_port *out);
/* Returns true if the port takes data from its link; an ARMED one becomes ACTIVE by it (7.2.7). */
bool fab_link_takes(struct fab_port *in);
/* Draws whether the link damages a packet that arrives at the port: then it is counted, and has to be dropped. */
bool fab_link_damages(struct fab_port *at);
/*
 * Where a switch forwards a unicast packet to: the port, [0] for itself, or NULL: it is dropped, and a port has counted why.
 * in: the port by which it came, NULL from the switch's own. hops: switches passed, with this one.
 */
struct fab_port *fab_relay(struct fab_node *sw, struct fab_port *in, const struct fab_head *h, unsigned hops);
/* Partition enforcement of a switch's port. Returns false if it drops the packet: then it has counted it, with notice 259. */
bool fab_enforce(struct fab_port *p, bool inbound, const struct fab_head *h);
/* Returns true if the LID is one of the port's. */
bool fab_port_has_lid(const struct fab_port *p, uint16_t lid);

/* --- MADs --- */

/*
 * A program attached to this end port (or switch port 0) sends. Fills m->slid (the port's LID; the lowest LMC bits
 * of the given one count as source path bits), drops what the port cannot send. SMPs only if m->dqpn is 0. The
 * datagram is copied where it has to change.
 */
void fab_send(struct fab_port *from, const struct mad *m);

/* A packet arrives at this port from its link: over a trunk, from another process. */
void fab_arrive(struct fab_port *at, const struct mad *m);

/* The route of a unicast data packet: ports in the order passed, transmit, receive, transmit, receive... */
#define FAB_ROUTE_PORTS (2 * (FAB_HOPS_MAX + 1))
struct fab_route {
	enum fab_verdict verdict;
	struct fab_port *end;		/* the end port that has the DLID; NULL unless FAB_PASSES */
	uint8_t mtu;			/* code of the smallest NeighborMTU on the way (1: 256 ... 5: 4096) */
	uint16_t rate;			/* of the slowest link, in 0.1 Gb/s */
	bool has_fault;			/* a link of it damages packets: fab_route_cross() */
	uint16_t n_ports;
	struct fab_port *ports[FAB_ROUTE_PORTS];
};

/* Finds it. A DLID of the port itself gives a route without ports (loopback). pkey: value of the packet. */
void fab_route(struct fab_port *from, uint16_t dlid, unsigned sl, uint16_t pkey, struct fab_route *ret);

/* The rest of the route of a packet that has come over a trunk, from this port on. */
void fab_route_from(struct fab_port *in, uint16_t dlid, uint16_t pkey, struct fab_route *ret);

/* Counts packets of `words` 4-byte words in all, on each port of the route. */
void fab_route_count(const struct fab_route *r, unsigned sl, uint64_t packets, uint64_t words);

/* Counts packets that have come by this port, over a trunk. */
void fab_route_enter(struct fab_port *in, unsigned sl, uint64_t packets, uint64_t words);

/* One packet of a route with a fault. Each link that it crosses counts it. Returns false if one has damaged it. */
bool fab_route_cross(const struct fab_route *r, unsigned sl, uint64_t words);

/*
 * Where a multicast packet goes: each end port whose switch has it in its table for the MLID, the sender excluded.
 * Calls leaf(arg, port) for each, and for ports whose trunk it leaves by. With packets > 0 each port passed counts them. Returns FAB_PASSES, or why the
 * packet did not leave the sender.
 */
enum fab_verdict fab_multicast(struct fab_port *from, uint16_t mlid, unsigned sl, uint16_t pkey, uint64_t packets,
			       uint64_t words, void (*leaf)(void *arg, struct fab_port *port), void *arg);

/* The same for one that has come over a trunk, by this port. */
void fab_multicast_from(struct fab_port *in, uint16_t mlid, unsigned sl, uint16_t pkey, uint64_t packets, uint64_t words,
			void (*leaf)(void *arg, struct fab_port *port), void *arg);

/* Returns true if the port is in the partition of a packet with this P_Key: one of its table matches (10.9.3). */
bool fab_port_admits(const struct fab_port *p, uint16_t pkey);

/* The end port with this unicast LID as its own tables say, without routing: for names in messages. NULL if none. */
struct fab_port *fab_port_by_lid(const struct fab *f, uint16_t lid);

#endif
