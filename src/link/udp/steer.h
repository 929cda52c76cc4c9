/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * The classic BPF program of a group. Offset 0 is the first byte of the UDP payload, that is the BTH: byte 0 the
 * opcode, bytes 5..7 the destination QPN, whose upper 8 bits are the slot.
 *
 *	opcode 0xff		a probe: the index it carries
 *	QPN 0			any member
 *	QPN 1			a response of the connection manager: the slot in the ID it
 *				names (mad.h); else any member, drawn anew each time, so that a
 *				repeated request meets a live one when a member is stopped. It
 *				passes on what is for another one (host/service.h), MADs of other
 *				classes to the process that has QP1 (proto/ib/gsi.h)
 *	slot known		its index, found by halving
 *	else			past the end: the kernel's hash picks a member
 *
 * A load past the end of a short datagram ends the program with index 0.
 */
#ifndef LINK_UDP_STEER_H
#define LINK_UDP_STEER_H

#include "link/udp/state.h"

/* Attaches the program of an order: at[index] is the slot of the member, n of them. Returns 0 or -errno. */
int udp_steer(int fd, const uint16_t *at, unsigned n);

#endif
