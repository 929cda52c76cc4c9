/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The path to a peer: the addresses of packets to it, and of those that come from it. A path is made from an address vector,
 * by the rules of the port's link layer: on Ethernet from its GRH, whose GIDs are IP addresses
 * (annex A17), on InfiniBand from its LID, with a GRH if it has one (IBTA 8.2, 8.3). Messages of the shm channel
 * have addresses of their own (link_ops.ends), which on Ethernet are the same.
 */
#ifndef PROTO_IB_PATH_H
#define PROTO_IB_PATH_H

#include "host/shm/channel.h"
#include "link/link.h"
#include "util/flow.h"
#include "util/ip.h"
#include "wire/icrc.h"

#include <stdbool.h>
#include <string.h>

struct eng_av;
struct ibp_port;

#define IBP_LOCAL_SPORT 0xc000u /* UDP source port of connections within the host */

struct ibp_path {
	struct ut_flow chan;        /* of messages to the peer */
	struct link_count *there, *back; /* of those messages, and of the peer's answers to direct accesses; NULL: not counted */
	bool valid;
	uint32_t from_epoch;        /* of the channel, in which */
	const void *from;           /* this writer's messages are the peer's; NULL: none was found yet */
	struct ut_flow flow;        /* of packets */
	struct wire_icrc_flow icrc; /* of packets to the peer */
};

/*
 * Makes a path by the port's link layer. sport: UDP source port (Ethernet). Returns 0; -EINVAL: the
 * port has no such path (families differ, no GRH on Ethernet, no LID of a host);
 * -ENODATA: no such GID. Called with dev->lock held.
 */
int ibp_path_set(struct ibp_port *port, struct ibp_path *path, const struct eng_av *av, uint16_t sport);
/* The same for each link layer. */
int ibp_path_from_grh(struct ibp_port *port, struct ibp_path *path, const struct eng_av *av,
		      uint16_t sport);
int ibp_path_from_lid(struct ibp_port *port, struct ibp_path *path, const struct eng_av *av);

/* Returns true if the port has no path of this address vector because that has no GRH, and the link is Ethernet. Called
 * with the lock held. */
bool ibp_path_lacks_grh(const struct ibp_port *port, const struct eng_av *av);

/* Returns true if a packet of a connection on this path may have come between these addresses. */
static inline bool ibp_path_between(const struct ibp_path *path, const uint8_t src[16],
				    const uint8_t dst[16])
{
	return path->valid && memcmp(src, path->flow.dst, 16) == 0 &&
	       memcmp(dst, path->flow.src, 16) == 0;
}

/* The same for a message of the shm channel. */
static inline bool ibp_path_admits_message(const struct ibp_path *path, const uint8_t src[16], const uint8_t dst[16])
{
	return path->valid && memcmp(src, path->chan.dst, 16) == 0 && memcmp(dst, path->chan.src, 16) == 0;
}

/* The same where the message comes from an inlet, whose ring and addresses are constant in an epoch of the
 * channel. */
static inline bool ibp_path_admits_inlet(struct ibp_path *path, const struct shm_inlet *in, uint32_t epoch)
{
	if (__builtin_expect(path->from == in->from && path->from_epoch == epoch && path->valid, 1))
		return true;
	if (!ibp_path_admits_message(path, in->src, in->dst))
		return false;
	path->from = in->from;
	path->from_epoch = epoch;
	return true;
}

/* The same for both link layers (IBTA 9.6.1.5): between its addresses on Ethernet, between its LIDs and with
 * its GRH, or without one, on InfiniBand. */
static inline bool ibp_path_admits(const struct ibp_path *path, const struct link_rx *rx)
{
	const struct ut_flow *f = &path->flow;

	if (!f->lids)
		return ibp_path_between(path, rx->src, rx->dst);
	return path->valid && rx->slid == f->dlid && rx->dlid == f->slid && rx->grh == f->grh &&
	       (!rx->grh || ibp_path_between(path, rx->src, rx->dst));
}

/* The headers that the ICRC of packets of this flow covers; of packets from the peer; of one that has come. */
void ibp_icrc_there(struct wire_icrc_flow *f, const struct ut_flow *flow);
void ibp_icrc_back(struct wire_icrc_flow *f, const struct ut_flow *flow);
void ibp_icrc_of(struct wire_icrc_flow *f, const struct link_rx *rx);

/* The UDP source port of a connected QP pair, symmetric (kernel formula). */
uint16_t ibp_flow_sport(uint32_t flow_label, uint32_t qpn_a, uint32_t qpn_b);
/* The UDP source port of datagrams, which depends on the sender's QPN alone (kernel formula). */
static inline uint16_t ibp_datagram_sport(uint32_t qpn)
{
	return (uint16_t)(0xc000 + (uint32_t)(qpn * 0x61c88647u) / (1u << 18));
}

#endif
