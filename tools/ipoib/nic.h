/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * An interface of IP over InfiniBand: a TUN device, a UD queue pair, and what joins them.
 *
 *	kernel: IP packet -> TUN -> frame -> group, or neighbour's address (ARP, ND) and path (SA) -> UD send
 *	kernel: longer packets, and others, to a neighbour that takes connections -> RC send (connected.h)
 *	UD receive, RC receive -> ARP and ND are answered here -> IP packet -> TUN
 *	kernel: IGMP and MLD reports -> joins of groups
 *	port: active, keys, subnet manager -> broadcast group joined -> carrier and MTU
 *
 * The partition's broadcast group, which the subnet manager has made, gives MTU, Q_Key, rate and service level (RFC 4391, 5).
 * Every destination counts as a neighbour: there is no next hop in what a TUN device gives.
 */
#ifndef IPOIB_NIC_H
#define IPOIB_NIC_H

#include <stdbool.h>
#include <stdint.h>

#include "connected.h"
#include "groups.h"
#include "loop.h"
#include "neighbours.h"
#include "port.h"
#include "tun.h"
#include "ud.h"

struct nic_config {
	const char *name;           /* of the device */
	const char *ip;             /* "": none */
	int prefix;
	uint16_t pkey;              /* with the bit of full membership */
	struct port *port;
	struct ibv_context *verbs;
	struct loop *loop;
	bool is_connected;          /* RC connections to neighbours that take them */
	unsigned number;            /* of the nic among those of the port: in tickets */
};

struct nic {
	struct nic_config c;
	struct tun tun;
	struct ud ud;
	struct connected connected; /* of is_connected */
	struct neighbours neighbours;
	struct groups groups;
	struct sac_group broadcast; /* mlid 0: not yet joined */
	uint64_t generation;        /* of the fabric, with which the paths were asked for */
	uint8_t subnet_broadcast[16];
	bool is_up, is_held;        /* has carrier; the TUN device is not read until sends have ended */
	bool is_polling;            /* the completion queue is polled, and not armed */
	bool has_failed;            /* the SA has refused the broadcast group */
	uint8_t frame[CONNECTED_FRAME_MAX]; /* of is_connected: what was read from the TUN device */
};

#define NIC_TICKET_SHIFT 48         /* of the nic's number in a ticket */

/* Returns 0, or a negative errno; *ret_step is then what was refused. */
int nic_open(struct nic *n, const struct nic_config *c, const char **ret_step);
void nic_close(struct nic *n);
/* The port has changed: enum att_event. */
void nic_changed(struct nic *n, uint32_t events);
/* Answers of the SA to a ticket of this nic. */
void nic_path(struct nic *n, uint64_t ticket, int status, const struct sac_path *p);
void nic_group(struct nic *n, uint64_t ticket, int status, const struct sac_group *g);
/* What is due. Called after each round of the loop. */
void nic_run(struct nic *n, uint64_t now);
uint64_t nic_deadline(const struct nic *n);

#endif
