/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef CM_IBCM_BIND_H
#define CM_IBCM_BIND_H

#include "cm/ibcm/ep.h"

int ibcm_bind(struct cm_port *p, const struct cm_bind *b, struct cm_ep **ret);
int ibcm_create(struct cm_port *p, const struct cm_bind *b, struct cm_ep **ret);
int ibcm_listen(struct cm_ep *ep, int backlog);
void ibcm_unbind(struct ibcm_ep *e);
/* The listener of a request, or NULL: then *ret_passed tells whether another process has taken it. */
struct ibcm_ep *ibcm_listener(struct ibcm *cm, const struct gsi_rx *rx, uint64_t service,
			      bool *ret_passed);

/* --- service IDs and the IP CM header --- */

/* True for the service IDs of IP ports. */
bool ibcm_is_ip(uint64_t service);
/* Octets that the manager puts in front of the user's private data: the IP CM header, or 0. SDP's Hello names the
 * addresses itself. */
unsigned ibcm_header(uint64_t service);
void ibcm_ip_build(uint8_t *h, const struct link_end *src, const struct link_end *dst);
/* True when the addresses in the private data fit those of the datagram; then the sender's port. */
bool ibcm_ip_check(uint64_t service, const uint8_t *data, const struct gsi_rx *rx, uint16_t *ret_port);

#endif
