/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef RUN_NETLINK_H
#define RUN_NETLINK_H

/* The rtnetlink requests that join network namespaces.  A socket stays bound
 * to the namespace in which it was opened.  All return 0 or a negative errno. */

#include <stdbool.h>

int nl_open(void);

/* Creates a veth pair: one end here, the other one, peer, in the namespace peer_ns. */
int nl_veth(int nl, const char *name, const char *peer, int mtu, int peer_ns);
/* Creates a bridge; makes an interface one of its ports. */
int nl_bridge(int nl, const char *name);
int nl_port_of(int nl, const char *name, const char *bridge);

int nl_link_up(int nl, const char *name);

/* Returns true if the interface has a carrier and its addresses are usable. */
bool nl_link_running(int nl, const char *name);
/* Waits until it has: the carrier of a veth pair comes up a moment after both ends.  -ETIMEDOUT after 5 s. */
int nl_link_wait(int nl, const char *name);

/* family is AF_INET or AF_INET6; IPv6 without duplicate address detection, so that
 * the address is usable at once. */
int nl_address(int nl, const char *name, int family, const char *address, int prefix);

#endif
