/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/* The begin of a connection on the socket `data`: HELLO and WELCOME. */
#ifndef LINK_FABRIC_GREET_H
#define LINK_FABRIC_GREET_H

#include "link/fabric/fabric.h"
#include "link/fabric/packets.h"

/* Connects to the fabric process. Returns a descriptor, with the welcome and the mapped page, which the caller unmaps
 * (shm_seg_unmap); or a negative errno with a sentence in why. Waits some seconds at most. */
int fabric_greet(const struct fabric_place *where, struct pkt_welcome *ret, const struct pkt_page **ret_page,
		 char why[FABRIC_WHY_MAX]);
/* Writes the sentence of a failure. Returns error. */
int fabric_say(char why[FABRIC_WHY_MAX], const struct fabric_place *where, int error);

#endif
