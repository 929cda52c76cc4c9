/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * RoCEv2's link: UDP port 4791, shared by all processes of a user without a
 * daemon. Each process owns a slot per address (the upper 8 bits of its QPNs,
 * claimed by binding an abstract unix socket that is also its mailbox); a
 * classic BPF program on the SO_REUSEPORT group maps slot -> socket. The order
 * of the group is learned by probing, so a crash of a member costs at most
 * some forwarded packets until the survivors have probed again.
 */
#ifndef LINK_UDP_UDP_H
#define LINK_UDP_UDP_H

#include "link/link.h"

#define UDP_ROCE_PORT 4791
#define UDP_SLOT_BITS 8   /* top bits of a 24-bit QPN */

struct host;

struct udp_stats {
	uint64_t forwarded; /* datagrams handed to their owner's mailbox */
	uint64_t received_forwarded;
	uint64_t passed_on, received_passed; /* requests, to and as the claimant of a service */
	uint64_t dropped;   /* for a slot that no process has */
	uint64_t probes, attaches;
	uint64_t calls_send, calls_recv;
};

/*
 * port: 4791, or another for tests. 0 or negative errno. Add all addresses
 * before the first QPN is given out: until something was sent or received, a
 * further add_addr() may move the link to another slot (qpn_fixed changes);
 * afterwards it is refused with -EADDRINUSE when the slot's name is taken.
 */
int udp_open(uint16_t port, struct link **ret);
/* The host that the link is a member of: for the local path on the same addresses. */
struct host *udp_host(struct link *l);
void udp_stats(struct link *l, struct udp_stats *ret);

#endif
