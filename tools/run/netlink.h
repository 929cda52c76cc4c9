/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
#ifndef RUN_NETLINK_H
#define RUN_NETLINK_H

/* The rtnetlink requests that join two network namespaces.  A socket stays bound
 * to the namespace in which it was opened.  All return 0 or a negative errno. */

#include <stdbool.h>

int nl_open(void);

/* Creates a veth pair: one end here, the other, of the same name, in the
 * namespace peer_ns. */
int nl_veth(int nl, const char *name, int mtu, int peer_ns);

int nl_link_up(int nl, const char *name);

/* Returns true if the interface has a carrier and its addresses are usable. */
bool nl_link_running(int nl, const char *name);

/* family is AF_INET or AF_INET6; IPv6 without duplicate address detection, so that
 * the address is usable at once. */
int nl_address(int nl, const char *name, int family, const char *address, int prefix);

#endif
