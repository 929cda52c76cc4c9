/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The begin of a connection on the socket `data`: HELLO and WELCOME; and the short one that asks for a socket. */
#ifndef LINK_FABRIC_GREET_H
#define LINK_FABRIC_GREET_H

#include "link/fabric/fabric.h"
#include "link/fabric/packets.h"

/* Connects to the fabric process, and passes the descriptor of a struct pkt_tally (-1: none). Returns a descriptor, with the welcome and the mapped page, which the caller unmaps
 * (shm_seg_unmap); or a negative errno with a sentence in why. Waits some seconds at most. */
int fabric_greet(const struct fabric_place *where, int tally, struct pkt_welcome *ret, const struct pkt_page **ret_page,
		 char why[FABRIC_WHY_MAX]);
/* Asks for a socket of the fabric process's network namespace, some 100 us. Returns it, with our uid as it is shown there;
 * -ENETDOWN: the fabric has ended; or another negative errno. */
int fabric_socket(const char *fabric, enum pkt_socket_kind kind, uint32_t *ret_uid);
/* Writes the sentence of a failure. Returns error. */
int fabric_say(char why[FABRIC_WHY_MAX], const struct fabric_place *where, int error);

#endif
