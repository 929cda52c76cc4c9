/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * QP1, the general service interface (IBTA 13.5.1). A MAD is one datagram of fixed size. The class
 * of the connection manager has no queue pair behind it, only a bounded queue of MADs to send and
 * the checks of MADs that have come. MADs are sent one by one, outside of the trains: they are
 * rare, and a full train must not hold up the response that a connection waits for.
 *
 * All other classes are for the application that has made QP1, a datagram queue pair with a number
 * of its own (ud.c). One process of those on an address has it. That process claims a service ID
 * there, by which the process that receives a datagram passes it on.
 */
#ifndef PROTO_IB_GSI_H
#define PROTO_IB_GSI_H

#include "proto/gsi.h"

#include <stdbool.h>
#include <stdint.h>

struct eng_av;
struct eng_dev;
struct ibp_gsi_entry;
struct ibp_port;
struct link_rx;
struct wire_ib_packet;

/* MADs to send are queue[head..tail); indices run freely. */
struct ibp_gsi {
	struct ibp_gsi_entry *queue; /* NULL until the first MAD */
	uint32_t head, tail;
	uint32_t psn;
};

static inline bool ibp_gsi_waits(const struct ibp_gsi *g)
{
	return g->head != g->tail;
}

/*
 * Queues one MAD from QP1 to QP1 of av's destination (a GID that is an IP address of the fabric;
 * av->sgid_index is valid); it leaves with the next transmit. Returns 0, -EINVAL (no route from this
 * GID), -EAGAIN (too many wait already). Called with dev->lock held.
 */
int ibp_gsi_send(struct eng_dev *dev, const struct eng_av *av, const uint8_t mad[WIRE_MAD_BYTES]);
/* The link has got an address, or is about to lose one: claims or releases QP1 there, if this
 * process has QP1. */
void ibp_gsi_addr(struct eng_dev *dev, const uint8_t addr[16], bool here);

/* Takes a datagram for QPN 1. */
void ibp_gsi_receive(struct ibp_port *port, const struct wire_ib_packet *p, const struct link_rx *rx);
/* Sends the MADs that wait, until the socket is full. */
void ibp_gsi_run(struct ibp_port *port);
/* Claims QP1 for this process at all addresses, or at none. Returns 0, -EBUSY (another process has it), or -errno. */
int ibp_gsi_claim(struct ibp_port *port);
void ibp_gsi_unclaim(struct ibp_port *port);
void ibp_gsi_fini(struct ibp_port *port);

#endif
